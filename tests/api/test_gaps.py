"""Full Gaussian clusters with missing entries wherever rows go: files, resumed runs, trees, streams, predictions, base measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import hedgerow as hr
from hedgerow.kernels import KERNELS
from hedgerow.sampling import Chain
from hedgerow.trees import TreeStream

NAN = float("nan")


def blobs(share: float = 0.1, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Two blobs along a line, and the same with entries missing."""
    rng = np.random.default_rng(0)
    whole = rng.standard_normal((n, 3)) + 8.0 * (np.arange(n) % 2)[:, None]
    gaps = np.where(rng.random(whole.shape) < share, NAN, whole)
    return whole, gaps


WHOLE, ROWS = blobs()
MODEL = hr.Mixture(hr.DP(1.0), hr.GaussianWishart().resolve(ROWS))
TRUTH = np.arange(60) % 2


def same(labels: np.ndarray) -> bool:
    return adjusted_rand_score(labels, TRUTH) > 0.9


@pytest.mark.parametrize("kernel", [kind.examples()[0] for kind in KERNELS], ids=lambda kernel: type(kernel).__name__)
def test_a_restored_chain_is_the_same_chain(kernel: hr.Kernel) -> None:
    def chain(seed: int) -> Chain:
        return Chain(MODEL, ROWS, kernel, labels=np.zeros(60, np.int32), seed=seed, sequence=0)

    first, second = chain(1), chain(2)
    first.warm_up(4, 0, 4)
    first.run(3)
    second.restore(first.state())
    one, two = first.run(5), second.run(5)
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.log_joint, two.log_joint)


def test_a_run_in_a_folder_is_resumed_and_a_file_predicts_alike(tmp_path: Path) -> None:
    options = {"warmup": 10, "chains": 2, "seed": 3, "progress": False}
    whole = hr.sample(MODEL, ROWS, draws=30, **options)
    hr.sample(MODEL, ROWS, draws=12, checkpoint=hr.Checkpoint(tmp_path / "run", every=0.0), **options)
    longer = hr.resume(tmp_path / "run", draws=30, progress=False)
    np.testing.assert_array_equal(longer.labels, whole.labels)
    np.testing.assert_array_equal(longer.log_joint, whole.log_joint)
    np.testing.assert_array_equal(np.isnan(longer.X), np.isnan(ROWS))
    whole.save(tmp_path / "post.npz")
    np.testing.assert_array_equal(hr.load(tmp_path / "post.npz").log_density(ROWS[:5]), whole.log_density(ROWS[:5]))
    assert same(whole.point_estimate().labels)


def test_rows_without_gaps_are_not_touched() -> None:
    """One object shared by all chains as before, and the same draws whether gaps are allowed for or not."""
    bound = MODEL.bind(WHOLE)
    assert bound.n_imputed == 0
    assert MODEL.bind(ROWS).n_imputed == np.isnan(ROWS).any(axis=1).sum()


def test_trees_streams_and_their_files(tmp_path: Path) -> None:
    for forest in (hr.bhc(MODEL, ROWS, seed=0), hr.ibhc(MODEL, ROWS, seed=0), hr.ibhc(MODEL, ROWS, seed=0, balance=False)):
        forest.validate()
        assert same(forest.labels)
        assert forest.log_bound >= forest.log_joint - 1e-9
    stream = TreeStream(MODEL, seed=1)
    stream.add(ROWS[:40])
    stream.save(tmp_path / "stream.npz")
    again = TreeStream.load(tmp_path / "stream.npz")
    for one in (stream, again):
        one.add(ROWS[40:])
    np.testing.assert_array_equal(stream.labels, again.labels)
    assert stream.log_joint == again.log_joint
    assert same(stream.labels)


def test_the_log_joint_of_trees_is_on_the_scale_of_the_entries_that_are_there() -> None:
    """Off by what one draw of each filling tells: entries that nothing tells anything about change it by nothing."""
    rows = np.vstack([WHOLE[:, :1].T, np.full((1, 60), NAN)]).T
    law = MODEL.likelihood.for_columns([0, 1])
    alone = hr.ibhc(hr.Mixture(hr.DP(1.0), law.for_columns([0])), rows[:, :1], seed=0)
    both = [hr.ibhc(hr.Mixture(hr.DP(1.0), law), rows, seed=seed).log_joint for seed in range(20)]
    assert abs(np.mean(both) - alone.log_joint) < 3.0
    assert np.std(both) < 6.0


