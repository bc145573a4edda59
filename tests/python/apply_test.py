#!/usr/bin/env python3
"""PyTorch models on the devices of a placement, with Accelerate and without, and the stages of a pipeline.

There may be no GPU here: devices are the CPU twice, or GPUs of tensors without data, of which PyTorch refuses an
operator that reads two. Skipped where there is no PyTorch 2."""
import contextlib
import copy
import importlib.util
import unittest
import unittest.mock
import warnings

import emplace
import numpy

try:
    import torch
    from torch import nn
except ImportError:
    torch = None
HAS_TORCH_2 = torch is not None and int(torch.__version__.partition(".")[0]) >= 2

if torch is not None:

    class Embedding(nn.Module):
        """Words and positions: a parameter next to a module."""

        def __init__(self):
            super().__init__()
            self.words, self.positions = nn.Embedding(11, 8), nn.Parameter(torch.randn(6, 8))

        def forward(self, ids):
            return self.words(ids) + self.positions

    class Block(nn.Module):
        """A residual block. The graph has the mask as a constant; a module and its table do not run."""

        def __init__(self):
            super().__init__()
            self.norm, self.up, self.act, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.ReLU(True), nn.Linear(16, 8)
            self.register_buffer("mask", torch.tril(torch.ones(6, 6)))
            self.unused = nn.BatchNorm1d(8)

        def forward(self, x, scale=None):
            weights = torch.zeros(6, 6, device=x.device).masked_fill(self.mask == 0, float("-inf")).softmax(-1)
            return x + self.down(self.act(self.up(self.norm(weights @ x)))) * scale

    class Network(nn.Module):
        """Blocks between an embedding and a head with its weight."""

        def __init__(self, tied=True):
            super().__init__()
            self.embedding, self.blocks = Embedding(), nn.ModuleList(Block() for _ in range(3))
            self.scale, self.norm = nn.Parameter(torch.ones(8)), nn.LayerNorm(8)
            self.head = nn.Linear(8, 11, bias=False)
            if tied:
                self.head.weight = self.embedding.words.weight

        def forward(self, ids):
            x, scale = self.embedding(ids), self.scale.exp()
            for block in self.blocks:
                x = block(x, scale=scale)
            return {"logits": self.head(self.norm(x))}


def placed_with(model, inputs, others, **options):
    """Returns a PlacedModel whose modules are on gpu:0, apart from those that start with `others`, on gpu:1."""
    placed = emplace.place(model, inputs, cluster="p2-8xlarge-2", agent="single-gpu", **options)
    placement = numpy.zeros(placed.problem.num_groups, numpy.int32)
    for op, scope in enumerate(placed.problem.scopes):
        if scope.startswith(others):
            placement[placed.problem.groups[op]] = 1
    return placed._replace(device_map=emplace.device_map(placed.problem, placement))


@contextlib.contextmanager
def without_accelerate():
    with unittest.mock.patch.dict("sys.modules", {"accelerate": None}):
        yield


def step(model, ids):
    logits = model(ids)["logits"]
    logits.logsumexp(-1).mean().backward()
    return logits, {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}


