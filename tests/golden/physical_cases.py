#!/usr/bin/env python3
"""Prints the golden cases of the physical model: 60 random graphs, each with one placement, on four kinds of topology.

A case is a line of a case file (bench/include/emplace/bench/case_file.hpp). Every fifth has few distinct costs, sizes
and bandwidths and no latency, so that much happens at the same instant.
"""
import json
import random

SEED, CASES = 1000, 60
MAX_OPS, MAX_DEVICES = 150, 6


class Topology:
    """Links, and the route from each device to each other device."""

    def __init__(self, rng, num_devices, has_ties):
        self.rng, self.has_ties = rng, has_ties
        self.links = []
        kind = rng.choice(["star", "bus", "mesh", "tree"])
        pairs = [(src, dst) for src in range(num_devices) for dst in range(num_devices) if src != dst]
        if kind == "mesh":  # a link of its own for each pair, as NVLink has
            routes = [[self.add_link()] for _ in pairs]
        elif kind == "bus":
            bus = self.add_link()
            routes = [[bus] for _ in pairs]
        else:  # a link up and one down for each device, as on a PCIe switch
            up = [self.add_link() for _ in range(num_devices)]
            down = [self.add_link() for _ in range(num_devices)]
            routes = [[up[src], down[dst]] for src, dst in pairs]
            if kind == "tree":  # two switches, with a link each way
                across = [self.add_link(), self.add_link()]
                half = num_devices // 2
                for (src, dst), route in zip(pairs, routes):
                    if (src < half) != (dst < half):
                        route.insert(1, across[0 if src < half else 1])
        self.routes = [{"src": src, "dst": dst, "links": route} for (src, dst), route in zip(pairs, routes)]

    def add_link(self):
        if self.has_ties:
            bandwidth, latency = 10.0 * self.rng.randint(1, 9), 0.0
        else:
            bandwidth, latency = round(self.rng.uniform(5e3, 5e4), 3), round(self.rng.uniform(0, 12), 3)
        self.links.append({"bandwidth_bytes_per_us": bandwidth, "latency_us": latency})
        return len(self.links) - 1


def make_node(rng, node, has_ties):
    if has_ties:
        cost, size = 10.0 * rng.randint(1, 20), 1000 * rng.randint(1, 20)
    else:
        cost, size = round(rng.lognormvariate(3.5, 1.0), 3), int(rng.lognormvariate(13, 1.5))
    return {"id": node, "cost_us": cost, "outputs": [size]}


def make_edges(rng, shape, count):
    pairs = set()
    if shape == "layers":
        width = max(2, int(count ** 0.5 / 2))
        for node in range(width, count):
            begin = (node // width - 1) * width
            pairs.update((rng.randrange(begin, min(begin + width, node)), node) for _ in range(rng.randint(1, 3)))
    else:
        for node in range(1, count):
            pairs.update((rng.randrange(max(0, node - 30), node), node) for _ in range(rng.randint(0, 3)))
    return [[producer, 0, consumer] for producer, consumer in sorted(pairs)]


def make_case(index):
    rng = random.Random(SEED + index)
    count, num_devices, shape = rng.randint(2, MAX_OPS), rng.randint(2, MAX_DEVICES), rng.choice(["random", "layers"])
    has_ties = index % 5 == 0
    rng = random.Random(SEED + index)  # begins again
    topology = Topology(rng, num_devices, has_ties)
    nodes = [make_node(rng, node, has_ties) for node in range(count)]
    edges = make_edges(rng, shape, count)
    return {"name": f"physical-{SEED + index}", "devices": num_devices, "links": topology.links,
            "routes": topology.routes, "nodes": nodes, "edges": edges,
            "placements": [[rng.randrange(num_devices) for _ in range(count)]]}


if __name__ == "__main__":
    for case in range(CASES):
        print(json.dumps(make_case(case), separators=(",", ":")))
