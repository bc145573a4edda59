"""Turns a file of emplace_micro into one for every machine: times as multiples of a yardstick.

    ratios.py FILE MACHINE >baseline.json

FILE is what --benchmark_out of Google Benchmark wrote, with repetitions. MACHINE names what ran them. The yardstick is
an event loop that uses no simulator of emplace, so that a faster or slower one does not change it.
"""

import json
import pathlib
import statistics
import sys

YARDSTICK = "BM_HeapLoop/ops:10000"
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def nanoseconds(run: dict, which: str) -> float:
    return run[which] * NANOSECONDS[run["time_unit"]]


def main() -> None:
    file, machine = sys.argv[1:]
    measured = json.loads(pathlib.Path(file).read_text())
    runs = [run for run in measured["benchmarks"] if run["run_type"] == "iteration"]
    yardstick = statistics.median(nanoseconds(run, "cpu_time") for run in runs if run["run_name"] == YARDSTICK)
    entries = [
        {"run_name": run["run_name"], "time_unit": "ns"}
        | {which: float(f"{nanoseconds(run, which) / yardstick:.4g}") for which in ("real_time", "cpu_time")}
        for run in sorted(runs, key=lambda run: (run["run_name"], run["repetition_index"]))
    ]
    facts = {fact: measured["context"][fact] for fact in ("num_cpus", "mhz_per_cpu", "library_build_type")}
    context = {"host_name": machine, "date": measured["context"]["date"][:10]} | facts | {"times_in": YARDSTICK}
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    print(f'{{"context": {json.dumps(context)},\n"benchmarks": [\n{lines}\n]}}')


main()
