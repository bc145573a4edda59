#!/usr/bin/env python3
"""Runs and trains while the machine fails, again and again, and counts what came of it.

Usage: soak.py EMPLACE [--minutes M | --rounds N] [--seed S] [--only NAME...]

Each fault is a function under @fault. It gets a Bench, whose folder is its own, breaks something at a random place,
and says by Bench.expect() what must hold afterwards, above all: the bytes are those of a run that nothing disturbed.
One round runs each fault once. Without --minutes that is all, which takes seconds: the test `soak` of ./check. The
last lines are the counts; the exit status is 1 if anything did not hold.

To add a fault, write a function here; its docstring is its line in the counts.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FAULTS = {}
TIMEOUT_S = 300
# Of memory for each cell that a run has done; its line in the store has about a kilobyte.
MOST_CELL_BYTES = 20_000

SUITE = {
    "schema": "emplace-suite", "version": 1, "name": "soak",
    "graphs": ["in-tree:levels=5", "fft:log2-points=3"], "clusters": ["p2-8xlarge-2", "p2-8xlarge-4"],
    "agents": ["single-gpu", "heft", "random", "hill-climb", "simulated-annealing"],
    "repetitions": 2, "max_evaluations": 400,
}
TRAINING = ["train", "placeto:preset=released,rounds=2,workers=2,start=best", "fork-join:width=3,stages=2",
            "--cluster", "p2-8xlarge-2", "--groups", "8", "--seed", "3", "--episodes", "60", "--checkpoint-every", "0"]


class Broken(Exception):
    """What was expected did not hold."""


class Skipped(Exception):
    """The fault cannot be made here; the text says why."""


def fault(function):
    FAULTS[function.__name__.replace("_", "-")] = function
    return function


class Bench:
    """A folder of its own for one fault, and what it may do there."""

    def __init__(self, emplace, folder, whole, rng):
        self.emplace, self.folder, self.whole, self.rng = emplace, folder, whole, rng
        self.counts = collections.Counter()

    def path(self, name):
        return self.folder / name

    def start(self, *arguments, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        self.counts["programs"] += 1
        return subprocess.Popen([self.emplace, *arguments], cwd=self.folder, **options)

    def run(self, *arguments, **options):
        """Returns (exit status, standard output, standard error)."""
        process = self.start(*arguments, **options)
        try:
            output, errors = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Broken(f"emplace {' '.join(arguments)}: no end after {TIMEOUT_S} s") from None
        return process.returncode, output or b"", (errors or b"").decode(errors="replace")

    def expect(self, holds, what, outcome=None):
        if not holds:
            raise Broken(what + (f"; exit {outcome[0]}, {outcome[2].strip()[-500:]!r}" if outcome else ""))

    def run_suite(self, *arguments, folder="run", **options):
        return self.run("run", str(self.whole.suite), "-q", "-o", folder, "--json", *arguments, **options)

    def train(self, *arguments, output="policy.json", **options):
        return self.run(*TRAINING, "-o", output, *arguments, **options)

    def expect_whole_run(self, folder="run"):
        outcome = self.run_suite("--resume", folder=folder)
        self.expect(outcome[0] == 0, "the run is not finished by --resume", outcome)
        self.expect(cells_of(self.path(folder)) == self.whole.cells, "the results are other bytes")
        self.expect(outcome[1] == self.whole.report, "the report is other bytes")
        self.expect_clean(self.path(folder))

    def expect_whole_policy(self, output="policy.json"):
        if self.path(output + ".checkpoint").exists():
            outcome = self.train("--resume", output=output)
        elif not self.path(output).exists() or self.path(output).read_bytes() != self.whole.policy:
            outcome = self.train(output=output)
        else:  # killed when all was written: its lock may be left, which locks nobody out
            outcome = (0, b"", "")
            self.path(output + ".lock").unlink(missing_ok=True)
        self.expect(outcome[0] == 0, "the training is not finished by --resume", outcome)
        self.expect(self.path(output).read_bytes() == self.whole.policy, "the policy is other bytes")
        self.expect_clean(self.folder)

    def expect_clean(self, folder):
        left = [path.name for path in folder.iterdir() if path.name.startswith(".emplace-") or path.suffix == ".lock"]
        self.expect(not left, f"files are left in {folder.name}: {left}")

    def kill_after(self, process, seconds, name=signal.SIGKILL):
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(name)
            self.counts["signals"] += 1
        process.communicate(timeout=TIMEOUT_S)
        return process.returncode


class Whole:
    """What comes of the run and the training where nothing disturbs them."""

    def __init__(self, emplace, folder):
        self.suite = folder / "soak.json"
        self.suite.write_text(json.dumps(SUITE))
        begin = time.monotonic()
        run = subprocess.run([emplace, "run", str(self.suite), "-q", "-o", str(folder / "run"), "--json"],
                             check=True, capture_output=True, timeout=TIMEOUT_S)
        self.run_s = time.monotonic() - begin
        self.report, self.cells, self.run_folder = run.stdout, cells_of(folder / "run"), folder / "run"
        begin = time.monotonic()
        subprocess.run([emplace, *TRAINING, "-o", str(folder / "policy.json")], check=True, capture_output=True,
                       timeout=TIMEOUT_S)
        self.train_s = time.monotonic() - begin
        self.policy = (folder / "policy.json").read_bytes()


def cells_of(folder):
    """The cells of a store without what a clock measured, and so without their checksums."""
    cells = [json.loads(line) for line in (folder / "cells.jsonl").read_bytes().splitlines()]
    for cell in cells:
        del cell["measured"], cell["crc32"]
    return sorted(json.dumps(cell) for cell in cells)


def limited(which, value):
    def limit():
        resource.setrlimit(which, (value, value))
    return limit


# --- Killed ------------------------------------------------------------------------------------------------------


@fault
def killed_runs(bench):
    """runs killed up to three times, then resumed to the same bytes"""
    for _ in range(bench.rng.randint(1, 3)):
        arguments = ["--resume"] if bench.path("run").exists() else []
        process = bench.start("run", str(bench.whole.suite), "-q", "-o", "run", *arguments)
        bench.kill_after(process, bench.rng.uniform(0, 1.1 * bench.whole.run_s))
    bench.expect_whole_run()


@fault
def killed_trainings(bench):
    """trainings killed up to three times, then resumed to the same bytes"""
    for _ in range(bench.rng.randint(1, 3)):
        arguments = ["--resume"] if bench.path("policy.json.checkpoint").exists() else []
        if not arguments and bench.path("policy.json").exists():
            break
        process = bench.start(*TRAINING, "-o", "policy.json", *arguments)
        bench.kill_after(process, bench.rng.uniform(0, 1.1 * bench.whole.train_s))
    bench.expect_whole_policy()


@fault
def interrupted_runs(bench):
    """runs that get Ctrl-C, end with 130 or 0, and are resumed to the same bytes"""
    process = bench.start("run", str(bench.whole.suite), "-q", "-o", "run")
    status = bench.kill_after(process, bench.rng.uniform(0, bench.whole.run_s), signal.SIGINT)
    # Before the program listens, the signal ends it as it ends any.
    bench.expect(status in (0, 130, -signal.SIGINT), f"Ctrl-C ended a run with {status}")
    bench.expect_whole_run()


@fault
def trainings_side_by_side(bench):
    """pairs of trainings in one folder, of which one is killed again and again"""
    other = bench.start(*TRAINING, "-o", "other.json")
    for _ in range(2):
        process = bench.start(*TRAINING, "-o", "policy.json",
                              *(["--resume"] if bench.path("policy.json.checkpoint").exists() else []))
        bench.kill_after(process, bench.rng.uniform(0, bench.whole.train_s))
        if bench.path("policy.json").exists() and not bench.path("policy.json.checkpoint").exists():
            break
    other.communicate(timeout=TIMEOUT_S)
    bench.expect(other.returncode == 0, f"the other training ended with {other.returncode}")
    bench.expect(bench.path("other.json").read_bytes() == bench.whole.policy, "the other policy is other bytes")
    bench.expect_whole_policy()


@fault
def the_same_output_twice(bench):
    """pairs of trainings with one output: one ends with 0, the other is refused with 2"""
    processes = [bench.start(*TRAINING, "-o", "policy.json") for _ in range(2)]
    statuses = []
    for process in processes:
        process.communicate(timeout=TIMEOUT_S)
        statuses.append(process.returncode)
    if statuses != [0, 0]:  # the second began after the first had ended
        bench.expect(sorted(statuses) == [0, 2], f"two trainings ended with {statuses}")
    bench.expect_whole_policy()


# --- Damaged -----------------------------------------------------------------------------------------------------


@fault
def flipped_bits(bench):
    """stores and policies with one bit flipped, all refused with 3"""
    shutil.copytree(bench.whole.run_folder, bench.path("run"))
    bench.path("policy.json").write_bytes(bench.whole.policy)
    place = ["place", "fork-join:width=3,stages=2", "--cluster", "p2-8xlarge-2", "--policy", "policy.json"]
    for name, command in (("run/cells.jsonl", ["report", "run"]), ("run/manifest.json", ["report", "run"]),
                          ("policy.json", place)):
        path = bench.path(name)
        good = path.read_bytes()
        for _ in range(3):
            at, bit = bench.rng.randrange(len(good)), bench.rng.randrange(8)
            damaged = bytearray(good)
            damaged[at] ^= 1 << bit
            path.write_bytes(damaged)
            outcome = bench.run(*command)
            bench.counts["bits"] += 1
            bench.expect(outcome[0] == 3, f"bit {bit} of byte {at} of {name} was flipped", outcome)
        path.write_bytes(good)


def with_one_changed(rng, document):
    """Changes one value somewhere in a JSON document."""
    holder, key = {"": document}, ""
    while isinstance(holder[key], (dict, list)) and holder[key]:
        holder = holder[key]
        key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    # No large counts: a training of 2^53 episodes is a valid one.
    numbers = [0.0, -1.0, 1e308, 5e-324] if isinstance(holder[key], float) else [0, -1, 7]
    holder[key] = rng.choice([*numbers, "x", None, [], {}, True])
    return document


@fault
def changed_values(bench):
    """policies and checkpoints with a changed value and no checksum: refused, or valid ones"""
    process = bench.start(*TRAINING, "-o", "policy.json")
    bench.kill_after(process, bench.rng.uniform(0.3, 0.9) * bench.whole.train_s)
    checkpoint = bench.path("policy.json.checkpoint")
    place = ["place", "fork-join:width=3,stages=2", "--cluster", "p2-8xlarge-2", "--policy", "changed.json", "-q"]
    tries = [("changed.json", bench.whole.policy, place)]
    if checkpoint.exists():
        tries.append((checkpoint.name, checkpoint.read_bytes(), [*TRAINING, "-o", "policy.json", "--resume"]))
    for name, good, command in tries:
        for _ in range(10):
            document = json.loads(good)
            del document["crc32"]
            changed = json.dumps(with_one_changed(bench.rng, document))
            bench.path("policy.json").unlink(missing_ok=True)
            bench.path(name).write_text(changed)
            outcome = bench.run(*command)
            bench.counts["changes"] += 1
            bench.expect(outcome[0] in (0, 2, 3), f"a changed {name}", outcome)


@fault
def torn_lines(bench):
    """stores cut off at a random byte, resumed to the same bytes"""
    shutil.copytree(bench.whole.run_folder, bench.path("run"))
    cells = bench.path("run/cells.jsonl")
    os.truncate(cells, bench.rng.randrange(cells.stat().st_size))
    bench.expect_whole_run()


# --- Without what a program needs --------------------------------------------------------------------------------


def expect_in_good_order(bench, outcome, what):
    bench.expect(outcome[0] in (0, 1, 3, 4), f"{what}: it did not end in good order", outcome)
    bench.expect(outcome[0] == 0 or "emplace: " in outcome[2] or "emplace: " in outcome[1].decode(errors="replace"),
                 f"{what}: no error was told", outcome)
    bench.counts["refused" if outcome[0] else "managed"] += 1


@fault
def small_disks(bench):
    """runs whose files may not grow beyond a random size, resumed to the same bytes"""
    bytes_ = bench.rng.randrange(2_000, 60_000)
    outcome = bench.run_suite(preexec_fn=limited(resource.RLIMIT_FSIZE, bytes_))
    expect_in_good_order(bench, outcome, f"files of at most {bytes_} bytes")
    bench.expect_whole_run()


@fault
def little_memory(bench):
    """runs with a random limit of memory: no lasting failed cell, resumed to the same bytes"""
    mebibytes = bench.rng.randint(60, 700)
    outcome = bench.run_suite("--threads", str(bench.rng.randint(1, 4)),
                              preexec_fn=limited(resource.RLIMIT_AS, mebibytes << 20))
    # Where libraries cannot be loaded, the loader says so and ends with 127.
    if outcome[0] != 127:
        expect_in_good_order(bench, outcome, f"{mebibytes} MiB")
    bench.expect_whole_run()


@fault
def few_descriptors(bench):
    """runs with a random limit of open files, resumed to the same bytes"""
    files = bench.rng.randint(3, 12)
    outcome = bench.run_suite(preexec_fn=limited(resource.RLIMIT_NOFILE, files))
    if outcome[0] != 127:
        expect_in_good_order(bench, outcome, f"{files} descriptors")
    bench.expect_whole_run()


@fault
def few_threads(bench):
    """runs of a user who may start no thread: the same bytes, on one"""
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            raise Skipped("root has no limit of threads, and setpriv is not there")
        # Of a user that runs nothing else; the folder is made free to it.
        os.chmod(bench.folder, 0o777)
        become = ["setpriv", "--reuid=64321", "--clear-groups"]
    else:
        become = []
    limit = f"ulimit -u {bench.rng.choice((1, 1, 2, 3))}; exec \"$@\""
    command = ["sh", "-c", limit, "sh", *become, bench.emplace, "run", str(bench.whole.suite), "-q", "-o", "run",
               "--json", "--threads", "4"]
    bench.counts["programs"] += 1
    done = subprocess.run(command, cwd=bench.folder, capture_output=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
    if b"ermission denied" in done.stderr and done.returncode in (126, 127):
        raise Skipped("another user may not run the program here")
    bench.expect(done.returncode == 0, "a run without threads failed",
                 (done.returncode, done.stdout, done.stderr.decode(errors="replace")))
    bench.expect(done.stdout == bench.whole.report, "the report is other bytes")


@fault
def closed_pipes(bench):
    """commands whose reader goes away: ended by SIGPIPE, or with an error where that is ignored"""
    for ignored in (False, True):
        reader, writer = os.pipe()
        os.close(reader)
        process = bench.start("list", "graphs", stdout=writer, restore_signals=not ignored)
        os.close(writer)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        if ignored:
            bench.expect(process.returncode == 3 and b"Broken pipe" in errors, f"ended with {process.returncode}")
        else:
            bench.expect(process.returncode == -signal.SIGPIPE and not errors, f"ended with {process.returncode}")


@fault
def threads(bench):
    """runs on a random number of threads: the same bytes"""
    outcome = bench.run_suite("--threads", str(bench.rng.randint(1, 7)))
    bench.expect(outcome[0] == 0, "the run failed", outcome)
    bench.expect_whole_run()


@fault
def many_cells(bench):
    """runs of many cells: memory grows with their results, and with nothing else"""
    peaks = {}
    for repetitions in (50, 1050):
        suite = {**SUITE, "graphs": ["in-tree:levels=5"], "clusters": ["p2-8xlarge-2"], "agents": ["single-gpu", "random"],
                 "repetitions": repetitions, "max_evaluations": 3}
        bench.path("suite.json").write_text(json.dumps(suite))
        # What the address sanitizer keeps of freed memory would count, too.
        keep = f"{os.environ.get('ASAN_OPTIONS', '')}:quarantine_size_mb=4"
        process = bench.start("run", "./suite.json", "-q", "-o", str(repetitions), "--threads", "1",
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, "ASAN_OPTIONS": keep})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        bench.expect(process.returncode == 0, f"a run ended with {process.returncode}")
        cells = len(bench.path(str(repetitions)).joinpath("cells.jsonl").read_bytes().splitlines())
        peaks[cells] = usage.ru_maxrss * 1024
        bench.counts["cells"] += cells
    (few, least), (many, most) = peaks.items()
    bytes_ = (most - least) / (many - few)
    bench.expect(bytes_ < MOST_CELL_BYTES, f"{bytes_:.0f} bytes of memory for each of {many} cells")


# --- All ---------------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("emplace")
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", nargs="+", choices=sorted(FAULTS), default=list(FAULTS))
    options = parser.parse_args()
    emplace = str(pathlib.Path(options.emplace).resolve())
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"soak: seed {seed}", flush=True)

    tries, counts, broken, skipped = collections.Counter(), collections.Counter(), [], {}
    end = time.monotonic() + 60 * options.minutes
    done = 0
    with tempfile.TemporaryDirectory(prefix="emplace-soak-") as root:
        os.chmod(root, 0o755)
        whole = Whole(emplace, pathlib.Path(root))
        while time.monotonic() < end if options.minutes else done < options.rounds:
            for name in options.only:
                folder = pathlib.Path(root) / f"{done}-{name}"
                folder.mkdir()
                # Each try can be repeated alone, by the seed and the number of its round.
                bench = Bench(emplace, folder, whole, random.Random(f"{seed} {done} {name}"))
                try:
                    FAULTS[name](bench)
                    tries[name] += 1
                except Skipped as reason:
                    skipped[name] = str(reason)
                except (Broken, OSError, ValueError, subprocess.SubprocessError) as problem:
                    tries[name] += 1
                    broken.append(f"{name}, round {done}: {problem}")
                    print(f"soak: BROKEN {broken[-1]}", flush=True)
                counts += bench.counts
                shutil.rmtree(folder, ignore_errors=True)
            done += 1

    print(f"soak: {done} rounds, seed {seed}")
    for name in options.only:
        failures = sum(problem.startswith(name + ",") for problem in broken)
        print(f"  {tries[name]:6} tried {failures:4} broken  {name}: {FAULTS[name].__doc__}")
    print("  " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    for name, reason in skipped.items():
        print(f"skipped: {name}: {reason}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
