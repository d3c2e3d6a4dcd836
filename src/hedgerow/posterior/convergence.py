"""The summary table: moments and convergence of every quantity, and a verdict on the chains in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.posterior.traced import FloatArray, Traced
from hedgerow.summaries.diagnostics import ess_bulk, ess_tail, hdi, mcse_mean, rhat
from hedgerow.summaries.table import Table
from hedgerow.summaries.verdicts import agreement, told_of_lesson

__all__ = ["asked_rhat", "quantities", "summary"]

_COMPONENTS = 10  # of a quantity with many components, the ones that mix worst


def quantities(draws: Traced) -> dict[str, FloatArray]:
    """Traces (chain, draw) worth watching: log joint, number of clusters, log u, and the sampled hyper-parameters.

    The law of u has so heavy a tail that neither its mean nor a picture of it says anything; that of its logarithm has not.
    Where u integrates out, as under `DP` and `PitmanYor`, it is a tool of the sampler and no part of the answer: left out.
    A quantity with one value for each group or basis measure gives one trace a component, `log_u[0]`, `log_u[1]`, ...; of
    more than ten the ten of largest R-hat.
    """
    found: dict[str, FloatArray] = {"log_joint": draws.log_joint, "n_clusters": draws.n_clusters.astype(np.float64)}
    traces = draws.traces()
    auxiliary = draws.model is not None and draws.model.prior.u_integrates
    for name in (*(() if auxiliary else ("log_u",)), *(name for name in draws.sampled() if name != "log_u")):
        if name not in traces:
            continue
        trace = traces[name]
        if trace.ndim == 2:
            found[name] = trace
            continue
        components = list(range(trace.shape[2]))
        if len(components) > _COMPONENTS:
            worst = np.argsort([-rhat(trace[:, :, j]) for j in components], kind="stable")
            components = sorted(int(j) for j in worst[:_COMPONENTS])
        found.update({f"{name}[{j}]": trace[:, :, j] for j in components})
    return found


def summary(draws: Traced, prob: float) -> Table:
    """Mean, sd, highest-density interval, Monte-Carlo error, ESS and R-hat of every quantity, and the verdict."""
    watched = quantities(draws)
    intervals = np.array([hdi(trace, prob) for trace in watched.values()])
    columns = {
        "quantity": np.array(list(watched)),
        "mean": np.array([trace.mean() for trace in watched.values()]),
        "sd": np.array([trace.std(ddof=1) if trace.size > 1 else 0.0 for trace in watched.values()]),
        "hdi_low": intervals[:, 0],
        "hdi_high": intervals[:, 1],
        "mcse": np.array([mcse_mean(trace) for trace in watched.values()]),
        "ess_bulk": np.array([ess_bulk(trace) for trace in watched.values()]),
        "ess_tail": np.array([ess_tail(trace) for trace in watched.values()]),
        "r_hat": np.array([rhat(trace) for trace in watched.values()]),
    }
    title = f"{draws.chains} chains × {draws.draws} draws of {draws.n} points; hdi: {prob:.0%}"
    return Table(columns, title=title, note=_verdict(draws, watched, columns))


def _verdict(draws: Traced, watched: dict[str, FloatArray], columns: dict[str, np.ndarray]) -> str:
    if draws.draws < 4:
        return "Too few draws to judge the chains: run longer."
    measured = dict(zip(watched, columns["r_hat"].tolist(), strict=True))
    effective = dict(zip(watched, columns["ess_bulk"].tolist(), strict=True))
    told = agreement(watched, draws.n_clusters, measured, effective, asked_rhat(draws.run)).text
    return f"{told} {told_of_lesson(draws.run)}".rstrip()


def asked_rhat(run: Mapping[str, Any]) -> float | None:
    """The R-hat to which the run that this is the record of went on; none where it was to make a number of draws, or ended before."""
    until = run.get("until")
    if not isinstance(until, Mapping) or not until.get("agreed"):
        return None
    asked = until.get("rhat")
    return float(asked) if isinstance(asked, float | int) else None
