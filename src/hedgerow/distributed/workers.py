"""Workers: whoever works on the shards, here in threads or on the workers of a Dask cluster, and the record that replaces the lost.

The coordinator asks all shards one thing at a time and gets their answers in the order of the shards. Since the last time that labels
were told, the workers keeps the commands that changed them, so that a shard can be brought back anywhere.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hedgerow.distributed.sources import Source
from hedgerow.distributed.working_shard import Answer, Command, Missing, forget, serve
from hedgerow.errors import need_extra, require

__all__ = ["Clock", "DaskWorkers", "LocalWorkers", "Workers", "open_workers"]

_SMALL = 20_000
"""Rows below which threads cost more than they give."""


@dataclass
class Clock:
    """Seconds in the shards of whoever had most to do, and rounds, since the last look."""

    shards: float = 0.0
    rounds: int = 0


class Workers:
    """Asks shards; how is left to the kinds below."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = list(sources)
        self.run = secrets.token_hex(8)
        self.clock = Clock()
        self.rows = 0
        self.sizes: list[int] = []
        self.columns: tuple[str, ...] | None = None
        self._serial = 0
        self._last = 0
        self._history: list[tuple[int, Sequence[Command]]] = []

    def ask(self, commands: Command | Sequence[Command]) -> list[dict[str, Any]]:
        """One command for all shards or one for each; the answers in the order of the shards."""
        each = [commands] * len(self.sources) if isinstance(commands, Command) else list(commands)
        self._serial += 1
        first = self._last == 0
        jobs = [self._job(shard, each[shard], self._past(shard) if first else None) for shard in range(len(each))]
        answers = self._run(jobs)
        lost = [shard for shard, answer in enumerate(answers) if isinstance(answer, Missing)]
        if lost:
            again = self._run([self._job(shard, each[shard], self._past(shard)) for shard in lost])
            for shard, answer in zip(lost, again, strict=True):
                answers[shard] = answer
        if each[0].changes:
            self._history.append((self._serial, each))
            self._last = self._serial
        self.clock.shards += self._busiest(answers)
        self.clock.rounds += 1
        return [answer.value for answer in answers]

    def restart_from(self, kept: int, commands: Sequence[Command]) -> None:
        """Forget all but the first `kept` changes: `commands` now lead from there to where the shards are."""
        self._history = [*self._history[:kept], (self._last, list(commands))]

    def drop_empty(self, sizes: Sequence[int]) -> None:
        """Speak to shards that have rows only, of all that there are; those without have no part in anything."""
        self.sizes = list(sizes)
        there = [shard for shard, rows in enumerate(sizes) if rows]
        self.sources = [self.sources[shard] for shard in there]
        self._history = [(serial, [commands[shard] for shard in there]) for serial, commands in self._history]

    def spread(self, parts: Sequence[Any], empty: Any) -> list[Any]:
        """Answers of the shards that have rows as those of all."""
        left = iter(parts)
        return [next(left) if rows else empty for rows in self.sizes]

    def forget_after(self, kept: int) -> None:
        """Forget all but the first `kept` changes: what follows does not depend on the others."""
        self._history = self._history[:kept]

    @property
    def size(self) -> int:
        """Workers there were at the start; 0 for this process."""
        return 0

    @property
    def changes(self) -> int:
        """Commands remembered."""
        return len(self._history)

    def close(self) -> None:
        """Let go of the shards."""
        raise NotImplementedError

    def _past(self, shard: int) -> list[tuple[int, Command]]:
        return [(serial, commands[shard]) for serial, commands in self._history]

    def _job(self, shard: int, command: Command, history: list[tuple[int, Command]] | None) -> dict[str, Any]:
        return {
            "source": self.sources[shard],
            "serial": self._serial,
            "after": self._last,
            "command": command,
            "history": history,
        }

    def _run(self, jobs: Sequence[dict[str, Any]]) -> list[Any]:
        raise NotImplementedError

    def _busiest(self, answers: Sequence[Answer]) -> float:
        """Seconds of work of whoever had most to do."""
        raise NotImplementedError


