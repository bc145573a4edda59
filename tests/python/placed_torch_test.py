#!/usr/bin/env python3
"""Runs PyTorch models with exported placements: the device map by hooks as Hugging Face Accelerate sets them, and the
source of torch-fx. Loss and gradients must be those of the model as it was.

There may be no GPU here, so devices are names that tensors carry: each storage has one, and an operator that reads
storages of two devices fails, as PyTorch would."""
import copy
import importlib.util
import json
import os
import random
import subprocess
import tempfile
import unittest
import warnings

warnings.simplefilter("ignore")  # those of torch, which are none of ours
try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten, tree_map
except ImportError:
    torch = None

EMPLACE = os.environ["EMPLACE"]


def reads_onnx():
    """Says whether this emplace was built with ONNX."""
    formats = json.loads(emplace("list", "formats", "--json"))
    return any(entry["name"] == "onnx" for entry in formats["formats"])


def emplace(*arguments):
    return subprocess.run([EMPLACE, "--quiet", *arguments], check=True, capture_output=True, text=True).stdout


if torch is not None:

    class Devices(TorchDispatchMode):
        """Knows the device of each storage, and refuses operators that read several devices."""

        def __init__(self):
            super().__init__()
            self.device_of = {}
            self.moves = 0

        @staticmethod
        def key(tensor):
            return tensor.storage().data_ptr()

        def put(self, tensor, device):
            if tensor.numel() > 0:
                self.device_of[self.key(tensor)] = device

        def device(self, tensor):
            return self.device_of.get(self.key(tensor)) if tensor.numel() > 0 else None

        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            keywords = keywords or {}
            # A tensor of one number may be anywhere.
            read = [value for value in tree_flatten((arguments, keywords))[0]
                    if isinstance(value, torch.Tensor) and value.dim() > 0]
            devices = {self.device(tensor) for tensor in read} - {None}
            if len(devices) > 1:
                raise RuntimeError(f"{function} reads tensors on {sorted(devices)}")
            result = function(*arguments, **keywords)
            for value in tree_flatten(result)[0]:
                if isinstance(value, torch.Tensor) and all(value is not tensor for tensor in read):
                    self.put(value, next(iter(devices), None))
            return result

        def move(self, value, device):
            if not isinstance(value, torch.Tensor):
                return value
            if self.device(value) == device:
                return value
            self.moves += 1
            return Copy.apply(value, self, device)

        def move_all(self, values, device):
            return tree_map(lambda value: self.move(value, device), values)

        def move_module(self, module, device):
            for tensor in [*module.parameters(), *module.buffers()]:
                self.put(tensor, device)

    class Copy(torch.autograd.Function):
        """A copy to another device, whose gradient goes back."""

        @staticmethod
        def forward(context, value, devices, device):
            context.devices, context.source = devices, devices.device(value)
            copied = value.clone()
            devices.put(copied, device)
            return copied

        @staticmethod
        def backward(context, gradient):
            copied = gradient.clone()
            context.devices.put(copied, context.source)
            return copied, None, None

    class Block(torch.nn.Module):
        """A residual block with branches and in-place activations."""

        def __init__(self, channels):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(channels, channels, 3, padding=1)
            self.bn1 = torch.nn.BatchNorm2d(channels)
            self.relu = torch.nn.ReLU(inplace=True)
            self.left = torch.nn.Conv2d(channels, channels // 2, 1)
            self.right = torch.nn.Sequential(torch.nn.Conv2d(channels, channels // 2, 1), torch.nn.ReLU(inplace=True))

        def forward(self, x):
            y = self.relu(self.bn1(self.conv1(x)))
            y = torch.cat([self.left(y), self.right(y)], 1)
            y += x
            return self.relu(y)

    class Network(torch.nn.Module):
        """Convolutions, then attention with a token that is a parameter of the model itself."""

        def __init__(self):
            super().__init__()
            self.stem = torch.nn.Conv2d(3, 8, 3, stride=2)
            self.blocks = torch.nn.Sequential(Block(8), Block(8))
            self.token = torch.nn.Parameter(torch.randn(1, 1, 8))
            self.norm = torch.nn.LayerNorm(8)
            self.query, self.key, self.value = (torch.nn.Linear(8, 8) for _ in range(3))
            self.head = torch.nn.Linear(8, 5)

        def forward(self, x):
            x = self.blocks(self.stem(x)).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
            y = self.norm(x)
            weights = torch.softmax(self.query(y) @ self.key(y).transpose(1, 2), -1)
            x = x + weights @ self.value(y)
            return self.head(x[:, 0])

    class Towers(torch.nn.Module):
        """Two towers that nothing but their sum joins."""

        def __init__(self):
            super().__init__()
            self.left = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(4)))
            self.right = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(4)))
            self.head = torch.nn.Linear(8, 5)

        def forward(self, x):
            return self.head(self.left(x) + self.right(x))


    class Tied(torch.nn.Module):
        """Two layers with one weight, far from each other; the model itself reads it, too."""

        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(8, 8)
            self.middle = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(4)))
            self.last = torch.nn.Linear(8, 8)
            self.last.weight = self.first.weight
            self.between = torch.nn.Linear(8, 8)
            self.head = torch.nn.Linear(8, 5)

        def forward(self, x):
            x = self.last(self.middle(self.first(x)))
            return self.head(torch.nn.functional.linear(self.between(x), self.first.weight))


