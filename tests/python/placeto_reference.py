"""Placeto (Addanki et al. 2019) in PyTorch: a second implementation, with which tests compare the agent `placeto`.

Network, features, returns and losses follow descriptions of the paper and of its released code, with dense matrices and
automatic derivatives. What is emplace's own follows the agent: devices by features, and the random stream with the
order of its draws (docs/concepts/determinism.md), so that a training draws the same episodes. Numbers have 64 bits, so
that what differs is the agent's rounding to 32.
"""
import json
import math
import subprocess

import numpy
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
ADAM, CLIP, ENTROPY_OFFSET = (0.9, 0.999), 1.25, 1e-3
TIME_CAP, PENALTY_PER_GB, LONGEST_TRANSFER = 10.0, 2.0, 10.0
RELEASED = {"device-encoding": "one-hot", "rounds": 8, "pooling": "by-relation", "mean-pooling": False, "stay-bias": 0,
            "zero-init": False, "workers": 4, "start": "random", "random-start": 0, "order": "topological",
            "greedy-first": True, "skip-unchanged": False, "reward": "step", "discount": 1, "time-unit": "second",
            "memory-limit": 8, "learning-rate": 1e-3, "learning-rate-end": 1e-4, "entropy-weight": 1,
            "baseline-episodes": 10, "normalize-advantages": False}
PAPER = {**RELEASED, "device-encoding": "features", "mean-pooling": True, "stay-bias": 3, "zero-init": True,
         "workers": 1, "start": "best", "random-start": 0.5, "order": "random", "greedy-first": False,
         "skip-unchanged": True, "discount": 0.3, "time-unit": "work", "memory-limit": 0, "learning-rate": 3e-3,
         "learning-rate-end": 1e-3, "entropy-weight": 0.2, "baseline-episodes": 0, "normalize-advantages": True}
POOLS = {"by-relation": ("ancestors", "descendants", "peers"), "all": ("all",)}


def options_of(agent):
    """Returns the options of the text of an agent, `placeto:key=value,...`; those that are not given by the preset."""
    given = dict(pair.split("=") for pair in agent.partition(":")[2].split(",") if pair)
    options = dict({"paper": PAPER, "released": RELEASED}[given.pop("preset", "paper")])
    for key, text in given.items():
        known = options[key]
        options[key] = text if isinstance(known, str) else text == "true" if isinstance(known, bool) else float(text)
    return options


class Stream:
    """The random numbers of emplace: xoshiro256**, seeded by SplitMix64 from a hash of a text."""

    def __init__(self, text):
        seed = 0xCBF29CE484222325 ^ self._mix(0)
        for byte in text.encode():
            seed = (seed ^ byte) * 0x100000001B3 % 2**64
        seed, self.state = self._mix(seed), []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) % 2**64
            self.state.append(self._mix(seed))

    @staticmethod
    def _mix(bits):
        bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB % 2**64
        return bits ^ bits >> 31

    def bits(self):
        a, b, c, d = self.state
        result = (b * 5 << 7 | b * 5 % 2**64 >> 57) % 2**64 * 9 % 2**64
        c, d, shifted = c ^ a, d ^ b, (b << 17) % 2**64
        self.state = [a ^ d, b ^ c, c ^ shifted, (d << 45 | d >> 19) % 2**64]
        return result

    def uniform(self):
        return (self.bits() >> 11) / 2**53

    def below(self, bound):
        product = self.bits() * bound
        while product % 2**64 < 2**64 % bound:
            product = self.bits() * bound
        return product >> 64