class LocalWorkers(Workers):
    """Shards in this process, in threads where that pays."""

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__(sources)
        self._threads = min(len(self.sources), os.cpu_count() or 1)
        self._pool: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """Let go of the shards."""
        if self._pool is not None:
            self._pool.shutdown()
        forget(self.run)

    def _run(self, jobs: Sequence[dict[str, Any]]) -> list[Any]:
        if self._threads == 1 or self.rows < _SMALL:
            return [serve(self.run, **job) for job in jobs]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads)
        return list(self._pool.map(lambda job: serve(self.run, **job), jobs))

    def _busiest(self, answers: Sequence[Answer]) -> float:
        total = sum(answer.seconds for answer in answers)
        return total if self._pool is None else max(total / self._threads, max(answer.seconds for answer in answers))


class DaskWorkers(Workers):
    """Shards on the workers of a Dask cluster; each stays where it is as long as its worker lives."""

    def __init__(self, sources: Sequence[Source], client: Any) -> None:
        super().__init__(sources)
        self._client = client
        self._address = str(client.scheduler.address)
        self._threads: dict[str, int] = dict(client.nthreads())
        require(len(self._threads) > 0, "distributed", "client", client, "have at least one worker")
        seats = [address for address, count in sorted(self._threads.items()) for _ in range(count)]
        self._home = [seats[shard % len(seats)] for shard in range(len(self.sources))]  # by the numbers of the sources

    @property
    def size(self) -> int:
        """Workers there were at the start."""
        return len(self._threads)

    def close(self) -> None:
        """Let go of the shards on all workers."""
        if self._client.status == "running":
            with suppress(Exception):  # a cluster that is going away takes the shards with it
                self._client.run(forget, self.run, on_error="ignore")

    def _run(self, jobs: Sequence[dict[str, Any]]) -> list[Any]:
        try:
            return self._submit(jobs)
        except (OSError, CancelledError) as error:  # how Dask says that it lost the scheduler
            if not isinstance(error, CancelledError) and self._client.status == "running":
                raise  # a worker's own trouble with a file
            raise ConnectionError(
                f"distributed: the scheduler at {self._address} was lost while the shards worked on "
                f"{type(jobs[0]['command']).__name__}. A run with checkpoint= goes on from its folder by distributed.resume()."
            ) from error
        except need_extra("distributed", "dask").KilledWorker as error:
            raise ConnectionError(
                f"distributed: one worker after another was lost while at work on a shard ({error.task}). Mostly that is memory: cut "
                f"the rows into more shards, or give the workers more. A run with checkpoint= goes on by distributed.resume()."
            ) from error

    def _submit(self, jobs: Sequence[dict[str, Any]]) -> list[Any]:
        futures = []
        for job in jobs:
            source: Source = job["source"]
            loading = job["history"] is not None
            futures.append(
                self._client.submit(
                    serve_here,
                    self.run,
                    **(job | {"source": source.bare}),
                    data=source.origin if loading and not source.travels else None,
                    workers=[self._home[source.number]],
                    allow_other_workers=True,
                    key=f"hedgerow-{self.run}-{job['serial']}-{source.number}-{'whole' if loading else 'next'}",
                    pure=False,
                )
            )
        answers: list[Any] = self._client.gather(futures)
        for job, answer in zip(jobs, answers, strict=True):
            if isinstance(answer, Answer):
                self._home[job["source"].number] = answer.place
        return answers

    def _busiest(self, answers: Sequence[Answer]) -> float:
        load: dict[str, float] = {}
        for answer in answers:
            load[answer.place] = load.get(answer.place, 0.0) + answer.seconds / self._threads.get(answer.place, 1)
        return max(load.values())


def serve_here(run: str, **job: Any) -> Answer | Missing:
    """`serve` on a worker, which says where it is."""
    worker: Callable[[], Any] = need_extra("distributed", "dask").get_worker
    return serve(run, place=str(worker().address), **job)


def open_workers(owner: str, sources: Sequence[Source], client: Any) -> Workers:
    """The workers for a client, or for none."""
    if client is None:
        return LocalWorkers(sources)
    distributed = need_extra("distributed", "dask")
    require(isinstance(client, distributed.Client), owner, "client", client, "be a distributed.Client, or None for this process")
    return DaskWorkers(sources, client)
