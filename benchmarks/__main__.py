"""Runs the benchmarks named on the command line, or all of them: python -m benchmarks [gibbs samplers trees ...]."""

import importlib
import pkgutil
import sys

import benchmarks

NAMES = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_") and m.name != "sets")
SLOW = {"everyday", "mixed", "samplers", "video", "years"}


def main(names: list[str]) -> None:
    unknown = set(names) - set(NAMES)
    if unknown:
        sys.exit(f"no benchmark named {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    for name in names or [n for n in NAMES if n not in SLOW]:
        print(f"\n== {name}")
        importlib.import_module(f"benchmarks.{name}").main()
    if not names:
        print(f"\nLeft out because they take minutes: {', '.join(sorted(SLOW & set(NAMES)))}. Name them to run them.")


if __name__ == "__main__":
    main(sys.argv[1:])
