"""The skeletons of CONTRIBUTING, put into a copy of the package, add what they say, and touch as few files as they say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hedgerow import _core

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(?P<kind>\w+) file=(?P<file>\S+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
# What a section may touch, tests and generated stubs apart.
MOST = {"a prior": 2, "a prior with a hyper-parameter of its own": 4, "a likelihood": 5, "a kernel": 5, "a loss": 2, "a command": 2}


def sections() -> dict[str, list[re.Match[str]]]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    parts = re.findall(r"^## Adding (.*?)\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    return {name: list(FENCE.finditer(body)) for name, body in parts}


def hunks(body: str) -> list[tuple[str, str]]:
    """Lines to be taken out and those to be put in their place, of every change of a diff."""
    changes = re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)+)", body, re.MULTILINE)
    return [tuple("\n".join(line[1:] for line in side.splitlines()) for side in change) for change in changes]  # type: ignore[misc]


def apply(fence: re.Match[str], root: Path) -> None:
    path = root / fence["file"]
    if fence["kind"] != "diff":
        assert not path.exists(), f"{fence['file']} is there already: choose another name for the skeleton"
        path.write_text(fence["body"], encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    for old, new in hunks(fence["body"]):
        assert text.count(old) == 1, f"CONTRIBUTING changes {old!r} in {fence['file']}, which is not there just once"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and the core with all skeletons in them."""
    root = tmp_path_factory.mktemp("copy")
    for folder in ("src/hedgerow", "core"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_core.__file__, root / "src" / "hedgerow")
    for fences in sections().values():
        for fence in fences:
            apply(fence, root)
    return root


