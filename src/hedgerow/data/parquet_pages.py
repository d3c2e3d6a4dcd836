"""Sizes that the pages of a Parquet file claim, read before anybody makes room for them.

The footer says where the column chunks are and the loader compares that with the file. Every page within a chunk has a header of its
own, and a reader makes room for what it says: a few bytes could ask for gigabytes. A header is a struct of Thrift's compact
protocol; of its fields only 2, the size of the page unpacked, and 3, its size in the file, are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["unpacked_size"]

_UNPACKED, _PACKED = 2, 3
_INTEGERS, _FIXED, _TEXT, _LISTS, _MAP, _STRUCT = (4, 5, 6), {1: 0, 2: 0, 3: 1, 7: 8, 13: 16}, 8, (9, 10), 11, 12
_DEEPEST = 16


def unpacked_size(content: memoryview, metadata: Any) -> int:
    """Bytes that all pages claim to unpack to; `metadata` is PyArrow's, of the same file.

    Raises ValueError where a header cannot be read.
    """
    return sum(size for begin, end in _chunks(metadata) for size in _pages(content, begin, end))


def _chunks(metadata: Any) -> Iterator[tuple[int, int]]:
    """Where the pages of each column chunk begin and end."""
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(column)
            if chunk.num_values == 0:  # nothing is read of it, and its offsets mean nothing
                continue
            begin = chunk.data_page_offset
            if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < begin:
                begin = chunk.dictionary_page_offset
            yield begin, begin + chunk.total_compressed_size


def _pages(content: memoryview, begin: int, end: int) -> Iterator[int]:
    """What each page of a chunk claims to unpack to."""
    at = begin
    while at < end:
        header = _Header(content, at)
        fields = header.fields()
        packed = fields.get(_PACKED, -1)
        if at < 0 or packed < 0 or fields.get(_UNPACKED, -1) < 0 or header.at + packed > len(content):
            raise ValueError(f"a page at byte {at:,} reaches beyond the file")
        yield fields[_UNPACKED]
        at = header.at + packed


class _Header:
    """A struct read from `at` on, which moves behind it."""

    def __init__(self, content: memoryview, at: int) -> None:
        self._content, self.at = content, at

    def fields(self, depth: int = 0) -> dict[int, int]:
        """The integers among the fields by their numbers; everything else is passed over."""
        if depth > _DEEPEST:
            raise ValueError("structs within structs without end")
        found: dict[int, int] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._integer()
            if kind in _INTEGERS:
                found[number] = self._integer()
            else:
                self._pass(kind, depth)
        return found

    def _pass(self, kind: int, depth: int, within: bool = False) -> None:
        """Move behind a value; truth values have no byte of their own but in lists."""
        if kind in _FIXED:
            self._skip(_FIXED[kind] or int(within))
        elif kind in _INTEGERS:
            self._count()
        elif kind == _TEXT:
            self._skip(self._count())
        elif kind in _LISTS:
            head = self._byte()
            for _ in range(self._count() if head >> 4 == 15 else head >> 4):
                self._pass(head & 15, depth + 1, within=True)
        elif kind == _MAP:
            length = self._count()
            kinds = self._byte() if length else 0
            for _ in range(length):
                self._pass(kinds >> 4, depth + 1, within=True)
                self._pass(kinds & 15, depth + 1, within=True)
        elif kind == _STRUCT:
            self.fields(depth + 1)
        else:
            raise ValueError(f"a value of the kind {kind}, which there is not")

    def _byte(self) -> int:
        if not 0 <= self.at < len(self._content):
            raise ValueError("a page header reaches beyond the file")
        self.at += 1
        return self._content[self.at - 1]

    def _skip(self, length: int) -> None:
        if length > len(self._content) - self.at:
            raise ValueError("a page header reaches beyond the file")
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
