#!/usr/bin/env python3
"""The API of emplace: graphs and clusters made in Python, tables, what is shown of objects, docstrings, and types."""
import enum
import importlib.util
import inspect
import json
import os
import pathlib
import pydoc
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import emplace
import numpy
from emplace import _core, gymnasium_env

ROOT = pathlib.Path(__file__).parents[2]
OPS = {"name": ["read", "left", "right", "join"], "kind": ["a", "b", "c", "d"],
       "scope": ["in", "mid/0", "mid/1", "out"], "cost_us:gpu-k80": [100, 200, 200.5, 50],
       "output_bytes": [760000, 76000, 76000, 0], "persistent_bytes": [1000, 0, 0, 0]}
EDGES = [(0, 1), (0, 2), (1, 3), (2, 3)]


def needs(package):
    return unittest.skipUnless(importlib.util.find_spec(package), f"{package} is not installed")


class FromArrays(unittest.TestCase):
    def test_equals_a_file(self):
        made = emplace.from_arrays({"name": list("abcd"), "kind": list("abcd"), "cost_us:gpu-k80": [100, 200, 200, 50],
                                    "output_bytes": [760000, 76000, 76000, 76000]}, EDGES, name="diamond")
        read = emplace.load(ROOT / "examples/diamond.json")
        self.assertEqual(made.document["ops"], read.document["ops"])
        self.assertEqual(made.document["edges"], read.document["edges"])
        placement = [0, 0, 1, 1]
        self.assertEqual(emplace.simulate(made, placement, cluster="p2-8xlarge-2").step_time_us,
                         emplace.simulate(read, placement, cluster="p2-8xlarge-2").step_time_us)

    def test_columns_are_those_of_the_table(self):
        graph = emplace.from_arrays(OPS, EDGES)
        rows = graph.ops("dicts")
        for column, values in OPS.items():
            self.assertEqual([row[column] for row in rows], values)
        again = emplace.from_arrays(rows_to_columns(rows), graph.edges, name=graph.name)
        self.assertEqual(again.document, graph.document)
        numpy.testing.assert_array_equal(graph.edges, EDGES)
        numpy.testing.assert_array_equal(graph.edge_bytes, [760000, 760000, 76000, 76000])
        self.assertEqual(emplace.problem(graph, "p2-8xlarge-2").op_costs(0).tolist(), OPS["cost_us:gpu-k80"])

    def test_edges_may_have_names_and_bytes(self):
        graph = emplace.from_arrays({"name": OPS["name"]}, [("read", "left"), ("read", "right"), ("left", "join"),
                                                            ("right", "join")], edge_bytes=[8, 8, 0, 16])
        self.assertEqual([len(op.get("outputs", ())) for op in graph.document["ops"]], [1, 0, 1, 0])
        self.assertEqual(graph.edge_bytes.tolist(), [8, 8, 0, 16])
        self.assertEqual(emplace.from_arrays({"name": ["alone"]}).num_edges, 0)

    def test_costs_that_are_not_known(self):
        for nothing in (numpy.nan, None):
            graph = emplace.from_arrays({"name": ["a", "b"], "cost_us:x": [1.5, nothing]})
            self.assertEqual([op.get("measured") for op in graph.document["ops"]],
                             [[{"device_class": "x", "cost_us": 1.5}], None])

    def test_errors_name_the_column_and_the_row(self):
        good = {"name": ["a", "b"]}
        for ops, edges, options, text in (
                ({**good, "flops": [1, -2]}, (), {}, r"flops: row 1 is -2, expected a whole number"),
                ({**good, "flops": [1.5, 2]}, (), {}, r"flops: row 0 is 1.5"),
                ({**good, "flops": [True, False]}, (), {}, r"flops: row 0 is True"),
                ({**good, "flops": [1, 2, 3]}, (), {}, r"flops: expected an array of the shape \(2,\), found \(3,\)"),
                ({**good, "kind": ["a", 3]}, (), {}, r"kind: row 1 is 3, expected a text"),
                ({**good, "cost_us:x": [1, -1.0]}, (), {}, r"cost_us:x: row 1 is -1.0"),
                ({**good, "flop": [1, 2]}, (), {}, r"no column is called 'flop'; did you mean flops"),
                ({"kind": ["a"]}, (), {}, r"the column name is missing"),
                ({"name": ["a", "b", "a"]}, (), {}, r"name: rows 0 and 2 are both 'a'"),
                (good, [(0, 2)], {}, r"edges: row 0 is 2, expected a row of ops from 0 to 1"),
                (good, [(0, 1), (1, 0), (0, -1)], {}, r"edges: row 2 is -1"),
                (good, [("a", "bb")], {}, r"edges: row 0 is 'bb', .* did you mean 'b'"),
                (good, [0, 1], {}, r"edges: expected an array of the shape \(edges, 2\), found \(2,\)"),
                (good, [(0, 1)], {"edge_bytes": [1, 2]}, r"edge_bytes: expected an array of the shape \(1,\)")):
            with self.subTest(text), self.assertRaisesRegex(emplace.UsageError, text):
                emplace.from_arrays(ops, edges, **options)
        with self.assertRaisesRegex(emplace.FormatError, "a cycle of ops: 'a' -> 'b' -> 'a'"):
            emplace.from_arrays(good, [(0, 1), (1, 0)])
        with self.assertRaisesRegex(TypeError, "ops: expected a mapping of columns or a data frame, found int"):
            emplace.from_arrays(3)


