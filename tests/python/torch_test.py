#!/usr/bin/env python3
"""Graphs of PyTorch's models, and placements back into them. Skipped where there is no PyTorch."""
import json
import operator
import tempfile
import types
import unittest
import warnings

import emplace
import numpy

try:
    import torch
    from torch import nn
except ImportError:
    torch = None


@unittest.skipIf(torch is not None, "PyTorch is there")
class WithoutPyTorch(unittest.TestCase):
    def test_says_what_is_missing(self):
        with self.assertRaisesRegex(emplace.UnsupportedError, "python3-torch"):
            emplace.from_torch(None, None)


def step_ms(graph, cluster="p2-8xlarge-2"):
    problem = emplace.problem(graph, cluster)
    return problem.simulate(numpy.full(problem.num_groups, problem.placeable_devices[0])).step_time_us / 1e3


def flops_of(graph, *kinds):
    return sum(flops for flops, kind in zip(graph.op_flops.tolist(), graph.kinds) if kind in kinds)


@unittest.skipIf(torch is None, "needs PyTorch")
class FromTorch(unittest.TestCase):
    def test_torchvision_models_are_the_built_in_ones(self):
        try:
            from torchvision import models
        except ImportError:
            self.skipTest("needs torchvision")
        for make, name, pixels in ((models.resnet50, "resnet-50", 224), (models.vgg16, "vgg-16", 224),
                                   (models.vit_b_16, "vit", 224)):
            model, attention = make(), None
            for training in (False, True):
                graph = emplace.from_torch(model, torch.zeros(16, 3, pixels, pixels), training=training)
                spec = f"{name}:batch=16,training={str(training).lower()}"
                built_in = emplace.load(spec)
                self.assertEqual(graph.parameters, sum(p.numel() for p in model.parameters()))
                products = ["conv2d", "matmul"]
                if "attention" in graph.kinds:  # one operator to torch.export
                    attention = attention or flops_of(built_in, "batch_matmul", "softmax")  # of inference
                    self.assertEqual(flops_of(graph, "attention"), attention)
                else:
                    products.append("batch_matmul")
                self.assertEqual(flops_of(graph, *products), flops_of(built_in, *products))
                self.assertAlmostEqual(graph.flops / built_in.flops, 1, delta=0.01)
                # Built-in networks normalize by the batch in inference, too.
                self.assertAlmostEqual(step_ms(graph) / step_ms(spec), 1, delta=0.03 if training else 0.05)

    def test_the_model_is_left_as_it_was(self):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
        model[1].eval()
        before = {key: value.clone() for key, value in model.state_dict().items()}
        parameters = [id(parameter) for parameter in model.parameters()]
        state = torch.get_rng_state()
        for inputs in (torch.zeros(2, 3), (torch.ones(2, 3),)):
            emplace.from_torch(model, inputs)
        self.assertTrue(all(torch.equal(before[key], value) for key, value in model.state_dict().items()))
        self.assertEqual([id(parameter) for parameter in model.parameters()], parameters)
        self.assertEqual([module.training for module in model], [True, False, True])
        self.assertTrue(torch.equal(state, torch.get_rng_state()))
        self.assertFalse(any(module._forward_hooks for module in model.modules()))

    def test_tied_weights_count_once(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.head = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
                self.head.weight = self.words.weight

            def forward(self, ids):
                return self.head(self.words(ids))
        graph = emplace.from_torch(Tied(), torch.zeros(2, 3, dtype=torch.int64))
        self.assertEqual(graph.parameters, 40)
        self.assertEqual(graph.kinds.count("variable"), 1)
        self.assertEqual(graph.kinds.count("optimizer_update"), 1)
        # Modules that share it stay together, wherever a placement has them.
        problem = emplace.problem(graph, "p2-8xlarge-2")
        placement = numpy.zeros(problem.num_groups, numpy.int32)
        for op, scope in enumerate(problem.scopes):
            if scope.startswith("head"):
                placement[problem.groups[op]] = 1
        self.assertIn(emplace.device_map(problem, placement), ({"": 0}, {"": 1}))
        if hasattr(torch, "export"):
            exported = torch.export.export(Tied(), (torch.zeros(2, 3, dtype=torch.int64),))
            self.assertEqual(emplace.from_torch(exported, None).parameters, 40)

    def test_buffers_are_not_trained(self):
        class Shift(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(20, 20)
                self.register_buffer("shift", torch.ones(20, 20))

            def forward(self, x):
                return self.layer(x) + x @ self.shift
        graph = emplace.from_torch(Shift(), torch.zeros(5, 20))
        self.assertEqual(graph.parameters, 420)
        self.assertEqual(graph.kinds[graph.names.index("shift")], "constant")

    def test_a_branch_on_data_is_the_one_of_the_example(self):
        class Branches(nn.Module):
            def __init__(self):
                super().__init__()
                self.small, self.large = nn.Linear(3, 3), nn.Linear(3, 3)

            def forward(self, x):
                return self.large(x) if x.sum() > 0 else self.small(x)
        for sign, taken in ((1, "large"), (-1, "small")):
            graph = emplace.from_torch(Branches(), sign * torch.ones(2, 3), training=False)
            self.assertIn(f"{taken}/matmul", graph.names)
            self.assertEqual(graph.kinds.count("matmul"), 1)
            self.assertEqual(graph.parameters, 24)

    def test_operators_without_flops_are_told(self):
        class Inverse(nn.Module):
            def forward(self, x):
                return torch.linalg.inv(x) + torch.linalg.inv(x + 1)
        with self.assertWarnsRegex(UserWarning, r"no FLOPs are counted of .*: .*linalg_inv.* \(2\)"):
            graph = emplace.from_torch(Inverse(), torch.eye(3), training=False)
        self.assertEqual(list(graph.uncounted.values()), [2])

    def test_layers_that_no_image_classifier_has(self):
        def weights(layer, *tensors):
            graph = emplace.from_torch(layer, tensors, training=True)
            self.assertEqual(graph.parameters, sum(p.numel() for p in layer.parameters()), layer)
            self.assertEqual(graph.uncounted, {}, layer)
            return graph
        ids = torch.zeros(3, 4, dtype=torch.int64)
        for mode in ("sum", "mean", "max"):
            self.assertIn("embedding_bag", weights(nn.EmbeddingBag(20, 8, mode=mode), ids).kinds)
        self.assertIn("einsum", weights(nn.Bilinear(3, 4, 5), torch.zeros(2, 3), torch.zeros(2, 4)).kinds)
        self.assertIn("reduce_l2", weights(nn.utils.weight_norm(nn.Linear(3, 4)), torch.zeros(2, 3)).kinds)
        pooled = nn.Sequential(nn.Conv1d(3, 8, 3), nn.GLU(1), nn.MaxPool1d(2), nn.AdaptiveMaxPool1d(2),
                               nn.ReflectionPad1d(1), nn.LogSigmoid())
        # To torch.export, a pool over one dimension is an operator of its own.
        kinds = weights(pooled, torch.zeros(2, 3, 20)).kinds
        self.assertEqual(sum(kinds.count(kind) for kind in ("max_pool_backward", "max_pool_nd_backward")), 2)

    def test_losses(self):
        model, x = nn.Linear(6, 4), torch.zeros(5, 6)
        classes = torch.zeros(5, dtype=torch.int64)
        for loss, targets, kind in ((nn.functional.cross_entropy, classes, "softmax_cross_entropy"),
                                    (nn.functional.mse_loss, torch.zeros(5, 4), "mean_squared_error"),
                                    (nn.BCEWithLogitsLoss(), torch.zeros(5, 4), "sigmoid_cross_entropy"),
                                    (None, None, "softmax_cross_entropy")):
            graph = emplace.from_torch(model, x, loss=loss, targets=targets, optimizer="sgd")
            self.assertEqual(graph.kinds.count(kind), 1)
            self.assertEqual(graph.kinds.count("optimizer_update"), 2)
        with self.assertRaisesRegex(emplace.FormatError, "number that is not a loss"):
            emplace.from_torch(model, x, loss=lambda y: y.sum())

    def test_writes_through_views(self):
        class Writes(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 4)

            def forward(self, x):
                y = self.layer(x)
                y.view(-1).mul_(2)  # all of y, by a view of it
                flat = y.view(-1)
                y.add_(1)
                return flat.relu()

        class WritesPart(nn.Module):
            def forward(self, x):
                y = x.exp()
                y[:, 0:2][0] = x[:, 1] * 2  # through a view of a view
                return y.relu()
        for model, expected in ((Writes(), ["matmul", "scale", "add", "relu"]),
                                (WritesPart(), ["exp", "scale", "scatter_nd", "scatter_nd", "relu"])):
            graphs = [emplace.from_torch(model, torch.zeros(2, 4), training=False)]
            if hasattr(torch, "export"):
                exported = torch.export.export(model, (torch.zeros(2, 4),))
                graphs.append(emplace.from_torch(exported, None, training=False))
                with tempfile.TemporaryDirectory() as folder:
                    torch.export.save(exported, f"{folder}/model.pt2")
                    graphs.append(emplace.load_graph(f"{folder}/model.pt2:training=false"))
            for graph in graphs:
                self.assertEqual([kind for kind in graph.kinds if kind in expected], expected)

    def test_keyword_inputs_and_structured_results(self):
        class Keywords(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 7)

            def forward(self, x, scale=None):
                return {"logits": self.layer(x * scale), "state": (x,)}
        graph = emplace.from_torch(Keywords(), {"x": torch.zeros(2, 4), "scale": torch.ones(2, 4)})
        self.assertEqual(graph.kinds.count("softmax_cross_entropy"), 1)

    def test_a_program_of_torch_export(self):
        """With the attributes of an ExportedProgram, and a graph of the same operators."""
        from torch.fx.experimental.proxy_tensor import make_fx
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 5))
        model.eval()
        names = [name for name, _ in model.named_parameters()] + [name for name, _ in model.named_buffers()]
        tensors = [*model.parameters(), *model.buffers()]
        x = torch.zeros(2, 3, 8, 8)

        def call(*arguments):
            return torch.nn.utils.stateless.functional_call(model, dict(zip(names, arguments[:-1])), arguments[-1])
        with torch.no_grad():
            graph = make_fx(call, tracing_mode="fake")(*[tensor.detach() for tensor in tensors], x).graph
        inputs = [node for node in graph.nodes if node.op == "placeholder"]
        for node, tensor in zip(inputs, tensors):
            node.meta["val"] = tensor
        last = next(node for node in graph.nodes if node.op == "output")
        for node in graph.nodes:  # this version leaves out what operators of several results return
            parts = {user.args[1]: user.meta["val"] for user in node.users if user.target is operator.getitem}
            if parts:
                node.meta["val"] = tuple(parts.get(index) for index in range(3))
        count = len(list(model.parameters()))

        class ExportedProgram:
            pass
        exported = ExportedProgram()
        exported.graph = graph
        exported.graph_signature = types.SimpleNamespace(
            inputs_to_parameters={node.name: name for node, name in zip(inputs[:count], names)},
            inputs_to_buffers={node.name: name for node, name in zip(inputs[count:-1], names[count:])},
            user_outputs=[node.name for node in last.all_input_nodes])
        for training in (False, True):
            one = emplace.from_torch(exported, None, training=training)
            other = emplace.from_torch(model, x, training=training)
            self.assertEqual(one.parameters, other.parameters)
            self.assertEqual(one.flops, other.flops)
            self.assertEqual(sorted(one.kinds), sorted(other.kinds))

    def test_what_torch_compile_was_given(self):
        if not hasattr(torch, "compile"):
            self.skipTest("needs torch.compile of PyTorch 2")
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        one, other = (emplace.from_torch(each, torch.zeros(2, 3)) for each in (model, torch.compile(model)))
        self.assertEqual((one.names, one.kinds, one.flops), (other.names, other.kinds, other.flops))

    def test_dynamic_sizes_are_refused(self):
        if not hasattr(torch, "export"):
            self.skipTest("needs torch.export of PyTorch 2")
        batch = torch.export.Dim("batch", min=2, max=64)
        exported = torch.export.export(nn.Linear(3, 4), (torch.zeros(2, 3),), dynamic_shapes=({0: batch},))
        with self.assertRaisesRegex(emplace.UnsupportedError, "dimension 0 of the input 'input' is dynamic .*"
                                                              "without dynamic_shapes"):
            emplace.from_torch(exported, None)

    def test_quantized_models_are_refused(self):
        try:
            from torch.ao.quantization import quantize_dynamic
        except ImportError:
            self.skipTest("needs torch.ao.quantization")
        model = nn.Sequential(nn.ReLU(), nn.Linear(3, 4))

        class Rounded(nn.Module):
            def forward(self, x):
                return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize()

        class Stored(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("table", torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch moves it to another package
            quantized = quantize_dynamic(model, {nn.Linear})
        for given, found in ((quantized, "Linear in module '1' is quantized"), (Rounded(), "quantize_per_tensor|qint8"),
                             (nn.Sequential(Stored()), "table in module '0' is quantized")):
            with self.assertRaisesRegex(emplace.UnsupportedError, f"({found}).* before quantization"):
                emplace.from_torch(given, torch.zeros(2, 3), training=False)

    def test_mistakes(self):
        layer = nn.Linear(3, 4)
        with self.assertRaisesRegex(emplace.UsageError, "found int"):
            emplace.from_torch(3, torch.zeros(1))
        with self.assertRaisesRegex(emplace.UnsupportedError, "does not run on the example inputs"):
            emplace.from_torch(layer, torch.zeros(2, 5))
        with self.assertRaisesRegex(emplace.UsageError, "without a loss"):
            emplace.from_torch(layer, torch.zeros(2, 3), targets=torch.zeros(2))
        with self.assertRaisesRegex(emplace.UsageError, "cluster"):
            emplace.place(layer)
        with self.assertRaisesRegex(emplace.UsageError, "example_inputs"):
            emplace.place(layer, cluster="p2-8xlarge-2")


@unittest.skipIf(torch is None, "needs PyTorch")
class Placing(unittest.TestCase):
    def test_a_file_of_the_graph_is_the_graph(self):
        graph = emplace.from_torch(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)), torch.zeros(4, 8))
        with tempfile.TemporaryDirectory() as folder:
            graph.save(f"{folder}/graph.json")
            self.assertEqual(step_ms(f"{folder}/graph.json"), step_ms(graph))

    def test_device_map(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.left, self.right = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 4)
                self.scale = nn.Parameter(torch.ones(4))

            def forward(self, x):
                return self.right(self.left(x * self.scale))
        model = Two()
        problem = emplace.problem(emplace.from_torch(model, torch.zeros(2, 4), training=False), "p2-8xlarge-2")
        placement = numpy.zeros(problem.num_groups, numpy.int32)
        self.assertEqual(emplace.device_map(problem, placement), {"": 0})
        for op, scope in enumerate(problem.scopes):
            if scope.startswith("right"):
                placement[problem.groups[op]] = 1
        self.assertEqual(emplace.device_map(problem, placement),
                         {"scale": 0, "left": 0, "right": 1})

    def test_place_tells_all(self):
        model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
        placed = emplace.place(model, torch.zeros(8, 64), cluster="p2-8xlarge-2", evaluations=50)
        self.assertEqual(placed.status, "ok")
        self.assertEqual(set(placed.memory), set(placed.problem.devices))
        self.assertEqual(placed.step_time_us, placed.problem.simulate(placed.placed.placement).step_time_us)
        self.assertGreaterEqual(placed.device_map_step_time_us, placed.problem.bounds["best_us"] * 0.999)
        self.assertTrue(json.loads(placed.timeline)["traceEvents"])
        self.assertTrue(set(placed.device_map.values()) <= {0, 1, "cpu"})
        # Every parameter has a device.
        for name, _ in model.named_parameters():
            self.assertTrue(any(name == path or name.startswith(f"{path}.") or not path
                                for path in placed.device_map), name)


if __name__ == "__main__":
    unittest.main()
