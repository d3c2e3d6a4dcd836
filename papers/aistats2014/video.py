"""AISTATS 2014, section 4.2 and Figure 4: online video segmentation on Chen's eight sequences.

    python -m papers.aistats2014.video [--sequences bus ice ...] [--out papers/aistats2014/results] [--seed 0]

Every sequence is divided into supervoxels once. Two curves come out of them:

    sweep       the paper's way: a run for each beta from 1 to 30 (and beyond, where that leaves more than 200 or fewer
                than 900 segments); what the online pass says is what counts
    hierarchy   one run at beta = 0.5, then cuts of its hierarchy at 200, 300, ..., 900 segments

Both are measured by LIBSVX's eight measures, interpolated per sequence, averaged over the sequences, and set beside the
paper's own curve and LIBSVX's stored results. Writes video_scores.csv (every run), video_curves.csv (the curves) and
video_fig4.png. Reads HEDGEROW_DATA (default ../shared/data).
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from papers.aistats2014.video_figure import draw

from hedgerow.apps.video import Supervoxels, SupervoxelSettings, curve, evaluate, find_supervoxels, open_frames
from hedgerow.apps.video.frames import in_chunks
from hedgerow.apps.video.run import default_prior
from hedgerow.apps.video.segmenter import Segmenter
from hedgerow.likelihoods import Multinomial
from hedgerow.mixture import Mixture

SEQUENCES = ("bus", "container", "garden", "ice", "paris", "salesman", "soccer", "stefan")
AT = tuple(range(200, 1000, 100))
SWEEP = (0.3, 1.0, 1.7, 3.0, 5.0, 9.0, 16.0, 30.0, 60.0, 120.0, 300.0)
FINE = 0.5
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

Row = dict[str, Any]
Curves = dict[tuple[str, str], npt.NDArray[np.float64]]


def data_folder() -> Path:
    """Where Chen's sequences and the stored curves are."""
    return Path(os.environ.get("HEDGEROW_DATA", Path(__file__).parents[3] / "shared" / "data"))


def load_sequence(name: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """The frames of a sequence and its ground truth."""
    folder = data_folder() / "chen"
    with np.load(folder / "ground_truth_160x240.npz") as stored:
        truth = stored[name]
    return np.stack(list(open_frames(folder / f"{name}.zip"))), truth


def push_all(chunks: list[Supervoxels], beta: float, seed: int) -> tuple[Segmenter, npt.NDArray[np.int32]]:
    """One online pass."""
    segmenter = Segmenter(Mixture(default_prior(), Multinomial(beta)), seed)
    return segmenter, np.concatenate([segmenter.push(chunk) for chunk in chunks])


def run_sequence(name: str, seed: int) -> list[Row]:
    """All runs of one sequence: a row of measures for each."""
    frames, truth = load_sequence(name)
    start = time.perf_counter()
    chunks = [find_supervoxels(chunk, SupervoxelSettings()) for chunk in in_chunks(iter(frames), 10)]
    divided = time.perf_counter() - start
    rows: list[Row] = []

    def note(way: str, beta: float, labels: npt.NDArray[Any], seconds: float) -> int:
        scores = evaluate(labels, truth, frames)
        about = {"way": way, "sequence": name, "beta": beta, "seconds": round(seconds, 3), "slic": round(divided, 2)}
        rows.append(about | scores.as_dict())
        return scores.n_segments

    start = time.perf_counter()
    segmenter, labels = push_all(chunks, FINE, seed)
    hierarchy = segmenter.hierarchy()
    seconds = time.perf_counter() - start
    note("hierarchy", FINE, labels, seconds)
    for n in AT:
        note("hierarchy", FINE, hierarchy.cut(n)[labels], seconds)
    for beta in SWEEP:
        start = time.perf_counter()
        _, labels = push_all(chunks, beta, seed)
        if note("sweep", beta, labels, time.perf_counter() - start) < AT[0]:
            break  # still larger beta would give still fewer segments
    return rows


def our_curves(rows: list[Row]) -> Curves:
    """Mean over sequences of the curve of each, by (measure, way)."""
    found: Curves = {}
    for way in ("sweep", "hierarchy"):
        for measure, column in MEASURES.items():
            each = []
            for name in dict.fromkeys(row["sequence"] for row in rows):
                mine = [row for row in rows if row["way"] == way and row["sequence"] == name]
                each.append(curve([row["n_segments"] for row in mine], [row[column] for row in mine], AT))
            found[measure, way] = np.mean(each, axis=0)
    return found


def printed_curves() -> Curves:
    """The paper's Figure 4, by (measure, method); methods that stop early have shorter curves."""
    values: dict[tuple[str, str], list[float]] = {}
    with open(data_folder() / "ibhc2014_fig4_curves.csv", newline="") as file:
        for row in csv.DictReader(file):
            values.setdefault((row["metric"], row["method"]), []).append(float(row["value"]))
    return {key: np.array(line) for key, line in values.items()}


def tell(ours: Curves, printed: Curves) -> None:
    """The curves beside the paper's, and where ours is behind."""
    print(f"{'':24s}" + "".join(f"{n:9d}" for n in AT))
    for measure in MEASURES:
        paper = printed[measure, "IBHC"]
        print(f"{measure + ', paper':24s}" + "".join(f"{value:9.3f}" for value in paper))
        for way in ("sweep", "hierarchy"):
            mine = ours[measure, way]
            better = mine <= paper if measure in ERRORS else mine >= paper
            marks = "".join(f"{value:8.3f}{' ' if good else '-'}" for value, good in zip(mine, better, strict=True))
            print(f"{'  ' + way:24s}{marks}")
    print("\n- : behind the paper's IBHC")


def write_rows(path: Path, rows: list[Row]) -> None:
    """Rows as CSV."""
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def main(arguments: list[str] | None = None) -> None:
    """Run, tell, write."""
    parser = argparse.ArgumentParser(description="Figure 4 of AISTATS 2014: video segmentation on Chen's sequences.")
    parser.add_argument("--sequences", nargs="+", choices=SEQUENCES, default=SEQUENCES)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for name in options.sequences:
        rows += run_sequence(name, options.seed)
        fine = next(row for row in rows if row["sequence"] == name)
        n_frames = len(load_sequence(name)[0])
        print(
            f"{name}: {fine['n_segments']} segments at beta = {FINE}, supervoxels {n_frames / fine['slic']:.1f} frames/s, "
            f"clustering and hierarchy {n_frames / fine['seconds']:.1f} frames/s",
            flush=True,
        )
        write_rows(options.out / "video_scores.csv", rows)
    ours, printed = our_curves(rows), printed_curves()
    tell(ours, printed)
    write_rows(
        options.out / "video_curves.csv",
        [
            {"measure": measure, "way": way, "n_segments": n, "value": round(float(value), 5)}
            for (measure, way), line in ours.items()
            for n, value in zip(AT, line, strict=True)
        ],
    )
    draw(ours, printed, AT, tuple(MEASURES), options.out / "video_fig4.png")


if __name__ == "__main__":
    main()
