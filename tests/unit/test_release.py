"""What a release is made from agrees: versions, requirements, Pythons, systems."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import hedgerow

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read(name: str) -> str:
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{name} is not in the sdist")
    return path.read_text(encoding="utf-8")


def plain(requirement: str) -> str:
    return requirement.replace(" ", "")


def test_the_version_is_one() -> None:
    version = PROJECT["project"]["version"]
    assert hedgerow.__version__ == version
    assert f'{{% set version = "{version}" %}}' in read("packaging/meta.yaml")
    assert re.search(rf"^version: {re.escape(version)}$", read("CITATION.cff"), re.MULTILINE)
    assert re.search(rf"^## {re.escape(version)} \(", read("CHANGELOG.md"), re.MULTILINE)


def test_the_conda_recipe_requires_what_the_wheel_does() -> None:
    recipe = read("packaging/meta.yaml")
    run = re.search(r"^  run:\n((?:    - .*\n)+)", recipe, re.MULTILINE)
    assert run is not None
    wanted = {plain(line.removeprefix("    - ")) for line in run[1].splitlines()}
    assert wanted == {plain(text) for text in PROJECT["project"]["dependencies"]} | {f"python{PROJECT['project']['requires-python']}"}
    for tool in PROJECT["build-system"]["requires"]:
        assert tool.replace(">=", " >=") in recipe
    for name, place in PROJECT["project"]["scripts"].items():
        assert f"- {name} = {place}" in recipe


def test_wheels_are_built_for_the_pythons_and_systems_that_are_named() -> None:
    built = PROJECT["tool"]["cibuildwheel"]["build"].split()
    assert built == [f"cp3{minor}-*" for minor in range(11, 15)]  # no cp314t: free-threaded Python is refused
    workflow, page = read(".github/workflows/release.yml"), read("RELEASING.md")
    assert "CPython 3.11 to 3.14" in page
    runners = {"x86-64": "ubuntu-latest", "aarch64": "ubuntu-24.04-arm", "macOS": "macos-15-intel", "arm64": "macos-15,"}
    for system, runner in runners.items():
        assert system in page
        assert runner in workflow.replace("]", ",")
