"""Places a training step of torchvision's ResNet-50, 64 images at a time, on four GPUs."""
import emplace
import torch
import torchvision

model = torchvision.models.resnet50()
placed = emplace.place(model, torch.zeros(64, 3, 224, 224), cluster="p2-8xlarge-4", time_limit=20)
print(f"{placed.status}, {placed.step_time_us / 1e3:.1f} ms a step", placed.memory)
print(placed.device_map, f"{placed.device_map_step_time_us / 1e3:.1f} ms a step")
with open("step.json", "w") as file:
    file.write(placed.timeline)
