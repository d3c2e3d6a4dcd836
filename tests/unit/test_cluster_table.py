"""What is said of clusters in a table: shares, means, words, and how it prints."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse

from hedgerow.errors import MissingExtraError, ParameterError
from hedgerow.summaries import (
    Table,
    cluster_affinity,
    cluster_table,
)


def test_cluster_table_of_dense_data() -> None:
    rng = np.random.default_rng(0)
    partition = np.repeat([0, 1, 2], [5, 20, 10])
    X = rng.normal(size=(35, 3))
    X[partition == 1, 2] += 10
    X[0, 1] = np.nan
    stack = np.tile(partition, (4, 1))
    stack[3, 0] = 3  # four of the ten pairs of cluster 0 are apart in one draw of four
    table = cluster_table(X, partition, stack, names=["a", "b", "c"], top=1)
    assert table["cluster"].tolist() == [1, 2, 0]
    assert table["size"].tolist() == [20, 10, 5]
    assert table["share"].sum() == pytest.approx(1)
    assert table["mean"][0] == pytest.approx(X[partition == 1].mean(axis=0))
    assert table["spread"][2] == pytest.approx(np.nanstd(X[partition == 0], axis=0))
    assert table["top"].tolist()[0] == "c"
    assert table["stability"] == pytest.approx([1, 1, 0.9])
    text = str(table)
    assert text.splitlines()[0] == "3 clusters of 35 points"
    assert len(text.splitlines()) == 5
    frame = table.to_pandas()
    assert list(frame.columns[:5]) == ["cluster", "size", "share", "mean_a", "mean_b"]
    assert frame.shape == (3, 11)


def test_cluster_table_of_counts_names_the_words() -> None:
    counts = np.repeat([[16, 4, 0, 0], [0, 4, 1, 15]], 3, axis=0)  # "and" is as common in both: it tells nothing
    table = cluster_table(sparse.csr_matrix(counts), [0, 0, 0, 1, 1, 1], names=["oak", "and", "elm", "ash"], top=2)
    assert table["top"].tolist() == ["oak", "ash, elm"]
    assert table["mean"] == pytest.approx([counts[:3].sum() / 3, counts[3:].sum() / 3])
    assert "stability" not in table
    assert table.to_pandas().shape == (2, 6)


def test_a_column_missing_throughout_a_cluster_has_no_mean_there() -> None:
    X = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, 4.0]])
    table = cluster_table(X, [0, 0, 1])
    assert np.isnan(table["mean"][0, 1])
    assert table["top"].tolist() == ["x0", "x0"]


def test_cluster_table_refuses_what_does_not_match() -> None:
    with pytest.raises(ParameterError, match="partition must be one partition of 3 points"):
        cluster_table(np.zeros((3, 2)), [0, 0])
    with pytest.raises(ParameterError, match="names must name the 2 columns of X"):
        cluster_table(np.zeros((3, 2)), [0, 0, 1], names=["a"])
    with pytest.raises(ParameterError, match="partition must be one partition of 4 points"):
        cluster_affinity(np.zeros((2, 4), dtype=int), [0, 1])


def test_table_prints_and_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table({"name": np.array(["<b>", "c"]), "value": [1.5, -1577.5696]}, title="t", note="n")
    assert str(table) == "t\nname    value\n<b>       1.5\nc     -1577.6\nn"
    assert "&lt;b&gt;" in table._repr_html_()
    with pytest.raises(ParameterError, match="columns must have equal lengths"):
        Table({"a": [1], "b": [1, 2]})
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        table.to_pandas()
