"""Mutations: damage as disks do it, and damage as somebody does who knows the format and repairs every checksum after it."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

NUMBERS: tuple[Any, ...] = (
    -1,
    0,
    1,
    2,
    3,
    -2,
    127,
    255,
    2**31 - 1,
    -(2**31),
    2**31,
    2**32,
    2**53,
    2**63 - 1,
    -(2**63),
    10**30,
    10**400,
    0.5,
    -0.5,
    1e-300,
    1e300,
    -1e300,
    1.5,
)
VALUES: tuple[Any, ...] = (
    *NUMBERS,
    None,
    True,
    False,
    "",
    "x",
    "../../x",
    "nan",
    [],
    {},
    [[]],
    [None],
    {"float": "nan"},
    {"float": "-inf"},
    {"array": "labels"},
    {"tuple": []},
    {"class": "Mixture", "fields": {}},
    {"class": "Custom", "fields": {}},
    "GaussianWishart",
    "x" * 300,
)
TOKENS: tuple[bytes, ...] = (
    b"nan",
    b"inf",
    b"-inf",
    b"1e999",
    b"-1",
    b"0",
    b"1e308",
    b"-1e308",
    b"9" * 400,
    b"\x00",
    b"\xff\xfe",
    b'"',
    b",",
    b"\n",
    b"\r",
    b"\t",
    b";",
    b"x",
    b"",
    b"[" * 2000,
    b"{" * 500,
    b"true",
    b"null",
    b"NaN",
    b"Infinity",
    b"2147483648",
    b"-2147483649",
    b"99999999999999999999",
    b"1e-320",
    b"0x10",
    b"1_000",
    b"\xc2\xa0",
    b"\xe2\x80\xa8",
    b'{"a":',
    b"e",
    b"\\ud800",
    b"%",
    b"coordinate",
    b"array",
    b"complex",
    b"pattern",
)
DTYPES = ("<i4", "<i8", "<f8", "<f4", "|u1", "<u2", "<u4", "|b1", "<U3", "|S2", "<M8[s]", ">i4", "<f2", "<u8")


def raw(data: bytes, chance: random.Random) -> bytes:
    """Flips, cuts, insertions and splices, without regard for meaning."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        if not out:
            break
        at = chance.randrange(len(out))
        match chance.randrange(7):
            case 0:
                out[at] ^= 1 << chance.randrange(8)
            case 1:
                out[at] = chance.randrange(256)
            case 2:
                del out[at : at + chance.choice((1, 4, 64, len(out)))]
            case 3:
                out[at:at] = chance.randbytes(chance.choice((1, 4, 64)))
            case 4:
                other = chance.randrange(len(out))
                out[at : at + 32] = out[other : other + 32]
            case 5:
                number = chance.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFF, 0x80000000))
                out[at : at + 4] = struct.pack("<I", number)
            case 6:
                other = chance.randrange(len(out))
                out[min(at, other) : max(at, other)] = b""
    return bytes(out)


def text(data: bytes, chance: random.Random) -> bytes:
    """Fields and lines exchanged, doubled, removed or replaced by words that parsers stumble over."""
    out = data
    for _ in range(chance.choice((1, 1, 2, 5))):
        match chance.randrange(6):
            case 0 | 1:
                fields = _fields(out)
                if fields:
                    begin, end = chance.choice(fields)
                    out = out[:begin] + chance.choice(TOKENS) + out[end:]
            case 2:
                lines = out.split(b"\n")
                chance.shuffle(lines) if chance.random() < 0.2 else lines.pop(chance.randrange(len(lines)))
                out = b"\n".join(lines)
            case 3:
                lines = out.split(b"\n")
                lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines + list(TOKENS)))
                out = b"\n".join(lines)
            case 4:
                out = out.replace(chance.choice((b",", b"\n", b" ", b'"', b".")), chance.choice(TOKENS), chance.choice((1, 3, -1)))[
                    : 1 << 20
                ]
            case 5:
                out = raw(out, chance)
    return out


