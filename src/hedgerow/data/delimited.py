"""Text with delimiters to columns of texts: encoding, delimiter and first line as a person would see them.

Every different text of a column is kept once, and rows point at it: what is asked of a text later is asked once, and a long file
of few different entries stays small. Nothing of the house is imported, since `child.py` runs this where nothing else is loaded.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MISSING", "Delimited", "NoRowsError", "decode", "is_number", "read_delimited"]

#: Words for an entry that is not there, in small letters.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "."})
#: Looked for in this order: a comma also stands in numbers and sentences, the others hardly ever do.
DELIMITERS = "\t;|,"
LINES_TO_TELL = 100
_ROWS_AT_ONCE = 4096
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as that of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class NoRowsError(ValueError):
    """A first line with names, and nothing under it."""


@dataclass(frozen=True, eq=False)
class Delimited:
    """Columns as places in lists of different texts; names if the first line has them; what was guessed, in words."""

    codes: list[npt.NDArray[np.int32]]
    texts: list[list[str]]
    names: list[str] | None
    notes: list[str]


def read_delimited(content: bytes, header: bool | None = None) -> Delimited:
    """The table in a text; `header` says whether its first line holds names, None to guess. ValueError for what is no table."""
    text, notes = decode(content)
    del content
    file, delimiter = io.StringIO(text, newline=""), ""
    if text[:4].lower() == "sep=" and text[5:6] in "\r\n" and text[4:5]:
        delimiter = text[4]
        file.readline()
    begin, remarks = _after_remarks(file)
    file.seek(begin)
    delimiter = delimiter or _delimiter(list(islice(file, LINES_TO_TELL)))
    file.seek(begin)
    if remarks and len(remarks[-1].split(delimiter)) == len(next(csv.reader(file, delimiter=delimiter), [])) > 1:
        text = remarks.pop()[1:].lstrip() + text[begin:]  # names behind a mark, as programs for genomes write them
        file, begin = io.StringIO(text, newline=""), 0
    if remarks:
        notes.append(f"skipped at the top: {len(remarks):,} line{chr(115) * (len(remarks) > 1)} beginning with #")
    file.seek(begin)
    rows = _rows(file, delimiter)
    first = next(rows, None)
    if first is None:
        raise ValueError("it is empty and must have at least one row")
    codes, texts = _columns(rows, first)
    named = _is_header(first, texts) if header is None else header
    if delimiter != ",":
        notes.append(f"entries apart by {'a tab' if delimiter == chr(9) else 'spaces' if delimiter == ' ' else repr(delimiter)}")
    if not named:
        notes.append("the first line holds a row, not names")
        codes, texts = _with_first(codes, texts, first)
    if not len(codes[0]):
        raise NoRowsError("it must have at least one row under its names and has none")
    return Delimited(codes, texts, [name or f"column {j + 1}" for j, name in enumerate(first)] if named else None, notes)


def _after_remarks(file: io.StringIO) -> tuple[int, list[str]]:
    """Where the lines that begin with # end, and these lines; none of them if there is nothing else."""
    begin = at = file.tell()
    remarks: list[str] = []
    while (line := file.readline()).startswith("#"):
        remarks.append(line)
        at = file.tell()
    return (at, remarks) if line else (begin, [])


def is_number(entry: str) -> bool:
    """Whether a text is a number as programs write it."""
    try:
        float(entry)
    except ValueError:
        return False
    return True


