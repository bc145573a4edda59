#!/usr/bin/env python3
"""Prints how long PyTorch trains in pipelines and replicas, next to what emplace predicts, as Markdown.

    build/judges/bin/python tests/python/judges/parallelism.py build/release/emplace

Two processes, each on a core of its own, train small networks by torch.distributed.pipelining and by
DistributedDataParallel. emplace predicts each step from costs of the network's ops on such a core (emplace calibrate
--devices cpu/CORES) and from times of messages between the processes. The machine should be idle, and have two cores at
least.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.nn.parallel import DistributedDataParallel

PROCESSES = 2
STEPS = 12
WARM_UP = 3
ROUNDS = 3
SCHEDULES = {"1f1b": Schedule1F1B, "gpipe": ScheduleGPipe}


class Convolutions(nn.Module):
    shape, batch = (64, 32, 32), 32

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(64, 64, 3, padding=1)
        self.second = nn.Conv2d(64, 64, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.second(torch.relu(self.first(x))))


class Perceptron(nn.Module):
    shape, batch = (512,), 512

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(512, 2048)
        self.second = nn.Linear(2048, 512)

    def forward(self, x):
        return torch.relu(self.second(torch.relu(self.first(x))))


NETWORKS = {"convolutions": Convolutions, "perceptrons": Perceptron}
LAYERS = 6

# What is run: how, the number of processes, the parts of the batch in each.
WAYS = [("single", 1, 1), ("1f1b", PROCESSES, 2), ("1f1b", PROCESSES, 4), ("1f1b", PROCESSES, 8),
        ("gpipe", PROCESSES, 4), ("ddp", PROCESSES, 1)]


def network(layer):
    torch.manual_seed(0)
    return nn.Sequential(*(layer() for _ in range(LAYERS)))


def join(rank, size):
    """Puts this process on a core of its own, and lets it meet the others."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    torch.set_num_threads(1)
    if size > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
        dist.init_process_group("gloo", rank=rank, world_size=size)


def stepper(rank, size, layer, way, parts):
    """Returns the network of this process and what trains it for one step, without its update."""
    net = network(layer)
    x, target = torch.randn(layer.batch, *layer.shape), torch.randn(layer.batch, *layer.shape)
    loss = nn.MSELoss()
    if way in SCHEDULES:
        share = LAYERS // size
        net = net[rank * share:(rank + 1) * share]
        schedule = SCHEDULES[way](PipelineStage(net, rank, size, torch.device("cpu")), parts, loss_fn=loss)
        first, last = rank == 0, rank == size - 1
        return net, lambda: schedule.step(*([x] if first else []), **({"target": target} if last else {}))
    if way == "ddp":
        net = DistributedDataParallel(net)
        x, target = x.chunk(size)[rank], target.chunk(size)[rank]
    return net, lambda: loss(net(x), target).backward()


def train(rank, size, name, way, parts, answers):
    join(rank, size)
    net, step = stepper(rank, size, NETWORKS[name], way, parts)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    times = []
    for _ in range(STEPS):
        if size > 1:
            dist.barrier()
        begin = time.perf_counter()
        optimizer.zero_grad()
        step()
        optimizer.step()
        if size > 1:
            dist.barrier()
        times.append(time.perf_counter() - begin)
    if rank == 0:
        answers.put(1e3 * statistics.median(times[WARM_UP:]))
    if size > 1:
        dist.destroy_process_group()


def exchange(rank, size, answers):
    """Measures messages of two sizes: their latency in us and bandwidth in bytes per us."""
    join(rank, size)
    one_way = {}
    for count in (1 << 18, 1 << 21):
        message, times = torch.zeros(count), []
        for _ in range(STEPS):
            dist.barrier()
            begin = time.perf_counter()
            (dist.send if rank == 0 else dist.recv)(message, 1 - rank)
            (dist.recv if rank == 0 else dist.send)(message, 1 - rank)
            times.append((time.perf_counter() - begin) / 2)
        one_way[4 * count] = 1e6 * statistics.median(times[WARM_UP:])
    if rank == 0:
        (few, few_us), (many, many_us) = one_way.items()
        bandwidth = (many - few) / (many_us - few_us)
        answers.put((max(0.0, few_us - few / bandwidth), bandwidth))
    dist.destroy_process_group()


