#!/usr/bin/env python3
"""Prints how long PyTorch trains ten models, as they are and placed on two cores, beside what emplace predicts.

    build/judges/bin/python tests/python/judges/steps.py [--rounds N] [MODEL...]

Each round calibrates the ops of a model on a core (emplace.calibrate) and then runs its steps (emplace.validate); a row
has the medians of all rounds. The machine should be idle, and have two cores at least.
"""
import argparse
import collections
import itertools
import os
import pathlib
import statistics
import sys
import tempfile
import warnings

import emplace
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from torch_models import Gpt, Seq2Seq  # noqa: E402


def image(name, batch, pixels, **options):
    def make():
        from torchvision import models
        return getattr(models, name)(**options), (torch.randn(batch, 3, pixels, pixels),)
    return make


def vit():
    from torchvision import models
    return (models.VisionTransformer(image_size=96, patch_size=16, num_layers=4, num_heads=4, hidden_dim=256,
                                     mlp_dim=1024), (torch.randn(8, 3, 96, 96),))


def words(*shape):
    return torch.randint(0, 1000, shape)


MODELS = {
    "resnet18": image("resnet18", 8, 112),
    "resnet50": image("resnet50", 4, 112),
    "googlenet": image("googlenet", 8, 112, aux_logits=False, init_weights=False),
    "densenet121": image("densenet121", 4, 96),
    "mobilenet_v3_small": image("mobilenet_v3_small", 16, 128),
    "squeezenet1_1": image("squeezenet1_1", 8, 128),
    "vision transformer": vit,
    "gpt2, 4 layers": lambda: (Gpt(layers=4, width=256, heads=4, positions=128, words=5000), (words(4, 128),)),
    "lstm seq2seq": lambda: (Seq2Seq(nn.LSTM, width=128, hidden=256), (words(16, 20), words(16, 25))),
    "perceptron": lambda: (nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(1024, 1024), nn.ReLU()))),
                           (torch.randn(128, 1024),)),
}


def kendall_tau(pairs):
    """Returns the rank correlation of (predicted, measured)."""
    signs = [(a[0] - b[0]) * (a[1] - b[1]) for a, b in itertools.combinations(pairs, 2)]
    return sum((sign > 0) - (sign < 0) for sign in signs) / len(signs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cores = len(os.sched_getaffinity(0))
    runs = collections.defaultdict(list)
    for _ in range(options.rounds):
        for name in options.models or MODELS:
            torch.manual_seed(0)
            model, inputs = MODELS[name]()
            with tempfile.TemporaryDirectory() as folder:
                lab = os.path.join(folder, "lab.json")
                devices = f"cpu/{cores}"
                emplace.calibrate(model, inputs, devices=devices, optimizer="sgd", max_copy=1 << 20, output=lab)
                found = emplace.validate(model, inputs, cluster=lab, devices=devices, optimizer="sgd")
            for step in found.steps:
                runs[name, step.name].append((step.predicted_us / 1e3, step.measured_us / 1e3))
                print(f"{name}, {step.name}: {runs[name, step.name][-1]}", file=sys.stderr, flush=True)
    medians = {key: tuple(map(statistics.median, zip(*of))) for key, of in runs.items()}
    print("| model | placement | predicted [ms] | measured [ms] | ratio |\n|---|---|---|---|---|")
    for (name, placement), (predicted, measured) in medians.items():
        print(f"| {name} | {placement} | {predicted:.1f} | {measured:.1f} | {predicted / measured:.2f} |")
    for title, chosen in (("as they are", [key for key in medians if key[1] == "cpu:0"]),
                          ("placed", [key for key in medians if key[1] != "cpu:0"]), ("all", list(medians))):
        pairs = [medians[key] for key in chosen]
        errors = [abs(predicted / measured - 1) for predicted, measured in pairs]
        print(f"\n{title}: mean error {100 * statistics.fmean(errors):.1f} %, median "
              f"{100 * statistics.median(errors):.1f} %, tau {kendall_tau(pairs):.2f}")


if __name__ == "__main__":
    main()
