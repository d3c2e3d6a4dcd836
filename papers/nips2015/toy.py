"""NIPS 2015, section 4.1 and Figure 3: four samplers on the toy set from the rough start, under DP and NGG.

Writes toy.json (every number), toy.md (the table beside the authors' logs) and toy.png / .svg.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
from papers import common
from papers.chains import COLUMNS, run_chain, summarize
from papers.common import Record, Runs, Size, markdown, mean_sd, number, say
from papers.nips2015.authors import logged_runs, run_under_their_prior
from papers.nips2015.models import METHODS, PRIORS, Set, kernel, rough_start, toy_set
from papers.nips2015.toy_figure import draw

#: A DP run has arrived when its log joint is this near that of the true labels.
NEAR = 10.0
VARIED = (("max_log_joint", 2), ("seconds_to_target", 3), ("iterations_to_target", 0), ("log_r", 2), ("milliseconds_per_iteration", 3))


@dataclass(frozen=True)
class Settings:
    """How much is run.

    Ten runs of 10 s, as in the paper. G and D of tgMCMC are those of the authors' logs; the paper's text has G = 20, which is
    among `varied_g`.
    """

    seeds: int
    seconds: float
    G: int = 10
    D: int = 2
    vary_seeds: int = 3
    vary_seconds: float = 0.5
    varied_g: tuple[int, ...] = (1, 5, 10, 20, 40)
    varied_d: tuple[int, ...] = (0, 1, 2, 3, 4)
    their_prior_seeds: int = 3
    their_prior_iterations: int = 600


SETTINGS: dict[Size, Settings] = {
    "full": Settings(seeds=10, seconds=10.0),
    "quick": Settings(seeds=3, seconds=1.5, vary_seeds=2, vary_seconds=0.4, their_prior_seeds=1),
    "tiny": Settings(
        seeds=2, seconds=0.15, vary_seeds=1, vary_seconds=0.05, varied_g=(1, 10), varied_d=(1, 2),
        their_prior_seeds=1, their_prior_iterations=50,
    ),
}  # fmt: skip


def main(size: Size, out: Path, seeds: int | None = None) -> Record:
    """Run, tell, draw."""
    settings = SETTINGS[size]
    count = seeds or settings.seeds
    data = toy_set()
    truth = np.asarray(data.labels)
    runs = Runs(out, "toy")
    logs = logged_runs() if data.authors else None
    after = sorted({round(cell["iterations"]["mean"]) for prior in (logs or {}).values() for cell in prior.values()})
    result: Record = {
        "experiment": "NIPS 2015, section 4.1, Figure 3",
        "data": {"name": data.name, "authors": data.authors, "rows": len(data.X), "true_clusters": int(truth.max()) + 1},
        "settings": asdict(settings) | {"seeds": count, "size": size},
        "machine": common.machine(),
        "truth_log_joint_dp": hr.Mixture(PRIORS["DP"], hr.GaussianWishart.nips2015()).log_joint(data.X, truth),
        "authors_logs": logs,
        "samplers": {},
        "vary": {},
    }
    traces: Record = {}
    for prior in PRIORS:
        say(f"toy, {prior}: {len(METHODS)} samplers x {count} runs x {settings.seconds} s")
        for method in METHODS:
            found = kernel(method, G=settings.G, D=settings.D)
            records = [_run(runs, data, prior, method, found, seed, settings.seconds, after) for seed in range(count)]
            result["samplers"].setdefault(prior, {})[method] = summarize(records)
            traces.setdefault(prior, {})[method] = [_line(record) for record in records]
    for letter, values in (("G", settings.varied_g), ("D", settings.varied_d)):
        say(f"toy, DP: tgMCMC with varying {letter}")
        for value in values:
            found = kernel("tgMCMC", **({"G": 20, "D": 2} | {letter: value}))
            records = [
                _run(runs, data, "DP", f"{letter}={value}", found, seed, settings.vary_seconds, ())
                for seed in range(settings.vary_seeds)
            ]
            result["vary"].setdefault(letter, {})[str(value)] = summarize(records)
            traces.setdefault(letter, {})[str(value)] = [_line(record) for record in records]
    result["their_prior"] = _their_prior(runs, data, settings)
    result["traces"] = traces
    common.write_json(out / "toy.json", result)
    common.write_text(out / "toy.md", table(result))
    draw(result, data, out)
    print(table(result))
    return result


def _run(runs: Runs, data: Set, prior: str, method: str, found: hr.Kernel, seed: int, seconds: float, after: Any) -> Record:
    model = hr.Mixture(PRIORS[prior], hr.GaussianWishart.nips2015()).resolve(data.X)
    settings = {
        "data": data.name, "rows": len(data.X), "prior": repr(model.prior), "kernel": repr(found), "seconds": seconds,
        "seed": seed, "start": "rough, hyper-parameters drawn", "after": list(after), "near": NEAR,
        "hedgerow": hr.__version__,
    }  # fmt: skip

    def make() -> Record:
        labels = rough_start(model, data.X, seed)
        bound = model.likelihood.bind(data.X)
        target = model.log_joint(data.X, np.asarray(data.labels)) - NEAR if prior == "DP" else None
        return run_chain(model, data.X, found, labels, seed, seconds, bound=bound, best_after=after, target=target)

    return runs.get(f"{prior}_{method}_{seed}", settings, make)


def _line(record: Record) -> Record:
    """What the figure draws of a run."""
    return {name: record["trace"][name] for name in ("seconds", "log_joint")}


def _their_prior(runs: Runs, data: Set, settings: Settings) -> Record:
    """Gibbs, the exact and the published tree-guided sampler under exactly the authors' NGG prior, from the true labels."""
    assert data.labels is not None
    say("toy, the authors' own NGG prior")
    rows: Record = {}
    for method in ("Gibbs", "tgMCMC", "TreeGuided"):
        found = kernel(method, G=settings.G, D=settings.D)
        records = []
        for seed in range(settings.their_prior_seeds):
            about = {"data": data.name, "kernel": repr(found), "iterations": settings.their_prior_iterations, "seed": seed}

            def make(found: hr.Kernel = found, seed: int = seed) -> Record:
                return run_under_their_prior(data.X, data.labels, found, settings.their_prior_iterations, seed)  # type: ignore[arg-type]

            records.append(runs.get(f"their_prior_{method}_{seed}", about, make))
        rows[method] = {name: common.over_runs(records, name) for name in records[0]}
    return rows


