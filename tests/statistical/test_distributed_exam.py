"""The exam for the distributed sampler: tiny data cut into shards, worked on in this process, against enumeration.

The sweep and the two kinds of proposals also sit it apart, so that none can hide behind the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hedgerow.distributed import Conditional
from hedgerow.distributed.coordinator import Coordinator
from hedgerow.distributed.opening import open_chain
from hedgerow.distributed.scouts import by_shard, choose_rows
from hedgerow.distributed.sources import read_sources
from hedgerow.distributed.workers import LocalWorkers
from hedgerow.distributed.working_shard import Renaming, Sweep
from hedgerow.likelihoods import GaussianDiagonal, GaussianWishart, Likelihood, Multinomial, Poisson, Product
from hedgerow.mixture import Mixture
from hedgerow.priors import DP, NGG, NIG, Beta, Gamma, PitmanYor, Prior, Stable
from hedgerow.summaries.partitions import canonical
from hedgerow.testing import KernelDraws, check_kernel

PLANE = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [1.0, 0.5], [1.6, 0.1]])
COUNTS = np.array([[3, 1, 0, 0], [2, 0, 1, 0], [0, 2, 1, 1], [1, 1, 1, 1], [0, 0, 2, 3], [0, 1, 0, 2]])
LIKELIHOODS: dict[str, tuple[Likelihood, Any]] = {
    "GaussianWishart": (GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2)), PLANE),
    "Multinomial": (Multinomial(0.6), COUNTS),
    "GaussianDiagonal": (GaussianDiagonal(mean=[0, 0], r=0.3, a=1.5, b=0.25), PLANE),
    "Poisson": (Poisson(1.0, 0.7), COUNTS),
}
PRIORS: dict[str, Prior] = {
    "DP": DP(0.8),
    "DP, alpha sampled": DP(Gamma(2, 2)),
    "NGG": NGG(0.7, 0.3, 1.5),
    "NGG, alpha sampled": NGG(Gamma(2, 2), 0.3),
    "NIG": NIG(0.5, 0.8),
    "Stable": Stable(1.3, 0.45),
    "PitmanYor": PitmanYor(0.6, 0.3),
    "NGG, sigma sampled": NGG(Gamma(1, 1), Beta(1, 3)),
    "Stable, sigma sampled": Stable(Gamma(2, 2), Beta(3, 3)),
    "PitmanYor, sigma sampled": PitmanYor(Gamma(2, 2), Beta(2, 3)),
}


@dataclass(frozen=True)
class Sharded:
    """The distributed chain as a kernel that the exam can drive; `sweeps` off leaves the proposals alone."""

    kernel: Conditional
    cuts: tuple[int, ...] = (2, 3)
    sweeps: bool = True

    def run(self, model: Any, X: Any, labels: Any, u: float, iterations: int, rng: np.random.Generator, **given: Any) -> KernelDraws:
        values, update_u = given["values"], given["update_u"]
        seed = int(rng.integers(2**62))
        ends = (0, *self.cuts, X.shape[0])
        parts = [slice(a, b) for a, b in pairwise(ends)]
        workers = LocalWorkers(read_sources("exam", [X[part] for part in parts], None))
        moving = (*model.prior.laws(), *model.prior.auxiliaries)
        start = {"u": u, **{name: values[name] for name in moving if name in values}}
        chain = open_chain(workers, model, self.kernel, seed, [labels[part] for part in parts], start)
        chain.update_u, chain.update_hyper = update_u, bool(model.prior.laws())
        if not self.sweeps:
            stand_still(chain, X)
        draws: dict[str, list[Any]] = {"labels": [], "log_joint": [], "log_u": [], **{name: [] for name in moving}}
        for iteration in range(1, iterations + 1):
            chain.step(iteration)
            now = chain.values()
            draws["labels"].append(np.concatenate(chain.labels()))
            draws["log_joint"].append(chain.log_joint())
            for name in ("log_u", *moving):
                draws[name].append(now[name])
            chain.workers.restart_from(0, [])
        workers.close()
        traces = {name: np.array(draws[name]) for name in moving}
        return KernelDraws(canonical(np.array(draws["labels"])), np.exp(draws["log_u"]), traces, np.array(draws["log_joint"]))


def stand_still(chain: Coordinator, X: Any) -> None:
    """Sweeps that move nothing. Every row must be a scout."""

    def sweep(iteration: int) -> Any:
        labels = np.concatenate(chain.labels()).astype(np.int32)
        same = np.arange(chain.n_clusters, dtype=np.int32)
        chain._names = [Renaming(same, same, same[:0], same[:0])] * len(chain.workers.sources)
        chain._scout_labels = labels.copy()
        rows = choose_rows(len(labels), chain._options.visits_of(len(labels)), [iteration, chain._seed])
        bound = chain._model.bind(X[rows]) if len(rows) else None
        return rows, by_shard(rows, chain._first), labels[rows], bound

    chain._sweep = sweep  # type: ignore[method-assign]


def cases() -> Iterator[Any]:
    core = {"DP", "NGG", "NGG, sigma sampled"}, {"GaussianWishart", "Multinomial"}
    for prior in PRIORS:
        for likelihood in LIKELIHOODS:
            rest = prior not in core[0] or likelihood not in core[1]
            yield pytest.param(prior, likelihood, id=f"{prior}-{likelihood}", marks=[pytest.mark.slow] if rest else [])


BUDGET: dict[str, int] = {"replicates": 32, "iterations": 120, "warmup": 30}


@pytest.mark.parametrize(("prior", "likelihood"), list(cases()))
def test_exam(prior: str, likelihood: str) -> None:
    family, X = LIKELIHOODS[likelihood]
    check_kernel(Sharded(Conditional(pairs=3, visits=2)), Mixture(PRIORS[prior], family), X, **BUDGET).raise_if_failed()


@pytest.mark.parametrize(
    "examinee",
    [
        pytest.param(Sharded(Conditional(pairs=0, visits=0)), id="sweeps alone"),
        pytest.param(Sharded(Conditional(pairs=0, visits=4), sweeps=False), id="visits alone"),
        pytest.param(Sharded(Conditional(pairs=6, scans=2, even_share=0.0, visits=0), sweeps=False), id="guided pairs alone"),
        pytest.param(Sharded(Conditional(pairs=6, even_share=1.0, visits=0), sweeps=False), id="even pairs alone"),
        pytest.param(
            Sharded(Conditional(pairs=4, scans=0, visits=0), cuts=()), id="one shard, no refining scans", marks=pytest.mark.slow
        ),
        pytest.param(Sharded(Conditional(scouts=4, pairs=4, visits=2), cuts=(1, 2, 3, 4, 5)), id="few scouts, six shards"),
    ],
)
@pytest.mark.parametrize("u", [None, pytest.param(1.7, marks=pytest.mark.slow)], ids=["u free", "u fixed"])
def test_parts(examinee: Sharded, u: float | None) -> None:
    family, X = LIKELIHOODS["GaussianWishart"]
    check_kernel(examinee, Mixture(PRIORS["NGG"], family), X, u=u, **BUDGET).raise_if_failed()


def test_a_planted_error_is_caught() -> None:
    """Proposals accepted without the probability of their sides fail."""

    class Careless(Sharded):
        def run(self, *args: Any, **kwargs: Any) -> KernelDraws:
            original = Coordinator._scan

            def scan(chain: Coordinator, *parts: Any) -> Any:
                found = original(chain, *parts)
                return found._replace(log_q=0.0 * found.log_q)

            Coordinator._scan = scan  # type: ignore[assignment, method-assign]
            try:
                return super().run(*args, **kwargs)
            finally:
                Coordinator._scan = original  # type: ignore[method-assign]

    family, X = LIKELIHOODS["GaussianWishart"]
    report = check_kernel(Careless(Conditional(pairs=4, visits=0)), Mixture(PRIORS["NGG"], family), X, **BUDGET)
    assert not report.passed


def heavier(command: Sweep) -> Sweep:
    """A cluster of one's own weighs twice what it should."""
    return replace(command, log_alone=command.log_alone + np.log(2))


