"""The house's file: named arrays and a JSON header in one npz, written whole or not at all, read with suspicion.

A file is an uncompressed zip (NumPy opens it as an npz) with `header.json` and one `.npy` member an array:

    {"format": "hedgerow", "container": 1, "kind": "posterior", "version": 1, "written_by": "0.2.0",
     "arrays": {"labels": ["|u1", [4, 1000, 1300]], ...}, "content": {...}}

`kind` and `version` belong to the object that is stored; `content` is its own JSON. Nothing is ever unpickled. Every size
that a file declares is checked against the bytes that are there before memory is taken, so a truncated or hostile file
costs an error message. `encode` and `decode` turn frozen dataclasses into JSON and arrays and back, through a table
of the classes that may come out.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial
from importlib import metadata
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.data.npy import read_npy
from hedgerow.docstrings import explained
from hedgerow.errors import ParameterError, require
from hedgerow.writing import check_path, whole_file

__all__ = [
    "Container",
    "FormatError",
    "NotStorableError",
    "decode",
    "encode",
    "fitting",
    "from_file",
    "kind_of",
    "own_version",
    "read_container",
    "whole",
    "write_container",
]

Arrays = dict[str, npt.NDArray[Any]]

_FORMAT = "hedgerow"
_CONTAINER = 1
_HEADER = "header.json"
_LARGEST_HEADER = 64 << 20
_KINDS = "biufUSMm"  # plain numbers, fixed-width texts and times: what an npy file holds without pickling

#: What a `load` takes; what it gives back it says itself.
from_file = partial(explained, "path : path\n    That `save` wrote.")


class FormatError(ParameterError):
    """A file that is not a whole, readable file of the house."""


class NotStorableError(ParameterError):
    """An object that cannot be written as JSON and arrays, such as a function."""


@contextmanager
def fitting(told: str, passes: type[ParameterError] = FormatError) -> Iterator[None]:
    """Putting together what a file holds: parts that do not fit are refused, these words first; what `passes` has words of its own."""
    try:
        yield
    except passes:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError, OverflowError) as error:
        raise FormatError(f"{told}. Got parts that do not fit together: {error}.") from error


def whole(path: str | os.PathLike[str], what: str) -> AbstractContextManager[None]:
    """The same for what `load` is asked for."""
    return fitting(f"load(path={str(path)!r}): path must hold {what}", ParameterError)


@dataclass(frozen=True, eq=False)
class Container:
    """What a file holds: the stored object's kind and version, its JSON, its arrays."""

    kind: str
    version: int
    content: dict[str, Any]
    arrays: Arrays
    written_by: str


def write_container(
    path: str | os.PathLike[str], kind: str, version: int, content: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write a file, whole or not at all."""
    for name, array in arrays.items():
        plain = array.dtype.kind in _KINDS and not array.dtype.hasobject
        require(plain, "save", name, array, "be an array of numbers, texts or times")
    header = {
        "format": _FORMAT,
        "container": _CONTAINER,
        "kind": kind,
        "version": version,
        "written_by": own_version(),
        "arrays": {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()},
        "content": dict(content),
    }
    try:
        text = json.dumps(header, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise NotStorableError(f"save(...): the record of a {kind} must be plain JSON. Got {error}.") from error
    with whole_file(path) as file:
        _write_zip(file, text, arrays)


def read_container(path: str | os.PathLike[str], kind: str | None = None, versions: tuple[int, ...] = ()) -> Container:
    """Read a file; `kind` and `versions`, if given, are what the caller can make sense of."""
    place = check_path(path, "load")
    require(place.is_file(), "load", "path", str(path), "name an existing file")
    with open(place, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                members = _checked_members(archive, place)
                header = _read_header(archive, members, place)
                _check_identity(header, kind, versions, place)
                arrays = _read_arrays(archive, members, header["arrays"], place)
        except (ParameterError, MemoryError):
            raise
        except Exception as error:  # the readers of zip and JSON stumble over a stranger's bytes in many ways
            raise _refusal(place, f"a damaged or foreign file ({error})") from error
    return Container(header["kind"], header["version"], header["content"], arrays, str(header.get("written_by", "")))


def kind_of(path: str | os.PathLike[str]) -> str:
    """What a file of the house holds, by its header alone."""
    place = check_path(path, "load")
    require(place.is_file(), "load", "path", str(path), "name an existing file")
    try:
        with open(place, "rb") as file, zipfile.ZipFile(file) as archive:
            header = _read_header(archive, _checked_members(archive, place), place)
    except (ParameterError, MemoryError):
        raise
    except Exception as error:  # the readers of zip and JSON stumble over a stranger's bytes in many ways
        raise _refusal(place, f"a damaged or foreign file ({error})") from error
    return str(header.get("kind"))


def encode(value: Any, arrays: Arrays, name: str, classes: Mapping[str, type]) -> Any:
    """JSON for a value; arrays inside it go to `arrays` under `name` and are referred to.

    Frozen dataclasses whose class is in `classes` become {"class": ..., "fields": {...}}, `name` growing by the
    field's name on the way down.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if np.isfinite(number) else {"float": repr(number)}
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, (list, tuple)):
        items = [encode(item, arrays, f"{name}.{i}", classes) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    class_name = type(value).__name__
    if classes.get(class_name) is type(value) and is_dataclass(value):
        inside = {f.name: encode(getattr(value, f.name), arrays, f"{name}.{f.name}", classes) for f in fields(value)}
        return {"class": class_name, "fields": inside}
    raise NotStorableError(f"save({name}={class_name}): {name} must be plain values to be stored. Got a {class_name}.")


def decode(stored: Any, arrays: Mapping[str, npt.NDArray[Any]], classes: Mapping[str, type]) -> Any:
    """The value behind the JSON of `encode`; only classes of the table are made, through their constructors."""
    if isinstance(stored, list):
        return [decode(item, arrays, classes) for item in stored]
    if not isinstance(stored, dict):
        return stored
    match stored:
        case {"float": str(text), **rest} if not rest and text in ("nan", "inf", "-inf"):
            return float(text)
        case {"array": str(name), **rest} if not rest and name in arrays:
            return arrays[name]
        case {"tuple": list(items), **rest} if not rest:
            return tuple(decode(item, arrays, classes) for item in items)
        case {"class": str(name), "fields": dict(inside), **rest} if not rest and name in classes:
            cls = classes[name]
            known = set(signature(cls).parameters)  # names of older versions among them, which constructors still take
            needed = {f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING}
            if not needed <= set(inside) <= known:  # files of older versions lack what came later, which has a default
                raise FormatError(f"load(...): the fields of a stored {name} must be {sorted(known)}. Got {sorted(inside)}.")
            return _make(cls, {key: decode(value, arrays, classes) for key, value in inside.items()})
        case _:
            shown = str(stored.get("class", sorted(stored)))[:60]
            raise FormatError(f"load(...): the file must hold only classes and values this version knows. Got {shown}.")


def _make(cls: type, values: dict[str, Any]) -> Any:
    try:
        return cls(**values)
    except ParameterError:
        raise
    except Exception as error:  # a constructor may stumble over a stranger's values in any way
        raise FormatError(f"load(...): the stored values of {cls.__name__} must suit it. Got {error}.") from error


def own_version() -> str:
    """The version that files written now bear."""
    try:
        return metadata.version("hedgerow")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "source"


def _write_zip(file: io.BufferedWriter, text: str, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER), text.encode())
        for name, array in arrays.items():
            # A fixed date: equal contents give equal bytes.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)


