"""The six columns of Figures 4 and 5: Gibbs, SM, their _sub versions tuned to tgMCMC's iteration time, tgMCMC and TreeGuided."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import hedgerow as hr
from hedgerow.plots.canvas import plain_axes
from hedgerow.sampling import Chain
from papers.chains import BURN_IN, COLUMNS, best_over_time, run_chain, summarize
from papers.common import COLORS, Record, Runs, markdown, mean_sd, number, say
from papers.nips2015.models import NGG, SIX, Set, kernel, rough_start


@dataclass(frozen=True)
class Settings:
    """How much is run."""

    seeds: int
    seconds: float
    pilot: float
    burn_in: float = BURN_IN


def race(runs: Runs, key: str, data: Set, likelihood: hr.Likelihood, begin: str, settings: Settings, seeds: int) -> Record:
    """All six samplers on one set from the same starts; `begin` is "rough" or "ibhc"."""
    X = data.X
    model = hr.Mixture(NGG, likelihood).resolve(X)
    bound = model.likelihood.bind(X)
    n = int(X.shape[0])
    about = {"data": data.name, "rows": n, "prior": repr(model.prior), "start": begin, "hedgerow": hr.__version__}
    starts: dict[int, npt.NDArray[Any]] = {}

    def start(seed: int) -> npt.NDArray[Any]:
        if seed not in starts:
            starts[seed] = rough_start(model, X, seed) if begin == "rough" else hr.ibhc(model, X, passes=1, seed=seed).labels
        return starts[seed]

    tuning = runs.get(f"{key}_tuning", about | {"pilot": settings.pilot}, lambda: tune(model, X, bound, start(0), settings.pilot))
    sizes = f"subsets of {tuning['Gibbs_sub']} and {tuning['SM_sub']} rows"
    say(f"{data.name}: {len(SIX)} samplers x {seeds} runs x {settings.seconds} s, {sizes}")
    rows: Record = {}
    traces: Record = {}
    onward: Record = {}
    for method in SIX:
        found = kernel(method, subset=tuning.get(method))
        records = []
        for seed in range(seeds):
            mine = about | {"kernel": repr(found), "seconds": settings.seconds, "burn_in": settings.burn_in, "seed": seed}

            # From where the published sampler ends, does the exact one stay? One seed is enough to see.
            then = hr.TreeGuided() if method == "tgMCMC" and seed == 0 else None
            mine["then"] = repr(then)

            def make(found: hr.Kernel = found, seed: int = seed, then: hr.Kernel | None = then) -> Record:
                return run_chain(model, X, found, start(seed), seed, settings.seconds, burn_in=settings.burn_in, bound=bound, then=then)

            records.append(runs.get(f"{key}_{method}_{seed}", mine, make))
            if then is not None:
                onward = records[-1]["then"]
        rows[method] = summarize(records)
        traces[method] = [record["trace"] for record in records]
    shape = {"rows": n, "columns": int(X.shape[1]), "name": data.name, "authors": data.authors}
    truth = _truth(runs, key, about, model, data, bound, settings)
    return {"data": shape, "tuning": tuning, "samplers": rows, "traces": traces, "truth": truth, "exact_from_published": onward}


def tune(model: hr.Mixture, X: Any, bound: Any, labels: npt.ArrayLike, seconds: float) -> Record:
    """Rows a sweep so that Gibbs_sub and SM_sub take as long an iteration as tgMCMC, all timed where tgMCMC has settled.

    Half of the rows at most: where even a full sweep is quicker than tgMCMC's iteration the _sub columns would be no others.
    """
    n = bound.n_rows
    chain = Chain(model, X, kernel("tgMCMC"), labels=labels, seed=0, bound=bound)
    start, spent = time.process_time(), []
    while time.process_time() - start < seconds:
        before = time.process_time()
        chain.run(1)
        spent.append(time.process_time() - before)
    wanted = float(np.mean(spent[len(spent) // 2 :]))
    settled = chain.state()["labels"]

    def cost(found: hr.Kernel) -> float:
        other = Chain(model, X, found, labels=settled, seed=0, bound=bound)
        other.run(1)
        before, done = time.process_time(), 0
        while done < 2 or time.process_time() - before < seconds / 4:
            other.run(1)
            done += 1
        return (time.process_time() - before) / done

    sizes: Record = {"tgMCMC_milliseconds": 1000 * wanted}
    few = max(1, n // 100)
    for method in ("Gibbs_sub", "SM_sub"):
        low, high = cost(kernel(method, subset=few)), cost(kernel(method, subset=n // 2))
        line = few + (wanted - low) / max(high - low, 1e-9) * (n // 2 - few)
        sizes[method] = int(np.clip(round(line), few, n // 2))
    return sizes


def _truth(runs: Runs, key: str, about: Record, model: hr.Mixture, data: Set, bound: Any, settings: Settings) -> Record | None:
    """Log joint at the true labels, mean over draws of u and the hyper-parameters there, and where Gibbs goes from them."""
    if data.labels is None:
        return None

    def make() -> Record:
        # Gibbs on one row an iteration hardly leaves the labels; starting again every ten iterations keeps it there.
        values = []
        chain = Chain(model, data.X, hr.Gibbs(subset=1), labels=data.labels, seed=0, bound=bound)
        labels = chain.state()["labels"]
        for _ in range(60):
            chain.run(10)
            chain.restore(chain.state() | {"labels": labels})
            values.append(chain.log_joint())
        there = run_chain(model, data.X, hr.Gibbs(), labels, 0, settings.seconds, burn_in=settings.burn_in, bound=bound)
        after = {name: there[name] for name in ("mean_log_joint", "mean_clusters", "max_log_joint")}
        return {"log_joint": float(np.mean(values[10:])), "clusters": int(labels.max()) + 1, "gibbs": after}

    return runs.get(f"{key}_truth", about | {"seconds": settings.seconds, "burn_in": settings.burn_in}, make)


def table(part: Record, seeds: int, seconds: float) -> str:
    """The six columns as rows."""
    header = ["", *(heading for _, heading, _ in COLUMNS), "R-hat of log joint"]
    rows = []
    for method, row in part["samplers"].items():
        size = part["tuning"].get(method)
        name = method if size is None else f"{method} ({size:,} rows)"
        rows.append([name, *(mean_sd(row.get(column), digits) for column, _, digits in COLUMNS), number(row["rhat_log_joint"], 2)])
    data = part["data"]
    words = [f"## {data['name']}, {data['rows']:,} x {data['columns']:,}: {seeds} runs x {seconds} s of CPU, mean (sd)\n"]
    if part["truth"]:
        truth = part["truth"]
        gibbs = truth["gibbs"]
        words.append(
            f"At the true labels: log joint {number(truth['log_joint'], 1)}, {truth['clusters']} clusters. From there Gibbs goes to a "
            f"mean log joint of {number(gibbs['mean_log_joint'], 1)} and {number(gibbs['mean_clusters'], 1)} clusters.\n"
        )
    there = part["exact_from_published"]
    after = (
        f"From the last state of tgMCMC (seed 0: log joint {number(there['from_log_joint'], 1)}, {there['from_clusters']} clusters) "
        f"the exact sampler goes to {number(there['to_log_joint'], 1)} and {number(there['to_clusters'], 1)} clusters in equal time.\n"
    )
    return "\n".join([*words, markdown(header, rows), after])


def draw(ax: Any, other: Any, part: Record) -> None:
    """Log joint and number of clusters against CPU time: mean over runs, the range as a band."""
    for panel in (ax, other):
        plain_axes(panel, (4.0, 3.0))
        panel.set_xscale("log")
        panel.set_xlabel("CPU seconds")
    ends: list[float] = []
    for method, traces in part["traces"].items():
        grid = np.geomspace(max(t["seconds"][0] for t in traces), min(t["seconds"][-1] for t in traces), 55)
        for panel, name in ((ax, "log_joint"), (other, "clusters")):
            lines = [{"seconds": trace["seconds"], "log_joint": trace[name]} for trace in traces]
            values = best_over_time(lines, grid)
            if len(traces) > 1:
                panel.fill_between(grid, values.min(axis=0), values.max(axis=0), color=COLORS[method], alpha=0.15, linewidth=0)
            panel.plot(grid, values.mean(axis=0), color=COLORS[method], linewidth=1.6, label=method)
            if panel is ax:
                ends += [float(values[:, -1].min()), float(values.max())]
    if part["truth"]:
        ax.axhline(part["truth"]["log_joint"], color="#8b939c", linewidth=0.9, linestyle="--")
        other.axhline(part["truth"]["clusters"], color="#8b939c", linewidth=0.9, linestyle="--")
    top, low = max(ends), min(ends)
    ax.set_ylim(low - 1.2 * (top - low), top + 0.12 * (top - low))
    ax.set_title(f"log joint, {part['data']['name']}")
    other.set_title("clusters (dashed: true labels)" if part["truth"] else "clusters")
    other.legend(frameon=False, fontsize=8, loc="best")
