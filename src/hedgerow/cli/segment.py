"""hedgerow segment: divide a clip into segments that last through time, and cut them coarser or finer later.

A run leaves a folder; the folder given instead of a clip is cut anew from its hierarchy, without looking at the clip again
except to draw on it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.apps.video.frames import open_frames
from hedgerow.apps.video.joining import JoinSettings
from hedgerow.apps.video.result import Segmentation
from hedgerow.apps.video.run import segment
from hedgerow.apps.video.supervoxels import SupervoxelSettings
from hedgerow.cli.output import Interrupted, add_command, path_argument, say, tell_files
from hedgerow.cli.run_folder import make_folder, refuse_links
from hedgerow.errors import ParameterError, need_extra

__all__ = ["add"]

SAVED = "segmentation.hedge"
LABELS = "labels.npz"
TABLE = "segments.csv"
JOINS = "hierarchy.csv"
PICTURES = "labels"
USUAL = 200
KINDS = ("mp4", "gif", "mkv", "mov", "avi", "webm", "none")
NAMES = (SAVED, LABELS, TABLE, JOINS, PICTURES, *(f"overlay.{kind}" for kind in KINDS))

EXAMPLES = """examples:
  hedgerow segment clip.mp4                         200 segments, clip-segments/
  hedgerow segment clip.mp4 --segments 50 --overlay gif
  hedgerow segment frames/ --pngs --longest-side 0  pictures, every pixel
  hedgerow segment clip-segments --segments 20      the same run, cut coarser
  hedgerow segment clip-segments --segments all --out fine --overlay none
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "segment",
        "divide a video into segments that last through time",
        "Divide a video, or a folder or zip file of pictures, into segments by colour and place, online, in memory that does not "
        "grow with the clip. Writes the labels, a table of the segments, an overlay to look at, and the hierarchy, from which any "
        "number of segments can be had later by giving the folder instead of the clip.",
        EXAMPLES,
        run,
    )
    parser.add_argument("source", help="a video, a folder or zip file of pictures, or a folder that this command has written")
    parser.add_argument("--segments", metavar="N", help=f"how many, or 'all' for the finest cut (default: {USUAL})")
    where = "the folder to write (default: the name of the clip with -segments)"
    parser.add_argument("--out", metavar="DIR", type=path_argument, help=where)
    parser.add_argument("--force", action="store_true", help="replace a run that is already in the folder")
    group = parser.add_argument_group("what is written")
    group.add_argument("--overlay", choices=KINDS, default="mp4", help="the clip with segments drawn in, as (default: %(default)s)")
    group.add_argument("--pngs", action="store_true", help="also a PNG of labels for every frame")
    group.add_argument("--clip", metavar="PATH", help="where the clip is now, to draw on, if a folder is cut anew and it has moved")
    group.add_argument("--quiet", action="store_true", help="no progress bar, and not a word on the time it took")
    group = parser.add_argument_group("the run (not for a folder that is cut anew)")
    group.add_argument("--beta", type=float, metavar="B", help="larger values find fewer segments (default: 0.5)")
    group.add_argument("--edges", type=float, metavar="W", help="how much edges count in joining segments (default: 0.5)")
    group.add_argument("--surroundings", type=float, metavar="W", help="how much what lies around a segment counts (default: 3)")
    group.add_argument("--chunk", type=int, metavar="N", help="frames that are looked at together (default: 10)")
    group.add_argument("--supervoxels", type=int, metavar="N", help="pieces a chunk is divided into at first (default: 1000)")
    group.add_argument("--longest-side", type=int, metavar="N", help="reduce larger frames to this; 0: never (default: 320)")
    group.add_argument("--seed", type=int, metavar="N", help="decides every random choice (default: 0)")


def run(options: argparse.Namespace) -> None:
    """Segment or open, write, tell."""
    wanted = USUAL if options.segments is None else _read_count(options.segments)
    again = _is_run(Path(options.source))
    overlay = None if options.overlay == "none" else options.overlay
    if again:
        _refuse_run_options(options)
        before = Path(options.source)
        found = Segmentation.load(before / SAVED if before.is_dir() else before)
        clip = _clip_of(found, options) if overlay else None
        n = _fit_count(found, wanted, strict=options.segments is not None)
        home = before if before.is_dir() else before.parent
        folder = make_folder(options.out) if options.out else home
        refuse_links(folder, NAMES)
        if folder.resolve() != home.resolve():
            _refuse_to_replace(folder, options.force)
            found.save(folder / SAVED)
    else:
        if options.clip:
            raise ParameterError(f"--clip {options.clip}: is for a folder that is cut anew; here the clip is {options.source}.")
        need_extra("av", "video")  # before the folder is made
        frames = open_frames(options.source)
        folder = make_folder(options.out or f"{Path(options.source).resolve().name.partition('.')[0]}-segments")
        refuse_links(folder, NAMES)
        _refuse_to_replace(folder, options.force)
        found = segment(frames, progress=False if options.quiet else None, **_settings(options))
        found.save(folder / SAVED)
        clip = options.source
        n = _fit_count(found, wanted, strict=False)
    try:
        files = _write(found, folder, n, clip, overlay, options.pngs)
    except KeyboardInterrupt:
        raise Interrupted(f"stopped; the run is saved in {folder / SAVED}, other files may be missing") from None
    _tell(found, n, wanted, files, timed=not (again or options.quiet))