def rows_to_columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


class Frames(unittest.TestCase):
    def goes_round(self, frame):
        graph = emplace.from_arrays(OPS, EDGES)
        table = graph.ops(frame)
        self.assertEqual(type(table).__module__.partition(".")[0], frame)
        self.assertEqual(list(table["kind"]), OPS["kind"])
        again = emplace.from_arrays(table, numpy.array(EDGES), name=graph.name)
        self.assertEqual(again.document, graph.document)
        problem = emplace.problem(graph, "p2-8xlarge-2")
        step = problem.simulate([0, 0, 1, 1])
        self.assertEqual(list(step.ops(frame)["device"]), ["gpu:0", "gpu:0", "gpu:1", "gpu:1"])
        self.assertEqual(list(step.ops(frame)["end_us"]), step.end_us.tolist())

    @needs("pandas")
    def test_pandas(self):
        self.goes_round("pandas")

    @needs("polars")
    def test_polars(self):
        self.goes_round("polars")

    def test_without(self):
        graph = emplace.from_arrays(OPS, EDGES)
        with self.assertRaisesRegex(emplace.UsageError, "'panda', expected None or one of pandas, polars, dicts"):
            graph.ops("panda")
        if not importlib.util.find_spec("polars"):
            with self.assertRaisesRegex(emplace.UnsupportedError, "polars cannot be imported"):
                graph.ops("polars")

    @needs("pandas")
    def test_of_devices_and_links(self):
        import pandas
        devices = pandas.DataFrame({"name": ["gpu:0", "gpu:1", "cpu:0"],
                                    "profile": ["k80", "k80", "xeon-e5-2686-v4"], "placeable": [True, True, False]})
        links = pandas.DataFrame({"between": [["gpu:0", "cpu:0"], ["gpu:1", "cpu:0"], ["gpu:0", "gpu:1"]],
                                  "bandwidth_bytes_per_us": [1e4, 1e4, 2e4], "latency_us": [5.0, 5.0, 1.0],
                                  "duplex": [None, "half", None]})
        cluster = emplace.cluster(devices=devices, links=links)
        self.assertEqual(cluster.placeable_devices.tolist(), [0, 1])
        self.assertEqual([link["name"] for link in cluster.links],
                         ["gpu:0-cpu:0 gpu:0>cpu:0", "gpu:0-cpu:0 cpu:0>gpu:0", "gpu:1-cpu:0",
                          "gpu:0-gpu:1 gpu:0>gpu:1", "gpu:0-gpu:1 gpu:1>gpu:0"])


