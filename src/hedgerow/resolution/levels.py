"""levels(): the same rows clustered at a ladder of powers, and `Levels`, what one asks of it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.arguments import check_seed, check_whole, real_number
from hedgerow.data.copies import Copies, check_copies
from hedgerow.errors import ParameterError, require
from hedgerow.kernels import Kernel
from hedgerow.mixture import LEAST_POWER, Mixture
from hedgerow.plots import flow
from hedgerow.plots.canvas import drawn
from hedgerow.plots.flow import flow_svg
from hedgerow.report import write_report
from hedgerow.report.levels import AGREED, levels_headline
from hedgerow.report.markup import counted, said
from hedgerow.resolution import storing
from hedgerow.resolution.asking import checked_powers
from hedgerow.resolution.ladder import Ladder, Plan, next_power
from hedgerow.resolution.level import Level
from hedgerow.resolution.reporting import opened_at, payload_of
from hedgerow.resolution.tables import flow_table, summary_table
from hedgerow.sampling.interrupts import Stop, note_interrupts
from hedgerow.sampling.progress import Update, open_progress
from hedgerow.summaries.table import Table
from hedgerow.writing import check_target

__all__ = ["Levels", "levels"]

TRIES = 8  # levels that `about` may add
RANGES = {"n_levels": (1, 1000), "splits": (0, 1000), "draws": (1,), "warmup": (0,), "chains": (1,), "max_rows": (4,)}


class Levels:
    """The rows at several resolutions, from coarse to fine: `levels[0]` is the coarsest. Print it for a table.

    Attributes
    ----------
    items : list of Level
    ladder : Ladder or None
        What samples further levels.
    notes : list of str
        What was done beyond the plan: levels added, a run that was stopped.
    stopped : bool
        Whether Ctrl-C ended the run, or a search for a level, before it was done.

    >>> import hedgerow as hr
    >>> X = hr.data.ring13(n=130).X
    >>> model = hr.Mixture(hr.DP(), hr.GaussianDiagonal())
    >>> found = hr.levels(model, X, [1.0, 0.02], draws=20, warmup=20, splits=1, seed=0)
    >>> [level.power for level in found], found.powers, len(found)
    ([0.02, 1.0], [0.02, 1.0], 2)
    >>> found.finest(strength=0.8) in list(found), found.about(found[0].n_clusters) is found[0]
    (True, True)
    >>> list(found.summary())[:4], found.to_pandas().shape[0], list(found.flow())[:2]
    (['power', 'clusters', 'small', 'strength'], 2, ['power', 'cluster'])
    >>> axes = found.plot()
    >>> import tempfile
    >>> found.save(tempfile.mkdtemp() + "/ring.levels")
    >>> found.report(tempfile.mkdtemp() + "/ring.html").name
    'ring.html'
    """

    def __init__(self, items: Sequence[Level], ladder: Ladder | None, notes: Sequence[str] = ()) -> None:
        self.items = sorted(items, key=lambda level: level.power)
        self.notes = list(notes)
        self.stopped = False
        self.ladder = ladder

    @property
    def powers(self) -> list[float]:
        """The power of every level, from coarse to fine."""
        return [level.power for level in self.items]

    def finest(self, strength: float = 0.8) -> Level:
        """The finest level whose clusters two halves of the rows agree on; a single blob is one, also where its tails are heavy.

        Parameters
        ----------
        strength : float
            The least strength of prediction between halves, from 0 for chance to 1 (see `hedgerow.resolution.strength`).

        Returns
        -------
        Level
        """
        owner = "Levels.finest"
        require(0 <= real_number(strength) <= 1, owner, "strength", strength, "be a number from 0 to 1")
        measured = [level for level in self.items if not np.isnan(level.strength)]
        require(len(measured) > 0, owner, "strength", strength, "be reached by a level, and none was measured (splits=0)")
        good = [level for level in measured if level.strength >= strength]
        if not good:
            reached = ", ".join(f"{level.strength:.3g}" for level in measured)
            raise ParameterError(f"{owner}(strength={strength!r}): strength must be reached by a level. Got {reached}.")
        return good[-1]

    def about(self, clusters: int, *, progress: bool | None = None) -> Level:
        """The level whose number of clusters is nearest to `clusters`.

        Where the levels on either side have more and fewer, powers between them are sampled, by bisection on the logarithm, and
        below the coarsest where all have more. The levels that this adds stay, and `notes` says so.

        Parameters
        ----------
        clusters : int
        progress : bool, optional

        Returns
        -------
        Level
        """
        check_whole("Levels.about", "clusters", clusters)
        stop = Stop()
        try:
            with note_interrupts(stop):
                self._approach(clusters, progress, stop)
        except KeyboardInterrupt:
            stop.interrupted = True
        if stop.interrupted:
            self._stop(f"The search for {clusters} clusters was stopped.")
        return min(self.items, key=lambda level: (abs(level.n_clusters - clusters), level.power))

    def flow(self) -> Table:
        """Which cluster parts into which: one row for each pair of clusters of neighbouring levels with rows in common.

        Returns
        -------
        Table
            power and cluster of the coarser level, finer power and cluster, rows in common, and their share of either cluster.
        """
        return flow_table(self.items)

    def summary(self) -> Table:
        """One row a level: power, clusters, small ones among them, strength with its spread, the weakest cluster, R-hat.

        Returns
        -------
        Table
        """
        return summary_table(self.items, self.ladder, self.notes)

    def to_pandas(self) -> Any:
        """`summary` as a pandas DataFrame.

        Returns
        -------
        DataFrame
        """
        return self.summary().to_pandas()

    @drawn
    def plot(self, *, ax: Any = None) -> Any:
        """Draw the flow of rows from level to level, coarse at the left; returns the axes. Needs the extra `plot`."""
        told = [_told(level) for level in self.items]
        return flow([level.labels for level in self.items], told, ax=ax)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "Clusters from coarse to fine",
        names: Sequence[str] | None = None,
        rows: Sequence[str] | None = None,
        strength: float = 0.8,
    ) -> Path:
        """Write one offline HTML page in which a slider goes from level to level; returns its path.

        It opens at the finest level of that strength, else at the finest with few clusters.

        Parameters
        ----------
        path : path
        title : str
        names, rows : sequences of str, optional
            Of the columns and of the rows.
        strength : float

        Returns
        -------
        pathlib.Path
        """
        require(len(self.items) > 0, "Levels.report", "levels", self.items, "be at least one")
        return write_report(path, payload_of(self.items, self.notes, title=title, names=names, rows=rows, strength=strength))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all levels with their draws, the data and the model to one file, whole or not at all; `hr.load` reads it back.

        Parameters
        ----------
        path : path
        """
        require(len(self.items) > 0, "Levels.save", "levels", self.items, "be at least one")
        plan, kernel = (None, None) if self.ladder is None else (self.ladder.plan, self.ladder.kernel)
        storing.save_levels(path, self.items, plan, kernel, self.notes)

    def _stop(self, why: str) -> None:
        self.stopped = True
        self.notes.append(why)

    def _between(self, clusters: int) -> float | None:
        """A power that may have so many clusters; None where there is no use in looking."""
        if any(level.n_clusters == clusters for level in self.items):
            return None
        finer = [level.power for level in self.items if level.n_clusters > clusters]
        if not finer:
            return None
        fine = min(finer)
        coarser = [level.power for level in self.items if level.power < fine]
        if coarser:
            middle = float(np.sqrt(fine * max(coarser)))
            return middle if fine / max(coarser) > 1.01 else None
        return fine / 2 if fine / 2 >= LEAST_POWER else None

    def _approach(self, clusters: int, progress: bool | None, stop: Stop) -> None:
        """Add levels until one has so many clusters, none can, or somebody stops it."""
        for _ in range(TRIES):
            power = self._between(clusters)
            if power is None or self.ladder is None or stop.interrupted:
                return
            with open_progress(progress, 1, self.ladder.steps, "power") as bars:
                added = self._add(power, bars, 0)
            if added is None:
                stop.interrupted = True
                return
            self.notes.append(
                f"The level of power {power:.3g} ({counted(added.n_clusters, 'cluster')}) was added to come near {clusters} clusters."
            )

    def _add(self, power: float, bars: Any, bar: int) -> Level | None:
        """Sample one more power, from the nearest finer level; None where that was stopped."""
        assert self.ladder is not None
        total = self.ladder.steps
        finer = [level for level in self.items if level.power > power]

        def tell(done: int, n_clusters: int, log_joint: float) -> None:
            bars.show(Update(bar, min(done, total), total, False, n_clusters, log_joint))

        found = self.ladder.level(power, finer[0] if finer else None, tell)
        if found is not None:
            self.items = sorted([*self.items, found], key=lambda level: level.power)
        return found

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Level:
        return self.items[index]

    def __iter__(self) -> Iterator[Level]:
        return iter(self.items)

    def __str__(self) -> str:
        return str(self.summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.items:
            return self.summary()._repr_html_()
        told = said(*levels_headline(self.items, opened_at(self.items, AGREED)))
        return told + flow_svg([level.labels for level in self.items], list(map(_told, self.items))) + self.summary()._repr_html_()


def levels(
    model: Mixture,
    X: Any,
    powers: Sequence[float] | None = None,
    *,
    n_levels: int = 8,
    draws: int = 80,
    warmup: int = 40,
    chains: int = 2,
    splits: int = 3,
    max_rows: int = 20_000,
    kernel: Kernel | None = None,
    times: Any = None,
    seed: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    copies: Copies | None = None,
) -> Levels:
    """Cluster the rows from fine to coarse, and measure at every level how far two halves of the rows agree on it.

    Each level raises the density of every row to a power below 1 (`Mixture(power=...)`), starts where its finer neighbour ended and is
    sampled exactly. A level says how the rows cluster if each is worth that share of a row; it is no posterior, and no evidence
    says which power is right.

    Parameters
    ----------
    model : Mixture
        Its power is the finest level.
    X : array-like
    powers : sequence of floats, optional
        Left out: from the model's power down by halves until one cluster is left (by larger steps while next to nothing changes), then
        between the neighbours that differ most, until there are `n_levels`.
    n_levels : int
        At the most, where powers are left out.
    draws, warmup, chains : int
        Of each level; the first has twice the warm-up, halves of the rows have half of it.
    splits : int
        Ways of halving the rows to measure strength; 0 for none.
    max_rows : int
        Of more rows so many are halved, drawn at random.
    kernel : Kernel, optional
    times : array-like, optional
        As for `sample`.
    seed : int, optional
        Decides every draw.
    checkpoint : path, optional
        A file that has all finished levels at any time. Where it exists already, the run goes on from it, with the draws that it would
        have had without the break; a file of another run is refused.
    progress : bool, optional
        A bar for each level on the error stream; by default when it is a terminal.
    copies : Copies, optional
        Rows that are exact copies of others, as for `sample`.

    Ctrl-C gives back the levels that are finished.

    Returns
    -------
    Levels

    >>> import hedgerow as hr
    >>> model = hr.Mixture(hr.DP(), hr.GaussianDiagonal())
    >>> found = levels(model, hr.data.iris().X, draws=20, warmup=20, splits=1, seed=0)
    >>> found[0].n_clusters
    1
    """
    require(isinstance(model, Mixture), owner := "levels", "model", model, "be a Mixture")
    given = {"n_levels": n_levels, "splits": splits, "draws": draws, "warmup": warmup, "chains": chains, "max_rows": max_rows}
    for name, value in given.items():
        check_whole(owner, name, value, *RANGES[name])
    check_seed(owner, seed)
    wanted = None if powers is None else checked_powers(powers)
    begun = None if checkpoint is None else storing.begun_levels(check_target(checkpoint, owner, "checkpoint"), model)
    chosen = begun.plan.seed if seed is None and begun is not None and begun.plan is not None else seed
    plan = Plan(draws, warmup, chains, splits, max_rows, secrets.randbits(48) if chosen is None else int(chosen))
    check_copies(owner, copies, X)
    ladder = Ladder(model, X, times, kernel, plan, copies)
    require(ladder.n >= 4 or splits == 0, owner, "splits", splits, "be 0 for fewer than four rows")
    if begun is not None:
        storing.check_same(begun, ladder, checkpoint)
    found = Levels([] if begun is None else begun.items, ladder)
    _run(found, wanted, ladder, n_levels, checkpoint, progress)
    return found


def _run(
    found: Levels,
    wanted: list[float] | None,
    ladder: Ladder,
    most: int,
    checkpoint: str | os.PathLike[str] | None,
    progress: bool | None,
) -> None:
    """Level after level, until all are there or somebody stops it."""
    stop, ended = Stop(), False
    try:
        units = most if wanted is None else len(wanted)
        with note_interrupts(stop), open_progress(progress, units, ladder.steps, "level") as bars:
            while True:
                power = _next(found, wanted, ladder, most)
                ended = power is None
                if power is None:
                    bars.tally.settle(len(found))
                    return
                if stop.interrupted or found._add(power, bars, len(found)) is None:
                    break
                if checkpoint is not None:
                    found.save(checkpoint)
    except KeyboardInterrupt:
        pass
    if ended:
        return
    if not found.items:
        raise KeyboardInterrupt
    found._stop(f"The run was stopped; {counted(len(found), 'level')} finished.")


def _next(found: Levels, wanted: list[float] | None, ladder: Ladder, most: int) -> float | None:
    """The power to look at next; None when all are there."""
    if wanted is not None:
        return next((power for power in wanted if power not in found.powers), None)
    if not found.items:
        return ladder.model.power
    fine_first = found.items[::-1]
    counts = [level.n_clusters for level in fine_first]
    return next_power([level.power for level in fine_first], counts, most, fine_first[-1].strength)


def _told(level: Level) -> str:
    strength = "" if np.isnan(level.strength) else f"\nstrength {level.strength:.2f}"
    return f"{level.power:.3g}\n{level.n_clusters} cluster{'' if level.n_clusters == 1 else 's'}{strength}"
