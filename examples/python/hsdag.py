"""HSDAG (Duan et al., NeurIPS 2024): grouping and placement learned together, compared with emplace's agents.

A graph convolutional network embeds the nodes, which are groups of the problem, and rates the edges. Each node joins
the neighbour at its best edge if that is rated above one half; nodes that such edges connect become one group. So the
number of groups is learned. A small network then chooses a device for each group by its embedding. All of it learns by
REINFORCE on the graph that it places; the reward is 1 / step time. As in the paper, the policy sees kinds of ops,
sizes, order, degrees, closeness and fractal dimension, but no costs.

What differs: each step of an episode samples several placements and updates the policy; rewards are normalized, and
entropy is rewarded; nodes merge once, not until no edge is left; bytes of outputs stand for their shapes; a placement
may use one device alone.

Needs PyTorch: pip install torch. `hsdag.py [EVALUATIONS [SEEDS]]` compares, as the paper does, on inference of one
image or text by a CPU and a GPU; 2000 evaluations and 3 seeds take about 20 minutes of one core.
"""
import os
import sys
import zlib

import emplace
import numpy
import torch
from torch import nn

KINDS, HIDDEN, STEPS, PLACEMENTS, DROPOUT, THRESHOLD, LEARNING_RATE, ENTROPY = 32, 64, 20, 10, 0.2, 0.5, 1e-3, 0.1
FEATURES = KINDS + 9


def distances(adjacency):
    """Returns the lengths of shortest paths between all nodes; infinity where there is none."""
    lengths = numpy.full(adjacency.shape, numpy.inf, numpy.float32)
    new, length = numpy.eye(len(adjacency), dtype=bool), 0
    while new.any():
        lengths[new] = length
        new = (new.astype(numpy.float32) @ adjacency > 0) & numpy.isinf(lengths)
        length += 1
    return lengths


def fractal_dimension(lengths):
    """Returns for each node the slope of log(nodes within a radius) over log(radius)."""
    slopes = numpy.zeros(len(lengths))
    for node, row in enumerate(lengths):
        radii, counts = numpy.unique(row[(row > 0) & numpy.isfinite(row)], return_counts=True)
        if len(radii) > 1:
            slopes[node] = numpy.polyfit(numpy.log(radii), numpy.log(counts.cumsum()), 1)[0]
    return slopes


class Graph:
    """The tensors of a problem: features of its nodes, and edges in both directions."""

    def __init__(self, problem):
        self.devices = problem.placeable_devices
        nodes, edges = problem.num_groups, problem.edges
        self.edges = torch.tensor(numpy.concatenate([edges, edges[:, ::-1]])).long().T.unique(dim=1)
        adjacency = numpy.zeros((nodes, nodes), numpy.float32)
        adjacency[tuple(self.edges.numpy())] = 1
        lengths = distances(adjacency)
        finite = numpy.where(numpy.isfinite(lengths), lengths, 0).sum(1)
        closeness = numpy.isfinite(lengths).sum(1) / numpy.maximum(finite, 1)
        kinds = numpy.zeros((nodes, KINDS))
        # By a hash, so that a policy knows the kinds of any graph.
        numpy.add.at(kinds, (problem.groups, [zlib.crc32(kind.encode()) % KINDS for kind in problem.kinds]), 1)
        order = numpy.empty(nodes)
        order[problem.order] = numpy.linspace(0, 1, nodes)
        degrees = [numpy.bincount(edges[:, side], minlength=nodes) for side in (0, 1)]
        columns = [numpy.log1p(problem.bytes) / 20, numpy.log1p(problem.persistent_bytes) / 20, order,
                   numpy.sin(numpy.pi * order), numpy.log1p(kinds.sum(1)), *map(numpy.log1p, degrees),
                   closeness / closeness.max(), fractal_dimension(lengths)]
        kinds /= kinds.sum(1, keepdims=True)
        self.features = torch.tensor(numpy.column_stack([kinds, *columns])).float()


class Convolution(nn.Module):
    """Layers of a graph convolutional network (Kipf and Welling, 2017), with a residual connection around them."""

    def __init__(self, layers=2):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(HIDDEN, HIDDEN) for _ in range(layers))
        self.norm = nn.LayerNorm(HIDDEN)

    def forward(self, x, edges, dropout):
        degrees = torch.bincount(edges[0], minlength=len(x)) + 1.0
        weights, h = (degrees[edges[0]] * degrees[edges[1]]).rsqrt()[:, None], x
        for layer in self.layers:
            h = layer(h)
            h = dropout(torch.relu((h / degrees[:, None]).index_add(0, edges[1], h[edges[0]] * weights)))
        return self.norm(x + h)


