"""The report in a real browser: nothing logged, nothing fetched; tree, table and points move together.

Needs Chromium, its driver (Debian: chromium, chromium-driver) and the selenium package; skips without.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.external.pages import ATTACK, N, from_coarse_to_fine, of_many_clusters, payload

from hedgerow.report import write_report
from hedgerow.report.payload import PointsPart, ReportPayload

webdriver = pytest.importorskip("selenium.webdriver", reason="the browser test needs the selenium package")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="the browser test needs chromium and chromedriver on the PATH"
)

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}", "--window-size=1280,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    bare = ReportPayload("Bare", PointsPart([0, 0, 1]))
    return {
        "full": write_report(folder / "full.html", payload()),
        "attack": write_report(folder / "attack.html", payload([ATTACK] * N)),
        "far": write_report(folder / "far.html", payload(offset=1e9)),
        "bare": write_report(folder / "bare.html", bare),
        "levels": write_report(folder / "levels.html", from_coarse_to_fine()),
        "many": write_report(folder / "many.html", of_many_clusters()),
    }


@pytest.fixture
def visit(browser: Any, pages: dict[str, Path]) -> Iterator[Callable[..., Any]]:
    """Open a page at a width; afterwards, nothing may have been logged and only the file been asked for."""

    def open_page(name: str, width: int = 1280, theme: str = "light") -> Any:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get(pages[name].as_uri())
        assert browser.execute_script("return document.documentElement.dataset.ready") == "true"
        return browser

    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    yield open_page
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    allowed = {path.as_uri() for path in pages.values()} | {"data:,"}
    assert {url for url in asked if url.partition("#")[0] not in allowed} == set()
    assert asked  # the log does see requests


def click_branch(driver: Any, node: int) -> None:
    """A real click in the middle of a branch's crossbar, or of its triangle where it is closed."""
    script = """
        const path = document.querySelector(`g.branch[data-node="${arguments[0]}"] .shape`);
        path.scrollIntoView({ block: "center" });
        const box = path.getBoundingClientRect();
        const down = path.classList.contains("closed") ? 0.7 * box.height : 0;
        return [Math.round(box.x + box.width / 2), Math.round(box.y + down)];
    """
    x, y = driver.execute_script(script, node)
    for kind in ("mousePressed", "mouseReleased"):
        event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
        driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def highlighted(driver: Any) -> set[int]:
    rows = driver.execute_script("return [...document.querySelectorAll('.point.hit')].map((p) => p.dataset.row)")
    return {int(row) for row in rows}


def tree_of(report: ReportPayload) -> tuple[list[int], list[set[int]]]:
    """Page numbers (preorder) of the roots, and the rows below each, counted independently of the package."""
    assert report.tree is not None
    left, right = np.asarray(report.tree.left), np.asarray(report.tree.right)
    numbers, rows, number = [], [], 0
    for root in np.asarray(report.tree.roots):
        below, stack, visited = set(), [int(root)], 0
        while stack:
            node = stack.pop()
            visited += 1
            if left[node] < 0:
                below.add(node)
            else:
                stack += [int(left[node]), int(right[node])]
        numbers.append(number)
        rows.append(below)
        number += visited
    return numbers, rows


def test_numbers_far_from_zero_are_drawn_and_told_by_what_differs(visit: Callable[..., Any]) -> None:
    places = "return [...document.querySelectorAll('#scatter .point')].map((p) => [+p.getAttribute('cx'), +p.getAttribute('cy')])"
    near = np.array(visit("full").execute_script(places))
    driver = visit("far")
    far = np.array(driver.execute_script(places))
    assert len(np.unique(far.round(1), axis=0)) > 0.9 * N
    assert np.abs(np.corrcoef(near.ravel(), far.ravel())[0, 1]) > 0.999
    assert [t.text for t in driver.find_elements("css selector", "#scatter .title")] == ["length − 999,999,990", "width − 999,999,990"]
    driver.execute_script("document.querySelector('button.cluster').click()")
    cells = [cell.text for cell in driver.find_elements("css selector", "#panel td")]
    assert any(re.fullmatch(r"(1000000000|999999999|1000000001)\.\d+ ± 0\.0\d+", cell) for cell in cells), cells


def test_clicking_branches_highlights_their_points(visit: Callable[..., Any]) -> None:
    driver = visit("full")
    numbers, rows = tree_of(payload())
    assert len(numbers) == 6
    for number, below in zip(numbers, rows, strict=True):
        click_branch(driver, number)
        assert highlighted(driver) == below
        assert f"Branch of {len(below)} points" in driver.find_element("id", "panel").text
    assert len(driver.find_elements("css selector", ".point.dim")) == N - len(rows[-1])
    driver.find_element("id", "clear").click()
    assert highlighted(driver) == set()
    assert not driver.find_elements("css selector", ".point.dim")


