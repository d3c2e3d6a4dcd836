"""AISTATS 2014, section 4.1, Table 1 and Figure 3: IBHC, Gibbs and SMC (and TreeGuided) on time-varying points.

Two sets: points made by the paper's recipe, with times; and the very points of its Figure 3, whose times are not known, as
exchangeable data. Writes synthetic.json, synthetic.md and synthetic.png / .svg.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
from papers import common
from papers.aistats2014 import methods
from papers.aistats2014.generator import Points, figure_points, moving_points
from papers.aistats2014.synthetic_figure import draw
from papers.common import Record, Runs, Size, markdown, mean_sd, number, say


@dataclass(frozen=True)
class Settings:
    """How much is run: the paper's repetitions and lengths where the size is full."""

    per_centre: int = 100
    every: int = 1
    ibhc_runs: int = 10
    passes: int = 25
    gibbs_runs: int = 5
    gibbs_iterations: int = 3000
    smc_runs: int = 5
    particles: int = 100
    tree_runs: int = 5
    tree_iterations: int = 1000
    tree_warmup: int = 400
    online_runs: int = 5
    data_seed: int = 3


SETTINGS: dict[Size, Settings] = {
    "full": Settings(),
    "quick": Settings(25, 4, 3, 25, 2, 1000, 1, 30, 2, 200, 80, 2),
    "tiny": Settings(4, 60, 1, 2, 1, 20, 1, 3, 1, 20, 10, 1),
}
#: Table 1 of the paper: log joint and seconds, mean and +-.
PRINTED = {
    "IBHC": {"log_joint": -62567, "log_joint_pm": 120, "seconds": 36, "seconds_pm": 2},
    "Gibbs": {"log_joint": -63970, "log_joint_pm": 735, "seconds": 10611, "seconds_pm": 956},
    "SMC": {"log_joint": -64180, "log_joint_pm": 250, "seconds": 2763, "seconds_pm": 187},
}
EXPLAINED = """IBHC is the paper's algorithm 3 where there are times (every step put in 25 times, the past fixed), 25 passes over all
points otherwise; "revising" looks at old points again as new ones come, "at once" passes over all points of all times. The log joint
at a partition is the mean over draws of the auxiliary variables given it. For samplers "late" is the mean best of ten iterations over
the second half.
"""
NUMBERS = ("max_log_joint", "settled_log_joint", "late_log_joint", "start_log_joint", "seconds", "clusters")


def main(size: Size, out: Path, seeds: int | None = None) -> Record:
    """Run, tell, draw; `seeds` bounds the runs of every method."""
    settings = SETTINGS[size]
    runs = Runs(out, "synthetic")
    sets = {"moving": moving_points(settings.per_centre, settings.data_seed)}
    figure = figure_points(settings.every)
    if figure is not None:
        sets["figure"] = figure
    result: Record = {
        "experiment": "AISTATS 2014, section 4.1, Table 1, Figure 3",
        "settings": asdict(settings) | {"size": size, "most_runs": seeds},
        "machine": common.machine(),
        "printed": PRINTED,
        "sets": {},
    }
    best: dict[str, dict[str, Any]] = {}
    for key, points in sets.items():
        result["sets"][key], best[key] = _run_set(runs, key, points, settings, seeds)
    result["printed_recipe"] = _printed_recipe(runs, settings)
    common.write_json(out / "synthetic.json", result)
    common.write_text(out / "synthetic.md", table(result))
    draw(result, sets, best, out)
    print(table(result))
    return result


