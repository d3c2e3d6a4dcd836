"""Shards on a Dask cluster: the same draws from any number of workers, and from those that are left; and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.checks import assert_same_rounds as assert_same

import hedgerow as hr
from hedgerow.distributed import Conditional, DistributedPosterior, ibhc, sample, sampler, workers
from hedgerow.posterior.sharded_labels import FolderLabels

KERNEL = Conditional(scouts=300, pairs=12)
SETTINGS: dict[str, Any] = {"kernel": KERNEL, "draws": 12, "warmup": 8, "seed": 5, "init": "one", "labels": "all"}
needs_dask = pytest.mark.filterwarnings("ignore")  # Dask's own warnings, from its many parts


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return hr.data.ring13(seed=0, n=1300)[0]


@pytest.fixture(scope="module")
def parts(X) -> list[np.ndarray]:
    return np.split(X, [300, 310, 900, 1100])


@pytest.fixture(scope="module")
def paths(parts, tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("shards")
    for i, part in enumerate(parts):
        np.save(folder / f"{i}.npy", part)
    return [folder / f"{i}.npy" for i in range(len(parts))]


@pytest.fixture(scope="module")
def model(X) -> hr.Mixture:
    return hr.Mixture(hr.NGG(hr.Gamma(1, 1), 0.2, 1.0), hr.GaussianWishart.nips2015()).resolve(X)


@pytest.fixture(scope="module")
def here(model, parts) -> DistributedPosterior:
    return sample(model, parts, **SETTINGS)


def cluster(workers: int, **options: Any) -> Any:
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, **options)


def connect(made: Any) -> Any:
    return pytest.importorskip("distributed").Client(made)


# ------------------------------------------------------------------------------------------------ in this process


def test_its_own_account(model, X, here) -> None:
    for draw in (0, 5, -1):
        values = {"u": np.exp(here.log_u[0, draw]), "alpha": here.alpha[0, draw]}
        assert model.log_joint(X, here.labels(draw), **values) == pytest.approx(here.log_joint[0, draw], abs=1e-6)
    assert here.n == len(X)
    assert here.n_clusters[0, -1] == here.labels().max() + 1
    assert "1,300 rows in 5 shards" in repr(here)
    assert here.sample_stats["splits_accepted"].sum() > 0


def test_agrees_with_the_sampler_in_memory(model, X, parts) -> None:
    wanted = hr.sample(model, X, draws=100, warmup=100, chains=1, seed=0)
    far = sample(model, parts, draws=100, warmup=200, seed=0, init="one")
    near = sample(model, parts, draws=100, warmup=20, seed=0)
    for post in (far, near):
        assert abs(post.n_clusters.mean() - wanted.n_clusters.mean()) < 1.5
        assert abs(post.log_joint.mean() - wanted.log_joint.mean()) < 15


def test_a_start_that_starts(model, X, parts) -> None:
    """From one update of u the first visits would found hundreds of clusters."""
    wanted = hr.sample(model, X, draws=20, warmup=60, chains=1, seed=0)
    for post in (sample(model, parts, draws=4, warmup=0, seed=s) for s in (0, 1, 2)):
        assert post.n_clusters[0, 0] < wanted.n_clusters.mean() + 15
        assert post.log_joint[0, 0] > wanted.log_joint.mean() - 60


def test_the_same_from_functions_files_and_any_threads(model, parts, paths, here, monkeypatch) -> None:
    assert_same(here, sample(model, [lambda part=part: part for part in parts], **SETTINGS))
    monkeypatch.setattr(workers, "_SMALL", 0)
    assert_same(here, sample(model, paths, **SETTINGS))


def test_the_same_when_the_past_is_forgotten(model, parts, here, monkeypatch) -> None:
    monkeypatch.setattr(sampler, "_REMEMBERED", 5)
    assert_same(here, sample(model, parts, **SETTINGS))


def lose(update: Any) -> None:
    """Another shard after every iteration."""
    from hedgerow.distributed import working_shard

    for key in list(working_shard._shelf):
        if key[1] == update.done % 5:
            del working_shard._shelf[key]


def test_the_same_when_shards_are_lost_again_and_again(model, parts, here, monkeypatch) -> None:
    monkeypatch.setattr(sampler, "_REMEMBERED", 20)
    assert_same(here, sample(model, parts, **SETTINGS, callbacks=[lose]))


def test_missing_entries_are_state(model, parts, monkeypatch) -> None:
    """Filled in the same when shards are lost, and when the past is forgotten; and a tenth of gaps changes little."""
    holes = [part.copy() for part in parts]
    for part in holes:
        part[::20, 0] = part[10::20, 1] = np.nan
    settings = SETTINGS | {"init": "ibhc"}
    wanted = sample(model, holes, **settings)
    assert abs(wanted.n_clusters.mean() - 14) < 4
    monkeypatch.setattr(sampler, "_REMEMBERED", 20)

    assert_same(wanted, sample(model, holes, **settings, callbacks=[lose]))
    assert wanted.log_density(np.array([[0.1, np.nan], [np.nan, np.nan]]))[1] == pytest.approx(0.0, abs=1e-9)
    forest = ibhc(model, holes, seed=0)
    assert forest.log_joint <= forest.log_bound < wanted.log_joint.mean() + 100
    with pytest.raises(
        hr.ParameterError, match=r"shards\[0\] \(array\): .*X must have no missing entries in correlated columns at a power"
    ):
        sample(hr.Mixture(model.prior, model.likelihood, power=0.5), holes, **settings)


@pytest.mark.parametrize("odd", [0, 1], ids=["even", "odd"])
def test_the_same_when_a_shard_is_lost_before_every_second_command(model, parts, here, monkeypatch, odd) -> None:
    """In the middle of an iteration, with numbers of clusters and sides of proposals on their way."""
    from hedgerow.distributed import working_shard

    monkeypatch.setattr(sampler, "_REMEMBERED", 20)
    ask, asked = workers.Workers.ask, []

    def ask_the_rest(self: Any, commands: Any) -> Any:
        asked.append(commands)
        if len(asked) % 2 == odd:
            working_shard._shelf.pop((self.run, len(asked) // 2 % 5), None)
        return ask(self, commands)

    monkeypatch.setattr(workers.Workers, "ask", ask_the_rest)
    assert_same(here, sample(model, parts, **SETTINGS))
    assert len(asked) > 80


def test_cuts_change_no_random_number(model, X) -> None:
    """One row's uniforms are those of its global number: sweeps of well-separated data agree however the rows are cut."""
    settings = SETTINGS | {"kernel": Conditional(scouts=1300, pairs=0, visits=0), "init": "scouts", "draws": 3, "warmup": 0}
    one, many = sample(model, [X], **settings), sample(model, np.split(X, [100, 600]), **settings)
    np.testing.assert_array_equal(one.labels(0), many.labels(0))


