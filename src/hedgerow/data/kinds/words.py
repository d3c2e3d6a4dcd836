"""Words that tables are full of: for a gap, for yes and no, and in the names of columns for what stands under them."""

from __future__ import annotations

import re

from hedgerow.data.delimited import MISSING

__all__ = ["FALSE", "GAPS", "MONTHS", "TRUE", "WEEKDAYS", "hints", "is_gap", "is_truths"]

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
_PAIRS += ",evet hayır,tak nie,ano ne,igen nem,kyllä ei,はい いいえ,是 否,예 아니요,enabled disabled,pass fail"
_PAIRS += ",✓ ✗,✔ ✘,checked unchecked,positive negative,pos neg,present absent"
_TRUTHS = tuple(tuple(pair.split()) for pair in _PAIRS.split(","))
TRUE, FALSE = frozenset(pair[0] for pair in _TRUTHS), frozenset(pair[1] for pair in _TRUTHS)

#: Names of months and weekdays in small letters without accents, by their number from 1; a Monday is 1.
_MONTH_NAMES = """jan january januar janvier janv enero ene gennaio gen janeiro januari
feb february februar fevrier fevr febrero febbraio fevereiro fev februari
mar march marz mrz maerz mars marzo marco maart mrt
apr april avril avr abril abr aprile
may mai mayo maggio mag maio mei
jun june juni juin junio giugno giu junho
jul july juli juillet juil julio luglio lug julho
aug august aout agosto ago augustus
sep sept september septembre septiembre setiembre settembre set setembro
oct october oktober okt octobre octubre ottobre ott outubro out
nov november novembre noviembre novembro
dec december dezember dez decembre diciembre dic dicembre dezembro"""
_WEEKDAY_NAMES = """mon monday montag lundi lun lunes lunedi
tue tues tuesday dienstag mardi martes martedi
wed weds wednesday mittwoch mercredi mer miercoles mercoledi
thu thur thurs thursday donnerstag jeudi jeu jueves giovedi
fri friday freitag vendredi ven viernes venerdi
sat saturday samstag samedi sam sabado sabato
sun sunday sonntag dimanche dim domingo domenica"""
MONTHS = {name: place for place, line in enumerate(_MONTH_NAMES.splitlines(), 1) for name in line.split()}
WEEKDAYS = {name: place for place, line in enumerate(_WEEKDAY_NAMES.splitlines(), 1) for name in line.split()}

_HINTS = {
    "id": "id ids uid uuid guid key index idx rowid rownames rownumber serial ssn sku isbn account acct phone telephone tel fax imei",
    "code": "zip zipcode postal postcode postalcode plz cap fips naics sic icd iso code codes ward precinct tract area_code areacode",
    "hour": "hour hr heure stunde hora",
    "month": "month mois monat mes mese mon",
    "weekday": "weekday dow wday dayofweek wochentag",
    "day of year": "yday doy dayofyear julian",
    "degrees": "direction bearing heading azimuth winddir degrees angle dir",
    "version": "version versions ver release build",
    "date": "date datum fecha dates",
    "time": "time timestamp ts datetime epoch created updated modified at when seen start end unix",
    "span": "duration elapsed length runtime lap split pace",
    "year": "year yr years jahr annee anno ano built",
}
_WORDS = {word: kind for kind, words in _HINTS.items() for word in words.split()}


def is_gap(text: str, among_numbers: bool = False) -> bool:
    """Whether a text stands for an entry that is not there."""
    return text.lower() in (GAPS_AMONG_NUMBERS if among_numbers else GAPS)


def is_truths(words: set[str]) -> bool:
    """Whether words in small letters are yes and no: both, and of single letters, which are as often codes, one each.

    >>> is_truths({"yes", "no", "y"}), is_truths({"n", "o", "t"}), is_truths({"true"})
    (True, False, False)
    """
    yes, no = words & TRUE, words & FALSE
    letters = {word for word in words if len(word) == 1 and word.isalpha()}
    if not (yes and no) or not words <= TRUE | FALSE | {"0", "1"}:  # 0 and 1 by themselves are numbers
        return False
    return len(letters & yes) <= 1 and len(letters & no) <= 1


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
