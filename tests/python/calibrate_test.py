#!/usr/bin/env python3
"""Ops and steps that PyTorch runs here: calibrate() and validate(). Skipped where there is no PyTorch."""
import copy
import csv
import io
import itertools
import json
import os
import random
import subprocess
import tempfile
import unittest
import warnings

import emplace
import numpy
from emplace import _calibrate, _core, _validate

try:
    import torch
    from torch import nn
except ImportError:
    torch = None
else:
    from emplace import _placed_steps, _torch_ops

# Small networks that have nearly all kinds of ops together.
NETWORKS = ["nmt:batch=2,vocabulary=500,hidden=32,steps=2", "rnnlm:hidden=16,steps=2,batch=2,clip=true", "inception-v3:batch=1",
            "resnet-50:dtype=bfloat16,batch=1", "nasnet-a-mobile:batch=1", "unet:batch=1,image=188,filters=4",
            "gpt2-small:batch=1,sequence=16", "bert-base:batch=1,sequence=16", "t5:batch=1,sequence=16,target=16",
            "llama-block:batch=1,sequence=16", "moe-transformer:batch=1,sequence=32,layers=2,width=64", "dlrm:batch=4,max-rows=1000",
            "transformer-xl:batch=1,layers=1,sequence=16,memory=16,vocabulary=500"]


@unittest.skipIf(torch is not None, "PyTorch is there")
class WithoutPyTorch(unittest.TestCase):
    def test_says_what_is_missing(self):
        for call in (lambda: emplace.calibrate("rnnlm"), lambda: emplace.validate(None, None, cluster="x")):
            with self.assertRaisesRegex(emplace.UnsupportedError, "python3-torch"):
                call()


class Recordings(unittest.TestCase):
    """What a profiler recorded becomes runs, with faults that it may have."""

    def test_kernels_that_overlap_count_once(self):
        runs = _calibrate.runs_of_activities([(0, 5), (100, 104)], [(10, 20), (15, 30), (40, 41), (110, 113)])
        self.assertEqual(runs, [(21, 3, 5), (3, 1, 4)])

    def test_a_kernel_within_another_adds_nothing(self):
        self.assertEqual(_calibrate.runs_of_activities([(0, 1)], [(2, 10), (3, 4), (9, 12)]), [(10, 3, 1)])

    def test_runs_without_kernels_were_lost(self):
        self.assertEqual(_calibrate.runs_of_activities([(0, 1), (10, 11), (20, 21)], [(22, 23)]), [(1, 1, 1)])
        self.assertEqual(_calibrate.runs_of_activities([], [(22, 23)]), [])

    def test_a_kernel_before_the_first_run_is_not_its(self):
        self.assertEqual(_calibrate.runs_of_activities([(10, 11)], [(2, 3), (12, 15)]), [(3, 1, 1)])


@unittest.skipIf(torch is None, "needs PyTorch")
class Ops(unittest.TestCase):
    def sites(self):
        smallest = {}
        for network in NETWORKS:
            for site in json.loads(_core.op_sites([emplace.load(network)])):
                key = site["kind"], site["type"]
                if key not in smallest or site["bytes"] < smallest[key]["bytes"]:
                    smallest[key] = site
        return list(smallest.values())

    def test_all_kinds_run_and_make_what_the_graph_says(self):
        own = {"bias_add", "optimizer_update"}  # part of another op, and of the optimizer
        sites = self.sites()
        self.assertGreater(len({site["kind"] for site in sites}), 60)
        for site in sites:
            with self.subTest(kind=site["kind"], type=site["type"], shape=site["shape"]):
                call = _torch_ops.BUILDERS[site["kind"]](_torch_ops.Site(site, "cpu"))
                made = call()
                if site["kind"] in own or not site["outputs"]:
                    continue
                tensors = [made] if isinstance(made, torch.Tensor) else list(made)
                first = next(tensor for tensor in tensors if tensor is not None)
                size = numpy.prod(site["outputs"][0]["shape"], dtype=int)
                if site["kind"] not in (
                        "moe_dispatch", "moe_combine_backward", "lstm_cell_backward", "embedding_bag_backward"):
                    self.assertEqual(first.numel(), size)
                    self.assertEqual(str(first.dtype), f"torch.{site['outputs'][0]['type']}")

    def test_what_cannot_run_is_told_and_loses_nothing(self):
        good = next(site for site in self.sites() if site["kind"] == "relu")
        unknown, wrong = dict(good, kind="fold_space"), dict(good, kind="matmul", shape=[2, 2, 2])
        left_out = []
        rows = _calibrate._rows_of([unknown, wrong, good], _calibrate.Place("cpu:0", "cpu"), 2, left_out, None)
        self.assertEqual([row["kind"] for row in rows], ["relu"])
        self.assertRegex(left_out[0], "^cpu:0: fold_space .*does not know how PyTorch runs it")
        self.assertRegex(left_out[1], "^cpu:0: matmul 2x2x2: ")

    def test_gradients_are_unscaled_as_by_grad_scaler(self):
        if not hasattr(torch.amp, "GradScaler"):
            self.skipTest("this PyTorch scales on GPUs only")
        graph = emplace.load("rnnlm:hidden=16,steps=2,batch=2,dtype=float16,loss-scaling=dynamic")
        sites = [site for site in json.loads(_core.op_sites([graph])) if site["kind"] in ("unscale", "found_inf")]
        self.assertEqual({site["kind"] for site in sites}, {"unscale", "found_inf"})
        left_out = []
        rows = _calibrate._rows_of(sites, _calibrate.Place("cpu:0", "cpu"), 2, left_out, None)
        self.assertEqual((len(rows), left_out), (len(sites), []))

    def test_a_bias_costs_what_a_product_takes_longer(self):
        site = {"kind": "bias_add", "shape": [64, 32], "attributes": "", "producers": ["matmul", "variable"],
                "inputs": [{"shape": [64, 32], "type": "float32"}, {"shape": [32], "type": "float32"}],
                "outputs": [{"shape": [64, 32], "type": "float32"}]}
        build = _torch_ops.BUILDERS["bias_add"]
        self.assertIsInstance(build(_torch_ops.Site(site, "cpu")), _torch_ops.Difference)
        alone = build(_torch_ops.Site(dict(site, producers=["embedding", "variable"]), "cpu"))
        self.assertNotIsInstance(alone, _torch_ops.Difference)