def test_few_files_are_touched() -> None:
    touched = {name: len({fence["file"] for fence in fences}) for name, fences in sections().items()}
    assert MOST.keys() <= touched.keys()
    assert all(0 < touched[name] <= most for name, most in MOST.items()), touched


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_the_skeletons_in_cpp_are_cpp(copy: Path) -> None:
    sources = [fence["file"] for fences in sections().values() for fence in fences if re.fullmatch(r"core/src/\w+\.cpp", fence["file"])]
    assert len(sources) > 1
    command = [
        "c++",
        "-std=c++20",
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{copy}/core/include",
        *(copy / file for file in sources),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # type: ignore[list-item]
    assert done.returncode == 0, done.stderr


USE = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
sys.path.insert(0, sys.argv[1])

import numpy as np
import hedgerow as hr
from hedgerow import _core
from hedgerow.cli.command import main
from hedgerow.cli.model import read_kernel, read_likelihood, read_prior
from hedgerow.kernels import KERNELS
from hedgerow.likelihoods import LIKELIHOODS
from hedgerow.priors import PRIORS
from hedgerow.summaries import LOSSES, distance, point_estimate
from hedgerow.trees import TreeStream

assert hr.__file__.startswith(sys.argv[1]), hr.__file__

own = read_prior("Proportional(ratio=Gamma(3, 2))")
assert "ratio" in own.carried() and "ratio" not in hr.DP().carried()
total = sum(ways * np.exp(own.log_partition(sizes)) for sizes, ways in (([3], 1), ([2, 1], 3), ([1, 1, 1], 1)))
assert np.isclose(total, 1, rtol=1e-6)
if "built" in sys.argv:
    hr.testing.check_prior(own, n=4, draws=300).raise_if_failed()
    X = np.array([[-1.0], [-0.8], [1.0], [1.3]])
    for model in (hr.Mixture(example, hr.GaussianWishart().resolve(X)) for example in type(own).examples()):
        hr.testing.check_kernel(hr.Gibbs(), model, X, replicates=48, iterations=600).raise_if_failed()
    post = hr.sample(model, X, kernel=hr.Gibbs(), draws=8, warmup=5, chains=2, seed=0, checkpoint=sys.argv[2] + "/own")
    assert post.ratio.shape == (2, 8) and np.ptp(post.ratio) > 0
    post.save(sys.argv[2] + "/own.npz")
    np.testing.assert_array_equal(hr.load(sys.argv[2] + "/own.npz").ratio, post.ratio)
    assert hr.resume(sys.argv[2] + "/own", draws=9).ratio.shape == (2, 9)
    assert hr.smc(model, X, particles=20, seed=0).ratio.shape == (20,)
    stream = TreeStream(model, seed=0)
    stream.add(X)
    stream.save(sys.argv[2] + "/stream")
    assert TreeStream.load(sys.argv[2] + "/stream").log_joint == stream.log_joint
    sys.exit()

# What the C++ of the skeletons would bring, by what there is.
from scipy.special import gammaln
def waiting(X, a, b):
    value = lambda s: a * np.log(b) - gammaln(a) + gammaln(a + s[:, 0]) - (a + s[:, 0]) * np.log(b + s[:, 1])
    return hr.Custom(lambda X: np.column_stack([np.ones(len(X)), X[:, 0]]), value).resolve(X).bind(X)
_core.Waiting, _core.lazy = waiting, lambda: hr.Gibbs().to_core(None)

prior, family, kernel = read_prior("Quarter(2.0)"), read_likelihood("Waiting(a=2.0)"), read_kernel("Lazy()")
assert type(prior) in PRIORS and type(family) in LIKELIHOODS and type(kernel) in KERNELS
hr.testing.check_prior(prior, n=4, draws=300).raise_if_failed()
hr.testing.check_likelihood(*type(family).example(), draws=300).raise_if_failed()
_, X = type(family).example()
assert np.isclose(family.log_marginal(X), family.reference(X))
model = hr.Mixture(type(prior).examples()[0], type(family).example()[0])
hr.testing.check_kernel(kernel, model, X[:4], replicates=16, iterations=100).raise_if_failed()

folder = sys.argv[2]
post = hr.sample(model, X, kernel=kernel, draws=5, warmup=5, chains=2, seed=0, checkpoint=folder + "/run")
post.save(folder + "/post.npz")
assert repr(hr.load(folder + "/post.npz").model) == repr(post.model)
assert hr.resume(folder + "/run", draws=8).draws == 8

assert "steep" in LOSSES and distance([0, 0, 1], [0, 0, 1], "steep") == 0.0 < distance([0, 0, 1], [0, 1, 1], "steep")
assert point_estimate([[0, 0, 1, 1]] * 3 + [[0, 0, 0, 0]], "steep").labels.tolist() == [0, 0, 1, 1]
assert post.credible_ball(0.5, loss="steep").radius >= 0

with open(folder + "/flowers.csv", "w") as file:
    file.write("height,width\\n1.5,2.5\\n3.5,0.5\\n0.1,9.9\\n")
assert main(["count", folder + "/flowers.csv"]) == 0
"""


def test_what_they_add_is_known_everywhere(copy: Path, tmp_path: Path) -> None:
    script = tmp_path / "use.py"
    script.write_text(textwrap.dedent(USE), encoding="utf-8")
    done = subprocess.run([sys.executable, script, copy / "src", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("3 rows, 2 columns\n")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None or shutil.which("cmake") is None, reason="there is no C++ compiler or no CMake")
def test_a_prior_with_a_hyper_parameter_of_its_own_sits_the_exam(copy: Path, tmp_path: Path) -> None:
    """With the skeletons compiled: minutes."""
    shutil.copy(ROOT / "CMakeLists.txt", copy)
    build = copy / "build"
    subprocess.run(["cmake", "-S", copy, "-B", build, f"-DPython_EXECUTABLE={sys.executable}"], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", build, "--target", "_core"], check=True, capture_output=True)
    (module,) = build.glob("core/_core*.so")
    shutil.copy(module, copy / "src" / "hedgerow")
    script = tmp_path / "use.py"
    script.write_text(textwrap.dedent(USE), encoding="utf-8")
    done = subprocess.run([sys.executable, script, copy / "src", tmp_path, "built"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def changes() -> list[tuple[str, str]]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("## Where a change goes") :].split("\n## ")[0]
    return re.findall(r"^\| (.*?) \| `(.*?)` \|$", table, re.MULTILINE)


def test_twenty_changes_are_listed() -> None:
    assert len(changes()) >= 20


@pytest.mark.parametrize(("change", "file"), changes())
def test_a_reader_finds_where_a_change_goes(change: str, file: str) -> None:
    """The words that carry the change stand in the file's name or first sentence, and together in no other file's."""
    words = re.findall(r"\*(\w+)\*", change)
    assert words

    def told(path: Path) -> set[str]:
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        return set(re.findall(r"[^\W_]+", f"{path.relative_to(ROOT)} {first}".lower()))

    wanted = {word.lower() for word in words}
    assert wanted <= told(ROOT / file), f"{wanted - told(ROOT / file)} is not in the name or the first line of {file}"
    files = [path for folder in ("src/hedgerow", "core/src") for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".cpp")]
    found = [str(path.relative_to(ROOT)) for path in files if wanted <= told(path)]
    assert len(found) <= 2, f"{words} lead to {found}"