class Graph:
    """What the policy reads of a problem."""

    def __init__(self, problem):
        devices, groups = problem.placeable_devices, problem.num_groups
        self.size, self.num_devices = groups, len(devices)
        self.edges = torch.zeros(groups, groups)  # from producer (row) to consumer (column)
        for producer, consumer in problem.edges.tolist():
            self.edges[producer, consumer] = 1
        reach = self.edges > 0
        for middle in problem.order.tolist():
            reach = reach | reach[:, middle, None] & reach[None, middle]
        # By current group (row), who is in each pool.
        peers = ~(reach | reach.T | torch.eye(groups, dtype=torch.bool))
        self.pools = {"ancestors": reach.T.double(), "descendants": reach.double(), "peers": peers.double(),
                      "all": torch.ones(groups, groups)}
        costs = numpy.zeros((groups, len(devices)))  # without the gaps between ops, which Problem.costs include
        for column, device in enumerate(devices.tolist()):
            numpy.add.at(costs[:, column], problem.groups, problem.op_costs(device))
        self.cost, self.bytes = (torch.tensor(column / (column.max() or 1))
                                 for column in (costs.mean(axis=1), problem.bytes))
        unit = costs.mean(axis=1).max() or 1
        self.cost_on = torch.tensor(costs / unit)
        self.transfer = torch.tensor([[[problem.transfer_us(int(size), a, b) / unit if a != b else 0 for b in devices]
                                       for a in devices] for size in problem.bytes])

    def features(self, current, devices, visited, starts, candidates):
        """Returns (decisions, groups, features), or (decisions, candidates, groups, features) of candidate devices."""
        decisions, places = devices.shape[0], torch.eye(self.num_devices)[devices]
        is_current = torch.eye(self.size)[current]
        if not candidates:
            rows = [self.cost.expand(decisions, -1), self.bytes.expand(decisions, -1), visited, is_current, starts]
            return torch.cat([torch.stack(rows, 2), places], 2)
        there = self.cost_on.gather(1, devices.T).T  # on its present device
        moves = self.transfer[torch.arange(self.size), devices].clamp(max=LONGEST_TRANSFER)
        return torch.stack([torch.stack([self.cost_on[:, device].expand(decisions, -1), there, moves[..., device],
                                         visited, is_current, starts, places[..., device]], 2)
                            for device in range(self.num_devices)], 1)


class Policy(nn.Module):
    """The network: logits of the devices of the current group."""

    def __init__(self, options, num_devices):
        super().__init__()
        self.options, self.candidates = options, options["device-encoding"] == "features"
        self.layers, self.pools = nn.ModuleDict(), POOLS[options["pooling"]]
        d = 7 if self.candidates else 5 + num_devices
        joined = 2 * d * (1 + len(self.pools))
        self._add("transform", d, d, d, d)
        for part, width in [("forward", d), ("backward", d), *((pool, 2 * d) for pool in self.pools)]:
            self._add(part + "/message", width, width, width)
            self._add(part + "/update", width, width, width)
        self._add("head", joined, 2 * joined, joined, 1 if self.candidates else num_devices)

    def _add(self, name, *widths):
        for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
            self.layers[f"{name}/{i}"] = nn.Linear(inputs, outputs)

    def initialize(self, stream):
        """Draws Glorot-uniform weights; biases are 0."""
        with torch.no_grad():
            for layer in self.layers.values():
                limit = math.sqrt(6 / (layer.in_features + layer.out_features))
                draws = [(2 * stream.uniform() - 1) * limit for _ in range(layer.weight.numel())]
                layer.weight.copy_(torch.tensor(draws).reshape(layer.in_features, -1).T)
                layer.bias.zero_()
            if self.options["zero-init"]:
                layer.weight.zero_()

    def load(self, layers):
        """Reads the layers of a policy file."""
        assert [layer["name"] for layer in layers] == list(self.layers)
        with torch.no_grad():
            for layer in layers:
                values = torch.tensor(layer["values"]).reshape(layer["inputs"] + 1, layer["outputs"])
                self.layers[layer["name"]].weight.copy_(values[:-1].T)
                self.layers[layer["name"]].bias.copy_(values[-1])

    def _mlp(self, name, x):
        depth = 3 if name in ("transform", "head") else 2
        for i in range(depth):
            x = self.layers[f"{name}/{i}"](x)
            x = torch.relu(x) if i + 1 < depth else x
        return x

    def _aggregate(self, part, members, x, mean=False):
        """`members` is 1 where the group of the column counts for the row."""
        total = members @ torch.relu(self._mlp(part + "/message", x))
        total = total / members.sum(-1, keepdim=True).clamp(min=1) if mean else total
        return torch.relu(self._mlp(part + "/update", total))

    def forward(self, graph, current, devices, visited, starts):
        """Returns (decisions, devices); of each decision the current group, and (groups,) of the state of each."""
        s = self._mlp("transform", graph.features(current, devices, visited, starts, self.candidates))
        sides = []
        for part, members in (("forward", graph.edges.T), ("backward", graph.edges)):
            has_neighbours, x = members.any(1).double()[:, None], s
            for _ in range(int(self.options["rounds"])):
                x = s + has_neighbours * self._aggregate(part, members, x)
            sides.append(x)
        x = torch.cat(sides, -1)
        # A row for each decision; candidates of a decision have the same pools.
        rows = {pool: graph.pools[pool][current][:, None] for pool in self.pools}
        own = torch.eye(graph.size)[current][:, None]
        if self.candidates:
            rows, own = {pool: row[:, None] for pool, row in rows.items()}, own[:, None]
        joined = [own @ x] + [self._aggregate(pool, rows[pool], x, self.options["mean-pooling"]) for pool in self.pools]
        logits = self._mlp("head", torch.cat(joined, -1)).flatten(1)
        present = devices[torch.arange(len(current)), current]
        return logits + self.options["stay-bias"] * torch.eye(graph.num_devices)[present]