def merge(nodes, edges, scores):
    """Returns the group of each node: nodes that are connected by good edges, each the best of one of its ends."""
    edges, scores = edges.numpy(), scores.detach().numpy()
    best = numpy.full(nodes, THRESHOLD, numpy.float32)
    numpy.maximum.at(best, edges[0], scores)
    kept = edges[:, (scores == best[edges[0]]) & (scores > THRESHOLD)]
    labels = numpy.arange(nodes)
    while True:
        lowest = labels.copy()
        for ends in (kept, kept[::-1]):
            numpy.minimum.at(lowest, ends[0], labels[ends[1]])
        if (lowest == labels).all():
            return torch.tensor(numpy.unique(labels, return_inverse=True)[1])
        labels = lowest[lowest]


class Policy(nn.Module):
    def __init__(self, generator):
        super().__init__()
        self.generator = generator
        self.encode = nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.LayerNorm(HIDDEN), nn.ReLU(),
                                    nn.Linear(HIDDEN, HIDDEN), nn.ReLU())
        self.convolve = Convolution()
        self.rate = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.LayerNorm(HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
        self.pool = nn.Linear(HIDDEN, HIDDEN)
        self.decode = nn.Linear(HIDDEN, FEATURES)
        self.place = nn.ModuleDict()  # by number of devices
        self.initialize(self)

    def initialize(self, module):
        """Draws the weights from the policy's own generator, since other agents may share the global one."""
        for name, parameter in module.named_parameters():
            if parameter.dim() > 1:
                bound = (6 / sum(parameter.shape)) ** 0.5
                parameter.data.uniform_(-bound, bound, generator=self.generator)
            elif name.endswith("bias"):
                parameter.data.zero_()

    def add_devices(self, devices):
        if str(devices) not in self.place:
            head = nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, devices))
            self.initialize(head)
            self.place[str(devices)] = head

    def dropout(self, x):
        if not self.training:
            return x
        return x * (torch.rand(x.shape, generator=self.generator) >= DROPOUT) / (1 - DROPOUT)

    def forward(self, features, edges, devices, coarsen=True):
        """Returns the group of each node, the groups' embeddings, and their log-probabilities of devices."""
        h = self.convolve(self.encode(features), edges, self.dropout)
        scores = torch.sigmoid(self.rate(h[edges[0]] * h[edges[1]])).squeeze(1)
        groups = merge(len(h), edges, scores) if coarsen else torch.arange(len(h))
        count = int(groups.max()) + 1
        # The mean of the members, times the mean rating of the edges inside, through which ratings are learned.
        sizes = torch.bincount(groups, minlength=count)[:, None]
        pooled = torch.relu(self.pool(torch.zeros(count, HIDDEN).index_add(0, groups, h) / sizes))
        inside = groups[edges[0]] == groups[edges[1]]
        owners = groups[edges[0][inside]]
        rated = torch.bincount(owners, minlength=count)
        means = torch.zeros(count).index_add(0, owners, scores[inside]) / rated.clamp(min=1)
        embeddings = self.decode(pooled * torch.where(rated > 0, means, torch.ones(count))[:, None])
        return groups, embeddings, self.place[str(devices)](embeddings).log_softmax(1)


@emplace.agent("hsdag", kind="learned", reference="Duan et al. 2024",
               summary="graph network that groups ops and places the groups, by REINFORCE",
               parameters={"coarsen": emplace.Parameter(True, summary="whether it groups the nodes")})
