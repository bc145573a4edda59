#!/usr/bin/env python3
"""PyTorch's own counts, and its four ways into emplace, for the networks of architectures.py.

Each way has the parameters of PyTorch, and FLOPs of products, convolutions and attention within 1 % of
torch.utils.flop_counter. Kinds, FLOPs, bytes and the simulated time of a step are within 1 % of those of
emplace.from_torch(), for inference and training. What does not hold today is in known_failures.txt, with the reason; if
it holds one day, the test fails until its line is removed there. Networks that emplace has built in are at full size
within 3 % of those.
"""
import unittest

try:
    import diffusers  # noqa: F401
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


class BuiltIn(unittest.TestCase):
    """Networks at full size next to emplace's own."""

    def agree(self, name):
        make, training, specification = built_in.NETWORKS[name]
        found, own = built_in.facts_of(make, training, specification)
        failures = {what: f"{100 * share:+.1f} %" for what, share in built_in.differences(found, own).items()
                    if abs(share) > built_in.TOLERANCE}
        if found.parameters != own.parameters:
            failures["parameters"] = f"{found.parameters}, built in {own.parameters}"
        known = built_in.KNOWN.get(name, {})
        self.assertEqual(set(failures), set(known), f"\n{name}: {failures}\n{kinds_that_differ(found, own)}")


@unittest.skipIf(MISSING is None, "all packages are there")
class WithoutPackages(unittest.TestCase):
    def test_networks(self):
        self.skipTest(f"needs the package {MISSING}")


if MISSING is None:
    import agreement
    import built_in
    from architectures import ARCHITECTURES
    from facts import kinds_that_differ

    def add_test(case, name):
        setattr(case, f"test_{name.replace('-', '_')}", lambda self: self.agree(name))

    for each in ARCHITECTURES:
        add_test(FourWays, each)
    for each in built_in.NETWORKS:
        add_test(BuiltIn, each)


if __name__ == "__main__":
    unittest.main()
