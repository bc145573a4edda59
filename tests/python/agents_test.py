#!/usr/bin/env python3
"""Agents in Python: alone, in suites beside all others, and when they go wrong."""
import contextlib
import errno
import faulthandler
import gc
import json
import os
import pathlib
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import emplace
import numpy


@emplace.agent("py-random", summary="random placements in batches", parameters={"batch": emplace.Parameter(8, 1, 100)})
class RandomSearch:
    """Evaluates random placements."""

    def __init__(self, batch):
        self.batch = batch

    def place(self, problem, evaluator):
        best = numpy.full(problem.num_groups, problem.placeable_devices[0])
        while not evaluator.exhausted:
            devices = problem.placeable_devices
            batch = devices[evaluator.random.integers(len(devices), (self.batch, problem.num_groups))]
            evaluator.evaluate(batch)
        return best if evaluator.best_placement is None else evaluator.best_placement


@emplace.agent("py-round-robin", kind="baseline", deterministic=True)
class RoundRobin:
    """Puts group after group on the next device."""

    def place(self, problem, evaluator):
        devices = problem.placeable_devices
        return devices[numpy.arange(problem.num_groups) % len(devices)]


@emplace.agent("py-one-by-one")
class OneByOne:
    """Evaluates random placements one at a time."""

    def place(self, problem, evaluator):
        best = numpy.zeros(problem.num_groups, int) + problem.placeable_devices[0]
        least = evaluator.evaluate(best).objective_us
        while not evaluator.exhausted:
            placement = problem.placeable_devices[evaluator.random.integers(len(problem.placeable_devices),
                                                                          problem.num_groups)]
            objective = evaluator.evaluate(placement).objective_us
            if objective < least:
                best, least = placement, objective
        return best


@emplace.agent("py-coarse", groups=16)
class Coarse:
    """Decides on 16 groups."""

    def place(self, problem, evaluator):
        evaluator.evaluate(numpy.full(problem.num_groups, problem.placeable_devices[0]))
        return evaluator.best_placement


@emplace.agent("py-starved", deterministic=True)
class Starved:
    """Fails as the machine does that lacks something."""

    lack = None

    def place(self, problem, evaluator):
        if Starved.lack is not None:
            raise Starved.lack
        return numpy.full(problem.num_groups, problem.placeable_devices[0])


def failing(name, body):
    """Registers an agent whose place() is `body`."""
    return emplace.agent(name)(type("Failing", (), {"place": body}))


def raises(self, problem, evaluator):
    raise KeyError("no such thing")


failing("py-raises", raises)
failing("py-none", lambda self, problem, evaluator: None)
failing("py-short", lambda self, problem, evaluator: [0])
failing("py-wild", lambda self, problem, evaluator: numpy.full(problem.num_groups, 99))
failing("py-exits", lambda self, problem, evaluator: exit("bye"))

SUITE = {
    "schema": "emplace-suite", "version": 1, "name": "mixed", "summary": "Python beside C++",
    "graphs": ["inception-v3:batch=1"], "clusters": ["p2-8xlarge-2"],
    "agents": ["heft", "random", RandomSearch, {"agent": "py-random:batch=3", "name": "three"}, RoundRobin],
    "repetitions": 3, "max_evaluations": 40, "groups": 32,
}


ENDLESS = """
import emplace, time
@emplace.agent("endless")
class Endless:
    def place(self, problem, evaluator):
        print("begun", flush=True)
        while True:
            {body}
"""


@contextlib.contextmanager
def ends_within(seconds):
    """Ends the process if the block takes longer: threads that wait for each other never end."""
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def ends_at_second_interrupt(test, process):
    """Interrupts a process with an endless agent twice."""
    try:
        test.assertTrue(process.stdout.readline().startswith(b"begun"))  # as often as cells run side by side
        process.send_signal(signal.SIGINT)
        with test.assertRaises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGINT)
        test.assertEqual(process.wait(60), -signal.SIGINT)
    finally:
        process.kill()


def libraries(folder):
    """Returns the libraries of each start of a run."""
    manifest = json.loads(pathlib.Path(folder, "manifest.json").read_text())
    return [start["build"]["libraries"] for start in manifest["starts"]]


def rows(table):
    """Returns a table as a list of dicts, also where it is a pandas.DataFrame."""
    return table if isinstance(table, list) else table.to_dict("records")


