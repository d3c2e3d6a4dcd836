"""Modules of the package import submodules and the compiled core from it, never the public names at its top."""

import ast
from pathlib import Path

import hedgerow

ROOT = Path(hedgerow.__file__).parent
PARTS = {path.stem if path.is_file() else path.name for path in ROOT.iterdir()} | {"_core"}


def test_nothing_inside_imports_the_public_names():
    for path in ROOT.rglob("*.py"):
        if path == ROOT / "__init__.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "hedgerow":
                assert {alias.name for alias in node.names} <= PARTS, f"{path.relative_to(ROOT)}, line {node.lineno}"
            if isinstance(node, ast.Import):
                assert "hedgerow" not in {alias.name for alias in node.names}, f"{path.relative_to(ROOT)}, line {node.lineno}"
