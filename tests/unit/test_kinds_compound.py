"""Numbers written in parts, places, ratios and longer spans; truths in figures and words; what looks like them and is none."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.data.kinds import Reading, understand
from hedgerow.data.kinds.compound import COMPOUND, find_compound
from hedgerow.data.kinds.dates import read_span

N = 120
RNG = np.random.default_rng(8)
TALL = RNG.normal(68, 4, N)
MANY = RNG.integers(1, 60, N)


def pick(*entries: Any) -> list[Any]:
    return [entries[i] for i in RNG.integers(0, len(entries), N)]


ENDS = {1: "st", 2: "nd", 3: "rd"}
# name of the column: its entries, the kind, words of the reason
WRITTEN: dict[str, tuple[list[str], str, str]] = {
    "height": ([f"{int(x) // 12}'{int(x) % 12}\"" for x in TALL], "number", "in inches"),
    "tall": ([f"{int(x) // 12} ft {int(x) % 12} in" if x > 60 else "5 ft" for x in TALL], "number", "in inches"),
    "lat": ([f"{int(x)}°{int(7 * x) % 60:02d}'{int(13 * x) % 60:02d}\"N" for x in TALL], "number", "latitude"),
    "lon": ([f"{x:.3f}° {'EW'[i % 2]}" for i, x in enumerate(TALL)], "number", "longitude"),
    "finish": ([f"{i}{'th' if 10 < i % 100 < 14 else ENDS.get(i % 10, 'th')}" for i in MANY], "number", "places in an order"),
    "chart": ([f"#{i}" for i in MANY], "number", "places in an order"),
    "pipe": ([f"{i} {k}/8" if k else str(i) for i, k in zip(MANY, RNG.integers(0, 8, N), strict=True)], "number", "fractions"),
    "cups": ([f"{i}{s}" for i, s in zip(MANY, pick("½", "¼", "", "¾"), strict=True)], "number", "fractions"),
    "odds": ([f"{x / 7:.1f}:1" for x in TALL], "number", "ratios to 1"),
    "rate": ([f"1 in {i}" for i in MANY], "number", "ratios to 1"),
    "stars": ([f"{x / 20:.1f} out of 5" for x in TALL], "number", "out of 5"),
    "tenure": ([f"{i} years {k} months" for i, k in zip(MANY, RNG.integers(0, 12, N), strict=True)], "number", "spans of time"),
    "waited": ([f"{i} {unit}" for i, unit in zip(MANY, pick("months", "years", "weeks"), strict=True)], "number", "spans of time"),
    "paid": (pick("0", "1", "true", "false"), "boolean", "yes or no"),
    "rings": (pick("n", "o", "t"), "category", "names"),  # none, one, two: no oui among them
    "agreed": (pick("y", "no", "yes"), "boolean", "yes or no"),
    "scores": ([f"{i}:{k}" for i, k in zip(MANY, RNG.integers(60, 99, N), strict=True)], "id", ""),
    "labels": ([f"n{i}" for i in RNG.permutation(N)], "id", "like identifiers"),
    "shirt": ([f"{i}w" for i in RNG.permutation(N)], "number", "in w"),
    "day": (pick("1/2", "3/4", "1/4"), "category", "two numbers in one entry"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_a_column_in_parts_is_taken_for(name: str) -> None:
    entries, kind, words = WRITTEN[name]
    found = understand(pd.DataFrame({name: entries, "other": RNG.normal(size=N)})).columns[0]
    if name == "scores":
        assert found.kind != "number"
        return
    assert found.kind == kind, found.why
    assert words in found.why


def test_a_file_of_them_is_read_and_new_rows_as_the_first(tmp_path) -> None:
    frame = pd.DataFrame({name: entries for name, (entries, kind, _) in WRITTEN.items() if kind == "number"})
    frame.loc[5, "height"] = "unknown"
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    for path in (tmp_path / "x.csv", tmp_path / "x.parquet"):
        table = hr.data.read(path)
        assert {column.kind for column in table.reading.columns} == {"number"}
        heights = table.X.column("height").values
        assert np.isnan(heights[5])
        assert heights[0] == int(TALL[0])
        again = Reading.from_json(table.reading.to_json()).table(pd.read_csv(io.StringIO(frame.to_csv(index=False))))
        for name in frame.columns:
            np.testing.assert_array_equal(again.column(name).values, table.X.column(name).values)
    assert hr.propose(frame).sample(draws=3, warmup=3, chains=1, seed=0, progress=False).n == N


@pytest.mark.parametrize(
    ("way", "text", "value"),
    [
        ("feet and inches", "6'4\"", 76.0),
        ("feet and inches", "5 ft", 60.0),
        ("feet and inches", "6'13", None),
        ("degrees", "48°30'36\"S", -48.51),
        ("degrees", "W 11.5°", -11.5),
        ("degrees", "48°61'N", None),
        ("degrees", "12 N", None),
        ("degrees", "n12", None),
        ("degrees", "12°", None),
        ("places", "21st", 21.0),
        ("places", "No. 7", 7.0),
        ("places", "7thing", None),
        ("fractions", "3 1/2", 3.5),
        ("fractions", "2-1/4", 2.25),
        ("fractions", "7", 7.0),
        ("fractions", "1⁄8", 0.125),
        ("fractions", "3/2", None),
        ("fractions", "", None),
        ("ratios", "2.5:1", 2.5),
        ("ratios", "1:4", 0.25),
        ("ratios", "1:0", None),
        ("ratios", "2:3", None),
    ],
)
def test_entries_in_parts(way: str, text: str, value: float | None) -> None:
    found = COMPOUND[way](text)
    assert found == (value if value is None else pytest.approx(value))


def test_a_column_must_be_of_one_way() -> None:
    assert find_compound(["6'4\"", "1st"], [1, 1]) is None
    assert find_compound(["", "unknown"], [1, 1]) is None
    assert find_compound(["6'4\"", "about six feet"], [98, 2]) == ("feet and inches", "feet and inches: in inches")
    assert find_compound(["6'4\"", "about six feet"], [97, 3]) is None


def test_what_a_person_says_goes() -> None:
    frame = pd.DataFrame({"height": WRITTEN["height"][0], "other": RNG.normal(size=N)})
    assert understand(frame, {"height": "category"}).columns[0].kind == "category"
    given = understand(frame, {"height": "number"})
    assert "in inches" in given.columns[0].why
    assert given.table(frame).column("height").values[0] == int(TALL[0])


def test_spans_of_months_and_years_have_their_mean_length() -> None:
    year = read_span("1 year")
    assert year == pytest.approx(365.2425 * 86_400e6)
    assert read_span("24 months") == pytest.approx(2 * year)
    assert read_span("1 year 6 mos") == pytest.approx(1.5 * year)