def test_predictions_use_what_is_there() -> None:
    post = hr.sample(MODEL, ROWS, draws=60, warmup=30, chains=1, seed=0, progress=False)
    new = np.array([[0.0, NAN, 0.0], [NAN, NAN, 8.0], [NAN, NAN, NAN]])
    labels = post.point_estimate().labels
    found = post.predict(new[:2])
    assert found[0] == labels[0]
    assert found[1] == labels[1]
    density = post.log_density(new)
    assert density[2] == pytest.approx(0.0, abs=1e-12)
    law = hr.Mixture(hr.DP(1.0), MODEL.likelihood.for_columns([2]))
    traces = {name: getattr(post, name) for name in ("log_u", "alpha", "sigma", "tau")}
    one = hr.Posterior(labels=post.labels, log_joint=post.log_joint, X=ROWS[:, 2:], model=law, **traces)
    whole = ~np.isnan(ROWS).any(axis=1)
    assert whole.sum() > 30
    assert density[1] == pytest.approx(one.log_density(new[1:2, 2:])[0], abs=0.1)  # the fillings carry what other columns tell


def test_rows_left_out_are_judged_by_what_is_there() -> None:
    rows = ROWS.copy()
    rows[5] = [40.0, NAN, NAN]
    post = hr.sample(MODEL, rows, draws=20, warmup=20, chains=1, seed=0, progress=False)
    assert np.argmax(post.outlier_scores()) == 5


def test_products_and_what_has_no_formula() -> None:
    table = np.column_stack([ROWS, TRUTH])
    product = hr.Product({(0, 1, 2): MODEL.likelihood, (3,): hr.Bernoulli()})
    post = hr.sample(hr.Mixture(hr.DP(1.0), product), table, draws=20, warmup=20, chains=1, seed=0, progress=False)
    assert same(post.point_estimate().labels)
    with pytest.raises(hr.ParameterError, match="X must have no missing entries"):
        MODEL.likelihood.log_marginal(ROWS)
    with pytest.raises(hr.ParameterError, match="X must have no missing entries"):
        MODEL.log_joint(ROWS, TRUTH)


@pytest.mark.parametrize("empty", ["row", "column", "both"])
def test_a_row_or_column_of_gaps(empty: str) -> None:
    rows = ROWS.copy()
    if empty != "column":
        rows[7] = NAN
    if empty != "row":
        rows[:, 1] = NAN
    for likelihood in (hr.GaussianWishart.nips2015(), hr.GaussianWishart()):
        post = hr.sample(hr.Mixture(hr.DP(1.0), likelihood), rows, draws=10, warmup=20, chains=1, seed=0, progress=False)
        assert np.isfinite(post.log_joint).all()
    assert same(post.point_estimate().labels) or empty != "column"


def test_a_base_measure_is_found_as_without_gaps() -> None:
    """All base measures are tried on the same fillings: otherwise narrow ones, under which they are close to each other, would win."""
    whole, gaps = (hr.GaussianWishart().resolve(rows) for rows in (WHOLE, ROWS))
    assert isinstance(whole, hr.GaussianWishart)
    assert isinstance(gaps, hr.GaussianWishart)
    ratio = np.diag(gaps.psi) / (gaps.nu - 4) / (np.diag(whole.psi) / (whole.nu - 4))
    assert (ratio > 1 / 3).all()
    assert (ratio < 3).all()


def test_parameters_given_rows_with_gaps() -> None:
    """A density under drawn parameters is that of the entries that are there."""
    rng = np.random.default_rng(1)
    law = MODEL.likelihood
    theta = law.sample_posterior(ROWS[:20], rng)
    one = law.log_density(theta, np.array([[1.0, NAN, NAN], [NAN, NAN, NAN]]))
    variance = np.linalg.inv(theta.precision)[0, 0]
    wanted = -0.5 * np.log(2 * np.pi * variance) - 0.5 * (1.0 - theta.mean[0]) ** 2 / variance
    np.testing.assert_allclose(one, [wanted, 0.0], atol=1e-9)
