#!/usr/bin/env python3
"""Compares graphs of PyTorch's models with independent counts: docs/notes/models.md.

    python3 tests/python/torch_models.py [--batch N] [MODEL...]

Parameters are those of model.parameters(). FLOPs are counted by hooks on modules and on functional products, two for
each multiply-add of convolutions, linear layers, matrix products and recurrent layers; beside them stands what the
graph has in ops of these kinds. Step times are on one device, beside those of the built-in graph.
"""
import argparse
import warnings

import emplace
import numpy
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

PRODUCTS = {"conv", "conv2d", "conv2d_transpose", "conv_transpose", "depthwise_conv2d", "grouped_conv", "matmul",
            "batch_matmul", "lstm", "gru", "lstm_cell"}

# Built-in graphs whose inference is another step: its head reads the last position only.
OTHER_INFERENCE = {"gpt2"}


class Seq2Seq(nn.Module):
    """Encoder and decoder of one kind of recurrent layer, and logits."""

    def __init__(self, layer, words=1000, width=64, hidden=128):
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder = layer(width, hidden, 2, batch_first=True)
        self.decoder = layer(width, hidden, 2, batch_first=True)
        self.head = nn.Linear(hidden, words)

    def forward(self, source, target):
        _, state = self.encoder(self.source(source))
        return self.head(self.decoder(self.target(target), state)[0])


