"""One table from coarse to fine: prints the levels of four skewed clusters in two pairs, draws their flow as resolution.png.

python docs/figures/resolution.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import hedgerow as hr


def table(n: int = 800) -> np.ndarray:
    """Four clusters in two pairs; within a cluster rows are skewed, which no Gaussian is."""
    rng = np.random.default_rng(0)
    middle = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 14.0], [4.0, 14.0]])
    return middle[np.arange(n) % 4] + rng.gamma(1.5, 0.6, size=(n, 2))


def main(folder: str) -> None:
    found = hr.levels(hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianDiagonal()), table(), seed=0, progress=False)
    print(found.summary().text())
    agreed = found.finest(0.8)
    print(f"finest(0.8): {agreed.n_clusters} clusters at power {agreed.power:.3g}")
    four = found.about(4)
    print(f"about(4): {four.n_clusters} clusters at power {four.power:.3g}, strength {four.strength:.2f}")
    found.plot().figure.savefig(Path(folder) / "resolution.png", dpi=110)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parent))