def dispatch(model, device_map, devices):
    """Does what accelerate.dispatch_model does."""
    modules, parameters = dict(model.named_modules()), dict(model.named_parameters())
    covered = [name for name in parameters
               if any(key in ("", name) or name.startswith(key + ".") for key in device_map)]
    assert len(covered) == len(parameters), set(parameters) - set(covered)

    def moving(device):
        return lambda module, inputs: devices.move_all(inputs, device)

    for key, device in device_map.items():
        if key in modules:
            devices.move_module(modules[key], device)
            modules[key].register_forward_pre_hook(moving(device))
        else:
            devices.put(parameters[key], device)
    if "" not in device_map:
        model.register_forward_pre_hook(moving(next(iter(device_map.values()))))


def source_of(path):
    spec = importlib.util.spec_from_file_location("placed", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def step(model, inputs, targets, devices=None):
    """Returns the loss and the gradients of a step."""
    torch.manual_seed(1)  # for dropout
    outputs = model(inputs)
    if devices is not None:
        devices.put(targets, devices.device(outputs))
    loss = torch.nn.functional.cross_entropy(outputs, targets)
    loss.backward()
    return loss.item(), {name: parameter.grad for name, parameter in model.named_parameters()}


@unittest.skipIf(torch is None, "PyTorch is missing: apt-get install python3-torch")
class PlacedTorch(unittest.TestCase):
    """Each test exports models, places them at random and by heft, and runs them."""

    def setUp(self):
        if not reads_onnx():
            self.skipTest("this emplace reads no ONNX: libprotobuf-dev is missing")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        torch.manual_seed(0)
        torch.set_num_threads(1)

    def models(self):
        yield "towers", Towers(), torch.randn(4, 8)
        yield "tied", Tied(), torch.randn(4, 8)
        yield "network", Network(), torch.randn(2, 3, 16, 16)
        try:
            import torchvision
        except ImportError:
            return
        yield "resnet18", torchvision.models.resnet18(num_classes=5), torch.randn(2, 3, 32, 32)
        yield "googlenet", torchvision.models.googlenet(num_classes=5, aux_logits=False, init_weights=False), \
            torch.randn(2, 3, 32, 32)

    def placements(self, name, model, inputs):
        """Yields files of placements of the model's training step."""
        torch.onnx.export(model, inputs, name + ".onnx", training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False, opset_version=14)
        try:
            emplace("convert", name + ".onnx", "--from", "onnx:training=true", "-o", name + ".json")
        except subprocess.CalledProcessError:  # no rule for some gradient: then the forward pass alone is placed
            emplace("convert", name + ".onnx", "-o", name + ".json")
        with open(name + ".json", encoding="utf-8") as file:
            graph = json.load(file)
        generator = random.Random(1)
        colocated = {}
        devices = {}
        for op in graph["ops"]:
            gpu = f"gpu:{generator.randrange(3)}"
            devices[op["name"]] = colocated.setdefault(op.get("colocation") or op["name"], gpu)
        with open("random.json", "w", encoding="utf-8") as file:
            json.dump({"schema": "emplace-placement", "version": 1, "devices": devices}, file)
        yield "random.json"
        for order in ("queue", "plan"):
            path = f"heft-{order}.json"
            emplace("place", name + ".json", "--cluster", "p2-8xlarge-4", "--agent", f"heft:order={order}", "-o", path)
            yield path

    def check(self, run):
        """Compares what `run(model, graph, placement, devices)` places with the model as it was."""
        for name, model, inputs in self.models():
            targets = torch.arange(len(inputs)) % 5
            expected_loss, expected = step(copy.deepcopy(model).double(), inputs.double(), targets)
            for placement in self.placements(name, copy.deepcopy(model), inputs):
                with self.subTest(model=name, placement=placement), Devices() as devices:
                    placed = run(copy.deepcopy(model).double(), name + ".json", placement, devices)
                    loss, gradients = step(placed, inputs.double(), targets, devices)
                    self.assertEqual(loss, expected_loss)
                    self.assertEqual(set(gradients), set(expected))
                    for parameter, gradient in gradients.items():  # sums of several readers have no fixed order
                        torch.testing.assert_close(gradient, expected[parameter], rtol=1e-9, atol=1e-12)
                    self.assertEqual(len({devices.device(parameter) for parameter in placed.parameters()}) > 1,
                                     devices.moves > 1)

    def test_device_map(self):
        def run(model, graph, placement, devices):
            text = emplace("convert", graph, "--cluster", "p2-8xlarge-4", "--placement", placement,
                           "--to", "torch-device-map")
            dispatch(model, json.loads(text), devices)
            return model
        self.check(run)

    def test_the_stand_in_refuses_what_pytorch_would(self):
        with Devices() as devices:
            model = Towers()
            dispatch(model, {"left": 0, "right": 1, "head": 0}, devices)
            with self.assertRaisesRegex(RuntimeError, "add.* reads tensors on .0, 1."):
                model(torch.randn(4, 8))

    def test_fx(self):
        def run(model, graph, placement, devices):
            emplace("convert", graph, "--cluster", "p2-8xlarge-4", "--placement", placement, "--to", "torch-fx",
                    "-o", "placed.py")
            source = source_of("placed.py")
            source.move_module = devices.move_module
            source.move = devices.move_all
            turned = {f"cuda:{gpu}": f"cuda:{(gpu + 1) % 4}" for gpu in range(4)}
            placed = source.place(model, turned if placement == "random.json" else None)
            self.assertEqual(bool(source.ORDER), placement == "heft-plan.json")
            return placed
        self.check(run)

    def test_fx_says_what_it_cannot_trace(self):
        class Steps(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.left, self.right = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

            def forward(self, x):
                for _ in range(x.shape[1] // 4):
                    x = self.left(x)
                return self.right(x)
        model, inputs = Steps(), torch.randn(2, 8)
        placement = list(self.placements("steps", model, inputs))[0]
        emplace("convert", "steps.json", "--cluster", "p2-8xlarge-4", "--placement", placement, "--to", "torch-fx",
                "-o", "placed.py")
        with self.assertRaisesRegex(RuntimeError, "torch.fx cannot trace this model .*--format torch-device-map"):
            source_of("placed.py").place(model)

    def test_fx_on_real_devices(self):
        """Without a stand-in for devices: all of them are the CPU."""
        model, inputs = Network(), torch.randn(2, 3, 16, 16)
        targets = torch.arange(2)
        expected_loss, _ = step(copy.deepcopy(model), inputs, targets)
        for placement in self.placements("network", copy.deepcopy(model), inputs):
            emplace("convert", "network.json", "--cluster", "p2-8xlarge-4", "--placement", placement, "--to",
                    "torch-fx", "-o", "placed.py")
            placed = source_of("placed.py").place(model, {f"cuda:{gpu}": "cpu" for gpu in range(4)})
            self.assertEqual(step(placed, inputs, targets)[0], expected_loss)


if __name__ == "__main__":
    unittest.main()