def _fields(data: bytes) -> list[tuple[int, int]]:
    found, begin = [], 0
    for at, byte in enumerate(data):
        if byte in b",;\t\n {}[]:":
            if at > begin:
                found.append((begin, at))
            begin = at + 1
    return found


# ------------------------------------------------------------------------------------------ archives


def members(data: bytes) -> dict[str, bytes]:
    """What is in a zip, by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def pack(parts: dict[str, bytes], compress: str = "", double: str = "") -> bytes:
    """A zip of these, one compressed or one there twice if asked for."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in parts.items():
            for _ in range(1 + (name == double)):
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED if name == compress else zipfile.ZIP_STORED)
    return out.getvalue()


def npy(array: np.ndarray[Any, Any]) -> bytes:
    """An array as an npy member."""
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=array.dtype.hasobject)
    return out.getvalue()


def array_of(member: bytes) -> np.ndarray[Any, Any]:
    """The array of an npy member."""
    return np.lib.format.read_array(io.BytesIO(member), allow_pickle=False)


def array(values: np.ndarray[Any, Any], chance: random.Random) -> np.ndarray[Any, Any]:
    """The same array with other entries, another shape or another type."""
    out = values.copy()
    match chance.randrange(11):
        case 0 | 1 | 2 | 3 if out.size and out.dtype.kind in "iufb":
            for _ in range(chance.choice((1, 1, 3, out.size))):
                number = chance.choice((*NUMBERS, float("nan"), float("inf"), -float("inf"), chance.randrange(out.size + 1)))
                with np.errstate(all="ignore"):
                    try:
                        out.flat[chance.randrange(out.size)] = number
                    except (OverflowError, ValueError):
                        out.flat[chance.randrange(out.size)] = np.asarray(chance.getrandbits(63)).astype(out.dtype)
        case 4 if out.size > 1 and out.dtype.kind in "iuf":
            i, j = (chance.randrange(out.size) for _ in range(2))
            out.flat[i], out.flat[j] = out.flat[j], out.flat[i]
        case 9 | 10 if out.size and out.dtype.kind in "if":  # whole numbers stay whole and nearly right
            with np.errstate(all="ignore"):
                for _ in range(chance.choice((1, 2, 8))):
                    out.flat[chance.randrange(out.size)] += chance.choice((-1, 1, -2, 3))
        case 5:
            out = out.ravel()[: chance.choice((0, 1, max(0, out.size - 1), out.size))]
            if values.ndim == 2 and out.size and chance.random() < 0.5:
                out = out.reshape(1, -1) if chance.random() < 0.5 else out.reshape(-1, 1)
        case 6:
            out = np.concatenate([out.ravel(), out.ravel()[: chance.choice((1, out.size or 1))]])
        case 7:
            kind = chance.choice(DTYPES)
            with np.errstate(all="ignore"):
                out = out.astype(kind) if not (kind.startswith("<M") and out.dtype.kind not in "iM") else out.astype("<i8").astype(kind)
        case _:
            out = out.reshape(chance.choice([(1, *out.shape), (*out.shape, 1), (out.size,)]))
    return out


def lie(member: bytes, chance: random.Random) -> bytes:
    """An npy member whose own header declares something else than it has."""
    end = 10 + struct.unpack("<H", member[8:10])[0]
    shape = chance.choice(("(99999999999,)", "(-1,)", "(0,)", "()", "(2, 3", "(1e9,)", "(4294967296, 4294967296)", "[" * 50, "None"))
    kind = chance.choice((*DTYPES, "|O", "<f8,<i4", "<U99999999", "|V8", "x"))
    order = chance.choice(("False", "False", "True"))
    text = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}"
    if chance.random() < 0.1:
        text = "__import__('os').abort()"
    content = (text + " " * (-(11 + len(text)) % 64) + "\n").encode()
    return b"\x93NUMPY" + bytes([chance.choice((1, 1, 1, 2, 3)), 0]) + struct.pack("<H", len(content)) + content + member[end:]


