"""Figure 4 of AISTATS 2014 with settings that never saw the clip they are judged on.

The curves of `video` use one set of settings for all eight of Chen's sequences, found by looking at these same eight. Here the
settings are chosen on seven sequences and judged on the eighth, for each of the eight. Every combination of

    compactness, time_spacing     of the supervoxels
    edges, surroundings           of the hierarchy's joins

is run on every sequence; of each seven, the combination is taken with the greatest mean, over these sequences and over 200, 300,
..., 900 segments, of the five measures that lie between 0 and 1 and of which more is better. The curve of the eighth is that of
this combination. Beside it stand the curve of the package's own settings (chosen on all eight, by eye), the curve of the best
combination on all eight (chosen on what it is judged on), and the paper's. Writes held_out.json, held_out.md and
held_out.png / .svg.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hedgerow.apps.video import JoinSettings, SupervoxelSettings, boundary_map, curve, find_supervoxels, open_frames
from hedgerow.apps.video.frames import in_chunks
from hedgerow.apps.video.hierarchy import Hierarchy
from papers.aistats2014.video import AT, CHUNK, ERRORS, FINE, MEASURES, SEQUENCES, printed_curves, push_all, stored_curves
from papers.aistats2014.video_figure import HELD_OUT, TITLES, draw
from papers.claims import shown
from papers.common import Record, Runs, data_folder, machine, markdown, number, say, write_json, write_text

#: What is tried; the package's own settings are among them.
COMPACTNESS, TIME_SPACING = (4.0, 7.0, 12.0), (0.5, 1.0, 2.0)
EDGES, SURROUNDINGS = (0.0, 0.5, 1.0), (1.0, 3.0, 6.0)
SEEDS = (0,)  # of the clustering, averaged
#: What is chosen by: more is better, at most 1.
CHOSEN_BY = ("2D accuracy", "3D accuracy", "2D BR", "3D BR", "EV")
WAYS = {"held out": "settings of the other seven", "own": "the package's settings", "best": "best settings on all eight"}

Ints = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]


def main(quick: bool, out: Path) -> Record:
    """Run what is missing, choose, judge, tell. `quick` tries fewer combinations."""
    pieces, joins = combinations(quick)
    seeds = (0,) if quick else SEEDS
    runs = Runs(out, "held_out")
    tables: list[Floats] = []  # by sequence: (combination, measure, number of segments)
    for name in SEQUENCES:
        clip = cache(partial(Clip, name))
        rows: list[list[list[float]]] = []
        for i, setting in enumerate(pieces):
            settings = {"supervoxels": asdict(setting), "joins": [asdict(join) for join in joins], "at": AT, "fine": FINE}
            every = [runs.get(f"{name}_{i}_{s}", settings | {"seed": s}, partial(curves_of, clip, setting, joins, s)) for s in seeds]
            rows += np.mean([run["curves"] for run in every], axis=0).tolist()
        tables.append(np.array(rows))
    tried = list(product(pieces, joins))
    table = np.stack(tables)
    chosen = choices(table)
    own = tried.index((SupervoxelSettings(), JoinSettings()))
    best = int(worth(table).mean(axis=0).argmax())
    judged = {"held out": chosen, "own": [own] * len(SEQUENCES), "best": [best] * len(SEQUENCES)}
    curves = {way: np.mean([table[i, k] for i, k in enumerate(picks)], axis=0) for way, picks in judged.items()}
    result: Record = {
        "at": AT,
        "seeds": seeds,
        "combinations": len(tried),
        "chosen": {name: in_words(*tried[k]) for name, k in zip(SEQUENCES, chosen, strict=True)},
        "best": in_words(*tried[best]),
        "own": in_words(*tried[own]),
        "curves": {way: dict(zip(MEASURES, lines, strict=True)) for way, lines in curves.items()},
        "claims": claims(curves),
        "machine": machine(),
    }
    write_json(out / "held_out.json", result)
    write_text(out / "held_out.md", told(result))
    drawn = {(measure, way): line for way, lines in curves.items() for measure, line in zip(MEASURES, lines, strict=True)}
    draw(drawn, printed_curves() | stored_curves(), AT, tuple(MEASURES), out, "held_out", HELD_OUT)
    say(f"written: {out / 'held_out.md'}")
    return result


def combinations(quick: bool) -> tuple[list[SupervoxelSettings], list[JoinSettings]]:
    """The settings of supervoxels, and those of joins."""
    grid = ((7.0, 12.0), (1.0,)) if quick else (COMPACTNESS, TIME_SPACING)
    pieces = [SupervoxelSettings(compactness=c, time_spacing=t) for c, t in product(*grid)]
    joins = [JoinSettings(e, s) for e, s in product(EDGES, SURROUNDINGS)]
    return pieces, joins


def worth(table: Floats) -> Floats:
    """What a combination is worth on a sequence: the mean of what it is chosen by."""
    return np.asarray(table[:, :, [list(MEASURES).index(name) for name in CHOSEN_BY]].mean(axis=(2, 3)))


def choices(table: Floats) -> list[int]:
    """For every sequence the combination that is worth most on the others."""
    scores = worth(table)
    return [int(np.delete(scores, i, axis=0).mean(axis=0).argmax()) for i in range(len(scores))]


def in_words(pieces: SupervoxelSettings, joins: JoinSettings) -> str:
    """A combination."""
    place = f"compactness {pieces.compactness:g}, time {pieces.time_spacing:g}"
    return f"{place}, edges {joins.edges:g}, surroundings {joins.surroundings:g}"


class Clip:
    """One sequence and its ground truth."""

    def __init__(self, name: str) -> None:
        folder = data_folder() / "chen"
        self.frames = np.stack(list(open_frames(folder / f"{name}.zip")))
        with np.load(folder / "ground_truth_160x240.npz") as file:
            self.truth = file[name]

    def run(self, setting: SupervoxelSettings, joins: list[JoinSettings], seed: int) -> Record:
        """The curves of one setting of supervoxels and all joins, (join, measure, number of segments)."""
        chunks = [find_supervoxels(chunk, setting) for chunk in in_chunks(iter(self.frames), CHUNK)]
        segmenter, labels = push_all(chunks, FINE, seed)
        judge = Judge(labels, self.truth, self.frames)
        return {"curves": [judge.curves(segmenter.hierarchy(join)) for join in joins]}


def curves_of(clip: Callable[[], Clip], setting: SupervoxelSettings, joins: list[JoinSettings], seed: int) -> Record:
    """What `Clip.run` finds, of a clip that is opened only where the run is not kept."""
    return clip().run(setting, joins, seed)


class Judge:
    """The measures of many cuts of one fine segmentation: what they need of the voxels is looked up once.

    The same numbers as `hedgerow.apps.video.evaluate`, to rounding, with 0 as void.
    """

    def __init__(self, fine: Ints, truth: Ints, frames: npt.NDArray[np.uint8]) -> None:
        n, width = int(fine.max()) + 1, int(truth.max()) + 1
        frame = np.arange(len(fine))[:, None, None]
        keys, common = np.unique((frame * n + fine) * width + truth, return_counts=True)
        self.common = common.astype(np.float64)
        self.frame, self.fine, self.true = keys // width // n, keys // width % n, keys % width
        self.width = width
        self.sizes = np.bincount(fine.reshape(-1), minlength=n).astype(np.float64)
        colours = frames.reshape(-1, frames.shape[-1]).astype(np.float64)
        self.colours = np.stack([np.bincount(fine.reshape(-1), column, n) for column in colours.T], axis=1)
        self.total = float(((colours - colours.mean(axis=0)) ** 2).sum())
        self.borders = [(flat, *beside(fine, truth, flat)) for flat in (True, False)]

    def curves(self, tree: Hierarchy) -> Floats:
        """Every measure at the numbers of segments in AT, in the order of MEASURES."""
        cuts = [n for n in (*AT, tree.n) if n <= tree.n]
        rows = [self.measures(tree.cut(n)) for n in cuts]
        return np.stack([curve(cuts, column, AT) for column in np.array(rows).T])

    def measures(self, coarse: Ints) -> list[float]:
        """The measures when fine segment i belongs to coarse[i]."""
        n = int(coarse.max()) + 1
        label = coarse[self.fine]
        held = np.bincount(self.frame * n + label, self.common).astype(np.float64)  # voxels of a segment in a frame
        keys, which = np.unique((self.frame * n + label) * self.width + self.true, return_inverse=True)
        common = np.bincount(which, self.common).astype(np.float64)
        flat = self.overlap(
            keys // self.width // n * self.width + keys % self.width, keys % self.width, common, held[keys // self.width]
        )
        whole, which = np.unique(label * self.width + self.true, return_inverse=True)
        sizes = np.bincount(coarse, self.sizes).astype(np.float64)
        common = np.bincount(which, self.common).astype(np.float64)
        deep = self.overlap(whole % self.width, whole % self.width, common, sizes[whole // self.width])
        sums = np.stack([np.bincount(coarse, column) for column in self.colours.T], axis=1)
        mean = sums.sum(axis=0) / sizes.sum()
        between = float((sizes * ((sums / sizes[:, None] - mean) ** 2).sum(axis=1)).sum())
        recalls = [recall(coarse, *border) for border in self.borders]
        return [flat[0], deep[0], flat[1], deep[1], *recalls, between / self.total, float((held > 0).sum() / n)]

    def overlap(self, cell: Ints, true: Ints, common: Floats, size: Floats) -> tuple[float, float]:
        """Accuracy and undersegmentation error: in every cell (of a frame, or of the clip), then over a true segment's cells."""
        real = true > 0
        cells, which = np.unique(cell[real], return_inverse=True)
        area = np.bincount(which, common[real])
        good = np.bincount(which, np.where(2 * common[real] >= size[real], common[real], 0)) / area
        under = (np.bincount(which, size[real]) - area) / area
        owner = cells % self.width
        times = np.bincount(owner, minlength=self.width)
        there = times > 0
        first, second = (np.bincount(owner, value, self.width)[there] / times[there] for value in (good, under))
        return float(first.mean()), float(second.mean())