def adrift(command: Sweep) -> Sweep:
    """No cluster waits for its anchor: rows look at all of them, whoever comes first."""
    return replace(command, anchor=np.argsort(np.argsort(command.anchor)).astype(np.uint64))


@pytest.mark.parametrize("error", [heavier, adrift])
def test_planted_errors_of_the_sweep_are_caught(error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    obey = Sweep.apply
    monkeypatch.setattr(Sweep, "apply", lambda command, held: obey(error(command), held))
    family, X = LIKELIHOODS["GaussianWishart"]
    report = check_kernel(Sharded(Conditional(pairs=0, visits=0)), Mixture(PRIORS["NGG"], family), X, **BUDGET)
    assert not report.passed


# ------------------------------------------------------------------------------------------------ missing entries

NAN = float("nan")
GAPS = np.array([[-1.2, 0.3], [-0.9, NAN], [NAN, 0.2], [0.2, -0.6], [1.0, 0.5]])
CORRELATED = GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=[[0.5, 0.2], [0.2, 0.5]])


@pytest.mark.parametrize(
    ("examinee", "prior"),
    [
        pytest.param(Sharded(Conditional(pairs=3, visits=2)), "NGG", id="all moves"),
        pytest.param(Sharded(Conditional(pairs=0, visits=0), cuts=(1, 3)), "NGG", id="sweeps alone"),
        pytest.param(Sharded(Conditional(pairs=3, visits=2)), "DP", id="all moves, DP", marks=pytest.mark.slow),
        pytest.param(Sharded(Conditional(pairs=4, scans=0, visits=2), cuts=()), "PitmanYor", id="one shard", marks=pytest.mark.slow),
    ],
)
def test_gaps_are_exact(examinee: Sharded, prior: str) -> None:
    check_kernel(examinee, Mixture(PRIORS[prior], CORRELATED), GAPS, **BUDGET).raise_if_failed()


def test_gaps_in_a_product_are_exact() -> None:
    X = np.column_stack([GAPS, [0, 1, 1, 0, 3]])
    product = Product({(0, 1): CORRELATED, (2,): Poisson(1.0, 0.7)}).resolve(X)
    check_kernel(Sharded(Conditional(pairs=3, visits=2)), Mixture(PRIORS["NGG"], product), X, **BUDGET).raise_if_failed()


NARROW = Mixture(PRIORS["DP"], GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=[[0.5, 0.45], [0.45, 0.5]]))
APART = np.array([[-1.0, -0.9], [-0.7, NAN], [NAN, -0.8], [0.9, 1.0], [1.2, NAN]])


@pytest.mark.parametrize("error", ["none", "mean", "wide"])
def test_errors_in_the_filling_are_caught(error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gaps that stay at the mean of the base measure, or are filled in too far from the cluster."""
    obey = Sweep.apply

    def apply(command: Sweep, held: Any) -> Any:
        answer = obey(command, held)
        if error == "none":
            return answer
        held.core.set_fillings(held.core.fillings() * {"mean": 0.0, "wide": 2.0}[error])
        return answer | held.core.tally(len(answer["count"])) | {"fillings": held.core.fillings_of(answer["rows"])}

    monkeypatch.setattr(Sweep, "apply", apply)
    report = check_kernel(Sharded(Conditional(pairs=3, visits=2)), NARROW, APART, **BUDGET)
    assert report.passed == (error == "none"), report
