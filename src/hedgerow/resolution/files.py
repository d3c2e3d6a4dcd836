"""load(): a posterior or levels, whichever a file holds."""

from __future__ import annotations

import os

from hedgerow.data.container import kind_of
from hedgerow.data.copies import Copies
from hedgerow.mixture import Mixture
from hedgerow.posterior import DistributedPosterior, Posterior
from hedgerow.posterior.sharded_storage import KIND as SHARDED
from hedgerow.resolution.ladder import Ladder
from hedgerow.resolution.levels import Levels
from hedgerow.resolution.storing import KIND, load_levels

__all__ = ["load", "load_as_levels"]


def load(path: str | os.PathLike[str], *, model: Mixture | None = None) -> Posterior | DistributedPosterior | Levels:
    """Read what `Posterior.save`, `DistributedPosterior.save` or `Levels.save` wrote.

    Nothing in the file can run code, and sizes are checked before memory is taken. A file of an unknown version, damaged
    or foreign, is refused with a `FormatError` that says why. `model` takes the place of the stored one, and is
    needed to predict where the model could not be stored (`Custom`).

    Parameters
    ----------
    path : path
    model : Mixture, optional

    Returns
    -------
    Posterior, DistributedPosterior or Levels

    >>> import tempfile
    >>> import hedgerow as hr
    >>> path = tempfile.mkdtemp() + "/post.hedge"
    >>> model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    >>> hr.sample(model, [[0.0], [9.0]], draws=2, warmup=2, chains=1, seed=0).save(path)
    >>> load(path).labels.shape
    (1, 2, 2)
    """
    kind = kind_of(path)
    if kind == KIND:
        return load_as_levels(path, model)
    return (DistributedPosterior if kind == SHARDED else Posterior).load(path, model=model)


def load_as_levels(path: str | os.PathLike[str], model: Mixture | None = None) -> Levels:
    """Levels from a file, ready to be asked for more of them."""
    stored = load_levels(path, model)
    first = stored.items[-1].posterior
    ladder = None
    if first.model is not None and stored.plan is not None:
        copies = None if first.place is None else Copies.at(first.place)
        ladder = Ladder(first.model, first.X, first.times, stored.kernel, stored.plan, copies)
    return Levels(stored.items, ladder, stored.notes)
