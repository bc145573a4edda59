"""The four ways of a PyTorch model into emplace."""
import contextlib
import os
import tempfile
import unittest.mock
import warnings

import emplace
import torch
from facts import Facts, quiet

WAYS = ("from-torch", "torch-export", "onnx-script", "onnx-dynamo")


def randomize(model):
    """Gives every parameter numbers of its own: exporters join those that are equal, such as fresh scales of ones."""
    torch.manual_seed(0)
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.uniform_(0.01, 0.02)
        for name, tensor in model.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                tensor.uniform_(0.5, 1.5)


def arguments(inputs):
    """Returns positional and keyword arguments."""
    return ((), inputs) if isinstance(inputs, dict) else (tuple(inputs), {})


class PositionalModel(torch.nn.Module):
    """A model that takes keyword arguments by position, for the exporters that need it."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values):
        results = self.model(**dict(zip(self.names, values)))
        return results[0] if isinstance(results, tuple) else getattr(results, "logits", results)


def from_torch(model, inputs, folder, training):
    return emplace.from_torch(model, inputs, training=training)


def from_torch_export(model, inputs, folder, training):
    path = os.path.join(folder, "model.pt2")
    with exporting():
        torch.export.save(torch.export.export(model, inputs), path)
    return emplace.load(f"{path}:training={str(training).lower()}")


def from_onnx(model, inputs, folder, training, options):
    path = os.path.join(folder, "model.onnx")
    with exporting():
        torch.onnx.export(model, inputs, path, **options)
    return emplace.load(f"{path}:training={str(training).lower()}")


def from_onnx_script(model, inputs, folder, training):
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.PRESERVE
    return from_onnx(model, inputs, folder, training, {"dynamo": False, "training": mode, "opset_version": 18,
                                                       "do_constant_folding": not training})


def from_onnx_dynamo(model, inputs, folder, training):
    from onnxscript import rewriter
    from onnxscript.rewriter.rules.common import _fuse_batchnorm
    rules = tuple(rule for rule in rewriter._DEFAULT_REWRITE_RULES
                  if all(rule is not fusing for fusing in _fuse_batchnorm.rules))
    with unittest.mock.patch.object(rewriter, "_DEFAULT_REWRITE_RULES", rules):
        return from_onnx(model, inputs, folder, training, {"dynamo": True, "external_data": False})


READERS = {"from-torch": from_torch, "torch-export": from_torch_export, "onnx-script": from_onnx_script,
           "onnx-dynamo": from_onnx_dynamo}


class ExportError(Exception):
    """PyTorch itself cannot export a model."""


@contextlib.contextmanager
def without_fused_layers():
    """Has modules of attention call the operators that they have for training, too."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@contextlib.contextmanager
def exporting():
    try:
        with quiet(), torch.no_grad(), without_fused_layers():
            yield
    except Exception as error:  # of many classes
        text = str(error).strip().split("\n")[0]
        raise ExportError(f"{type(error).__name__}: {text}") from error


def facts_of(model, inputs, trainings=(False, True), ways=WAYS):
    """Returns {(way, training): Facts, or the exception of who refused}.

    A model is exported in the mode that it is imported for, so that dropout is there in training; emplace adds loss and
    gradients. The exporters do not fold batch normalization into convolutions, because the networks would not be the
    same; else they do as they do by default.
    """
    randomize(model)
    if isinstance(inputs, dict):
        model, inputs = PositionalModel(model, list(inputs)), tuple(inputs.values())
    facts = {}
    with tempfile.TemporaryDirectory() as folder:
        for training in trainings:
            model.train(training)
            for way in ways:
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        facts[way, training] = Facts(READERS[way](model, inputs, folder, training), folder)
                except (emplace.Error, ExportError) as error:
                    facts[way, training] = error
    return facts


def counted_flops(model, inputs):
    """Returns the FLOPs of a forward pass that PyTorch itself counts.

    Attention is computed as products and a softmax, and neither it nor recurrent layers by kernels of oneDNN, because
    PyTorch counts no FLOPs of those. It counts none of products by groups of rows either: they are added here.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode
    positional, keywords = arguments(inputs)
    grouped = {torch.ops.aten._grouped_mm: lambda rows, weights, *_, **__: 2 * rows[0] * weights[-2] * weights[-1]}
    counter = FlopCounterMode(display=False, custom_mapping=grouped)
    with quiet(), without_fused_layers(), sdpa_kernel(SDPBackend.MATH), \
            torch.backends.mkldnn.flags(enabled=False), counter:
        model.eval()(*positional, **keywords)
    return counter.get_total_flops()