def facts(report):
    """Returns the cells of a report without what a clock measured."""
    return [{key: value for key, value in row.items() if key != "wall_s"} for row in rows(report.cells)]


class Placing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.problem = emplace.problem("inception-v3", "p2-8xlarge-4", groups=32)

    def test_the_same_as_the_program(self):
        placed = emplace.place(self.problem, "hill-climb", evaluations=300, seed=5)
        done = subprocess.run([os.environ["EMPLACE"], "place", "inception-v3", "--cluster", "p2-8xlarge-4", "--groups",
                               "32", "--agent", "hill-climb", "--evaluations", "300", "--seed", "5", "--json"],
                              check=True, capture_output=True, text=True)
        told = json.loads(done.stdout)
        self.assertEqual(placed.step_time_us, told["step_time_us"])
        self.assertEqual(placed.bound_us, told["bound_us"])
        self.assertEqual(placed.evaluations_to_best, told["evaluations_to_best"])
        self.assertEqual(self.problem.simulate(placed.placement).step_time_us, placed.step_time_us)

    def test_python_agents_keep_budget_and_seed(self):
        for budget in (0, 1, 7, 100):
            placed = emplace.place(self.problem, RandomSearch, evaluations=budget)
            self.assertEqual(placed.evaluations, budget)
        one, two, other = (emplace.place(self.problem, RandomSearch, evaluations=50, seed=seed, threads=threads)
                           for seed, threads in ((1, 1), (1, 4), (2, 1)))
        self.assertEqual(one.step_time_us, two.step_time_us)
        numpy.testing.assert_array_equal(one.placement, two.placement)
        self.assertNotEqual(one.step_time_us, other.step_time_us)

    def test_the_best_of_a_evaluator_is_the_least_of_its_evaluations(self):
        seen = []

        @emplace.agent("py-watched")
        class Watched:
            def place(self, problem, evaluator):
                batch = numpy.random.default_rng(evaluator.random.bits()).choice(problem.placeable_devices,
                                                                               (20, problem.num_groups))
                many = evaluator.evaluate(batch)
                seen.append((many, evaluator.best_evaluation, evaluator.share_used, evaluator.evaluations_left))
                many = evaluator.evaluate(batch)
                seen.append(many)
                numpy.testing.assert_array_equal(problem.evaluate(batch).objective_us, seen[0][0].objective_us)
                return evaluator.best_placement

        placed = emplace.place(self.problem, Watched, evaluations=30)
        many, best, share, left = seen[0]
        self.assertEqual(best.objective_us, many.objective_us.min())
        self.assertEqual((share, left), (20 / 30, 10))
        self.assertEqual(placed.step_time_us, best.step_time_us)
        self.assertEqual((seen[1].status == emplace.Status.BUDGET_SPENT).sum(), 10)
        self.assertTrue(numpy.isinf(seen[1].objective_us[10:]).all())

    def test_start_and_time_limit(self):
        start = emplace.place(self.problem, "heft")
        better = emplace.place(self.problem, "simulated-annealing", start=start.placement, evaluations=200)
        self.assertLessEqual(better.step_time_us, start.step_time_us)
        begin = time.monotonic()
        emplace.place(self.problem, OneByOne, time_limit=0.3)
        self.assertLess(time.monotonic() - begin, 5)

    def test_coarse_agents(self):
        problem = emplace.problem("inception-v3", "p2-8xlarge-2")
        placed = emplace.place(problem, Coarse)
        self.assertLessEqual(placed.decision_groups, 16)
        self.assertEqual(len(placed.placement), problem.num_groups)
        self.assertEqual(emplace.place(problem, "py-coarse:groups=0").decision_groups, problem.num_groups)

    def test_threads_of_python_go_on_meanwhile(self):
        ticks, done = [], threading.Event()

        def tick():
            while not done.wait(0.01):
                ticks.append(1)

        thread = threading.Thread(target=tick)
        thread.start()
        emplace.place(self.problem, "simulated-annealing", time_limit=0.5)
        done.set()
        thread.join()
        self.assertGreater(len(ticks), 5)

    def test_placing_within_placing_and_from_threads(self):
        @emplace.agent("py-nested")
        class Nested:
            def place(self, problem, evaluator):
                return emplace.place(problem, OneByOne, evaluations=20, threads=2).placement

        results = []
        threads = [threading.Thread(target=lambda: results.append(emplace.place(self.problem, Nested).step_time_us))
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(results)), 1)

    def test_interrupt(self):
        # Twice: only a second interrupt of one run ends the process.
        for _ in range(2):
            timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            begin = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                emplace.place(self.problem, "simulated-annealing", time_limit=60)
            self.assertLess(time.monotonic() - begin, 20)

    def test_a_second_interrupt_ends_agents_that_do_not_end(self):
        for body in ("time.sleep(0.1)", "pass"):
            program = ENDLESS.format(body=body) + """
emplace.place(emplace.problem("inception-v3", "p2-8xlarge-2"), Endless, time_limit=1)
"""
            with self.subTest(body), subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as run:
                ends_at_second_interrupt(self, run)

    def test_threads_may_look_at_a_evaluator_while_it_evaluates(self):
        @emplace.agent("py-observed")
        class Observed:
            def place(self, problem, evaluator):
                seen, stop = [], threading.Event()

                def look():
                    while not stop.is_set():
                        seen.append((evaluator.best_evaluation, evaluator.best_placement, evaluator.evaluations_left,
                                     evaluator.random.uniform(3)))

                def evaluate():
                    while not stop.is_set():
                        evaluator.evaluate(batch[:2])

                batch = numpy.full((50, problem.num_groups), problem.placeable_devices[0])
                threads = [threading.Thread(target=body) for body in (look, look, evaluate)]
                for thread in threads:
                    thread.start()
                for _ in range(20):
                    evaluator.evaluate(batch)
                stop.set()
                for thread in threads:
                    thread.join()
                assert seen
                return evaluator.best_placement

        with ends_within(120):
            emplace.place(self.problem, Observed, evaluations=10**9)

    def test_placements_may_look_at_their_evaluator(self):
        @emplace.agent("py-looks")
        class Looks:
            def place(self, problem, evaluator):
                class Placement:
                    def __array__(self, dtype=None):
                        left.append(evaluator.evaluations_left)
                        return numpy.full(problem.num_groups, problem.placeable_devices[0])

                left = []
                evaluator.evaluate(Placement())
                assert left and evaluator.evaluations_left == left[0] - 1
                return evaluator.best_placement

        with ends_within(120):
            emplace.place(self.problem, Looks)

    def test_sizes_of_random_numbers(self):
        test = self

        @emplace.agent("py-draws")
        class Draws:
            def place(self, problem, evaluator):
                random = evaluator.random
                for size, shape in ((3, (3,)), (numpy.int64(3), (3,)), (numpy.array(3), (3,)), (0, (0,)),
                                    ((2, numpy.int32(3)), (2, 3)), ([2, 3], (2, 3)), (numpy.array([2, 3]), (2, 3)),
                                    ((), ())):
                    for numbers in (random.integers(4, size), random.uniform(size), random.normal(size)):
                        test.assertEqual(numbers.shape, shape)
                test.assertIn(random.integers(numpy.int64(4)), range(4))
                for size in (True, numpy.True_, -1, 1.5, "ab", (2, True), (2, -1), (2, None), object, {}):
                    with test.assertRaisesRegex(emplace.UsageError, "^size is .*, expected an integer of 0 or more"):
                        random.uniform(size)
                for bound in (True, 0, -1, 1.5, "4", None):
                    with test.assertRaisesRegex(emplace.UsageError, "^bound is .*, expected an integer of 1 or more"):
                        random.integers(bound)
                with test.assertRaisesRegex(emplace.UsageError, "^bound is .*, expected a number of 64 bits"):
                    random.integers(2**64)
                return numpy.full(problem.num_groups, problem.placeable_devices[0])

        emplace.place(self.problem, Draws)


