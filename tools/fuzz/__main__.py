"""Fuzzing of everything that reads: python tools/fuzz --minutes 10, or --cases 100 for a quick look.

A hostile file must give an error of the house. A finding is anything else: another exception, a crash, an answer that does
not come, memory out of all proportion. Each reader is used in a child process with bounded memory and time, so that none of these
ends the search. Findings are written to build/fuzz with the number of the case; --target NAME --only NUMBER repeats one.

Coverage-guided tools get stuck at checksums and at the zip format; the mutations here know both.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # children are forked

import argparse
import faulthandler
import itertools
import mmap
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from targets import TARGETS, cases

from hedgerow.errors import MissingExtraError, ParameterError

ROOT = Path(__file__).resolve().parents[2]
MEMORY = 1 << 30  # bytes beyond what the parent has
CHUNK = int(os.environ.get("HEDGEROW_FUZZ_CHUNK", "250"))  # cases a child; 1 tells which of them spoiled the memory


def main() -> int:
    """Run what was asked for; 1 if there was a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="only this one (may be repeated)")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each target (default: %(default)s)")
    parser.add_argument("--cases", type=int, help="so many cases of each target instead")
    parser.add_argument("--seconds", type=int, default=20, help="for one case (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one case, run in this process")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz", help="where findings go (default: %(default)s)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = 0
    for name in options.target or sorted(TARGETS):
        with tempfile.TemporaryDirectory(prefix="hedgerow-fuzz-") as folder:
            seeds, work = Path(folder) / "seeds", Path(folder) / "work"
            seeds.mkdir()
            work.mkdir()
            TARGETS[name].seeds(seeds)
            if options.only is not None:
                make = next(itertools.islice(cases(name, seeds, work), options.only, None))
                path = make(random.Random(f"{options.seed}/{name}/{options.only}"))
                faulthandler.enable()
                print(f"{path}: {refused_or_used(name, path)}")
                continue
            found += search(name, seeds, work, options)
    return int(found > 0)


def refused_or_used(name: str, path: Path) -> str:
    """Read and use one file; an error of the house is an answer like any other."""
    try:
        TARGETS[name].use(path)
    except (ParameterError, MissingExtraError):
        return "refused"
    return "used"


def search(name: str, seeds: Path, work: Path, options: argparse.Namespace) -> int:
    """Run cases of one target until time or number is up; tells of every finding, and how many there were."""
    shared = mmap.mmap(-1, 64)  # the case under way, how many were used, how many refused
    begin, end = time.monotonic(), time.monotonic() + 60 * options.minutes
    first = findings = used = refused = 0
    while first < options.cases if options.cases else time.monotonic() < end:
        last = first + CHUNK if not options.cases else min(first + CHUNK, options.cases)
        shared[:24] = bytes(24)
        child = os.fork()
        if child == 0:
            code = 3
            try:
                code = work_off(name, seeds, work, options, first, last, shared, end)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        at, new_used, new_refused = (int.from_bytes(shared[i : i + 8], "little") for i in (0, 8, 16))
        used, refused = used + new_used, refused + new_refused
        if status:
            findings += 1
            how = os.waitstatus_to_exitcode(status)
            what = {-signal.SIGALRM: f"no answer in {options.seconds} s"}.get(how, f"signal {-how}" if how < 0 else "an exception")
            keep(name, at, work, what, options)
        first = at + 1 if status else last
    rate = (used + refused) / max(time.monotonic() - begin, 1e-9)
    told = f"{name:12s} {used + refused:8,} cases ({used:,} used, {refused:,} refused), {rate:6.0f}/s, {findings} findings"
    print(told, flush=True)
    return findings


def work_off(
    name: str, seeds: Path, work: Path, options: argparse.Namespace, first: int, last: int, shared: mmap.mmap, end: float
) -> int:
    """The child: cases one after the other, the number of each written down before it begins."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (pages + MEMORY, pages + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    counts = {"used": 0, "refused": 0}
    for number, make in zip(range(first, last), itertools.islice(cases(name, seeds, work), first, None), strict=False):
        if not options.cases and time.monotonic() > end:
            break
        shared[:8] = number.to_bytes(8, "little")
        try:
            path = make(random.Random(f"{options.seed}/{name}/{number}"))
        except (ValueError, TypeError, OverflowError, KeyError, IndexError, RuntimeError):  # cannot be made: a date of text
            continue
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(options.seconds)
        try:
            counts[refused_or_used(name, path)] += 1
        except BaseException:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / f"{name}-{number}.txt").write_text(traceback.format_exc())
            return 1
        finally:
            signal.alarm(0)
        shared[8:24] = counts["used"].to_bytes(8, "little") + counts["refused"].to_bytes(8, "little")
    return 0


def keep(name: str, number: int, work: Path, what: str, options: argparse.Namespace) -> None:
    """Write a finding down: the file, and what it did."""
    options.out.mkdir(parents=True, exist_ok=True)
    note = options.out / f"{name}-{number}.txt"
    detail = note.read_text() if note.exists() else ""
    print(f"FINDING {name} case {number} (seed {options.seed}): {what}\n{detail}", flush=True)
    make = next(itertools.islice(cases(name, work.parent / "seeds", work), number, None))
    path = make(random.Random(f"{options.seed}/{name}/{number}"))
    target = options.out / f"{name}-{number}-{path.name}"
    if path.is_dir():
        shutil.copytree(path, target, dirs_exist_ok=True)
    else:
        shutil.copy(path, target)


if __name__ == "__main__":
    sys.exit(main())
