"""Placeto (Addanki et al. 2019) with other graph embeddings: what GraphSAGE and P-GNN change.

Mitropolitsky, Abbas and Payberah (2020) put GraphSAGE (Hamilton et al. 2017) and P-GNN (You et al. 2019) in the place
of Placeto's message passing. They report, after 20 episodes on a graph of cifar10 and 3 devices, that P-GNN improves
the step by 24 % more than Placeto's own network, and that GraphSAGE improves it by 1 % more in 12 % less time. Here all
embeddings have the same features, pools, head, reward (by how much each move lowers the logarithm of the step time) and
start: a random placement, then the best so far. The head starts at zero, so all of them start with the same policy.

What differs from their code: as in emplace's `placeto`, devices are encoded by features, policies first leave most
groups in place, and moves are credited with what they save soon. Start times are in units of the last one. GraphSAGE
reads all neighbours in both directions, without dropout. P-GNN reads the nearest anchors, by undirected distance, and
not embeddings of GraphSAGE.

Needs PyTorch: pip install torch. `embeddings.py [EPISODES [GRAPHS [SEEDS [GROUPS [LEARNING_RATE]]]]]`
"""
import math
import sys
import time

import emplace
import numpy
import torch
from torch import nn

CLUSTER = "p2-8xlarge-4:exclude=gpu:3"
EPISODES, GRAPHS, SEEDS, GROUPS, LEARNING_RATE = 20, 6, 6, 32, 3e-3
FEATURES, WIDTH, LAYERS, ANCHORS = 7, 14, 2, 0.5
STAY_BIAS, DISCOUNT, ENTROPY, CLIP, LONGEST_TRANSFER = 3, 0.3, 0.2, 1.25, 10.0


def levels(edges):
    """Returns the nodes by their distance from the roots, each level with its edges from the nodes of those before."""
    left, before = torch.ones(len(edges), dtype=torch.bool), torch.zeros(0, dtype=torch.long)
    while left.any():
        nodes = (left & ~edges[left].any(0)).nonzero().flatten()
        yield nodes, edges[before][:, nodes].T.float()
        left[nodes], before = False, torch.cat([before, nodes])


class Graph:
    """The tensors of a problem. Times are in units of the longest group."""

    def __init__(self, problem, random):
        self.problem, self.devices, n = problem, problem.placeable_devices, problem.num_groups
        costs = problem.costs[:, self.devices]
        unit_us = costs.mean(axis=1).max()
        self.costs = torch.tensor(costs / unit_us).float()
        self.transfers = torch.tensor([[[problem.transfer_us(int(size), a, b) / unit_us if a != b else 0.0
                                         for b in self.devices] for a in self.devices] for size in problem.bytes])
        self.transfers = self.transfers.float().clamp(max=LONGEST_TRANSFER)
        edges = torch.zeros(n, n, dtype=torch.bool)
        edges[tuple(torch.tensor(problem.edges).long().T)] = True
        reach = edges.clone()
        for middle in problem.order.tolist():
            reach |= reach[:, middle, None] & reach[None, middle]
        pools = (reach.T, reach, ~(reach | reach.T | torch.eye(n, dtype=torch.bool)))  # ancestors, descendants, peers
        self.pools = [pool / pool.sum(1, keepdim=True).clamp(min=1) for pool in pools]
        self.sweeps = list(levels(edges)), list(levels(edges.T))
        neighbours = (edges | edges.T).float()
        self.mean = neighbours / neighbours.sum(1, keepdim=True).clamp(min=1)
        # Of each node, the nearest anchor of each set and how close it is; sets have n / 2, n / 4, ... 1 anchors.
        distance, new, length = torch.full((n, n), math.inf), torch.eye(n), 0
        while new.any():
            distance[new > 0] = length
            new, length = (new @ neighbours > 0) & distance.isinf(), length + 1
            new = new.float()
        sizes = int(math.log2(n))
        sets = [random.choice(n, max(n >> size, 1), replace=False) for size in range(1, sizes + 1)
                for _ in range(int(ANCHORS * sizes))]
        near = [distance[:, anchors].min(1) for anchors in sets]
        self.closeness = torch.stack([1 / (lengths + 1) for lengths, _ in near], 1)[..., None]
        self.anchors = torch.stack([torch.tensor(anchors)[at] for anchors, (_, at) in zip(sets, near)], 1).flatten()

    def features(self, current, devices, visited, starts):
        """Returns (seeds, decisions, candidate devices, groups, features)."""
        groups, candidates = torch.arange(devices.shape[-1]), torch.arange(len(self.devices))
        columns = [self.costs.T, self.costs[groups, devices][..., None, :],
                   self.transfers[groups, devices].transpose(-1, -2), visited[..., None, :],
                   (groups == current[..., None])[..., None, :], starts[..., None, :],
                   devices[..., None, :] == candidates[:, None]]
        return torch.stack([column.expand(*devices.shape[:2], len(candidates), -1).float() for column in columns], -1)


