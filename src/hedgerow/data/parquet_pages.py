"""Sizes that the pages of a Parquet file claim, read before anybody makes room for them.

Every page has a header of its own, and a reader makes room for what it says: a few bytes could ask for gigabytes. Headers, and the
footer that says where the pages are, are structs of Thrift's compact protocol, of which a handful of fields is looked at here:
PyArrow does not show page headers, and for a hostile footer it ends the process when asked about a column.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

__all__ = ["unpacked_size"]

Fields = dict[int, Any]

_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3  # of FileMetaData, RowGroup, ColumnChunk
_VALUES, _PACKED, _DATA_PAGE, _DICTIONARY_PAGE = 5, 7, 9, 11  # of ColumnMetaData
_PAGE_UNPACKED, _PAGE_PACKED = 2, 3  # of PageHeader
_INTEGERS, _FIXED, _TEXT, _LISTS, _MAP, _STRUCT = (4, 5, 6), {1: 0, 2: 0, 3: 1, 7: 8, 13: 16}, 8, (9, 10), 11, 12
_DEEPEST = 16


def unpacked_size(content: memoryview) -> int:
    """Bytes that all pages of a file claim to unpack to.

    Raises ValueError where footer or pages cannot be read.
    """
    return sum(size for begin, end in _chunks(content) for size in _pages(content, begin, end))


def _chunks(content: memoryview) -> Iterator[tuple[int, int]]:
    """Where the pages of each column chunk begin and end."""
    length = struct.unpack("<I", content[-8:-4])[0] if len(content) >= 12 else 0
    if bytes(content[-4:]) != b"PAR1" or not 0 < length <= len(content) - 12:
        raise ValueError("the footer of a Parquet file is missing")
    for group in _structs(_Reader(content, len(content) - 8 - length).fields(), _ROW_GROUPS):
        for column in _structs(group, _COLUMNS):
            chunk = column.get(_META_DATA)
            if not isinstance(chunk, dict):
                raise ValueError("a column chunk without a description")
            if _number(chunk, _VALUES) == 0:  # nothing is read of it, and its offsets mean nothing
                continue
            begin = _number(chunk, _DATA_PAGE)
            if _DICTIONARY_PAGE in chunk and 0 < _number(chunk, _DICTIONARY_PAGE) < begin:
                begin = _number(chunk, _DICTIONARY_PAGE)
            yield begin, begin + _number(chunk, _PACKED)


def _pages(content: memoryview, begin: int, end: int) -> Iterator[int]:
    """What each page of a chunk claims to unpack to."""
    at = begin
    while at < end:
        reader = _Reader(content, at)
        header = reader.fields()
        size, packed = _number(header, _PAGE_UNPACKED), _number(header, _PAGE_PACKED)
        at = reader.at + packed
        if size < 0 or packed < 0 or at > len(content):
            raise ValueError("a page reaches beyond the file")
        yield size


def _structs(fields: Fields, number: int) -> list[Fields]:
    found = fields.get(number)
    if not isinstance(found, list):
        raise ValueError("a list is missing")
    return found


def _number(fields: Fields, number: int) -> int:
    found = fields.get(number)
    if not isinstance(found, int):
        raise ValueError("a number is missing")
    return found


class _Reader:
    """Reads one struct from `at` on, which moves behind it."""

    def __init__(self, content: memoryview, at: int) -> None:
        self._content, self.at = content, at

    def fields(self, depth: int = 0) -> Fields:
        """Integers, structs and lists of structs by the numbers of their fields; everything else is passed over."""
        found: Fields = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._integer()
            value = self._value(kind, depth)
            if value is not None:
                found[number] = value
        return found

    def _value(self, kind: int, depth: int, within: bool = False) -> int | Fields | list[Fields] | None:
        """Move behind a value; truth values have no byte of their own but in lists."""
        if depth > _DEEPEST:
            raise ValueError("structs within structs without end")
        if kind in _INTEGERS:
            return self._integer()
        if kind == _STRUCT:
            return self.fields(depth + 1)
        if kind in _LISTS:
            head = self._byte()
            inside = [self._value(head & 15, depth + 1, within=True) for _ in range(self._count() if head >> 4 == 15 else head >> 4)]
            return [item for item in inside if isinstance(item, dict)]
        if kind == _MAP:
            length = self._count()
            kinds = self._byte() if length else 0
            for _ in range(length):
                self._value(kinds >> 4, depth + 1, within=True)
                self._value(kinds & 15, depth + 1, within=True)
        elif kind == _TEXT:
            self._skip(self._count())
        elif kind in _FIXED:
            self._skip(_FIXED[kind] or int(within))
        else:
            raise ValueError(f"a value of the kind {kind}, which there is not")
        return None

    def _byte(self) -> int:
        if not 0 <= self.at < len(self._content):
            raise ValueError("a struct reaches beyond the file")
        self.at += 1
        return self._content[self.at - 1]

    def _skip(self, length: int) -> None:
        if length > len(self._content) - self.at:
            raise ValueError("a struct reaches beyond the file")
        self.at += length

    def _count(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number of more than ten bytes")

    def _integer(self) -> int:
        value = self._count()
        return (value >> 1) ^ -(value & 1)
