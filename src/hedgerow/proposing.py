"""propose: a model for a table that nobody has described, with reasons, and the scores of what else might have been.

What each column holds is found out by `hedgerow.data.understand`, what it is drawn from by `likelihood_for`. Both go by stated
rules. A score alone cannot choose: the density of left-out rows nearly always prefers the most flexible candidate, whether or not
its clusters mean anything. So the scores are shown beside the choice and do not make it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from hedgerow import _core
from hedgerow.data.files import Dataset
from hedgerow.data.kinds import Reading
from hedgerow.errors import require
from hedgerow.likelihoods import GaussianDiagonal, GaussianWishart, Likelihood, Prepared, Product, likelihood_for
from hedgerow.likelihoods import proposal as proposals
from hedgerow.likelihoods.fitting import some_rows
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior
from hedgerow.priors import DP, Gamma, Prior
from hedgerow.priors.state import packed
from hedgerow.sampling import sample
from hedgerow.summaries.table import Table
from hedgerow.trees import ibhc

__all__ = ["Proposal", "default_prior", "propose"]

LEAST_ROWS = 8  # to leave half of them out
FULL, APART = "full covariances", "columns apart"
AS_IS = ", scales as they are"


def default_prior() -> Prior:
    """A Dirichlet process whose concentration is sampled.

    Returns
    -------
    DP

    >>> default_prior()
    DP(alpha=Gamma(a=1.0, b=1.0))
    """
    return DP(alpha=Gamma(1.0, 1.0))


@dataclass(frozen=True, repr=False, kw_only=True)
class Proposal(proposals.Proposal):
    """A model, the reasons for it and the scores of what else was tried; print it to read them.

    Parameters
    ----------
    likelihood : Likelihood
        The call that one would write oneself, to be changed where the reasons are wrong.
    reasons : tuple of Reason
        For every group of columns.
    X : table
        To sample with `mixture`: the table itself, or its columns as they were understood.
    reading : Reading or None
        How the columns were understood; ``reading.table(new)`` reads new rows the same way.
    mixture : Mixture
        The model, what is left out in `likelihood` filled in from the data.

    >>> from hedgerow.data import iris
    >>> proposal = propose(iris().X)
    >>> post = proposal.sample(draws=10, warmup=10, chains=1, seed=0, progress=False)
    >>> print(proposal.scores)
    log density of a left-out row, clusters of a tree over the others
    candidate         log density  clusters  chosen
    full covariances       -1.797         2  yes
    columns apart          -2.269         7
    Chosen by the rules above, not by the score.
    >>> proposal.to_pandas().shape, proposal.explained().splitlines()[0]
    ((2, 4), 'Prepared(GaussianWishart(), ...)')
    """

    mixture: Mixture = field(compare=False)

    @cached_property
    def scores(self) -> Table:
        """What was tried: candidate, log density of a left-out row, clusters of a tree, whether it was chosen.

        Densities are in the units of the table. Half of the rows (of a thousand at the most) are put into trees, the others are left
        out.
        """
        return _scores(self)

    def sample(self, **options: Any) -> Posterior:
        """`hedgerow.sample` of this model and table. New rows may come as the table came.

        Parameters
        ----------
        **options
            Passed on.

        Returns
        -------
        Posterior
        """
        post = sample(self.mixture, self.X, **options)
        if self.reading is None or self.reading.plain:
            return post
        return replace(post, run={**post.run, "reading": self.reading.to_json()})

    def to_pandas(self) -> Any:
        """The scores as a pandas DataFrame.

        Returns
        -------
        DataFrame
        """
        return self.scores.to_pandas()

    def explained(self) -> str:
        """The likelihood, then a line for every group of columns, without the scores.

        Returns
        -------
        str
        """
        return super().__str__()

    def __str__(self) -> str:
        """The likelihood, the reasons and the scores."""
        return f"{self.explained()}\n\n{self.scores}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = [(proposals.listed(reason.columns), reason.choice, reason.why) for reason in self.reasons]
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
        head = "<thead><tr><th>columns</th><th>likelihood</th><th>why</th></tr></thead>"
        table = f"<table>{head}<tbody>{rows}</tbody></table>"
        return f"<p><code>{escape(proposals.call(self.likelihood))}</code></p>{table}{self.scores._repr_html_()}"


def propose(X: Any, columns: Mapping[Any, str] | None = None, *, prior: Prior | None = None) -> Proposal:
    """Propose a model for a table, and say why.

    Parameters
    ----------
    X : table
        A data frame, an array, a list of rows, a sparse matrix of counts, or what `hedgerow.data.read` has read.
    columns : mapping, default all guessed
        What columns are where a guess would be wrong, such as ``{"zip": "category"}``; see `hedgerow.data.understand`.
    prior : Prior, default DP(alpha=Gamma(1, 1))
        The law of the partition.

    Returns
    -------
    Proposal
        ``proposal.mixture`` to sample ``proposal.X`` with, the reasons, and the scores of other models. The same table gets the same
        proposal, here, by `HedgerowClusterer` and on the command line.

    >>> from hedgerow.data import iris
    >>> proposal = propose(iris().X)
    >>> print(proposal.explained())
    Prepared(GaussianWishart(), ...)
      0, 1, 2, 3  GaussianWishart  measurements; correlated within a cluster; in steps of 0.1
    >>> proposal.sample(draws=10, warmup=10, chains=1, seed=0, progress=False).n
    150
    """
    known: Reading | None = None
    if isinstance(X, Dataset):
        X, known = X.X, X.reading
    require(prior is None or isinstance(prior, Prior), "propose", "prior", prior, "be a prior such as DP(), or left out")
    found = proposals.with_left_out(likelihood_for(X, columns), known)
    mixture = Mixture(default_prior() if prior is None else prior, found.likelihood).resolve(found.X)
    return Proposal(likelihood=found.likelihood, reasons=found.reasons, X=found.X, reading=found.reading, mixture=mixture)


def _scores(proposal: Proposal) -> Table:
    """The table of scores."""
    heads = ("candidate", "log density", "clusters", "chosen")
    title = "log density of a left-out row, clusters of a tree over the others"
    chosen = proposal.mixture.likelihood
    data = chosen.check(proposal.X)
    n, d = data.shape
    rows = data[some_rows(n, d)]
    if rows.shape[0] < LEAST_ROWS:
        return Table({head: [] for head in heads}, title=f"{title}: {n} rows are too few")
    named = {"as proposed" if not _measured(chosen) else _name(proposal.likelihood): chosen}
    for name, other in _others(proposal.likelihood).items():
        named.setdefault(name, other.resolve(proposal.X))
    found = [_left_out(likelihood, rows) for likelihood in named.values()]
    columns = list(named), [score for score, _ in found], [count for _, count in found], ["yes", *[""] * (len(named) - 1)]
    return Table(dict(zip(heads, columns, strict=True)), title=title, note="Chosen by the rules above, not by the score.")


def _left_out(likelihood: Likelihood, rows: Any) -> tuple[float, int]:
    """Mean log density of every other row given a tree over the rest, and its number of clusters."""
    kept, left = rows[::2], rows[1::2]
    prior = DP(1.0)
    forest = ibhc(Mixture(prior, likelihood), kept, passes=2, seed=0)
    together = np.concatenate([np.arange(0, rows.shape[0], 2), np.arange(1, rows.shape[0], 2)])
    bound = likelihood.bind(rows[together])
    labels = np.ascontiguousarray(forest.labels, dtype=np.int32)
    state = packed({"alpha": 1.0, "sigma": 0.0, "tau": 1.0, "log_u": 0.0})
    logs = _core.predictive(bound, kept.shape[0], labels, prior.to_core(), state)
    assert logs.shape[0] == left.shape[0]
    return float(np.logaddexp.reduce(logs, axis=1).mean()), int(forest.n_clusters)


def _measured(likelihood: Likelihood) -> list[Likelihood]:
    """The parts that are Gaussian, prepared or not."""
    inner = [part.likelihood if isinstance(part, Prepared) else part for part in likelihood.factors()]
    return [part for part in inner if isinstance(part, GaussianDiagonal | GaussianWishart)]


def _name(likelihood: Likelihood) -> str:
    return FULL if any(isinstance(part, GaussianWishart) for part in _measured(likelihood)) else APART


def _others(likelihood: Likelihood) -> dict[str, Likelihood]:
    """Candidates beside the one chosen: the other covariances, and the columns on the scales they came on."""
    if not _measured(likelihood):
        return {}
    scaled = any(column.scale != "as is" for part in likelihood.factors() if isinstance(part, Prepared) for column in part.columns)
    out = {name: _changed(likelihood, name, scaled=True) for name in (FULL, APART)}
    return out | ({name + AS_IS: _changed(likelihood, name, scaled=False) for name in (FULL, APART)} if scaled else {})


def _changed(likelihood: Likelihood, family: str, scaled: bool) -> Likelihood:
    """The same likelihood with its Gaussian part of another family, or on the scales that columns came on."""
    if isinstance(likelihood, Product):
        return Product(tuple((columns, _changed(part, family, scaled)) for columns, part in likelihood.parts))
    if not _measured(likelihood):
        return likelihood
    gaussian: Likelihood = GaussianWishart() if family == FULL else GaussianDiagonal()
    if not isinstance(likelihood, Prepared):
        return gaussian
    if scaled:
        return replace(likelihood, likelihood=gaussian)
    return replace(
        likelihood, likelihood=gaussian, columns=tuple(replace(c, scale="as is", shape=1.0, size=1.0) for c in likelihood.columns)
    )
