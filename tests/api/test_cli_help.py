"""What the command line says of itself: help with examples, completion in a shell, words for what is not installed."""

from __future__ import annotations

import argparse
import os
import pty
import select
import shutil
import subprocess
import sys
import time

import pytest

from hedgerow.cli import main, output
from hedgerow.cli.command import build_parser

COMMANDS = sorted(next(action.choices for action in build_parser()._actions if isinstance(action.choices, dict)))


BEGUN = {
    "hedgerow su": "summary",
    "hedgerow fit --dra": "--draws",
    "hedgerow fit --loss bi": "binder",
    "hedgerow fit flow": "flowers.csv",
}
"""A command, an option, a choice and a file, begun and completed."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "flowers.csv").write_text("a\n1\n")
    return tmp_path


def script_for(shell, capsys):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_completion_in_bash(folder, capsys):
    """The script is sourced by a real shell, which then completes."""
    (folder / "hedgerow.bash").write_text(script_for("bash", capsys))
    asked = "\n".join(f"ask {line}" for line in BEGUN)
    script = f"""
        source hedgerow.bash
        ask() {{
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _shtab_hedgerow hedgerow "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
            echo "${{COMPREPLY[@]}}"
        }}
        {asked}
    """
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:4] == list(BEGUN.values())


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_completion_in_fish(folder, capsys):
    (folder / "hedgerow.fish").write_text(script_for("fish", capsys))
    script = "source hedgerow.fish; " + "; ".join(f"complete -C'{line}'" for line in BEGUN)
    done = subprocess.run(["fish", "-N", "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == list(BEGUN.values())


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_completion_in_zsh(folder, capsys):
    """zsh completes at a terminal only: one is made for it, and the tabulator pressed in it."""
    (folder / "_hedgerow").write_text(script_for("zsh", capsys))
    terminal, end = pty.openpty()
    places = {"cwd": folder, "stdin": end, "stdout": end, "stderr": end, "start_new_session": True}
    with subprocess.Popen(["zsh", "-f", "-i"], env={**os.environ, "TERM": "dumb"}, **places) as shell:
        os.close(end)
        try:
            press(terminal, "PS1=; fpath=($PWD $fpath); autoload -U compinit; compinit -u -d $PWD/dump; echo rea''dy\n", "ready")
            for line, word in BEGUN.items():
                whole = " ".join([*line.split()[:-1], word])
                assert whole in press(terminal, line + "\t", whole)
                os.write(terminal, b"\x15")  # the line away
        finally:
            shell.kill()
            os.close(terminal)


def press(terminal, keys, wanted):
    """Types into a terminal and reads until it shows what is wanted, for half a minute at most."""
    os.write(terminal, keys.encode())
    shown, late = "", time.monotonic() + 30
    while wanted not in shown and time.monotonic() < late:
        if select.select([terminal], [], [], 0.1)[0]:
            shown += os.read(terminal, 65536).decode(errors="replace")
    return shown


def test_a_shell_that_an_old_shtab_does_not_know(monkeypatch, capsys):
    monkeypatch.setattr("shtab.SUPPORTED_SHELLS", ["bash", "zsh"])
    assert main(["completion", "fish"]) == 2
    assert "knows nothing of fish. Update it with: pip install -U shtab" in capsys.readouterr().err


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


def test_help_fits_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(output, "line_width", lambda: 79)
    parser = build_parser()
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for shown in (parser, *commands.choices.values()):
        long = [line for line in shown.format_help().splitlines() if len(line) > 80 and "completion" not in line]
        assert not long, long