def _refusal(path: Path, what: str) -> FormatError:
    return FormatError(f"load(path={str(path)!r}): path must name a whole Hedgerow file. Got {what}.")


def _checked_members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """The members by name: stored as they are, each once, together no larger than the file."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if info.filename in members:
            raise _refusal(path, f"two members called {info.filename[:60]!r}")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 1:
            raise _refusal(path, f"a compressed or encrypted member {info.filename[:60]!r}")
        members[info.filename] = info
    if sum(info.file_size for info in members.values()) > path.stat().st_size:
        raise _refusal(path, "members larger than the file itself")
    return members


def _read_header(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], path: Path) -> dict[str, Any]:
    if _HEADER not in members:
        raise _refusal(path, f"a zip without {_HEADER}")
    if members[_HEADER].file_size > _LARGEST_HEADER:
        raise _refusal(path, f"a header of {members[_HEADER].file_size} bytes")
    try:
        header = json.loads(archive.read(_HEADER))
    except (ValueError, RecursionError) as error:
        raise _refusal(path, f"a header that is not JSON ({type(error).__name__})") from error
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise _refusal(path, "a header of another format")
    return header


def _check_identity(header: dict[str, Any], kind: str | None, versions: tuple[int, ...], path: Path) -> None:
    if header.get("container") != _CONTAINER:
        raise _refusal(path, f"container version {_short(header.get('container'))}, which only a newer Hedgerow reads")
    good = isinstance(header.get("kind"), str) and type(header.get("version")) is int
    if not (good and isinstance(header.get("arrays"), dict) and isinstance(header.get("content"), dict)):
        raise _refusal(path, "a header with parts missing")
    if kind is not None and header["kind"] != kind:
        raise FormatError(f"load(path={str(path)!r}): path must name a stored {kind}. Got a stored {_short(header['kind'])}.")
    if versions and header["version"] not in versions:
        known = ", ".join(map(str, versions))
        raise FormatError(
            f"load(path={str(path)!r}): the stored {header['kind']} must have version {known}, all this Hedgerow reads. "
            f"Got version {header['version']}, written by Hedgerow {_short(header.get('written_by'))}; "
            "install that or a newer one."
        )


def _read_arrays(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], listed: Mapping[str, Any], path: Path) -> Arrays:
    if set(members) != {_HEADER} | {f"{name}.npy" for name in listed}:
        raise _refusal(path, "arrays other than the header lists")
    return {name: _read_array(archive, members[f"{name}.npy"], listed[name], path) for name in listed}


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, listed: Any, path: Path) -> npt.NDArray[Any]:
    """One npy member. Its declared shape and type must fill the member exactly, which is known to be there."""
    try:
        with archive.open(member) as file:
            array, version, fortran = read_npy(file, member.file_size)
    except ValueError as error:
        raise _refusal(path, f"an array {member.filename[:60]!r} with {error}") from error
    plain = array.dtype.kind in _KINDS and version == (1, 0) and not fortran
    if not plain or listed != [array.dtype.str, list(array.shape)]:
        raise _refusal(path, f"an array {member.filename[:60]!r} that is not what it declares")
    return array


def _short(value: object) -> str:
    return str(value)[:60]
