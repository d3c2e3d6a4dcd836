# Made by tools/stubs.py from the compiled module; do not edit.
"""Hedgerow's compiled core."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy
from numpy.typing import NDArray


class Likelihood:
    """A conjugate family bound to its data."""

    n_rows: Final[int]
    power: Final[float]
    serial: Final[bool]

    @property
    def n_imputed(self) -> int:
        """Rows with missing entries that are filled in."""

    def fill(self, fillings: NDArray[numpy.float64]) -> None:
        """Fills missing entries in, row by row."""

    def log_single(self) -> NDArray[numpy.float64]:
        """log p(x) of every row alone."""

    def log_marginals(self, labels: NDArray[numpy.int32]) -> NDArray[numpy.float64]:
        """log p(X_c) for every cluster c = 0..max(labels)."""

def predictive_loop(likelihood: Likelihood, labels: NDArray[numpy.int32], repeats: int) -> float:
    """Scores every row against all clusters, for benchmarks."""

def GaussianWishart(X: NDArray[numpy.float64], mean: NDArray[numpy.float64], r: float, nu: float, psi: NDArray[numpy.float64], power: float = 1.0) -> Likelihood: ...

def GaussianDiagonal(X: NDArray[numpy.float64], mean: NDArray[numpy.float64], r: NDArray[numpy.float64], a: NDArray[numpy.float64], b: NDArray[numpy.float64], power: float = 1.0) -> Likelihood: ...

def Multinomial(indptr: NDArray[numpy.int64], indices: NDArray[numpy.int32], counts: NDArray[numpy.float64], n_columns: int, beta: float, power: float = 1.0) -> Likelihood: ...

def Categorical(codes: NDArray[numpy.int32], levels: NDArray[numpy.int32], beta: NDArray[numpy.float64], power: float = 1.0) -> Likelihood: ...

def Poisson(X: NDArray[numpy.float64], a: NDArray[numpy.float64], b: NDArray[numpy.float64], power: float = 1.0) -> Likelihood: ...

def Product(parts: Sequence[Likelihood]) -> Likelihood: ...

def RowFactors(logs: NDArray[numpy.float64], power: float = 1.0) -> Likelihood:
    """A fixed factor for the density of every row, by its log."""

def Custom(stats: NDArray[numpy.float64], address: int, power: float = 1.0) -> Likelihood: ...

def CustomCallable(stats: NDArray[numpy.float64], callable: Callable[..., Any], power: float = 1.0) -> Likelihood: ...

class Prior:
    """Start values and laws of a prior."""

    def __init__(self, kind: str, values: dict[str, Any], laws: dict[str, Any], q: NDArray[numpy.float64] | None = None) -> None: ...

    groups: Final[int]
    bases: Final[int]

class Measure:
    """
    A plain normalized random measure with u and its hyper-parameters as state.
    """

    def __init__(self, prior: Prior, n: int) -> None: ...

    def log_kappa(self, sizes: NDArray[numpy.int64]) -> NDArray[numpy.float64]:
        """log of the prior weight of clusters of these sizes."""

    def log_partition(self, sizes: NDArray[numpy.int64]) -> float: ...

    def log_front(self) -> float: ...

    def log_weights(self, sizes: NDArray[numpy.int64], seed: int) -> tuple[Any, ...]:
        """
        Draws of the log weights of occupied atoms given u, and the log weight of a new cluster.
        """

    def update(self, sizes: NDArray[numpy.int64], seed: int, u: bool = True, hyper: bool = True) -> None: ...

    def first_guess(self, seed: int) -> None:
        """A first u, before there are clusters."""

    def state(self) -> dict[str, Any]: ...

    def set_state(self, measure: dict[str, Any]) -> None: ...

class Kernel:
    """A recipe for a kernel; every chain makes its own."""

    name: Final[str]

def gibbs(subset: int = 0, explicit_bases: bool = False) -> Kernel: ...

def split_merge(scans: int, subset: int = 0) -> Kernel: ...

def cycle(parts: Sequence[Kernel]) -> Kernel: ...

def mix(parts: Sequence[Kernel], weights: Sequence[float]) -> Kernel: ...

def tempered(kernel: Kernel, rungs: Sequence[Likelihood], prior: Prior, groups: NDArray[numpy.int32] | None = None) -> Kernel: ...

def tree_guided_published(global_moves: int, depth: int) -> Kernel: ...

def slice() -> Kernel: ...

class Halt:
    """Asks work in other threads to end."""

    def __init__(self) -> None: ...

    def ask(self) -> None: ...

def smc(likelihood: Likelihood, prior: Prior, groups: NDArray[numpy.int32] | None, particles: int, threshold: float, seed: int, sequence: int, shuffle: bool, halt: Halt | None = None) -> dict[str, Any]: ...

class WeightedGuide:
    """A guide tree with P(not one cluster) per node."""

    def __init__(self, left: NDArray[numpy.int32], right: NDArray[numpy.int32], split_probability: NDArray[numpy.float64] | None = None) -> None: ...

    rows: Final[int]

def tree_guided(guides: Sequence[WeightedGuide], grown: int, seed: int, sequence: int, global_moves: int, single_moves: int, recasts: float, anneal: bool, sweep_rate: float) -> Kernel: ...

class Chain:
    """One chain: a state and the kernel that moves it."""

    def __init__(self, likelihood: Likelihood, prior: Prior, kernel: Kernel, labels: NDArray[numpy.int32], groups: NDArray[numpy.int32] | None = None, seed: int = 0, sequence: int = 0) -> None: ...

    def run(self, iterations: int, thin: int = 1) -> dict[str, Any]: ...

    def warm_up(self, count: int, done: int, total: int) -> None: ...

    def end_warm_up(self) -> None: ...

    warming: Final[bool]

    def start_sequentially(self, labels: NDArray[numpy.int32] | None = None) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def set_state(self, labels: NDArray[numpy.int32], measure: dict[str, Any], rng: NDArray[numpy.uint64] | None = None, kernel_whole: NDArray[numpy.int32] | None = None, kernel_real: NDArray[numpy.float64] | None = None, kernel_counters: NDArray[numpy.int32] | None = None, warming: bool | None = None) -> None: ...

    def log_joint(self) -> float: ...

    def log_mass(self) -> float: ...

    n_clusters: Final[int]
    stat_names: Final[list[str]]

    @property
    def settled(self) -> bool:
        """
        Whether the chain set out from where another one, over a part of the rows, had settled.
        """

    @settled.setter
    def settled(self, arg: bool, /) -> None: ...

    update_u: bool

    update_hyper: bool

class Foresight:
    """
    One draw, asked about new rows: the last of a likelihood's, after n_old others.
    """

    def __init__(self, likelihood: Likelihood, n_old: int, labels: NDArray[numpy.int32], prior: Prior, measure: dict[str, Any], groups: NDArray[numpy.int32] | None = None, new_groups: NDArray[numpy.int32] | None = None, seed: int = 0, threads: int = 1) -> None: ...

    def weights(self) -> NDArray[numpy.float64]:
        """log[weight x density] for every cluster and a new one, (n_new, K + 1)."""

    def add_density(self, log_total: NDArray[numpy.float64]) -> None:
        """Adds the densities of the rows to exp(log_total)."""

    def add_company(self, start: NDArray[numpy.int32], cluster: NDArray[numpy.int32], share: NDArray[numpy.float64], top: NDArray[numpy.float64], with_each: NDArray[numpy.float64], alone: NDArray[numpy.float64], all: NDArray[numpy.float64]) -> None:
        """
        Adds weights, on the scale exp(top), with each cluster of a partition, with none, and of all.
        """

def left_out(likelihood: Likelihood, labels: NDArray[numpy.int32], prior: Prior, measure: dict[str, Any], groups: NDArray[numpy.int32] | None = None, seed: int = 0, threads: int = 1) -> NDArray[numpy.float64]:
    """Log density of every row given the others and their partition, (n)."""

class TreeBuilder:
    """
    Builds forests over the rows of a likelihood; u and the hyper-parameters are its state.
    """

    def __init__(self, likelihood: Likelihood, prior: Prior, groups: NDArray[numpy.int32] | None = None, indptr: NDArray[numpy.int64] | None = None, indices: NDArray[numpy.int32] | None = None, seed: int = 0, sequence: int = 0) -> None: ...

    def bhc(self) -> None:
        """Greedy build from scratch."""

    def ibhc(self, repair: str = 'reinsert', insert: str = 'seq', balance: bool = True, order: NDArray[numpy.int32] | None = None, u: bool = False, hyper: bool = False) -> None:
        """
        One incremental pass from scratch, drawing u and the hyper-parameters on the way if asked to.
        """

    def revise(self, repair: str = 'reinsert', thorough: bool = True) -> None:
        """Every row out and in again, or only those that belong elsewhere."""

    def join_roots(self) -> None:
        """Joins the roots into one tree."""

    def resample(self, u: bool, hyper: bool) -> None: ...

    def keep(self) -> None:
        """Keeps the trees and the prior's state as they are."""

    def go_back(self) -> None:
        """Back to what was kept last."""

    def log_joint(self) -> float: ...

    def log_front(self) -> float: ...

    def fillings(self) -> NDArray[numpy.float64]:
        """Missing entries of all rows as they are filled in."""

    def state(self) -> dict[str, Any]: ...

    def set_state(self, measure: dict[str, Any]) -> None: ...

    def arrays(self) -> dict[str, Any]:
        """The forest as named arrays."""

    def mean_depth(self) -> float: ...

    n_roots: Final[int]
    evaluations: Final[int]

