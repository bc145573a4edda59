#!/usr/bin/env python3
"""Writes pytorch_et.json beside this file: the execution trace of one training step of a small network.

Needs Debian 12's python3-torch 1.13. What emplace does not read is left out.
"""
import json
import pathlib
import tempfile

import torch
from torch.profiler import ExecutionGraphObserver

net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 6 * 6, 10))
image, labels = torch.zeros(4, 3, 8, 8), torch.zeros(4, dtype=torch.int64)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with tempfile.NamedTemporaryFile() as file:
    observer = ExecutionGraphObserver()
    observer.register_callback(file.name)
    observer.start()
    torch.nn.functional.cross_entropy(net(image), labels).backward()
    optimizer.step()
    observer.stop()
    observer.unregister_callback()
    trace = json.loads(pathlib.Path(file.name).read_text())
for node in trace["nodes"]:
    for member in ("op_schema", "fw_parent", "seq_id", "scope", "tid", "fw_tid", "input_types", "output_types"):
        del node[member]
lines = ",\n".join(json.dumps(node, separators=(",", ":")) for node in trace.pop("nodes"))
text = json.dumps({"schema": trace["schema"], "pid": 1})[:-1] + ', "nodes": [\n' + lines + "\n]}\n"
(pathlib.Path(__file__).parent / "pytorch_et.json").write_text(text)
