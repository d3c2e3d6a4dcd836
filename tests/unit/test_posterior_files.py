"""Files: a posterior comes back whole, and a damaged, foreign or hostile file is refused in words."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import struct
import warnings
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from hedgerow import likelihoods, priors
from hedgerow.data.container import FormatError, NotStorableError, decode, encode, read_container, write_container
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import Bernoulli, Categorical, Custom, GaussianDiagonal, GaussianWishart, Multinomial, Poisson, Product
from hedgerow.mixture import MODEL_CLASSES, Mixture
from hedgerow.posterior import Posterior
from hedgerow.priors import DP, NGG, NIG, Beta, Gamma, MixedNRM, PitmanYor, Stable


def test_a_file_brings_everything_back(post: Posterior, tmp_path: Path) -> None:
    path = tmp_path / "run.hedge"
    post.save(path)
    back = Posterior.load(path)
    assert isinstance(back, Posterior)
    for name in ("labels", "log_joint", "n_clusters", "log_u", "alpha", "sigma", "tau", "X"):
        assert np.array_equal(getattr(back, name), getattr(post, name)), name
        assert getattr(back, name).dtype == getattr(post, name).dtype
    assert back.theta is None
    assert back.model == post.model
    assert back.run == post.run
    assert np.array_equal(back.sample_stats["accepted"], post.sample_stats["accepted"])
    fresh = np.zeros((1, 2))
    assert back.log_density(fresh) == pytest.approx(post.log_density(fresh))
    assert os.listdir(tmp_path) == ["run.hedge"]  # nothing temporary left
    first = path.read_bytes()
    post.save(path)
    assert path.read_bytes() == first  # equal contents, equal bytes
    with np.load(path, allow_pickle=False) as plain:  # an npz for everyone else
        assert np.array_equal(plain["labels"], post.labels)
        assert plain["labels"].dtype == np.uint8


@pytest.mark.parametrize(("clusters", "bits"), [(256, 8), (257, 16)])
def test_labels_take_as_many_bytes_as_the_highest_needs(make: Any, tmp_path: Path, clusters: int, bits: int) -> None:
    each = make(Mixture(DP(1.0), GaussianWishart()), np.arange(clusters)[:, None], np.arange(clusters)[None, None])
    each.save(tmp_path / "run")
    assert np.array_equal(Posterior.load(tmp_path / "run").labels, each.labels)
    with np.load(tmp_path / "run") as plain:
        assert plain["labels"].dtype == f"u{bits // 8}"


@pytest.mark.parametrize(
    "model",
    [
        Mixture(DP(Gamma(2, 3)), GaussianDiagonal(r=np.array([0.1, 0.2]))),
        Mixture(PitmanYor(Gamma(1, 2), Beta(1, 3)), Multinomial(beta=0.5)),
        Mixture(NIG(2.0, Gamma(1, 1)), GaussianWishart(nu=9.0)),
        Mixture(Stable(1.0, Beta(2, 2)), GaussianWishart()),
    ],
    ids=lambda model: type(model.prior).__name__,
)
def test_every_model_comes_back(make: Any, model: Mixture, tmp_path: Path) -> None:
    X = np.random.default_rng(0).integers(0, 5, (6, 2)).astype(float)
    data: Any = sparse.csr_array(X) if isinstance(model.likelihood, Multinomial) else X
    post = make(model, data, np.zeros((1, 4, 6), dtype=int))
    post.save(tmp_path / "x")
    back = Posterior.load(tmp_path / "x")
    assert back.model == post.model
    assert type(back.X) is type(post.X)
    dense = [item.toarray() if sparse.issparse(item) else item for item in (back.X, post.X)]
    assert np.array_equal(dense[0], dense[1])


def test_a_mixed_table_comes_back(make: Any, tmp_path: Path) -> None:
    table = pd.DataFrame({"size": [1.0, 2.0, np.nan], "kind": ["oak", None, "elm"], "seen": [0, 3, 1], "wet": [0, 1, 1]})
    family = Product({"size": GaussianDiagonal(), "kind": Categorical(), "seen": Poisson(), "wet": Bernoulli()})
    model = Mixture(DP(1.0), family).resolve(table)
    post = make(model, table, np.zeros((1, 2, 3)))
    post.save(tmp_path / "x")
    back = Posterior.load(tmp_path / "x")
    assert back.model == post.model
    assert np.array_equal(back.X, post.X, equal_nan=True)
    assert back.log_density(table) == pytest.approx(post.log_density(table))


def test_every_prior_and_likelihood_of_the_registry_comes_back(make: Any, tmp_path: Path) -> None:
    cases = [case for family in likelihoods.LIKELIHOODS if (case := family.example()) is not None]
    for prior in (example for kind in priors.PRIORS for example in kind.examples()):
        for family, X in cases:
            model = Mixture(prior, family).resolve(X)
            times = [1, 1, 1, 2, 2, 2] if prior.grouped else None
            traces = {"log_u": np.zeros((1, 2, 2)), "alpha": np.ones((1, 2, 2))} if prior.grouped else {}
            make(model, model.likelihood.check(X), np.zeros((1, 2, 6)), times=times, **traces).save(tmp_path / "x")
            assert Posterior.load(tmp_path / "x").model == model


@dataclasses.dataclass(frozen=True)
class Own(NGG):
    """Somebody's prior."""


