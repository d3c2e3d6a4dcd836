"""Tables in shards: files, folders, frames and Dask's, columns of any kind, gaps, empty shards; the same proposal as in memory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.command import main
from hedgerow.cli.shard_files import _stems
from hedgerow.distributed import Conditional, attach, ibhc, propose, resume, sample

KERNEL = Conditional(scouts=200, pairs=8)
SETTINGS: dict[str, Any] = {"kernel": KERNEL, "draws": 6, "warmup": 4, "seed": 0}
CUTS = [(0, 200), (200, 200), (200, 450), (450, 600)]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, 600)
    found = pd.DataFrame(
        {
            "height": np.round(rng.normal(size=600) + 4 * z, 2),
            "weight": np.round(rng.normal(size=600) - 3 * z, 2),
            "colour": np.array(["red", "green", "blue"])[z],
            "visits": rng.poisson(1 + 3 * z),
            "code": [f"id{i}" for i in range(600)],
        }
    )
    found.loc[::13, "height"] = np.nan
    found.loc[::31, "colour"] = None
    found.loc[599, "colour"] = "teal"
    return found


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("parts")
    for i, (a, b) in enumerate(CUTS):
        table.iloc[a:b].to_parquet(place / f"part-{i}.parquet", index=False)
    return place


def test_the_same_proposal_as_in_memory(table, folder) -> None:
    wanted = hr.propose(table)
    for shards in (folder, str(folder / "part-*.parquet"), [table.iloc[a:b] for a, b in CUTS]):
        found = propose(shards)
        assert found.explained() == wanted.explained()
        assert repr(found.mixture) == repr(wanted.mixture)
        assert found.rows == 600


def test_what_a_sample_would_miss_is_looked_for(table, monkeypatch) -> None:
    """A level of one row, a number that is not whole, the ends of a column."""
    monkeypatch.setattr("hedgerow.distributed.proposing._SAMPLE", 60)
    rare = table.assign(visits=table["visits"].astype(float))
    rare.loc[137, "visits"] = 2.5
    found = propose([rare.iloc[:300], rare.iloc[300:]])
    assert found.X.shape[0] < 150
    colours = next(column for column in found.reading.columns if column.name == "colour")
    assert sorted(colours.how["levels"]) == ["blue", "green", "red", "teal"]
    assert next(column for column in found.reading.columns if column.name == "visits").kind == "number"
    assert np.nanmax(found.X.column("height").to_numpy()) == np.nanmax(rare["height"])


def test_sampled_saved_and_told(table, folder, tmp_path) -> None:
    proposal = propose(folder)
    post = proposal.sample(**SETTINGS, checkpoint=tmp_path / "run")
    assert post.shard_rows == (200, 0, 250, 150)
    assert [len(part) for part in post.shard_labels()] == [200, 0, 250, 150]
    again = resume(tmp_path / "run", folder)
    np.testing.assert_array_equal(again.log_joint, post.log_joint)
    labels = np.array([[post.labels(d) for d in range(post.draws)]])
    typed = proposal.reading.read(table)[0]
    data = post.model.likelihood.check(typed)
    near = hr.Posterior(labels=labels, log_joint=post.log_joint, X=data, model=post.model, run=post.run, **post.traces())
    own, wanted = post.cluster_table(), near.cluster_table()
    assert list(own) == list(wanted)
    np.testing.assert_allclose(own["mean"], wanted["mean"], atol=1e-9)
    assert own.parts == wanted.parts
    np.testing.assert_array_equal(post.predict(table.head(20)), post.predict(typed.take(np.arange(20))))
    post.save(tmp_path / "post.hedge")
    read = attach(hr.load(tmp_path / "post.hedge"), folder)
    assert str(read.profiles()) == str(post.profiles())
    assert sum(len(part) for part in ibhc(post.model, folder, reading=proposal.reading, seed=0).shard_labels()) == 600


def test_dask_frames_and_arrays_with_empty_blocks(table) -> None:
    frames = pytest.importorskip("dask.dataframe")
    arrays = pytest.importorskip("dask.array")
    parted = frames.from_pandas(table, npartitions=4).map_partitions(lambda part: part[part.index < 300])
    post = propose(parted).sample(**SETTINGS)
    assert post.shard_rows[2:] == (0, 0)
    assert sum(post.shard_rows) == 300
    X = hr.data.ring13(n=390).X
    whole = arrays.from_array(X, chunks=(130, 1))
    model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    assert sample(model, whole[whole[:, 0] > 0].compute_chunk_sizes(), **SETTINGS).n == int((X[:, 0] > 0).sum())


def test_rows_one_by_one_and_columns_of_one_value(table, tmp_path) -> None:
    """A shard knows too little to understand its columns: one row, one value, a first line without rows."""
    for ending, write in (("csv", pd.DataFrame.to_csv), ("parquet", pd.DataFrame.to_parquet)):
        place = tmp_path / ending
        place.mkdir()
        for i, (a, b) in enumerate([(0, 1), (1, 2), (2, 2), (2, 300), (300, 600)]):
            write(table.iloc[a:b], place / f"part-{i}.{ending}", index=False)
        found = propose(place)
        assert found.explained() == propose([table.iloc[:200], table.iloc[200:]]).explained()
        assert found.sample(**SETTINGS).shard_rows == (1, 1, 0, 298, 300)
    model, numbers = hr.Mixture(hr.DP(), hr.GaussianWishart()), table[["weight", "visits"]].assign(side=np.arange(600) // 200)
    place = tmp_path / "numbers"
    place.mkdir()
    cuts = [(0, 0), (0, 1), (1, 200), (200, 600)]
    for i, (a, b) in enumerate(cuts):
        numbers.iloc[a:b].to_csv(place / f"part-{i}.csv", index=False)
    wanted = sample(model, [numbers.to_numpy(float)[a:b] for a, b in cuts], **SETTINGS)
    np.testing.assert_array_equal(sample(model, place, **SETTINGS).log_joint, wanted.log_joint)


def test_left_out_columns_stand_where_they_stood(table) -> None:
    """`explained` tells columns in the order of the table, wherever it is."""
    dated = table[["code", "height", "weight"]].assign(when=pd.date_range("2020-01-01", periods=600), last=table["visits"])
    assert propose([dated.iloc[:90], dated.iloc[90:]]).explained() == hr.propose(dated).explained()


def test_refused(table, folder, tmp_path) -> None:
    with pytest.raises(hr.ParameterError, match=r"shards must be a folder with files, or a pattern such as 'part-\*\.parquet'"):
        propose(str(folder / "none-*.parquet"))
    other = tmp_path / "other"
    other.mkdir()
    table.iloc[:50].to_parquet(other / "a.parquet", index=False)
    table.iloc[50:90, :3].to_parquet(other / "b.parquet", index=False)
    with pytest.raises(hr.ParameterError, match=r"shards must have the same columns in the same order\. .*b\.parquet has others"):
        propose(other)
    model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    with pytest.raises(hr.ParameterError, match=r"shards\[0\] \(.*part-0\.parquet\): GaussianWishart\(X\['colour'\]"):
        sample(model, folder, **SETTINGS)
    with pytest.raises(hr.ParameterError, match="shards must have a row"):
        sample(model, [np.zeros((0, 2))], **SETTINGS)
    (other / "b.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(hr.ParameterError, match=r"shards\[1\] \(.*b\.parquet\)"):
        propose(other)
    with pytest.raises(hr.ParameterError, match=r"reading must be a hedgerow\.data\.Reading"):
        sample(model, folder, reading="csv", **SETTINGS)


def test_a_column_that_cannot_be_read_is_told_once(table) -> None:
    reading = propose([table.iloc[:300], table.iloc[300:]]).reading
    strange = table.assign(colour=table["colour"].where(table.index % 50 != 7, "mauve"))
    model = propose(table_shards(table)).mixture
    with pytest.warns(UserWarning, match=r"Taken for gaps: colour: 12 of 600 entries \('mauve'\)"):
        sample(model, table_shards(strange), reading=reading, **SETTINGS)


def table_shards(table: pd.DataFrame) -> list[pd.DataFrame]:
    return [table.iloc[:300], table.iloc[300:]]


def test_the_command(folder, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["fit", "--shards", str(folder / "part-*.parquet"), "--out", "run"]
    assert main([*command, "--draws", "4", "--warmup", "2", "--chains", "1", "--seed", "1", "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "600 rows. Looked at: 600 of them" in " ".join(told.split())  # where lines break hangs on the folder
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        *("checkpoint", "labels", "profiles.csv", "report.html", "run.hedge"),
    ]
    post = hr.load(tmp_path / "run" / "run.hedge")
    rows = (tmp_path / "run" / "labels" / "part-2.csv").read_text().splitlines()
    assert rows[0] == "row,cluster,probability"
    assert [int(row.split(",")[0]) for row in rows[1:]] == list(range(250))
    assert [int(row.split(",")[1]) for row in rows[1:]] == post.point_estimate().labels[200:450].tolist()
    assert main([*command, "--go-on", "--draws", "6", "--quiet"]) == 0
    assert hr.load(tmp_path / "run" / "run.hedge").draws == 6
    for more, words in (
        (["--quiet"], "holds a run over shards already"),
        (["--go-on", "--seed", "3"], "--seed: must be left out with --go-on"),
        (["--levels"], "--levels: has no meaning with --shards"),
        (["--workers", "0", "--out", "new"], "--workers 0: must be at least 1"),
    ):
        assert main([*command, *more]) != 0
        assert words in capsys.readouterr().err


def test_a_run_over_shards_answers_like_any_other(folder, tmp_path, monkeypatch, capsys) -> None:
    """Summary, report and predict find the rows where they were, or where they are said to be now."""
    monkeypatch.chdir(tmp_path)
    here = tmp_path / "here"
    shutil.copytree(folder, here)
    command = ["fit", "--shards", "here/part-*.parquet", "--out", "run", "--loss", "binder", "--title", "Mine"]
    assert main([*command, "--draws", "6", "--warmup", "2", "--chains", "2", "--seed", "1", "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "hedgerow summary, report and predict" in " ".join(told.split())
    page = (tmp_path / "run" / "report.html").read_text()
    assert main(["summary", "run"]) == 0
    words = capsys.readouterr().out
    assert "stands out by" in words
    assert words.splitlines()[0] in told
    assert main(["summary", "run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 600
    assert main(["report", "run", "--out", "again.html"]) == 0
    assert (tmp_path / "again.html").read_text() == page
    assert main(["predict", "run", "here/part-2.parquet", "--out", "new.csv"]) == 0
    assert len((tmp_path / "new.csv").read_text().splitlines()) == 251
    here.rename(tmp_path / "there")
    capsys.readouterr()
    assert main(["summary", "run"]) == 0
    assert "--shards PATTERN says where they are now" in " ".join(capsys.readouterr().out.split())
    assert main(["summary", "run", "--shards", "there/part-*.parquet"]) == 0
    assert "stands out by (mean" in capsys.readouterr().out
    for asked, wanted in (
        (["report", "run"], "are not where they were"),
        (["report", "run", "--shards", "there/part-[01].parquet"], "shards of the posterior"),
        (["tree", "run"], "must be a run over one file"),
        (["resume", "run"], "--go-on` goes on with it"),
    ):
        assert main(asked) != 0
        assert wanted in " ".join(capsys.readouterr().err.split()), asked


def test_tables_of_labels_are_called_as_their_files_unless_two_are_alike() -> None:
    assert _stems(["a/one.parquet", "b/two.csv"]) == ["one", "two"]
    assert _stems(["a/one.parquet", "b/One.parquet"]) == ["shard-00000", "shard-00001"]