class Linear(nn.Module):
    """A layer with weights of its own for each seed, the first axis; seeds train side by side, which is quicker."""

    def __init__(self, inputs, outputs, seeds):
        super().__init__()
        limit = math.sqrt(6 / (inputs + outputs))
        self.weight = nn.Parameter((2 * torch.rand(seeds, inputs, outputs) - 1) * limit)
        self.bias = nn.Parameter(torch.zeros(seeds, 1, outputs))

    def forward(self, x):
        return torch.baddbmm(self.bias, x.flatten(1, -2), self.weight).view(*x.shape[:-1], -1)


def mlp(seeds, *widths):
    """Layers with a ReLU after each."""
    return nn.Sequential(*(layer for pair in zip(widths, widths[1:]) for layer in (Linear(*pair, seeds), nn.ReLU())))


class Messages(nn.Module):
    """Placeto's: one sweep along the edges, and one against them. A node sends when it has heard from all others."""

    def __init__(self, seeds, graph):
        super().__init__()
        self.message, self.update = (nn.ModuleList(mlp(seeds, *[FEATURES] * 3) for _ in range(2)) for _ in range(2))

    def forward(self, graph, own):
        sides = []
        for sweep, message, update in zip(graph.sweeps, self.message, self.update):
            parts, messages = [], None
            for nodes, before in sweep:
                x = own[..., nodes, :]
                x = x if messages is None else x + update(before @ messages)
                messages = message(x) if messages is None else torch.cat([messages, message(x)], -2)
                parts.append(x)
            sides.append(torch.cat(parts, -2)[..., torch.cat([nodes for nodes, _ in sweep]).argsort(), :])
        return torch.cat(sides, -1)


class GraphSage(nn.Module):
    """Each layer reads a node and the mean of its neighbours."""

    def __init__(self, seeds, graph):
        super().__init__()
        widths = [FEATURES] + [WIDTH] * LAYERS
        self.layers = nn.ModuleList(Linear(2 * a, b, seeds) for a, b in zip(widths, widths[1:]))

    def forward(self, graph, x):
        for layer in self.layers:
            x = torch.relu(layer(torch.cat([x, graph.mean @ x], -1)))
        return x


class Pgnn(nn.Module):
    """Each layer reads a node with the nearest anchor of each set, times 1 / (distance + 1).

    The next layer has the mean over the sets. The last layer has a number for each set, which tells the position.
    """

    def __init__(self, seeds, graph):
        super().__init__()
        self.own, self.anchor = (nn.ModuleList(Linear(FEATURES, FEATURES, seeds) for _ in range(LAYERS))
                                 for _ in range(2))
        self.position, self.out = Linear(FEATURES, 1, seeds), Linear(graph.closeness.shape[1], WIDTH, seeds)

    def forward(self, graph, x):
        for own, anchor in zip(self.own, self.anchor):
            near = anchor(x)[..., graph.anchors, :].unflatten(-2, graph.closeness.shape[:2])
            messages = torch.relu(own(x)[..., None, :] + near * graph.closeness)
            x = messages.mean(-2)
        return self.out(self.position(messages).squeeze(-1))


