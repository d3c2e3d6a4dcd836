"""Words that tables are full of: for a gap, for yes and no, and in the names of columns for what stands under them."""

from __future__ import annotations

import re

from hedgerow.data.delimited import MISSING

__all__ = ["FALSE", "GAPS", "TRUE", "hints", "is_gap"]

#: Words for a gap wherever they stand; `MISSING` has the commonest.
GAPS = MISSING | {
    "#n/a",
    "#na",
    "#null!",
    "#div/0!",
    "#value!",
    "#ref!",
    "#num!",
    "<na>",
    "nat",
    "n.a.",
    "n/d",
    "n.d.",
    "-",
    "--",
    "---",
    "…",
}
GAPS = GAPS - {"none"}
#: Words for a gap among numbers, dates and truths, and names like any other among names.
GAPS_AMONG_NUMBERS = GAPS | {
    *("none", "nil", "unknown", "unk", "missing", "not available", "not applicable", "not known", "not recorded", "not reported"),
    *("no data", "nodata", "undefined", "undetermined", "invalid", "error", "tbd", "tba", "refused", "blank", "empty", "x", "*"),
    *("unbekannt", "k.a.", "inconnu", "desconocido", "sconosciuto"),
}

_PAIRS = "true false,t f,yes no,y n,on off,ja nein,j n,oui non,o n,sí no,si no,sim não,sim nao,da net,да нет,wahr falsch,vrai faux"
_PAIRS += ",✓ ✗,✔ ✘,checked unchecked,positive negative,pos neg,present absent"
TRUE = frozenset(pair.split()[0] for pair in _PAIRS.split(","))
FALSE = frozenset(pair.split()[1] for pair in _PAIRS.split(","))

_HINTS = {
    "id": "id ids uid uuid guid key index idx rowid rownames rownumber serial ssn sku isbn account acct phone telephone tel fax imei",
    "code": "zip zipcode postal postcode postalcode plz cap fips naics sic icd iso code codes ward precinct tract area_code areacode",
    "hour": "hour hr heure stunde hora",
    "month": "month mois monat mes mese mon",
    "weekday": "weekday dow wday dayofweek wochentag",
    "day of year": "yday doy dayofyear julian",
    "degrees": "direction bearing heading azimuth winddir degrees angle dir",
    "time": "time timestamp ts date datetime epoch created updated modified at when seen start end unix",
    "span": "duration elapsed length runtime lap split pace",
    "year": "year yr years jahr annee anno ano built",
}
_WORDS = {word: kind for kind, words in _HINTS.items() for word in words.split()}


def is_gap(text: str, among_numbers: bool = False) -> bool:
    """Whether a text stands for an entry that is not there."""
    return text.lower() in (GAPS_AMONG_NUMBERS if among_numbers else GAPS)


def hints(name: object) -> set[str]:
    """What the words of a column's name say about it.

    >>> sorted(hints("customerId")), hints("Zip Code"), hints("miles_per_hour")
    (['id'], {'code'}, set())
    """
    if not isinstance(name, str):
        return set()
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    words = re.split(r"[^0-9a-zA-Zà-ÿ]+", spaced.lower())
    if "per" in words:
        return set()
    return {_WORDS[word] for word in (*words, "".join(words)) if word in _WORDS}
