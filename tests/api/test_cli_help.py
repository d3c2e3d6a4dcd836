"""What the command line says of itself: help with examples, completion in a shell, words for what is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hedgerow.cli import main
from hedgerow.cli.command import build_parser

COMMANDS = sorted(next(action.choices for action in build_parser()._actions if isinstance(action.choices, dict)))


def test_completion_in_a_shell(tmp_path, capsys):
    """The script is sourced by a real shell, which then completes a command, an option, a choice and a file."""
    (tmp_path / "flowers.csv").write_text("a\n1\n")
    assert main(["completion", "bash"]) == 0
    (tmp_path / "hedgerow.bash").write_text(capsys.readouterr().out)
    lines = ["hedgerow su", "hedgerow fit --dra", "hedgerow fit --loss bi", "hedgerow fit flow"]
    asked = "\n".join(f"ask {line}" for line in lines)
    script = f"""
        source hedgerow.bash
        ask() {{
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _shtab_hedgerow hedgerow "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
            echo "${{COMPREPLY[@]}}"
        }}
        {asked}
    """
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:4] == ["summary", "--draws", "binder", "flowers.csv"]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_help_has_examples(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"] if command else ["--help"])
    assert stopped.value.code == 0
    told = capsys.readouterr().out
    assert "examples:\n  " in told
    assert max(map(len, told.splitlines())) <= 136


@pytest.mark.parametrize(
    ("arguments", "module", "extra"),
    [
        (["completion", "bash"], "shtab", "completion"),
        (["tree", "table.csv", "--out", "tree.png"], "matplotlib", "plot"),
        (["fit", "table.parquet"], "pyarrow", "parquet"),
    ],
)
def test_a_missing_extra_is_answered_with_its_install_line(tmp_path, arguments, module, extra):
    (tmp_path / "table.csv").write_text("a,b\n1.5,2\n2.5,1\n")
    (tmp_path / "table.parquet").write_bytes(b"PAR1")
    hide = f"import sys; sys.modules[{module!r}] = None; from hedgerow.cli import main; sys.exit(main({arguments!r}))"
    done = subprocess.run([sys.executable, "-c", hide], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"This needs {module}, which is not installed. Install it with: pip install 'hedgerow[{extra}]'" in done.stderr
