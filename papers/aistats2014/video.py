"""AISTATS 2014, section 4.2 and Figure 4: online video segmentation on Chen's eight sequences.

Every sequence is divided into supervoxels once. Three curves come out of them:

    sweep       the paper's way: an online run for each beta from 1 to 30 (and beyond, where that leaves more than 200 or
                fewer than 900 segments); what the online pass says is what counts
    hierarchy   the paper's model of colours, one online run at beta = 0.5, then cuts of its BHC hierarchy
    edges       the same online run, then cuts of the hierarchy that knows surroundings and edges as well as colours
                (hedgerow.apps.video.joining)

All are measured by LIBSVX's eight measures, interpolated per sequence at 200, 300, ..., 900 segments, averaged over
seeds and sequences, and set beside the paper's own curve and LIBSVX's stored results. Writes video.json, video.md and
video.png / .svg.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.apps.video import JoinSettings, Supervoxels, SupervoxelSettings, curve, evaluate, find_supervoxels, open_frames
from hedgerow.apps.video.frames import in_chunks
from hedgerow.apps.video.run import default_prior
from hedgerow.apps.video.segmenter import Segmenter
from hedgerow.likelihoods import Multinomial
from hedgerow.mixture import Mixture
from papers.aistats2014.video_claims import claims
from papers.aistats2014.video_figure import TITLES, draw
from papers.common import Record, Runs, data_folder, machine, markdown, number, say, write_json, write_text

SEQUENCES = ("bus", "container", "garden", "ice", "paris", "salesman", "soccer", "stefan")
AT = tuple(range(200, 1000, 100))
SWEEP = (0.3, 1.0, 1.7, 3.0, 5.0, 9.0, 16.0, 30.0, 60.0, 120.0, 300.0)
FINE = 0.5
JOINS = JoinSettings()
CHUNK = 10
MEASURES = {
    "2D accuracy": "accuracy_2d",
    "3D accuracy": "accuracy_3d",
    "2D UE": "undersegmentation_2d",
    "3D UE": "undersegmentation_3d",
    "2D BR": "boundary_recall_2d",
    "3D BR": "boundary_recall_3d",
    "EV": "explained_variation",
    "mean duration": "mean_duration",
}
#: Measures of which less is better.
ERRORS = ("2D UE", "3D UE")
NAMES = {"sweep": "colours, β swept", "hierarchy": "colours, one run cut", "edges": "colours, surroundings, edges, one run cut"}
STORED = {"SWA": "swa", "GB": "gb", "GBH": "gbh", "Meanshift": "meanshift", "Nystrom": "nys"}

Curves = dict[tuple[str, str], npt.NDArray[np.float64]]


def main(quick: bool, out: Path) -> Record:
    """Run, tell, draw; sequences that are done are not run again. The sweep is made for the first seed, and not if quick."""
    seeds, ways = ((0,), ("hierarchy", "edges")) if quick else ((0, 1, 2), ("sweep", "hierarchy", "edges"))
    runs = Runs(out, "video")
    settings: Record = {"fine": FINE, "joins": asdict(JOINS), "chunk": CHUNK, "supervoxels": asdict(SupervoxelSettings())}
    rows: list[Record] = []
    for name in SEQUENCES:
        clip = cache(partial(Clip, name))  # read and divided only if a run of it is missing
        for seed in seeds:
            sweep = SWEEP if "sweep" in ways and seed == seeds[0] else ()
            made = runs.get(f"{name}_{seed}", settings | {"seed": seed, "sweep": sweep}, partial(run_clip, clip, seed, sweep))
            rows += made["rows"]
    ours, printed = our_curves(rows, ways), printed_curves()
    result = {
        "at": AT,
        "seeds": seeds,
        "curves": {way: {measure: ours[measure, way] for measure in MEASURES} for way in ways},
        "paper": {measure: printed[measure, "IBHC"] for measure in MEASURES},
        "claims": claims(ours, printed | stored_curves(), TITLES),
        "behind": {way: behind(ours, printed, way) for way in ways},
        "sequences": per_sequence(rows, ways),
        "speed": speed(rows),
        "settings": settings,
        "machine": machine(),
    }
    write_json(out / "video.json", result)
    write_text(out / "video.md", told(ours, printed, ways, result))
    draw(ours, printed | stored_curves(), AT, tuple(MEASURES), out)
    say(f"written: {out / 'video.md'}")
    return result


class Clip:
    """One sequence: frames, ground truth, supervoxels, and every run on them."""

    def __init__(self, name: str) -> None:
        folder = data_folder() / "chen"
        self.name = name
        self.frames = np.stack(list(open_frames(folder / f"{name}.zip")))
        with np.load(folder / "ground_truth_160x240.npz") as file:
            self.truth = file[name]
        start = time.perf_counter()
        self.chunks = [find_supervoxels(chunk, SupervoxelSettings()) for chunk in in_chunks(iter(self.frames), CHUNK)]
        self.slic = sum(chunk.slic_seconds for chunk in self.chunks)
        self.tidying = time.perf_counter() - start - self.slic

    def run(self, seed: int, sweep: Sequence[float]) -> Record:
        """A row of measures for every run and cut."""
        rows: list[Record] = []

        def note(way: str, beta: float, labels: npt.NDArray[Any], **seconds: float) -> int:
            scores = evaluate(labels, self.truth, self.frames)
            about = {"way": way, "sequence": self.name, "seed": seed, "beta": beta, "frames": len(self.frames)}
            rows.append(about | scores.as_dict() | {f"{step}_seconds": round(spent, 4) for step, spent in seconds.items()})
            return scores.n_segments

        start = time.perf_counter()
        segmenter, labels = push_all(self.chunks, FINE, seed)
        spent = {"slic": self.slic, "supervoxel": self.tidying, "clustering": time.perf_counter() - start}
        for way, joins in (("hierarchy", None), ("edges", JOINS)):
            start = time.perf_counter()
            tree = segmenter.hierarchy(joins)
            note(way, FINE, labels, **spent, hierarchy=time.perf_counter() - start)
            for n in AT:
                note(way, FINE, tree.cut(n)[labels])
        for beta in sweep:
            _, labels = push_all(self.chunks, beta, seed)
            if note("sweep", beta, labels) < AT[0]:
                break  # still larger beta would give still fewer segments
        return {"rows": rows}


def run_clip(clip: Callable[[], Clip], seed: int, sweep: Sequence[float]) -> Record:
    """The runs of one seed."""
    return clip().run(seed, sweep)


def push_all(chunks: list[Supervoxels], beta: float, seed: int) -> tuple[Segmenter, npt.NDArray[np.int32]]:
    """One online pass."""
    segmenter = Segmenter(Mixture(default_prior(), Multinomial(beta)), seed)
    return segmenter, np.concatenate([segmenter.push(chunk) for chunk in chunks])


# ---- curves


def one_curve(rows: list[Record], column: str) -> npt.NDArray[np.float64]:
    """A measure of one sequence, way and seed at the given numbers of segments."""
    return curve([row["n_segments"] for row in rows], [row[column] for row in rows], AT)


def our_curves(rows: list[Record], ways: Sequence[str]) -> Curves:
    """Mean over sequences and seeds of the curve of each, by (measure, way)."""
    return {
        (measure, way): np.mean([sequence_curve(rows, way, name, column) for name in SEQUENCES], axis=0)
        for way in ways
        for measure, column in MEASURES.items()
    }


def sequence_curve(rows: list[Record], way: str, name: str, column: str) -> npt.NDArray[np.float64]:
    """One sequence, seeds averaged."""
    mine = [row for row in rows if (row["way"], row["sequence"]) == (way, name)]
    each = [one_curve([row for row in mine if row["seed"] == seed], column) for seed in sorted({row["seed"] for row in mine})]
    return np.asarray(np.mean(each, axis=0))


def printed_curves() -> Curves:
    """The paper's Figure 4, by (measure, method); methods that stop early have shorter curves."""
    values: dict[tuple[str, str], list[float]] = {}
    with open(data_folder() / "ibhc2014_fig4_curves.csv", newline="") as file:
        for row in csv.DictReader(file):
            values.setdefault((row["metric"], row["method"]), []).append(float(row["value"]))
    return {key: np.array(line) for key, line in values.items()}


