"""Prints how long a product of 4096 x 4096 x 4096 in bfloat16 takes a GPU, in microseconds, by torch.profiler."""
import statistics

import torch
from torch.profiler import ProfilerActivity, profile

a, b = (torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))
for _ in range(200):  # until the clocks are those under load
    a @ b
torch.cuda.synchronize()
with profile(activities=[ProfilerActivity.CUDA]) as recording:
    for _ in range(20):
        a @ b
    torch.cuda.synchronize()
print(statistics.median(event.time_range.elapsed_us() for event in recording.events()
                        if event.device_type == torch.autograd.DeviceType.CUDA))