class Block(nn.Module):
    """A block of GPT-2 as it is commonly written."""

    def __init__(self, width, heads, positions, dropout=0.1):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(positions, positions)).view(1, 1, positions, positions))

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = (part.view(n, t, self.heads, -1).transpose(1, 2)
                   for part in self.attention(self.before(x)).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = self.drop(torch.softmax(scores, dim=-1)) @ v
        x = x + self.drop(self.projection(y.transpose(1, 2).contiguous().view(n, t, width)))
        return x + self.drop(self.down(nn.functional.gelu(self.up(self.after(x)))))


class Gpt(nn.Module):
    """GPT-2 whose head is its table of words."""

    def __init__(self, layers=12, width=768, heads=12, positions=1024, words=50257):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.drop = nn.Dropout(0.1)
        self.blocks = nn.ModuleList(Block(width, heads, positions) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        x = self.drop(self.words(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device)))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def models(batch):
    """Returns what makes each model and its inputs, and the built-in graph of the same network."""
    import torchvision.models as vision

    def image(name, zoo=None, pixels=224, **options):
        return (lambda: (getattr(vision, name)(**options), torch.zeros(batch, 3, pixels, pixels))), zoo

    def ids(*shape):
        return torch.zeros(*shape, dtype=torch.int64)

    return {
        "resnet50": image("resnet50", "resnet-50"),
        "vgg16": image("vgg16", "vgg-16"),
        "inception_v3": image("inception_v3", "inception-v3:auxiliary=true", 299, init_weights=False),
        "densenet121": image("densenet121"),
        "mobilenet_v3_large": image("mobilenet_v3_large"),
        "efficientnet_b0": image("efficientnet_b0"),
        "convnext_tiny": image("convnext_tiny"),
        "swin_t": image("swin_t"),
        "vit_b_16": image("vit_b_16", "vit"),
        "regnet_y_400mf": image("regnet_y_400mf"),
        "lstm_seq2seq": ((lambda: (Seq2Seq(nn.LSTM), (ids(batch, 20), ids(batch, 25)))), None),
        "gru_seq2seq": ((lambda: (Seq2Seq(nn.GRU), (ids(batch, 20), ids(batch, 25)))), None),
        "nn.Transformer": ((lambda: (nn.Transformer(batch_first=True),
                                     (torch.zeros(batch, 32, 512), torch.zeros(batch, 24, 512)))), None),
        "gpt2": ((lambda: (Gpt(), ids(8, 1024))), "gpt2-small:batch=8"),
    }


class Count(TorchDispatchMode):
    """Adds up the FLOPs of products by the shapes that PyTorch's kernels get."""

    def __init__(self):
        super().__init__()
        self.flops = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func.__name__.partition(".")[0]
        if name in ("mm", "bmm"):
            self.flops += 2 * out.numel() * args[0].shape[-1]
        elif name in ("addmm", "baddbmm"):
            self.flops += 2 * out.numel() * args[1].shape[-1]
        elif name == "convolution":
            self.flops += 2 * out.numel() * args[1][0].numel()
        return out


def counted(model, inputs):
    """Returns the FLOPs of a forward pass of one example of the batch, run on the CPU."""
    count = Count()
    with count:  # with gradients, since modules of attention call one kernel else
        model(*inputs)
    return count.flops


def one(inputs):
    """Returns the inputs of a batch of one."""
    return tuple(value[:1] for value in (inputs if isinstance(inputs, tuple) else (inputs,)))


def step_ms(graph, cluster="p2-8xlarge-1"):
    problem = emplace.problem(graph, cluster)
    return problem.simulate(numpy.full(problem.num_groups, problem.placeable_devices[0])).step_time_us / 1e3


def compare(name, make, zoo, cluster):
    """Returns the facts of a model as a dict, and what is wrong with them."""
    model, inputs = make()
    batch = (inputs[0] if isinstance(inputs, tuple) else inputs).shape[0]
    expected = {"parameters": sum(p.numel() for p in model.parameters()),
                "flops": batch * counted(model.eval(), one(inputs))}
    facts = {"model": name, "batch": batch, "parameters": expected["parameters"], "counted": expected["flops"]}
    wrong = []
    for training in (False, True):
        mode = "training" if training else "inference"
        try:
            graph = emplace.from_torch(model, inputs, training=training)
        except emplace.Error as error:
            facts[mode] = str(error)
            wrong.append(f"{mode}: {error}")
            continue
        products = sum(flops for flops, kind, phase in zip(graph.op_flops.tolist(), graph.kinds, graph.phases)
                       if phase == "forward" and kind in PRODUCTS)
        if graph.parameters != expected["parameters"]:
            wrong.append(f"{mode}: {graph.parameters} parameters, expected {expected['parameters']}")
        if not training:
            facts["flops"] = products
            if abs(products / expected["flops"] - 1) > 0.01:
                wrong.append(f"{products / 1e9:.3f} GFLOP, counted {expected['flops'] / 1e9:.3f}")
        facts[mode] = step_ms(graph, cluster)
        if zoo is not None and (training or name not in OTHER_INFERENCE):
            spec = zoo + (":" if ":" not in zoo else ",") + f"training={str(training).lower()}"
            spec += "" if "batch=" in zoo else f",batch={batch}"
            facts[f"zoo {mode}"] = step_ms(spec, cluster)
            ratio = facts[mode] / facts[f"zoo {mode}"]
            if abs(ratio - 1) > 0.03:
                wrong.append(f"{mode}: {facts[mode]:.2f} ms, {zoo} {facts[f'zoo {mode}']:.2f} ms, ratio {ratio:.4f}")
    return facts, wrong


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--cluster", default="dgx-1-v100")
    options = parser.parse_args()
    print("| model | batch | parameters | GFLOP, counted | here | inference [ms] | built-in | training [ms] | built-in |")
    print("|---|---|---|---|---|---|---|---|---|")
    failures = []
    for name, (make, zoo) in models(options.batch).items():
        if options.models and name not in options.models:
            continue
        facts, wrong = compare(name, make, zoo, options.cluster)

        def ms(key, facts=facts):
            return f"{facts[key]:.2f}" if isinstance(facts.get(key), float) else ""

        print(f"| `{name}` | {facts['batch']} | {facts['parameters']:,} | {facts['counted'] / 1e9:.2f} | "
              f"{facts.get('flops', 0) / 1e9:.2f} | {ms('inference')} | {ms('zoo inference')} | {ms('training')} | "
              f"{ms('zoo training')} |", flush=True)
        failures += [f"{name}: {line}" for line in wrong]
    for line in failures:
        print(line)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