def test_keyboard_walks_and_selects(visit: Callable[..., Any]) -> None:
    from selenium.webdriver import ActionChains, Keys

    driver = visit("full")
    _, rows = tree_of(payload())
    driver.execute_script("""document.querySelector('g.branch[tabindex="0"]').focus()""")
    press = ActionChains(driver)
    press.send_keys(Keys.ARROW_RIGHT, Keys.ENTER).perform()
    assert highlighted(driver) == rows[1]
    ActionChains(driver).send_keys(Keys.ARROW_DOWN, Keys.ENTER).perform()
    inside = highlighted(driver)
    assert inside < rows[1]
    assert driver.execute_script("return document.activeElement.getAttribute('aria-pressed')") == "true"
    ActionChains(driver).send_keys(Keys.ESCAPE).perform()
    assert highlighted(driver) == set()
    assert len(driver.find_elements("css selector", 'g.branch[tabindex="0"]')) == 1


def test_arrows_reach_a_leaf_through_closed_branches(visit: Callable[..., Any]) -> None:
    from selenium.webdriver import ActionChains, Keys

    driver = visit("full", width=375)
    driver.execute_script("""document.querySelector('g.branch[tabindex="0"]').focus()""")
    for _ in range(60):
        ActionChains(driver).send_keys(Keys.ARROW_DOWN).perform()
        label = driver.execute_script("return document.activeElement.getAttribute('aria-label')")
        if label.startswith("Leaf"):
            break
    assert label.startswith("Leaf")
    ActionChains(driver).send_keys(Keys.ENTER).perform()
    assert len(highlighted(driver)) == 1


def test_cluster_table_highlights_its_points(visit: Callable[..., Any]) -> None:
    driver = visit("full")
    labels = np.asarray(payload().points.labels)
    button = driver.find_element("css selector", 'button[data-cluster="3"]')
    button.click()
    assert highlighted(driver) == set(np.flatnonzero(labels == 3).tolist())
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert highlighted(driver) == set()


def test_zoom_opens_branches(visit: Callable[..., Any]) -> None:
    driver = visit("full", width=375)
    closed = "return document.querySelectorAll('.shape.closed').length"
    before = driver.execute_script(closed)
    assert before > 0
    click_branch(driver, tree_of(payload())[0][2])
    driver.find_element("id", "tree-branch").click()
    shown = driver.execute_script("return document.querySelectorAll('g.branch:not(.dim)').length")
    assert shown > 8
    driver.find_element("id", "tree-whole").click()
    assert driver.execute_script(closed) == before


@pytest.mark.parametrize("name", ["full", "attack", "bare", "levels", "many"])
def test_a_phone_needs_no_sideways_scrolling(visit: Callable[..., Any], name: str) -> None:
    driver = visit(name, width=375)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 375


def test_hostile_names_do_nothing(visit: Callable[..., Any]) -> None:
    driver = visit("attack")
    click_branch(driver, tree_of(payload())[0][0])
    assert driver.execute_script("return window.attacked") is None
    assert driver.title == ATTACK
    assert "window.attacked" in driver.find_element("id", "panel").text


def test_dark_follows_the_system_and_the_button(visit: Callable[..., Any]) -> None:
    brightness = "return getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, 3).map(Number)"
    driver = visit("full", theme="dark")
    assert max(driver.execute_script(brightness)) < 60
    button = driver.find_element("id", "theme")
    button.click()
    assert button.text == "Colours: light"
    assert min(driver.execute_script(brightness)) > 200
    driver = visit("full", theme="light")
    driver.find_element("id", "theme").click()
    driver.find_element("id", "theme").click()
    assert max(driver.execute_script(brightness)) < 60


def test_similarity_is_painted_and_tells_its_value(visit: Callable[..., Any]) -> None:
    driver = visit("full")
    canvas = driver.find_element("css selector", "#similarity canvas")
    corner = "const c = arguments[0]; return [...c.getContext('2d').getImageData(30, 30, 1, 1).data].slice(0, 3)"
    assert max(driver.execute_script(corner, canvas)) < 140  # the first cluster's square is dark
    webdriver.ActionChains(driver).move_to_element_with_offset(canvas, -200, -200).perform()
    assert "together with probability 0.97" in driver.find_element("id", "similarity-readout").text


def test_the_bare_report_has_no_holes(visit: Callable[..., Any]) -> None:
    driver = visit("bare")
    sections = driver.find_elements("css selector", "section")
    assert [section.get_attribute("id") for section in sections] == ["found", "clusters"]
    assert not driver.find_elements("css selector", ".plot")


