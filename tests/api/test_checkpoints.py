"""Runs kept in a folder are resumed bit by bit, whatever stopped them and whatever the kernel; memory and disk."""

from __future__ import annotations

import _thread
import contextlib
import errno
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.checks import assert_same_posterior as assert_same

import hedgerow as hr
from hedgerow.kernels import Kernel
from hedgerow.likelihoods import Categorical, Poisson, Product
from hedgerow.sampling import Chain, Checkpoint, resume, sample, so_far
from hedgerow.sampling import chain_files as files_module
from hedgerow.sampling import checkpoint as checkpoint_module

NGG = hr.NGG(alpha=hr.Gamma(1, 1), sigma=hr.Beta(1, 5), tau=1.0)
KERNELS: list[Kernel] = [
    hr.Gibbs(),
    hr.Gibbs(subset=7),
    hr.SplitMerge(scans=2),
    hr.Slice(),
    hr.TreeGuided(global_moves=3, sweep_rate=0.5),
    hr.TreeGuidedPublished(G=3),
    hr.cycle(hr.TreeGuidedPublished(G=2), hr.Gibbs(subset=2)),
    hr.mix(hr.TreeGuidedPublished(G=2, D=0), hr.SplitMerge(scans=1), hr.TreeGuided(global_moves=2), hr.Gibbs(subset=3)),
]
FIELDS = ("labels", "log_joint", "log_u", "alpha", "sigma", "tau")


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return hr.data.ring13(seed=0, n=65)[0]


@pytest.fixture(scope="module")
def model() -> hr.Mixture:
    return hr.Mixture(NGG, hr.GaussianWishart())


SETTINGS: dict[str, Any] = {"kernel": hr.Gibbs(), "draws": 50, "warmup": 12, "chains": 2, "seed": 5, "thin": 2}


def stop_after(count: int) -> Any:
    """A callback that lets `count` blocks pass."""
    left = [count]

    def callback(update: Any) -> bool:
        left[0] -= 1
        return left[0] <= 0

    return callback


