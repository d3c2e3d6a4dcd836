"""Kinds of columns spelled in rarer ways: months of other languages, spans, powers of ten, footnotes, mixed units, nines for gaps."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.data.kinds import Reading, understand
from hedgerow.data.kinds.dates import find_order, read_clock, read_moment, read_span, read_yearless
from hedgerow.data.kinds.numbers import Manner, find_manner
from hedgerow.errors import ParameterError

N = 120
RNG = np.random.default_rng(1)
PRICES = RNG.gamma(2, 900, N)
DAYS = [
    datetime.datetime(2022, 1, 3) + datetime.timedelta(days=float(d), hours=float(h))
    for d, h in zip(RNG.integers(0, 700, N), RNG.normal(15, 2, N), strict=True)
]
GERMAN = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"]
FRENCH = ["janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"]
SPANISH = ["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"]


def whole(low: int, high: int) -> list[int]:
    return RNG.integers(low, high, N).tolist()


def pick(*entries: Any) -> list[Any]:
    return [entries[i] for i in RNG.integers(0, len(entries), N)]


def spell(form: str, *columns: Any) -> list[str]:
    return [form.format(*row) for row in zip(*columns, strict=True)]


def days(form: str) -> list[str]:
    return [day.strftime(form) for day in DAYS]


def with_some(entries: list[Any], *others: Any) -> list[Any]:
    return [others[i % len(others)] if i % 11 == 4 else entry for i, entry in enumerate(entries)]


MEASURED = [f"{x:.1f}" for x in RNG.normal(50, 9, N)]
# name of the column: its entries, the kind that a person gives it, and words of the reason
SPELLED: dict[str, tuple[list[Any], str, str]] = {
    "decimal points and commas": ([f"{x:.2f}".replace(".", ".,"[i % 2]) for i, x in enumerate(PRICES)], "number", "points and commas"),
    "lakh and crore": (spell("{},{:02d},{:03d}", whole(1, 99), whole(0, 99), whole(0, 999)), "number", "thousands"),
    "narrow spaces": ([f"{10 * x:,.0f}".replace(",", "\u202f") for x in PRICES], "number", "thousands set apart by spaces"),
    "losses in dollars": ([f"(${x:,.2f})" if i % 3 else f"${x:,.2f}" for i, x in enumerate(PRICES)], "number", "in $"),
    "grams and kilograms": ([f"{x:.0f} g" if i % 2 else f"{x / 1000:.3f} kg" for i, x in enumerate(PRICES)], "number", "kind"),
    "ages": (spell("{} {}", whole(18, 90), pick("yrs", "years")), "number", "years"),
    "sizes of files": (spell("{:.1f} {}", PRICES, pick("KB", "MB", "GB")), "number", "brought to it"),
    "lowest price": (spell("from ${:.0f}", PRICES), "number", "in $"),
    "about": (spell("~{:.0f}", PRICES), "number", "measurements"),
    "euros and dollars": (spell("{}{:,.2f}", pick("€", "$"), PRICES), "id", "numbers in several units ($, €)"),
    "footnotes": ([x + "*" * (i % 9 == 0) for i, x in enumerate(MEASURED)], "number", "measurements"),
    "notes in brackets": ([x + "[a]" * (i % 9 == 0) for i, x in enumerate(MEASURED)], "number", "measurements"),
    "errors behind": ([x + " ± 0.3" for x in MEASURED], "number", "measurements"),
    "powers of ten": (spell("{:.2f}×10^{}", PRICES / 900, whole(-3, 5)), "number", "measurements"),
    "fortran": ([f"{x:.3e}".replace("e", "D") for x in PRICES], "number", "measurements"),
    "points out of 100": (spell("{}/100", whole(30, 100)), "number", "out of 100"),
    "points out of 10": (spell("{}/10", whole(1, 11)), "category", "out of 10"),
    "below the limit": (with_some(MEASURED, "<20", "> 90"), "number", "'<20', '> 90' taken for the number itself"),
    "mostly below": (["<0.05" if i % 5 else f"{x:.2f}" for i, x in enumerate(PRICES / 1000)], "number", "'<0.05' taken"),
    "not asked": (with_some(MEASURED, "N/A (not asked)"), "number", "taken for gaps"),
    "minus nines": (with_some([float(x) for x in MEASURED], -999.0), "number", "-999 taken for gaps"),
    "nines": (with_some(whole(18, 80), 9999), "number", "9999 taken for gaps"),
    "nines in texts": (with_some(MEASURED, "-9999"), "number", "-9999 taken for gaps"),
    "no gap": (with_some(whole(900, 998), 999), "number", "measurements (whole numbers from"),
    "pressure": (spell("{}/{}", whole(100, 160), whole(60, 100)), "id", "two numbers in one entry"),
    "place": (spell("{:.4f}, {:.4f}", RNG.normal(48, 1, N), RNG.normal(11, 1, N)), "id", "two numbers in one entry"),
    "latitude": ([f"{x:.4f}° N" for x in RNG.normal(48, 1, N)], "number", "in ° N"),
    "german months": ([f"{d.day}. {GERMAN[d.month - 1]} {d.year}" for d in DAYS], "time", "dates"),
    "french months": ([f"{d.day} {FRENCH[d.month - 1]} {d.year}" for d in DAYS], "time", "dates"),
    "spanish months": ([f"{d.day} de {SPANISH[d.month - 1]} de {d.year}" for d in DAYS], "time", "dates"),
    "japanese": ([f"{d.year}年{d.month}月{d.day}日" for d in DAYS], "time", "dates"),
    "in words": (days("on %d %B %Y"), "time", "dates"),
    "as c prints": (days("%a %b %d %H:%M:%S %Y"), "time", "hour"),
    "with a zone": (days("%Y-%m-%d %H:%M:%S CET"), "time", "hour"),
    "weeks": (days("%G-W%V"), "time", "dates"),
    "days of weeks": (days("%G-W%V-%u"), "time", "dates"),
    "quarters": ([f"{d.year}-Q{(d.month + 2) // 3}" for d in DAYS], "time", "dates"),
    "quarters first": ([f"Q{(d.month + 2) // 3} {d.year}" for d in DAYS], "time", "dates"),
    "month and year": (days("%m/%Y"), "time", "dates"),
    "year and month": (days("%Y.%m"), "time", "dates"),
    "short years first": (days("%y-%m-%d"), "time", "the year first"),
    "short years last": (days("%d/%m/%y"), "time", "the day first"),
    "stamps": (days("%Y%m%dT%H%M%S"), "time", "hour"),
    "stamps in digits": ([int(day) for day in days("%Y%m%d%H%M%S")], "time", "dates written as digits"),
    "date": (whole(43_000, 45_000), "time", "days as spreadsheets count them"),
    "day and month": (days("%d.%m."), "cycle", "days without a year"),
    "day, month in words": (days("%d-%b"), "cycle", "days without a year"),
    "months": (days("%B"), "cycle", "names of months"),
    "mois": ([FRENCH[d.month - 1] for d in DAYS], "cycle", "names of months"),
    "weekdays": (days("%a"), "cycle", "names of weekdays"),
    "noon": ([f"{d.hour % 12 or 12} {'AP'[d.hour >= 12]}M" for d in DAYS], "cycle", "times of day"),
    "midnight": (pick("24:00", "23:30", "22:15"), "cycle", "times of day"),
    "heures": (days("%Hh%M"), "cycle", "times of day"),
    "dep_time": ([int(day) for day in days("%H%M")], "cycle", "clocks without a colon"),
    "air_time": (whole(30, 400), "number", "measurements"),
    "more than a day": (spell("{}:{:02d}:{:02d}", whole(20, 90), whole(0, 60), whole(0, 60)), "number", "spans of time"),
    "hours and minutes": (spell("{}h {}m", whole(0, 9), whole(0, 60)), "number", "spans of time"),
    "hours or minutes": (spell("{}{}", whole(2, 60), pick(" min", " h", " h 20 min")), "number", "spans of time"),
    "iso spans": (spell("PT{}H{}M", whole(0, 9), whole(0, 60)), "number", "spans of time"),
    "as pandas prints spans": (spell("{} days {:02d}:05:00", whole(0, 9), whole(0, 24)), "number", "spans of time"),
    "minutes": (spell("{} min", whole(3, 200)), "number", "in min"),
    "iban": (spell("DE{:02d} {:04d} {:04d} {:04d}", *(whole(0, 99) for _ in range(4))), "id", "like identifiers"),
    "version": (pick("1.2", "1.10", "2.0"), "category", "versions"),
    "evet": (pick("Evet", "Hayır"), "boolean", "yes or no"),
    "tak": (pick("tak", "nie"), "boolean", "yes or no"),
    "hai": (pick("はい", "いいえ"), "boolean", "yes or no"),
    "switch": (pick("enabled", "disabled"), "boolean", "yes or no"),
    "result": (pick("pass", "fail"), "boolean", "yes or no"),
}


@pytest.mark.parametrize("name", SPELLED)
def test_what_a_spelled_column_is_taken_for(name: str) -> None:
    entries, kind, words = SPELLED[name]
    frame = pd.DataFrame({name: pd.Series(entries, dtype=object), "other": RNG.normal(size=N)})
    found = understand(frame).columns[0]
    assert found.kind == kind, found.why
    assert words in found.why


def test_a_file_of_them_is_read_and_read_again(tmp_path) -> None:
    frame = pd.DataFrame({name: pd.Series(entries, dtype=object) for name, (entries, _, _) in SPELLED.items()})
    frame.to_csv(tmp_path / "x.csv", index=False)
    table = hr.data.read(tmp_path / "x.csv")
    kinds = {column.name: column.kind for column in table.reading.columns}
    wrong = {name: (kinds[name], kind) for name, (_, kind, _) in SPELLED.items() if kinds[name] != kind}
    assert wrong == {}
    again = Reading.from_json(table.reading.to_json())
    new, lost = again.read(table.raw)
    assert lost == {}
    resolved = hr.likelihood_for(table.X).likelihood.resolve(table.X)
    np.testing.assert_array_equal(resolved.check(new), resolved.check(table.X))


def test_nines_are_gaps_and_nothing_is_warned_of() -> None:
    for name in ("minus nines", "nines", "nines in texts"):
        frame = pd.DataFrame({"x": pd.Series(SPELLED[name][0], dtype=object)})
        typed, lost = understand(frame).read(frame)
        assert np.flatnonzero(np.isnan(typed.column("x").values)).tolist() == [i for i in range(N) if i % 11 == 4]
        assert lost == {}
        kept = understand(frame, {"x": "number"}).table(frame).column("x").values
        assert not np.isnan(kept).any()
    once = with_some(whole(18, 80), 40)
    once[3] = 9999  # one row may be what it says
    assert "gaps" not in understand(pd.DataFrame({"x": once})).columns[0].why


@pytest.mark.parametrize(
    ("text", "order", "iso"),
    [
        ("2020-02-29", False, "2020-02-29"),
        ("2020-02-30", False, None),
        ("3/4/2020", False, "2020-03-04"),
        ("3/4/2020", True, "2020-04-03"),
        ("31/12/99", True, "1999-12-31"),
        ("5 Mar 2021 14:05", False, "2021-03-05T14:05"),
        ("March 5, 2021", False, "2021-03-05"),
        ("Fri, 05 Mar 2021 14:05:01", False, "2021-03-05T14:05:01"),
        ("Mar 2021", False, "2021-03-01"),
        ("2021-03", False, "2021-03-01"),
        ("20210305", False, "2021-03-05"),
        ("2021-03-05T14:05:01.25Z", False, "2021-03-05T14:05:01.25"),
        ("2021-03-05 2:05 PM", False, "2021-03-05T14:05"),
        ("12345678", False, None),
        ("hello", False, None),
        ("22-07-06", "year", "2022-07-06"),
        ("6. März 2022", False, "2022-03-06"),
        ("6 de mayo de 2022", False, "2022-05-06"),
        ("1er août 2022", False, "2022-08-01"),
        ("Wed Jul 06 12:18:18 2022", False, "2022-07-06T12:18:18"),
        ("2022-W27", False, "2022-07-04"),
        ("2022W276", False, "2022-07-09"),
        ("2022-W60", False, None),
        ("Q3 2022", False, "2022-07-01"),
        ("2022Q4", False, "2022-10-01"),
        ("07/2022", False, "2022-07-01"),
        ("13/2022", False, None),
        ("2022.07", False, "2022-07-01"),
        ("2022.7", False, None),
        ("20220706T121818", False, "2022-07-06T12:18:18"),
        ("20220706121818", False, "2022-07-06T12:18:18"),
        ("20221306121818", False, None),
        ("2022年7月6日", False, "2022-07-06"),
        ("2022-07-06 12:18 EST", False, "2022-07-06T12:18"),
    ],
)
def test_moments(text: str, order: bool | str, iso: str | None) -> None:
    found = read_moment(text, order)
    assert (None if found is None else np.datetime64(found, "us")) == (None if iso is None else np.datetime64(iso))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("26:10:05", 94_205),
        ("2 days 03:00:00", 183_600),
        ("3:45", 13_500),
        ("6h 23m", 22_980),
        ("1 h 20 min", 4_800),
        ("90 sec", 90),
        ("PT5H4M", 18_240),
        ("P1DT2H", 93_600),
        ("P", None),
        ("3:75", None),
        ("5 kg", None),
        ("", None),
        ("soon", None),
    ],
)
def test_spans(text: str, seconds: float | None) -> None:
    found = read_span(text)
    assert found == (None if seconds is None else pytest.approx(1e6 * seconds))


def test_clocks_and_days_without_a_year() -> None:
    hour = 3_600_000_000
    assert [read_clock(text) for text in ("3 pm", "24:00", "14h30", "24:10", "13 pm", "3")] == [
        15 * hour,
        0,
        14.5 * hour,
        None,
        None,
        None,
    ]
    assert [read_yearless(text) for text in ("1. Feb", "03.02.", "Feb 29", "30-Feb", "3.2")] == [
        31 * 24 * hour,
        33 * 24 * hour,
        59 * 24 * hour,
        None,
        None,
    ]
    assert find_order(["01/02/22", "05/11/22", "07/12/22"], [1, 1, 1]) == ("dates", False)


@pytest.mark.parametrize(
    ("text", "manner", "number"),
    [
        ("1,23,45,678", Manner(".", ","), 12_345_678),
        ("1,23,45", Manner(".", ","), None),
        ("204 g", Manner(unit="kg", scaled=True), 0.204),
        ("1.5 kg", Manner(unit="kg", scaled=True), 1.5),
        ("5 km", Manner(unit="kg", scaled=True), None),
        ("2.5 million", Manner(scaled=True), 2.5e6),
        ("41,63", Manner(".,"), 41.63),
        ("41.63", Manner(".,"), 41.63),
        ("57/100", Manner(unit="/100"), 57),
        ("57/50", Manner(unit="/100"), None),
        ("4.7D-01", Manner(), 0.47),
        ("2.5 x 10^3", Manner(), 2500),
        ("12.5*", Manner(), 12.5),
        ("12.5 ± 0.2", Manner(), 12.5),
        ("over 50", Manner(), 50),
    ],
)
def test_numbers(text: str, manner: Manner, number: float | None) -> None:
    found = manner.read(text)
    assert found == (None if number is None else pytest.approx(number))


def test_levels_with_signs_of_comparison_stay_levels() -> None:
    assert find_manner(["<=50K", ">50K"], [50, 50]) is None


@pytest.mark.parametrize(
    ("name", "said", "kind", "words"),
    [
        ("months", "category", "category", "as given"),
        ("months", "cycle", "cycle", "names of months"),
        ("weekdays", "cycle", "cycle", "names of weekdays"),
        ("noon", "number", "number", "seconds"),
        ("hours and minutes", "number", "number", "seconds"),
        ("day and month", "category", "category", "as given"),
        ("dep_time", "number", "number", "as given"),
        ("version", "number", "number", "as given"),
        ("nines", "count", "count", "as given"),
        ("euros and dollars", "category", "category", "as given"),
        ("weeks", "category", "category", "as given"),
    ],
)
def test_a_guess_is_overridden_in_one_word(name: str, said: str, kind: str, words: str) -> None:
    frame = pd.DataFrame({name: pd.Series(SPELLED[name][0], dtype=object), "other": RNG.normal(size=N)})
    found = understand(frame, {name: said}).columns[0]
    assert (found.kind, words in found.why) == (kind, True)
    understand(frame, {name: said}).table(frame)


def test_numbers_with_a_unit_are_no_times() -> None:
    frame = pd.DataFrame({"x": [f"{x} kg" for x in MEASURED]})
    with pytest.raises(ParameterError, match="must hold dates, times or seconds since 1970"):
        understand(frame, {"x": "time"})


def test_names_that_differ_in_case_or_spaces_only_are_one_level() -> None:
    rng = np.random.default_rng(0)
    plain = rng.choice(["red", "blue", "green"], 90)
    spelled = np.array([rng.choice([name, name, name, name.upper(), f" {name.title()} "]) for name in plain])
    table = pd.DataFrame({"colour": spelled, "x": rng.normal(size=90) + 6 * (plain == "red")})
    for given in (table, np.array(table[["colour", "x"]].astype(str), dtype=str)):
        column = understand(given).columns[0]
        assert (column.kind, column.how["levels"]) == ("category", ["blue", "green", "red"])
        assert "names, 3 different ones; " in column.why
        assert "and 2 more such read as one: they differ in case or spaces only" in column.why
    reading = Reading.from_json(understand(table).to_json())
    new = pd.DataFrame({"colour": ["RED", "bLUE ", "green", "pink"], "x": [0.0, 0.0, 0.0, 0.0]})
    with pytest.warns(UserWarning, match="pink"):
        assert reading.table(new).column("colour").values.tolist() == [2, 0, 1, -1]
    post = hr.propose(table).sample(draws=5, warmup=5, chains=1, seed=0, progress=False)
    same = new.assign(colour=["red", "blue", "green", "green"])
    assert post.predict(same).tolist() == post.predict(same.assign(colour=["Red", "BLUE", " green", "GREEN"])).tolist()


def test_names_keep_their_spelling_where_it_was_said_or_tells_rows_apart() -> None:
    names = pick("AA", "Aa", "aa")
    for table, columns in (({"g": pd.Series(names, dtype="category")}, None), ({"g": names}, {"g": "category"})):
        assert len(understand(pd.DataFrame({**table, "x": RNG.normal(size=N)}), columns).columns[0].how["levels"]) == 3
    assert understand(pd.DataFrame({"x": [1.5, 2.5, 3.1], "key": ["ab", "aB", "Ab"]})).columns[1].kind == "id"
    assert understand(pd.DataFrame({"x": RNG.normal(size=N), "same": pick("Red", "red")})).columns[1].kind == "drop"
    told = understand(pd.DataFrame({"x": RNG.normal(size=N), "colour": pick("red", "blue")})).columns[1]
    assert "spelled" not in told.how


def test_case_tells_in_codes_of_one_or_two_letters() -> None:
    found = understand(pd.DataFrame({"g": pick("AA", "Aa", "aa"), "allele": pick("A", "a")})).columns
    assert [len(column.how["levels"]) for column in found] == [3, 2]
    assert not any("spelled" in column.how for column in found)
