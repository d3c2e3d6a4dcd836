"""python -m papers.report: papers/REPORT.md from the results of both papers: what agrees, what does not, and why.

Every sentence with a number is made from the JSON files of `papers/<paper>/results`; what has not been run is said to be
missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from papers.claims import synthetic_claims, tenk_claims, text_claims, toy_claims, video_claims
from papers.common import ROOT, Record, read_json, write_text

Claims = Callable[[Record], list[str]]

#: Paper, experiment, heading, what is claimed of it.
EXPERIMENTS: tuple[tuple[str, str, str, Claims], ...] = (
    ("nips2015", "toy", "Toy set (NIPS 2015, section 4.1, Figure 3)", toy_claims),
    ("nips2015", "tenk", "10,000 points (NIPS 2015, section 4.2, Figure 4)", tenk_claims),
    ("nips2015", "nips", "NIPS corpus (NIPS 2015, section 4.3, Figure 5)", text_claims),
    ("aistats2014", "synthetic", "Synthetic data (AISTATS 2014, section 4.1, Table 1, Figure 3)", synthetic_claims),
    ("aistats2014", "video", "Video (AISTATS 2014, section 4.2, Figure 4)", video_claims),
    ("aistats2014", "held_out", "Video with settings held out", video_claims),
)

OPENING = """# The two papers, run again

Made by `python -m papers.report` from the JSON files in `papers/*/results`. Seconds are CPU seconds of one thread. `tgMCMC` is the
published sampler (`hr.TreeGuidedPublished`), `TreeGuided` the exact one of this package (`hr.TreeGuided`). "Agrees" and "differs" are
decided by the numbers; where something differs the reason follows.

The best log joint of a run is taken over all of it, burn-in included. That of TreeGuided is often seen in its warm-up, which anneals
and looks for the tops of modes with cold sweeps: a search, not draws. In the figures its log joint plunges while sweeps are heated.
Its means and effective draws come from exact draws alone.

The printed tables of NIPS 2015 are not in the copies of the paper at hand, so its text and the authors' own logged runs of the toy set
stand in for them. For AISTATS 2014 there are Table 1 and the curves and points read out of its figures.
"""


def main(arguments: list[str] | None = None) -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(prog="python -m papers.report", description="Write papers/REPORT.md from the results.")
    parser.add_argument("--results", default="results", help="folder of results under each paper (default: results)")
    parser.add_argument("--out", type=Path, default=ROOT / "REPORT.md")
    options = parser.parse_args(arguments)
    parts = [OPENING]
    for paper, experiment, heading, claims in EXPERIMENTS:
        folder = ROOT / paper / options.results
        parts.append(section(folder, f"{paper}/{options.results}", experiment, heading, claims))
    write_text(options.out, "\n".join(parts))
    print(f"wrote {options.out.name}")


def section(folder: Path, link: str, experiment: str, heading: str, claims: Claims) -> str:
    """One experiment: the machine, the claims, the figure, the table."""
    result = read_json(folder / f"{experiment}.json")
    lines = [f"## {heading}\n"]
    if result is None:
        return "\n".join([*lines, "Not run.\n"])
    machine = result.get("machine")
    if machine:
        lines.append(
            f"Machine: {machine['processor']}, {machine['cores']} cores ({machine['instruction_set']}), Python {machine['python']}, "
            f"Hedgerow {machine['hedgerow']}.\n"
        )
    said = claims(result)
    lines += [*said, ""]
    if (folder / f"{experiment}.png").exists():
        lines.append(f"![{heading}]({link}/{experiment}.png)\n")
    table = folder / f"{experiment}.md"
    if table.exists():
        body = [line for line in table.read_text(encoding="utf-8").splitlines() if not line.startswith("# ") and line not in said]
        lines += [line.replace("## ", "### ", 1) if line.startswith("## ") else line for line in body]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
