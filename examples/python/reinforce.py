"""Trains a graph neural network with REINFORCE to place a small graph, in the environment of Placeto.

Needs PyTorch (Debian: python3-torch). Each round plays 16 episodes in one batch. The last lines compare the policy with
random placements and with HEFT.
"""
import sys

import emplace
import numpy
import torch
from emplace.gymnasium_env import PlacetoVectorEnv

EPISODES, HIDDEN, STEPS, LEARNING_RATE = 16, 32, 3, 3e-3
ENTROPY_BEGIN, ENTROPY_END = 0.5, 0.02


class Policy(torch.nn.Module):
    """Passes messages along the edges and against them, and reads the current group with its neighbours' devices."""

    def __init__(self, env):
        super().__init__()
        problem, self.devices = env.problem, env.single_action_space.n
        producers, consumers = torch.as_tensor(problem.edges.astype(numpy.int64)).T
        along = torch.zeros(problem.num_groups, problem.num_groups)
        along[consumers, producers] = 1.0
        # Mean over the neighbours, in each direction.
        self.passes = [matrix / matrix.sum(1, keepdim=True).clamp(min=1) for matrix in (along, along.T)]
        # Of each group: its features, whether it is the current one, whether it was visited, its device.
        self.embed = torch.nn.Linear(problem.features.shape[1] + 2 + self.devices, HIDDEN)
        self.along, self.against, self.own = (torch.nn.Linear(HIDDEN, HIDDEN) for _ in range(3))
        self.head = torch.nn.Sequential(torch.nn.Linear(2 * HIDDEN, HIDDEN), torch.nn.ReLU(),
                                        torch.nn.Linear(HIDDEN, self.devices))

    def forward(self, observation, mask):
        features = torch.as_tensor(observation["features"].copy())
        placement = torch.as_tensor(observation["placement"].astype(numpy.int64))
        visited = torch.as_tensor(observation["visited"].astype(numpy.float32))
        current = torch.as_tensor(observation["current"])
        rows = torch.arange(len(current))
        is_current = torch.zeros_like(visited)
        is_current[rows, current] = 1.0
        nodes = torch.cat([features, is_current[..., None], visited[..., None],
                           torch.nn.functional.one_hot(placement, self.devices)], dim=2)
        nodes = torch.relu(self.embed(nodes))
        for _ in range(STEPS):
            nodes = torch.relu(self.own(nodes) + self.along(self.passes[0] @ nodes)
                               + self.against(self.passes[1] @ nodes))
        logits = self.head(torch.cat([nodes[rows, current], nodes.mean(dim=1)], dim=1))
        logits = logits.masked_fill(torch.as_tensor(mask) == 0, float("-inf"))
        return torch.distributions.Categorical(logits=logits)


def play(env, policy, greedy=False):
    """Plays a batch of episodes; returns log-probabilities and entropies (steps, episodes), returns and objectives."""
    observation, info = env.reset()
    log_probabilities, entropies, total = [], [], numpy.zeros(env.num_envs)
    ended = numpy.zeros(env.num_envs, bool)
    while not ended.all():
        actions = policy(observation, info["action_mask"])
        chosen = actions.probs.argmax(dim=1) if greedy else actions.sample()
        log_probabilities.append(actions.log_prob(chosen))
        entropies.append(actions.entropy())
        observation, rewards, ended, _, info = env.step(chosen.numpy())
        total += rewards
    return torch.stack(log_probabilities), torch.stack(entropies), total, info["objective_us"]


def train(rounds, seed=0):
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    env = PlacetoVectorEnv(EPISODES, "rnnlm", "p2-8xlarge-2", groups=16, reward="terminal")
    env.reset(seed=seed)
    policy = Policy(env)
    optimizer = torch.optim.Adam(policy.parameters(), LEARNING_RATE)
    means, best_us = [], numpy.inf
    for number in range(rounds):
        log_probabilities, entropies, returns, objectives_us = play(env, policy)
        # The mean of the batch is the baseline.
        advantage = torch.as_tensor((returns - returns.mean()) / (returns.std() + 1e-9), dtype=torch.float32)
        weight = ENTROPY_BEGIN + (ENTROPY_END - ENTROPY_BEGIN) * number / rounds
        loss = -(log_probabilities.sum(dim=0) * advantage).mean() - weight * entropies.sum(dim=0).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        means.append(objectives_us.mean())
        best_us = min(best_us, objectives_us.min())
        if number % 25 == 0:
            print(f"round {number:4}  mean {means[-1] / 1e3:9.3f} ms  best {best_us / 1e3:9.3f} ms", flush=True)
    with torch.no_grad():
        greedy_us = play(env, policy, greedy=True)[3][0]
    return env.problem, means, greedy_us, best_us


if __name__ == "__main__":
    problem, means, greedy_us, best_us = train(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    print(f"first round {means[0] / 1e3:.3f} ms, last round {means[-1] / 1e3:.3f} ms")
    print(f"policy {greedy_us / 1e3:.3f} ms, best seen {best_us / 1e3:.3f} ms")
    print(f"heft {emplace.place(problem, 'heft').step_time_us / 1e3:.3f} ms")
