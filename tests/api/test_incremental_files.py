"""IncrementalBHC written down and taken up again: the same estimator, and files that are none are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.data.container import FormatError, read_container, write_container

RNG = np.random.default_rng(0)
BATCHES = [pd.DataFrame(RNG.normal(0, 0.3, (80, 2)) + 4 * RNG.integers(0, 3, (80, 2)), columns=["east", "north"]) for _ in range(5)]


@pytest.mark.parametrize(
    "options",
    [{}, {"remember": False}, {"max_nodes": 1000, "revise": False}, {"prior": hr.NGG(hr.Gamma(1, 1), 0.2, 1.0)}],
    ids=str,
)
def test_a_loaded_estimator_goes_on_as_the_first_does(tmp_path, options) -> None:
    online = hr.IncrementalBHC(random_state=0, **options)
    path = tmp_path / "trees.hedge"
    for i, batch in enumerate(BATCHES[:-1]):
        weights = RNG.integers(0, 3, 80) if i == 2 else None
        online.partial_fit(batch, sample_weight=weights)
        online.save(path)
        twin = hr.IncrementalBHC.load(path)
        np.testing.assert_array_equal(twin.labels_, online.labels_)
    assert repr(twin) == repr(online)
    assert list(twin.feature_names_in_) == ["east", "north"]
    for one in (twin, online):
        one.partial_fit(BATCHES[-1])
    np.testing.assert_array_equal(twin.labels_, online.labels_)
    np.testing.assert_array_equal(twin.predict_proba(BATCHES[0]), online.predict_proba(BATCHES[0]))
    assert twin.events_ == online.events_


def test_nothing_to_save_yet(tmp_path) -> None:
    with pytest.raises(hr.ParameterError, match="be given after fit or partial_fit"):
        hr.IncrementalBHC().save(tmp_path / "x")


def test_a_generator_is_left_out(tmp_path) -> None:
    hr.IncrementalBHC(random_state=np.random.default_rng(0)).fit(BATCHES[0]).save(tmp_path / "x")
    assert hr.IncrementalBHC.load(tmp_path / "x").random_state is None


def change(name: str, value: Any) -> Any:
    return lambda content, arrays: arrays.update({name: value}) if value is not None else arrays.pop(name)


@pytest.mark.parametrize(
    "damage",
    [
        change("extra.numbers", np.array([-1, 0], np.int32)),
        change("extra.numbers", np.zeros(0, np.int32)),
        change("extra.numbers", np.full(400, -1, np.int32)),
        change("extra.numbers", np.zeros(400, np.int32)),
        change("extra.numbers", np.zeros(400)),
        change("extra.numbers", None),
        change("extra.last", np.zeros((2, 2), np.int32)),
        change("extra.rows", np.full(80, 80, np.int64)),
        change("extra.rows", np.full(81, 0, np.int64)),
        lambda content, arrays: content["extra"].update(given=-1),
        lambda content, arrays: content["extra"].update(given=10**30),
        lambda content, arrays: content["extra"]["parameters"].update(remember=False),
        lambda content, arrays: content["extra"].update(feature_names_in_=["a"]),
        lambda content, arrays: content["extra"]["parameters"].update(prior={"class": "GaussianWishart"}),
        lambda content, arrays: content["extra"]["parameters"].update(prior="DP"),
        lambda content, arrays: content["extra"]["parameters"].update(likelihood="Poisson"),
        lambda content, arrays: content["extra"]["parameters"].update(likelihood=3),
        lambda content, arrays: content["extra"]["parameters"].pop("likelihood"),
        lambda content, arrays: content.update(extra=[1]),
        lambda content, arrays: content.pop("rows"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, damage) -> None:
    path = tmp_path / "trees.hedge"
    hr.IncrementalBHC(random_state=0).fit(BATCHES[0]).save(path)
    stored = read_container(path)
    damage(stored.content, stored.arrays)
    write_container(path, stored.kind, stored.version, stored.content, stored.arrays)
    with pytest.raises(hr.ParameterError):
        hr.IncrementalBHC.load(path)


def test_other_files_are_refused(tmp_path) -> None:
    stream = hr.IncrementalBHC(random_state=0).fit(BATCHES[0]).stream_
    stream.save(tmp_path / "stream")
    with pytest.raises(FormatError, match=r"must name a stored incremental\. Got a stored stream"):
        hr.IncrementalBHC.load(tmp_path / "stream")
    with pytest.raises(hr.ParameterError, match="name an existing file"):
        hr.IncrementalBHC.load(Path(tmp_path / "none"))


@pytest.mark.parametrize(
    ("likelihood", "entries"),
    [
        (hr.Multinomial(0.5), np.eye(300)[RNG.integers(0, 90, (60, 4))].sum(1).astype(int)),  # few of many words: kept as lists
        (hr.Multinomial(0.5), RNG.poisson(1.0, (60, 5)) + 1),
        (hr.Categorical(), RNG.integers(0, 3, (60, 4)).astype(float)),
        (hr.Bernoulli(), RNG.integers(0, 2, (60, 4)).astype(float)),
        (hr.Poisson(), RNG.poisson(3.0, (60, 2)).astype(float)),
    ],
)
def test_counts_that_rows_do_not_add_up_to_are_refused(tmp_path, likelihood, entries) -> None:
    """Rows taken out of a root would look for counts there that it does not have."""
    path = tmp_path / "trees.hedge"
    hr.IncrementalBHC(likelihood=likelihood, random_state=0).fit(entries).save(path)
    stored = read_container(path)
    arrays = dict(stored.arrays)
    part = next(name for name in arrays if name.endswith("state.packed")).removesuffix("packed")
    root = next(int(c) for c in arrays[f"{part}roots"] if c >= 0)
    begin, end = arrays[f"{part}packed_start"][root : root + 2]
    packed = arrays[f"{part}packed"].copy()
    words = isinstance(likelihood, hr.Multinomial)
    counts = packed[begin + 3 : end].reshape(-1, 2) if words else packed[begin : end - 1].reshape(-1, 1)
    if len(counts) > 20:
        counts[:, 0] = np.arange(len(counts))  # other words, as often
    else:
        counts[0, -1], counts[1, -1] = counts[0, -1] + 1, counts[1, -1] - 1
    write_container(path, stored.kind, stored.version, stored.content, arrays | {f"{part}packed": packed})
    with pytest.raises(FormatError, match=r"do not fit together: .*statistics"):
        hr.IncrementalBHC.load(path)