class Hsdag:
    """Grouping by a graph parsing network and placement of the groups, trained together."""

    def __init__(self, coarsen):
        self.coarsen, self.policy = coarsen, None

    def prepare(self, problems, evaluator):
        generator = torch.Generator().manual_seed(evaluator.random.bits() >> 1)
        if self.policy is None:
            self.policy = Policy(generator)
        self.policy.generator = generator
        for problem in problems:
            self.policy.add_devices(len(problem.placeable_devices))

    def sample(self, graph, features):
        """Returns placements of one grouping, their log-probabilities, the entropy, and the next step's features."""
        groups, embeddings, logs = self.policy(features, graph.edges, len(graph.devices), self.coarsen)
        chosen = torch.multinomial(logs.exp().detach(), PLACEMENTS, True, generator=self.policy.generator)
        entropy = -(logs.exp() * logs).sum()
        # The next state adds the embeddings of the groups. It does not depend on the devices chosen, so the placements
        # of a step share it, and are evaluated at once.
        return chosen[groups].T, logs.gather(1, chosen).sum(0), entropy, features + embeddings.detach()[groups]

    def learn(self, graphs, evaluators, report):
        optimizer, episodes = torch.optim.Adam(self.policy.parameters(), LEARNING_RATE), 0
        self.policy.train()
        while True:
            features, last_us = [graph.features for graph in graphs], [0.0] * len(graphs)
            for _ in range(STEPS):
                for i, (graph, evaluator) in enumerate(zip(graphs, evaluators)):
                    placements, log_probabilities, entropy, features[i] = self.sample(graph, features[i])
                    evaluations = evaluator.evaluate(graph.devices[placements.numpy()])
                    if (evaluations.status == emplace.Status.BUDGET_SPENT).any():
                        return
                    rewards = torch.tensor(evaluations.objective_us.min() / evaluations.objective_us).float()
                    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
                    weight = ENTROPY * (1 - evaluator.share_used)
                    loss = -(advantages * log_probabilities).mean() - weight * entropy
                    optimizer.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
                    optimizer.step()
                    last_us[i] = evaluations.objective_us.mean()
            episodes += len(graphs)
            if not report(episodes, last_us):
                return

    def train(self, problems, evaluators, report):
        self.prepare(problems, evaluators[0])
        self.learn(list(map(Graph, problems)), evaluators, report)

    def evaluations_per_episode(self, groups):
        return STEPS * PLACEMENTS

    def save(self):
        return {name: tensor.tolist() for name, tensor in self.policy.state_dict().items()}

    def load(self, policy):
        self.policy = Policy(torch.Generator())
        for name, values in policy.items():
            if name.startswith("place.") and name.endswith(".2.bias"):
                self.policy.add_devices(len(values))
        self.policy.load_state_dict({name: torch.tensor(values) for name, values in policy.items()})

    @torch.no_grad()
    def place_with_policy(self, problem, evaluator):
        self.prepare([problem], evaluator)
        graph = Graph(problem)
        self.policy.eval()
        groups, _, logs = self.policy(graph.features, graph.edges, len(graph.devices), self.coarsen)
        best = graph.devices[logs.argmax(1)[groups].numpy()]
        evaluator.evaluate(best)
        return best

    def place(self, problem, evaluator):
        """The most probable placement, then episodes of training on this problem."""
        best = self.place_with_policy(problem, evaluator)
        self.learn([Graph(problem)], [evaluator], lambda episodes, last_us: True)
        return best if evaluator.best_placement is None else evaluator.best_placement


def compare(evaluations, seeds):
    near = emplace.cluster(name="k80-8480c", devices=[{"name": "gpu:0", "profile": "k80"},
                                                      {"name": "cpu:0", "profile": "xeon-8480c"}],
                           links=[{"between": ["gpu:0", "cpu:0"], "bandwidth_bytes_per_us": 10000, "latency_us": 12}])
    # Seeds depend on the path, so it is always the same.
    os.makedirs("results", exist_ok=True)
    near.save("results/k80-8480c.json")
    suite = {
        "schema": "emplace-suite", "version": 1, "name": "hsdag", "summary": "inference by a CPU and a GPU",
        "graphs": [f"{graph}:training=false,batch=1" for graph in ("inception-v3", "resnet-50", "bert-base")],
        "clusters": ["cpu-gpu", "./results/k80-8480c.json"], "grouping": "colocation", "repetitions": seeds,
        "max_evaluations": evaluations,
        "agents": ["cpu-only", "single-gpu", "human-expert", "heft", "placeto", "rnn-hdp", "learned-search",
                   {"agent": Hsdag, "name": "hsdag"},
                   {"agent": "hsdag:coarsen=false", "name": "hsdag, each node alone"}]}
    table = emplace.run(suite, progress=True).table
    steps = {}
    for row in table if isinstance(table, list) else table.to_dict("records"):
        steps[os.path.basename(row["cluster"]), row["graph"].split(":")[0], row["agent"]] = row["step_time_us"]
    print("\nMedian step, and how much shorter it is than on the CPU and on the GPU alone:")
    for (*where, agent), step in steps.items():
        cpu, gpu = (1 - step / steps[(*where, alone)] for alone in ("cpu-only", "single-gpu"))
        print(f"{where[0]:15} {where[1]:13} {agent:23} {step / 1e3:7.3f} ms {cpu:7.1%} {gpu:8.1%}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    arguments = [int(argument) for argument in sys.argv[1:]]
    compare(*arguments, *(2000, 3)[len(arguments):])