class Applying:
    """Tests with one way to add hooks."""

    def setUp(self):
        self.enterContext(self.hooks())
        torch.manual_seed(0)
        self.model, self.ids = Network(), torch.arange(12).reshape(2, 6) % 11

    def enterContext(self, context):  # unittest has it since Python 3.11
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def test_results_gradients_and_steps_are_those_of_the_model(self):
        expected, gradients = step(copy.deepcopy(self.model), self.ids)
        for others in ("blocks/1", ("blocks/0", "blocks/2/up"), "blocks", "nothing"):
            placed, model = placed_with(self.model, self.ids, others), copy.deepcopy(self.model)
            self.assertEqual(set(placed.device_map.values()), {0} if others == "nothing" else {0, 1})
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            self.assertIs(placed.apply(model, ["cpu", "cpu"]), model)
            logits, found = step(model, self.ids)
            self.assertTrue(torch.equal(logits, expected), others)
            self.assertEqual(set(found), set(gradients))
            self.assertTrue(all(torch.equal(found[name], gradients[name]) for name in gradients), others)
            optimizer.step()
            self.assertFalse(torch.equal(model(self.ids)["logits"], expected))
            self.assertIs(model.head.weight, model.embedding.words.weight)

    def test_modules_run_where_the_map_says(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        placed = placed_with(self.model, self.ids, ("blocks/0", "blocks/2/up"))
        other = placed_with(self.model, self.ids, "blocks/1")
        expected = {path: device for path, device in placed.device_map.items() if path.startswith("blocks.")}
        self.assertEqual((expected["blocks.0"], expected["blocks.2.up"]), (1, 1))
        with FakeTensorMode(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # addresses of tensors without data, which Accelerate asks for
            # Accelerate would make weights anew by their class, and they are where they go already.
            if self.hooks is contextlib.nullcontext:
                self.enterContext(unittest.mock.patch("accelerate.hooks.set_module_tensor_to_device"))
            model = Network()
            other.apply(model, ["cuda:0", "cuda:1"])  # and then elsewhere
            placed.apply(model, {0: "cuda:3", 1: torch.device("cuda", 5), "cpu": "cpu"})
            places, found = {0: torch.device("cuda:3"), 1: torch.device("cuda:5")}, {}
            for path in expected:
                module = model.get_submodule(path)
                module.register_forward_hook(lambda _, given, result, path=path: found.update({path: result.device}))
            logits = model(torch.zeros(2, 6, dtype=torch.int64))["logits"]
            ran = {path: places[device] for path, device in expected.items() if not path.endswith("unused")}
            self.assertEqual(found, ran)
            self.assertEqual(logits.device, torch.device("cpu"))  # as the ids
            self.assertEqual(model.blocks[0].mask.device, places[1])
            self.assertEqual(model.embedding.positions.device, places[0])
            self.assertTrue(all(tensor.device in places.values() for tensor in (*model.parameters(), *model.buffers())))

    def test_tensors_without_data(self):
        placed = placed_with(self.model, self.ids, "blocks/1")
        model = placed.apply(self.model, ["meta", "meta"])
        logits, _ = step(model, self.ids.to("meta"))
        self.assertEqual((logits.device.type, logits.shape), ("meta", (2, 6, 11)))
        self.assertEqual({parameter.device.type for parameter in model.parameters()}, {"meta"})
        self.assertIs(model.head.weight, model.embedding.words.weight)


@unittest.skipUnless(HAS_TORCH_2, "needs PyTorch 2")
class WithoutAccelerate(Applying, unittest.TestCase):
    hooks = staticmethod(without_accelerate)


@unittest.skipUnless(HAS_TORCH_2 and importlib.util.find_spec("accelerate"), "needs PyTorch 2 and accelerate")
class WithAccelerate(Applying, unittest.TestCase):
    hooks = contextlib.nullcontext


@unittest.skipUnless(HAS_TORCH_2, "needs PyTorch 2")
class Mistakes(unittest.TestCase):
    def test_what_is_told(self):
        class Longer(Network):
            def __init__(self):
                super().__init__()
                self.more = nn.Linear(3, 3)
        model, ids = Network(), torch.zeros(2, 6, dtype=torch.int64)
        placed = placed_with(model, ids, "blocks/1")
        before = {name: parameter.device for name, parameter in model.named_parameters()}
        for given, devices, text in (
                (nn.Linear(3, 3), ["cpu", "cpu"], "has 'embedding', which Linear has not: it is of another model"),
                (Longer(), ["cpu", "cpu"], "no device for 'more.weight' of Longer: it is of another model"),
                (model, ["cpu"], "map uses 1, expected a torch device for it as for 0"),
                (model, {1: "cpu"}, "map uses 0, .* as for 1"),
                (model, ["cpu", "cpu", "cpu"], "found 3, and cluster p2-8xlarge-2 has 2 for ops"),
                (model, "cpu", "a list or a dict of torch devices, found str"),
                (model, ["cpu", "hal:9000"], "PyTorch has no device 'hal:9000' here, for 1 of the device map"),
                (model, ["cpu", "cuda:99"], "PyTorch has no device 'cuda:99' here"),
                (torch.compile(model), ["cpu", "cpu"], "then compile it"),
                (3, ["cpu", "cpu"], "expected a torch.nn.Module, found int")):
            with self.subTest(devices=devices), self.assertRaisesRegex(emplace.UsageError, text):
                placed.apply(given, devices)
        self.assertEqual({name: parameter.device for name, parameter in model.named_parameters()}, before)
        if torch.cuda.device_count() < 2:
            with self.assertRaisesRegex(emplace.UsageError, "PyTorch has no device 'cuda:"):
                placed.apply(model)


@unittest.skipIf(torch is None, "needs PyTorch")
class Stages(unittest.TestCase):
    def test_stages_are_in_the_order_in_which_they_run(self):
        class Backwards(nn.Module):
            def __init__(self):
                super().__init__()
                self.last, self.first, self.middle = nn.Linear(4, 2), nn.Linear(4, 4), nn.Linear(4, 4)

            def forward(self, x):
                return self.last(self.middle(self.first(x)))
        placed = placed_with(Backwards(), torch.zeros(2, 4), ("middle", "last"))
        self.assertEqual(placed.stages(), [(0, ["first"]), (1, ["middle", "last"])])
        placed = placed_with(Backwards(), torch.zeros(2, 4), "first")
        self.assertEqual(placed.stages(), [(1, ["first"]), (0, ["middle", "last"])])
        placed = placed_with(Backwards(), torch.zeros(2, 4), "nothing")
        self.assertEqual(placed.stages(), [(0, [""])])

    def test_micro_batches(self):
        model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(4)))
        whole = emplace.from_torch(model, torch.zeros(8, 64))
        parts = emplace.from_torch(model, torch.zeros(2, 64), micro_batches=4)
        self.assertEqual((whole.parameters, whole.forward_flops), (parts.parameters, parts.forward_flops))
        placed = emplace.place(model, torch.zeros(2, 64), cluster="p2-8xlarge-2", micro_batches=4, agent="pipeline-dp",
                               training=True)
        other = placed_with(model, torch.zeros(2, 64), ("2", "3"), micro_batches=4)
        self.assertEqual(other.stages(), [(0, ["0", "1"]), (1, ["2", "3"])])
        self.assertEqual(sorted(path for _, modules in placed.stages() for path in modules), sorted(placed.device_map))
        with self.assertRaisesRegex(emplace.Error, "micro-batches"):
            emplace.from_torch(model, torch.zeros(2, 64), micro_batches=0)

    def test_what_is_no_pipeline(self):
        placed = placed_with(Network(False), torch.zeros(2, 6, dtype=torch.int64), "blocks/1")
        with self.assertRaisesRegex(emplace.UnsupportedError, r"'blocks.2' runs on 0 after 'blocks.1' on 1"):
            placed.stages()


if __name__ == "__main__":
    unittest.main()
