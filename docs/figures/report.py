"""The top of the report's page on the wines, as a browser shows it. Needs Chromium, its driver and selenium.

python docs/figures/report.py    writes report.png beside this file
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import hedgerow as hr

WIDTH, HEIGHT = 1280, 860


def main(folder: Path) -> None:
    """Fit, write the page, photograph it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    wine = hr.data.wine()
    columns = dict(zip(wine.feature_names, wine.X.T, strict=True))
    post = hr.propose(columns).sample(until=hr.Agreement(max_draws=20_000), seed=0, progress=False)
    with tempfile.TemporaryDirectory() as place:
        page = Path(place) / "wines.html"
        post.report(page, title="Wines")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
        for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
        try:
            browser.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride", {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            )
            browser.get(page.as_uri())
            browser.save_screenshot(str(folder / "report.png"))
        finally:
            browser.quit()
    print("wrote report.png")


if __name__ == "__main__":
    main(Path(__file__).parent)
