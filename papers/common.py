"""What all experiments share: where data and results are, runs that resume, JSON, tables and figure files.

A run is one method with one seed. Its numbers go to `<out>/runs/<experiment>/<name>.json` together with the settings that
made them; a run whose file is there with equal settings is not made again, so an interrupted experiment goes on where it was.
Files appear by renaming a finished one, hence are whole or absent.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

import hedgerow as hr
from hedgerow import _core
from hedgerow.errors import need_extra
from hedgerow.plots.palette import CLUSTER_COLORS, INK, MUTED

ROOT = Path(__file__).resolve().parent
Size = Literal["full", "quick", "tiny"]
Record = dict[str, Any]

#: One colour for each method, the same in every figure.
COLORS = {
    "Gibbs": CLUSTER_COLORS[0],
    "SM": CLUSTER_COLORS[1],
    "Gibbs_sub": CLUSTER_COLORS[3],
    "SM_sub": CLUSTER_COLORS[5],
    "tgMCMC": CLUSTER_COLORS[4],
    "TreeGuided": CLUSTER_COLORS[2],
    "IBHC": CLUSTER_COLORS[4],
    "SMC": CLUSTER_COLORS[1],
}


def data_folder() -> Path:
    """Where the papers' data are: HEDGEROW_DATA, or ../shared/data beside the repository."""
    return Path(os.environ.get("HEDGEROW_DATA", ROOT.parents[1] / "shared" / "data"))


def stored(name: str) -> dict[str, np.ndarray[Any, Any]] | None:
    """The arrays of a file of the data folder, or None where it is not there."""
    path = data_folder() / name
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


# ---- command line


def command_line(paper: str, experiments: Mapping[str, Callable[..., Any]], arguments: Sequence[str] | None = None) -> None:
    """Read the command line of a paper and run the experiment it names."""
    parser = argparse.ArgumentParser(prog=f"python -m papers.{paper}", description=f"The experiments of {paper}, run again.")
    parser.add_argument("experiment", choices=list(experiments))
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs: within two minutes on two cores")
    parser.add_argument("--tiny", action="store_true", help="a few rows and a few seconds: whether it runs at all")
    parser.add_argument("--seeds", type=_count, default=None, help="runs of every method")
    parser.add_argument("--out", type=Path, default=None, help="folder for results (default: results, quick or tiny of the paper)")
    options = parser.parse_args(arguments)
    size: Size = "tiny" if options.tiny else "quick" if options.quick else "full"
    folder = {"full": "results", "quick": "quick", "tiny": "tiny"}[size]
    out = options.out or ROOT / paper / folder
    out.mkdir(parents=True, exist_ok=True)
    experiments[options.experiment](size, out, options.seeds)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


# ---- runs that resume


class Runs:
    """The runs of one experiment: made once, kept as files, read back when settings are equal."""

    def __init__(self, out: Path, experiment: str) -> None:
        self.folder = out / "runs" / experiment
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str, settings: Record, make: Callable[[], Record]) -> Record:
        """The run called `name`: from its file if that was made with equal settings, otherwise made now."""
        path = self.folder / f"{name}.json"
        settings = plain(settings)
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["settings"] == settings:
                return dict(kept["numbers"])
        say(f"  {name}")
        numbers: Record = plain(make())
        write_json(path, {"settings": settings, "numbers": numbers})
        return numbers


def say(words: str) -> None:
    """A line of progress."""
    print(words, file=sys.stderr, flush=True)


# ---- JSON


def plain(value: Any) -> Any:
    """The same in JSON's own types; numbers that are none (infinite, missing) become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value


def write_json(path: Path, value: Any) -> None:
    """Write whole or not at all."""
    text = json.dumps(plain(value), ensure_ascii=False, indent=1)
    write_text(path, _short_lists(text) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write whole or not at all."""
    fresh = path.with_name(path.name + ".tmp")
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def _short_lists(text: str) -> str:
    """Lists of numbers on one line each: a trace is one line, not a thousand."""
    out: list[str] = []
    held: list[str] | None = None
    for line in text.split("\n"):
        bare = line.strip()
        if held is not None:
            held.append(bare)
            if bare in ("]", "],"):
                out.append("".join(held))
                held = None
            elif not _is_scalar(bare):
                out.extend(held)
                held = None
        elif bare.endswith("["):
            held = [line]
        else:
            out.append(line)
    return "\n".join(out + (held or []))


def _is_scalar(bare: str) -> bool:
    return not bare.endswith(("[", "{")) and ": " not in bare


def read_json(path: Path) -> Record | None:
    """What a file holds, or None where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def machine() -> Record:
    """What the numbers were made with."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "instruction_set": _core.instruction_set(),
        "python": platform.python_version(),
        "hedgerow": hr.__version__,
    }


# ---- numbers over runs


def over_runs(records: Iterable[Record], name: str) -> Record:
    """Mean, standard deviation, least and greatest of a number over runs; runs without it are left out."""
    values = np.array([record[name] for record in records if record.get(name) is not None], dtype=float)
    if values.size == 0:
        return {"mean": None, "sd": None, "min": None, "max": None, "runs": 0}
    spread = float(values.std(ddof=1)) if values.size > 1 else 0.0
    return {"mean": float(values.mean()), "sd": spread, "min": float(values.min()), "max": float(values.max()), "runs": values.size}


def number(value: float | None, digits: int) -> str:
    """A number with commas, or a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else f"{value:,.{digits}f}".replace("-", "−")


def mean_sd(summary: Record | None, digits: int) -> str:
    """'mean (sd)' of a summary over runs; the mean alone if there was one run."""
    if summary is None or summary["mean"] is None:
        return "–"
    spread = f" ({number(summary['sd'], digits)})" if summary["runs"] > 1 else ""
    return number(summary["mean"], digits) + spread


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


# ---- figures


def pyplot() -> Any:
    """Matplotlib's pyplot, drawing to files."""
    need_extra("matplotlib", "plot").use("Agg")
    plt = need_extra("matplotlib.pyplot", "plot")
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "hedgerow", "text.color": INK, "axes.labelcolor": INK, "font.size": 9})
    return plt


def save_figure(figure: Any, out: Path, name: str) -> None:
    """As PNG (of 160 colours, a third of the size) and SVG, whole or not at all."""
    for suffix, options in ((".png", {"dpi": 110}), (".svg", {"dpi": 40, "metadata": {"Date": None}})):
        fresh = out / f"{name}.tmp{suffix}"
        figure.savefig(fresh, **options)
        if suffix == ".png":
            image = need_extra("PIL.Image", "plot")
            with image.open(fresh) as drawn:
                few = drawn.convert("RGB").quantize(160)
            few.save(fresh, optimize=True)
        os.replace(fresh, out / f"{name}{suffix}")
    pyplot().close(figure)


def note(ax: Any, words: str) -> None:
    """Small grey words in the lower right corner of a panel."""
    behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}
    ax.text(0.98, 0.03, words, transform=ax.transAxes, ha="right", va="bottom", fontsize=7.5, color=MUTED, bbox=behind)
