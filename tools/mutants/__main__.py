"""Errors planted one at a time: build, run the tests that should notice, then all others; say which lived.

    python -m tools.mutants --jobs 2            every error that has no verdict yet
    python -m tools.mutants NAME [NAME ...]     these, again
    python -m tools.mutants --check             only whether every snippet still stands where it should

Verdicts are kept in tools/mutants/verdicts.json, each with a hash of the error and of the piece of code it was planted in: a run
that was stopped goes on, and a verdict on a piece that has changed since counts no more. An error that lives must be explained in
its `lives`; one that lives without is a test to be written, and the command fails.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from .copies import ROOT, Copy
from .mutant import Mutant, StaleError, read_mutants
from .verdicts import Verdict, Verdicts

HOME = ROOT / "build" / "mutants"
GOLDEN = "tests/golden"  # every draw bit by bit: notices what changes draws, right or wrong, and is asked after the tests that know why
REST = "-n 2 tests"
ALL = read_mutants()


def main() -> int:
    """Read the command line, judge, report."""
    parser = argparse.ArgumentParser(prog="tools.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only these, even if they have a verdict")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the code to work in at the same time")
    parser.add_argument("--check", action="store_true", help="only see that every snippet stands exactly once")
    parser.add_argument("--first", action="store_true", help="only the tests named with each error and the golden draws")
    options = parser.parse_args()
    unknown = set(options.names) - {m.name for m in ALL}
    if unknown or len({m.name for m in ALL}) < len(ALL):
        parser.error(f"unknown: {', '.join(sorted(unknown))}" if unknown else "two errors have one name")
    stale = [m.name for m in ALL if not m.stands(ROOT)]
    for name in stale:
        print(f"stale     {name}: its snippet does not stand exactly once where it should")
    if options.check:
        print(f"{len(ALL) - len(stale)} of {len(ALL)} snippets stand where they should")
        return bool(stale)
    HOME.mkdir(parents=True, exist_ok=True)
    verdicts = Verdicts()
    sound = [m for m in ALL if m.name not in stale]
    wanted = [m for m in sound if (m.name in options.names if options.names else verdicts.wanting(m, ROOT, options.first))]
    judge_all(wanted, verdicts, options.jobs, options.first)
    return report(verdicts) or bool(stale)


def judge_all(wanted: list[Mutant], verdicts: Verdicts, jobs: int, first: bool) -> None:
    """Judge in as many copies as asked for; the verdicts are written after each."""
    if not wanted:
        return
    copies: SimpleQueue[Copy] = SimpleQueue()
    for i in range(min(jobs, len(wanted))):
        copy = Copy(HOME / f"copy-{i}")
        built, out = copy.build()
        if not built:
            sys.exit(f"the code as it is does not build:\n{out}")
        copies.put(copy)
    sound: dict[str, bool] = {}
    lock = threading.Lock()

    def see_if_sound(tests: str, copy: Copy) -> None:
        sound[tests], out = copy.passes(tests)
        if not sound[tests]:
            print(f"unsound   {tests} fails on the code as it is:\n{out[-1500:]}", flush=True)

    def judge(mutant: Mutant) -> None:
        copy = copies.get()
        try:
            for tests in sets_of([mutant], sound, first):
                see_if_sound(tests, copy)
            begun = time.monotonic()
            about = mutant.about(copy.root)
            verdict = try_out(mutant, copy, [tests for tests in sets_of([mutant], {}, first) if sound[tests]], first)
        finally:
            copies.put(copy)
        with lock:
            verdicts.keep(mutant.name, about, verdict)
            print(f"{verdict['verdict']:9} {mutant.name}: {verdict['by']} ({time.monotonic() - begun:.0f} s)", flush=True)

    # A test that fails on the right code kills nothing: each is seen to pass before anything is planted where it runs. An error in the
    # core is left in the copy's extension until the next build, so that all tests of such errors are looked at before the first.
    for compiled in (False, True):
        these = [mutant for mutant in wanted if mutant.compiled == compiled]
        if compiled:
            copy = copies.get()
            for tests in sets_of(these, sound, first):
                see_if_sound(tests, copy)
            copies.put(copy)
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(judge, these))


def sets_of(mutants: list[Mutant], known: dict[str, bool], first: bool) -> list[str]:
    """The sets of tests that are asked of these errors, but those known."""
    asked = (tests for mutant in mutants for tests in (*mutant.tests, GOLDEN, *([] if first else [REST])))
    return [tests for tests in dict.fromkeys(asked) if tests not in known]


def try_out(mutant: Mutant, copy: Copy, tests: list[str], first: bool) -> Verdict:
    """Plant, build, run, and put the right text back."""
    verdict: Verdict = {"verdict": "asked first" if first else "lives", "by": ""}
    try:
        right = mutant.plant(copy.root)
    except StaleError as error:
        return verdict | {"verdict": "stale", "by": str(error)}
    try:
        if mutant.compiled and not copy.build()[0]:
            return verdict | {"verdict": "refused", "by": "the compiler"}
        for chosen in tests:
            passed, out = copy.passes(chosen)
            if not passed:
                failed = [line for line in out.splitlines() if line.startswith(("FAILED", "TEST CASE", "ERROR"))]
                return verdict | {"verdict": "killed", "by": (failed or [chosen])[0][:160]}
        return verdict
    finally:
        (copy.root / mutant.file).write_text(right, encoding="utf-8")


def report(verdicts: Verdicts) -> int:
    """Say how many were killed; 1 when one lives without a reason."""
    judged = [(m, verdict) for m in ALL if (verdict := verdicts.of(m, ROOT))]
    killed = [m for m, v in judged if v["verdict"] == "killed"]
    living = [m for m, v in judged if v["verdict"] in ("lives", "asked first")]
    by_draws = [m for m, v in judged if v["verdict"] == "killed" and GOLDEN in v["by"]]
    others = [(m, v) for m, v in judged if v["verdict"] not in ("killed", "lives", "asked first")]
    for m in living:
        print(f"lives     {m.name} ({m.file}): {m.lives or 'NO TEST NOTICES'}")
    for m, v in others:
        print(f"{v['verdict']:9} {m.name}: {v['by']}")
    for m in by_draws:
        print(f"draws     {m.name} ({m.file}): only the golden draws notice")
    share = len(killed) / max(1, len(killed) + len(living))
    print(
        f"{len(killed)} of {len(killed) + len(living)} planted errors killed ({share:.1%}), "
        f"{len(by_draws)} of them by the golden draws alone; "
        f"{len(ALL) - len(judged)} without a verdict"
    )
    return int(any(not m.lives for m in living) or bool(others))


if __name__ == "__main__":
    sys.exit(main())
