"""Runs a suite in several processes, each of which takes one shard after another."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import shutil
import sys
from typing import Any, Callable, Optional, Sequence

from emplace import _core
from emplace._agents import class_of
from emplace._errors import UsageError

# Shards differ in how long they take, so each process has several.
_SHARDS_OF_WORKER = 4


def _run_shard(classes: Sequence[type], folder: str, shard: str, text: str, source: str, seed: int, resume: bool,
               threads: int, arguments: list[str], files: list[tuple[str, bytes]]) -> tuple[str, list[str]]:
    """Runs a shard; returns what _core.run_suite() does, and its warnings. `classes` register themselves."""
    warnings: list[str] = []
    faults = _core.run_suite(text, source, folder, seed, shard, resume, threads, arguments, files, warnings.append,
                             None)
    return faults, warnings


def run_in_processes(text: str, source: str, folder: str, agents: Sequence[str], files: list[tuple[str, bytes]], *,
                     seed: int, resume: bool, threads: int, workers: int, warn: Callable[[str], None],
                     progress: Optional[Callable[[int, int], None]]) -> str:
    """Runs the suite `text` into `folder`, as _core.run_suite() does; FOLDER.shards has what is not finished yet."""
    classes = [cls for cls in map(class_of, agents) if cls is not None]
    for cls in classes:
        if cls.__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
            raise UsageError(f"workers is {workers}, but other processes cannot import {cls.__name__}, which is "
                             "defined at a prompt or in a notebook; put it into a file")
    shards = workers * _SHARDS_OF_WORKER
    parts = [os.path.join(f"{folder}.shards", str(number)) for number in range(1, shards + 1)]
    if os.path.exists(f"{folder}.shards") and not resume:
        raise UsageError(f"{folder}.shards already contains a run; finish it with resume=True, or choose another "
                         "folder")
    threads = max(1, (threads or len(os.sched_getaffinity(0))) // workers)
    faults: list[str] = []
    # Not by fork, which leaves a process without the threads of this one.
    with concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        tasks: list[concurrent.futures.Future[Any]] = [
            pool.submit(_run_shard, classes, part, f"{number}/{shards}", text, source, seed, os.path.exists(part),
                        threads, list(sys.argv), files)
            for number, part in enumerate(parts, 1)]
        try:
            for done, task in enumerate(concurrent.futures.as_completed(tasks), 1):
                fault, warnings = task.result()
                faults += [fault] if fault else []
                for warning in warnings:
                    warn(warning)
                if progress is not None:
                    progress(done, shards)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if not faults:
        _core.merge_runs(parts, folder)
        shutil.rmtree(f"{folder}.shards")
    return "; ".join(faults)
