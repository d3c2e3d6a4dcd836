"""NIPS 2015, section 4.3 and Figure 5: six samplers on the NIPS corpus, Dir(0.1), NGG, from IBHC's partition.

Writes nips.json, nips.md and nips.png / .svg.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import hedgerow as hr
from papers import common
from papers.common import Record, Runs, Size
from papers.nips2015.models import corpus
from papers.nips2015.six import Settings, draw, race, table

SETTINGS: dict[Size, Settings] = {
    "full": Settings(seeds=3, seconds=60.0, pilot=4.0, burn_in=0.5),
    "quick": Settings(seeds=1, seconds=11.0, pilot=2.0, burn_in=0.5),
    "tiny": Settings(seeds=1, seconds=0.2, pilot=0.05),
}


def main(size: Size, out: Path, seeds: int | None = None) -> Record:
    """Run, tell, draw."""
    settings = SETTINGS[size]
    count = seeds or settings.seeds
    part = race(Runs(out, "nips"), "nips", corpus(size), hr.Multinomial(0.1), "ibhc", settings, count)
    result: Record = {
        "experiment": "NIPS 2015, section 4.3, Figure 5",
        "settings": asdict(settings) | {"seeds": count, "size": size},
        "machine": common.machine(),
        "sets": {"nips": part},
    }
    text = "# NIPS corpus\n\n" + table(part, count, settings.seconds)
    common.write_json(out / "nips.json", result)
    common.write_text(out / "nips.md", text)
    figure, axes = common.pyplot().subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
    draw(axes[0], axes[1], part)
    common.save_figure(figure, out, "nips")
    print(text)
    return result
