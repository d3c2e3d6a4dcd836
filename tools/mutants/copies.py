"""A copy of the working tree with an interpreter and a build of its own, to plant errors in."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["Copy"]

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("core", "src", "tests", "tools", "docs", "examples", "papers", "benchmarks")
MINUTES = 20  # for one set of tests: an error that makes a loop endless is an error noticed


class Copy:
    """One working place. Python code runs from its `src`; the core is built next to it and put there."""

    def __init__(self, place: Path) -> None:
        self.root = place
        for name in PARTS:
            shutil.rmtree(place / name, ignore_errors=True)
            # New times: of a run that was stopped an object with an error in it is left, and must be older than the right text.
            ignore = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(ROOT / name, place / name, ignore=ignore, copy_function=shutil.copy)
        for path in ROOT.iterdir():
            if path.is_file() and path.name != ".git":
                shutil.copy2(path, place / path.name)
        self.python = place / ".venv" / "bin" / "python"
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / ".venv")], check=True)
        # Plain lines of a .pth file are searched but their own .pth files are not read: the editable package stays out.
        packages = [str(place / "src"), *(path for path in sys.path if path.endswith(("site-packages", "dist-packages")))]
        site = next((place / ".venv" / "lib").glob("python*")) / "site-packages"
        (site / "mutants.pth").write_text("\n".join(packages) + "\n", encoding="utf-8")

    def _run(self, command: list[str], minutes: float = MINUTES) -> tuple[int, str]:
        # `python -m pytest` and the tests' own subprocesses must not see the environment that called us.
        env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        env["PATH"] = os.pathsep.join([str(self.python.parent), str(Path(sys.executable).parent), env.get("PATH", "")])
        env |= {"CCACHE_BASEDIR": str(self.root), "CCACHE_NOHASHDIR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen(
            command, cwd=self.root, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        ) as process:
            try:
                out, _ = process.communicate(timeout=60 * minutes)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                out, _ = process.communicate()
                return 124, out + "\ntook too long"
            return process.returncode, out

    def build(self) -> tuple[bool, str]:
        """Build the extension and the C++ tests; False when the compiler refuses."""
        cmake = [shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])) or "cmake"]
        folder = self.root / "build" / "mutants"
        if not (folder / "build.ninja").exists():
            launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
            options = ["-DHEDGEROW_TESTS=ON", f"-DPython_EXECUTABLE={self.python}", *launcher]
            ninja = shutil.which("ninja", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
            code, out = self._run([*cmake, "-S", ".", "-B", str(folder), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", *options])
            if code:
                return False, out
        code, out = self._run([*cmake, "--build", str(folder), "--parallel", "1"], minutes=60)
        if code:
            return False, out
        for built in (folder / "core").glob("_core*.so"):
            shutil.copy2(built, self.root / "src" / "hedgerow" / built.name)
        return True, out

    def passes(self, tests: str) -> tuple[bool, str]:
        """Whether the C++ tests ("core") or the tests that pytest finds with these arguments pass."""
        if tests == "core":
            code, out = self._run([str(self.root / "build" / "mutants" / "core" / "hedgerow_tests")])
        else:
            quick = ["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "--no-header"]
            command = [str(self.python), "-m", "pytest", *quick, *shlex.split(tests)]
            code, out = self._run(command)
        return code == 0, out
