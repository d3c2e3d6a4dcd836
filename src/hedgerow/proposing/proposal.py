"""propose: a model for a table that nobody has described, with reasons, and the scores of what else might have been.

What each column holds is found out by `hedgerow.data.understand`, what it is drawn from by `likelihood_for`, and columns that stand
by themselves are set aside (`hedgerow.proposing.aside`). All go by stated rules. A score alone cannot choose: the density of left-out
rows nearly always prefers the most flexible candidate, whether or not its clusters mean anything. So the scores are shown beside the
choice and do not make it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

from hedgerow.data.copies import Copies
from hedgerow.data.files import Dataset
from hedgerow.data.kinds import Reading
from hedgerow.data.tables import as_frame, take_rows
from hedgerow.errors import require
from hedgerow.likelihoods import likelihood_for
from hedgerow.likelihoods import proposal as proposals
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior
from hedgerow.priors import DP, Gamma, Prior
from hedgerow.proposing.aside import said, set_aside
from hedgerow.proposing.copies import copies
from hedgerow.proposing.scores import scores
from hedgerow.proposing.sharing import with_shared
from hedgerow.proposing.simpler import simpler
from hedgerow.proposing.worth import with_worth
from hedgerow.sampling import sample
from hedgerow.summaries.table import Table

__all__ = ["Proposal", "default_prior", "propose"]


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
    apart : str
        Why columns of measurements are taken apart though rows are many enough to correlate them; empty if they are not.
    aside : mapping
        Columns left out of the likelihood though they could be used, and why.
    shared : str
        Why clusters are expected to have one covariance in common; empty if they are not.
    copies : Copies or None
        Rows that are exact copies of others (`hedgerow.proposing.copies`): the model is fitted to one of each.

    >>> from hedgerow.data import iris
    >>> proposal = propose(iris().X)
    >>> post = proposal.sample(draws=10, warmup=10, chains=1, seed=0, progress=False)
    >>> print(proposal.scores)
    log density of a left-out row, clusters of a tree over the others
    candidate           log density  clusters  chosen
    full covariances         -1.797         2  yes
    columns apart            -2.269         7
    leading directions       -3.571         2
    Chosen by the rules above, not by the score.
    >>> proposal.to_pandas().shape, proposal.explained().splitlines()[0]
    ((3, 4), 'Prepared(GaussianWishart(), ...)')
    """

    mixture: Mixture = field(compare=False)
    copies: Copies | None = field(default=None, compare=False)

    @cached_property
    def scores(self) -> Table:
        """What was tried: candidate, log density of a left-out row, clusters of a tree, whether it was chosen.

        Densities are in the units of the table. Half of the rows (of a thousand at the most) are put into trees, the others are left
        out.
        """
        return scores(self.X, self.likelihood, self.mixture.likelihood)

    def sample(self, **options: Any) -> Posterior:
        """`hedgerow.sample` of this model and table. New rows may come as the table came.

        Where rows are copies of others, one of each is sampled, and copies are put with their rows. With `times` only rows of one
        time are copies.

        Parameters
        ----------
        **options
            Passed on.

        Returns
        -------
        Posterior
        """
        post = sample(self.mixture, self.X, **{"copies": self.copies, **options})
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
        told = "" if self.copies is None else f"\n  {self.copies.told()}"
        return super().__str__() + told

    def __str__(self) -> str:
        """The likelihood, the reasons and the scores."""
        return f"{self.explained()}\n\n{self.scores}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = [(proposals.listed(reason.columns), reason.choice, reason.why) for reason in self.reasons]
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
        head = "<thead><tr><th>columns</th><th>likelihood</th><th>why</th></tr></thead>"
        table = f"<table>{head}<tbody>{rows}</tbody></table>"
        told = "" if self.copies is None else f"<p>{escape(self.copies.told())}</p>"
        return f"<p><code>{escape(proposals.call(self.likelihood))}</code></p>{table}{told}{self.scores._repr_html_()}"


def propose(X: Any, columns: Mapping[Any, str] | None = None, *, prior: Prior | None = None) -> Proposal:
    """Propose a model for a table, and say why.

    Parameters
    ----------
    X : table
        A data frame, an array, a list of rows, a mapping from names to columns, an array with named fields, a sparse matrix of
        counts, or what `hedgerow.data.read` has read.
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
    names: Sequence[str] | None = None
    if isinstance(X, Dataset):
        X, known, names = X.X, X.reading, X.names
    require(prior is None or isinstance(prior, Prior), "propose", "prior", prior, "be a prior such as DP(), or left out")
    first = likelihood_for(as_frame(X, "propose"), columns, owner="propose")
    table, same = first.X, copies(first.X, first.reading)
    if same is not None:
        first = proposals.rejoined(replace(first, X=take_rows(table, same.kept)))
    resolved = first.likelihood.resolve(first.X)
    wanted = said(known) | said(first.reading)
    first, resolved = with_shared(first, resolved)
    found, resolved = simpler(first, resolved, wanted)
    found, resolved = set_aside(found, resolved, wanted)
    if found.aside != first.aside:
        found, resolved = with_shared(found, resolved)
    found, resolved = with_worth(found, resolved)
    found = proposals.with_left_out(found, known)
    mixture = Mixture(default_prior() if prior is None else prior, resolved).resolve(found.X)
    known_parts = {"X": table, "copies": same} | {name: getattr(found, name) for name in ("reading", "apart", "aside", "shared")}
    reasons = found.reasons if names is None else tuple(_named(reason, names) for reason in found.reasons)
    return Proposal(likelihood=found.likelihood, reasons=reasons, mixture=mixture, **known_parts)


def _named(reason: proposals.Reason, names: Sequence[str]) -> proposals.Reason:
    """The reason with the names of its columns, where it has only their places."""
    columns = tuple(names[column] if isinstance(column, int) and column < len(names) else column for column in reason.columns)
    return replace(reason, columns=columns)
