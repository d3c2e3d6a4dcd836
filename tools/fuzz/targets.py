"""Targets: every reader of files or lines, with small real inputs to start from and a use of what was read.

Whatever comes out of a reader is used as its owner would use it: a file that is believed and then crashes the core is a
finding too.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mutate
import numpy as np
from scipy import io as scipy_io
from scipy import sparse

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.cli.model import choose_model
from hedgerow.cli.reading import add_data_arguments, read_source
from hedgerow.cli.run_folder import CHECKPOINT, RunFolder
from hedgerow.data.container import read_container
from hedgerow.sampling import Checkpoint
from hedgerow.sampling.checkpoint import continue_folder
from hedgerow.sampling.manifest import sha256_of
from hedgerow.trees import TreeStream

RNG = np.random.default_rng(0)
X = RNG.normal(0, 1, (24, 2)) + 5 * RNG.integers(0, 3, (24, 1))
COUNTS = RNG.poisson(0.7, (20, 6))
COUNTS[:, 0] += 1
FEW = np.zeros((126, 300), int)  # few words of many; two rows more and a stream revises all of them
FEW[np.arange(126)[:, None], 40 * (np.arange(126)[:, None] % 3) + RNG.integers(0, 40, (126, 4))] = 1
GAUSS = hr.Mixture(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 3), 1.0), hr.GaussianWishart())
WORDS = hr.Mixture(hr.DP(1.0), hr.Multinomial(0.5))
MIXED = hr.Mixture(
    hr.PitmanYor(hr.Gamma(1, 1), 0.2),
    hr.Product({(0,): hr.Poisson(), (1, 2): hr.Categorical(), (3, 4): hr.GaussianDiagonal(), (5,): hr.Bernoulli()}),
)
PARTS = np.column_stack([RNG.poisson(3, 20), RNG.integers(0, 3, (20, 2)), RNG.normal(0, 1, (20, 2)), RNG.integers(0, 2, 20)]).astype(
    float
)
TIMED = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 0.1), basis=[1, 2], decay=0.3), hr.GaussianDiagonal())
NOTE = {"title": "t", "loss": "vi", "columns": ["a"], "rows": ["1", "2"]}
SHORT: dict[str, Any] = {"draws": 3, "warmup": 3, "chains": 2, "seed": 0, "progress": False}


@dataclass(frozen=True)
class Target:
    """`seeds` makes real files in a folder, `mutation` changes one of them, `use` reads what came of it."""

    seeds: Callable[[Path], None]
    mutation: str
    use: Callable[[Path], None]
    folder: bool = False


def _posteriors(place: Path) -> None:
    for name, model, data, times in (
        ("gauss", GAUSS, X, None),
        ("words", WORDS, sparse.csr_array(COUNTS), None),
        ("mixed", MIXED, PARTS, None),
        ("timed", TIMED, X, np.repeat([1.0, 2.0], 12)),
    ):
        hr.sample(model, data, times=times, **SHORT).save(place / f"{name}.hedge")


def _sharded(place: Path) -> None:
    for name, model, data in (("gauss", GAUSS, X), ("words", WORDS, sparse.csr_array(COUNTS)), ("mixed", MIXED, PARTS)):
        hr.distributed.sample(model, [data[:7], data[7:]], draws=3, warmup=2, seed=0).save(place / f"{name}.hedge")


def _use_sharded(path: Path) -> None:
    post = hr.distributed.DistributedPosterior.load(path)
    post.point_estimate()
    post.uncertainty()
    post.summary()
    if post.model is not None:
        new = {2: X, 6: COUNTS}.get(post.model.likelihood.n_columns or 0, PARTS)
        post.predict(new[:2])


def _use_posterior(path: Path) -> None:
    post = hr.Posterior.load(path)
    post.point_estimate()
    post.similarity()
    post.summary()
    if post.model is not None:
        times = None if post.times is None else post.times[:2]
        post.predict(post.X[:2], times=times)


def _forests(place: Path) -> None:
    hr.bhc(GAUSS, X).save(place / "greedy.hedge")
    hr.ibhc(WORDS, COUNTS, seed=0).save(place / "words.hedge")


def _use_forest(path: Path) -> None:
    forest = hr.Forest.load(path)
    forest.to_linkage()
    forest.to_newick()
    forest.cut(0.9)
    for root in forest.roots.tolist():
        forest.rows(root)


def _streams(place: Path) -> None:
    for name, model, data, times in (
        ("gauss", GAUSS, X, None),
        ("words", WORDS, COUNTS, None),
        ("mixed", MIXED, PARTS, None),
        ("timed", TIMED, X, np.repeat([1.0, 2.0], 12)),
    ):
        stream = TreeStream(model, seed=0, remember=name != "words")
        stream.add(data[:20], None if times is None else times[:20])
        stream.save(place / f"{name}.hedge", note={"lines": 20})
    for name, model, data in (("few", WORDS, FEW), ("parts", MIXED, np.resize(PARTS, (126, PARTS.shape[1])))):
        stream = TreeStream(model, seed=0)
        stream.add(data)
        stream.save(place / f"{name}.hedge")
    folded = TreeStream(hr.Mixture(hr.DP(1.0), hr.GaussianDiagonal()), max_nodes=1000, seed=0)
    for _ in range(4):
        folded.add(RNG.normal(0, 0.1, (300, 1)))
    folded.save(place / "folded.hedge")


def _use_stream(path: Path) -> None:
    stream = TreeStream.load(path)
    _go_on(stream)


def _go_on(stream: TreeStream) -> None:
    rows = stream._rows.take(2) if stream.n_seen else X[:2]
    times = None if stream._times.names is None else np.resize(stream._times.names, 2)
    if stream.n_seen:
        stream.predict_log_weights(rows, times)
    for _ in range(3):
        stream.add(rows, times)
    assert len(stream.events) == stream.n_events
    if stream.remembers:
        assert len(stream.labels) == stream.n_seen
    stream.to_forest()


def _incrementals(place: Path) -> None:
    hr.IncrementalBHC(random_state=0).fit(X).save(place / "one.hedge")
    online = hr.IncrementalBHC(prior=hr.DP(2.0), likelihood=hr.Multinomial(0.5), remember=False, random_state=0)
    online.fit(COUNTS).partial_fit(COUNTS).save(place / "two.hedge")
    hr.IncrementalBHC(prior=hr.DP(2.0), likelihood=hr.Multinomial(0.5), random_state=0).fit(FEW).save(place / "few.hedge")


def _use_incremental(path: Path) -> None:
    online = hr.IncrementalBHC.load(path)
    assert len(online.labels_) > 0 or not online.remember
    assert all(event.cluster >= 0 for event in online.events_)
    rows = online.stream_._rows.take(2)
    online.predict(rows)
    online.partial_fit(rows)
    assert online.labels_.min() >= 0


# ---- runs: a whole folder, of which one file is changed and the checksums made to fit


def _runs(place: Path) -> None:
    for name, model, data, kernel in (
        ("gauss", GAUSS, X, hr.TreeGuided(global_moves=2)),
        ("words", WORDS, sparse.csr_array(COUNTS), hr.Gibbs()),
        ("mixed", MIXED, PARTS, hr.cycle(hr.TreeGuidedPublished(G=1), hr.SplitMerge(scans=1))),
        ("subset", GAUSS, X, hr.mix(hr.Gibbs(subset=5), hr.TreeGuided(global_moves=1))),
    ):
        hr.sample(model, data, kernel=kernel, **SHORT, checkpoint=Checkpoint(place / name / CHECKPOINT, every=0, note=NOTE))


def change_run(folder: Path, chance: random.Random) -> None:
    """Change one file of a run; mostly the manifest then vouches for it."""
    place = folder / CHECKPOINT
    for lock in place.glob("lock"):
        lock.unlink()
    path = chance.choice(sorted(path for path in place.iterdir() if path.suffix == ".hedge"))
    path.write_bytes(mutate.container(path.read_bytes(), chance))
    if path.name.startswith("manifest") or chance.random() < 0.1:
        return
    for manifest in place.glob("manifest-*.hedge"):
        parts = mutate.members(manifest.read_bytes())
        header = json.loads(parts["header.json"])
        _vouch(header["content"], path.name, sha256_of(path))
        parts["header.json"] = json.dumps(header).encode()
        manifest.write_bytes(mutate.pack(parts))


def _vouch(node: Any, name: str, digest: str) -> None:
    if isinstance(node, list) and len(node) == 3 and node[0] == name:
        node[1] = digest
    for inside in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _vouch(inside, name, digest)


def _use_run(folder: Path) -> None:
    """As `resume` does, but for one iteration a chain: a plan may rightly ask for a year."""
    RunFolder(folder).notes()
    RunFolder(folder).unfinished()
    plan, begins, recorder = continue_folder(Checkpoint(folder / CHECKPOINT), None, None, None)
    with recorder:
        if recorder.filled().max() > 0:
            recorder.arrays()
        bound = plan.bind()
        for index, begin in enumerate(begins):
            chain = plan.open(index, bound, begin.state)
            if chain.warming:
                chain.warm_up(1, 0, 2)
            chain.run(1)


# ---- tables of the command line


def _read_table(path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_data_arguments(parser)
    source = read_source(str(path), parser.parse_args([]))
    if source.X.shape[0] * source.X.shape[1] < 5000:
        with contextlib.redirect_stdout(io.StringIO()):
            model = choose_model(source, None, None)
        model = model.resolve(source.X)
        model.likelihood.bind(model.likelihood.check(source.X))


TABLE = (
    "name,height,colour,smoker,visits\n"
    + "".join(f"p{i},{160 + i}.{i},{'red' if i % 3 else 'blue'},{i % 2 == 0},{i % 5}\n" for i in range(12))
    + "p,,NA,,\n"
)


def _csvs(place: Path) -> None:
    (place / "a.csv").write_text(TABLE)
    (place / "b.tsv").write_text("\n".join("\t".join(map(str, row)) for row in X.round(3).tolist()))
    (place / "c.txt").write_text(TABLE.replace(",", ";"))


def _gzips(place: Path) -> None:
    (place / "d.csv.gz").write_bytes(gzip.compress(TABLE.encode(), mtime=0))


def _npys(place: Path) -> None:
    np.save(place / "a.npy", X)
    np.save(place / "b.npy", COUNTS)


def _npzs(place: Path) -> None:
    np.savez(place / "a.npz", X=X, y=COUNTS)
    np.savez(place / "b.npz", only=COUNTS)
    sparse.save_npz(place / "c.npz", sparse.csr_matrix(COUNTS), compressed=False)
    sparse.save_npz(place / "d.npz", sparse.coo_matrix(COUNTS), compressed=False)
    sparse.save_npz(place / "e.npz", sparse.dia_matrix(np.eye(5)), compressed=False)
    sparse.save_npz(place / "f.npz", sparse.bsr_matrix(np.eye(4), blocksize=(2, 2)), compressed=False)


def _mtxs(place: Path) -> None:
    scipy_io.mmwrite(place / "a.mtx", sparse.coo_matrix(COUNTS))
    scipy_io.mmwrite(place / "b.mtx", X)


def _parquets(place: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table(
        {"a": X[:, 0], "b": [f"n{i % 3}" for i in range(24)], "c": [i % 2 == 0 for i in range(24)], "d": list(range(24))}
    )
    parquet.write_table(table, place / "a.parquet")
    parquet.write_table(table, place / "b.parquet", compression="gzip", use_dictionary=False)


def _jsonls(place: Path) -> None:
    rows = [json.dumps({"id": i, "t": round(float(a), 2), "h": round(float(b), 2)}) for i, (a, b) in enumerate(X)]
    (place / "a.jsonl").write_text("\n".join(rows) + "\n")
    (place / "b.jsonl").write_text("\n".join(json.dumps(row) for row in X.round(2).tolist()) + "\n")


def _use_jsonl(path: Path) -> None:
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(path.read_bytes()), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    try:
        state = path.with_suffix(".state")
        for file in path.parent.glob(f"{state.name}*"):
            file.unlink()
        code = main(["stream", "--first", "8", "--batch", "4", "--whole-batches", "--id", "id", "--state", str(state)])
        sys.stdout.flush()
        for line in sys.stdout.buffer.getvalue().decode().splitlines():  # type: ignore[attr-defined]
            json.loads(line)
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    assert code in (0, 2), code


def _containers(place: Path) -> None:
    _forests(place)


TARGETS: dict[str, Target] = {
    "container": Target(_containers, "container", lambda path: str(read_container(path)) and None),
    "posterior": Target(_posteriors, "container", _use_posterior),
    "sharded": Target(_sharded, "container", _use_sharded),
    "forest": Target(_forests, "container", _use_forest),
    "stream": Target(_streams, "container", _use_stream),
    "incremental": Target(_incrementals, "container", _use_incremental),
    "run": Target(_runs, "container", _use_run, folder=True),
    "csv": Target(_csvs, "text", _read_table),
    "gzip": Target(_gzips, "raw", _read_table),
    "npy": Target(_npys, "npy", _read_table),
    "npz": Target(_npzs, "npz", _read_table),
    "mtx": Target(_mtxs, "text", _read_table),
    "parquet": Target(_parquets, "raw", _read_table),
    "jsonl": Target(_jsonls, "text", _use_jsonl),
}


def cases(name: str, seeds: Path, work: Path) -> Iterator[Callable[[random.Random], Path]]:
    """One maker of a changed file (or folder) after the other, over all seeds in turn for ever."""
    target = TARGETS[name]
    places = sorted(seeds.iterdir())
    while True:
        for place in places:

            def make(chance: random.Random, place: Path = place) -> Path:
                out = work / place.name
                if target.folder:
                    shutil.rmtree(out, ignore_errors=True)
                    shutil.copytree(place, out)
                    change_run(out, chance)
                else:
                    out.write_bytes(mutate.MUTATIONS[target.mutation](place.read_bytes(), chance))
                return out

            yield make
