#!/usr/bin/env python3
"""Writes torch_*.json: what emplace.from_torch() lists of small models. make_torch.py, with the package in PYTHONPATH."""
import json
import pathlib

import torch
from torch import nn

from emplace import _torch


class Convolutions(nn.Module):
    """A convolution, batch normalization, a depthwise convolution, dropout and a layer that is used twice."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.depthwise = nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.square = nn.Linear(8, 8)
        self.frozen = nn.Linear(8, 8, bias=False).requires_grad_(False)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(8, 10)
        self.never_called = nn.Linear(2, 2)

    def forward(self, x):
        x = self.stem(x)
        x = self.pool(x + self.depthwise(x)).flatten(1)
        return self.head(self.drop(self.frozen(self.square(self.square(x)))))


class Attention(nn.Module):
    """One head of causal attention between a table of words and the same table as head."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.register_buffer("mask", torch.tril(torch.ones(6, 6)))

    def forward(self, ids):
        x = self.norm(self.words(ids))
        q, k, v = self.qkv(x).split(16, dim=2)
        scores = (q @ k.transpose(1, 2) / 4).masked_fill(self.mask == 0, float("-inf"))
        x = x + scores.softmax(-1) @ v
        return x @ self.words.weight.t()


class Recurrent(nn.Module):
    """Two layers of LSTM cells, the second from both ends."""

    def __init__(self):
        super().__init__()
        self.first = nn.LSTM(5, 7, batch_first=True)
        self.second = nn.GRU(7, 4, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.second(self.first(x)[0])[0]


def main():
    folder = pathlib.Path(__file__).parent
    for name, model, inputs in (("convolutions", Convolutions(), torch.zeros(4, 3, 16, 16)),
                                ("attention", Attention(), torch.zeros(2, 6, dtype=torch.int64)),
                                ("recurrent", Recurrent(), torch.zeros(2, 9, 5))):
        text = _torch.program_of(model, inputs, training=True, loss=None, targets=None)
        (folder / f"torch_{name}.json").write_text(json.dumps(json.loads(text), indent=None) + "\n")


if __name__ == "__main__":
    main()