class Own(nn.Module):
    """No messages: a node's own features alone, so that only pools know of the graph."""

    def __init__(self, seeds, graph):
        super().__init__()
        self.layer = Linear(FEATURES, WIDTH, seeds)

    def forward(self, graph, x):
        return self.layer(x)


EMBEDDINGS = {"placeto": Messages, "graphsage": GraphSage, "p-gnn": Pgnn, "pools only": Own}


class Policy(nn.Module):
    """An embedding, Placeto's pools and head: logits of the devices of the current group."""

    def __init__(self, embedding, seeds, graph):
        super().__init__()
        self.transform = nn.Sequential(mlp(seeds, *[FEATURES] * 3), Linear(FEATURES, FEATURES, seeds))
        self.embed = EMBEDDINGS[embedding](seeds, graph)
        self.message, self.update = (nn.ModuleList(mlp(seeds, *[WIDTH] * 3) for _ in range(3)) for _ in range(2))
        self.head = nn.Sequential(mlp(seeds, 4 * WIDTH, 8 * WIDTH, 4 * WIDTH), Linear(4 * WIDTH, 1, seeds))
        nn.init.zeros_(self.head[-1].weight)

    def forward(self, graph, current, *state):
        x = self.embed(graph, self.transform(graph.features(current, *state)))
        own = torch.eye(x.shape[-2])[current][..., None, None, :]
        joined = [own @ x] + [update(pool[current][..., None, None, :] @ message(x))
                              for pool, message, update in zip(graph.pools, self.message, self.update)]
        return self.head(torch.cat(joined, -1)).flatten(-3)


def stay(graph, current, devices):
    """Returns what to add to the logits, so that policies first leave most groups in place."""
    return STAY_BIAS * torch.eye(len(graph.devices))[devices.gather(-1, current[..., None]).squeeze(-1)]


def learn(policy, optimizer, graph, states, actions, times):
    """Makes an update by REINFORCE with the gain of each step, for each seed on its own."""
    returns = (times[:-1] / times[1:]).log()
    for step in reversed(range(len(returns) - 1)):
        returns[step] += DISCOUNT * returns[step + 1]
    advantages = (returns / returns.square().mean(0).sqrt().clamp(min=1e-9)).T
    chances = torch.distributions.Categorical(logits=policy(graph, *states) + stay(graph, *states[:2]))
    loss = -(advantages * chances.log_prob(actions)).sum() - ENTROPY * chances.entropy().sum()
    optimizer.zero_grad()
    loss.backward()
    norms = sum(p.grad.square().sum((1, 2)) for p in policy.parameters()).sqrt()
    for p in policy.parameters():
        p.grad *= (CLIP / norms).clamp(max=1)[:, None, None]
    optimizer.step()