class GoingWrong(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.problem = emplace.problem("inception-v3", "p2-8xlarge-4", groups=16)

    def test_exceptions_come_with_their_cause(self):
        with self.assertRaisesRegex(emplace.UnsupportedError,
                                    r"agent py-raises failed: KeyError: 'no such thing' \(agents_test.py, line \d+\)"
                                    ) as caught:
            emplace.place(self.problem, "py-raises")
        self.assertIsInstance(caught.exception.__cause__, KeyError)

    def test_classes_that_take_no_parameters(self):
        good = type("Good", (), {"place": lambda self, problem, evaluator: None})
        emplace.agent("py-takes-none", parameters={"max-depth": 3})(good)
        with self.assertRaisesRegex(emplace.UnsupportedError, "TypeError: .*argument"):
            emplace.place(self.problem, good)

    def test_answers_that_are_no_placements(self):
        for name, text in (("py-none", "an array of object"), ("py-short", r"found \(1\)"),
                           ("py-wild", "group 0 is on device 99, expected 0 to"), ("py-exits", "SystemExit: bye")):
            with self.subTest(name), self.assertRaisesRegex(emplace.UnsupportedError, text):
                emplace.place(self.problem, name)

    def test_what_outlives_a_evaluator(self):
        kept = []

        @emplace.agent("py-keeps")
        class Keeps:
            def place(self, problem, evaluator):
                kept.extend((problem, evaluator, evaluator.random, problem.edges))
                return problem.placeable_devices[numpy.zeros(problem.num_groups, int)]

        emplace.place(emplace.problem("inception-v3", "p2-8xlarge-2", groups=16), Keeps)
        gc.collect()
        problem, evaluator, random, edges = kept
        self.assertGreater(problem.evaluate(numpy.zeros(problem.num_groups, int)).step_time_us, 0)
        self.assertEqual(len(edges), len(problem.edge_bytes))
        for use in (lambda: evaluator.evaluations, random.bits, lambda: random.uniform(3),
                    lambda: evaluator.evaluate(numpy.zeros(problem.num_groups, int))):
            with self.assertRaisesRegex(emplace.UsageError, "the evaluator has ended"):
                use()

    def test_wrong_registrations(self):
        good = type("Good", (), {"place": lambda self, problem, evaluator: None})
        for text, call in (
                ("there is an agent heft already", lambda: emplace.agent("heft")(good)),
                ("expected a name such as", lambda: emplace.agent("My Agent")(good)),
                ("has no method place", lambda: emplace.agent("py-empty")(object)),
                ("kind is 'wizard'", lambda: emplace.agent("py-wizard", kind="wizard")(good)),
                ("default of 'depth'", lambda: emplace.agent("py-deep", parameters={"depth": None})(good)),
                ("already exists", lambda: emplace.agent("py-raises", deterministic=True)(good)),
                ("@emplace.agent", lambda: emplace.place(self.problem, object))):
            with self.subTest(text), self.assertRaisesRegex(emplace.UsageError, text):
                call()

    def test_a_class_may_be_replaced(self):
        for device in (1, 2):
            @emplace.agent("py-again", deterministic=True)
            class Again:
                def place(self, problem, evaluator):
                    return numpy.full(problem.num_groups, device)
            self.assertEqual(set(emplace.place(self.problem, Again).placement), {device})

    def test_wrong_arguments(self):
        for call in (lambda: emplace.place(self.problem, "heft", evaluations=-1),
                     lambda: emplace.place(self.problem, "heft", time_limit=0),
                     lambda: emplace.place(self.problem, "heft", threads=-1),
                     lambda: emplace.place(self.problem, "py-random:batch=1000"),
                     lambda: emplace.place(self.problem, "py-random:depth=1")):
            with self.assertRaises(emplace.UsageError):
                call()
        with self.assertRaises(emplace.UnknownNameError):
            emplace.place(self.problem, "py-randon")


class Suites(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_in(self, name, **options):
        return emplace.run(SUITE, output=f"{self.folder}/{name}", **options)

    def test_beside_all_others(self):
        calls = []
        report = self.run_in("one", threads=2, progress=lambda done, total: calls.append((done, total)))
        self.assertEqual(calls, [(done, 11) for done in range(1, 12)])
        labels = {row["agent"] for row in rows(report.table)}
        self.assertEqual(labels, {"heft", "random", "py-random", "three", "py-round-robin"})
        cells = rows(report.cells)
        self.assertEqual([cell["status"] for cell in cells], ["ok"] * 11)
        self.assertTrue(all(cell["evaluations"] == 40 for cell in cells if cell["agent"].startswith("py-random")))
        self.assertTrue({row["id"] for row in rows(report.histories)} <= {cell["id"] for cell in cells})
        told = subprocess.run([os.environ["EMPLACE"], "report", report.folder], check=True, capture_output=True,
                              text=True).stdout
        self.assertIn("py-round-robin", told)

    def test_the_same_on_any_number_of_threads(self):
        self.assertEqual(str(facts(self.run_in("a", threads=1))), str(facts(self.run_in("b", threads=4))))

    def test_shards_are_merged_to_the_whole(self):
        shards = [self.run_in(f"shard-{at}", shard=f"{at}/3") for at in (1, 2, 3)]
        self.assertEqual(sum(len(rows(shard.cells)) for shard in shards), 11)
        self.assertTrue(all(rows(shard.cells) for shard in shards))
        merged = self.folder + "/merged"
        told = subprocess.run([os.environ["EMPLACE"], "merge", *(shard.folder for shard in shards), "-o", merged],
                              check=True, capture_output=True, text=True).stdout
        self.assertIn("11 of 11 cells from 3 stores", told)
        self.assertEqual(str(facts(emplace.report(merged))), str(facts(self.run_in("whole"))))

    def test_failed_cells_say_why_and_others_go_on(self):
        suite = {**SUITE, "agents": ["heft", "py-raises", "py-wild", RoundRobin]}
        cells = rows(emplace.run(suite, output=self.folder + "/run").cells)
        by_agent = {cell["agent"]: cell for cell in cells}
        self.assertEqual(by_agent["py-raises"]["status"], "failed")
        self.assertRegex(by_agent["py-raises"]["message"], r"^KeyError: 'no such thing' \(agents_test.py, line \d+\)$")
        self.assertIn("expected 0 to", by_agent["py-wild"]["message"])
        self.assertEqual(by_agent["heft"]["status"], "ok")
        self.assertEqual(by_agent["py-round-robin"]["status"], "ok")

    def test_a_lack_of_the_machine_is_no_result(self):
        suite = {**SUITE, "agents": ["heft", "py-starved"]}
        for lack, text in ((MemoryError(), "out of memory"), (OSError(errno.EMFILE, "no"), "Too many open files")):
            folder = f"{self.folder}/{type(lack).__name__}"
            Starved.lack = lack
            with self.assertRaisesRegex(emplace.IoError, f"^1 of 2 cells could .* by py-starved, because: .*{text}.*resume=True"):
                emplace.run(suite, output=folder)
            self.assertEqual([cell["agent"] for cell in rows(emplace.report(folder).cells)], ["heft"])
            Starved.lack = None
            self.assertEqual(len(rows(emplace.run(suite, output=folder, resume=True).cells)), 2)
        Starved.lack = FileNotFoundError(errno.ENOENT, "no such file")
        cells = rows(emplace.run(suite, output=self.folder + "/other").cells)
        self.assertEqual({cell["agent"]: cell["status"] for cell in cells}, {"heft": "ok", "py-starved": "failed"})

    def test_by_name_with_more_agents_and_resumed(self):
        path = self.folder + "/suite.json"
        with open(path, "w") as file:
            json.dump({**SUITE, "agents": ["heft"]}, file)
        report = emplace.run(path, agents=[RoundRobin], output=self.folder + "/run")
        self.assertEqual(len(rows(report.cells)), 2)
        with self.assertRaises(emplace.Error):
            emplace.run(path, agents=[RoundRobin], output=self.folder + "/run")
        again = emplace.run(path, agents=[RoundRobin], output=self.folder + "/run", resume=True)
        self.assertEqual(len(rows(again.cells)), 2)

    def test_agents_are_added_to_those_that_a_suite_leaves_to_others(self):
        def listed(suite):
            folder = f"{self.folder}/{suite['name']}"
            emplace.run(suite, agents=[RoundRobin, "py-random:batch=2"], output=folder, shard="1/500")
            entries = json.loads(pathlib.Path(folder, "manifest.json").read_text())["suite"]["agents"]
            return [entry["agent"] if isinstance(entry, dict) else entry for entry in entries]

        everyone = listed({**SUITE, "name": "star", "agents": "*"})
        self.assertNotIn("exec", everyone)
        self.assertEqual(len(everyone), len(set(everyone)))
        self.assertLessEqual({"heft", "py-round-robin", "py-random", "py-random:batch=2"}, set(everyone))
        quick = listed({"schema": "emplace-suite", "version": 1, "name": "more", "summary": "more agents",
                        "extends": "quickstart"})
        self.assertEqual(quick[-2:], ["py-round-robin", "py-random:batch=2"])
        self.assertGreater(len(quick), 2)
        self.assertEqual(listed({**SUITE, "name": "none", "agents": []}), ["py-round-robin", "py-random:batch=2"])

    def test_the_program_runs_files_of_agents(self):
        suite, agents = self.folder + "/suite.json", self.folder + "/mine.py"
        with open(suite, "w") as file:
            json.dump({**SUITE, "agents": ["heft"]}, file)

        def run(text, *options):
            with open(agents, "w") as file:
                file.write(text)
            return subprocess.run([os.environ["EMPLACE"], "run", suite, "--python", agents, "--json", *options],
                                  capture_output=True, text=True, cwd=self.folder)

        good = """
import emplace
@emplace.agent("mine")
class Mine:
    def place(self, problem, evaluator):
        return problem.placeable_devices[[0] * problem.num_groups]
"""
        done = run(good, "-o", "one")
        self.assertEqual((done.returncode, done.stderr), (0, "results in one\n"))
        self.assertEqual({row["agent"] for table in json.loads(done.stdout)["tables"] for row in table["rows"]},
                         {"heft", "mine"})
        self.assertEqual(run(good, "-o", "one", "-q").returncode, 2)
        self.assertEqual(run(good, "-o", "one", "--resume").stdout, done.stdout)
        self.assertEqual(run(good, "--shard", "2/2").stderr, "results in results/mixed-shard-2-of-2\n")
        self.assertEqual(run(good, "--shard", "3/2").returncode, 2)
        starved = run(good.replace("return", "raise MemoryError\n        return"))
        self.assertEqual(starved.returncode, 4)
        self.assertRegex(starved.stderr, "3 of 4 cells could not .*; continue with the same command and --resume")
        for code, text, program in ((4, "results in", good.replace("[0]", "[99]")), (2, "registers no agent", ""),
                                    (2, "mine.py: ZeroDivisionError: division by zero (mine.py, line 1)", "1 / 0"),
                                    (2, "mine.py: SyntaxError: invalid syntax (mine.py, line 2)", "\ndef"),
                                    (2, "mine.py: FileNotFoundError: [Errno 2] No such file or directory: 'gone' "
                                        "(mine.py, line 2)", good.replace("import", "open('gone')\nimport")),
                                    (2, "mine.py: FileNotFoundError: [Errno 2] No such file or directory: 'gone.npy' "
                                        "(mine.py, line 2)", "import numpy\nnumpy.load('gone.npy')"),
                                    (2, "mine.py: SystemExit: 0 (mine.py, line 7)", good + "import sys; sys.exit(0)"),
                                    (2, "mine.py: SystemExit: bye (mine.py, line 1)", "exit('bye')")):
            with self.subTest(text):
                done = run(program)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.returncode, code)
        done = run(good, "--python", "gone.py")
        self.assertEqual((done.returncode, done.stderr), (2, "emplace: gone.py: No such file or directory\n"))

    def write_agent(self, device=0):
        """Writes an agent and a suite."""
        pathlib.Path(self.folder, "mine.py").write_text(f"""
import emplace
@emplace.agent("mine", kind="baseline", deterministic=True)
class Mine:
    def place(self, problem, evaluator):
        return problem.placeable_devices[[{device}] * problem.num_groups]
""")
        pathlib.Path(self.folder, "suite.json").write_text(json.dumps({**SUITE, "agents": ["heft"]}))

    def program(self, *arguments):
        return subprocess.run([os.environ["EMPLACE"], *arguments], capture_output=True, text=True, cwd=self.folder)

    def run_mine(self, *options):
        return self.program("run", "suite.json", "--python", "mine.py", *options)

    def test_the_manifest_tells_files_of_agents_apart(self):
        self.write_agent()
        self.assertEqual(self.run_mine("-o", "run").stderr, "results in run\n")
        self.assertRegex(libraries(self.folder + "/run")[0]["Python mine.py"], "^[0-9a-f]{16}$")
        self.assertEqual(self.run_mine("-o", "run", "--resume").stderr, "results in run\n")
        self.assertEqual(self.run_mine("-o", "one", "--shard", "1/2", "-q").returncode, 0)
        self.assertEqual(self.run_mine("-o", "same", "--shard", "2/2", "-q").returncode, 0)
        self.write_agent(device=1)
        self.assertEqual(self.run_mine("-o", "run", "--resume").stderr,
                         "emplace: warning: run: this run was started with another Python mine.py; its finished cells "
                         "are kept\nresults in run\n")
        self.assertEqual(self.run_mine("-o", "run", "--resume", "-q").stderr, "")
        first, same, other, _ = (start["Python mine.py"] for start in libraries(self.folder + "/run"))
        self.assertEqual(first, same)
        self.assertNotEqual(first, other)
        self.assertEqual(self.run_mine("-o", "other", "--shard", "2/2", "-q").returncode, 0)
        self.assertNotIn("warning", self.program("merge", "one", "same", "-o", "good").stderr)
        self.assertIn("warning: these stores come from several builds",
                      self.program("merge", "one", "other", "-o", "bad").stderr)

    def test_a_run_warns_of_another_file_of_an_agent(self):
        self.write_agent()
        mine = runpy.run_path(self.folder + "/mine.py")["Mine"]
        suite = {**SUITE, "agents": ["heft", mine, RoundRobin]}
        emplace.run(suite, output=self.folder + "/run")
        self.assertEqual({name for name in libraries(self.folder + "/run")[0] if name.startswith("Python ")},
                         {"Python mine.py", "Python agents_test.py"})
        emplace.run(suite, output=self.folder + "/run", resume=True)
        self.write_agent(device=1)
        runpy.run_path(self.folder + "/mine.py")
        with self.assertWarnsRegex(UserWarning, "started with another Python mine.py; its finished cells"):
            emplace.run(suite, output=self.folder + "/run", resume=True)

    def test_a_run_warns_of_other_builds(self):
        self.write_agent()
        self.assertEqual(self.run_mine("-o", "run", "-q").returncode, 0)
        manifest = pathlib.Path(self.folder, "run", "manifest.json")
        facts = json.loads(manifest.read_text())
        del facts["crc32"]
        facts["starts"][0]["build"]["version"] = "0.0.1"
        manifest.write_text(json.dumps(facts))
        told = self.run_mine("-o", "run", "--resume").stderr.splitlines()
        self.assertRegex(told[0], r"^emplace: warning: this run was started by emplace 0\.0\.1 \(git .*\), and is "
                                  "resumed by ")
        self.assertEqual(told[1:], ["results in run"])

    def test_a_run_goes_on_in_a_folder_of_its_own_suite(self):
        self.write_agent()
        for name in ("exp-2", "exp"):
            suite = pathlib.Path(self.folder, name + ".json")
            suite.write_text(json.dumps({**SUITE, "name": name, "agents": ["heft"]}))
            done = self.program("run", suite.name, "--python", "mine.py")
            self.assertEqual((done.returncode, done.stderr), (0, f"results in results/{name}\n"))
        again = self.program("run", "exp.json", "--python", "mine.py", "--resume")
        self.assertEqual((again.returncode, again.stderr), (0, "results in results/exp\n"))
        for number in (3, 4):
            done = self.program("run", "exp.json", "--python", "mine.py")
            self.assertEqual(done.stderr, f"results in results/exp-{number}\n")
        again = self.program("run", "exp.json", "--python", "mine.py", "--resume")
        self.assertEqual((again.returncode, again.stderr), (0, "results in results/exp-4\n"))

    def test_the_program_ends_with_who_reads_its_report(self):
        self.write_agent()
        done = subprocess.run(["bash", "-o", "pipefail", "-c",
                               '"$EMPLACE" run suite.json --python mine.py | true'], stderr=subprocess.PIPE, text=True,
                              cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (128 + signal.SIGPIPE, "results in results/mixed\n"))

    def test_a_second_interrupt_ends_a_run(self):
        self.write_agent()
        pathlib.Path(self.folder, "mine.py").write_text(ENDLESS.format(body="time.sleep(0.1)"))
        with subprocess.Popen([os.environ["EMPLACE"], "run", "suite.json", "--python", "mine.py", "-q"],
                              stdout=subprocess.PIPE, cwd=self.folder) as run:
            ends_at_second_interrupt(self, run)

    def test_an_exception_of_progress_ends_the_run(self):
        def stop(done, total):
            raise RuntimeError("enough")
        with self.assertRaisesRegex(RuntimeError, "enough"):
            self.run_in("stopped", progress=stop)

    def test_wrong_suites(self):
        for error, call in (
                (emplace.FormatError, lambda: emplace.run({**SUITE, "graphs": ["nothing"]}, output=self.folder)),
                (emplace.UnknownNameError, lambda: emplace.run("no-such-suite", output=self.folder)),
                (emplace.UsageError, lambda: self.run_in("x", seed=-1)),
                (emplace.UsageError, lambda: self.run_in("x", shard="2")),
                (emplace.Error, lambda: emplace.report(self.folder + "/nothing"))):
            with self.assertRaises(error):
                call()


if __name__ == "__main__":
    unittest.main()