@needs("networkx")
class Networkx(unittest.TestCase):
    def test_goes_round(self):
        for graph in (emplace.from_arrays(OPS, EDGES), emplace.load("inception-v3:batch=4")):
            found = graph.to_networkx()
            self.assertEqual((found.number_of_nodes(), found.number_of_edges()), (graph.num_ops, graph.num_edges))
            self.assertEqual(emplace.load(found).document, graph.document)

    def test_from_attributes(self):
        import networkx
        found = networkx.DiGraph(name="mine")
        for at, name in enumerate(OPS["name"]):
            attributes = {column: values[at] for column, values in OPS.items() if column != "name"}
            found.add_node(name, **attributes, extra=object())
        for producer, consumer in EDGES:
            found.add_edge(OPS["name"][producer], OPS["name"][consumer],
                           bytes=numpy.int64(OPS["output_bytes"][producer]))
        graph = emplace.load(found)
        self.assertEqual(graph.ops("dicts"), emplace.from_arrays(OPS, EDGES).ops("dicts"))
        self.assertEqual((graph.name, graph.edges.tolist()), ("mine", [list(edge) for edge in EDGES]))
        numbered = networkx.DiGraph()
        numbered.add_edge(0, 1)
        numbered.nodes[0]["ms"] = numbered.nodes[1]["ms"] = 3
        graph = emplace.load(numbered, cost="ms", device_class="gpu-k80")
        self.assertEqual(graph.document["ops"][0]["measured"], [{"device_class": "gpu-k80", "cost_us": 3}])

    def test_refusals(self):
        import networkx
        with self.assertRaisesRegex(emplace.FormatError, "in an undirected graph no op comes before another"):
            emplace.load(networkx.path_graph(3))
        with self.assertRaisesRegex(emplace.FormatError, "expected a text or a whole number"):
            emplace.load(networkx.grid_2d_graph(2, 2, create_using=networkx.DiGraph))


class Load(unittest.TestCase):
    def test_parameters(self):
        self.assertEqual(emplace.load("inception-v3", batch=4, training=False).document,
                         emplace.load("inception-v3:batch=4,training=false").document)
        self.assertEqual(emplace.load("inception-v3:batch=4", training=False).document,
                         emplace.load("inception-v3:batch=4,training=false").document)
        with self.assertRaisesRegex(emplace.UsageError, "unknown parameter 'btch'; did you mean 'batch'"):
            emplace.load("inception-v3", btch=4)

    def test_documents(self):
        graph = emplace.load("rnnlm:batch=4,steps=2")
        self.assertEqual(emplace.load(graph.document).document, graph.document)
        self.assertIs(emplace.load(graph), graph)
        self.assertEqual(emplace.problem(graph.document, "p2-8xlarge-2").num_ops, graph.num_ops)
        micro = emplace.load(graph.document, micro_batches=2)
        self.assertGreater(micro.num_ops, graph.num_ops)
        document = graph.document
        document["ops"][1]["flops"] = -3
        with self.assertRaisesRegex(emplace.FormatError, "graph: /ops/1/flops"):
            emplace.load(document)

    def test_refusals(self):
        graph = emplace.load("in-tree")
        for call, kind, text in (
                (lambda: emplace.load(3), TypeError, "graph: expected a name, .*found int"),
                (lambda: emplace.load("in-tree", numpy.zeros(3)), emplace.UsageError, "example_inputs: expected none"),
                (lambda: emplace.load(graph, batch=3), emplace.UsageError, "batch: a graph that exists takes no"),
                (lambda: emplace.load("in-tre"), emplace.UnknownNameError, "did you mean")):
            with self.assertRaisesRegex(kind, text):
                call()

    @needs("torch")
    def test_models(self):
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
        inputs = torch.zeros(2, 8)
        self.assertEqual(emplace.load(model, inputs, training=False).document,
                         emplace.from_torch(model, inputs, training=False).document)
        with self.assertRaisesRegex(emplace.UsageError, "example_inputs: expected those of the Sequential"):
            emplace.problem(model, "p2-8xlarge-2")
        with self.assertRaisesRegex(TypeError, r"from_torch\(\) has no argument 'optimzer'; did you mean optimizer"):
            emplace.load(model, inputs, optimzer="sgd")