def test_labels_in_a_folder(model, parts, here, tmp_path) -> None:
    post = sample(model, parts, **SETTINGS, folder=tmp_path / "run")
    assert_same(here, post)
    assert isinstance(post.kept, FolderLabels)
    with pytest.raises(hr.ParameterError, match="folder must be new or empty"):
        sample(model, parts, **SETTINGS, folder=tmp_path / "run")


def test_labels_kept_or_not(model, parts) -> None:
    settings = SETTINGS | {"draws": 2, "warmup": 0}
    last = sample(model, parts, **(settings | {"labels": "last"}))
    assert len(last.labels()) == 1300
    with pytest.raises(hr.ParameterError, match="labels='all'"):
        last.labels(0)
    with pytest.raises(hr.ParameterError, match="labels='all'"):
        sample(model, parts, **(settings | {"labels": "none"})).labels()
    with pytest.raises(hr.ParameterError, match="draw must be a draw, 0 to 1"):
        last.labels(2)


def test_stopped_by_a_callback(model, parts) -> None:
    post = sample(model, parts, **SETTINGS, callbacks=[lambda update: update.done == 11])
    assert (post.draws, post.run["interrupted"]) == (3, True)
    with pytest.raises(hr.ParameterError, match="stopped in iteration 2 of 20, before the first draw"):
        sample(model, parts, **SETTINGS, callbacks=[lambda update: update.done == 2])


def test_several_chains(model, parts, here) -> None:
    both = sample(model, parts, **SETTINGS, chains=2)
    assert both.log_joint.shape == (2, 12)
    np.testing.assert_array_equal(both.log_joint[0], here.log_joint[0])
    np.testing.assert_array_equal(both.labels(3, 0), here.labels(3))
    assert not np.array_equal(both.log_joint[0], both.log_joint[1])
    assert model.log_joint(np.concatenate(parts), both.labels(-1, 1), u=np.exp(both.log_u[1, -1]), alpha=both.alpha[1, -1]) == (
        pytest.approx(both.log_joint[1, -1], abs=1e-6)
    )
    short = sample(model, parts, **SETTINGS, chains=3, callbacks=[lambda update: update.chain == 2 and update.done == 11])
    assert (short.chains, short.draws, short.run["interrupted"]) == (2, 12, True)


def test_ctrl_c_keeps_the_draws(model, parts) -> None:
    def interrupt(update: Any) -> None:
        if update.done == 12:
            raise KeyboardInterrupt

    post = sample(model, parts, **(SETTINGS | {"labels": "last"}), callbacks=[interrupt])
    assert (post.draws, post.run["interrupted"], list(post.kept.positions)) == (4, True, [])


