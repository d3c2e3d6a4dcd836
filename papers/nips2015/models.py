"""The models, data sets and samplers of NIPS 2015, as section 4 states them and as the authors' logs show them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

import hedgerow as hr
from papers.common import Size, stored

#: Intensity in this package's form; the paper has alpha * sigma for alpha, which no pair of independent laws can say.
NGG = hr.NGG(hr.Gamma(1.0, 1.0), hr.Beta(1.5, 1.5), 1.0)
PRIORS: dict[str, hr.Prior] = {"DP": hr.DP(1.0), "NGG": NGG}
METHODS = ("Gibbs", "SM", "tgMCMC", "TreeGuided")
SIX = ("Gibbs", "SM", "Gibbs_sub", "SM_sub", "tgMCMC", "TreeGuided")


class Set(NamedTuple):
    """A data set: rows, true labels where known, what it is called, whether it is the authors' own."""

    X: Any
    labels: npt.NDArray[np.int64] | None
    name: str
    authors: bool


def toy_set() -> Set:
    """1,300 points in the plane, 13 clusters (section 4.1)."""
    file = stored("nrmm_author_data.npz")
    made = hr.data.ring13(seed=0)
    X, y = (made.X, made.labels) if file is None else (file["toy_X"], file["toy_y"])
    name = "own ring of 13" if file is None else "authors' toy set"
    return Set(X, y.astype(int), name, file is not None)


def tenk_sets(size: Size) -> dict[str, Set]:
    """10,000 points in six dimensions (section 4.2): the authors' where they are there, and a draw from PY(3, 0.8) as printed."""
    rows = 1000 if size == "tiny" else 10_000
    sets: dict[str, Set] = {}
    file = stored("nrmm_author_data.npz")
    if file is None:
        made = hr.data.pitman_yor_mixture(rows, 6, seed=0)
        sets["like"] = Set(made.X, made.labels.astype(int), "own PY(3, 0.3) set", False)
    else:
        sets["authors"] = Set(file["10k_X"][:rows], file["10k_y"][:rows].astype(int), "authors' 10K set", True)
    made = hr.data.pitman_yor_mixture(rows, 6, theta=3.0, sigma=0.8, seed=0)
    sets["py"] = Set(made.X, made.labels.astype(int), "own PY(3, 0.8) set", False)
    return sets


def corpus(size: Size) -> Set:
    """1,500 documents of 12,419 words (section 4.3)."""
    file = stored("nips_uci_bow.npz")
    if file is None:
        made = hr.data.documents(150 if size == "tiny" else 1500, 12_419, 40, length=1300.0, seed=0)
        return Set(made.X, None, "own documents", False)
    parts = (file["data"].astype(float), file["indices"].astype(np.int32), file["indptr"].astype(np.int64))
    X = sparse.csr_matrix(parts, shape=tuple(file["shape"]))
    return Set(X[:150] if size == "tiny" else X, None, "NIPS corpus (UCI)", True)


def kernel(method: str, subset: int | None = None, G: int = 20, D: int = 2) -> hr.Kernel:
    """The sampler of a column; `subset` rows a sweep for the _sub ones."""
    if method in ("Gibbs", "Gibbs_sub"):
        return hr.Gibbs(subset=subset)
    if method in ("SM", "SM_sub"):
        return hr.SplitMerge(scans=10, subset=subset)
    return hr.TreeGuidedPublished(G=G, D=D) if method == "tgMCMC" else hr.TreeGuided()


def rough_start(model: hr.Mixture, X: Any, seed: int) -> npt.NDArray[np.int32]:
    """Every row on top of the nearest tree, no cuts (section 4.1).

    Under NGG alpha and sigma are drawn from the authors' laws first and u is 1: that gives what their logs begin with, a handful of
    clusters in most runs and hundreds in some.
    """
    if isinstance(model.prior, hr.DP):
        return hr.ibhc(model, X, insert="top", seed=seed).labels
    rng = np.random.default_rng(seed)
    alpha, sigma = rng.gamma(1.0), rng.beta(1.5, 1.5)
    drawn = hr.Mixture(hr.NGG(max(alpha * sigma, 1e-6), sigma, 1.0), model.likelihood)
    return hr.ibhc(drawn, X, insert="top", seed=seed, u=1.0).labels