class Clusters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.graph = emplace.load("inception-v3")

    def same_steps(self, one, other):
        problems = [emplace.problem(self.graph, cluster, groups=16) for cluster in (one, other)]
        placement = problems[0].placeable_devices[numpy.arange(problems[0].num_groups) % 2]
        self.assertEqual(*(problem.simulate(placement).step_time_us for problem in problems))

    def test_by_name_and_file(self):
        cluster = emplace.cluster("p2-8xlarge-2")
        problem = emplace.problem(self.graph, cluster)
        self.assertEqual((cluster.name, problem.cluster), ("p2-8xlarge-2", "p2-8xlarge-2"))
        self.assertEqual(cluster.devices, problem.devices)
        self.assertEqual(cluster.capacities.tolist(), problem.capacities.tolist())
        self.assertEqual(cluster.placeable_devices.tolist(), problem.placeable_devices.tolist())
        self.assertEqual(cluster.kinds[:2], ["gpu-k80", "gpu-k80"])
        self.assertEqual(cluster.document, json.loads((ROOT / "profiles/data/clusters/p2-8xlarge-2.json").read_text()))
        self.same_steps(cluster, "p2-8xlarge-2")
        path = ROOT / "examples/cluster.json"
        self.same_steps(emplace.cluster(path), path)
        self.assertIs(emplace.cluster(cluster), cluster)

    def test_parameters_and_files(self):
        spec = "dgx-1-v100:launch=8,framework=false,set=link:nvlink.bandwidth=2x;link:nvlink.latency=1us"
        cluster = emplace.cluster("dgx-1-v100", launch=8, framework=False,
                                  set=["link:nvlink.bandwidth=2x", "link:nvlink.latency=1us"])
        self.assertEqual(cluster.name, spec)
        self.same_steps(cluster, spec)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "cluster.json")
            cluster.save(path)
            self.same_steps(path, spec)
        self.same_steps(cluster.document, spec)
        with self.assertRaisesRegex(emplace.UsageError, "unknown parameter 'lunch'; did you mean 'launch'"):
            emplace.cluster("dgx-1-v100", lunch=8)
        with self.assertRaisesRegex(emplace.UnsupportedError, "a cluster file has no granularity"):
            emplace.cluster("dgx-1-v100", granularity=1).document

    def test_made_of_devices_and_links(self):
        document = json.loads((ROOT / "examples/cluster.json").read_text())
        self.same_steps(emplace.cluster(devices=document["devices"], links=document["physical"]["links"]),
                        ROOT / "examples/cluster.json")

    def test_devices_of_ones_own(self):
        mine = {"device_class": "mine", "peak_flops_per_s": 1e12, "memory_bytes_per_s": 1e11, "memory_bytes": 10**9}
        cluster = emplace.cluster(
            name="lab", devices=[{"name": name, "profile": profile} for name, profile in
                                 (("a", mine), ("b", mine), ("c", "mine"), ("d", {**mine, "name": "other"}))],
            links=[{"between": [name, "switch"], "bandwidth_bytes_per_us": 100, "latency_us": 2.5} for name in "abcd"])
        self.assertEqual((cluster.kinds, cluster.capacities.tolist()), (["mine"] * 4, [10**9] * 4))
        graph = emplace.from_arrays({"name": ["x", "y"], "cost_us:mine": [100, None], "flops": [0, 10**9],
                                     "output_bytes": [1000, 0]}, [(0, 1)])
        problem = emplace.problem(graph, cluster)
        self.assertEqual(problem.costs.tolist(), [[100] * 4, [1000] * 4])
        self.assertEqual(problem.simulate([0, 1]).step_time_us, 100 + 5 + 10 + 1000)
        self.assertEqual(mine.get("schema"), None)

    def test_constraints(self):
        constraints = {"exclude": ["gpu:3"], "memory": {"gpu:0": "8GB"}}
        named, made = (emplace.problem("inception-v3", cluster, constraints=constraints)
                       for cluster in ("p2-8xlarge-4", emplace.cluster("p2-8xlarge-4")))
        self.assertEqual(made.placeable_devices.tolist(), [0, 1, 2])
        self.assertEqual((made.capacities[0], made.cluster), (8e9, named.cluster))

    def test_refusals(self):
        devices = [{"name": "a", "profile": "k80"}, {"name": "b", "profile": "k80"}]
        for options, kind, text in (
                ({"devices": devices}, emplace.FormatError, "no links lead from 'b' to 'a'"),
                ({"devices": [{"name": "a", "profle": "k80"}]}, emplace.FormatError, "did you mean 'profile'"),
                ({"devices": [{"name": "a", "profile": "k8"}]}, emplace.Error, "k80"),
                ({"devices": devices[:1], "launch": 3}, emplace.UsageError, "launch: parameters change a cluster"),
                ({"devices": 3}, TypeError, "devices: expected a list of dicts, a mapping of columns or a data f"),
                ({"devices": {"name": ["a", "b"], "profile": ["k80"]}}, emplace.UsageError,
                 "devices: the columns have different lengths: name 2, profile 1"),
                ({"cluster": 3}, TypeError, "cluster: expected a name, a path, .*found int"),
                ({}, emplace.UsageError, "expected a cluster, or its devices and links")):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                emplace.cluster(**options)


