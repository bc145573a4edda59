#!/usr/bin/env python3
"""Agents in Python: alone, in suites beside all others, and when they go wrong."""
import errno
import gc
import json
import os
import signal
import subprocess
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

    def place(self, problem, session):
        best = numpy.full(problem.num_groups, problem.placeable_devices[0])
        while not session.exhausted:
            devices = problem.placeable_devices
            batch = devices[session.random.integers(len(devices), (self.batch, problem.num_groups))]
            session.evaluate(batch)
        return best if session.best_placement is None else session.best_placement


@emplace.agent("py-round-robin", kind="baseline", deterministic=True)
class RoundRobin:
    """Puts group after group on the next device."""

    def place(self, problem, session):
        devices = problem.placeable_devices
        return devices[numpy.arange(problem.num_groups) % len(devices)]


@emplace.agent("py-one-by-one")
class OneByOne:
    """Evaluates random placements one at a time."""

    def place(self, problem, session):
        best = numpy.zeros(problem.num_groups, int) + problem.placeable_devices[0]
        least = session.evaluate(best).objective_us
        while not session.exhausted:
            placement = problem.placeable_devices[session.random.integers(len(problem.placeable_devices),
                                                                          problem.num_groups)]
            objective = session.evaluate(placement).objective_us
            if objective < least:
                best, least = placement, objective
        return best


@emplace.agent("py-coarse", groups=16)
class Coarse:
    """Decides on 16 groups."""

    def place(self, problem, session):
        session.evaluate(numpy.full(problem.num_groups, problem.placeable_devices[0]))
        return session.best_placement


@emplace.agent("py-starved", deterministic=True)
class Starved:
    """Fails as the machine does that lacks something."""

    lack = None

    def place(self, problem, session):
        if Starved.lack is not None:
            raise Starved.lack
        return numpy.full(problem.num_groups, problem.placeable_devices[0])


def failing(name, body):
    """Registers an agent whose place() is `body`."""
    return emplace.agent(name)(type("Failing", (), {"place": body}))


def raises(self, problem, session):
    raise KeyError("no such thing")


failing("py-raises", raises)
failing("py-none", lambda self, problem, session: None)
failing("py-short", lambda self, problem, session: [0])
failing("py-wild", lambda self, problem, session: numpy.full(problem.num_groups, 99))
failing("py-exits", lambda self, problem, session: exit("bye"))

SUITE = {
    "schema": "emplace-suite", "version": 1, "name": "mixed", "summary": "Python beside C++",
    "graphs": ["inception-v3:batch=1"], "clusters": ["p2-8xlarge-2"],
    "agents": ["heft", "random", RandomSearch, {"agent": "py-random:batch=3", "name": "three"}, RoundRobin],
    "repetitions": 3, "max_evaluations": 40, "groups": 32,
}


def rows(table):
    """Returns a table as a list of dicts, also where it is a pandas.DataFrame."""
    return table if isinstance(table, list) else table.to_dict("records")


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

    def test_the_best_of_a_session_is_the_least_of_its_evaluations(self):
        seen = []

        @emplace.agent("py-watched")
        class Watched:
            def place(self, problem, session):
                batch = numpy.random.default_rng(session.random.bits()).choice(problem.placeable_devices,
                                                                               (20, problem.num_groups))
                many = session.evaluate(batch)
                seen.append((many, session.best_evaluation, session.share_used, session.evaluations_left))
                many = session.evaluate(batch)
                seen.append(many)
                numpy.testing.assert_array_equal(problem.evaluate(batch).objective_us, seen[0][0].objective_us)
                return session.best_placement

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
            def place(self, problem, session):
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
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            emplace.place(self.problem, "simulated-annealing", time_limit=60)
        self.assertLess(time.monotonic() - begin, 20)


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
        good = type("Good", (), {"place": lambda self, problem, session: None})
        emplace.agent("py-takes-none", parameters={"max-depth": 3})(good)
        with self.assertRaisesRegex(emplace.UnsupportedError, "TypeError: .*argument"):
            emplace.place(self.problem, good)

    def test_answers_that_are_no_placements(self):
        for name, text in (("py-none", "an array of object"), ("py-short", r"found \(1\)"),
                           ("py-wild", "group 0 is on device 99, expected 0 to"), ("py-exits", "SystemExit: bye")):
            with self.subTest(name), self.assertRaisesRegex(emplace.UnsupportedError, text):
                emplace.place(self.problem, name)

    def test_what_outlives_a_session(self):
        kept = []

        @emplace.agent("py-keeps")
        class Keeps:
            def place(self, problem, session):
                kept.extend((problem, session, session.random, problem.edges))
                return problem.placeable_devices[numpy.zeros(problem.num_groups, int)]

        emplace.place(emplace.problem("inception-v3", "p2-8xlarge-2", groups=16), Keeps)
        gc.collect()
        problem, session, random, edges = kept
        self.assertGreater(problem.evaluate(numpy.zeros(problem.num_groups, int)).step_time_us, 0)
        self.assertEqual(len(edges), len(problem.edge_bytes))
        for use in (lambda: session.evaluations, random.bits, lambda: random.uniform(3),
                    lambda: session.evaluate(numpy.zeros(problem.num_groups, int))):
            with self.assertRaisesRegex(emplace.UsageError, "the session has ended"):
                use()

    def test_wrong_registrations(self):
        good = type("Good", (), {"place": lambda self, problem, session: None})
        for text, call in (
                ("there is an agent heft already", lambda: emplace.agent("heft")(good)),
                ("expected a name such as", lambda: emplace.agent("My Agent")(good)),
                ("has no method place", lambda: emplace.agent("py-empty")(object)),
                ("kind is 'wizard'", lambda: emplace.agent("py-wizard", kind="wizard")(good)),
                ("default of 'depth'", lambda: emplace.agent("py-deep", parameters={"depth": None})(good)),
                ("is there already", lambda: emplace.agent("py-raises", deterministic=True)(good)),
                ("@emplace.agent", lambda: emplace.place(self.problem, object))):
            with self.subTest(text), self.assertRaisesRegex(emplace.UsageError, text):
                call()

    def test_a_class_may_be_replaced(self):
        for device in (1, 2):
            @emplace.agent("py-again", deterministic=True)
            class Again:
                def place(self, problem, session):
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
        def facts(report):
            return [{key: value for key, value in row.items() if key != "wall_s"} for row in rows(report.cells)]
        self.assertEqual(str(facts(self.run_in("a", threads=1))), str(facts(self.run_in("b", threads=4))))

    def test_shards_are_merged_to_the_whole(self):
        def facts(report):
            return [{key: value for key, value in row.items() if key != "wall_s"} for row in rows(report.cells)]
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
            with self.assertRaisesRegex(emplace.IoError, f"^1 of 2 cells could .* by py-starved, for: .*{text}.*resume=True"):
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
    def place(self, problem, session):
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
        self.assertRegex(starved.stderr, "3 of 4 cells could not .*; go on with the same command and --resume")
        for code, text, program in ((4, "results in", good.replace("[0]", "[99]")), (2, "registers no agent", ""),
                                    (2, "mine.py: ZeroDivisionError: division by zero (mine.py, line 1)", "1 / 0"),
                                    (2, "mine.py: SyntaxError", "def")):
            done = run(program)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.returncode, code)

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
