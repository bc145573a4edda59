"""A graph neural network that learns on some graphs of a family to place others, compared with emplace's agents.

Message passing along the edges and against them embeds the groups. Then groups are placed one after the other, in the
order of HEFT: a small network scores each device for the group by its embedding, and by what is known of the device by
then. So one policy fits any graph and any number of devices. It learns by REINFORCE.

Needs PyTorch: pip install torch. `gnn_policy.py [EPISODES]` trains on that many episodes of each graph, and compares;
1600 take three minutes of one core.
"""
import sys

import emplace
import numpy
import torch
from torch import nn

FAMILY, CLUSTER, GROUPS, MEMBERS = "cifar10", "p2-8xlarge-4", 64, 32
HIDDEN, ROUNDS, PLACEMENTS, LEARNING_RATE, ENTROPY = 32, 4, 32, 3e-3, 0.03


class Graph:
    """The tensors of a problem. Times are in units of the mean time of a group."""

    def __init__(self, problem):
        self.devices = problem.placeable_devices
        costs = problem.costs[:, self.devices]
        unit_us = costs.mean()
        self.costs = torch.tensor(costs / unit_us).float()
        edges = torch.tensor(problem.edges).long()
        self.producers = [edges[edges[:, 1] == group, 0] for group in range(len(costs))]
        many = 10**9
        times = numpy.array([[[problem.transfer_us(size, a, b) if a != b else 0.0 for b in self.devices]
                              for a in self.devices] for size in (0, many)]) / unit_us
        bytes_out = torch.tensor(problem.bytes[:, None, None] / many)
        # By producer, its device, the device that reads.
        self.transfers = (torch.tensor(times[0]) + bytes_out * torch.tensor(times[1] - times[0])).float()
        # Groups on long ways to the end come first, as in HEFT: by their upward ranks.
        ranks = self.costs.mean(1)
        for group in reversed(problem.order.tolist()):
            for producer in self.producers[group]:
                through = self.costs[producer].mean() + self.transfers[producer].mean() + ranks[group]
                ranks[producer] = torch.maximum(ranks[producer], through)
        self.order = sorted(problem.order.tolist(), key=lambda group: -ranks[group])
        self.features = torch.cat([torch.tensor(problem.features), ranks[:, None] / ranks.max()], 1)
        along = torch.zeros(len(costs), len(costs))
        along[edges[:, 1], edges[:, 0]] = 1
        self.neighbours = [matrix / matrix.sum(1, keepdim=True).clamp(min=1) for matrix in (along, along.T)]


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(4, HIDDEN)
        self.own, self.along, self.against = (nn.Linear(HIDDEN, HIDDEN) for _ in range(3))
        self.score = nn.Sequential(nn.Linear(HIDDEN + 5, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))

    def forward(self, graph, count, greedy=False, generator=None):
        """Returns `count` placements, as indices of devices, with their log-probabilities and entropies."""
        x = torch.relu(self.embed(graph.features))
        for _ in range(ROUNDS):
            x = torch.relu(self.own(x) + self.along(graph.neighbours[0] @ x) + self.against(graph.neighbours[1] @ x))
        groups, devices = graph.costs.shape
        placements = torch.zeros(count, groups, dtype=torch.long)
        ends, free, loads = torch.zeros(count, groups), torch.zeros(count, devices), torch.zeros(count, devices)
        rows, log_probability, entropy = torch.arange(count), 0.0, 0.0
        for group in graph.order:
            producers = graph.producers[group]
            # When everything that the group reads has arrived on each device: (placements, producers, devices).
            arrivals = ends[:, producers, None] + graph.transfers[producers, placements[:, producers]]
            ready = arrivals.amax(1) if len(producers) else torch.zeros(count, devices)
            on_device = nn.functional.one_hot(placements[:, producers], devices).float().sum(1) / max(len(producers), 1)
            end = torch.maximum(ready, free) + graph.costs[group]
            later = [times - times.amin(1, keepdim=True) for times in (end, ready, free, loads)]
            known = torch.stack([*later, on_device], 2).log1p()
            scores = self.score(torch.cat([x[group].expand(count, devices, -1), known], 2)).squeeze(2)
            chances = torch.distributions.Categorical(logits=scores)
            chosen = (scores.argmax(1) if greedy else
                      torch.multinomial(chances.probs.detach(), 1, generator=generator).squeeze(1))
            log_probability = log_probability + chances.log_prob(chosen)
            entropy = entropy + chances.entropy() / groups
            placements[:, group] = chosen
            ends[:, group] = free[rows, chosen] = end[rows, chosen]
            loads[rows, chosen] += graph.costs[group, chosen]
        return placements, log_probability, entropy