@unittest.skipIf(torch is None, "needs PyTorch")
class Calibrate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_costs_are_the_samples(self):
        graph = emplace.load("rnnlm:hidden=16,steps=2,batch=2")
        path = os.path.join(self.folder, "lab.json")
        result = emplace.calibrate(graph, devices="cpu", runs=2, max_copy=1 << 16, output=path, name="lab")
        self.assertEqual(result.left_out, [])
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), result.cluster)
        rows = list(csv.DictReader(io.StringIO(
            "".join(line for line in result.samples.splitlines(True) if not line.startswith("#")))))
        by_key = {(row["kind"], row["shape"], row["attributes"], row["type"]): float(row["us"]) for row in rows}
        problem = emplace.problem(graph, path)
        costs = dict(zip(problem.names, problem.op_costs(0).tolist()))
        sites = json.loads(_core.op_sites([graph]))
        self.assertEqual(len(rows), len(sites))
        self.assertEqual(set(by_key.values()), {cost for cost in costs.values() if cost > 0})

    def test_the_program_reads_the_samples(self):
        result = emplace.calibrate("rnnlm:hidden=16,steps=2,batch=2", devices="cpu", runs=2, max_copy=1 << 16)
        samples, lab = (os.path.join(self.folder, name) for name in ("samples.csv", "lab.json"))
        result.save_samples(samples)
        subprocess.run([os.environ["EMPLACE"], "calibrate", "rnnlm:hidden=16,steps=2,batch=2", "--samples", samples,
                        "--devices", "cpu", "--max-copy", "65536", "--runs", "2", "-o", lab], check=True,
                       capture_output=True)
        with open(lab, encoding="utf-8") as file:
            cluster = json.load(file)
        libraries = {op["library"] for device in cluster["devices"] for op in device["profile"]["measured"]}
        self.assertEqual(libraries, {"torch"})

    def test_the_program_asks_pytorch(self):
        lab = os.path.join(self.folder, "lab.json")
        done = subprocess.run([os.environ["EMPLACE"], "calibrate", "rnnlm:hidden=16,steps=1,batch=2", "--framework",
                               "torch", "--devices", "cpu", "--max-copy", "65536", "--runs", "2", "-o", lab],
                              check=True, capture_output=True, text=True)
        self.assertRegex(done.stdout, r"^\d+ ops measured by PyTorch")
        self.assertEqual(emplace.problem("rnnlm:hidden=16,steps=1,batch=2", lab).devices, ["cpu:0"])

    def test_devices(self):
        cores = len(os.sched_getaffinity(0))
        self.assertEqual([place.name for place in _calibrate.places_of("cpu")], ["cpu:0"])
        if cores >= 2:
            places = _calibrate.places_of("cpu/2")
            self.assertEqual([place.name for place in places], ["cpu:0", "cpu:1"])
            self.assertFalse(set(places[0].cores) & set(places[1].cores))
        for wrong in ("tpu", "cpu/0", "cpu/x", ""):
            with self.assertRaisesRegex(emplace.UsageError, "devices: expected gpu, cpu or cpu/PARTS"):
                emplace.calibrate("rnnlm", devices=wrong)
        with self.assertRaisesRegex(emplace.UsageError, f"{cores} cores can't be cut into 4096 parts"):
            emplace.calibrate("rnnlm", devices="cpu/4096")
        if not torch.cuda.is_available():
            with self.assertRaisesRegex(emplace.UnsupportedError, "ask for 'cpu'"):
                emplace.calibrate("rnnlm", devices="gpu,cpu")