def _run_set(runs: Runs, key: str, points: Points, settings: Settings, seeds: int | None) -> tuple[Record, dict[str, Any]]:
    """Every method on one set: numbers over runs, traces, and the partition of the best run of each."""
    timed = points.times is not None

    def all_at_once(seed: int) -> Record:
        return methods.ibhc(points, settings.passes, seed)

    def paper_ibhc(seed: int) -> Record:
        return methods.online(points, settings.passes, False, seed) if timed else all_at_once(seed)

    plans: dict[str, tuple[int, Any, Record]] = {
        "IBHC": (settings.ibhc_runs, paper_ibhc, {"passes": settings.passes, "algorithm 3": timed}),
        "Gibbs": (
            settings.gibbs_runs,
            lambda s: methods.gibbs(points, settings.gibbs_iterations, s),
            {"iterations": settings.gibbs_iterations, "start": "one"},
        ),
        "SMC": (settings.smc_runs, lambda s: methods.particles(points, settings.particles, s), {"particles": settings.particles}),
        "TreeGuided": (
            settings.tree_runs,
            lambda s: methods.tree_guided(points, settings.tree_iterations, settings.tree_warmup, s),
            {"iterations": settings.tree_iterations, "warmup": settings.tree_warmup, "start": "ibhc"},
        ),
    }
    if timed:
        about_passes = {"passes": settings.passes}
        plans["IBHC revising"] = (settings.online_runs, lambda s: methods.online(points, settings.passes, True, s), about_passes)
        plans["IBHC at once"] = (settings.online_runs, all_at_once, about_passes)
    rows: Record = {}
    traces: Record = {}
    best: dict[str, Any] = {}
    for method, (wanted, make, about) in plans.items():
        count = min(wanted, seeds) if seeds else wanted
        say(f"{points.name}, {len(points.X)} rows: {method} x {count}")
        records = []
        for seed in range(count):
            mine = about | {"data": points.name, "rows": len(points.X), "seed": seed, "hedgerow": hr.__version__}
            records.append(runs.get(f"{key}_{method.replace(' ', '_')}_{seed}", mine, partial(make, seed)))
        rows[method] = {name: common.over_runs(records, name) for name in NUMBERS}
        rows[method]["agreement"] = {name: common.over_runs([r["agreement"] for r in records], name) for name in points.labels}
        top = max(records, key=lambda record: record["settled_log_joint"])
        best[method] = np.array(top["labels"])
        traces[method] = top["trace"]
    given = {
        name: {"settled_log_joint": methods.settled(points, labels), "clusters": len(np.unique(labels))}
        for name, labels in points.labels.items()
    }
    about_set = {"name": points.name, "rows": len(points.X), "timed": timed}
    return {"data": about_set, "methods": rows, "given": given, "traces": traces}, best


def _printed_recipe(runs: Runs, settings: Settings) -> Record:
    """Points with 10 and 1.5 as variances, as the paper prints: the log joint of the true labels and of one cluster for all."""
    points = moving_points(settings.per_centre, settings.data_seed, centre_sd=10.0**0.5, point_sd=1.5**0.5)
    truth = points.labels["truth"]

    def make() -> Record:
        return {"truth": methods.settled(points, truth), "one_cluster": methods.settled(points, np.zeros_like(truth))}

    return runs.get("printed_recipe", {"rows": len(points.X), "seed": settings.data_seed, "hedgerow": hr.__version__}, make)


def table(result: Record) -> str:
    """Table 1 beside the paper's values, for both sets."""
    parts = ["# Synthetic data (Table 1)\n", EXPLAINED]
    for part in result["sets"].values():
        kind = "with times" if part["data"]["timed"] else "exchangeable"
        parts.append(f"## {part['data']['name']}, {part['data']['rows']:,} points, {kind}\n")
        rows = []
        for method, row in part["methods"].items():
            printed = result["printed"].get(method)
            paper = ("–", "–") if printed is None else (
                f"{number(printed['log_joint'], 0)} ± {printed['log_joint_pm']}", f"{printed['seconds']:,} ± {printed['seconds_pm']}"
            )  # fmt: skip
            agreement = next(iter(row["agreement"].values()))
            rows.append(
                [method, mean_sd(row["max_log_joint"], 0), mean_sd(row["settled_log_joint"], 0), mean_sd(row["late_log_joint"], 0),
                 mean_sd(row["clusters"], 1), mean_sd(agreement, 3), mean_sd(row["seconds"], 2), str(row["seconds"]["runs"]), *paper]
            )  # fmt: skip
        against = next(iter(part["given"]))
        header = ["", "max log joint", "at its partition", "late", "clusters", f"adjusted Rand to {against}", "CPU seconds", "runs"]
        parts.append(markdown([*header, "paper: log joint", "paper: seconds"], rows))
        words = "; ".join(
            f"{name}: {number(row['settled_log_joint'], 0)} ({row['clusters']} clusters)" for name, row in part["given"].items()
        )
        parts.append(f"Log joint at given labels, mean over draws of the auxiliary variables: {words}.\n")
    parts.append("The paper's points are not ours: its log joints compare in order only, except on the points of its figure.\n")
    return "\n".join(parts)