class Worker:
    """One episode: the placement with its last simulated step."""

    def __init__(self, training, placement):
        self.training, self.placement, self.step = training, placement, None
        if training.options["reward"] != "terminal":
            self.evaluate()
        self.times = [self.time()]

    def evaluate(self):
        training = self.training
        placement = training.problem.placeable_devices[self.placement]
        self.step = training.problem.simulate(placement)
        training.evaluations += 1
        key = (not self.step.fits, self.step.objective_us)
        if training.best is None or key < training.best[0]:
            training.best = (key, self.placement.copy())

    def time(self):
        if self.step is None:
            return 0.0
        limit = self.training.options["memory-limit"] * 1e9 or self.training.problem.capacities
        over = max(0.0, float((self.step.peak_bytes - limit).max()) / 1e9)
        return min(self.step.step_time_us / self.training.unit_us + PENALTY_PER_GB * over, TIME_CAP)

    def starts(self, current):
        """Returns when groups start in the last step, after the current one; divided by the largest, unless it is 0."""
        starts = numpy.zeros(self.training.graph.size)
        if self.step is not None:
            starts[:] = numpy.inf
            numpy.minimum.at(starts, self.training.problem.groups, self.step.start_us)
            starts -= starts[current]
        return torch.tensor(starts / (starts.max() or 1))

    def move(self, group, device, is_last):
        options, changed = self.training.options, self.placement[group] != device
        self.placement[group] = device
        if is_last if options["reward"] == "terminal" else changed or not options["skip-unchanged"]:
            self.evaluate()
        self.times.append(self.time())


