"""hedgerow stream: rows in as lines of JSON or CSV, clusters and their events out, for as long as rows come.

A thread reads lines, so that rows which wait go in together and a lone row is answered at once. A line that cannot be
used is answered with an error line and changes nothing. Memory is bounded by --max-nodes, and with --state the trees
outlive the process: `state_file` has what that means.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import numpy as np

from hedgerow.cli.model import add_model_arguments, choose_model, read_likelihood, read_prior
from hedgerow.cli.output import Interrupted, add_command, answers, path_argument
from hedgerow.cli.reading import read_kinds
from hedgerow.cli.state_file import Note, StateFile
from hedgerow.cli.stream_input import Stop, numbered, stop_between_batches
from hedgerow.cli.stream_lines import Lines, column_of, is_plain
from hedgerow.data.files import Dataset
from hedgerow.data.frame import Frame
from hedgerow.data.kinds import KINDS, Reading, understand
from hedgerow.data.kinds.reading import Lost
from hedgerow.data.tables import feature_names
from hedgerow.errors import ParameterError
from hedgerow.trees import TreeStream
from hedgerow.trees.forgetting import read_half_life

__all__ = ["add"]

SAVE_SECONDS = 60.0
USUAL: dict[str, Any] = {"prior": None, "likelihood": None, "max_nodes": 100_000, "forget": None, "seed": 0}
"""Options that a state has for good, with what they are if nobody says it."""

EXAMPLES = """examples:
  tail -f measurements.jsonl | hedgerow stream > clusters.jsonl
  hedgerow stream --state trees.hedge --id sensor < today.jsonl > new.jsonl
  tail -n +1 -f log.csv | hedgerow stream --forget 10min --when time

a line in is a list of numbers or an object, or a row of a CSV file whose
first line has the names:
  [5.1, 3.5, 1.4, 0.2]
  {"sensor": "a7", "temperature": 21.5, "humidity": 0.43}
lines out, one for each row, each event in the life of a cluster and each line
that could not be used:
  {"row": 0, "id": "a7", "cluster": 0}
  {"event": "split", "cluster": 5, "other": 0, "size": 1, "at": 9, "rows": [8]}
  {"line": 17, "error": "..."}