def test_counts_from_sparse_files(tmp_path) -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.repeat([[5.0, 0.2, 0.2], [0.2, 5.0, 2.0]], 60, axis=0))
    for i, part in enumerate(np.split(counts, 3)):
        sparse.save_npz(tmp_path / f"{i}.npz", sparse.csr_array(part))
    model = hr.Mixture(hr.DP(1.0), hr.Multinomial(0.5))
    post = sample(model, [tmp_path / f"{i}.npz" for i in range(3)], draws=20, warmup=10, seed=0)
    assert 2 <= np.median(post.n_clusters) <= 5
    wanted = model.log_joint(counts, post.labels())
    assert post.log_joint[0, -1] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shards": []}, "shards must have at least one shard"),
        ({"shards": "folder/*.npy"}, "shards must be a folder with files, or a pattern"),
        ({"shards": ["a.csv"]}, r"shards\[0\] \(a\.csv\): a\.csv: must name an existing file"),
        ({"shards": [3]}, r"shards\[0\] must be a function without arguments"),
        ({"shards": [np.zeros((4, 2)), np.zeros((4, 3))]}, r"shards\[1\] .*X must have 2 columns"),
        ({"shards": [np.zeros((0, 2))]}, "shards must have a row"),
        ({"kernel": hr.Gibbs()}, r"kernel must be a distributed\.Conditional"),
        ({"init": "two"}, "init must be 'ibhc', 'scouts', 'one', or labels for every shard"),
        ({"init": [np.zeros(3, int)]}, "init must be 'ibhc', 'scouts', 'one', or a list of labels for each of the 5 shards"),
        ({"init": [np.zeros(3, int)] * 5}, r"init\[0\] must hold one whole number for each of the 300 rows"),
        ({"draws": 0}, "draws must be a whole number from 1 up"),
        ({"seed": -1}, "seed must be a whole number from 0 up"),
        ({"labels": True}, "labels must be one of 'last', 'all', 'none'"),
        ({"client": 3}, r"client must be a distributed\.Client, or None for this process"),
        ({"callbacks": 3}, "callbacks must be a list of functions"),
    ],
)
def test_refused(model, parts, change, words) -> None:
    if "client" in change:
        pytest.importorskip("distributed")
        parts = [lambda part=part: part for part in parts]
    arguments = {"shards": parts} | SETTINGS | change
    with pytest.raises(hr.ParameterError, match=words):
        sample(model, **arguments)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scouts": 1}, "scouts must be a whole number from 2 up"),
        ({"pairs": -1}, "pairs must be a whole number from 0 up"),
        ({"visits": 2.5}, "visits must be a whole number from 0 up"),
        ({"even_share": 1.2}, r"even_share must lie in \[0, 1\]"),
    ],
)
def test_options_refused(options, words) -> None:
    with pytest.raises(hr.ParameterError, match=words):
        Conditional(**options)


def test_columns_that_differ_before_the_model_is_resolved() -> None:
    free = hr.Mixture(hr.DP(), hr.GaussianWishart())
    with pytest.raises(hr.ParameterError, match=r"shards must have the same columns\. Got .*2 \(shard 0\).*"):
        sample(free, [np.zeros((4, 2)), np.zeros((4, 3))], **SETTINGS)


def test_models_that_cannot_be_cut() -> None:
    shards = [np.zeros((4, 1))]
    mixed = hr.Mixture(hr.MixedNRM(hr.NGG(), basis=[0, 1], decay=0.5), hr.GaussianWishart())
    own = hr.Mixture(hr.DP(), hr.Custom(lambda X: X, lambda S: S[:, 0]))
    for call in (sample, ibhc):
        with pytest.raises(hr.ParameterError, match="MixedNRM priors are for data that fit in one memory"):
            call(mixed, shards)
        with pytest.raises(hr.ParameterError, match="a likelihood whose parameters can be drawn; Custom is not one"):
            call(own, shards)
        with pytest.raises(hr.ParameterError, match="model must be a Mixture"):
            call(hr.DP(), shards)