class Training:
    """Trains a policy on one problem, or plays a greedy episode with one."""

    def __init__(self, problem, options, stream, episodes, policy=None):
        self.problem, self.options, self.stream, self.graph = problem, options, stream, Graph(problem)
        self.policy = Policy(options, self.graph.num_devices)
        self.policy.load(policy) if policy else self.policy.initialize(stream)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), betas=ADAM)
        self.order = problem.order.tolist()[::-1 if options["order"] == "reverse" else 1]
        if options["order"] == "random":
            for left in range(len(self.order), 1, -1):
                other = stream.below(left)
                self.order[left - 1], self.order[other] = self.order[other], self.order[left - 1]
        self.workers = int(options["workers"])
        starts = {"random": self.workers, "best": 1}.get(options["start"], 0)
        self.fixed = [self.random_placement() for _ in range(starts)] or [numpy.zeros(self.graph.size, int)]
        work = sum(numpy.min([problem.op_costs(int(device)) for device in problem.placeable_devices], axis=0).tolist())
        self.unit_us = work if options["time-unit"] == "work" else 1e6
        self.evaluations, self.best, self.episodes, self.returns, self.updates = 0, None, 0, [], 0
        self.budget = episodes * (1 if options["reward"] == "terminal" else self.graph.size + 1)

    def random_placement(self):
        return numpy.array([self.stream.below(self.graph.num_devices) for _ in range(self.graph.size)])

    def start(self, worker):
        if self.options["random-start"] > 0 and self.stream.uniform() < self.options["random-start"]:
            return self.random_placement()
        if self.options["start"] == "random-each-episode":
            return self.random_placement()
        if self.options["start"] == "best" and self.best is not None:
            return self.best[1].copy()
        return self.fixed[worker % len(self.fixed)].copy()

    def play(self, workers, greedy=False):
        """Plays an episode for each worker; returns them, the states of all decisions, and the actions."""
        episodes = [Worker(self, placement) for placement in [self.start(worker) for worker in range(workers)]]
        states, actions, visited = [], [], torch.zeros(self.graph.size)
        for step, group in enumerate(self.order):
            state = (torch.full((workers,), group), torch.tensor(numpy.array([it.placement for it in episodes])),
                     visited.repeat(workers, 1), torch.stack([it.starts(group) for it in episodes]))
            with torch.no_grad():
                logits = self.policy(self.graph, *state)
            chosen = []
            for probabilities in logits.double().softmax(1).tolist():
                sums = numpy.cumsum(probabilities[:-1])
                chosen.append(int(numpy.argmax(probabilities) if greedy else (sums <= self.stream.uniform()).sum()))
            for episode, device in zip(episodes, chosen):
                episode.move(group, device, step + 1 == len(self.order))
            visited = visited.clone()
            visited[group] = 1
            states.append(state)
            actions += chosen
        self.episodes += workers
        return episodes, [torch.cat(parts) for parts in zip(*states)], torch.tensor(actions)

    def advantages(self, episodes):
        """Returns (steps, workers): the returns, less the baseline of each step."""
        times = numpy.array([episode.times for episode in episodes]).T
        if self.options["reward"] == "terminal":
            returns = numpy.repeat(-times[-1:], len(times) - 1, axis=0)
        elif self.options["reward"] == "minimum":
            returns = times[:-1] - numpy.minimum.accumulate(times[:0:-1])[::-1]
        else:
            returns = times[:-1] - times[1:]
            for step in range(len(returns) - 2, -1, -1):
                returns[step] += self.options["discount"] * returns[step + 1]
        if self.options["baseline-episodes"]:
            self.returns = [*self.returns, returns.mean(axis=1)][-int(self.options["baseline-episodes"]):]
            returns = returns - numpy.mean(self.returns, axis=0)[:, None]
        scale = numpy.sqrt((returns ** 2).mean())
        return returns / scale if self.options["normalize-advantages"] and scale > 0 else returns

    def learn(self, states, actions, advantages, progress):
        """Makes one update by REINFORCE; returns the mean entropy and the norm of the gradient."""
        chances = torch.distributions.Categorical(logits=self.policy(self.graph, *states))
        loss = -(torch.tensor(advantages.flatten()) * chances.log_prob(actions)).sum()
        loss = loss + self.options["entropy-weight"] * (chances.probs * (chances.probs + ENTROPY_OFFSET).log()).sum()
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.policy.parameters(), CLIP)
        self.updates += 1
        begin, end = self.options["learning-rate"], self.options["learning-rate-end"]
        # TensorFlow's epsilon, "epsilon hat" of Adam's paper, where PyTorch has the other one.
        self.optimizer.param_groups[0].update(lr=begin + (end - begin) * progress,
                                              eps=1e-8 / math.sqrt(1 - ADAM[1] ** self.updates))
        self.optimizer.step()
        return chances.entropy().mean().item(), norm.item()

    def run(self, episodes):
        """Returns a row of the learning curve for each update."""
        rows = []
        while self.episodes < episodes:
            greedy, progress = self.options["greedy-first"] and not self.episodes, self.evaluations / self.budget
            played, states, actions = self.play(self.workers, greedy)
            if not greedy:
                entropy, norm = self.learn(states, actions, self.advantages(played), progress)
                last_us = numpy.mean([episode.step.objective_us for episode in played])
                rows.append([self.updates, self.episodes, self.evaluations, last_us, self.best[0][1], entropy, norm])
        return numpy.array(rows)


def train(emplace, folder, agent, graph, cluster, groups, episodes, seed=0):
    """Trains with the program `emplace`; returns the layers of the policy, the curve, and the text of the stream."""
    policy, curve = folder / "policy.json", folder / "curve.csv"
    subprocess.run([emplace, "train", agent, graph, "--cluster", cluster, "--groups", str(groups), "--episodes",
                    str(episodes), "--seed", str(seed), "-o", policy, "--curve", curve], check=True,
                   capture_output=True)
    rows = [[float(cell) for i, cell in enumerate(line.split(",")) if i not in (3, 4)]
            for line in curve.read_text().splitlines()[1:]]
    names = " ".join(f"{kind} {len(name)}:{name}"
                     for kind, name in (("graph", graph), ("cluster", cluster), ("agent", agent)))
    return (json.loads(policy.read_text())["policy"]["layers"], numpy.array(rows),
            f"stream {names} repetition 0 groups {groups} root {seed}")
