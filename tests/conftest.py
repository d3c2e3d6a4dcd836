"""What holds for all tests: Ctrl-C works, even where SIGINT was ignored at the start; and a command without some of its extras."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    """Pictures of one test are closed before the next: twenty open ones are a warning, and warnings are errors."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.fixture
def command_without() -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command in a process that cannot import some modules: `command_without(["rich"], "demo", "--out", path)`."""

    def run(modules: list[str], *arguments: object) -> subprocess.CompletedProcess[str]:
        script = (
            "import sys\n"
            f"for name in {modules!r}: sys.modules[name] = None\n"
            "from hedgerow.cli import main\n"
            f"sys.exit(main({[str(argument) for argument in arguments]!r}))"
        )
        return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)

    return run
