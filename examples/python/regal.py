"""REGAL (Paliwal et al., ICLR 2020): a policy learned on other graphs helps a genetic algorithm on new ones.

The algorithm is BRKGA: an individual has a random key for each group and device, and a group goes to the device with
its largest key. Plain BRKGA draws uniform keys for the first population and for mutants. Here they come from beta
distributions, one for each key, whose means and variances a graph network chooses from a few levels. It learns by
REINFORCE; the reward is the best step of a whole run. On a new graph it chooses once, and does not learn. Without a
policy the agent is plain BRKGA. As in the paper, and unlike emplace's own `brkga`, no run starts from placements of
heuristics; shares of elite and mutants, and the crossover, are those of `brkga`.

What differs: steps become shorter, not peak memory smaller; no keys order ops or transfers, since the simulator orders
them; nodes are groups; rewards are compared with the mean of runs on the same graph, not with plain BRKGA and a
prediction; the network is smaller. It learns from 8 graphs, and runs have 260 evaluations, not 5,000.

Needs PyTorch: pip install torch. `regal.py [EVALUATIONS [SEEDS]]` compares on graphs that training did not see. The
headroom is what plain BRKGA gains with 20 times the evaluations. 260 and 2 seeds take about 20 minutes of one core.
"""
import sys

import emplace
import numpy
import torch
from torch import nn

HIDDEN, ROUNDS, LEVELS, DEVICES, RUNS, GENERATIONS, LEARNING_RATE = 32, 4, 8, 16, 8, 2, 6e-3
POPULATION, ELITES, MUTANTS, BIAS = 100, 20, 15, 0.7


class Graph:
    """The tensors of a problem: features of its groups, and means over producers and over readers."""

    def __init__(self, problem, seen=True):
        self.devices, self.seen, groups = problem.placeable_devices, seen, problem.num_groups
        reads = torch.zeros(groups, groups)
        reads[tuple(torch.tensor(problem.edges).long().T.flip(0))] = 1
        order = torch.empty(groups, 1)
        order[torch.tensor(problem.order).long(), 0] = torch.linspace(0, 1, groups)
        waves = [torch.sin(numpy.pi * cycles * order) for cycles in (1, 2, 4, 8)]
        degrees = [reads.sum(side)[:, None].log1p() for side in (0, 1)]
        self.features = torch.cat([torch.tensor(problem.features), *degrees, order, *waves], 1)
        self.means = [matrix / matrix.sum(1, keepdim=True).clamp(min=1) for matrix in (reads, reads.T)]
        if not seen:  # all groups look alike, so they get the same distributions
            self.features, self.means = torch.ones_like(self.features), [torch.ones_like(reads) / groups] * 2


class Policy(nn.Module):
    def __init__(self, generator):
        super().__init__()
        self.embed = nn.Linear(10, HIDDEN)
        self.rounds = nn.ModuleList(nn.Linear(4 * HIDDEN, HIDDEN) for _ in range(ROUNDS))
        self.choose = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, DEVICES * 2 * LEVELS))
        for parameter in self.parameters():  # not by the global generator, which other agents may share
            bound = parameter.shape[-1] ** -0.5 if parameter.dim() > 1 else 0.0
            parameter.data.uniform_(-bound, bound, generator=generator)

    def forward(self, graph):
        """Returns log-probabilities of levels: (groups, devices, mean or variance, levels)."""
        x = torch.relu(self.embed(graph.features))
        for layer in self.rounds:
            known = [x, *[means @ x for means in graph.means], x.mean(0).expand(x.shape)]
            x = x + torch.relu(layer(torch.cat(known, 1)))
        # What sets a group apart. Otherwise all groups soon prefer the same device, and the policy learns no more.
        x = (x - x.mean(0)) / (x.std(0, unbiased=False) + 1e-3) if graph.seen else x
        # Devices beyond the last share the outputs of others.
        outputs = self.choose(x).view(len(x), DEVICES, 2, LEVELS)[:, torch.arange(len(graph.devices)) % DEVICES]
        return outputs.log_softmax(3)


def beta(levels):
    """Returns the parameters of beta distributions by the levels of mean and variance."""
    # The variance is a share of the largest that is possible, mean * (1 - mean).
    mean, share = numpy.moveaxis((levels.numpy() + 0.5) / LEVELS, -1, 0)
    return mean * (1 / share - 1), (1 - mean) * (1 / share - 1)


def brkga(graph, evaluator, random, parameters, generations=None):
    """Runs BRKGA several times at once, until the budget is spent or for some generations; returns the best steps.

    `parameters` are those of the beta distributions, two arrays (runs, groups, devices).
    """
    runs, shape = len(parameters[0]), parameters[0].shape[1:]
    rows, children = numpy.arange(runs)[:, None], POPULATION - ELITES - MUTANTS

    def drawn(count):
        return random.beta(*(values[:, None] for values in parameters), (runs, count, *shape))

    def evaluated(keys):
        placements = graph.devices[keys.argmax(3)]
        return evaluator.evaluate(placements.reshape(-1, shape[0])).objective_us.reshape(placements.shape[:2])

    population = drawn(POPULATION)
    steps_us = evaluated(population)
    while not evaluator.exhausted and generations != 0:
        ranked = steps_us.argsort(1, kind="stable")
        elites, others = population[rows, ranked[:, :ELITES]], population[rows, ranked[:, ELITES:]]
        parents = [some[rows, random.integers(some.shape[1], size=(runs, children))] for some in (elites, others)]
        crossed = numpy.where(random.random((runs, children, *shape)) < BIAS, *parents)
        new = numpy.concatenate([drawn(MUTANTS), crossed], 1)
        population = numpy.concatenate([elites, new], 1)
        steps_us = numpy.concatenate([steps_us[rows, ranked[:, :ELITES]], evaluated(new)], 1)
        generations = generations and generations - 1
    return steps_us.min(1)