class TreeStream:
    """A forest that rows keep coming to."""

    def __init__(self, likelihood: Likelihood, prior: Prior, groups: NDArray[numpy.int32] | None = None, max_nodes: int = 0, revise: bool = True, remember: bool = True, repeats: int = 1, half_life: float = 0.0, clock: bool = False, seed: int = 0, when: NDArray[numpy.float64] | None = None) -> None: ...

    @staticmethod
    def from_state(likelihood: Likelihood, prior: Prior, max_nodes: int, revise: bool, remember: bool, repeats: int, half_life: float, clock: bool, state: dict[str, Any]) -> TreeStream: ...

    def add(self, batch: Likelihood, groups: NDArray[numpy.int32] | None = None, when: NDArray[numpy.float64] | None = None) -> None:
        """Puts the rows of a bound likelihood into the forest."""

    def extend_groups(self, prior: Prior) -> None: ...

    def batch_rows(self) -> NDArray[numpy.int32]: ...

    def predictive(self, batch: Likelihood, groups: NDArray[numpy.int32] | None = None) -> NDArray[numpy.float64]: ...

    def ids(self) -> NDArray[numpy.int32]: ...

    def sizes(self) -> NDArray[numpy.int32]: ...

    def labels(self, first: int, count: int) -> NDArray[numpy.int32]: ...

    def events(self, first: int = 0) -> tuple[Any, ...]:
        """
        (at, kind, cluster, other, size) arrays; kinds: 0 born, 1 split, 2 joined, 3 died.
        """

    def moved_last(self) -> list[Any]:
        """
        Of the last batch: the number of an event and the points that moved in it.
        """

    def arrays(self) -> dict[str, Any]: ...

    def measure(self) -> dict[str, Any]: ...

    def log_joint(self) -> float: ...

    def log_front(self) -> float: ...

    def mean_depth(self) -> float: ...

    def state(self) -> dict[str, Any]: ...

    n_seen: Final[int]
    n_events: Final[int]
    n_clusters: Final[int]
    n_nodes: Final[int]
    evaluations: Final[int]