def beside(fine: Ints, truth: Ints, flat: bool) -> tuple[Ints, Ints, Ints]:
    """The voxels of true borders: their frames, their fine labels, and those of their neighbours (itself where there is none)."""
    at = np.nonzero(boundary_map(truth, void=0, in_time=not flat))
    steps = [(0, 0, 1), (0, 0, -1), (0, 1, 0), (0, -1, 0)] + ([] if flat else [(1, 0, 0), (-1, 0, 0)])
    around = [fine[tuple(np.clip(axis + d, 0, side - 1) for axis, d, side in zip(at, step, fine.shape, strict=True))] for step in steps]
    return at[0], fine[at], np.stack(around, axis=1)


def recall(coarse: Ints, flat: bool, frame: Ints, own: Ints, around: Ints) -> float:
    """The share of true border voxels that lie on a border of the cut: over frames if flat, else of all at once."""
    found = (coarse[around] != coarse[own][:, None]).any(axis=1)
    if not flat:
        return float(found.mean())
    wanted = np.bincount(frame)
    there = wanted > 0
    return float((np.bincount(frame, found)[there] / wanted[there]).mean())


def claims(curves: dict[str, Floats]) -> list[str]:
    """By way: in which measures its curve is nowhere behind the paper's, in which it is, and by how much."""
    printed = printed_curves()
    lines = []
    for way in ("held out", "own"):
        found: dict[bool, list[str]] = {True: [], False: []}
        for measure, values in zip(MEASURES, curves[way], strict=True):
            margins = (printed[measure, "IBHC"] - values) if measure in ERRORS else (values - printed[measure, "IBHC"])
            least = number(float(margins.min()), 1 if measure == "mean duration" else 2 if measure in ERRORS else 4)
            where = "" if margins.min() >= 0 else f", behind at {int((margins < 0).sum())} of {len(AT)}"
            found[not where].append(f"{TITLES[measure]} ({least}{where})")
        at_least = f"{WAYS[way]}: at least as good as the paper's IBHC at every number of segments from {AT[0]} to {AT[-1]} in"
        if found[True]:
            lines.append(shown(True, f"{at_least} {'; '.join(found[True])}. In brackets the least margin."))
        if found[False]:
            lines.append(shown(False, f"{at_least} {'; '.join(found[False])}."))
    return lines


