"""Networks of torchvision, timm and transformers that emplace has built in: both at full size, through from_torch()."""
import tempfile
import warnings

import emplace
import torch
from facts import Facts, differences  # noqa: F401

# As a share: activations of heads, and what is fused, differ a little.
TOLERANCE = 0.03


def of_torchvision(name, pixels=224, batch=8, **options):
    def make():
        from torchvision import models
        return getattr(models, name)(weights=None, **options), torch.zeros(batch, 3, pixels, pixels)
    return make


def of_timm(name, pixels, batch=1):
    def make():
        import timm
        return timm.create_model(name), torch.zeros(batch, 3, pixels, pixels)
    return make


def of_transformers(config, model, *shapes, **options):
    def make():
        import transformers
        settings = getattr(transformers, config)(**{"use_cache": False, **options})
        settings._attn_implementation = "sdpa"
        names = ("input_ids", "decoder_input_ids")
        inputs = {name: torch.zeros(shape, dtype=torch.int64) for name, shape in zip(names, shapes)}
        return getattr(transformers, model)(settings), inputs
    return make


# By name: what makes the network, whether it is trained, and the built-in graph.
NETWORKS = {
    "resnet-50": (of_torchvision("resnet50"), False, "resnet-50:batch=8"),
    "resnet-50-training": (of_torchvision("resnet50"), True, "resnet-50:batch=8"),
    "resnet-152-training": (of_torchvision("resnet152"), True, "resnet-152:batch=8"),
    "vgg-16-training": (of_torchvision("vgg16"), True, "vgg-16:batch=8"),
    "inception-v3-training": (of_torchvision("inception_v3", 299, init_weights=False), True,
                              "inception-v3:batch=8,auxiliary=true"),
    "vit-training": (of_torchvision("vit_b_16"), True, "vit:batch=8"),
    "nasnet-a-large": (of_timm("nasnetalarge", 331), False, "nasnet-a-large:batch=1"),
    "bert-base": (of_transformers("BertConfig", "BertModel", (8, 384)), False, "bert-base:batch=8"),
    "gpt2-small-training": (of_transformers("GPT2Config", "GPT2LMHeadModel", (2, 1024)), True, "gpt2-small:batch=2"),
    "t5-training": (of_transformers("T5Config", "T5ForConditionalGeneration", (2, 512), (2, 114), d_model=768,
                                    d_ff=3072, num_layers=12, num_heads=12), True, "t5:batch=2"),
}

# Failures that are known, by what differs, with the reason.
FUSED = "attention is one op of PyTorch, and heads are views; the built-in graph has the ops of frameworks without it"
BY_HAND = "GELU by tanh and RMS norm that are written by hand are not joined from torch-export; attention is one op"
STATISTICS = "PyTorch normalizes by moving statistics in inference, the built-in graph by the batch, before a loss"
KNOWN = {
    "bert-base": {"kinds": FUSED, "bytes": FUSED, "time": FUSED},
    "gpt2-small-training": {"kinds": BY_HAND, "bytes": BY_HAND, "time": BY_HAND},
    "nasnet-a-large": {"kinds": STATISTICS},
    "resnet-50": {"kinds": STATISTICS, "bytes": STATISTICS, "time": STATISTICS},
    "t5-training": {"kinds": BY_HAND, "bytes": BY_HAND, "time": BY_HAND},
    "vit-training": {"kinds": FUSED, "bytes": FUSED, "time": FUSED},
}


def facts_of(make, training, specification):
    """Returns the Facts of a network of PyTorch and of the built-in graph."""
    model, inputs = make()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Facts(emplace.from_torch(model, inputs, training=training), folder)
        own = Facts(emplace.load(f"{specification},training={str(training).lower()}"), folder)
    return found, own