class Guide:
    """A fixed full binary tree over the rows."""

    def __init__(self, left: NDArray[numpy.int32], right: NDArray[numpy.int32]) -> None: ...

    n_rows: Final[int]

    def induced(self, rows: NDArray[numpy.int32]) -> dict[str, Any]:
        """The induced tree of these rows, as named arrays."""

    rank: Final[NDArray[numpy.int32]]
    order: Final[NDArray[numpy.int32]]

class Ledger:
    """Sufficient statistics of numbered sets of rows."""

    def __init__(self, likelihood: Likelihood) -> None: ...

    def reset(self, size: int) -> None:
        """All slots empty."""

    def fold(self, numbers: NDArray[numpy.float64], start: NDArray[numpy.int64], target: NDArray[numpy.int32]) -> None:
        """Adds packed sets to slots."""

    def restore(self, numbers: NDArray[numpy.float64], start: NDArray[numpy.int64]) -> None:
        """Slots as they were when packed."""

    def add_rows(self, slot: int, rows: NDArray[numpy.int32]) -> None: ...

    def fill(self, labels: NDArray[numpy.int32], seed: int) -> None:
        """All rows into slots, missing entries filled in."""

    def halve(self, first: int, second: int, rows: NDArray[numpy.int32], first_anchor: int, second_anchor: int, scans: int, seed: int) -> float:
        """Rows take one of two sides, scan after scan."""

    def merge(self, slot: int, other: int) -> None: ...

    def load(self, slot: int, other: Ledger, from_slot: int) -> None:
        """Copies a slot of another ledger of the same likelihood."""

    def pack(self) -> dict[str, Any]: ...

    def log_marginals(self) -> NDArray[numpy.float64]: ...

    def log_merged(self, slot: int, others: NDArray[numpy.int32]) -> NDArray[numpy.float64]:
        """log p of the slot together with each of the others."""

    def draw_atoms(self, seed: int) -> NDArray[numpy.float64]: ...

    size: Final[int]