def test_files_that_are_not_arrays(model, tmp_path) -> None:
    (tmp_path / "a.npy").write_bytes(b"nothing of the kind")
    with pytest.raises(hr.ParameterError, match="the file must hold one array of numbers"):
        sample(model, [tmp_path / "a.npy"], **SETTINGS)
    np.savez(tmp_path / "b.npz", a=np.zeros(3), b=np.zeros(3))
    with pytest.raises(hr.ParameterError, match="must have the array 'X', or only one"):
        sample(model, [tmp_path / "b.npz"], **SETTINGS)
    with pytest.raises(ZeroDivisionError) as caught:
        sample(model, [lambda: 1 // 0], **SETTINGS)
    assert "While loading shard 0 (<lambda>)" in caught.value.__notes__[0]


def test_dask_is_not_imported_with_the_package() -> None:
    script = "import sys, hedgerow, hedgerow.distributed; assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


# ------------------------------------------------------------------------------------------------ trees


@pytest.mark.parametrize("prior", [hr.DP(0.8), hr.NGG(0.7, 0.3, 1.5), hr.Stable(1.3, 0.45)], ids=["DP", "NGG", "Stable"])
@pytest.mark.parametrize("cuts", [[], [3], [1, 2, 4], [1, 2, 3, 4, 5]], ids=str)
def test_the_bound_is_below_the_evidence(prior, cuts) -> None:
    X = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [1.0, 0.5], [1.6, 0.1]])
    model = hr.Mixture(prior, hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2)))
    from hedgerow.testing import exact_posterior

    for seed in range(8):
        order = np.random.default_rng(seed).permutation(6)
        found = ibhc(model, np.split(X[order], cuts), seed=seed)
        found.forest.validate()
        u = None if prior.u_integrates else float(np.exp(found.forest.values["log_u"]))
        exact = exact_posterior(model, X, u=u)
        assert found.log_joint <= found.log_bound <= exact.log_evidence + 1e-9
        assert model.log_joint(X[order], found.labels, u=u) == pytest.approx(found.log_joint, abs=1e-9)
        assert found.log_bound > exact.log_evidence - 3.0


def test_one_shard_is_the_tree_of_the_shard(model, X) -> None:
    alone = ibhc(model, [X], seed=3, passes=1, u=20.0)
    assert alone.forest.n == alone.n_clusters == alone.shard_roots[0]
    cut = ibhc(model, np.array_split(X, 6), seed=3, passes=2, u=20.0)
    assert cut.n_clusters == alone.n_clusters == 13
    assert cut.log_bound == pytest.approx(alone.log_bound, abs=30)
    assert "1,300 rows in 6 shards, 13 clusters" in repr(cut)
    with pytest.raises(hr.ParameterError, match="grow the trees with labels=True"):
        _ = ibhc(model, [X], seed=3, passes=1, labels=False).labels


def test_trees_refused(model, X) -> None:
    for change, words in (
        ({"passes": 0}, "passes must be a whole number from 1 up"),
        ({"repair": "no"}, "repair must be one of 'reinsert', 'bhc'"),
        ({"u": -1.0}, "u must be a finite number above 0"),
        ({"seed": 1.5}, "seed must be a whole number from 0 up"),
    ):
        with pytest.raises(hr.ParameterError, match=words):
            ibhc(model, [X], **change)


# ------------------------------------------------------------------------------------------------ Dask


@needs_dask
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_same_draws_from_any_number_of_workers(model, X, paths, here, workers) -> None:
    with cluster(workers) as made, connect(made) as client:
        assert_same(here, sample(model, paths, **SETTINGS, client=client))
        if workers == 2:
            import dask.array

            blocks = dask.array.from_array(X, chunks=((300, 10, 590, 200, 200), (1, 1)))
            assert_same(here, sample(model, blocks, **SETTINGS, client=client))
            assert_same(here, sample(model, blocks, **SETTINGS))
            there, home = ibhc(model, paths, seed=1, client=client), ibhc(model, paths, seed=1)
            assert there.log_bound == home.log_bound
            np.testing.assert_array_equal(there.labels, home.labels)
            left = client.run(lambda: len(__import__("hedgerow.distributed.working_shard", fromlist=["_shelf"])._shelf))
            assert set(left.values()) == {0}


@needs_dask
def test_a_worker_killed_mid_run(model, paths, here) -> None:
    with cluster(2) as made, connect(made) as client:
        pids = list(client.run(os.getpid).values())
        killed: list[int] = []

        def kill(update: Any) -> None:
            if update.done == 9:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        assert_same(here, sample(model, paths, **SETTINGS, client=client, callbacks=[kill]))
    assert killed


@needs_dask
def test_what_a_worker_refuses_comes_out_as_it_is(model, tmp_path) -> None:
    np.save(tmp_path / "0.npy", np.zeros((5, 2)))
    np.save(tmp_path / "1.npy", np.array([[0.0, 1.0], [0.0, np.inf]]))
    with cluster(1) as made, connect(made) as client:
        with pytest.raises(hr.ParameterError, match=r"shards\[1\] \(.*1\.npy\): .*must be finite"):
            sample(model, [tmp_path / "0.npy", tmp_path / "1.npy"], **SETTINGS, client=client)
        with pytest.raises(hr.ParameterError, match=r"shards\[0\] must be a function or a path on a cluster"):
            sample(model, [np.zeros((5, 2))], **SETTINGS, client=client)