class Simulation(unittest.TestCase):
    def test_takes_placements_of_all_kinds(self):
        problem = emplace.problem("rnnlm:batch=4", "p2-8xlarge-2", groups=12)
        placed = emplace.place(problem, "heft")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "placement.json")
            problem.save(placed, path)
            for placement in (placed, placed.placement, path, placed.placement.tolist()):
                self.assertEqual(emplace.simulate(problem, placement).step_time_us, placed.step_time_us)
                self.assertEqual(emplace.explain(problem, placement), problem.explain(placed.placement))
        climbed, other = (emplace.place(problem, "hill-climb", evaluations=20, start=start)
                          for start in (placed, placed.placement))
        self.assertEqual(climbed.placement.tolist(), other.placement.tolist())
        self.assertEqual(emplace.simulate("in-tree", numpy.zeros(127, int), cluster="p2-8xlarge-2").status, "ok")
        with self.assertRaisesRegex(TypeError, "problem: expected an emplace.Problem, .*, found str"):
            emplace.simulate("in-tree", numpy.zeros(127, int))

    def test_picture_is_that_of_the_program(self):
        problem = emplace.problem("in-tree", "p2-8xlarge-2")
        placement = numpy.zeros(problem.num_groups, int)
        picture = problem.picture(placement)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "step.svg")
            problem.save(placement, path.with_suffix(".json"))
            subprocess.run([os.environ["EMPLACE"], "simulate", "in-tree", "--cluster", "p2-8xlarge-2", "--placement",
                            path.with_suffix(".json"), "--trace", path], check=True, capture_output=True)
            told = path.read_text().splitlines()
        # The program's caption says who placed, too.
        differ = [line for line, other in zip(picture.splitlines(), told) if line != other]
        self.assertEqual(len(picture.splitlines()), len(told))
        self.assertLessEqual(len(differ), 1, differ)
        self.assertEqual(problem.simulate(placement)._repr_html_(), picture)