def told(result: Record) -> str:
    """The tables as Markdown."""
    printed = printed_curves()
    rows = []
    for measure in MEASURES:
        digits = 1 if measure == "mean duration" else 2 if measure in ERRORS else 3
        paper = printed[measure, "IBHC"]
        rows.append([f"**{TITLES[measure]}**, paper's IBHC", *(number(float(v), digits) for v in paper)])
        for way, words in WAYS.items():
            values = np.asarray(result["curves"][way][measure])
            good = values <= paper if measure in ERRORS else values >= paper
            rows.append([words, *(number(float(v), digits) + ("" if ok else " ✗") for v, ok in zip(values, good, strict=True))])
    return "\n".join(
        [
            "# Figure 4 of AISTATS 2014, settings held out",
            "",
            f"Means over Chen's eight sequences and {len(result['seeds'])} seed(s). Each sequence is segmented with the one of "
            f"{result['combinations']} combinations of settings that is best on the other seven by the mean of accuracy, boundary "
            "recall (2-D and 3-D) and explained variation; the number of tubes (1,000), the smallest piece (0.05 of a tube), β (0.5) "
            "and the chunk (10 frames, as in the paper) are not chosen. ✗ marks where a curve is behind the paper's IBHC; of the "
            "undersegmentation errors, less is better. Made by `python -m papers.aistats2014 held-out`.",
            "",
            markdown(["segments", *map(str, AT)], rows),
            *result["claims"],
            "",
            markdown(["sequence", "chosen on the other seven"], [[name, words] for name, words in result["chosen"].items()]),
            f"Best on all eight: {result['best']}. The package's: {result['own']}.",
            "",
        ]
    )