def begin(model: hr.Mixture, X: Any, folder: Path, blocks: int = 12, **changed: Any) -> None:
    """Start a run and stop it after some blocks."""
    settings = SETTINGS | {"callbacks": [stop_after(blocks)], "checkpoint": Checkpoint(folder, every=0)} | changed
    with contextlib.suppress(RuntimeError):  # stopped before the first draw
        sample(model, X, **settings)


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch) -> None:
    """Nobody pulls the plug here; flushing every file to the disk would take most of the time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def small_blocks(monkeypatch) -> None:
    """One iteration a block, so that a run can be stopped anywhere."""
    monkeypatch.setattr("hedgerow.sampling.blocks._BLOCK_SECONDS", 0.0)


# ------------------------------------------------------------------------------------- bit by bit


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_chain_taken_up_at_every_iteration(X, kernel) -> None:
    priors = [NGG, hr.PitmanYor(hr.Gamma(1, 1), 0.2), hr.DP(hr.Gamma(1, 1))]
    likelihoods = [(hr.GaussianWishart(), X), (hr.GaussianDiagonal(), X), (hr.Multinomial(), np.round(np.abs(X) * 3))]
    for (likelihood, data), prior in zip(likelihoods, priors, strict=True):
        model = hr.Mixture(prior, likelihood).resolve(data)
        through = Chain(model, data, kernel, seed=1)
        through.warm_up(6, 0, 6)
        whole = through.run(10)
        chain = Chain(model, data, kernel, seed=1)
        blocks = []
        for i in range(16):
            other = Chain(model, data, kernel, labels=np.zeros(len(data)), seed=99, sequence=7)
            other.restore(chain.state())
            chain = other
            if i < 6:
                chain.warm_up(1, i, 6)
            else:
                blocks.append(chain.run(1))
        for name in ("labels", "log_joint", "log_u", "alpha", "sigma", "tau", "theta"):
            pieces = np.concatenate([getattr(block, name) for block in blocks])
            np.testing.assert_array_equal(pieces, getattr(whole, name), err_msg=f"{name} {prior}")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_run_stopped_again_and_again(model, X, kernel, tmp_path) -> None:
    settings = SETTINGS | {"kernel": kernel}
    whole = sample(model, X, **settings)
    begin(model, X, tmp_path / "run", blocks=5, kernel=kernel)
    for blocks in (1, 2, 20, 30):
        with contextlib.suppress(RuntimeError):
            assert resume(Checkpoint(tmp_path / "run", every=0), callbacks=[stop_after(blocks)]).run["interrupted"]
    post = resume(tmp_path / "run")
    assert_same(whole, post)
    assert not post.run["interrupted"]
    assert post.run["sessions"] == 6
    assert_same(whole, resume(tmp_path / "run"))  # a finished run comes back as it is


@pytest.mark.usefixtures("small_blocks")
def test_other_models_and_data(X, tmp_path) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": rng.choice(["x", "y"], 65), "n": rng.poisson(2, 65)})
    table = Product({("a", "b"): hr.GaussianWishart(), ("c",): Categorical(), ("n",): Poisson()})
    mixed = hr.MixedNRM(hr.NGG(hr.Gamma(1, 1), 0.3, 1.0), basis=[1.0, 2.0], decay=0.5)
    counts = sparse.random(65, 300, 0.05, format="csr", random_state=0, data_rvs=lambda k: rng.integers(1, 4, k))
    cases: list[tuple[hr.Mixture, Any, dict[str, Any]]] = [
        (hr.Mixture(hr.PitmanYor(hr.Gamma(1, 1), hr.Beta(1, 3)), hr.Multinomial()), counts, {}),
        (hr.Mixture(hr.Stable(hr.Gamma(1, 1), 0.3), table), frame, {}),
        (hr.Mixture(mixed, hr.GaussianWishart()), X, {"times": np.arange(65) % 3 + 1}),
        (hr.Mixture(mixed, hr.GaussianWishart()), X, {"times": ["a", "b", "c", "d", "e"] * 13}),
        (hr.Mixture(hr.NIG(), hr.GaussianWishart()), X, {"init": ["singletons", np.arange(65) % 4], "seed": 2**100}),
    ]
    for i, (model, data, more) in enumerate(cases):
        more = {"kernel": hr.TreeGuided(global_moves=3), **more}
        begin(model, data, tmp_path / str(i), **more)
        post = resume(tmp_path / str(i))
        assert_same(sample(model, data, **(SETTINGS | more)), post)
        assert type(post.model.likelihood) is type(model.likelihood)


@pytest.mark.usefixtures("small_blocks")
def test_a_model_that_cannot_be_stored_is_given_again(X, tmp_path) -> None:
    own = hr.Custom(lambda X: np.column_stack([np.ones(len(X)), X.sum(axis=1)]), lambda s: -0.1 * s[:, 0] - s[:, 1] ** 2 * 1e-3)
    model = hr.Mixture(hr.DP(), own)
    begin(model, X, tmp_path / "run")
    with pytest.raises(hr.ParameterError, match="model must be given again, as it could not be stored"):
        resume(tmp_path / "run")
    assert_same(sample(model, X, **SETTINGS), resume(tmp_path / "run", model=model))


@pytest.mark.usefixtures("small_blocks")
def test_guides_of_the_users_own(model, X, tmp_path) -> None:
    from scipy.cluster.hierarchy import linkage

    kernel = hr.TreeGuided(global_moves=3, guides=linkage(X, "average"))
    begin(model, X, tmp_path / "run", kernel=kernel)
    assert_same(sample(model, X, **(SETTINGS | {"kernel": kernel})), resume(tmp_path / "run"))
    with pytest.raises(hr.ParameterError, match="kernel must be left out"):
        resume(tmp_path / "run", kernel=kernel)


def test_a_finished_run_is_made_longer(model, X, tmp_path) -> None:
    sample(model, X, **SETTINGS, checkpoint=tmp_path / "run")
    post = resume(tmp_path / "run", draws=80)
    assert_same(sample(model, X, **(SETTINGS | {"draws": 80})), post)
    assert post.run["draws"] == 80
    with pytest.raises(hr.ParameterError, match="draws must be a whole number from 80 up"):
        resume(tmp_path / "run", draws=50)


def test_a_checkpoint_changes_no_draw(model, X, tmp_path) -> None:
    assert_same(sample(model, X, **SETTINGS), sample(model, X, **SETTINGS, checkpoint=str(tmp_path / "a" / "b")))


@pytest.mark.usefixtures("small_blocks")
def test_an_interrupt_before_the_first_draw(model, X, tmp_path) -> None:
    post = sample(model, X, **SETTINGS, checkpoint=tmp_path / "run", callbacks=[lambda update: _thread.interrupt_main()])
    assert (post.run["warming"], post.run["interrupted"], post.draws) == (True, True, 1)
    for c in range(post.chains):
        values = {name: trace[c, 0] for name, trace in post.traces().items() if name != "log_u"}
        assert post.log_joint[c, 0] == pytest.approx(post.model.log_joint(X, post.labels[c, 0], u=np.exp(post.log_u[c, 0]), **values))
    seen = so_far(tmp_path / "run")  # anybody may look
    assert seen.run["warming"]
    np.testing.assert_array_equal(seen.labels, post.labels)
    assert_same(sample(model, X, **SETTINGS), resume(tmp_path / "run"))


@pytest.mark.usefixtures("small_blocks")
def test_an_interrupt_in_the_warm_up_without_a_checkpoint(model, X) -> None:
    post = sample(model, X, **SETTINGS, callbacks=[lambda update: _thread.interrupt_main()])
    assert (post.run["warming"], post.draws, post.n) == (True, 1, len(X))


# ----------------------------------------------------------------------------------- memory and disk


def test_labels_stay_on_disk_where_there_are_many(model, X, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("hedgerow.sampling.folder_recorder._IN_MEMORY", 1000)
    post = sample(model, X, **SETTINGS, checkpoint=tmp_path / "run")
    assert isinstance(post.labels.base, np.memmap)
    assert (tmp_path / "run" / "labels.npy").is_file()
    assert_same(sample(model, X, **SETTINGS), post)
    assert post.similarity().shape == (65, 65)
    again = resume(tmp_path / "run", draws=60)  # the first posterior keeps its own labels
    assert (post.draws, again.draws) == (50, 60)
    np.testing.assert_array_equal(post.labels, again.labels[:, :50])


@pytest.mark.slow
def test_memory_stays_flat(tmp_path) -> None:
    """Labels of 480 MB pass through a process that never holds more than a fraction of them."""
    script = textwrap.dedent("""
        import resource, sys
        import numpy as np, hedgerow as hr
        from hedgerow.sampling import Checkpoint, sample
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        X = np.random.default_rng(0).normal(size=(20_000, 2))
        settings = dict(kernel=hr.Gibbs(subset=1), warmup=0, chains=2, seed=0, init="one")
        model = hr.Mixture(hr.DP(), hr.GaussianWishart())
        sample(model, X, draws=10, **settings)
        before = peak()
        def growth(update):
            print(peak() - before, flush=True)
        sample(model, X, draws=3000, checkpoint=Checkpoint(sys.argv[1], every=0.2), callbacks=[growth], **settings)
    """)
    out = subprocess.run([sys.executable, "-c", script, str(tmp_path / "run")], capture_output=True, text=True, check=True)
    assert max(map(int, out.stdout.split())) < 120


def fail_after(count: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A disk that is full after so many files."""
    real = files_module.write_container  # type: ignore[attr-defined]
    left = [count]

    def write(path: Path, *rest: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        real(path, *rest)

    monkeypatch.setattr(files_module, "write_container", write)
    monkeypatch.setattr("hedgerow.sampling.manifest.write_container", write)
    return left


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("files", [1, 2, 3, 4, 6, 9, 25, 26, 27, 28])
def test_a_full_disk_stops_the_run_with_its_draws_intact(model, X, tmp_path, files) -> None:
    whole = sample(model, X, **SETTINGS)
    with pytest.MonkeyPatch.context() as patch:
        fail_after(files, patch)
        with pytest.raises(OSError, match="No space left on device") as caught:
            sample(model, X, **SETTINGS, checkpoint=Checkpoint(tmp_path / "run", every=0))
    if kept := getattr(caught.value, "posterior", None):
        for chain in range(kept.chains):
            same = [np.array_equal(kept.labels[chain], whole.labels[c, : kept.draws]) for c in range(2)]
            assert any(same)
    assert_same(whole, resume(tmp_path / "run"))  # with room again


def test_a_really_full_disk(model, X, tmp_path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk is not allowed here")
    settings = SETTINGS | {"draws": 5000, "thin": 1}
    try:
        with pytest.raises(OSError, match="No space left on device") as caught:
            sample(model, X, **settings, checkpoint=Checkpoint(disk / "run", every=0.05))
        kept = caught.value.posterior  # type: ignore[attr-defined]
        assert kept.draws > 10
        shutil.copytree(disk / "run", tmp_path / "roomy")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert_same(sample(model, X, **settings), resume(tmp_path / "roomy"))


def test_a_run_too_large_for_the_disk_is_refused_at_once(model, X, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(checkpoint_module.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(0, 0, 2**20))  # type: ignore[attr-defined]
    with pytest.raises(hr.ParameterError, match=r"need at least 124\.0 MiB and the disk of the checkpoint has 1\.0 MiB free"):
        sample(model, X, checkpoint=tmp_path / "run", draws=10**6, chains=2)


def test_a_run_is_not_made_longer_than_the_disk_allows(model, X, tmp_path, monkeypatch) -> None:
    whole = sample(model, X, draws=4, warmup=2, chains=2, seed=0, checkpoint=tmp_path)
    monkeypatch.setattr(checkpoint_module.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(0, 0, 100))  # type: ignore[attr-defined]
    with pytest.raises(hr.ParameterError, match=r"resume\(draws=9, chains=2\): the labels of .* rows need"):
        resume(tmp_path, draws=9)
    with pytest.raises(hr.ParameterError, match="draws must be a whole number from 1 to"):
        resume(tmp_path, draws=10**30)
    np.testing.assert_array_equal(resume(tmp_path).labels, whole.labels)  # neither has changed what was asked for


@pytest.mark.parametrize("name", ["draws", "warmup", "chains", "thin"])
def test_counts_beyond_those_of_the_core_are_refused(model, X, name) -> None:
    with pytest.raises(hr.ParameterError, match=f"{name} must be a whole number from . to 2,147,483,647"):
        sample(model, X, **{name: 2**31})
