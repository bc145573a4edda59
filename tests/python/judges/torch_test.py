#!/usr/bin/env python3
"""PyTorch's own counts, and its four ways into emplace, for the networks of architectures.py.

Each way has the parameters of PyTorch, and FLOPs of products, convolutions and attention within 1 % of
torch.utils.flop_counter. Kinds, FLOPs, bytes and the simulated time of a step are within 1 % of those of
emplace.from_torch(), for inference and training. What does not hold today is in known_failures.txt, with the reason; if
it holds one day, the test fails until its line is removed there.
"""
import unittest

try:
    import onnxscript  # noqa: F401
    import timm  # noqa: F401
    import torch
    import torchvision  # noqa: F401
    import transformers  # noqa: F401
except ImportError as error:
    MISSING = error.name
else:
    MISSING = None


class FourWays(unittest.TestCase):
    def agree(self, name):
        known = agreement.known_failures()[name]
        failures = agreement.judge(name).failures
        new = {key: found for key, found in failures.items() if key not in known}
        fixed = sorted(set(known) - set(failures))
        text = "\n".join(f"{' '.join(key)}: {found}" for key, found in new.items())
        self.assertFalse(new, f"\n{name} differs:\n{text}")
        self.assertFalse(fixed, f"\n{name}: these hold now, so remove them from known_failures.txt: {fixed}")


@unittest.skipIf(MISSING is not None, f"needs the package {MISSING}")
class BuiltIn(unittest.TestCase):
    """Networks at full size next to emplace's own."""


if MISSING is None:
    import agreement
    from architectures import ARCHITECTURES

    def add_test(name):
        setattr(FourWays, f"test_{name.replace('-', '_')}", lambda self: self.agree(name))

    for each in ARCHITECTURES:
        add_test(each)


if __name__ == "__main__":
    unittest.main()
