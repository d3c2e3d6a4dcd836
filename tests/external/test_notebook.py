"""A notebook as people run it: executed in a kernel of its own, its objects show themselves and its bars move."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient", reason="the notebook test needs the nbclient package")
nbformat = pytest.importorskip("nbformat", reason="the notebook test needs the nbformat package")
pytest.importorskip("ipykernel", reason="the notebook test needs the ipykernel package")

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)  # stored without what a run printed
    folder = tmp_path_factory.mktemp("notebook")
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    assert (folder / "wine.html").is_file()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any) -> str:
    return "".join(out.data.get("text/html", "") for out in cell.outputs if out.output_type in ("execute_result", "display_data"))


@pytest.mark.filterwarnings("default")  # what Jupyter's own packages say of each other
def test_every_object_shows_itself(cells: list[Any]) -> None:
    words = ["why", "clusters in 178 points", "from coarse to fine", "largest trees", "HedgerowClusterer"]
    for cell, word in zip(cells, words, strict=False):
        assert word in shown(cell), cell.source
    assert re.search('<svg.*fill="#388bc8"', shown(cells[2]))  # the flow, in the house's colours
    assert "clusters in 178 points" in shown(cells[4])  # below the diagram, what was found


def test_bars_end_full_below_the_cell(cells: list[Any]) -> None:
    assert shown(cells[1]).count('<progress value="400" max="400">') == 1
    assert "2 of 2 chains done" in shown(cells[1])