def in_processes(work, size, *arguments):
    answers = mp.get_context("spawn").SimpleQueue()
    mp.spawn(work, (size, *arguments, answers), nprocs=size)
    return answers.get()


class Prediction:
    """Asks emplace for steps of one network."""

    def __init__(self, emplace, name, latency_us, bytes_per_us, folder):
        self.emplace, self.folder = emplace, folder
        layer = NETWORKS[name]
        torch.onnx.export(network(layer), (torch.zeros(2, *layer.shape),), folder / "net.onnx", dynamo=True,
                          dynamic_shapes=({0: torch.export.Dim("batch")},), external_data=False, verbose=False)
        graph = "./net.onnx:training=true,optimizer=sgd,batch={}"
        self.graph = graph.format(layer.batch)
        parts = {processes * parts for _, processes, parts in WAYS}
        self.run("calibrate", *(graph.format(layer.batch // part) for part in parts), "--devices",
                 f"cpu/{len(os.sched_getaffinity(0))}", "-o", "cluster.json")
        cluster = json.loads((folder / "cluster.json").read_text())
        for link in cluster["physical"]["links"]:
            link["bandwidth_bytes_per_us"] = bytes_per_us
            link["latency_us"] = 0 if link["name"].startswith("shared") else latency_us
        (folder / "cluster.json").write_text(json.dumps(cluster))
        self.place()

    def run(self, *arguments):
        return subprocess.run([self.emplace, *arguments, "--quiet"], cwd=self.folder, check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def place(self):
        """Writes the placement of PyTorch's stages: an op is with the last weights that come before it."""
        self.run("convert", self.graph, "-o", "graph.json")
        graph = json.loads((self.folder / "graph.json").read_text())
        names = [op["name"] for op in graph["ops"]]
        stages = []
        for at, op in enumerate(graph["ops"]):
            layer = op["name"].split(".")[0]
            if layer.isdigit():  # a variable or its update
                stages.append(int(layer) * PROCESSES // LAYERS)
            elif op.get("phase", "forward") == "forward":
                stages.append(stages[-1] if stages else 0)
            else:  # a gradient is where its op is
                forward = op["name"].split("/grad")[0]
                stages.append(stages[names.index(forward)] if forward in names else PROCESSES - 1)
        devices = {name: f"cpu:{stage}" for name, stage in zip(names, stages, strict=True)}
        (self.folder / "stages.json").write_text(
            json.dumps({"schema": "emplace-placement", "version": 1, "devices": devices}))

    def step_ms(self, way, processes, parts):
        graph, place = self.graph, ["--placement", "stages.json"]
        if way == "single":
            place = ["--agent", "single-gpu"]
        elif way == "ddp":
            graph, place = f"{graph},replicas={processes}", ["--agent", "data-parallel-expert"]
        else:
            graph = f"{graph},micro-batches={parts},schedule={way}"
        answer = self.run("simulate", graph, "--cluster", "./cluster.json", *place, "--json")
        return json.loads(answer)["step_time_us"] / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("emplace", type=pathlib.Path)
    emplace = parser.parse_args().emplace.resolve()
    latency_us, bytes_per_us = in_processes(exchange, PROCESSES)
    print(f"A message takes {latency_us:.0f} us and {bytes_per_us / 1e3:.1f} GB/s.\n")
    print("| network | processes | micro-batches | measured | predicted | speed-up, measured | predicted |")
    print("|---|---|---|---|---|---|---|")
    for name in NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            prediction = Prediction(emplace, name, latency_us, bytes_per_us, pathlib.Path(folder))
            single = None
            for way, processes, parts in WAYS:
                measured = statistics.median(in_processes(train, processes, name, way, parts) for _ in range(ROUNDS))
                predicted = prediction.step_ms(way, processes, parts)
                single = single or (measured, predicted)
                print(f"| {name} | {processes}, {way} | {parts} | {measured:.0f} ms | {predicted:.0f} ms | "
                      f"{single[0] / measured:.2f} | {single[1] / predicted:.2f} |", flush=True)


if __name__ == "__main__":
    main()