class Shown(unittest.TestCase):
    def test_in_a_line_and_as_html(self):
        problem = emplace.problem("rnnlm:batch=4", "p2-8xlarge-2", groups=12)
        placed = emplace.place(problem, "heft")
        for thing, text in (
                (problem, "rnnlm:batch=4 on p2-8xlarge-2"), (placed, "heft"), (problem.simulate(placed), "ok"),
                (emplace.load("in-tree"), "in-tree"), (emplace.cluster("p2-8xlarge-2"), "p2-8xlarge-2"),
                (emplace.compare(problem, {"one": placed, "two": placed}), "one"),
                (emplace.Report([{"agent": "<b>"}], [], [], "results/x"), "results/x: 1 rows, 0 cells")):
            with self.subTest(type(thing).__name__):
                self.assertTrue(repr(thing).startswith(f"<emplace.{type(thing).__name__} "), repr(thing))
                self.assertIn(text, repr(thing))
                self.assertLess(len(repr(thing)), 200)
                self.assertNotIn("\n", repr(thing))
                shown = thing._repr_html_()
                self.assertRegex(shown, "^<(table|svg|div)")
                self.assertNotIn("<b>", shown)
                self.assertLess(len(shown), 100_000)

    def test_progress(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", textwrap.dedent(f"""
                import emplace
                emplace.run({{"schema": "emplace-suite", "version": 1, "name": "s", "summary": "",
                              "graphs": ["in-tree"], "clusters": ["p2-8xlarge-2"], "max_evaluations": 5,
                              "repetitions": 1, "agents": ["heft", "single-gpu"]}},
                            output={folder + "/run"!r}, progress=True)""")],
                                  check=True, capture_output=True)
        self.assertEqual(done.stderr, b"\r[1/2]\r[2/2]\n")


def members_of(cls):
    """Yields the public members that a class has from emplace, by name."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] == "emplace" and base.__module__ != "emplace._spaces":
            for name, member in vars(base).items():
                if not name.startswith("_") and not isinstance(member, (enum.Enum, dict)):
                    yield name, getattr(base, name)


class Docstrings(unittest.TestCase):
    def test_everything_has_one(self):
        classes = [gymnasium_env.PlacetoEnv, gymnasium_env.PlacetoVectorEnv]
        without, count = [], 0
        for name in emplace.__all__:
            thing = getattr(emplace, name)
            classes += [thing] if inspect.isclass(thing) else []
            without += [] if inspect.getdoc(thing) else [name]
        for cls in classes:
            without += [] if cls.__doc__ else [cls.__name__]
            for name, member in members_of(cls):
                if callable(member) or inspect.isdatadescriptor(member):
                    count += 1
                    doc = member.__doc__ or ""
                    if not doc or doc.startswith("Alias for field"):
                        without.append(f"{cls.__name__}.{name}")
        self.assertEqual(without, [])
        self.assertGreater(count, 130)

    def test_shapes_of_arrays_are_there(self):
        stubs = pathlib.Path(emplace.__file__).with_name("_core.pyi").read_text()
        for line, following in zip(stubs.splitlines(), stubs.splitlines()[1:]):
            if "-> NDArray" in line and "(self)" in line and "placeable" not in line:
                self.assertRegex(following, r'"""\(\w+(, \w+)?,?\) ', line)

    def test_help_can_be_read(self):
        text = pydoc.plain(pydoc.render_doc(emplace.Problem))
        self.assertIn("transfer_us(self, bytes, source, target)", text)
        self.assertIn("(groups, devices) The time of all ops of a group, in microseconds.", text)
        self.assertNotIn("emplace::", text)
        self.assertNotIn("placement: object", text)
        self.assertIn("to_networkx(self", pydoc.plain(pydoc.render_doc(emplace.Graph)))
        self.assertNotIn("_to_networkx", pydoc.plain(pydoc.render_doc(emplace.Graph)))
        self.assertEqual(str(inspect.signature(emplace.Problem.transfer_us)), "(self, bytes, source, target)")
        self.assertEqual(emplace.version.__doc__, "Returns the version of emplace.")
        with self.assertRaises(TypeError):
            _core.set_docstring(len, "")


class NearestArguments(unittest.TestCase):
    def test_of_all_functions_and_constructors(self):
        functions = [getattr(emplace, name) for name in emplace.__all__ if inspect.isfunction(getattr(emplace, name))]
        functions += [emplace.Parameter, gymnasium_env.PlacetoEnv, gymnasium_env.PlacetoVectorEnv]
        takes_any = (emplace.load, emplace.cluster)  # parameters of the graph or cluster
        self.assertGreater(len(functions), 15)
        for function in functions:
            if function not in takes_any:
                last = [name for name, parameter in inspect.signature(function).parameters.items()
                        if parameter.kind is not parameter.VAR_KEYWORD][-1]
                with self.subTest(function.__name__), self.assertRaisesRegex(
                        TypeError, rf"^{function.__name__}\(\) has no argument '{last}x'; did you mean .*{last}"):
                    function(*["x"] * (function is emplace.place), **{last + "x": 1})

    def test_of_placing_a_model(self):
        with self.assertRaisesRegex(TypeError, r"place\(\) has no argument 'optimzer'; did you mean optimizer"):
            emplace.place(emplace.load("in-tree"), cluster="p2-8xlarge-2", optimzer="sgd")


TYPED = '''
import emplace
import numpy

graph = emplace.from_arrays({"name": ["a", "b"], "flops": numpy.ones(2, int)}, [(0, 1)])
cluster: emplace.Cluster = emplace.cluster("p2-8xlarge-2", launch=8)
problem: emplace.Problem = emplace.problem(graph, cluster, groups=2)
placed: emplace.Placed = emplace.place(problem, "heft", time_limit=1.5)
step: emplace.Step = emplace.simulate(problem, placed)
total: float = step.busy_us.sum() + problem.simulate(placed.placement).step_time_us
names: list[str] = cluster.devices + graph.names
comparison = emplace.compare(problem, {"heft": placed, "zeros": numpy.zeros(2, int)})
best: str = comparison.placements[0]["name"]
emplace.load("inception-v3", batch=4).to_networkx()


@emplace.agent("typed-agent", parameters={"rate": 0.5})
class Agent:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def place(self, problem: emplace.Problem, evaluator: emplace.Evaluator) -> list[int]:
        placement = [int(problem.placeable_devices[0])] * problem.num_groups
        evaluator.evaluate(placement)
        return placement


emplace.place(problem, Agent, evaluations=10)
'''
WRONG = '''
import emplace

emplace.simulate(emplace.problem("in-tree", "p2-8xlarge-2"), [0]).step_time
'''


def tool(name):
    """Returns a program of this Python's environment, or of the machine."""
    return shutil.which(name, path=os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]))


class Types(unittest.TestCase):
    def accepted(self, *command):
        """Checks a script that uses the API, and one with a mistake."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copytree(pathlib.Path(emplace.__file__).parent, folder / "emplace",
                            ignore=shutil.ignore_patterns("*.so", "__pycache__"))
            for file, text, code in (("typed.py", TYPED, 0), ("wrong.py", WRONG, 1)):
                (folder / file).write_text(text)
                found = subprocess.run([*command, file], cwd=folder, capture_output=True, text=True)
                self.assertEqual(found.returncode, code, found.stdout + found.stderr)
        self.assertIn("step_time", found.stdout)

    @unittest.skipUnless(tool("mypy"), "mypy is not installed")
    def test_mypy(self):
        self.accepted(tool("mypy"), "--ignore-missing-imports", "--follow-imports=silent", "--strict")

    @unittest.skipUnless(tool("pyright"), "pyright is not installed")
    def test_pyright(self):
        self.accepted(tool("pyright"), "--pythonpath", sys.executable)


if __name__ == "__main__":
    unittest.main()
