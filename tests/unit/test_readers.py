"""Readers of other people's formats: what SciPy and NumPy write comes back, what nobody could have written is refused."""

from __future__ import annotations

import datetime
import gzip
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.data.csr import read_csr
from hedgerow.data.delimited import read_delimited
from hedgerow.data.matrix_market import read_matrix_market
from hedgerow.data.npy import read_npy

TABLE = sparse.random(30, 12, 0.2, random_state=0)
EVEN = sparse.random(12, 12, 0.3, random_state=1)
EVEN = EVEN + EVEN.T
ODD = sparse.tril(EVEN, -1) - sparse.tril(EVEN, -1).T


def dense(found: Any) -> Any:
    return found.toarray() if sparse.issparse(found) else found


@pytest.mark.parametrize(
    ("matrix", "options"),
    [
        (TABLE, {}),
        ((100 * TABLE).astype(int), {}),
        (TABLE, {"field": "pattern"}),
        (TABLE, {"comment": "one\ntwo"}),
        (EVEN, {"symmetry": "symmetric"}),
        (ODD, {"symmetry": "skew-symmetric"}),
        (TABLE.toarray(), {}),
        (EVEN.toarray(), {"symmetry": "symmetric"}),
        (ODD.toarray(), {"symmetry": "skew-symmetric"}),
        (sparse.coo_matrix((4, 5)), {}),
        (np.zeros((3, 0)), {}),
    ],
)
def test_matrix_market_as_scipy_reads_it(tmp_path, matrix, options) -> None:
    path = tmp_path / "x.mtx"
    scipy_io.mmwrite(path, matrix, **options)
    found, wanted = read_matrix_market(path.read_bytes()), scipy_io.mmread(path)
    np.testing.assert_allclose(dense(found), dense(wanted))
    assert sparse.issparse(found) == sparse.issparse(wanted)
    assert (found.dtype.kind == "i") == (options == {} and matrix.dtype.kind == "i")


HEAD = b"%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the first line"),
        (b"1,2\n", "the first line"),
        (b"%%MatrixMarket matrix coordinate complex general\n1 1 0\n", "entries must be"),
        (HEAD + b"3 3\n", "the line of sizes"),
        (HEAD + b"3 -3 1\n", "the line of sizes"),
        (HEAD + b"3 x 1\n", "invalid literal"),
        (HEAD + b"9999999999 3 1\n1 1 1\n", "more than so few bytes make likely"),
        (HEAD + b"3 3 9999999999\n1 1 1\n", "too short for them"),
        (HEAD + b"3 3 2\n1 1 1         \n", "Got 1"),
        (HEAD + b"3 3 1\n1 1 1\n2 2 2\n", "Got 2 or more"),
        (HEAD + b"3 3 1\n4 1 1\n", "within the matrix"),
        (HEAD + b"3 3 1\n0 1 1\n", "within the matrix"),
        (HEAD + b"3 3 1\nnan 1 1\n", "within the matrix"),
        (HEAD + b"3 3 1\n1.5 1 1\n", "within the matrix"),
        (b"%%MatrixMarket matrix coordinate real symmetric\n3 2 0\n", "must be square"),
        (b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\nx\n", "could not convert"),
        (b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3     \n", "4 entries are declared"),
    ],
)
def test_matrix_market_that_is_none(content, words) -> None:
    with pytest.raises(ValueError, match=words):
        read_matrix_market(content)


@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2).T, np.zeros((0, 4)), np.array(3), np.array(["a"])]
)
def test_npy_as_numpy_writes_it(array) -> None:
    file = io.BytesIO()
    np.save(file, array)
    size = file.tell()
    file.seek(0)
    np.testing.assert_array_equal(read_npy(file, size)[0], array)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: b[:-1], "contents that are not what it declares"),
        (lambda b: b + b"x", "contents that are not what it declares"),
        (lambda b: b[:20], "a broken header"),
        (lambda b: b"x" + b, "a broken header"),
        (lambda b: b.replace(b"(2, 3)", b"(9, 3)"), "contents that are not what it declares"),
    ],
)
def test_npy_that_is_none(change, words) -> None:
    file = io.BytesIO()
    np.save(file, np.arange(6.0).reshape(2, 3))
    content = change(file.getvalue())
    with pytest.raises(ValueError, match=words):
        read_npy(io.BytesIO(content), len(content))


def test_objects_are_never_unpickled() -> None:
    file = io.BytesIO()
    np.save(file, np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="not what it declares"):
        read_npy(io.BytesIO(file.getvalue()), len(file.getvalue()))


