#!/usr/bin/env python3
"""Writes the ONNX models beside this file: make_onnx.py [FOLDER]

Needs Debian 12's python3-torch 1.13, python3-torchvision 0.14 and python3-onnx 1.12. Weights are dropped: each stays in
the model as external data of a file that is not there, with its type and shape.
"""
import pathlib
import sys

import onnx
import torch
import torchvision


def drop_weights(path):
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.data_type in (onnx.TensorProto.INT64, onnx.TensorProto.BOOL):
            continue
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "weights.bin"
    for node in model.graph.node:
        node.ClearField("doc_string")
    onnx.save(model, path)


class Transformer(torch.nn.Module):
    """Two encoder layers over an embedding, as BERT has them; 23,588 parameters."""

    def __init__(self, vocabulary=100, width=32, heads=4, layers=2):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.heads = heads
        self.layers = torch.nn.ModuleList()
        for _ in range(layers):
            layer = torch.nn.Module()
            layer.qkv = torch.nn.Linear(width, 3 * width)
            layer.out = torch.nn.Linear(width, width)
            layer.norm_1 = torch.nn.LayerNorm(width)
            layer.up = torch.nn.Linear(width, 2 * width)
            layer.down = torch.nn.Linear(2 * width, width)
            layer.norm_2 = torch.nn.LayerNorm(width)
            self.layers.append(layer)
        self.classes = torch.nn.Linear(width, vocabulary)
        for parameter in self.parameters():
            torch.nn.init.normal_(parameter)  # the exporter keeps one of those that are equal

    def attention(self, layer, x):
        batch, steps, width = x.shape
        split = (batch, steps, self.heads, width // self.heads)
        q, k, v = (part.view(split).transpose(1, 2) for part in layer.qkv(x).chunk(3, dim=-1))
        weights = torch.softmax(q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5, dim=-1)
        return layer.out((weights @ v).transpose(1, 2).reshape(batch, steps, width))

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer.norm_1(x + self.attention(layer, x))
            x = layer.norm_2(x + layer.down(torch.nn.functional.gelu(layer.up(x))))
        return self.classes(x)


class Gpt(torch.nn.Module):
    """Two decoder blocks with a mask in a buffer, and positions by arange; 33,920 parameters."""

    def __init__(self, vocabulary=100, width=32, heads=4, layers=2, longest=64):
        super().__init__()
        self.tokens = torch.nn.Embedding(vocabulary, width)
        self.positions = torch.nn.Embedding(longest, width)
        self.heads = heads
        self.register_buffer("mask", torch.tril(torch.ones(longest, longest)).view(1, 1, longest, longest))
        self.blocks = torch.nn.ModuleList()
        for _ in range(layers):
            block = torch.nn.Module()
            block.norm_1 = torch.nn.LayerNorm(width)
            block.qkv = torch.nn.Linear(width, 3 * width)
            block.out = torch.nn.Linear(width, width)
            block.norm_2 = torch.nn.LayerNorm(width)
            block.up = torch.nn.Linear(width, 4 * width)
            block.down = torch.nn.Linear(4 * width, width)
            self.blocks.append(block)
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, vocabulary, bias=False)
        for parameter in self.parameters():
            torch.nn.init.normal_(parameter)

    def attention(self, block, x):
        batch, steps, width = x.size()
        q, k, v = (part.view(batch, steps, self.heads, width // self.heads).transpose(1, 2)
                   for part in block.qkv(x).split(width, dim=2))
        scores = q @ k.transpose(-2, -1) * (1.0 / k.size(-1) ** 0.5)
        scores = scores.masked_fill(self.mask[:, :, :steps, :steps] == 0, float("-inf"))
        return block.out((torch.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(batch, steps, width))

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(0, ids.size(1), device=ids.device).unsqueeze(0))
        for block in self.blocks:
            x = x + self.attention(block, block.norm_1(x))
            x = x + block.down(torch.nn.functional.gelu(block.up(block.norm_2(x))))
        return self.head(self.norm(x))


class UNet(torch.nn.Module):
    """Down and up again, with group normalization, squeeze-excite, and the sizes made equal by F.pad; 4,041 parameters."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.norm = torch.nn.GroupNorm(4, 16)
        self.squeeze = torch.nn.Conv2d(16, 4, 1)
        self.excite = torch.nn.Conv2d(4, 16, 1)
        self.second = torch.nn.Conv2d(16, 32, 3, padding=1, groups=4)
        self.up = torch.nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.last = torch.nn.Conv2d(32, 5, 1)
        for parameter in self.parameters():
            torch.nn.init.normal_(parameter)

    def forward(self, image):
        functional = torch.nn.functional
        x = functional.hardswish(self.norm(self.first(image)))
        scale = functional.hardsigmoid(self.excite(functional.relu(self.squeeze(functional.adaptive_avg_pool2d(x, 1)))))
        x = x * scale
        y = self.up(functional.leaky_relu(self.second(functional.max_pool2d(x, 2))))
        rows, columns = x.size(2) - y.size(2), x.size(3) - y.size(3)
        y = functional.pad(y, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
        return functional.interpolate(self.last(torch.cat([x, y], dim=1)), scale_factor=2, mode="bilinear",
                                      align_corners=False)


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    torch.manual_seed(0)
    export = {"opset_version": 17, "do_constant_folding": False, "training": torch.onnx.TrainingMode.TRAINING}
    for name in ("resnet18", "resnet50"):
        net = getattr(torchvision.models, name)()
        path = str(folder / f"{name}.onnx")
        torch.onnx.export(net, torch.zeros(2, 3, 224, 224), path, input_names=["image"], output_names=["logits"],
                          dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}}, **export)
        drop_weights(path)
    for opset in (13, 17):
        path = str(folder / f"transformer_opset{opset}.onnx")
        torch.onnx.export(Transformer().eval(), torch.zeros(2, 8, dtype=torch.int64), path, input_names=["tokens"],
                          output_names=["logits"], opset_version=opset,
                          dynamic_axes={"tokens": {0: "batch", 1: "seq"}, "logits": {0: "batch", 1: "seq"}})
        drop_weights(path)
    path = str(folder / "gpt_opset14.onnx")
    torch.onnx.export(Gpt().eval(), torch.zeros(2, 8, dtype=torch.int64), path, input_names=["tokens"],
                      output_names=["logits"], opset_version=14, do_constant_folding=False,
                      dynamic_axes={"tokens": {0: "batch", 1: "seq"}})
    drop_weights(path)
    path = str(folder / "unet_opset11.onnx")
    torch.onnx.export(UNet().eval(), torch.zeros(1, 3, 33, 35), path, input_names=["image"], output_names=["logits"],
                      opset_version=11, do_constant_folding=False,
                      dynamic_axes={"image": {0: "batch", 2: "rows", 3: "columns"}})
    drop_weights(path)
    path = str(folder / "lstm.onnx")
    torch.onnx.export(torch.nn.LSTM(16, 32, num_layers=2).eval(), torch.zeros(5, 3, 16), path, input_names=["x"],
                      opset_version=14)
    drop_weights(path)


main()