def _write(found: Segmentation, folder: Path, n: int | None, clip: str | None, overlay: str | None, pngs: bool) -> dict[Path, str]:
    """Write the files of one cut beside the run; returns what each is."""
    files: dict[Path, str] = {}

    def put(name: str, what: str, write: Callable[[Path], None]) -> None:
        write(folder / name)
        files[folder / name] = what

    if clip is not None and overlay is not None:
        put(f"overlay.{overlay}", "the clip with its segments drawn in", lambda path: found.write_overlay(path, clip, n))
    put(TABLE, "life span, size, colour and place of every segment", lambda path: found.write_table(path, n))
    put(LABELS, "the label of every voxel, `labels` for numpy.load", lambda path: found.write_npz(path, n))
    if pngs:
        put(PICTURES, "the same as one PNG per frame, in the size of the clip", lambda path: found.write_pngs(path, n))
    put(JOINS, "which segments join on the way from fine to coarse", found.write_hierarchy)
    files[folder / SAVED] = "the run, to cut anew"
    return files


def _tell(found: Segmentation, n: int | None, wanted: int | None, files: dict[Path, str], *, timed: bool) -> None:
    """Say what was found and where it is."""
    rows, columns = found.frame_size
    say(f"{found.n_frames:,} frames of {columns} x {rows}: {found.n_segments:,} segments at the finest cut.")
    numbers = found.hierarchy.cut(n)
    count = int(numbers.max()) + 1
    if wanted is not None and wanted != count:
        say(f"{wanted:,} segments cannot be had from it; the nearest number is {count:,}.")
    life = found.table(n)["frames"]
    throughout = int((life == found.n_frames).sum())
    say(f"Written with {count:,}; they last {np.mean(life):.1f} frames on average, and {throughout:,} throughout.")
    if timed:
        seconds = dict(found.record["seconds"])
        slic = seconds.pop("slic")
        total = slic + sum(seconds.values())
        say(f"It took {total:.1f} seconds ({found.n_frames / total:.1f} frames a second), {slic / total:.0%} of them in SLIC.")
    say()
    tell_files({str(path): what for path, what in files.items()})


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """What was asked for, as arguments of `segment`; what was not is left to its defaults."""
    chosen: dict[str, Any] = {name: getattr(options, name) for name in ("beta", "chunk", "seed") if getattr(options, name) is not None}
    joins = {name: getattr(options, name) for name in ("edges", "surroundings") if getattr(options, name) is not None}
    chosen["joins"] = JoinSettings(**joins)
    if options.supervoxels is not None:
        chosen["supervoxels"] = SupervoxelSettings(options.supervoxels)
    if options.longest_side is not None:
        chosen["longest_side"] = options.longest_side or None
    return chosen


def _read_count(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError(f"--segments {text}: must be a whole number from 1 up, or 'all'.")
    return int(text)


def _fit_count(found: Segmentation, wanted: int | None, *, strict: bool) -> int | None:
    """The number asked for; a clip may have fewer, and parts that never touch are never joined."""
    tree = found.hierarchy
    if wanted is None or tree.fewest <= wanted <= tree.n:
        return wanted
    if strict:
        raise ParameterError(f"--segments {wanted}: must lie between {tree.fewest} and {tree.n} in this run.")
    return min(max(wanted, tree.fewest), tree.n)


def _refuse_to_replace(folder: Path, force: bool) -> None:
    if (folder / SAVED).exists() and not force:
        raise ParameterError(f"--out {folder}: must not hold a run already (--force replaces it).")


def _is_run(path: Path) -> bool:
    return (path / SAVED).is_file() or (path.suffix == ".hedge" and path.is_file())


def _refuse_run_options(options: argparse.Namespace) -> None:
    for name in ("beta", "edges", "surroundings", "chunk", "supervoxels", "longest_side", "seed"):
        if getattr(options, name) is not None:
            shown = name.replace("_", "-")
            raise ParameterError(f"--{shown}: cannot change a run that is made; give the clip to make a new one.")


def _clip_of(found: Segmentation, options: argparse.Namespace) -> str:
    """The clip to draw on: where it is said to be, or where it was."""
    place = options.clip or str(found.record.get("source", ""))
    if not Path(place).exists():
        raise ParameterError(f"{place}: the clip is not there any more; say where with --clip, or draw nothing with --overlay none.")
    return place