def stored_curves() -> Curves:
    """LIBSVX's stored results of the offline methods, averaged as ours are."""
    with open(data_folder() / "libsvx_chen_baselines.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {"2D accuracy": "acc_2d", "3D accuracy": "acc_3d", "2D UE": "ue_2d", "3D UE": "ue_3d"}
    columns |= {"2D BR": "br_2d", "3D BR": "br_3d", "EV": "explained_variation", "mean duration": "mean_duration"}
    tables = {"EV": "ev", "mean duration": "length"}
    found: Curves = {}
    for measure, column in columns.items():
        for method, short in STORED.items():
            at = AT[:4] if method == "Nystrom" else AT
            each = []
            for name in SEQUENCES:
                mine = [r for r in rows if (r["table"], r["method"], r["video"]) == (tables.get(measure, "main"), short, name)]
                each.append(curve([int(r["n_supervoxels"]) for r in mine], [float(r[column]) for r in mine], at))
            found[measure, method] = np.mean(each, axis=0)
    return found


def behind(ours: Curves, printed: Curves, way: str) -> Record:
    """By measure: the numbers of segments at which this way is behind the paper's curve."""
    return {measure: [n for n, good in zip(AT, better(ours, printed, measure, way), strict=True) if not good] for measure in MEASURES}


def better(ours: Curves, printed: Curves, measure: str, way: str) -> npt.NDArray[np.bool_]:
    """Where this way is at least as good as the paper's IBHC."""
    mine, paper = ours[measure, way], printed[measure, "IBHC"]
    return np.asarray(mine <= paper if measure in ERRORS else mine >= paper)


def per_sequence(rows: list[Record], ways: Sequence[str]) -> Record:
    """3-D accuracy of every sequence, seeds averaged."""
    return {way: {name: sequence_curve(rows, way, name, "accuracy_3d") for name in SEQUENCES} for way in ways}


def speed(rows: list[Record]) -> Record:
    """Frames a second over all sequences, and SLIC's share of the time. Reading the files is not in it."""
    timed = [row for row in rows if row["way"] == "edges" and "slic_seconds" in row]
    total = {step: sum(row[f"{step}_seconds"] for row in timed) for step in ("slic", "supervoxel", "clustering", "hierarchy")}
    frames = sum(row["frames"] for row in timed)
    rest = sum(total.values()) - total["slic"]
    return {"frames_per_second": frames / (rest + total["slic"]), "slic_share": total["slic"] / (rest + total["slic"])}


# ---- words


def told(ours: Curves, printed: Curves, ways: Sequence[str], result: Record) -> str:
    """The tables as Markdown."""
    shown = []
    for measure in MEASURES:
        digits = 1 if measure == "mean duration" else 2 if measure in ERRORS else 3
        shown.append([f"**{TITLES[measure]}**, paper's IBHC", *(number(float(v), digits) for v in printed[measure, "IBHC"])])
        for way in ways:
            good = better(ours, printed, measure, way)
            values = zip(ours[measure, way], good, strict=True)
            shown.append([NAMES[way], *(number(float(v), digits) + ("" if ok else " ✗") for v, ok in values)])
    sequences = [[name, *(number(float(v), 3) for v in result["sequences"]["edges"][name])] for name in SEQUENCES]
    pace = result["speed"]
    lines = [
        "# Figure 4 of AISTATS 2014: video segmentation on Chen's eight sequences",
        "",
        f"Means over the eight sequences and {len(result['seeds'])} seed(s) (of the sweep: one) at 200 to 900 segments. ✗ marks "
        "where a curve is behind the paper's IBHC; of the undersegmentation errors, less is better.",
        "",
        "The settings of supervoxels and joins were chosen by looking at these same eight sequences, one set for all of them; the "
        "ground truth was used for nothing else. What settings that never saw a sequence do on it is in held_out.md. Take small "
        "differences between our own curves lightly: one true object of 900 voxels in bus, found or not, moves the mean 3-D accuracy "
        "by 0.007.",
        "",
        markdown(["segments", *map(str, AT)], shown),
        *result["claims"],
        "",
        "3-D accuracy by sequence, colours, surroundings and edges:",
        "",
        markdown(["segments", *map(str, AT)], sequences),
        f"Speed at 240 x 160: {pace['frames_per_second']:.0f} frames a second (supervoxels, clustering, hierarchy; reading the files "
        f"left out) by the clock of a machine that had other work to do; SLIC takes "
        f"{pace['slic_share']:.0%} of the time. `python -m benchmarks video` measures it by itself.",
        "",
    ]
    return "\n".join(lines)
