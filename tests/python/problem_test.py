#!/usr/bin/env python3
"""The class emplace.Problem: its arrays, its simulations beside those of the program, and its refusals."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

import emplace
import numpy


def program(*arguments):
    """Returns what the program answers in JSON."""
    done = subprocess.run([os.environ["EMPLACE"], *arguments, "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def random_placements(problem, count, seed=1):
    return numpy.random.default_rng(seed).choice(problem.placeable_devices, (count, problem.num_groups))


class Constraints(unittest.TestCase):
    def test_are_kept_by_all_methods_and_agents(self):
        problem = emplace.problem("inception-v3:batch=4", "p2-8xlarge-4", constraints={
            "pin": {"mixed_5*": "gpu:1"}, "together": ["mixed_6b"], "exclude": ["gpu:3"], "memory": {"gpu:0": "8GB"}})
        self.assertEqual(problem.capacities[0], 8e9)
        self.assertEqual(problem.placeable_devices.tolist(), [0, 1, 2])
        groups = {scope: sorted({problem.groups[op] for op, name in enumerate(problem.scopes) if name.startswith(scope)})
                  for scope in ("mixed_5", "mixed_6b")}
        drawn = random_placements(problem, 1)[0]
        kept = problem.constrain(drawn)
        self.assertFalse((kept == drawn).all())
        self.assertEqual(problem.evaluate(drawn), problem.evaluate(kept))
        for placement in (kept, emplace.place(problem, "etf").placement,
                          emplace.place(problem, "simulated-annealing", evaluations=200).placement):
            self.assertEqual({placement[group] for group in groups["mixed_5"]}, {1})
            self.assertEqual(len({placement[group] for group in groups["mixed_6b"]}), 1)

    def test_wrong_ones_are_refused(self):
        with self.assertRaisesRegex(emplace.Error, "pins"):
            emplace.problem("vgg-16", "p2-8xlarge-2", constraints={"pins": {}})
        with self.assertRaisesRegex(emplace.Error, "gpu:7"):
            emplace.problem("vgg-16", "p2-8xlarge-2", constraints={"pin": {"conv1_1": "gpu:7"}})


class Arrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.problem = emplace.problem("inception-v3", "p2-8xlarge-4", groups=128)

    def test_shapes(self):
        problem = self.problem
        self.assertEqual((problem.graph, problem.cluster), ("inception-v3", "p2-8xlarge-4"))
        self.assertEqual(problem.costs.shape, (problem.num_groups, problem.num_devices))
        for array in (problem.bytes, problem.memory, problem.order):
            self.assertEqual(array.shape, (problem.num_groups,))
        self.assertEqual(problem.features.shape, (problem.num_groups, 3))
        self.assertEqual(problem.edges.shape, (len(problem.edge_bytes), 2))
        self.assertEqual(problem.capacities.shape, (problem.num_devices,))
        self.assertEqual(len(problem.devices), problem.num_devices)
        for texts in (problem.names, problem.kinds, problem.scopes, problem.groups):
            self.assertEqual(len(texts), problem.num_ops)

    def test_graph_is_that_of_the_program(self):
        exported = json.loads(subprocess.run(
            [os.environ["EMPLACE"], "convert", "inception-v3"], check=True, capture_output=True,
            text=True).stdout)
        self.assertEqual(self.problem.names, [op["name"] for op in exported["ops"]])
        groups = self.problem.groups
        crossing = {(groups[a], groups[b]) for a, _, b in exported["edges"] if groups[a] != groups[b]}
        self.assertEqual({tuple(edge) for edge in self.problem.edges.tolist()}, crossing)

    def test_order_is_topological(self):
        position = numpy.argsort(self.problem.order)
        producers, consumers = self.problem.edges.T
        self.assertTrue((position[producers] < position[consumers]).all())

    def test_groups_and_members_agree(self):
        for group in range(self.problem.num_groups):
            numpy.testing.assert_array_equal(numpy.flatnonzero(self.problem.groups == group),
                                             self.problem.members(group))

    def test_group_costs_are_sums_of_op_costs_and_what_launches_add(self):
        sums = numpy.bincount(self.problem.groups, self.problem.op_costs(0), self.problem.num_groups)
        self.assertTrue((self.problem.costs[:, 0] >= sums * (1 - 1e-12)).all())

    def test_features_are_shares_of_the_largest(self):
        placeable = self.problem.placeable_devices
        cost = self.problem.costs[:, placeable].mean(axis=1)
        columns = (cost, self.problem.bytes, self.problem.memory)
        for feature, column in zip(self.problem.features.T, columns):
            numpy.testing.assert_allclose(feature, column / column.max(), rtol=1e-6)

    def test_views_share_memory_are_read_only_and_keep_it_alive(self):
        views = {name: (lambda p, n=name: getattr(p, n)) for name in
                 ("edges", "edge_bytes", "order", "placeable_devices")}
        views["op_costs"] = lambda p: p.op_costs(1)
        views["members"] = lambda p: p.members(3)
        for name, read in views.items():
            with self.subTest(name):
                self.assertTrue(numpy.shares_memory(read(self.problem), read(self.problem)))
                with self.assertRaises(ValueError):
                    read(self.problem)[0] = 1
                copy = read(self.problem).copy()
                alone = read(emplace.problem("inception-v3", "p2-8xlarge-4", groups=128))
                numpy.testing.assert_array_equal(alone, copy)

    def test_transfers(self):
        gpu = self.problem.placeable_devices
        self.assertEqual(self.problem.transfer_us(1000, gpu[0], gpu[0]), 0)
        self.assertGreater(self.problem.transfer_us(10**6, gpu[0], gpu[1]),
                           self.problem.transfer_us(1000, gpu[0], gpu[1]))


class Simulation(unittest.TestCase):
    def test_equals_the_program(self):
        for cluster in ("p2-8xlarge-2", "dgx-1-v100"):
            with self.subTest(cluster), tempfile.TemporaryDirectory() as folder:
                problem = emplace.problem("inception-v3", cluster, groups=64)
                placement = random_placements(problem, 1)[0]
                path = folder + "/placement.json"
                problem.save(placement, path)
                numpy.testing.assert_array_equal(problem.load(path), placement)
                told = program("simulate", "inception-v3", "--cluster", cluster, "--placement", path)
                step = problem.simulate(placement)
                self.assertEqual(step.step_time_us, told["step_time_us"])
                self.assertEqual(step.status, told["status"])
                self.assertEqual(step.peak_bytes.tolist(), told["peak_bytes"])
                numpy.testing.assert_allclose(step.busy_us, [d["busy_us"] for d in told["devices"]], rtol=1e-12)
                explained = program("simulate", "inception-v3", "--cluster", cluster, "--placement", path, "--explain")
                ours = problem.explain(placement)
                self.assertEqual(ours, {key: explained[key] for key in ours})

    def test_many_equal_one_by_one(self):
        for cluster in ("p2-8xlarge-4", "dgx-1-v100"):
            problem = emplace.problem("inception-v3", cluster, groups=64)
            batch = random_placements(problem, 50)
            many = problem.evaluate(batch)
            for row, placement in enumerate(batch):
                step = problem.simulate(placement)
                self.assertEqual(many.step_time_us[row], step.step_time_us)
                self.assertEqual(many.bytes_over[row], step.bytes_over)
                self.assertEqual(many.objective_us[row], step.objective_us)
                self.assertEqual(problem.evaluate(placement).step_time_us, step.step_time_us)

    def test_any_integers_and_strides(self):
        problem = emplace.problem("inception-v3", "p2-8xlarge-4", groups=32)
        batch = random_placements(problem, 8)
        expected = problem.evaluate(batch).step_time_us
        for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"):
            numpy.testing.assert_array_equal(problem.evaluate(batch.astype(kind)).step_time_us, expected)
        turned = numpy.asfortranarray(batch)
        numpy.testing.assert_array_equal(problem.evaluate(turned).step_time_us, expected)
        numpy.testing.assert_array_equal(problem.evaluate(batch[::-2]).step_time_us, expected[::-2])
        numpy.testing.assert_array_equal(problem.evaluate(batch.tolist()).step_time_us, expected)
        self.assertEqual(len(problem.evaluate(batch[:0]).step_time_us), 0)

    def test_out_of_memory(self):
        problem = emplace.problem("nmt:layers=8,batch=512", "p2-8xlarge-2")
        step = problem.simulate(numpy.full(problem.num_groups, problem.placeable_devices[0]))
        self.assertEqual((step.status, step.fits), ("out_of_memory", False))
        self.assertGreater(step.bytes_over, 0)
        self.assertEqual(step.objective_us, step.step_time_us + 2e-3 * step.bytes_over)
        self.assertEqual(problem.evaluate(step.placement).status, emplace.Status.OUT_OF_MEMORY)

    def test_threads_may_share_a_problem(self):
        problem = emplace.problem("inception-v3", "p2-8xlarge-4", groups=32)
        batch = random_placements(problem, 200)
        expected = problem.evaluate(batch).step_time_us
        wrong = []

        def evaluate():
            for _ in range(5):
                if (problem.evaluate(batch).step_time_us != expected).any():
                    wrong.append(1)

        threads = [threading.Thread(target=evaluate) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertFalse(wrong)

    def test_bounds(self):
        problem = emplace.problem("inception-v3", "p2-8xlarge-2")
        told = program("simulate", "inception-v3", "--cluster", "p2-8xlarge-2", "--agent", "single-gpu")
        self.assertEqual(problem.bounds["best_us"], told["bound_us"])
        self.assertEqual(problem.bounds["by"], told["bound_by"])

    def test_trace_is_json_with_every_op(self):
        problem = emplace.problem("inception-v3", "p2-8xlarge-2", groups=32)
        events = json.loads(problem.trace(random_placements(problem, 1)[0]))["traceEvents"]
        self.assertGreaterEqual(sum(event["ph"] == "X" for event in events), problem.num_ops)


class Arguments(unittest.TestCase):
    def test_a_wrong_name_gets_the_nearest(self):
        problem = emplace.problem("in-tree", "p2-8xlarge-2")
        for call, text in (
                (lambda: emplace.problem("in-tree", "p2-8xlarge-2", group=3), "did you mean groups or grouping?"),
                (lambda: emplace.place(problem, "hill-climb", evaluation=10), r"place\(\) has no argument 'evaluation'; "
                                                                              "did you mean evaluations?"),
                (lambda: emplace.run("quickstart", xyz=1), "has no argument 'xyz'; it has suite, agents, output")):
            with self.assertRaisesRegex(TypeError, text):
                call()
        for graph, cluster, text in ((3, "p2-8xlarge-2", "graph: expected a name, a path, .* found int"),
                                     ("in-tree", problem, "cluster: expected a name, a path, .* found Problem")):
            with self.assertRaisesRegex(TypeError, text):
                emplace.problem(graph, cluster)
        with self.assertRaisesRegex(TypeError, "missing 1 required positional argument: 'cluster'"):
            emplace.problem("in-tree")


class Comparisons(unittest.TestCase):
    def test_equal_those_of_the_program(self):
        problem = emplace.problem("rnnlm:batch=4", "p2-8xlarge-2", groups=12)
        heft, one = (emplace.place(problem, agent) for agent in ("heft", "single-gpu"))
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("one.json", "heft.json")]
            for path, placed in zip(paths, (one, heft)):
                problem.save(placed.placement, path)
            page = pathlib.Path(folder, "page.html")
            comparison = emplace.compare(problem, {paths[0]: one, paths[1]: heft.placement}, output=page)
            self.assertEqual(comparison.placements, program("compare", *paths)["placements"])
            self.assertIn("compares_placements", page.read_text())
        self.assertTrue(str(comparison).startswith("Placements of rnnlm:batch=4 on p2-8xlarge-2\n"))
        self.assertLess(len(repr(comparison)), 300)

    def test_of_several_problems(self):
        two, four = (emplace.problem("rnnlm:batch=4", f"p2-8xlarge-{gpus}") for gpus in (2, 4))
        placed = emplace.place(four, "heft")
        comparison = emplace.compare(two, {"two": emplace.place(two, "heft"), "four": (four, placed)})
        self.assertEqual([one["cluster"] for one in comparison.placements], ["p2-8xlarge-2", "p2-8xlarge-4"])
        self.assertEqual(comparison.placements[1]["step_time_us"], placed.step_time_us)
        other = emplace.problem("in-tree", "p2-8xlarge-2")
        for placements, text in (({"one": placed}, "expected two or more, found 1"),
                                 ({"a": (four, placed), "b": (other, emplace.place(other, "heft"))}, "the same ops")):
            with self.assertRaisesRegex(emplace.UsageError, text):
                emplace.compare(two, placements)


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.problem = emplace.problem("inception-v3", "p2-8xlarge-4", groups=32)

    def refuses(self, placement, text):
        for method in (self.problem.evaluate, self.problem.simulate, self.problem.explain, self.problem.trace):
            with self.assertRaises(emplace.UsageError) as caught:
                method(placement)
            self.assertIn(text, str(caught.exception))

    def test_wrong_placements(self):
        groups, devices = self.problem.num_groups, self.problem.num_devices
        good = numpy.zeros(groups, int)
        self.refuses(good[1:], f"found ({groups - 1})")
        self.refuses(numpy.zeros((2, 3, groups), int), f"found (2, 3, {groups})")
        self.refuses(numpy.int64(3), "found ()")
        self.refuses(good + 0.5, "an array of float64")
        self.refuses(good.astype(bool), "an array of bool")
        self.refuses([], "an array of float64")
        self.refuses("gpu:0", "an array of <U5")
        for wrong in (-1, devices, 2**40):
            bad = good.copy()
            bad[7] = wrong
            self.refuses(bad, f"group 7 is on device {wrong}, expected 0 to {devices - 1}")
        with self.assertRaisesRegex(emplace.UsageError, "placement 1: group 7 is on device"):
            self.problem.evaluate([good, bad])
        with self.assertRaisesRegex(emplace.UsageError, "found 2 placements"):
            self.problem.simulate([good, good])

    def test_wrong_numbers(self):
        with self.assertRaisesRegex(emplace.UsageError, "device 99, expected 0 to"):
            self.problem.op_costs(99)
        with self.assertRaisesRegex(emplace.UsageError, "group -1, expected 0 to"):
            self.problem.members(-1)
        with self.assertRaisesRegex(emplace.UsageError, "-1 bytes"):
            self.problem.transfer_us(-1, 0, 1)

    def test_classes_and_texts_of_errors(self):
        cases = (
            (emplace.UnknownNameError, LookupError, "did you mean 'inception-v3", ("inception-v33", "p2-8xlarge-4")),
            (emplace.UnknownNameError, LookupError, "unknown cluster", ("inception-v3", "p9")),
            (emplace.IoError, OSError, "no/such.json", ("no/such.json", "p2-8xlarge-4")),
            (emplace.UsageError, ValueError, "batch", ("inception-v3:batch=many", "p2-8xlarge-4")),
        )
        for kind, builtin, text, arguments in cases:
            with self.subTest(arguments):
                with self.assertRaises(kind) as caught:
                    emplace.problem(*arguments)
                self.assertIn(text, str(caught.exception))
                self.assertIsInstance(caught.exception, emplace.Error)
                self.assertIsInstance(caught.exception, builtin)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write("{}")
            file.flush()
            with self.assertRaises(emplace.FormatError) as caught:
                emplace.problem(file.name, "p2-8xlarge-4")
            self.assertIn(file.name, str(caught.exception))


class Paths(unittest.TestCase):
    def test_files_may_be_path_like(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name, "caf\xe9 \udcff")  # a name that is not UTF-8
            folder.mkdir()
            graph = emplace.load("inception-v3")
            graph.save(folder / "graph.json")
            self.assertEqual(emplace.load(folder / "graph.json").num_ops, graph.num_ops)
            shutil.copy(pathlib.Path(__file__).parents[2] / "examples/cluster.json", folder / "cluster.json")
            problem = emplace.problem(folder / "graph.json", folder / "cluster.json", groups=8)
            again = emplace.problem(graph, folder / "cluster.json", groups=8)
            placement = random_placements(problem, 1)[0]
            problem.save(placement, folder / "placement.json")
            numpy.testing.assert_array_equal(again.load(folder / "placement.json"), placement)
            with self.assertRaisesRegex(emplace.UnsupportedError, "plug-in .*gone.so"):
                emplace.load_plugin(folder / "gone.so")
            for call in (lambda: problem.load(3), lambda: emplace.load(None), lambda: emplace.problem(graph, 3)):
                with self.assertRaises(TypeError):
                    call()


class Warnings(unittest.TestCase):
    # An operator that waits for the kernel that it launches.
    CYCLE = (b'\x07\n\x050.0.4\x17\x08\x01\x12\x0caten::mul(0)\x18\x04"\x01\x028+\x15\x08\x02\x12\nmul_kernel\x18\x04'
             b'*\x01\x018\n')

    def test_are_those_of_the_reader(self):
        with tempfile.TemporaryDirectory() as name:
            file = pathlib.Path(name, "caf\xe9 \udcff.et")
            file.write_bytes(self.CYCLE)
            for load in (emplace.load, lambda path: emplace.problem(path, "p2-8xlarge-4")):
                with self.assertWarnsRegex(UserWarning, "\udcff.et: 1 control dependency that closes a cycle is left"):
                    load(file)


class Names(unittest.TestCase):
    def test_lists_are_those_of_the_program(self):
        for listing, names in (("graphs", emplace.graphs()), ("clusters", emplace.clusters()),
                               ("suites", emplace.suites()), ("agents", emplace.agents())):
            told = program("list", listing)[listing]
            self.assertEqual(sorted(names), sorted(entry["name"] for entry in told))
        self.assertEqual(emplace.__version__, program("doctor")["version"])


if __name__ == "__main__":
    unittest.main()