and with --state, at the start and whenever it is saved, how many lines of
input and rows it has in it:
  {"state": "trees.hedge", "lines": 341, "rows": 340}
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "stream",
        "cluster rows as they come: lines of JSON or CSV in, clusters and events out",
        "Put rows into trees as they come. Reads lines of JSON or CSV from standard input, answers on standard output; clusters keep "
        "their ids for life. The first rows decide what the model leaves open.",
        EXAMPLES,
        run,
    )
    parser.add_argument(
        "--state",
        metavar="FILE",
        type=path_argument,
        help="go on from this file if it is there; save to it as rows come and at the end",
    )
    parser.add_argument(
        "--save-every", type=float, metavar="SECONDS", default=SAVE_SECONDS, help="how often the state is saved (default: %(default)g)"
    )
    parser.add_argument(
        "--replay", action="store_true", help="the input starts where it did the first time: skip the lines that the state has seen"
    )
    parser.add_argument("--first", type=int, metavar="N", default=200, help="rows that decide the model (default: %(default)s)")
    parser.add_argument("--batch", type=int, metavar="N", default=500, help="most rows put in together (default: %(default)s)")
    parser.add_argument(
        "--whole-batches", action="store_true", help="wait until a batch is full: the same input then gives the same answers"
    )
    parser.add_argument("--max-nodes", type=int, metavar="N", help=f"bound of memory (default: {USUAL['max_nodes']})")
    parser.add_argument("--forget", metavar="HALFLIFE", help="rows to be forgotten: half of them after 5000 rows, say, or after 10min")
    parser.add_argument("--seed", type=int, metavar="N", help=f"decides the order within batches (default: {USUAL['seed']})")
    group = parser.add_argument_group("reading objects")
    group.add_argument("--columns", metavar="A,B,...", help="use these keys (default: all of the first object, sorted)")
    group.add_argument("--drop", metavar="A,B,...", help="leave these keys out")
    group.add_argument("--column", metavar="KEY=KIND", action="append", help=f"what a key holds: {', '.join(KINDS)} (may be repeated)")
    group.add_argument("--id", metavar="KEY", help="a key to repeat in the answer")
    group.add_argument("--times", metavar="KEY", help="times or places of the rows, for a MixedNRM prior")
    group.add_argument("--when", metavar="KEY", help="when a row came, in seconds or as date and time, where --forget is a time")
    add_model_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Read, add, answer, save; until the input ends or somebody stops it."""
    for name, least in (("first", 1), ("batch", 1), ("save_every", 0)):
        if not getattr(options, name) >= least:
            raise ParameterError(f"--{name.replace('_', '-')} {getattr(options, name)}: must be {least} or more.")
    if read_half_life(options.forget, "stream")[1] and not options.when and not options.state:
        raise ParameterError(f"--forget {options.forget}: must come with --when, the key that says when a row came.")
    if options.forget is not None and options.max_nodes is not None:
        raise ParameterError(f"--max-nodes {options.max_nodes}: must be left out with --forget, which bounds memory by itself.")
    if options.replay and not options.state:
        raise ParameterError("--replay: must come with --state, which knows the lines seen.")
    out = answers("stream")
    if sys.stdin is None:
        raise ParameterError("stream: standard input must be open, for the rows come from there. Got one that is closed.")
    with contextlib.ExitStack() as stack:
        state = stack.enter_context(StateFile(options.state)) if options.state else None
        stop = stack.enter_context(stop_between_batches())
        talk = _Talk(options, out, state)
        try:
            for lines in _batches(sys.stdin, options, talk, stop):
                talk.answer(lines)
                if stop.asked:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise Interrupted(f"stopped after {talk.told()}") from None
        finally:
            if talk.between:  # amid a batch the last state saved is the one that the answers agree with
                talk.save()
    print(f"hedgerow: {talk.told()}", file=sys.stderr)


def _batches(file: TextIO, options: argparse.Namespace, talk: _Talk, stop: Stop) -> Iterator[list[tuple[int, str]]]:
    """Numbered lines, as many together as are waiting; before there is a model, as many as shall decide it."""
    waiting: queue.Queue[tuple[int, str] | Exception | None] = queue.Queue(maxsize=4 * options.batch)
    skipped = talk.lines if options.replay else 0

    def read() -> None:
        number = 0
        try:
            for number, line in numbered(file):
                if talk.format.is_header(line):
                    continue
                if number > skipped and line.strip():
                    waiting.put((number, line))
            short = f"--replay: the input must begin with the {skipped:,} lines that the state has seen. Got {number:,} lines."
            waiting.put(ParameterError(short) if number < skipped else None)
        except Exception as error:  # a thread's error would be lost, and the other end would wait for ever
            waiting.put(error)

    threading.Thread(target=read, daemon=True).start()
    lines: list[tuple[int, str]] = []
    while True:
        stop.idle = True
        item = waiting.get()
        stop.idle = False
        if not isinstance(item, tuple):
            break
        lines.append(item)
        full = len(lines) >= (options.batch if talk.started else options.first)
        if full or (talk.started and not options.whole_batches and waiting.empty()):
            yield lines
            lines = []
    if lines:
        yield lines
    if isinstance(item, Exception):
        raise item


class _Talk:
    """The stream, and what is said about it."""

    def __init__(self, options: argparse.Namespace, out: TextIO, state: StateFile | None) -> None:
        self.options, self.out, self.state = options, out, state
        self.format = Lines()
        self.columns = _listed(options.columns)
        self.chosen = {name: getattr(options, name) for name in USUAL}
        self.stream: TreeStream | None = None
        self.reading: Reading | None = None
        self.bad = self.gaps = 0
        self.lines = self.lines_before = 0
        self.between = True
        self.saved = time.monotonic()
        loaded = None if state is None else state.load()
        if loaded is None:
            return
        self.stream, note = loaded
        self.chosen = _choices(options, note.options, self.stream)
        if self.columns and note.columns and self.columns != note.columns:
            raise ParameterError(f"--columns {options.columns}: must be those of the state, {', '.join(note.columns)}, or left out.")
        self.columns = note.columns or self.columns
        self.reading = None if note.reading is None else Reading.from_json(note.reading)
        self.lines = note.lines
        self.lines_before = 0 if options.replay else note.lines
        self._tell_state()

    @property
    def started(self) -> bool:
        """Whether there is a model."""
        return self.stream is not None

    def told(self) -> str:
        """How things stand, in words."""
        rows = 0 if self.stream is None else self.stream.n_seen
        clusters = 0 if self.stream is None else self.stream.n_clusters
        bad = f", {self.gaps:,} entries were taken for gaps" if self.gaps else ""
        bad += f", {self.bad:,} lines could not be used" if self.bad else ""
        state = f"; state saved in {self.options.state}" if self.state and self.stream and self.between else ""
        return f"{rows:,} rows in {clusters:,} clusters{bad}{state}"

    def answer(self, lines: list[tuple[int, str]]) -> None:
        """Put the rows of these lines in, and write their clusters and what happened."""
        self.between = False
        rows = []
        for number, line in lines:
            try:
                rows.append((number, self._parse(line)))
            except ParameterError as error:
                self._refuse(number, error)
        if rows:
            self._add(rows)
        self.lines = self.lines_before + lines[-1][0]
        self.out.flush()
        self.between = True
        if time.monotonic() - self.saved >= self.options.save_every:
            self.save()

    def save(self) -> None:
        """Write the state, if one is kept and it has anything new in it."""
        if (
            self.state is not None
            and self.stream is not None
            and self.state.save(self.stream, Note(self.lines, self.columns, self.chosen, self._reading_note()))
        ):
            self._tell_state()
            self.out.flush()
        self.saved = time.monotonic()

    def _reading_note(self) -> str | None:
        return None if self.reading is None else self.reading.to_json()

    def _tell_state(self) -> None:
        rows = 0 if self.stream is None else self.stream.n_seen
        self._write({"state": str(self.options.state), "lines": self.lines, "rows": rows})

    def _add(self, rows: list[tuple[int, Any]]) -> None:
        """Rows as one batch; if it is refused, one by one, so that only those to blame are left out."""
        try:
            X, times, when = self._table([row for _, row in rows])
            if self.stream is None and isinstance(X, Frame) and self.options.likelihood is None:
                self.reading = understand(X, read_kinds(self.options.column))
            lost: Lost = {}
            if self.reading is not None:
                X, lost = self.reading.read(X)
            stream = self._open(X) if self.stream is None else self.stream
            before, seen = stream.n_seen, stream.n_events
            clusters = stream.add(X, times, when if stream.half_life[1] else None)
            self.gaps += sum(count for count, _ in lost.values())
        except ParameterError as error:
            if self.stream is None:  # the model does not suit the data: to go on would help nobody
                raise
            if len(rows) == 1:
                return self._refuse(rows[0][0], error)
            for row in rows:
                self._add([row])
            return
        self.stream = stream
        for place, ((_, row), cluster) in enumerate(zip(rows, clusters.tolist(), strict=True)):
            named = {"id": row.get(self.options.id)} if self.options.id and isinstance(row, dict) else {}
            self._write({"row": before + place} | named | {"cluster": cluster})
        for event in stream.events_since(seen):
            other = {"other": event.other} if event.other >= 0 else {}
            rows_moved = {"rows": list(event.rows)} if event.rows else {}
            self._write({"event": event.kind, "cluster": event.cluster} | other | {"size": event.size, "at": event.at} | rows_moved)

    def _open(self, X: Any) -> TreeStream:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for the answers
            names = feature_names(X)
            source = Dataset(X, None if names is None else list(names), reading=self.reading)
            model = choose_model(source, self.options.prior, self.options.likelihood)
        seed, max_nodes = (USUAL[name] if self.chosen[name] is None else self.chosen[name] for name in ("seed", "max_nodes"))
        forget = self.chosen["forget"]
        return TreeStream(model, max_nodes=max_nodes if forget is None else None, remember=False, forget=forget, seed=seed)

    def _parse(self, line: str) -> Any:
        """One line as a list of numbers, or as an object with the keys in use."""
        row = self.format.row(line)
        if isinstance(row, list):
            if not row or not all(is_plain(entry) and not isinstance(entry, str) for entry in row):
                raise ParameterError("a list must hold finite numbers, null where one is missing.")
            return row
        if not isinstance(row, dict):
            raise ParameterError("a line must be a list of numbers or an object.")
        apart = {self.options.id, self.options.times, self.options.when, *_listed(self.options.drop)}
        if not self.columns:
            self.columns = sorted(key for key in row if key not in apart)
            if not self.columns:
                raise ParameterError("an object must have a key to cluster by.")
        if not any(key in row for key in self.columns):
            raise ParameterError(f"an object must have one of the keys {', '.join(self.columns)}.")
        for key in self.columns:
            if not is_plain(row.get(key)):
                raise ParameterError(f"an object must have a finite number, a text or null under {key!r}.")
        return row

    def _table(self, rows: list[Any]) -> tuple[Any, Any, Any]:
        """Rows as a table, their times, and when they came."""
        if all(isinstance(row, list) for row in rows):
            if len({len(row) for row in rows}) > 1:
                raise ParameterError("lists must be of equal length.")
            return np.array(rows, dtype=np.float64), None, None
        if any(isinstance(row, list) for row in rows):
            raise ParameterError("lines must be all lists or all objects.")
        times, when = (self._under(key, rows) for key in (self.options.times, self.options.when))
        return Frame(list(self.columns), [column_of([row.get(key) for row in rows]) for key in self.columns]), times, when

    def _under(self, key: str | None, rows: list[Any]) -> Any:
        """What all rows have under a key that they must have."""
        if not key:
            return None
        if any(row.get(key) is None for row in rows):
            raise ParameterError(f"an object must have its time under {key!r}.")
        return np.array([row[key] for row in rows])

    def _refuse(self, number: int, error: ParameterError) -> None:
        self.bad += 1
        self._write({"line": number, "error": str(error)})

    def _write(self, told: dict[str, Any]) -> None:
        text = json.dumps(told, ensure_ascii=False)
        try:
            text.encode(getattr(self.out, "encoding", None) or "utf-8")
        except UnicodeEncodeError:  # half a letter, or one that the stream has not got: JSON can say both
            text = json.dumps(told)
        self.out.write(text + "\n")


def _choices(options: argparse.Namespace, before: dict[str, Any], stream: TreeStream) -> dict[str, Any]:
    """What was asked for when the state began. A service is started again by the same command, so the same may be asked for again."""
    readers: dict[str, Callable[[str], Any]] = {"prior": read_prior, "likelihood": read_likelihood}
    chosen = {name: before.get(name) for name in USUAL}
    for name in USUAL:
        asked, known = getattr(options, name), chosen[name]
        if asked is None or (name not in readers and not before):
            continue
        if name in readers:
            asked, known = (text if text is None else readers[name](text) for text in (asked, known))
            known = stream.model.prior if name == "prior" else known
        elif known is None:
            known = USUAL[name]
        if asked != known:
            shown = f"--{name.replace('_', '-')} {getattr(options, name)}"
            raise ParameterError(f"{shown}: must be as when --state {options.state} began, or left out; a state has its model already.")
    return chosen


def _listed(text: str | None) -> list[str]:
    return [] if not text else [name.strip() for name in text.split(",")]
