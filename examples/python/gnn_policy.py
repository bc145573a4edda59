"""A graph neural network that learns on some graphs of a family to place others, compared with emplace's agents.

Message passing along the edges and against them embeds the groups. Then groups are placed one after the other, in the
order of HEFT: a small network scores each device for the group by its embedding, and by what is known of the device by
then. So one policy fits any graph and any number of devices. It learns by REINFORCE.

Needs PyTorch: pip install torch. Without arguments it trains and compares, which takes two minutes of one core.
"""
import sys

import emplace
import numpy
import torch
from torch import nn

FAMILY, CLUSTER, GROUPS, MEMBERS, WEIGHTS = "cifar10", "p2-8xlarge-4", 64, 32, "gnn_policy.pt"
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


def train(epochs):
    torch.manual_seed(0)
    problems = [emplace.problem(f"{FAMILY}:member={member}", CLUSTER, groups=GROUPS) for member in range(MEMBERS)]
    graphs, policy = [Graph(problem) for problem in problems], Policy()
    optimizer = torch.optim.Adam(policy.parameters(), LEARNING_RATE)
    heft_us = [emplace.place(problem, "heft").step_time_us for problem in problems]
    for epoch in range(epochs):
        ratios = []
        for problem, graph, heft in zip(problems, graphs, heft_us):
            placements, log_probability, entropy = policy(graph, PLACEMENTS)
            objective_us = problem.evaluate(graph.devices[placements.numpy()]).objective_us
            ratios.append(objective_us.mean() / heft)
            gains = torch.tensor(-numpy.log(objective_us)).float()
            advantages = (gains - gains.mean()) / (gains.std() + 1e-6)
            loss = -(advantages * log_probability).mean() - ENTROPY * (1 - epoch / epochs) * GROUPS * entropy.mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1:3}: {numpy.exp(numpy.log(ratios).mean()):.3f} of HEFT's step", flush=True)
    torch.save(policy.state_dict(), WEIGHTS)


@emplace.agent("gnn-policy", kind="learned", parameters={"weights": WEIGHTS})
class GnnPolicy:
    """The most probable placement of a trained policy, then samples of it."""

    def __init__(self, weights):
        self.policy = Policy()
        self.policy.load_state_dict(torch.load(weights))

    @torch.no_grad()
    def place(self, problem, evaluator):
        graph, generator = Graph(problem), torch.Generator().manual_seed(evaluator.random.bits() >> 1)
        best = graph.devices[self.policy(graph, 1, greedy=True)[0][0].numpy()]
        evaluator.evaluate(best)
        while not evaluator.exhausted:
            evaluator.evaluate(graph.devices[self.policy(graph, PLACEMENTS, generator=generator)[0].numpy()])
        return best if evaluator.best_placement is None else evaluator.best_placement


def compare():
    suite = {
        "schema": "emplace-suite", "version": 1, "name": "gnn-policy", "summary": "policies on graphs not trained on",
        "families": [{"name": FAMILY, "train": [f"{FAMILY}:split=train,members={MEMBERS}"],
                      "test": [f"{FAMILY}:split=test,members=8"]}],
        "clusters": [CLUSTER], "groups": GROUPS, "repetitions": 1, "max_evaluations": 257,
        "policies": [{"name": "placeto", "agent": "placeto", "episodes": 40}],
        "agents": ["heft", {"policy": "placeto"}, "learned-search", GnnPolicy,
                   {"agent": "gnn-policy", "name": "gnn-policy, once", "max_evaluations": 1}]}
    table = emplace.run(suite).table
    logs = {}  # by agent: of the step on each graph
    for row in table if isinstance(table, list) else table.to_dict("records"):
        logs.setdefault(row["agent"], []).append(numpy.log(row["step_time_us"]))
    print("Of HEFT's step on graphs that no training saw, geometric means:")
    for agent, some in sorted(logs.items(), key=lambda item: numpy.mean(item[1])):
        print(f"{agent:18} {numpy.exp(numpy.mean(some) - numpy.mean(logs['heft'])):.3f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    train(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
    compare()