def decode(content: bytes) -> tuple[str, list[str]]:
    """The text, by its byte-order mark, else UTF-8, else UTF-16 if every second byte is 0, else as Windows of the West writes."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            text = content.decode(encoding).removeprefix("\ufeff")
            return text, [] if encoding == "utf-8" else [f"text in {encoding.upper()}"]
    start = content[:2000]
    for encoding, zeros in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
        if len(start) >= 4 and zeros.count(0) > 0.7 * len(zeros):
            return content.decode(encoding), [f"text in {encoding.upper()}"]
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError as error:
        try:
            return content.decode("cp1252"), ["text in Windows-1252, as it is no UTF-8"]
        except UnicodeDecodeError:
            raise error from None


def _delimiter(lines: list[str]) -> str:
    """The first delimiter that makes all lines equally long; the most frequent of the first line where none does."""
    whole = lines[:-1] if len(lines) == LINES_TO_TELL else lines  # a quoted entry may go on beyond the last line
    for delimiter in DELIMITERS:
        if any(delimiter in line for line in whole[:1]):
            widths = {len(row) for row in csv.reader(whole, delimiter=delimiter) if row}
            if len(widths) == 1 and max(widths) > 1:
                return delimiter
    parts = [line.split() for line in whole if line.strip()]
    entries = [entry for row in parts for entry in row]
    even = bool(parts) and not any(d in whole[0] for d in DELIMITERS) and {len(row) for row in parts} == {max(len(parts[0]), 2)}
    if even and sum(map(is_number, entries)) > len(entries) / 2:
        return " "
    return max(reversed(DELIMITERS), key=lines[0].count) if lines else ","


def _rows(file: io.StringIO, delimiter: str) -> Iterator[list[str]]:
    """Rows that are not empty, all as long as the first; ValueError names the line of another."""
    reader: Any = (line.split() for line in file) if delimiter == " " else csv.reader(file, delimiter=delimiter)
    width = 0
    for number, row in enumerate(reader, 1):
        if row:
            width = width or len(row)
            if len(row) != width:
                raise ValueError(f"line {number} must have {width} entries, as the first line has. Got {len(row)}")
            yield [entry.strip() for entry in row]


def _columns(rows: Iterator[list[str]], first: list[str]) -> tuple[list[npt.NDArray[np.int32]], list[list[str]]]:
    """Every column as places in its different texts."""
    places: list[defaultdict[str, int]] = [defaultdict() for _ in first]
    for index in places:
        index.default_factory = index.__len__  # a new text gets the next place
    codes: list[list[npt.NDArray[np.int32]]] = [[] for _ in first]
    while block := list(islice(rows, _ROWS_AT_ONCE)):
        for index, done, column in zip(places, codes, zip(*block, strict=True), strict=True):
            done.append(np.fromiter(map(index.__getitem__, column), np.int32, len(column)))
    empty = np.empty(0, np.int32)
    return [np.concatenate(parts) if parts else empty for parts in codes], [list(index) for index in places]


def _with_first(
    codes: list[npt.NDArray[np.int32]], texts: list[list[str]], first: Sequence[str]
) -> tuple[list[npt.NDArray[np.int32]], list[list[str]]]:
    """The same columns with a row before their first."""
    whole, different = [], []
    for column, known, entry in zip(codes, texts, first, strict=True):
        place = known.index(entry) if entry in known else len(known)
        whole.append(np.concatenate([np.array([place], np.int32), column]))
        different.append(known if place < len(known) else [*known, entry])
    return whole, different


def _is_header(first: list[str], texts: list[list[str]]) -> bool:
    """Whether a first line names the columns under it: text over numbers does; numbers, or entries that come again, do not.

    But for different whole numbers, such as years, over columns without a whole number.
    """
    numbers = [is_number(entry) for entry in first]
    if all(numbers):
        different = len(first) > 1 and len(set(first)) == len(first) and all(entry.isdecimal() for entry in first)
        return different and all(below and not any(text.strip("+-").isdecimal() for text in below) for below in texts)
    again = False
    for entry, number, below in zip(first, numbers, texts, strict=True):
        present = [text for text in below if text.lower() not in MISSING]
        if entry.lower() in MISSING or not present:
            continue
        mostly = sum(map(is_number, present)) > len(present) / 2
        if mostly and not number:
            return True
        again = again or (not mostly and entry in below)
    return not again
