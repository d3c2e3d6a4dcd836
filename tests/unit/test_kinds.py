"""Kinds of columns: a table of awkward ones and what each is taken for, what overrides do, and new rows read as the first."""

from __future__ import annotations

import datetime
import doctest
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.data.delimited import MISSING
from hedgerow.data.kinds import KINDS, Reading, guess, numbers, understand, words
from hedgerow.data.kinds import reading as reading_module
from hedgerow.data.kinds.dates import read_clock
from hedgerow.data.kinds.numbers import Manner, find_manner
from hedgerow.data.kinds.words import GAPS_AMONG_NUMBERS
from hedgerow.errors import ParameterError

N = 120
RNG = np.random.default_rng(0)
DAY0 = datetime.datetime(2021, 3, 1)


def spell(values: Any, form: str) -> list[str]:
    return [form.format(value) for value in values]


def european(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def pick(*entries: Any) -> list[Any]:
    return [entries[i] for i in RNG.integers(0, len(entries), N)]


def with_some(entries: list[Any], *others: str) -> list[Any]:
    return [others[i % len(others)] if i % 13 == 5 else entry for i, entry in enumerate(entries)]


def at(hours: Any, days: Any) -> list[datetime.datetime]:
    return [DAY0 + datetime.timedelta(days=float(d), hours=float(h)) for h, d in zip(hours, days, strict=True)]


PRICES = RNG.gamma(2, 900, N)
ORDERS = at(RNG.normal(18, 1, N) % 24, RNG.integers(0, 900, N))
BORN = [(datetime.date(1940, 1, 1) + datetime.timedelta(days=int(d))) for d in RNG.integers(0, 25_000, N)]
SENTENCES = [f"the {a} {b} went to the {c} on foot" for a, b, c in RNG.integers(0, 99, (N, 3))]

# name of the column: its entries, and the kind it must get
AWKWARD: dict[str, tuple[list[Any], str]] = {
    "decimal points": (spell(PRICES, "{:.1f}"), "number"),
    "price (EUR)": ([european(p) for p in PRICES], "number"),
    "commas only": ([f"{p:.1f}".replace(".", ",") for p in PRICES], "number"),
    "thousands": (spell(1000 + 100 * PRICES, "{:,.0f}"), "number"),
    "thousands by spaces": ([f"{1000 + 100 * p:,.0f}".replace(",", " ") for p in PRICES], "number"),
    "thousands by apostrophes": ([f"{1000 + 100 * p:,.0f}".replace(",", "'") for p in PRICES], "number"),
    "dollars": (spell(PRICES, "${:,.2f}"), "number"),
    "euros behind": ([european(p) + " €" for p in PRICES], "number"),
    "brackets for losses": ([f"({p:,.0f})" if i % 3 else f"{p:,.0f}" for i, p in enumerate(PRICES)], "number"),
    "per cent": (spell(RNG.uniform(0, 100, N), "{:.1f}%"), "number"),
    "weight": (spell(RNG.normal(70, 9, N), "{:.1f} kg"), "number"),
    "followers": (pick("1.2k", "3M", "870", "15k", "2.5M", "8k", "99", "1M", "7k", "650", "4.4k"), "number"),
    "detection limit": (with_some(spell(RNG.gamma(2, 3, N), "{:.2f}"), "<0.05"), "number"),
    "income": (pick("<=50K", ">50K"), "category"),
    "gross": (spell(RNG.gamma(2, 20, N), "${:.1f}M"), "number"),
    "duration": (spell(RNG.integers(10, 60, N), "1:{}:30"), "number"),
    "unknown among numbers": (with_some(spell(PRICES, "{:.2f}"), "unknown", "n/a", "?"), "number"),
    "a word of one's own among numbers": (with_some(spell(PRICES, "{:.2f}"), "pending review"), "number"),
    "dashes among numbers": (with_some(spell(PRICES, "{:.2f}"), "-", "--"), "number"),
    "excel errors": (with_some(spell(PRICES, "{:.2f}"), "#N/A", "#DIV/0!"), "number"),
    "mpg": (RNG.integers(12, 44, N).tolist(), "number"),
    "mpg as text": ([str(m) for m in RNG.integers(12, 44, N)], "number"),
    "scores of tests": (RNG.binomial(100, 0.6, N).tolist(), "number"),
    "tens": (np.clip(RNG.normal(8, 2, N).round(), 0, 10).tolist(), "category"),
    "codes from 0": (RNG.integers(0, 3, N).tolist(), "category"),
    "temperature": (RNG.integers(-10, 30, N).tolist(), "number"),
    "hour": (RNG.integers(0, 24, N).tolist(), "cycle"),
    "clock hours without a name": (RNG.integers(0, 24, N).tolist(), "number"),
    "month": (RNG.integers(1, 13, N).tolist(), "cycle"),
    "wind direction": (RNG.integers(0, 360, N).tolist(), "cycle"),
    "opening time": (spell(RNG.integers(0, 60, N), "08:{:02d}"), "cycle"),
    "alarm": (spell(RNG.integers(1, 12, N), "{}:30 pm"), "cycle"),
    "year": (RNG.integers(1950, 2020, N).tolist(), "number"),
    "few years": (pick(2007, 2008, 2009), "category"),
    "iso dates": ([day.isoformat() for day in BORN], "time"),
    "german dates": ([day.strftime("%d.%m.%Y") for day in BORN], "time"),
    "american dates": ([day.strftime("%m/%d/%Y") for day in BORN], "time"),
    "british dates": ([day.strftime("%d/%m/%y") for day in BORN if day.year > 1969] or [], "time"),
    "named months": ([day.strftime("%d %b %Y") for day in BORN], "time"),
    "american words": ([day.strftime("%B %d, %Y") for day in BORN], "time"),
    "dates in digits": ([int(day.strftime("%Y%m%d")) for day in BORN], "time"),
    "stamps": ([moment.isoformat() + "Z" for moment in ORDERS], "time"),
    "stamps with gaps": (with_some([moment.strftime("%Y-%m-%d %H:%M") for moment in ORDERS], "unknown", ""), "time"),
    "epoch": ([int(moment.timestamp()) for moment in ORDERS], "time"),
    "created_at": ([1000 * int(moment.timestamp()) for moment in ORDERS], "time"),
    "python datetimes": (list(ORDERS), "time"),
    "daily series": ([(DAY0 + datetime.timedelta(days=i)).date().isoformat() for i in range(N)], "id"),
    "row": (list(range(1, N + 1)), "id"),
    "kept rows": (np.flatnonzero(RNG.random(2 * N) < 0.7)[:N].tolist(), "id"),
    "customer_id": (RNG.permutation(np.arange(500, 500 + N)).tolist(), "id"),
    "account numbers": (RNG.choice(np.arange(10**9, 2 * 10**9, 7919), N, replace=False).tolist(), "id"),
    "uuid": ([f"{a:08x}-{b:04x}" for a, b in zip(RNG.integers(0, 2**32, N), RNG.integers(0, 2**16, N), strict=True)], "id"),
    "names of people": ([f"Person {chr(65 + i % 26)}{i}" for i in range(N)], "id"),
    "zip": (pick(94110, 94117, 10001, 60614), "category"),
    "leading zeros": (pick("02139", "10001", "94110", "00501"), "category"),
    "fips code": (pick(6037, 36061, 17031), "category"),
    "Yes and NO": (pick("Yes", "NO", "yes", "no"), "boolean"),
    "y/n": (pick("y", "n", "?"), "boolean"),
    "T/F": (pick("T", "F", ""), "boolean"),
    "ja/nein": (pick("ja", "nein", "k.A."), "boolean"),
    "true booleans": (pick(True, False, None), "boolean"),
    "zeros and ones": (pick("0", "1", "NA"), "boolean"),
    "ticks": (pick("x", "", ""), "boolean"),
    "ratings": (RNG.integers(1, 6, N).tolist(), "category"),
    "cylinders": (pick(4, 6, 8), "category"),
    "severity": (pick("none", "mild", "severe"), "category"),
    "grades": (pick("A+", "A", "B-", "C"), "category"),
    "sizes": (pick("10-20", "20-30", "30+"), "category"),
    "homeworld": ([f"place {k}" if k > 20 else "Naboo" for k in range(N - 40)] + [f"world {k}" for k in range(40)], "category"),
    "cities": ([f"city {int(k)}" for k in np.minimum(RNG.geometric(0.04, N), 60)], "category"),
    "codes with letters": (pick("A12", "A13", "B7"), "category"),
    "versions": (pick("1.2.3", "1.10.0", "2.0.1"), "category"),
    "ip": (pick("10.0.0.1", "10.0.0.2", "192.168.1.1"), "category"),
    "children": (RNG.poisson(1.2, N).tolist(), "count"),
    "visits": ([str(k) for k in RNG.poisson(4, N)], "count"),
    "comments": (SENTENCES, "text"),
    "constant": (["EUR"] * N, "drop"),
    "empty": ([""] * N, "drop"),
    "huge": ((RNG.random(N) * 1e200).tolist(), "drop"),
    "tiny": ((RNG.integers(0, 3, N) * 5e-324).tolist(), "drop"),
    "age of students": ([18 + 3 * i % 8 for i in range(N)], "number"),
    "satisfaction": ([2 + 3 * i % 7 for i in range(N)], "category"),
    "patient id": ([1 + i // 4 for i in range(N)], "id"),
    "beyond exact": (pick(9007199254740996.0, 9007199254740998.0), "number"),
}


def frame_of(entries: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(entries, dtype=object if isinstance(entries[0], str | datetime.datetime) else None)})


@pytest.mark.parametrize("name", AWKWARD)
def test_what_an_awkward_column_is_taken_for(name: str) -> None:
    entries, kind = AWKWARD[name]
    frame = frame_of(entries).rename(columns={"x": name}).assign(other=RNG.normal(size=len(entries)))
    found, _ = understand(frame).columns
    assert found.kind == kind, found.why
    assert found.why
    typed = understand(frame).table(frame)
    assert typed.column_names == [*found.parts, "other"]
    assert (len(found.parts) == 0) == (found.kind in ("id", "drop", "text"))


def test_the_whole_table_is_used_and_new_rows_are_read_alike(tmp_path) -> None:
    frame = pd.DataFrame({name: entries for name, (entries, _) in AWKWARD.items() if len(entries) == N})
    frame.to_csv(tmp_path / "x.csv", index=False)
    table = hr.data.read(tmp_path / "x.csv")
    kinds = {column.name: column.kind for column in table.reading.columns}
    wrong = {name: (kinds[name], AWKWARD[name][1]) for name in kinds if kinds[name] != AWKWARD[name][1]}
    # As text some are what a person would see there: whole numbers of 2**53 are still numbers, and a file has no types.
    assert wrong == {}
    proposal = hr.likelihood_for(table.X)
    resolved = proposal.likelihood.resolve(proposal.X)
    resolved.bind(resolved.check(proposal.X))
    again = Reading.from_json(table.reading.to_json())
    frame.iloc[:7].to_csv(tmp_path / "new.csv", index=False)
    new = hr.data.read(tmp_path / "new.csv", like=again)
    np.testing.assert_array_equal(resolved.check(new.X), resolved.check(table.X)[:7])


def test_kinds_found_are_found_again() -> None:
    frame = pd.DataFrame({name: entries for name, (entries, _) in AWKWARD.items() if len(entries) == N})
    typed = understand(frame).table(frame)
    again = understand(typed)
    assert [column.kind for column in again.columns] == [series.kind for series in typed.columns]
    twice = again.table(typed)
    for one, other in zip(typed.columns, twice.columns, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


COMMON = {"", "na", "n/a", "nan", "null", "none", "?", "."}  # written out: a word that is struck off the list must be missed


@pytest.mark.parametrize("word", sorted(COMMON | MISSING | words.GAPS | GAPS_AMONG_NUMBERS))
def test_every_word_for_a_gap(tmp_path, word: str) -> None:
    for spelt in {word, word.upper(), word.capitalize()}:
        rows = [f"{i % 7}.5,{'ab'[i % 2]}c,{i}" if i != 3 else f'"{spelt}","{spelt}",3' for i in range(40)]
        (tmp_path / "x.csv").write_text("number,name,row\n" + "\n".join(rows) + "\n")
        X = hr.data.read(tmp_path / "x.csv").X
        assert np.flatnonzero(np.isnan(X.column("number").values)).tolist() == [3]
        assert (X.column("name").values[3] == -1) == (word in (COMMON - {"none"}) | words.GAPS)


@pytest.mark.parametrize(
    ("text", "manner", "number"),
    [
        ("1.234,50", Manner(",", "."), 1234.5),
        ("1,234.50", Manner(".", ","), 1234.5),
        ("-12", Manner(), -12),
        ("−12", Manner(), -12),
        ("(3.5)", Manner(), -3.5),
        ("3,50-", Manner(","), -3.5),
        ("$ 5", Manner(unit="$"), 5),
        ("5€", Manner(unit="€"), 5),
        ("1e5", Manner(), 1e5),
        (".5", Manner(), 0.5),
        ("2.5M", Manner(scaled=True), 2.5e6),
        ("1,23", Manner(".", ","), None),
        ("5 lb", Manner(unit="kg"), None),
        ("inf", Manner(), None),
        ("1e999", Manner(), None),
        ("1-2", Manner(), None),
        ("12:30", Manner(), None),
        ("", Manner(), None),
    ],
)
def test_numbers(text: str, manner: Manner, number: float | None) -> None:
    assert manner.read(text) == number


@pytest.mark.parametrize(
    ("texts", "decimal", "thousands"),
    [
        (["1,5", "2,25"], ",", ""),
        (["1,234", "5,678"], ".", ","),
        (["1,234", "0,678"], ",", ""),
        (["1.234.567", "12.345"], ",", "."),
        (["1.234", "5.678"], ".", ""),
        (["1 234", "12 345 678"], ".", " "),
        (["1.234,5", "12"], ",", "."),
    ],
)
def test_marks(texts: list[str], decimal: str, thousands: str) -> None:
    found = find_manner(texts, [1] * len(texts))
    assert found is not None
    assert (found[0].decimal, found[0].thousands) == (decimal, thousands)


def test_clocks() -> None:
    assert read_clock("14:05") == ((14 * 60) + 5) * 60_000_000
    assert read_clock("12:00 am") == 0
    assert read_clock("25:00") is None


def test_moments_are_elapsed_days_and_points_on_circles() -> None:
    frame = pd.DataFrame({"when": ORDERS, "y": RNG.normal(size=N)})
    reading = understand(frame)
    assert reading.columns[0].parts[:3] == ("when", "when: hour (cos)", "when: hour (sin)")
    typed = reading.table(frame)
    days = np.array([(moment - min(ORDERS)).total_seconds() / 86400 for moment in ORDERS])
    np.testing.assert_allclose(typed.column("when").values, days, atol=1e-6)
    hour = np.array([moment.hour + moment.minute / 60 + moment.second / 3600 for moment in ORDERS])
    np.testing.assert_allclose(typed.column("when: hour (cos)").values, np.cos(2 * np.pi * hour / 24), atol=1e-3)
    for other in (
        pl.from_pandas(frame),
        pl.from_pandas(frame).to_arrow(),
        frame.assign(when=frame["when"].dt.tz_localize("Asia/Tokyo")),
    ):
        np.testing.assert_allclose(understand(other).table(other).column("when").values, days, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("zip", "number"),
        ("zip", "id"),
        ("ratings", "number"),
        ("ratings", "count"),
        ("names of people", "category"),
        ("iso dates", "category"),
        ("iso dates", "drop"),
        ("mpg", "time"),
        ("mpg", "cycle 100"),
        ("clock hours without a name", "cycle"),
        ("cylinders", "count"),
        ("severity", "text"),
        ("dollars", "category"),
        ("grades", "drop"),
        ("children", "category"),
        ("measured", "category"),
    ],
)
def test_a_guess_is_overridden_in_one_word(name: str, kind: str) -> None:
    entries = AWKWARD[name][0] if name in AWKWARD else RNG.normal(size=N).tolist()
    frame = pd.DataFrame({name: entries, "other": RNG.normal(size=N)})
    reading = understand(frame, {name: kind})
    assert reading.columns[0].kind == kind.partition(" ")[0]
    assert "as given" in reading.columns[0].why
    proposal = hr.likelihood_for(frame, columns={name: kind})
    resolved = proposal.likelihood.resolve(proposal.X)
    assert np.isfinite(resolved.log_marginal(proposal.X))


def test_columns_of_a_frame_named_by_numbers_are_said_by_numbers() -> None:
    frame = pd.DataFrame({0: [1, 2, 3, 4] * 10, 1: [1.5, 2.5] * 20})
    assert understand(frame, {0: "number"}).columns[0].kind == "number"
    assert understand(frame, {"0": "number"}).columns[0].given
    assert hr.propose(frame, {0: "number"}).reading.columns[0].given


@pytest.mark.parametrize(
    ("columns", "words_"),
    [
        ({"grades": "nonsense"}, "must be one of number, count"),
        ({"nobody": "number"}, "must name columns of X, which are grades"),
        ({"grades": "time"}, "must hold dates, times or seconds since 1970"),
        ({"grades": "number"}, "must hold numbers"),
        ({"grades": "boolean"}, "must have two different entries"),
        ({"other": "cycle 0"}, "must have a length above 0"),
        ({"other": "cycle"}, "must say its length"),
    ],
)
def test_overrides_that_cannot_be(columns: dict[str, str], words_: str) -> None:
    frame = pd.DataFrame({"grades": AWKWARD["grades"][0], "other": RNG.normal(0, 1000, N)})
    with pytest.raises(ParameterError, match=words_):
        understand(frame, columns)


def test_every_kind_can_be_said() -> None:
    frame = pd.DataFrame({"x": pick(1, 2)})
    for kind in KINDS:
        assert understand(frame, {"x": kind}).columns[0].kind == kind


def test_new_rows_have_gaps_where_they_cannot_be_read() -> None:
    frame = pd.DataFrame(
        {"colour": ["red", "blue"] * 30, "size": [f"{i},5" for i in range(60)], "when": ["2020-01-01", "2021-05-05"] * 30}
    )
    reading = understand(frame)
    new = pd.DataFrame({"size": ["1,5", "huge", None], "when": ["2020-01-02", "?", "soon"], "colour": ["mauve", "red", None]})
    with pytest.warns(
        UserWarning, match="colour: 1 of 3 entries .'mauve'.; size: 1 of 3 entries .'huge'.; when: 1 of 3 entries .'soon'."
    ):
        typed = reading.table(new)
    np.testing.assert_array_equal(typed.column("size").values, [1.5, np.nan, np.nan])
    np.testing.assert_array_equal(typed.column("when").values, [1, np.nan, np.nan])
    assert typed.column("colour").to_numpy().tolist() == [None, "red", None]
    with pytest.raises(ParameterError, match="It lacks colour, when"):
        reading.table(new[["size"]])


def test_rare_names_are_taken_together() -> None:
    entries, _ = AWKWARD["cities"]
    reading = understand(pd.DataFrame({"city": entries}))
    assert "are taken together" in reading.columns[0].why
    levels = reading.table(pd.DataFrame({"city": [*entries, "city never seen"]})).column("city")
    assert levels.to_numpy()[-1] == "other"
    assert all(entries.count(level) >= 5 for level in levels.texts if level != "other")


def test_reasons_are_told() -> None:
    frame = pd.DataFrame({"id": range(1, N + 1), "price": AWKWARD["unknown among numbers"][0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "'?', 'n/a', 'unknown' taken for gaps" in str(understand(frame))
    assert str(understand(frame)).splitlines()[0] == "id     id      counts up by one from row to row, like a row number"


@pytest.mark.parametrize("text", ["", "[]x", "[[1]]", "{}", "[[1,2,3,4,5]]"])
def test_readings_that_are_none(text: str) -> None:
    with pytest.raises(ParameterError, match="must be that of a reading"):
        Reading.from_json(text)


@pytest.mark.parametrize("module", [reading_module, guess, numbers, words])
def test_docstring_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0