def tree(value: Any, chance: random.Random) -> Any:
    """JSON with one value somewhere in it exchanged, removed or added."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, inside in items:
            places.append((node, key))
            walk(inside)

    walk(value)
    if not places:
        return chance.choice(VALUES)
    node, key = chance.choice(places)
    match chance.randrange(6):
        case 0:
            del node[key]
        case 1:
            other, place = chance.choice(places)
            node[key] = (
                json.loads(json.dumps(other[place])) if place in other or (isinstance(other, list) and place < len(other)) else None
            )
        case 2 if isinstance(node, dict):
            node[chance.choice(("x", "class", "fields", "array", "labels"))] = chance.choice(VALUES)
        case _:
            node[key] = chance.choice(VALUES)
    return value


def container(data: bytes, chance: random.Random) -> bytes:
    """A file of the house, changed with knowledge of its format; header and checksums agree again where that is wanted."""
    if chance.random() < 0.2:
        return raw(data, chance)
    parts = members(data)
    header = json.loads(parts["header.json"])
    arrays = {name: array_of(parts[f"{name}.npy"]) for name in header["arrays"]}
    compress = double = ""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        what = chance.randrange(12)
        name = chance.choice(sorted(arrays)) if arrays else ""
        if what < 4:
            header["content"] = tree(header["content"], chance)
        elif what < 9 and arrays:
            arrays[name] = array(arrays[name], chance)
        elif what == 9 and arrays:
            arrays.pop(name) if chance.random() < 0.7 else arrays.update({chance.choice(("x", "../x", "X.data")): arrays[name]})
        elif what == 10:
            header = tree(header, chance)
        elif chance.random() < 0.5:
            compress = f"{name}.npy"
        else:
            double = f"{name}.npy"
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), dict) or chance.random() < 0.03:
        return pack({"header.json": json.dumps(header).encode()} | {f"{k}.npy": npy(v) for k, v in arrays.items()}, compress, double)
    if chance.random() < 0.9:
        header["arrays"] = {name: [values.dtype.str, list(values.shape)] for name, values in arrays.items()}
    parts = {"header.json": json.dumps(header).encode()} | {f"{name}.npy": npy(values) for name, values in arrays.items()}
    if arrays and chance.random() < 0.08:
        name = f"{chance.choice(sorted(arrays))}.npy"
        parts[name] = lie(parts[name], chance)
    if chance.random() < 0.03:
        parts[chance.choice(("../evil", "/etc/x", "header.json "))] = b"x"
    return pack(parts, compress, double)


def npz(data: bytes, chance: random.Random) -> bytes:
    """A NumPy archive with other arrays, lying headers, or far more in it than its size says."""
    if chance.random() < 0.2:
        return raw(data, chance)
    parts = members(data)
    name = chance.choice(sorted(parts))
    compress = ""
    match chance.randrange(5):
        case 0:
            parts[name] = lie(parts[name], chance)
        case 1:  # a bomb: 128 megabytes of zeros in 128 kilobytes
            if chance.random() < 0.03:
                parts[name] = npy(np.zeros((4096, 4096)))
                compress = name
        case 2:
            parts.pop(name)
        case _:
            parts[name] = npy(array(array_of(parts[name]), chance))
    return pack(parts, compress)


def npy_file(data: bytes, chance: random.Random) -> bytes:
    """One array."""
    match chance.randrange(3):
        case 0:
            return raw(data, chance)
        case 1:
            return lie(data, chance)
        case _:
            return npy(array(array_of(data), chance))


MUTATIONS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "container": container,
    "npz": npz,
    "npy": npy_file,
    "text": text,
    "raw": raw,
}