def test_every_fact_has_its_strip_and_any_two_clusters_stand_side_by_side(visit: Callable[..., Any]) -> None:
    driver = visit("full")
    assert driver.execute_script("return document.querySelectorAll('.card').length") == 6
    assert driver.execute_script("return [...document.querySelectorAll('.strip')].every((s) => s.querySelector('rect'))")
    heads = "return [...document.querySelectorAll('.comparison thead th')].map((cell) => cell.textContent)"
    assert driver.execute_script(heads) == ["", "cluster 0", "cluster 1", "apart"]
    choose = "const b = document.querySelector('.compare-b'); b.value = '4'; b.dispatchEvent(new Event('change'))"
    driver.execute_script(choose)
    assert driver.execute_script(heads)[2] == "cluster 4"
    driver.execute_script("document.querySelector('.card button').click()")
    assert driver.execute_script("return document.querySelector('.card').classList.contains('chosen')")


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_no_table_is_cut_off(visit: Callable[..., Any], width: int) -> None:
    driver = visit("full", width)
    wide = "return [...document.querySelectorAll('.scroll')].filter((s) => s.scrollWidth > s.clientWidth + 1).length"
    if width > 720:  # on a phone a table of many columns scrolls inside its frame
        assert driver.execute_script(wide) == 0
    assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def test_of_many_clusters_the_slim_ones_are_grey_until_chosen(visit: Callable[..., Any]) -> None:
    fills = "return [...document.querySelectorAll('#tree .shape')].map((shape) => shape.getAttribute('fill'))"
    driver = visit("many", 390)
    assert len(set(driver.execute_script(fills))) == 1
    assert "too slim for a colour" in driver.find_element("css selector", "#tree ~ .hint").text
    driver.execute_script("document.querySelector('button.cluster').click()")
    assert len(set(driver.execute_script(fills))) == 2
    cells = [cell.text for cell in driver.find_elements("css selector", "#panel tr:last-child td")]
    assert cells == ["100%", "1%"]  # of a level, shares
    driver = visit("full")
    assert "too slim" not in driver.find_element("css selector", "#tree ~ .hint").text
    assert len(set(driver.execute_script(fills)) - {"none"}) == 6


def test_columns_in_which_two_clusters_are_the_same_are_left_out(visit: Callable[..., Any]) -> None:
    driver = visit("many", 390)
    assert len(driver.find_elements("css selector", ".comparison tbody tr")) == 2
    assert "Left out: 3 columns in which they are the same." in driver.find_element("css selector", ".comparison").text
    name = driver.find_element("css selector", ".comparison tbody tr:last-child th")
    assert name.text.replace("\n", "") == "a_rather_long_name_of_a_column_that_may_break"
    assert name.size["width"] < 130


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["full", "bare", "levels", "many"])
def test_readers_of_the_screen_find_nothing_amiss(visit: Callable[..., Any], name: str, theme: str) -> None:
    axe = pytest.importorskip("axe_core_python.selenium", reason="the accessibility test needs the axe-core-python package").Axe()
    found = axe.run(visit(name, theme=theme))["violations"]
    assert [(each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in found] == []


def test_the_slider_recolours_points_tree_and_table(visit: Callable[..., Any]) -> None:
    from selenium.webdriver import Keys

    driver = visit("levels")
    colours = "return [...new Set([...document.querySelectorAll(arguments[0])].map((mark) => mark.getAttribute('fill')))]"
    marks = (".point", ".feet rect")
    rows = "return document.querySelectorAll('[data-view]:not([hidden]) > .scroll tbody tr').length"
    slider, said = driver.find_element("id", "level"), driver.find_element("id", "level-told")
    seen = []
    for key, words in (
        ("", "2 clusters, strength 70%"),
        (Keys.ARROW_RIGHT, "6 clusters, strength 40%"),
        (Keys.HOME, "1 cluster, strength 100%"),
    ):
        slider.send_keys(key)
        assert said.text == slider.get_attribute("aria-valuetext") == words
        k = int(words.split()[0])
        in_points, in_tree = (set(driver.execute_script(colours, mark)) for mark in marks)
        assert (len(in_points), in_tree) == (k, in_points)
        assert driver.execute_script(rows) == k
        seen.append(in_points)
    assert seen[2] < seen[0] < seen[1]  # the largest part of a cluster keeps its colour
    driver.find_element("css selector", '[data-level-button="2"]').click()
    assert said.text == "6 clusters, strength 40%"
    driver.execute_script(
        "document.querySelectorAll('.column')[1].querySelector('.stack rect').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert said.text == "2 clusters, strength 70%"
    assert len(highlighted(driver)) == int(np.sum(np.asarray(payload().points.labels) < 3))
    slider.send_keys(Keys.ARROW_RIGHT)
    assert highlighted(driver) == set()  # a cluster of another level is no selection here


def test_a_branch_stays_selected_from_level_to_level(visit: Callable[..., Any]) -> None:
    from selenium.webdriver import Keys

    driver = visit("levels")
    click_branch(driver, tree_of(payload())[0][2])
    before = highlighted(driver)
    driver.find_element("id", "level").send_keys(Keys.ARROW_RIGHT)
    assert highlighted(driver) == before
    assert len(before) > 1