def test_a_model_is_never_left_out_without_a_word(make: Any, tmp_path: Path) -> None:
    model = Mixture(Own(1.0, 0.3), GaussianDiagonal())
    post = make(model, np.arange(4.0)[:, None], np.zeros((1, 2, 4)))
    with pytest.warns(UserWarning, match=r"Got a Own\. The draws are saved without the model: load them with load\(path, model="):
        post.save(tmp_path / "x")
    assert Posterior.load(tmp_path / "x").model is None
    assert Posterior.load(tmp_path / "x", model=post.model).model == post.model


def test_times_and_a_mixed_prior_come_back(make: Any, tmp_path: Path) -> None:
    X = np.arange(4.0)[:, None]
    times = [date(2001, 1, 1), date(2001, 1, 1), date(2002, 1, 1), date(2003, 1, 1)]
    prior = MixedNRM(NGG(1.0, 0.3, 1.0), decay=0.5)
    shape = (1, 2, 3)
    post = make(Mixture(prior, GaussianDiagonal()), X, np.zeros((1, 2, 4)), log_u=np.zeros(shape), alpha=np.ones(shape), times=times)
    post.save(tmp_path / "x")
    back = Posterior.load(tmp_path / "x")
    assert back.model == post.model
    assert np.array_equal(back.times, np.array(times, dtype="datetime64[us]"))
    assert back.predict_proba(X, times=times) == pytest.approx(post.predict_proba(X, times=times))


def test_a_model_with_functions_is_left_out_and_given_again(make: Any, tmp_path: Path) -> None:
    X = np.arange(5.0)[:, None]
    family = Custom(
        statistics=lambda rows: np.column_stack([np.ones(len(rows)), rows, rows**2]),
        log_marginal=lambda s: -0.5 * (s[:, 2] - s[:, 1] ** 2 / (s[:, 0] + 1)) - 0.5 * np.log(s[:, 0] + 1),
    )
    post = make(Mixture(DP(1.0), family), X, np.zeros((1, 3, 5)))
    with pytest.warns(UserWarning, match="Got a Custom. The draws are saved without the model"):
        post.save(tmp_path / "x")
    bare = Posterior.load(tmp_path / "x")
    assert bare.model is None
    assert "model not stored" in repr(bare)
    assert np.array_equal(bare.labels, post.labels)
    with pytest.raises(ParameterError, match=r"load it with load\(path, model=...\)"):
        bare.log_density(X)
    full = Posterior.load(tmp_path / "x", model=post.model)
    assert full.log_density(X) == pytest.approx(post.log_density(X))
    with pytest.raises(ParameterError, match=r"load\(model='DP'\): model must be a Mixture"):
        Posterior.load(tmp_path / "x", model="DP")  # type: ignore[arg-type]


def test_a_failed_save_leaves_the_old_file(post: Posterior, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.hedge"
    post.save(path)
    before = path.read_bytes()

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        dataclasses.replace(post, run={}).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.hedge"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere an open file cannot be replaced")
def test_a_reader_of_the_old_file_is_not_disturbed(post: Posterior, tmp_path: Path) -> None:
    path = tmp_path / "run.hedge"
    post.save(path)
    before = path.read_bytes()
    with open(path, "rb") as reader:
        dataclasses.replace(post, run={}).save(path)
        assert reader.read() == before
    assert path.read_bytes() != before


def test_paths_that_cannot_be(post: Posterior, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="path must lie in an existing folder"):
        post.save(tmp_path / "no" / "x")
    with pytest.raises(ParameterError, match="path must name a file, not a folder"):
        post.save(tmp_path)
    with pytest.raises(ParameterError, match="path must name an existing file"):
        Posterior.load(tmp_path / "nothing")
    with pytest.raises(NotStorableError, match="must be plain JSON"):
        dataclasses.replace(post, run={"when": object()}).save(tmp_path / "x")


def rewrite(source: Path, target: Path, change: Any = None, members: Any = None, **options: Any) -> Path:
    """A copy of a file with its header or members changed, to see it refused."""
    with zipfile.ZipFile(source) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    if change is not None:
        header = json.loads(parts["header.json"])
        change(header)
        parts["header.json"] = json.dumps(header).encode()
    if members is not None:
        members(parts)
    with zipfile.ZipFile(target, "w", **options) as archive:
        for name, body in parts.items():
            archive.writestr(name, body)
    return target