DATA, INDICES, INDPTR = np.ones(3), np.array([0, 1, 2]), np.array([0, 2, 3])


@pytest.mark.parametrize(
    ("parts", "shape"),
    [
        ((DATA, INDICES, INDPTR), (3, 3)),
        ((DATA, INDICES, INDPTR), (2, 2)),
        ((DATA, INDICES, INDPTR), (2, 2**40)),
        ((DATA, INDICES, INDPTR), (2.0, 3)),
        ((DATA, INDICES, INDPTR), (2, 10**30)),
        ((DATA, INDICES, INDPTR), (2,)),
        ((DATA, -INDICES, INDPTR), (2, 3)),
        ((DATA, INDICES, np.array([0, 3, 2])), (2, 3)),
        ((DATA, INDICES, np.array([0, 4, 3])), (2, 3)),
        ((DATA, INDICES, np.array([1, 2, 3])), (2, 3)),
        ((DATA[:2], INDICES, INDPTR), (2, 3)),
        ((DATA.astype(str), INDICES, INDPTR), (2, 3)),
        ((DATA, INDICES.astype(float), INDPTR), (2, 3)),
    ],
)
def test_sparse_parts_that_do_not_fit(parts, shape) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_csr(*parts, shape)  # type: ignore[call-arg]


def test_sparse_parts_that_fit() -> None:
    np.testing.assert_array_equal(read_csr(DATA, INDICES, INDPTR, (2, 3)).toarray(), [[1, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_sparse_matrices_of_scipy(tmp_path, capsys, form) -> None:
    counts = sparse.csr_matrix(np.random.default_rng(0).poisson(1.0, (12, 6)))
    sparse.save_npz(tmp_path / "words.npz", counts.asformat(form))
    arguments = ["fit", str(tmp_path / "words.npz"), "--out", str(tmp_path / "run"), "--draws", "2", "--warmup", "2", "--quiet"]
    code = main(arguments)
    assert (code, "csr, csc or coo form" in capsys.readouterr().err) == ((2, True) if form == "bsr" else (0, False))


def bomb_gz(path: Path) -> None:
    path.write_bytes(gzip.compress(b"1,2\n" * (20 << 20), 1))


def bomb_npz(path: Path) -> None:
    np.savez_compressed(path, X=np.zeros((4096, 4096)))


def bomb_mtx(path: Path) -> None:
    path.write_bytes(gzip.compress(HEAD + b"9 9 9\n" + b"1 1 1\n" * (4 << 20), 1))


@pytest.mark.parametrize(("name", "make"), [("x.csv.gz", bomb_gz), ("x.npz", bomb_npz), ("x.mtx.gz", bomb_mtx)])
def test_small_files_that_unpack_to_large_ones(tmp_path, capsys, monkeypatch, name, make) -> None:
    monkeypatch.setattr("hedgerow.data.guarded.FREELY", 32 << 20)
    monkeypatch.setattr("hedgerow.data.guarded.TIMES", 1)
    make(tmp_path / name)
    assert main(["fit", str(tmp_path / name), "--out", str(tmp_path / "run")]) == 2
    assert "far more than its size says" in capsys.readouterr().err


def test_a_small_file_of_a_large_table_is_read_where_there_is_memory(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("hedgerow.data.files.IN_PROCESS", 1000)  # by a child process
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"a,b,c\n" + b"1,x,\n2,y,NA\n" * 1000))
    found = hr.data.read(tmp_path / "x.csv.gz")
    assert found.X.shape == (2000, 2)
    assert found.raw.shape == (2000, 3)
    assert set(found.X.column("b").to_numpy()) == {"x", "y"}
    (tmp_path / "y.csv.gz").write_bytes(gzip.compress(b"a,b,c\n" + b"1,x,\n2,y\n" * 1000))
    with pytest.raises(hr.ParameterError, match=r"readable \.csv\.gz file: line 3 must have 3 entries"):
        hr.data.read(tmp_path / "y.csv.gz")


@pytest.mark.parametrize("part", ["indices", "indptr", "data"])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_damaged_sparse_shards_are_refused(tmp_path, form, part) -> None:
    counts = sparse.csr_matrix(np.random.default_rng(0).poisson(1.0, (12, 6))).asformat(form)
    path = tmp_path / "words.npz"
    sparse.save_npz(path, counts)
    assert hr.data.read(path).X.shape == (12, 6)
    parts = dict(np.load(path))
    parts[part] = np.full_like(parts[part], 10**8) if part != "data" else parts[part][:3]
    np.savez(path, **parts)
    model = hr.Mixture(hr.DP(1.0), hr.Multinomial(0.5))
    with pytest.raises(hr.ParameterError, match=r"must be a readable \.npz file"):
        hr.distributed.sample(model, [path], draws=2, warmup=2)


def test_errors_are_of_the_house(tmp_path, capsys) -> None:
    with pytest.raises(hr.ParameterError, match=r"read\(path=None\): path must be the path of a file"):
        hr.data.read(None)  # type: ignore[arg-type]
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }\n"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    assert main(["fit", str(tmp_path / "x.npy")]) == 2
    assert "must be a readable .npy file" in capsys.readouterr().err


def write_parquet(path: Path, table: Any, **options: Any) -> None:
    pytest.importorskip("pyarrow.parquet").write_table(table, path, **options)


@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize("pages", [{"use_dictionary": False, "row_group_size": 70}, {"write_page_index": True, "data_page_size": 50}])
def test_parquet_comes_back_as_it_was(tmp_path, codec, pages) -> None:
    arrow = pytest.importorskip("pyarrow")
    words = [None if i % 7 == 0 else f"word {i % 5}" for i in range(200)]
    days = [datetime.date(2020, 1, 1 + i % 28) for i in range(200)]
    table = arrow.table(
        {
            "number": np.linspace(0, 1, 200),
            "whole": np.arange(200),
            "gap": [None if i % 3 else i for i in range(200)],
            "word": words,
            "long": arrow.array(words, arrow.large_string()),
            "level": arrow.array(words).dictionary_encode(),
            "bytes": arrow.array([b"x"] * 200, arrow.binary()),
            "truth": [i % 3 == 0 for i in range(200)],
            "perhaps": [None if i % 5 == 0 else i % 3 == 0 for i in range(200)],
            "day": days,
            "stamp": arrow.array([datetime.datetime(2020, 1, 1, i % 24) for i in range(200)], arrow.timestamp("ns", "UTC")),
            "exact": arrow.array([Decimal(i) / 4 for i in range(200)], arrow.decimal128(9, 2)),
            "nothing": arrow.nulls(200),
        }
    )
    write_parquet(tmp_path / "x.parquet", table, compression=codec, **pages)
    found = hr.data.read(tmp_path / "x.parquet").raw
    assert found.column_names == table.column_names
    for name in ("number", "whole", "gap", "exact", "nothing"):
        wanted = np.array([np.nan if entry is None else float(entry) for entry in table.column(name).to_pylist()])
        np.testing.assert_array_equal(found.column(name).to_numpy(), wanted)
    for name in ("word", "long", "level", "truth", "perhaps"):
        assert found.column(name).to_numpy().tolist() == table.column(name).to_pylist()
    assert found.column("level").declared
    assert not found.column("word").declared
    assert found.column("bytes").to_numpy().tolist() == ["x"] * 200
    assert found.column("day").to_numpy().astype("datetime64[D]").tolist() == days
    assert found.column("stamp").to_numpy()[5] == np.datetime64("2020-01-01T05")


def test_lists_in_parquet_are_left_out_in_words(tmp_path) -> None:
    arrow = pytest.importorskip("pyarrow")
    write_parquet(tmp_path / "x.parquet", arrow.table({"list": [[1, 2]] * 60, "a": np.linspace(0, 1, 60)}))
    told = hr.data.read(tmp_path / "x.parquet").reading.columns[0]
    assert (told.kind, told.why) == ("drop", "an entry of type list<element: int64>: neither numbers nor names")


def test_a_text_that_every_row_points_at_is_there_once(tmp_path) -> None:
    """25 gigabytes of text in a file of 25 kilobytes."""
    arrow = pytest.importorskip("pyarrow")
    texts = arrow.DictionaryArray.from_arrays(np.zeros(50_000, np.int32), ["x" * 500_000])
    path = tmp_path / "x.parquet"
    table = arrow.table({"s": texts, "a": np.linspace(0, 1, 50_000)})
    write_parquet(path, table, store_schema=False, dictionary_pagesize_limit=1 << 30)
    assert len(hr.data.read(path).raw.column("s").texts) == 1


def test_two_columns_of_one_name_are_refused(tmp_path) -> None:
    arrow = pytest.importorskip("pyarrow")
    write_parquet(tmp_path / "x.parquet", arrow.table([arrow.array([1.0]), arrow.array([2.0])], names=["b", "b"]))
    with pytest.raises(hr.ParameterError, match="a different name for every column"):
        hr.data.read(tmp_path / "x.parquet")


def test_pages_that_claim_more_than_there_is_are_refused(tmp_path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    parquet.write_table(arrow.table({"a": np.linspace(0, 1, 500)}), path, compression="snappy", use_dictionary=False)
    start = parquet.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    content = path.read_bytes()
    # Field 1, the kind of page, is 0; field 2, its size unpacked, has two bytes.
    assert (content[start : start + 3], content[start + 4] & 128) == (b"\x15\x00\x15", 0)
    hostile = content[: start + 3] + b"\xfe\xff\xff\xff\x0f" + content[start + 5 :]
    for damaged in (hostile, content[:start], content[:-1], content[:-8] + b"\xff\xff\xff\xffPAR1", b""):
        path.write_bytes(damaged)
        with pytest.raises(hr.ParameterError, match=r"readable \.parquet file|far more than its size says"):
            hr.data.read(path)


def test_a_reader_that_dies_is_an_error_of_the_house(tmp_path, monkeypatch) -> None:
    (tmp_path / "killed.py").write_text("import os\nos.abort()\n")
    (tmp_path / "x.parquet").write_bytes(b"x")
    monkeypatch.setattr("hedgerow.data.child.__file__", str(tmp_path / "killed.py"))
    with pytest.raises(hr.ParameterError, match=r"its reader ended \(by signal 6"):
        hr.data.read(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("content", "names", "first"),
    [
        (b"a;b\n1,5;2\n2,5;3\n", ["a", "b"], ["1,5", "2"]),
        (b"sep=;\r\na;b,c\r\n1;2\r\n", ["a", "b,c"], ["1", "2"]),
        ("größe,b\n1,2\n".encode("utf-16"), ["größe", "b"], ["1", "2"]),
        ("größe,b\n1,2\n".encode("utf-16-le"), ["größe", "b"], ["1", "2"]),
        ("größe,b\n1,2\n".encode("utf-8-sig"), ["größe", "b"], ["1", "2"]),
        ("größe,b\n1,2\n".encode("cp1252"), ["größe", "b"], ["1", "2"]),
        (b"a\tb, c\n1\tx, y\n", ["a", "b, c"], ["1", "x, y"]),
        (b"5.1,setosa\n4.9,setosa\n", None, ["5.1", "setosa"]),
        (b"id,2019,2020\n7,1,2\n", ["id", "2019", "2020"], ["7", "1", "2"]),
        (b"1.5 2.5\n3 4\n", None, ["1.5", "2.5"]),
        (b",a\n0,x\n", ["column 1", "a"], ["0", "x"]),
        (b"name\nAnn Lee\nBob Ray\n", ["name"], ["Ann Lee"]),
        (b'a,b\n"x,\ny",2\n', ["a", "b"], ["x,\ny", "2"]),
        (b"# by hand\n#\na,b\n1,2\n", ["a", "b"], ["1", "2"]),
        (b"# by hand\n#chrom\tpos\nc1\t5\n", ["chrom", "pos"], ["c1", "5"]),
        (b"# only\n# remarks\n", ["# only"], ["# remarks"]),
    ],
)
def test_text_as_a_person_sees_it(content, names, first) -> None:
    found = read_delimited(content)
    assert found.names == names
    assert [texts[codes[0]] for codes, texts in zip(found.codes, found.texts, strict=True)] == first


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b"2019,2020\n1.5,2.0\n,-3.5\n", ["2019", "2020"]),
        (b"2019,2020\n1.5,2\n0.5,3.5\n", None),  # whole numbers below too
        (b"2019,2019\n1.5,2.0\n", None),
        (b"1.0,2.0\n1.5,2.5\n", None),
        (b"5\n1.5\n", None),
    ],
)
def test_years_over_measurements_are_names(text: bytes, names: list[str] | None) -> None:
    assert read_delimited(text).names == names


def test_headers_that_are_numbers_can_be_said() -> None:
    found = read_delimited(b"2019,2020\n1,2\n", header=True)
    assert found.names == ["2019", "2020"]
    assert read_delimited(b"2019,2020\n1,2\n").names is None
    assert read_delimited(b"a,b\nc,d\n", header=False).names is None


def test_what_was_guessed_is_said(tmp_path) -> None:
    (tmp_path / "x.csv").write_bytes("1;2\n3;4\n".encode("utf-16"))
    found = hr.data.read(tmp_path / "x.csv")
    assert repr(found).splitlines() == [
        "Dataset: 2 rows, 2 columns",
        "  text in UTF-16",
        "  entries apart by ';'",
        "  the first line holds a row, not names",
    ]
