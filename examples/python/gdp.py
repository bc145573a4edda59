"""GDP (Zhou et al. 2019): a transformer places all nodes at once, for many graphs; compared with emplace's agents.

GraphSAGE embeds the nodes, which are groups of the problem. A placer of Transformer-XL's layers, without positions,
reads the embeddings in topological order, segment by segment: a segment also attends to the one before. It outputs a
device for each node, all at once. Superposition: an embedding of the whole graph scales the input of each layer of the
placer, so that one policy fits graphs of many kinds. It learns by PPO; the reward is minus the root of the step time.

What differs: rewards are normalized by the sampled placements of an update; the policy sees costs as well as kinds and
sizes of ops.

Needs PyTorch: pip install torch. `gdp.py [EVALUATIONS [SEEDS]]` places seven networks: with a policy of each, one of
all, and one of the six others, unchanged and tuned. 2000 evaluations and one seed take 20 minutes of one core.
"""
import math
import os
import sys
import tempfile
import zlib

import emplace
import numpy
import torch
from torch import nn

KINDS, HIDDEN, HEADS, LAYERS, SEGMENT = 16, 64, 4, 2, 64
PLACEMENTS, EPOCHS, CLIP, LEARNING_RATE, ENTROPY = 10, 4, 0.2, 1e-3, 0.002
FEATURES = KINDS + 5


class Graph:
    """The tensors of a problem, its nodes in topological order."""

    def __init__(self, problem):
        self.devices, self.order = problem.placeable_devices, problem.order
        costs = problem.costs[:, self.devices].mean(1)
        kinds = numpy.zeros((problem.num_groups, KINDS))
        # By a hash, so that a policy knows the kinds of any graph.
        numpy.add.at(kinds, (problem.groups, [zlib.crc32(kind.encode()) % KINDS for kind in problem.kinds]), 1)
        columns = [numpy.log1p(kinds.sum(1)), numpy.log1p(costs / costs.mean()), costs / costs.max(),
                   numpy.log1p(problem.bytes) / 20, numpy.log1p(problem.persistent_bytes) / 20]
        features = numpy.column_stack([kinds / kinds.sum(1, keepdims=True), *columns])
        self.features = torch.tensor(features[self.order]).float()
        position = numpy.argsort(self.order)
        ends = position[problem.edges]
        self.edges = torch.tensor(numpy.concatenate([ends, ends[:, ::-1]])).long().T.unique(dim=1)

    def placements(self, chosen):
        """Returns placements of groups for devices chosen for nodes: (placements, nodes)."""
        placements = numpy.empty(chosen.shape, int)
        placements[:, self.order] = self.devices[chosen.numpy()]
        return placements


class Sage(nn.Module):
    """A layer of GraphSAGE (Hamilton et al., 2017) that pools neighbours by their maximum."""

    def __init__(self):
        super().__init__()
        self.pool, self.join = nn.Linear(HIDDEN, HIDDEN), nn.Linear(2 * HIDDEN, HIDDEN)

    def forward(self, x, edges):
        messages = torch.sigmoid(self.pool(x))[edges[0]]
        index = edges[1][:, None].expand(-1, HIDDEN)
        pooled = torch.zeros_like(x).scatter_reduce(0, index, messages, "amax")
        return torch.relu(self.join(torch.cat([x, pooled], 1)))


