"""Runs the benchmarks named on the command line, or all of them: python -m benchmarks [gibbs samplers trees ...].

Words behind `agree`, `everyday`, `gaps`, `summaries`, `teaching` or `waiting` are the tables that are wanted: python -m benchmarks
agree moons rings.
"""

import importlib
import pkgutil
import sys

import benchmarks

NAMES = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_") and m.name != "sets")
SLOW = {
    "agree",
    "crowds",
    "equal_cpu",
    "everyday",
    "gaps",
    "guides",
    "mixed",
    "overlap",
    "regions",
    "samplers",
    "streams",
    "summaries",
    "teaching",
    "video",
    "waiting",
    "years",
}


WITH_TABLES = {"agree", "everyday", "gaps", "summaries", "teaching", "waiting"}


def main(words: list[str]) -> None:
    asked: dict[str, list[str]] = {} if words else {name: [] for name in NAMES if name not in SLOW}
    for word in words:
        if word in NAMES:
            asked[word] = []
        elif asked and (last := list(asked)[-1]) in WITH_TABLES:
            asked[last].append(word)
        else:
            sys.exit(f"no benchmark named {word}; there are {', '.join(NAMES)}")
    for name, tables in asked.items():
        print(f"\n== {name}")
        run = importlib.import_module(f"benchmarks.{name}").main
        run(tables) if name in WITH_TABLES else run()
    if not words:
        print(f"\nLeft out because they take minutes: {', '.join(sorted(SLOW & set(NAMES)))}. Name them to run them.")


if __name__ == "__main__":
    main(sys.argv[1:])
