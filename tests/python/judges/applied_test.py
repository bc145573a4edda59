#!/usr/bin/env python3
"""Does PlacedModel.apply() run the networks of architectures.py on two devices, by Accelerate?

Results and gradients of a training step on the CPU are those of the network as it was, bit for bit. On two GPUs, of
tensors without data, PyTorch refuses an operator that reads both."""
import copy
import unittest
import unittest.mock
import warnings

try:
    import accelerate  # noqa: F401
    import diffusers  # noqa: F401
    import timm  # noqa: F401
    import torch
    import torchvision  # noqa: F401
    import transformers  # noqa: F401
except ImportError as error:
    MISSING = error.name
else:
    MISSING = None

# Layers that read a weight of all are on one device.
ON_ONE_DEVICE = {"bart", "deberta-v2"}

# These ask for the driver of a GPU, even of tensors without data.
NEED_A_DRIVER = {"gru", "lstm", "mixtral-grouped", "nmt"}


def step(model, inputs):
    """Returns the results of a model and the gradients of their sum."""
    torch.manual_seed(1)  # of dropout
    positional, keywords = arguments(inputs)
    results = [value for value in pytree.tree_flatten(model(*positional, **keywords))[0]
               if isinstance(value, torch.Tensor)]
    sum(value.sum() for value in results if value.requires_grad).backward()
    return results, {name: each.grad for name, each in model.named_parameters() if each.grad is not None}


def without_data(model, mode):
    """Returns the model with tensors that have no data."""
    for module in model.modules():
        for table in (module._parameters, module._buffers):
            for name, tensor in table.items():
                if tensor is not None:
                    table[name] = mode.from_tensor(tensor)
    return model


class Applied(unittest.TestCase):
    def check(self, name):
        torch.manual_seed(0)
        model, inputs = ARCHITECTURES[name]()
        model.train()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            placed = emplace.place(model, inputs, cluster="p2-8xlarge-2", micro_batches=4, agent="pipeline-dp")
            self.assertEqual(len(set(placed.device_map.values())), 1 if name in ON_ONE_DEVICE else 2)
            expected, gradients = step(copy.deepcopy(model), inputs)
            results, found = step(placed.apply(copy.deepcopy(model), ["cpu", "cpu"]), inputs)
            self.assertEqual(len(results), len(expected))
            self.assertTrue(all(torch.equal(*pair) for pair in zip(results, expected)))
            self.assertEqual(set(found), set(gradients))
            self.assertEqual([path for path in found if not torch.equal(found[path], gradients[path])], [])
            if name in NEED_A_DRIVER:
                self.skipTest("on GPUs: needs a driver")
            mode = FakeTensorMode(allow_non_fake_inputs=True)
            fake = without_data(model, mode)
            positional, keywords = arguments(pytree.tree_map_only(torch.Tensor, mode.from_tensor, inputs))
            # Accelerate would make weights anew by their class, and they are where they go already.
            with mode, unittest.mock.patch("accelerate.hooks.set_module_tensor_to_device"):
                placed.apply(fake, ["cuda:0", "cuda:1"])(*positional, **keywords)
            self.assertEqual({parameter.device for parameter in fake.parameters()},
                             {torch.device("cuda", gpu) for gpu in placed.device_map.values()})


@unittest.skipIf(MISSING is None, "all packages are there")
class WithoutPackages(unittest.TestCase):
    def test_networks(self):
        self.skipTest(f"needs the package {MISSING}")


if MISSING is None:
    import emplace
    from architectures import ARCHITECTURES
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils import _pytree as pytree
    from ways_in import arguments

    for each in ARCHITECTURES:
        setattr(Applied, f"test_{each.replace('-', '_')}", lambda self, name=each: self.check(name))


if __name__ == "__main__":
    unittest.main()