class Layer(nn.Module):
    """A layer of the placer; `scales` are what superposition multiplies the inputs of its two parts by."""

    def __init__(self):
        super().__init__()
        self.queries, self.keys, self.values, self.out = (nn.Linear(HIDDEN, HIDDEN) for _ in range(4))
        self.forward_1, self.forward_2 = nn.Linear(HIDDEN, 2 * HIDDEN), nn.Linear(2 * HIDDEN, HIDDEN)
        self.norms = nn.ModuleList(nn.LayerNorm(HIDDEN) for _ in range(2))

    def attend(self, x, context):
        def split(y):
            return y.view(len(y), HEADS, -1).transpose(0, 1)

        queries, keys, values = split(self.queries(x)), split(self.keys(context)), split(self.values(context))
        weights = (queries @ keys.transpose(1, 2) / math.sqrt(HIDDEN // HEADS)).softmax(2)
        return self.out((weights @ values).transpose(0, 1).reshape(len(x), HIDDEN))

    def forward(self, x, scales):
        outputs, before = [], x[:0]
        for segment in x.split(SEGMENT):
            scaled = segment * scales[0]
            outputs.append(self.attend(scaled, torch.cat([before, scaled])))
            before = scaled.detach()  # as in Transformer-XL: no gradients into the segment before
        x = self.norms[0](x + torch.cat(outputs))
        return self.norms[1](x + self.forward_2(torch.relu(self.forward_1(x * scales[1]))))


class Policy(nn.Module):
    def __init__(self, generator, superposition):
        super().__init__()
        self.superposition = superposition
        self.encode = nn.Linear(FEATURES, HIDDEN)
        self.embed = nn.ModuleList(Sage() for _ in range(LAYERS))
        self.place = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.scale = nn.Linear(HIDDEN, 2 * LAYERS * HIDDEN)
        self.heads = nn.ModuleDict()  # by number of devices
        self.initialize(self, generator)

    @staticmethod
    def initialize(module, generator):
        """Draws the weights from the policy's own generator, since other agents may share the global one."""
        for name, parameter in module.named_parameters():
            if parameter.dim() > 1:
                bound = (6 / sum(parameter.shape)) ** 0.5
                parameter.data.uniform_(-bound, bound, generator=generator)
            elif name.endswith("bias"):
                parameter.data.zero_()

    def add_devices(self, devices, generator):
        if str(devices) not in self.heads:
            self.heads[str(devices)] = nn.Linear(HIDDEN, devices)
            self.initialize(self.heads[str(devices)], generator)
            self.heads[str(devices)].weight.data.mul_(0.1)  # nearly uniform at first

    def forward(self, graph):
        """Returns the log-probabilities: (nodes, devices)."""
        x = torch.relu(self.encode(graph.features))
        for layer in self.embed:
            x = layer(x, graph.edges)
        scales = 1 + torch.tanh(self.scale(x.mean(0))).view(LAYERS, 2, HIDDEN) * self.superposition
        for layer, scale in zip(self.place, scales):
            x = layer(x, scale)
        return self.heads[str(len(graph.devices))](x).log_softmax(1)


@emplace.agent("gdp", kind="learned", reference="Zhou et al. 2019",
               summary="graph network and transformer that place all groups at once, by PPO",
               parameters={"superposition": emplace.Parameter(True, summary="whether the graph scales the layers")})
class Gdp:
    """GraphSAGE and a transformer, trained on one graph or many."""

    def __init__(self, superposition):
        self.superposition, self.policy = superposition, None

    def prepare(self, problems, evaluator):
        generator = torch.Generator().manual_seed(evaluator.random.bits() >> 1)
        if self.policy is None:
            self.policy = Policy(generator, self.superposition)
        for problem in problems:
            self.policy.add_devices(len(problem.placeable_devices), generator)
        return generator

    def learn(self, graphs, evaluators, generator, report):
        optimizer, episodes = torch.optim.Adam(self.policy.parameters(), LEARNING_RATE), 0
        while True:
            last_us = []
            for graph, evaluator in zip(graphs, evaluators):
                with torch.no_grad():
                    old = self.policy(graph)
                chosen = torch.multinomial(old.exp(), PLACEMENTS, True, generator=generator)
                evaluations = evaluator.evaluate(graph.placements(chosen.T))
                if (evaluations.status == emplace.Status.BUDGET_SPENT).any():
                    return
                rewards = -torch.tensor(evaluations.objective_us).sqrt().float()
                advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
                weight = ENTROPY * (1 - evaluator.share_used)
                for _ in range(EPOCHS):
                    logs = self.policy(graph)
                    ratios = (logs.gather(1, chosen) - old.gather(1, chosen)).exp()
                    gains = torch.minimum(ratios * advantages, ratios.clamp(1 - CLIP, 1 + CLIP) * advantages)
                    entropy = -(logs.exp() * logs).sum(1)
                    loss = -gains.mean(1).sum() - weight * entropy.sum()
                    optimizer.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
                    optimizer.step()
                last_us.append(evaluations.objective_us.mean())
            episodes += PLACEMENTS * len(graphs)
            if not report(episodes, last_us):
                return

    def train(self, problems, evaluators, report):
        generator = self.prepare(problems, evaluators[0])
        self.learn(list(map(Graph, problems)), evaluators, generator, report)

    def evaluations_per_episode(self, groups):
        return 1

    def save(self):
        return {name: tensor.tolist() for name, tensor in self.policy.state_dict().items()}

    def load(self, policy):
        self.policy = Policy(torch.Generator(), self.superposition)
        for name, values in policy.items():
            if name.startswith("heads.") and name.endswith(".bias"):
                self.policy.add_devices(len(values), torch.Generator())
        self.policy.load_state_dict({name: torch.tensor(values) for name, values in policy.items()})

    @torch.no_grad()
    def place_with_policy(self, problem, evaluator):
        self.prepare([problem], evaluator)
        graph = Graph(problem)
        best = graph.placements(self.policy(graph).argmax(1)[None])[0]
        evaluator.evaluate(best)
        return best

    def place(self, problem, evaluator):
        """The most probable placement, then training on this problem."""
        best = self.place_with_policy(problem, evaluator)
        generator = self.prepare([problem], evaluator)
        self.learn([Graph(problem)], [evaluator], generator, lambda episodes, last_us: True)
        return best if evaluator.best_placement is None else evaluator.best_placement


NETWORKS = ["inception-v3", "amoebanet", "rnnlm", "nmt", "nmt:layers=8", "transformer-xl", "wavenet"]
CLUSTER, GROUPS = "p2-8xlarge-4", 128


def found(evaluations, seed):
    """Yields the name of a way to place, a network, and the step in us that it finds; infinity out of memory."""
    def step_us(network, *agent, **options):
        placed = emplace.place(problems[network], *agent, seed=seed, **options)
        return placed.step_time_us if placed.status == "ok" else math.inf

    problems = {network: emplace.problem(network, CLUSTER, groups=GROUPS) for network in NETWORKS}
    for network in NETWORKS:
        for agent in ("human-expert", "heft", "rnn-hdp", "learned-search", "gdp"):
            yield agent, network, step_us(network, agent, evaluations=evaluations)
        for share in (4, 15):
            yield f"gdp, 1/{share} of evaluations", network, step_us(network, "gdp", evaluations=evaluations // share)
    ways = [("all", "gdp", NETWORKS, NETWORKS),
            ("all, no superposition", "gdp:superposition=false", NETWORKS, NETWORKS)]
    ways += [("others", "gdp", [other for other in NETWORKS if other != network], [network]) for network in NETWORKS]
    with tempfile.TemporaryDirectory() as folder:
        policy = os.path.join(folder, "policy.json")
        for name, agent, learned_on, placed in ways:
            emplace.train(agent, learned_on, CLUSTER, episodes=evaluations // 2, groups=GROUPS, seed=seed,
                          output=policy)
            for network in placed:
                yield f"{name}, once", network, step_us(network, policy=policy)
                yield f"{name}, tuned", network, step_us(network, policy=policy, evaluations=evaluations // 4)


def compare(evaluations, seeds):
    """Prints the median step over the seeds in ms, and how much longer than the expert's, where it fits: the mean."""
    steps = {}
    for seed in range(seeds):
        for way, network, time_us in found(evaluations, seed):
            steps.setdefault(way, {}).setdefault(network, []).append(time_us)
            print(f"seed {seed}: {network:15} {way:30} {time_us / 1e3:8.1f} ms", file=sys.stderr, flush=True)
    print(f"{'':30}", *[f"{network:>14}" for network in NETWORKS], "     mean")
    medians = {way: numpy.array([numpy.median(some[network]) for network in NETWORKS]) for way, some in steps.items()}
    for way, row in medians.items():
        ratios = row / medians["human-expert"]
        mean = numpy.exp(numpy.log(ratios[numpy.isfinite(ratios)]).mean()) - 1
        print(f"{way:30}", *[f"{time_us / 1e3:14.1f}" for time_us in row], f"{mean:+8.1%}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    arguments = [int(argument) for argument in sys.argv[1:]]
    compare(*arguments, *(2000, 1)[len(arguments):])
