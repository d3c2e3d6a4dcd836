"""Readers of other people's formats: what SciPy and NumPy write comes back, what nobody could have written is refused."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

from hedgerow.cli import main
from hedgerow.data.csr import read_csr
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