class Shard:
    """Some of the rows of a larger data set, with their labels."""

    def __init__(self, likelihood: Likelihood, first_row: int, seed: int) -> None: ...

    n_rows: Final[int]

    def labels(self) -> NDArray[numpy.int32]: ...

    def fillings(self) -> NDArray[numpy.float64]:
        """Missing entries of all rows as they are filled in."""

    def fillings_of(self, rows: NDArray[numpy.int32]) -> NDArray[numpy.float64]: ...

    def set_fillings(self, fillings: NDArray[numpy.float64]) -> None: ...

    def set_labels(self, labels: NDArray[numpy.int32]) -> None: ...

    def tally(self, clusters: int) -> dict[str, Any]:
        """Counts and packed statistics of clusters 0..k-1."""

    def begin(self, numbers: NDArray[numpy.float64], start: NDArray[numpy.int64], log_size: NDArray[numpy.float64]) -> dict[str, Any]:
        """Draws labels from the predictive of known clusters."""

    def fit(self, numbers: NDArray[numpy.float64], start: NDArray[numpy.int64], log_size: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
        """How much better each row fits these clusters than it would a new one."""

    def anchors(self, clusters: int, all_rows: int, iteration: int) -> NDArray[numpy.uint64]:
        """The word of each cluster's anchor among these rows."""

    def sweep(self, anchor: NDArray[numpy.uint64], sizes: NDArray[numpy.int64], log_weight: NDArray[numpy.float64], atoms: NDArray[numpy.float64], log_alone: float, iteration: int) -> dict[str, Any]:
        """One conditional update of all labels."""

    def halve(self, role: NDArray[numpy.int32], side: NDArray[numpy.int32], act: NDArray[numpy.int32], even: NDArray[numpy.int32], anchor: NDArray[numpy.int64], log_share: NDArray[numpy.float64], numbers: NDArray[numpy.float64], start: NDArray[numpy.int64], iteration: int, scan: int) -> dict[str, Any]:
        """One scan of split and merge proposals: sides drawn or scored."""

    def rename(self, first: NDArray[numpy.int32], second: NDArray[numpy.int32]) -> None: ...

    def put(self, rows: NDArray[numpy.int32], labels: NDArray[numpy.int32]) -> None: ...

def visit(likelihood: Likelihood, measure: Measure, numbers: NDArray[numpy.float64], start: NDArray[numpy.int64], sizes: NDArray[numpy.int64], labels: NDArray[numpy.int32], seed: int) -> dict[str, Any]:
    """
    Marginal Gibbs sampling of some rows, given the statistics of all clusters.
    """

def predictive_known(likelihood: Likelihood, measure: Measure, numbers: NDArray[numpy.float64], start: NDArray[numpy.int64], sizes: NDArray[numpy.int64], packed_by: Likelihood | None = None) -> NDArray[numpy.float64]:
    """
    log[weight x density] of all rows, which are new, for every known cluster and a new one, (n, K + 1). `packed_by` is a likelihood at the power at which the clusters were packed, where that is another.
    """

def left_out_known(likelihood: Likelihood, measure: Measure, numbers: NDArray[numpy.float64], start: NDArray[numpy.int64], sizes: NDArray[numpy.int64], labels: NDArray[numpy.int32]) -> NDArray[numpy.float64]:
    """
    Log density of all rows, which are among the known, each given the others, (n).
    """

def are_canonical(draws: NDArray[Any]) -> bool:
    """Whether every draw is numbered in order of first appearance."""

def point_keys(draws: NDArray[Any]) -> NDArray[numpy.uint64]:
    """A hash of every point's labels over all draws."""

def stand_together(draws: NDArray[Any], standing: NDArray[numpy.int32]) -> bool:
    """Whether no draw takes a point from the one that stands for it."""

def together(draws: NDArray[Any], threads: int = 1) -> NDArray[numpy.float32]:
    """How many draws have each two points together, (points, points)."""

def company(draws: NDArray[Any], copies: NDArray[numpy.int64], own: NDArray[numpy.int32], clusters: int) -> tuple[Any, ...]:
    """
    Sums over draws for every point: others of its own cluster with it, mean shares of all clusters with it, draws alone.
    """

class JointSums:
    """
    Sums of f over the joint clusters of a partition with draws; `copies` rows stand behind every point.
    """

    def __init__(self, draws: NDArray[Any], copies: NDArray[numpy.int64], f: NDArray[numpy.float64]) -> None: ...

    def run(self, partition: NDArray[numpy.int32], first: int = 0) -> NDArray[numpy.float64]:
        """One sum for each draw from `first` on."""

class PartitionSearch:
    """Greedy search for the partition of least expected loss over draws."""

    def __init__(self, draws: NDArray[Any], copies: NDArray[numpy.int64], weights: NDArray[numpy.float64], f: NDArray[numpy.float64], adjusted: bool = False, joining: float = 1.0) -> None: ...

    def copy(self) -> PartitionSearch:
        """
        Another search of the same draws, for another thread; what the two only read they share.
        """

    def start_at(self, labels: NDArray[numpy.int32]) -> None:
        """Start from a partition."""

    def start_afresh(self, seed: int, sequence: int) -> None:
        """Start from a sequential allocation in random order."""

    def descend(self, seed: int, sequence: int, max_sweeps: int = 100, zealous: int = 10) -> None:
        """
        Sweep until no move helps, then rebuild whole clusters while that helps.
        """

    def stop(self) -> None:
        """
        End the descents of this search and of its copies soon, each where it is.
        """

    def limit(self, least: int, most: int) -> None:
        """Keep the number of clusters between the two."""

    def hold(self, points: NDArray[numpy.int32]) -> None:
        """Leave these points where they are in all sweeps from here on."""

    def join_down(self, most: int) -> None:
        """Join the two clusters that cost least until there are so many."""

    @property
    def clusters(self) -> int:
        """Clusters of where the search stands."""

    @property
    def labels(self) -> NDArray[numpy.int32]:
        """Where the search stands."""

def slic(colours: NDArray[numpy.float32], number: int, compactness: float, time_spacing: float, iterations: int) -> NDArray[numpy.int32]:
    """The nearest centre of every voxel, by colour and place."""

def connected_pieces(labels: NDArray[numpy.int32]) -> tuple[Any, ...]:
    """Pieces of equal label that are connected through faces, and how many."""

def contacts(labels: NDArray[numpy.int32], n: int, colours: NDArray[numpy.float32] | None = None) -> tuple[Any, ...]:
    """
    Pairs of labels that touch, lower first, the faces they share, and the sums of colour differences across them.
    """

def instruction_set() -> str:
    """The instruction set the hot loops use here."""

def compiler() -> str:
    """What this module was compiled with."""
