"""What AISTATS 2014 says about Figure 4, and what we want of it, held against our curves: one sentence each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from papers.claims import shown, verdict
from papers.common import number

Curves = dict[tuple[str, str], npt.NDArray[np.float64]]

OFFLINE = ("SWA", "GB", "GBH", "Meanshift", "Nystrom")
#: What a curve must not be behind the paper's in: the accuracies and what it explains, then where the paper was weak.
WANTED = ("3D accuracy", "2D accuracy", "EV", "2D BR", "3D BR", "mean duration")
ERRORS = ("2D UE", "3D UE")


def ahead(ours: npt.NDArray[np.float64], theirs: npt.NDArray[np.float64], less: bool) -> npt.NDArray[np.bool_]:
    """Where our curve is at least as good, over the length of the shorter."""
    k = min(len(ours), len(theirs))
    return np.asarray(ours[:k] <= theirs[:k] if less else ours[:k] >= theirs[:k])


def least_margin(ours: Curves, printed: Curves, measure: str, way: str) -> float:
    """How far the curve is above the paper's IBHC where it is least so."""
    return float((ours[measure, way] - printed[measure, "IBHC"]).min())


def claims(ours: Curves, printed: Curves, titles: dict[str, str]) -> list[str]:
    """The sentences, for every way of which there are curves."""
    ways = [way for way in ("sweep", "hierarchy", "edges") if ("EV", way) in ours]
    names = {"sweep": "colours, β swept", "hierarchy": "colours, one run cut", "edges": "colours, surroundings and edges"}
    lines = []
    own = ways[0]
    rivals = [(measure, method) for measure in ("2D accuracy", "3D accuracy") for method in OFFLINE]
    worse = sum(int((~ahead(ours[measure, own], printed[measure, method], False)).sum()) for measure, method in rivals)
    lines.append(
        verdict(
            worse == 0,
            f"the model of colours ({names[own]}), online, has the best 2-D and 3-D accuracy of all methods, offline ones included.",
            f"It is behind one of them at {worse} points.",
        )
    )
    streaming = all(
        ahead(ours[measure, own], printed[measure, "SGBH"], False).all() for measure in ("2D accuracy", "3D accuracy", "EV")
    )
    lines.append(
        verdict(streaming, f"{names[own]}: better than streaming GBH, the other online method, in accuracy and explained variation.")
    )
    weak = (ours["2D BR", own] < printed["2D BR", "GBH"]).all() and (ours["mean duration", own] < printed["mean duration", "GBH"]).all()
    lines.append(verdict(bool(weak), f"{names[own]}: boundary recall and mean duration are below those of GBH, offline."))
    for way in ways:
        good: list[str] = []
        behind: list[str] = []
        for measure in WANTED:
            where = ahead(ours[measure, way], printed[measure, "IBHC"], False)
            margin = number(least_margin(ours, printed, measure, way), 1 if measure == "mean duration" else 3)
            (good if where.all() else behind).append(
                f"{titles[measure]} ({margin}{'' if where.all() else f', behind at {(~where).sum()} of 8'})"
            )
        at_least = f"{names[way]}: at least the paper's IBHC at every number of segments from 200 to 900 in"
        lines.append(shown(True, f"{at_least} {'; '.join(good)}. In brackets the least margin."))
        if behind:
            lines.append(shown(False, f"{at_least} {'; '.join(behind)}."))
    less = all(ahead(ours[measure, ways[-1]], printed[measure, "IBHC"], True).all() for measure in ERRORS)
    lines.append(
        shown(less, f"{names[ways[-1]]}: 2-D and 3-D undersegmentation errors below the paper's IBHC at every number of segments.")
    )
    return lines