def train(embedding, graph, seeds, episodes, learning_rate):
    """Trains a policy for each seed, or none; returns the first step, the best ones, and the mean of the last 5."""
    torch.manual_seed(0)
    policy = Policy(embedding, seeds, graph) if embedding in EMBEDDINGS else None
    optimizer = policy and torch.optim.Adam(policy.parameters(), learning_rate)
    problem, n, randoms = graph.problem, graph.problem.num_groups, list(map(numpy.random.default_rng, range(seeds)))
    order = torch.tensor(numpy.array([random.permutation(n) for random in randoms]))
    best = [(math.inf, random.integers(len(graph.devices), size=n), None) for random in randoms]
    ends = []

    def simulate(seed, placement):
        step = problem.simulate(graph.devices[placement])
        starts = numpy.full(n, numpy.inf)
        numpy.minimum.at(starts, problem.groups, step.start_us)
        if step.step_time_us < best[seed][0]:
            best[seed] = step.step_time_us, placement.copy(), starts
        return step.step_time_us, starts

    first = [simulate(seed, placement)[0] for seed, (_, placement, _) in enumerate(best)]
    for _ in range(episodes):
        now, placements, starts = map(numpy.array, zip(*best))
        times, states, visited = [now.copy()], [], torch.zeros(seeds, n)
        for current in order.T:
            # How long after the current group, in units of the last start, which is not 0 for the last group either.
            later = (starts - starts[numpy.arange(seeds), current][:, None]) / starts.max(1, keepdims=True)
            state = [current[:, None],
                     *(torch.as_tensor(part)[:, None].clone() for part in (placements, visited, later))]
            logits = stay(graph, *state[:2])
            if policy:
                with torch.no_grad():
                    logits = logits + policy(graph, *state)
            sums = logits[:, 0].double().softmax(1).cumsum(1)[:, :-1].numpy()
            chosen = (sums <= [[random.random()] for random in randoms]).sum(1)
            for seed, group in enumerate(current):
                if placements[seed, group] != chosen[seed]:
                    placements[seed, group] = chosen[seed]
                    now[seed], starts[seed] = simulate(seed, placements[seed])
            visited[torch.arange(seeds), current] = 1
            times.append(now.copy())
            states.append((*state, torch.tensor(chosen)[:, None]))
        ends.append(now)
        if policy:
            *states, actions = (torch.cat(parts, 1) for parts in zip(*states))
            learn(policy, optimizer, graph, states, actions, torch.tensor(numpy.array(times)))
    return numpy.array([first, [time for time, *_ in best], numpy.mean(ends[-5:], axis=0)])


def interval(statistic, *arrays):
    """Returns a statistic of arrays (graphs, seeds) with 95 % of its bootstrap, which draws graphs, then seeds."""
    random, (graphs, seeds) = numpy.random.default_rng(0), arrays[0].shape
    drawn = random.integers(graphs, size=(4000, graphs, 1)), random.integers(seeds, size=(4000, graphs, seeds))
    draws = statistic(*(array[drawn] for array in arrays))
    return "{:.3f} ({:.3f}-{:.3f})".format(statistic(*arrays), *numpy.quantile(draws, (0.025, 0.975)))


def geometric_mean(ratios):
    """Of the last two axes, graphs and seeds."""
    return numpy.exp(numpy.log(ratios).mean((-2, -1)))


def gain(steps, base):
    """How much more of the first step is saved than by the base; all are steps in units of the first one."""
    return (1 - steps).mean((-2, -1)) / (1 - base).mean((-2, -1))


def compare(episodes=EPISODES, graphs=GRAPHS, seeds=SEEDS, groups=GROUPS, learning_rate=LEARNING_RATE):
    names = [*EMBEDDINGS, "no learning"]
    steps, seconds = ({name: [] for name in names} for _ in range(2))
    for member in range(graphs):
        problem = emplace.problem(f"cifar10:split=test,member={member}", CLUSTER, groups)
        graph = Graph(problem, numpy.random.default_rng(member))
        for name in names:
            begin = time.process_time()
            first, *others = train(name, graph, seeds, episodes, learning_rate)
            seconds[name].append(time.process_time() - begin)
            steps[name].append(others / first)
    print(f"{episodes} episodes, {graphs} graphs of cifar10 in {groups} groups, {seeds} seeds; with 95 %:")
    print(f"{'':12} {'best / start':20} {'last 5 / start':20} {'best / placeto':20} {'gain / placeto':20} time")
    base = numpy.array(steps["placeto"])[:, 0]
    for name in names:
        best, last = numpy.array(steps[name]).swapaxes(0, 1)  # (graphs, seeds)
        texts = [interval(geometric_mean, ratio) for ratio in (best, last, best / base)]
        slower = numpy.exp(numpy.log(numpy.divide(seconds[name], seconds["placeto"])).mean())
        print(f"{name:12}", *map("{:20}".format, [*texts, interval(gain, best, base)]), f"{slower:.2f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    compare(*map(int, sys.argv[1:5]), *map(float, sys.argv[5:]))
