"""Run as a script: reads one file where memory is bounded and a crash is nobody else's, and writes its columns to standard output.

A Parquet file of a few bytes may claim gigabytes, and PyArrow ends the process for some damaged ones; text unpacks to a thousand
times its size. `guarded.py` starts this and reads the answer: a line of JSON, then arrays in npy form, two or three for a column.
Nothing of the house is imported: this must start in a fraction of a second.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import json
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np


def main() -> None:
    """Take the job from the arguments, answer on standard output."""
    job = json.loads(sys.argv[1])
    out = SimpleNamespace(write=sys.stdout.buffer.write)  # NumPy takes a file for one that has a place, and a pipe has none
    try:
        head, arrays = (_parquet if job["what"] == "parquet" else _delimited)(job)
    except MemoryError:
        head, arrays = {"memory": True}, []
    except Exception as error:  # readers of others stumble over a stranger's bytes in many ways
        head, arrays = {"memory": True} if type(error).__name__ == "ArrowMemoryError" else {"error": str(error)}, []
    out.write(json.dumps(head).encode() + b"\n")
    for array in arrays:
        np.lib.format.write_array(out, np.ascontiguousarray(array), allow_pickle=False)
    sys.stdout.buffer.flush()


def _bound(job: dict[str, Any]) -> None:
    """Set the limit, now that all modules are loaded: what is in use already does not count."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        used = 1 << 30
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = used + int(job["memory"])
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _delimited(job: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """A packed text table."""
    place = Path(__file__).with_name("delimited.py")
    spec = importlib.util.spec_from_file_location("delimited", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["delimited"] = module
    spec.loader.exec_module(module)
    _bound(job)
    with gzip.open(job["path"], "rb") as file:
        found = module.read_delimited(file.read(), job["header"])
    kinds = [{"kind": "texts", "declared": False} for _ in found.codes]
    arrays = [part for codes, texts in zip(found.codes, found.texts, strict=True) for part in (codes, *pack(texts))]
    return {"names": found.names, "notes": found.notes, "kinds": kinds}, arrays


def _parquet(job: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The columns of a Parquet file."""
    arrow, compute, parquet = (importlib.import_module(name) for name in ("pyarrow", "pyarrow.compute", "pyarrow.parquet"))
    arrow.set_cpu_count(1)
    _bound(job)
    with parquet.ParquetFile(job["path"]) as file:
        schema = file.schema_arrow
    texts = [field.name for field in schema if "string" in str(field.type) or "binary" in str(field.type)]
    with parquet.ParquetFile(job["path"], read_dictionary=texts) as file:  # a long text that every row points at is there once
        table = file.read(use_threads=False)
    table.validate(full=True)
    kinds, arrays = [], []
    for column, stored in zip(table.columns, schema.types, strict=True):
        kind, parts = _arrow_column(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0), arrow, compute)
        kinds.append({"kind": kind, "declared": kind == "texts" and arrow.types.is_dictionary(stored)})
        arrays.extend(parts)
    return {"names": schema.names, "notes": [], "kinds": kinds}, arrays


def _arrow_column(column: Any, arrow: Any, compute: Any) -> tuple[str, list[Any]]:
    """One column as plain arrays: the kind of it, and its parts."""
    kind, types = column.type, arrow.types
    if types.is_dictionary(kind):
        texts = column.dictionary.to_pylist()
        if all(isinstance(text, str | bytes) for text in texts):
            named = [text if isinstance(text, str) else text.decode("utf-8") for text in texts]
            return "texts", [column.indices.fill_null(-1).cast("int32").to_numpy(zero_copy_only=False), *pack(named)]
        return _arrow_column(column.dictionary.take(column.indices), arrow, compute)
    if types.is_boolean(kind):
        return "truths", [column.cast("int8").fill_null(-1).to_numpy(zero_copy_only=False)]
    if types.is_integer(kind) and not column.null_count:
        return "numbers", [column.to_numpy(zero_copy_only=False)]
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        return "numbers", [column.cast("float64", safe=False).to_numpy(zero_copy_only=False)]
    if types.is_timestamp(kind) or types.is_date(kind):
        local = compute.local_timestamp(column) if getattr(kind, "tz", None) else column  # the clock on the wall
        return "dates", [local.cast(arrow.timestamp("us"), safe=False).to_numpy(zero_copy_only=False)]
    if types.is_duration(kind):
        return "spans", [column.cast(arrow.duration("us"), safe=False).to_numpy(zero_copy_only=False)]
    if types.is_time(kind) or types.is_string(kind) or types.is_large_string(kind):
        return _arrow_column(column.cast("string").dictionary_encode(), arrow, compute)
    return f"other {kind}", [np.zeros(len(column), np.int8)]


def pack(texts: list[str]) -> tuple[Any, Any]:
    """Texts as bytes and the length of each."""
    coded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return np.frombuffer(b"".join(coded), np.uint8), np.array([len(part) for part in coded], np.int64)


def unpack(content: Any, lengths: Any) -> list[str]:
    """What `pack` was given."""
    ends = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    whole = content.tobytes()
    return [whole[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]


def read_answer(file: IO[bytes]) -> tuple[dict[str, Any], list[list[Any]]]:
    """The other end: the line of JSON, and the arrays of every column."""
    head = json.loads(file.readline() or b"{}")
    parts = {"texts": 3}
    kinds = head.get("kinds", [])
    pipe: Any = SimpleNamespace(read=file.read)
    return head, [[np.lib.format.read_array(pipe, allow_pickle=False) for _ in range(parts.get(k["kind"], 1))] for k in kinds]


if __name__ == "__main__":
    main()