def table(result: Record) -> str:
    """The samplers beside the authors' logs."""
    header = ["", *(heading for _, heading, _ in COLUMNS), "R-hat of log joint", "times faster"]
    parts = [f"# Toy set ({result['data']['name']}), {result['settings']['seeds']} runs x {result['settings']['seconds']} s of CPU\n"]
    parts.append("Mean (sd) over runs. DP log joint of the true labels: " + number(result["truth_log_joint_dp"], 2) + ".\n")
    for prior, cells in result["samplers"].items():
        logs = (result["authors_logs"] or {}).get(prior, {})
        rows = []
        for method, row in cells.items():
            logged = logs.get(method)
            faster = logged["milliseconds_per_iteration"]["mean"] / row["milliseconds_per_iteration"]["mean"] if logged else None
            rows.append([f"{prior} {method}", *_cells(row), number(row["rhat_log_joint"], 3), number(faster, 1)])
        rows += [[f"authors' log: {prior} {method}", *_cells(row), "", ""] for method, row in logs.items()]
        parts.append(markdown(header, rows))
        if prior == "DP":
            arrived = [
                f"{method} {mean_sd(row['seconds_to_target'], 3)} s ({row['seconds_to_target']['runs']}/{row['runs']} runs)"
                for method, row in cells.items()
            ]
            parts.append(f"From the rough start to within {NEAR:.0f} of the log joint of the true labels: {'; '.join(arrived)}.\n")
    if result["authors_logs"]:
        parts.append(_equal_iterations(result))
    parts.append(_varying(result))
    parts.append(
        "Under exactly the authors' NGG prior, from the true labels:\n\n"
        + markdown(
            ["", "max log joint", "clusters"],
            [[name, mean_sd(row["max_log_joint"], 2), mean_sd(row["mean_clusters"], 2)] for name, row in result["their_prior"].items()],
        )
    )
    return "\n".join(parts)


def _cells(row: Record) -> list[str]:
    return [mean_sd(row.get(name), digits) for name, _, digits in COLUMNS]


def _equal_iterations(result: Record) -> str:
    rows = []
    for prior, cells in result["authors_logs"].items():
        for method, logged in cells.items():
            count = round(logged["iterations"]["mean"])
            ours = result["samplers"][prior][method]["best_after"][str(count)]
            rows.append([f"{prior} {method}", str(count), mean_sd(ours, 1), mean_sd(logged["max_log_joint"], 1)])
    header = ["", "iterations", "ours", "authors' log"]
    return "Best log joint after as many iterations as the authors' runs had:\n\n" + markdown(header, rows)


def _varying(result: Record) -> str:
    rows = []
    for letter, cells in result["vary"].items():
        for value, row in cells.items():
            arrived = f"{row['seconds_to_target']['runs']}/{row['runs']}"
            rows.append([f"{letter} = {value}", arrived, *(mean_sd(row[name], digits) for name, digits in VARIED)])
    header = ["", "runs near truth", "max log joint", "seconds to near truth", "iterations to it", "mean log r", "ms/iteration"]
    words = f"tgMCMC with varying G (D = 2) and D (G = 20), DP; near truth: within {NEAR:.0f} of the log joint of the true labels:"
    return words + "\n\n" + markdown(header, rows)
