"""NIPS 2015, section 4.2 and Figure 4: six samplers on 10,000 points in six dimensions from the rough start, NGG.

On the authors' set, and on a draw of the law that the paper prints, PY(3, 0.8), which makes ten times as many clusters
as the authors' set has. Writes tenk.json, tenk.md and tenk.png / .svg.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import hedgerow as hr
from papers import common
from papers.common import Record, Runs, Size
from papers.nips2015.models import tenk_sets
from papers.nips2015.six import Settings, draw, race, table

SETTINGS: dict[Size, Settings] = {
    "full": Settings(seeds=3, seconds=20.0, pilot=2.0, burn_in=0.5),
    "quick": Settings(seeds=1, seconds=4.0, pilot=1.5, burn_in=0.5),
    "tiny": Settings(seeds=1, seconds=0.12, pilot=0.05),
}


def main(size: Size, out: Path, seeds: int | None = None) -> Record:
    """Run, tell, draw."""
    settings = SETTINGS[size]
    count = seeds or settings.seeds
    runs = Runs(out, "tenk")
    result: Record = {
        "experiment": "NIPS 2015, section 4.2, Figure 4",
        "settings": asdict(settings) | {"seeds": count, "size": size},
        "machine": common.machine(),
        "sets": {},
    }
    for key, data in tenk_sets(size).items():
        result["sets"][key] = race(runs, key, data, hr.GaussianWishart.nips2015(), "rough", settings, count)
    text = "# 10K sets\n\n" + "\n".join(table(part, count, settings.seconds) for part in result["sets"].values())
    common.write_json(out / "tenk.json", result)
    common.write_text(out / "tenk.md", text)
    figure, axes = common.pyplot().subplots(2, len(result["sets"]), figsize=(10.5, 7.0), layout="constrained")
    for column, part in enumerate(result["sets"].values()):
        draw(axes[0, column], axes[1, column], part)
    common.save_figure(figure, out, "tenk")
    print(text)
    return result