if torch is not None:

    class Towers(nn.Module):
        """Two towers, layers in place, a sum that overwrites what it reads, and weights that two layers share."""

        def __init__(self):
            super().__init__()
            self.left = nn.Sequential(nn.Linear(8, 16), nn.ReLU(inplace=True), nn.Linear(16, 8))
            self.right = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8))
            self.norm = nn.BatchNorm1d(8)
            self.again = nn.Linear(8, 8)
            self.head = nn.Linear(8, 5)
            self.last = nn.Linear(8, 5)
            self.last.weight = self.head.weight

        def forward(self, x):
            y = self.left(x)
            y += self.right(x)
            y = torch.relu(self.again(self.norm(y))) + y
            return self.head(y) + self.last(self.right(y))


@unittest.skipIf(torch is None, "needs PyTorch")
class Validate(unittest.TestCase):
    def places(self):
        core = min(os.sched_getaffinity(0))
        return [_calibrate.Place(f"cpu:{index}", "cpu", (core,)) for index in range(3)]

    def test_placed_steps_train_the_model(self):
        torch.manual_seed(0)
        model, inputs = Towers(), ((torch.randn(6, 8),), {})
        paths = [path for path, module in model.named_modules() if not any(module.children())]
        generator = random.Random(0)
        maps = [{path: f"cpu:{generator.randrange(3)}" for path in paths} for _ in range(8)]
        maps += [{"left": "cpu:1", "": "cpu:0"}, {"": "cpu:2"}]
        for max_norm, device_map in itertools.product((None, 0.1), maps):  # far below the norm
            with self.subTest(device_map=device_map, max_norm=max_norm):
                plain, placed = copy.deepcopy(model), copy.deepcopy(model)
                recipe = _placed_steps.Recipe(_placed_steps.default_loss, _torch_ops.OPTIMIZERS["sgd"],
                                              max_norm=max_norm)
                step = _placed_steps.Step(plain, inputs, recipe)
                other = _placed_steps.PlacedStep(placed, inputs, recipe, device_map, self.places())
                for _ in range(3):
                    step()
                    other()
                other.close()
                for (name, expected), found in zip(plain.named_parameters(), placed.parameters()):
                    torch.testing.assert_close(found, expected, msg=lambda text, name=name: f"{name}: {text}")
                changed = any(not torch.equal(a, b) for a, b in zip(model.parameters(), placed.parameters()))
                self.assertTrue(changed)

    def test_a_step_that_fails_does_not_hang(self):
        def loss(outputs):
            raise ValueError("no loss today")

        recipe = _placed_steps.Recipe(loss, _torch_ops.OPTIMIZERS["sgd"], max_norm=1)
        step = _placed_steps.PlacedStep(Towers(), ((torch.randn(6, 8),), {}), recipe, {"left": "cpu:1", "": "cpu:0"},
                                        self.places())
        with self.assertRaisesRegex(ValueError, "no loss today"):
            step()
        step.close()

    def test_steps_beside_their_simulation(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two cores")
        model, inputs = Towers().eval(), torch.randn(6, 8)
        before = {name: value.clone() for name, value in model.state_dict().items()}
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            lab = os.path.join(folder, "lab.json")
            emplace.calibrate(model, inputs, devices="cpu/2", runs=2, max_copy=1 << 16, optimizer="sgd", output=lab)
            found = emplace.validate(model, inputs, cluster=lab, devices="cpu/2", steps=2, optimizer="sgd")
            self.assertEqual([step.name for step in found.steps], ["cpu:0", "half", "quarter", "random"])
            for step in found.steps:
                self.assertGreater(step.predicted_us, 0)
                self.assertGreater(step.measured_us, 0)
            self.assertEqual(set(found.steps[1].device_map.values()), {"cpu:0", "cpu:1"})
            with self.assertRaisesRegex(emplace.UsageError, "has no device 'cpu:7'"):
                emplace.validate(model, inputs, cluster=lab, devices="cpu/2", placements={"x": {"": "cpu:7"}})
            with self.assertRaisesRegex(emplace.UsageError, "optimizer is 'sgdd', expected one of"):
                emplace.validate(model, inputs, cluster=lab, devices="cpu/2", optimizer="sgdd")
        self.assertFalse(model.training)
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)

    def test_autocast_computes_in_16_bits(self):
        seen = []
        model = Towers()
        model.head.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
        recipe = _placed_steps.Recipe(_placed_steps.default_loss, _torch_ops.OPTIMIZERS["sgd"], "bfloat16")
        _placed_steps.Step(model, ((torch.randn(6, 8),), {}), recipe)()
        placed = _placed_steps.PlacedStep(model, ((torch.randn(6, 8),), {}), recipe, {"left": "cpu:1", "": "cpu:0"},
                                          self.places())
        placed()
        placed.close()
        self.assertEqual(seen, [torch.bfloat16] * 2)
        self.assertEqual({each.grad.dtype for each in model.parameters()}, {torch.float32})

    def test_steps_in_mixed_precision_with_clipping_beside_their_simulation(self):
        model, inputs = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5)), torch.randn(6, 8)
        with tempfile.TemporaryDirectory() as folder:
            lab = os.path.join(folder, "lab.json")
            made = emplace.calibrate(model, inputs, runs=2, max_copy=1 << 16, dtype="bfloat16", clip=True, output=lab)
            self.assertEqual(made.left_out, [])
            rows = list(csv.DictReader(line for line in made.samples.splitlines() if not line.startswith("#")))
            self.assertIn(("matmul", "bfloat16"), {(row["kind"], row["type"]) for row in rows})
            self.assertLessEqual({"reduce_l2", "clip_factor"}, {row["kind"] for row in rows})
            found = emplace.validate(model, inputs, cluster=lab, steps=2, dtype="bfloat16", clip=True)
            self.assertEqual([step.name for step in found.steps], ["cpu:0"])
            with self.assertRaisesRegex(emplace.UsageError, "dtype is 'float8', expected one of"):
                emplace.validate(model, inputs, cluster=lab, dtype="float8")

    def test_devices_of_one_kind_share_a_step_factor_and_others_have_their_own(self):
        profile = {"name": "x", "measured": []}
        document = {"devices": [{"name": "gpu:0", "profile": {**profile, "name": "a"}}, {"name": "gpu:1", "profile": "a"},
                                {"name": "gpu:2", "profile": {**profile, "name": "b"}}, {"name": "cpu:0", "profile": profile}]}
        places = [_calibrate.Place(f"gpu:{index}", f"cuda:{index}") for index in range(3)]
        asked = []

        def factor(place):
            asked.append(place.name)
            return 1.0 + len(asked)

        made = _calibrate._with_step_factors(document, places, factor)
        self.assertEqual(asked, ["gpu:0", "gpu:2"])
        self.assertEqual([device["profile"]["step_factors"]["tf32"] for device in made["devices"]
                          if "step_factors" in device["profile"]], [2.0, 3.0])

    def test_each_pair_of_parts_has_its_own_link(self):
        places = [_calibrate.Place(f"cpu:{index}", "cpu", (index,)) for index in range(3)]
        links = [{"name": f"{a.name}>{b.name}"} for a in places for b in places if a is not b]
        document = {"physical": {"links": [*links, {"name": "cpu:0>gpu:0"}]}}
        us = {"01": 100.0, "02": 200.0, "12": 300.0}

        def exchange_us(pair, numbers):
            return us["".join(str(place.cores[0]) for place in pair)] * (1 if numbers < 1 << 12 else 101)

        made = _calibrate._with_exchanges(document, places, exchange_us)["physical"]["links"]
        for link in made[:6]:
            pair = us["".join(sorted(link["name"].replace("cpu:", "").split(">")))]
            self.assertAlmostEqual(link["bandwidth_bytes_per_us"], 4 * ((1 << 20) - (1 << 10)) / (100 * pair))
        self.assertNotIn("latency_us", made[6])

    def test_devices_have_the_names_of_maps_or_of_clusters(self):
        self.assertEqual([_validate._name_of(device) for device in (2, "cpu", "cpu:1")], ["gpu:2", "cpu:0", "cpu:1"])

    def test_groups_are_where_their_modules_are(self):
        model = Towers()
        problem = emplace.problem(emplace.from_torch(model, torch.randn(6, 8)), "p2-8xlarge-4")
        placement = _validate._device_of_groups(problem, {"": "gpu:0", "right": "gpu:1", "right.2": "gpu:2"})
        for group, scope in zip(problem.groups.tolist(), problem.scopes):
            if scope:
                expected = "gpu:2" if scope == "right/2" else "gpu:1" if scope.startswith("right") else "gpu:0"
                self.assertEqual(problem.devices[placement[group]], expected, scope)


if __name__ == "__main__":
    unittest.main()
