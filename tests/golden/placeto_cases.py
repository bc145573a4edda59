#!/usr/bin/env python3
"""Prints the golden cases of the placeto model: 60 random graphs of 12 kinds, each with three placements.

A case is a line of a case file (bench/include/emplace/bench/case_file.hpp). Ids count from 0. Nodes are in topological
order, except those of the kind "shuffle", and the names follow the ids, except those of the kind "names".
"""
import json
import random

SEED, CASES, PLACEMENTS = 11, 60, 3
MIN_NODES, MAX_NODES, MAX_DEVICES = 5, 400, 8


def layered_edges(rng, count):
    edges, older, previous, begin = [], [], [], 0
    while begin < count:
        width = min(count - begin, rng.randint(1, max(1, int(count ** 0.5))))
        layer = list(range(begin, begin + width))
        for node in layer:
            if previous:
                edges += [(producer, node) for producer in rng.sample(previous, min(len(previous), rng.randint(1, 3)))]
                if older and rng.random() < 0.15:
                    edges.append((rng.choice(older), node))
        older += previous
        previous = layer
        begin += width
    return edges


def chain_edges(rng, count):
    edges = [(node, node + 1) for node in range(count - 1)]
    edges += [tuple(sorted(rng.sample(range(count), 2))) for _ in range(count // 10)]
    return edges


def fan_edges(rng, count):
    edges, hubs = [], [0]
    for node in range(1, count):
        edges.append((rng.choice(hubs), node))
        if rng.random() < 0.05:
            hubs.append(node)
        if rng.random() < 0.03:
            edges += [(producer, node) for producer in rng.sample(range(node), min(node, rng.randint(2, 40)))]
    return edges


def train_edges(rng, count):
    """A forward half, and a backward half that mirrors it."""
    half = max(2, count // 2)
    forward = []
    for node in range(1, half):
        forward.append((node - 1 if rng.random() < 0.8 else rng.randrange(node), node))
        if rng.random() < 0.15:
            forward.append((rng.randrange(node), node))
    edges = list(forward)
    for node in range(half, count):
        mirrored = 2 * half - 1 - node
        edges.append((node - 1, node))
        if mirrored >= 0:
            edges.append((mirrored, node))
    for producer, consumer in forward:
        first, second = 2 * half - 1 - consumer, 2 * half - 1 - producer
        if first < second < count and rng.random() < 0.5:
            edges.append((first, second))
    return edges


def sparse_edges(rng, count):
    return [(rng.randrange(max(0, node - 30), node), node)
            for node in range(1, count) for _ in range(rng.choice([0, 1, 1, 1, 2]))]


SHAPES = {"layered": layered_edges, "chain": chain_edges, "fan": fan_edges, "train": train_edges,
          "sparse": sparse_edges}
# Kinds after the shapes take a random shape.
KINDS = [*SHAPES, "multi", "ties", "comm", "zero", "shuffle", "names", "islands"]


def make_pairs(rng, kind, count):
    """Returns pairs (producer, consumer), each once, by consumer."""
    shape = SHAPES.get(kind) or rng.choice(list(SHAPES.values()))
    if kind != "islands":
        pairs = shape(rng, count)
    else:
        pairs = []
        cuts = sorted(rng.sample(range(1, count), min(count - 1, rng.randint(1, 4))))
        for begin, end in zip([0] + cuts, cuts + [count]):
            if end - begin > 1:
                pairs += [(begin + producer, begin + consumer) for producer, consumer in shape(rng, end - begin)]
    return sorted(set(pairs), key=lambda pair: (pair[1], pair[0]))


def make_cost(rng, kind, share_of_zero):
    if rng.random() < share_of_zero:
        return 0
    if kind == "ties":
        return rng.choice([10, 10, 20])
    if kind == "comm":
        return rng.randint(1, 20)
    return int(rng.lognormvariate(5, 1.5)) + 1


def make_output_bytes(rng, kind):
    if rng.random() < 0.1:
        return 0
    if kind == "ties":
        return 7600 * rng.choice([1, 5, 10])  # 1, 5 or 10 us on a channel
    if kind == "comm":
        return rng.randint(10 ** 5, 10 ** 8)
    return int(rng.lognormvariate(11, 2.5))


def make_placement(rng, ids, num_devices):
    how = rng.choice(["random", "blocks", "one", "round", "mostly"])
    if how == "random":
        return [rng.randrange(num_devices) for _ in ids]
    if how == "blocks":
        return [node * num_devices // len(ids) for node in ids]
    if how == "one":
        return [rng.randrange(num_devices)] * len(ids)
    if how == "round":
        return [node % num_devices for node in ids]
    return [rng.randrange(num_devices) if rng.random() < 0.1 else 0 for _ in ids]


def make_case(index):
    rng = random.Random(f"{SEED}/{index}")
    kind = KINDS[index % len(KINDS)]
    count = round(MIN_NODES * (MAX_NODES / MIN_NODES) ** rng.random())
    num_devices = rng.randint(1, MAX_DEVICES)
    pairs = make_pairs(rng, kind, count)

    share_of_zero = {"zero": 0.7, "ties": 0.2}.get(kind, rng.choice([0.0, 0.1, 0.3]))
    has_several_outputs = kind == "multi" or rng.random() < 0.3
    nodes = []
    for node in range(count):
        cost = make_cost(rng, kind, share_of_zero)
        num_outputs = rng.randint(0, 4) if has_several_outputs else 1
        nodes.append({"id": node, "cost_us": cost,
                      "outputs": [make_output_bytes(rng, kind) for _ in range(num_outputs)]})

    edges = []
    for producer, consumer in pairs:
        outputs = [0]
        if has_several_outputs:
            num_outputs = len(nodes[producer]["outputs"])
            outputs = [rng.randrange(num_outputs) if num_outputs else 0]
            while rng.random() < 0.2:
                outputs.append(rng.randrange(num_outputs + 1))  # the last of which the producer does not list
        edges += [[producer, output, consumer] for output in outputs]
        if rng.random() < 0.05:
            edges.append([producer, -1, consumer])  # a control edge as well
    # TensorFlow writes the control inputs of a node after its data inputs.
    edges.sort(key=lambda edge: (edge[2], edge[1] < 0))

    if kind == "names":
        names = [f"m{node}" for node in range(count)]
        rng.shuffle(names)
        for node, name in zip(nodes, names):
            node["name"] = name
    if kind == "shuffle":
        rng.shuffle(nodes)
        position = {node["id"]: at for at, node in enumerate(nodes)}
        edges.sort(key=lambda edge: position[edge[2]])

    ids = [node["id"] for node in nodes]
    return {"name": f"{kind}-{SEED}-{index}", "devices": num_devices, "nodes": nodes, "edges": edges,
            "placements": [make_placement(rng, ids, num_devices) for _ in range(PLACEMENTS)]}


if __name__ == "__main__":
    for case in range(CASES):
        print(json.dumps(make_case(case), separators=(",", ":")))
