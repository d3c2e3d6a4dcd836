"""Readers of other people's formats: what SciPy and NumPy write comes back, what nobody could have written is refused."""

from __future__ import annotations

import argparse
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.cli.reading import add_data_arguments, read_source
from hedgerow.data.csr import read_csr
from hedgerow.data.matrix_market import read_matrix_market
from hedgerow.data.npy import read_npy
from hedgerow.data.parquet_pages import unpacked_size

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
    "array", [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.eye(3)), np.zeros((0, 4)), np.array(3), np.array(["a"])]
)
def test_npy_as_numpy_writes_it(array) -> None:
    file = io.BytesIO()
    np.save(file, array)
    size = file.tell()
    file.seek(0)
    np.testing.assert_array_equal(read_npy(file, size)[0], array)


@pytest.mark.parametrize(
    "change", [lambda b: b[:-1], lambda b: b + b"x", lambda b: b[:20], lambda b: b"x" + b, lambda b: b.replace(b"(2, 3)", b"(9, 3)")]
)
def test_npy_that_is_none(change) -> None:
    file = io.BytesIO()
    np.save(file, np.arange(6.0).reshape(2, 3))
    content = change(file.getvalue())
    with pytest.raises(ValueError, match=r"\w"):
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
        ((DATA, INDICES, np.array([1, 2, 3])), (2, 3)),
        ((DATA[:2], INDICES, INDPTR), (2, 3)),
        ((DATA.astype(str), INDICES, INDPTR), (2, 3)),
        ((DATA, INDICES.astype(float), INDPTR), (2, 3)),
    ],
)
def test_sparse_parts_that_do_not_fit(parts, shape) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_csr(*parts, shape)


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
    path.write_bytes(gzip.compress(b"1,2\n" * (8 << 20)))


def bomb_npz(path: Path) -> None:
    np.savez_compressed(path, X=np.zeros((4096, 4096)))


@pytest.mark.parametrize(("name", "make"), [("x.csv.gz", bomb_gz), ("x.npz", bomb_npz)])
def test_small_files_that_unpack_to_large_ones(tmp_path, capsys, name, make) -> None:
    make(tmp_path / name)
    assert main(["fit", str(tmp_path / name), "--out", str(tmp_path / "run")]) == 2
    assert "far more than its size says" in capsys.readouterr().err


def test_errors_are_of_the_house(tmp_path, capsys) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }\n"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    assert main(["fit", str(tmp_path / "x.npy")]) == 2
    assert "must be a readable .npy file" in capsys.readouterr().err


def read_parquet(path: Path, table: Any, **options: Any) -> Any:
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(table, path, **options)
    parser = argparse.ArgumentParser()
    add_data_arguments(parser)
    return read_source(str(path), parser.parse_args([])).X


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("pages", [{"use_dictionary": False, "row_group_size": 70}, {"write_page_index": True, "data_page_size": 50}])
def test_parquet_comes_back_as_it_was(tmp_path, codec, version, pages) -> None:
    arrow = pytest.importorskip("pyarrow")
    words = [None if i % 7 == 0 else f"word {i % 5}" for i in range(200)]
    table = arrow.table(
        {
            "number": np.linspace(0, 1, 200),
            "word": words,
            "long": arrow.array(words, arrow.large_string()),
            "level": arrow.array(words).dictionary_encode(),
            "bytes": arrow.array([b"x"] * 200, arrow.binary()),
            "truth": [i % 3 == 0 for i in range(200)],
            "list": [[1, 2]] * 200,
        }
    )
    found = read_parquet(tmp_path / "x.parquet", table, compression=codec, data_page_version=version, **pages)
    assert found.equals(table)


def test_parquet_without_rows(tmp_path) -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"a": arrow.array([], arrow.float64()), "s": arrow.array([], arrow.string())})
    assert read_parquet(tmp_path / "x.parquet", table).shape == (0, 2)


def test_a_text_that_every_row_points_at_does_not_fill_the_memory(tmp_path) -> None:
    """25 gigabytes of text in a file of 25 kilobytes."""
    arrow = pytest.importorskip("pyarrow")
    texts = arrow.DictionaryArray.from_arrays(np.zeros(50_000, np.int32), ["x" * 500_000])
    with pytest.raises(hr.ParameterError, match="must not hold far more than its size says"):
        read_parquet(tmp_path / "x.parquet", arrow.table({"s": texts}), store_schema=False, dictionary_pagesize_limit=1 << 30)


def test_two_columns_of_one_name_are_refused(tmp_path) -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table([arrow.array([1.0]), arrow.array([2.0])], names=["b", "b"])
    with pytest.raises(hr.ParameterError, match="a different name for every column"):
        read_parquet(tmp_path / "x.parquet", table)


def test_what_a_page_claims_is_read_before_it(tmp_path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    parquet.write_table(arrow.table({"a": np.linspace(0, 1, 500)}), path, compression="snappy", use_dictionary=False)
    start = parquet.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    content = path.read_bytes()
    assert 4000 <= unpacked_size(memoryview(content)) < 4100
    # Field 1, the kind of page, is 0; field 2, its size unpacked, has two bytes.
    assert (content[start : start + 3], content[start + 4] & 128) == (b"\x15\x00\x15", 0)
    hostile = content[: start + 3] + b"\xfe\xff\xff\xff\x0f" + content[start + 5 :]
    assert unpacked_size(memoryview(hostile)) >= 2**31 - 1
    for damaged in (content[:start], content[:-1], content[:-8] + b"\xff\xff\xff\xffPAR1", content[:start] + content[-3000:]):
        with pytest.raises(ValueError, match=r"reaches beyond the file|footer|kind|missing|description"):
            unpacked_size(memoryview(damaged))