def npy(array: np.ndarray, **options: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


HEADERS: list[tuple[Any, str]] = [
    (lambda h: h.update(version=7), r"must have version 1, 2, 3, all this Hedgerow reads\. Got version 7"),
    (lambda h: h.update(container=2), "container version 2, which only a newer Hedgerow reads"),
    (lambda h: h.update(kind="forest"), "must name a stored posterior. Got a stored forest"),
    (lambda h: h.update(format="elsewhere"), "a header of another format"),
    (lambda h: h.pop("content"), "a header with parts missing"),
    (lambda h: h["arrays"].update(log_u=["<f8", [2, 10**15]]), "that is not what it declares"),
    (lambda h: h["arrays"].pop("log_u"), "arrays other than the header lists"),
    (lambda h: h["arrays"].update(extra=["<f8", [1]]), "arrays other than the header lists"),
    (lambda h: h["content"].pop("data"), "parts that do not fit"),
    (lambda h: h["content"].update(data={"form": "pickle"}), "parts that do not fit"),
    (lambda h: h["content"].update(data={"form": "csr", "shape": [20, 2]}), "parts that do not fit"),
    (lambda h: h["content"]["model"].update({"class": "Popen"}), "only classes and values this version knows"),
    (lambda h: h["content"]["model"]["fields"].pop("prior"), "fields of a stored Mixture must be"),
    (lambda h: h["content"]["model"]["fields"].update(prior={"array": "labels"}), "prior must be a prior"),
    (lambda h: h["content"]["model"]["fields"]["prior"]["fields"].update(sigma=1.5), r"sigma must lie in"),
    (lambda h: h["content"]["model"]["fields"]["prior"]["fields"].update(sigma=[]), r"NGG\(sigma=\[\]\)"),
    (lambda h: h["content"].update(model=h["content"]["model"]["fields"]["prior"]), "not a Mixture"),
    (lambda h: h["content"].update(run=5), "parts that do not fit"),
]


@pytest.mark.parametrize(("change", "words"), HEADERS)
def test_hostile_headers_are_refused_in_words(post: Posterior, tmp_path: Path, change: Any, words: str) -> None:
    post.save(tmp_path / "good")
    with pytest.raises(ParameterError, match=words):
        Posterior.load(rewrite(tmp_path / "good", tmp_path / "bad", change))


class Trap:
    """Unpickled, it would leave a trace."""

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return (exec, ("import os; os.environ['HEDGEROW_TRAP'] = 'sprung'",))


MEMBERS: list[tuple[Any, str]] = [
    (lambda p: p.update({"log_u.npy": npy(np.array([Trap()], dtype=object), allow_pickle=True)}), "not what it declares"),
    (lambda p: p.update({"log_u.npy": p["log_u.npy"].replace(b"(2, 30)", b"(9, 99)")}), "not what it declares"),
    (lambda p: p.update({"log_u.npy": p["log_u.npy"].replace(b"(2, 30), }", b"(-2,-30),}")}), "not what it declares"),
    (lambda p: p.update({"log_u.npy": p["log_u.npy"][:60]}), "broken header"),
    (lambda p: p.update({"log_u.npy": b"not an array at all"}), "broken header"),
    (lambda p: p.update({"log_u.npy": p["log_u.npy"][:-8]}), "not what it declares"),
    (lambda p: p.update({"labels.npy": npy(np.full((2, 30, 20), 250, np.uint8))}), "labels must be below the number of rows"),
    (lambda p: p.update({"labels.npy": npy(np.full((2, 30, 20), 20, np.uint8))}), "labels must be below the number of rows"),
    (lambda p: p.update({"sigma.npy": npy(np.ones((2, 30)))}), "sigma must be one value for each draw, in the range of the model"),
    (lambda p: p.update({"sigma.npy": npy(np.zeros((2, 30)))}), "sigma must be one value for each draw, in the range of the model"),
    (lambda p: p.update({"alpha.npy": npy(np.zeros((2, 30)))}), "alpha must be one value for each draw, in the range of the model"),
    (lambda p: p.update({"../../evil.npy": b"x"}), "arrays other than the header lists"),
    (lambda p: p.pop("header.json"), "a zip without header.json"),
    (lambda p: p.update({"header.json": b"{" * 100}), "not JSON"),
    (lambda p: p.update({"header.json": b"[" * 200_000}), "not JSON"),
    (lambda p: p.update({"header.json": b"\xff\xfe"}), "not JSON"),
    (lambda p: p.update({"header.json": b"[]"}), "another format"),
    (lambda p: p.update({"X.npy": npy(np.full((20, 2), np.inf))}), "finite"),
]


@pytest.mark.parametrize(("members", "words"), MEMBERS)
def test_hostile_members_are_refused_in_words(post: Posterior, tmp_path: Path, members: Any, words: str) -> None:
    post.save(tmp_path / "good")
    with pytest.raises(ParameterError, match=words):
        Posterior.load(rewrite(tmp_path / "good", tmp_path / "bad", None, members))
    assert "HEDGEROW_TRAP" not in os.environ


def test_the_trap_is_a_real_one() -> None:
    """The control: loaded without suspicion it would spring."""
    file = io.BytesIO(npy(np.array([Trap()], dtype=object), allow_pickle=True))
    np.load(file, allow_pickle=True)
    assert os.environ.pop("HEDGEROW_TRAP") == "sprung"


def test_compressed_files_are_refused_before_they_unfold(post: Posterior, tmp_path: Path) -> None:
    post.save(tmp_path / "good")
    packed = rewrite(tmp_path / "good", tmp_path / "bad", compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(FormatError, match="a compressed or encrypted member"):
        Posterior.load(packed)


def test_a_member_listed_twice_is_refused(post: Posterior, tmp_path: Path) -> None:
    post.save(tmp_path / "x")
    with zipfile.ZipFile(tmp_path / "x", "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        archive.writestr("log_u.npy", b"again")
    with pytest.raises(FormatError, match=r"two members called 'log_u\.npy'"):
        Posterior.load(tmp_path / "x")


def test_overlapping_members_cannot_exceed_the_file(post: Posterior, tmp_path: Path) -> None:
    """A directory that claims more bytes than the file has is refused before anything is read."""
    post.save(tmp_path / "x")
    raw = bytearray((tmp_path / "x").read_bytes())
    at = raw.rindex(b"PK\x01\x02")
    for offset in (20, 24):  # compressed and plain size in the last directory entry
        raw[at + offset : at + offset + 4] = struct.pack("<I", 2**31)
    (tmp_path / "x").write_bytes(bytes(raw))
    with pytest.raises(FormatError, match=r"larger than the file itself|damaged"):
        Posterior.load(tmp_path / "x")


def test_truncated_and_damaged_files_are_refused(post: Posterior, tmp_path: Path) -> None:
    post.save(tmp_path / "good")
    whole = (tmp_path / "good").read_bytes()
    rng = np.random.default_rng(0)
    for size in [0, 1, 10, *rng.integers(11, len(whole) - 1, 20).tolist()]:
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(FormatError, match="path must name a whole Hedgerow file"):
            Posterior.load(tmp_path / "cut")
    refused = 0
    for place in rng.integers(0, len(whole), 150).tolist():
        bent = bytearray(whole)
        bent[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "bent").write_bytes(bytes(bent))
        try:
            back = Posterior.load(tmp_path / "bent")
        except ParameterError:
            refused += 1
        else:  # a bit that carries no content, such as a date
            assert np.array_equal(back.labels, post.labels)
            assert np.array_equal(back.log_joint, post.log_joint)
    assert refused > 100


def test_other_objects_can_use_the_container(tmp_path: Path) -> None:
    parent, names = np.array([-1, 0, 0]), np.array(["oak", "elm"])
    write_container(tmp_path / "f", "forest", 3, {"note": "ü"}, {"parent": parent, "names": names, "none": np.zeros((0, 2))})
    back = read_container(tmp_path / "f", "forest", (2, 3))
    assert (back.kind, back.version, back.content) == ("forest", 3, {"note": "ü"})
    assert np.array_equal(back.arrays["parent"], parent)
    assert back.arrays["parent"].flags.writeable
    assert back.arrays["names"].tolist() == ["oak", "elm"]
    assert back.arrays["none"].shape == (0, 2)
    assert read_container(tmp_path / "f").kind == "forest"
    with pytest.raises(ParameterError, match="must be an array of numbers, texts or times"):
        write_container(tmp_path / "g", "forest", 1, {}, {"x": np.array([object()])})


def test_values_survive_the_codec() -> None:
    value = {"a": 1}
    with pytest.raises(NotStorableError, match="Got a dict"):
        encode(value, {}, "model", MODEL_CLASSES)
    arrays: dict[str, np.ndarray] = {}
    model = Mixture(NGG(Gamma(1, 2), 0.3, 1.0), GaussianWishart(mean=np.array([1.0, 2.0]), psi=np.eye(2)))
    stored = json.loads(json.dumps(encode((model, [1, 2.5, None, True, float("inf")]), arrays, "m", MODEL_CLASSES)))
    back = decode(stored, arrays, MODEL_CLASSES)
    assert back == (model, [1, 2.5, None, True, float("inf")])
    assert set(arrays) == {"m.0.likelihood.mean", "m.0.likelihood.psi"}