@emplace.agent("regal", kind="learned", reference="Paliwal et al., ICLR 2020",
               summary="genetic algorithm on random keys, whose distributions a graph network chooses",
               parameters={"graph": emplace.Parameter(True, summary="whether the policy sees the graph")})
class Regal:
    """BRKGA whose keys come from distributions that a graph network chooses, learned on other graphs."""

    def __init__(self, graph):
        self.seen, self.policy = graph, None

    def train(self, problems, evaluators, report):
        generator = torch.Generator().manual_seed(evaluators[0].random.bits() >> 1)
        random = numpy.random.default_rng(evaluators[0].random.bits())
        if self.policy is None:
            self.policy = Policy(generator)
        optimizer, episodes = torch.optim.Adam(self.policy.parameters(), LEARNING_RATE), 0
        graphs = [Graph(problem, self.seen) for problem in problems]
        while evaluators[-1].evaluations_left >= RUNS * self.evaluations_per_episode(None):
            last_us = []
            for graph, evaluator in zip(graphs, evaluators):
                logs = self.policy(graph)
                levels = torch.multinomial(logs.detach().exp().flatten(0, 2), RUNS, True, generator=generator)
                levels = levels.T.reshape(RUNS, *logs.shape[:3])
                steps_us = brkga(graph, evaluator, random, beta(levels), GENERATIONS)
                gains = -torch.tensor(steps_us).log().float()
                advantages = (gains - gains.mean()) / (gains.std() + 1e-6)
                chosen = logs.expand(*levels.shape, LEVELS).gather(4, levels[..., None])
                loss = -(advantages * chosen.flatten(1).sum(1)).mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
                optimizer.step()
                last_us.append(steps_us.mean())
            episodes += RUNS * len(graphs)
            if not report(episodes, last_us):
                return

    def evaluations_per_episode(self, groups):
        return POPULATION + GENERATIONS * (POPULATION - ELITES)

    def save(self):
        return {name: tensor.tolist() for name, tensor in self.policy.state_dict().items()}

    def load(self, policy):
        self.policy = Policy(torch.Generator())
        self.policy.load_state_dict({name: torch.tensor(values) for name, values in policy.items()})

    @torch.no_grad()
    def place(self, problem, evaluator, generations=None):
        graph = Graph(problem, self.seen)
        parameters = numpy.ones((2, 1, problem.num_groups, len(graph.devices)))  # uniform
        if self.policy is not None:
            parameters = beta(self.policy(graph).argmax(3)[None])  # the most probable levels
        brkga(graph, evaluator, numpy.random.default_rng(evaluator.random.bits()), parameters, generations)
        best = evaluator.best_placement
        return numpy.full(problem.num_groups, graph.devices[0]) if best is None else best

    def place_with_policy(self, problem, evaluator):
        return self.place(problem, evaluator, GENERATIONS)


PLAIN, LONG = "plain BRKGA", "plain BRKGA, 20 times"
FAMILIES = {"cifar10": 240, "nmt-family": 304, "ptb": 40}  # episodes on each training graph


def compare(evaluations, seeds):
    """Prints steps in units of plain BRKGA's, and shares of the headroom, with 95 % intervals over the graphs."""
    for family, episodes in FAMILIES.items():
        train, test = (f"{family}:split={split},members={members}" for split, members in (("train", 8), ("test", 12)))
        suite = {
            "schema": "emplace-suite", "version": 1, "name": f"regal-{family}", "summary": "REGAL on unseen graphs",
            "families": [{"name": family, "train": [train], "test": [test]}], "clusters": ["p2-8xlarge-4"],
            "groups": 32, "grouping": "neighbours", "repetitions": seeds, "max_evaluations": evaluations,
            "policies": [{"name": "regal", "agent": Regal, "episodes": episodes},
                         {"name": "regal-unseen", "agent": "regal:graph=false", "episodes": episodes}],
            "agents": [{"agent": Regal, "name": PLAIN}, {"policy": "regal"},
                       {"policy": "regal-unseen", "name": "regal, graph not seen"},
                       {"agent": "regal", "name": LONG, "max_evaluations": 20 * evaluations},
                       "brkga", "heft", "single-gpu"]}
        table, logs = emplace.run(suite, progress=True).table, {}
        for row in table if isinstance(table, list) else table.to_dict("records"):
            # A step that does not fit has no time.
            logs.setdefault(row["agent"], []).append(numpy.log(row["step_time_us"] or numpy.nan))
        gains = {agent: numpy.subtract(logs[PLAIN], some) for agent, some in logs.items()}
        count = len(gains[PLAIN])
        # All graphs, then samples of them for a bootstrap.
        rows = numpy.vstack([numpy.arange(count), numpy.random.default_rng(0).integers(count, size=(10000, count))])
        print(f"\n{family:24} step of plain BRKGA = 1     share of the headroom")
        for agent, gain in gains.items():
            means, longs = gain[rows].mean(1), gains[LONG][rows].mean(1)
            text = f"{agent:24}"
            for values in (numpy.exp(-means), means / longs):
                low, high = numpy.percentile(values[1:], (2.5, 97.5))
                text += f"{values[0]:8.3f} [{low:.3f}, {high:.3f}]"
            print(text, flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    arguments = [int(argument) for argument in sys.argv[1:]]
    compare(*arguments, *(260, 2)[len(arguments):])
