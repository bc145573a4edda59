"""Measures the ops of a model on each half of this CPU, and steps of the model next to their simulation."""
import emplace
import torch

model = torch.nn.Sequential(*(layer for _ in range(4) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())))
inputs = torch.randn(64, 512)

lab = emplace.calibrate(model, inputs, devices="cpu/2", optimizer="sgd", output="lab.json")
print(f"{len(lab.left_out)} ops and copies left out")

found = emplace.validate(model, inputs, cluster="lab.json", devices="cpu/2", optimizer="sgd")
for step in found.steps:
    print(f"{step.name}: predicted {step.predicted_us / 1e3:.2f} ms, measured {step.measured_us / 1e3:.2f} ms")
