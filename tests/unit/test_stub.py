"""The stub of the compiled module says what the binary says."""

import runpy
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "stubs.py"


def test_stub_matches_binary():
    tool = runpy.run_path(str(TOOL))
    assert tool["STUB"].read_text(encoding="utf-8") == tool["render"](), "run `make stubs`"