@emplace.agent("gnn-policy", kind="learned")
class GnnPolicy:
    """A graph neural network that is trained on several problems by REINFORCE."""

    def __init__(self):
        self.policy = None

    def prepare(self, evaluator):
        """Makes a new policy if there is none; returns a source of random numbers."""
        seed = evaluator.random.bits() >> 1
        if self.policy is None:
            torch.manual_seed(seed)
            self.policy = Policy()
        return torch.Generator().manual_seed(seed)

    def train(self, problems, evaluators, report):
        generator = self.prepare(evaluators[0])
        graphs, optimizer = list(map(Graph, problems)), torch.optim.Adam(self.policy.parameters(), LEARNING_RATE)
        heft_us, episodes = [emplace.place(problem, "heft").step_time_us for problem in problems], 0
        while not any(evaluator.exhausted for evaluator in evaluators):
            last_us = []
            for graph, evaluator in zip(graphs, evaluators):
                placements, log_probability, entropy = self.policy(graph, PLACEMENTS, generator=generator)
                evaluations = evaluator.evaluate(graph.devices[placements.numpy()])
                if (evaluations.status == emplace.Status.BUDGET_SPENT).any():
                    return
                gains = torch.tensor(-numpy.log(evaluations.objective_us)).float()
                advantages = (gains - gains.mean()) / (gains.std() + 1e-6)
                weight = ENTROPY * (1 - evaluator.share_used) * len(graph.order)
                loss = -(advantages * log_probability).mean() - weight * entropy.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
                optimizer.step()
                last_us.append(evaluations.objective_us.mean())
            episodes += PLACEMENTS * len(problems)
            if episodes // PLACEMENTS // len(problems) % 5 == 0:
                ratio = numpy.exp(numpy.log(numpy.divide(last_us, heft_us)).mean())
                print(f"{episodes:6} episodes: {ratio:.3f} of HEFT's step", flush=True)
            if not report(episodes, last_us):
                return

    def evaluations_per_episode(self, groups):
        return 1

    def save(self):
        return {name: tensor.tolist() for name, tensor in self.policy.state_dict().items()}

    def load(self, policy):
        self.policy = Policy()
        self.policy.load_state_dict({name: torch.tensor(values) for name, values in policy.items()})

    @torch.no_grad()
    def place_with_policy(self, problem, evaluator):
        graph = Graph(problem)
        best = graph.devices[self.policy(graph, 1, greedy=True)[0][0].numpy()]
        evaluator.evaluate(best)
        return best

    @torch.no_grad()
    def place(self, problem, evaluator):
        """The most probable placement, then samples."""
        graph, generator = Graph(problem), self.prepare(evaluator)
        best = self.place_with_policy(problem, evaluator)
        while not evaluator.exhausted:
            evaluator.evaluate(graph.devices[self.policy(graph, PLACEMENTS, generator=generator)[0].numpy()])
        return best if evaluator.best_placement is None else evaluator.best_placement


def compare(episodes):
    suite = {
        "schema": "emplace-suite", "version": 1, "name": "gnn-policy", "summary": "policies on graphs not trained on",
        "families": [{"name": FAMILY, "train": [f"{FAMILY}:split=train,members={MEMBERS}"],
                      "test": [f"{FAMILY}:split=test,member={member}" for member in range(8, 16)]}],
        "clusters": [CLUSTER], "groups": GROUPS, "repetitions": 1, "max_evaluations": 257,
        "policies": [{"name": "placeto", "agent": "placeto", "episodes": 40},
                     {"name": "gnn-policy", "agent": GnnPolicy, "episodes": episodes}],
        "agents": ["heft", "learned-search", {"policy": "placeto"}, {"policy": "gnn-policy"},
                   {"policy": "gnn-policy", "learns": False, "name": "gnn-policy, once", "max_evaluations": 1}]}
    table = emplace.run(suite).table
    logs = {}  # by agent: of the step on each graph
    for row in table if isinstance(table, list) else table.to_dict("records"):
        logs.setdefault(row["agent"], []).append(numpy.log(row["step_time_us"]))
    print("Of HEFT's step on graphs that no training saw, geometric means:")
    for agent, some in sorted(logs.items(), key=lambda item: numpy.mean(item[1])):
        print(f"{agent:18} {numpy.exp(numpy.mean(some) - numpy.mean(logs['heft'])):.3f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    compare(int(sys.argv[1]) if len(sys.argv) > 1 else 1600)
