"""PPO in one file (after CleanRL): trains a policy to place a network, and compares its best placement with HEFT's.

Needs gymnasium and PyTorch: pip install gymnasium torch. Half a minute of one core.
"""
import sys

import emplace
import gymnasium
import torch
from torch import nn

GROUPS, UPDATES = 16, int(sys.argv[1]) if len(sys.argv) > 1 else 300
EPISODES, EPOCHS, MINIBATCHES, CLIP, LAMBDA, ENTROPY, VALUE, LEARNING_RATE = 16, 4, 4, 0.2, 0.95, 0.01, 0.5, 1e-3


class Agent(nn.Module):
    def __init__(self, env):
        super().__init__()
        inputs, devices = env.single_observation_space.shape[0], env.single_action_space.n
        self.actor, self.critic = (nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                                                 nn.Linear(64, outputs)) for outputs in (devices, 1))

    def forward(self, observations, masks):
        logits = self.actor(observations).masked_fill(masks == 0, -torch.inf)
        return torch.distributions.Categorical(logits=logits), self.critic(observations).squeeze(-1)


def play(env, agent):
    """Plays an episode in each environment; returns arrays of (steps, environments), and the last info."""
    observation, info = env.reset()
    steps, rewards = [], []
    for _ in range(GROUPS):
        state = torch.as_tensor(observation), torch.as_tensor(info["action_mask"])
        with torch.no_grad():
            policy, values = agent(*state)
            actions = policy.sample()
        steps.append((*state, actions, policy.log_prob(actions), values))
        observation, reward, _, _, info = env.step(actions.numpy())
        rewards.append(torch.as_tensor(reward, dtype=torch.float32))
    return [torch.stack(part) for part in (*zip(*steps), rewards)], info


def update(agent, optimizer, batch):
    observations, masks, actions, before, values, rewards = batch
    # Generalized advantage estimation, without discount; nothing comes after the last step.
    deltas = rewards + torch.cat([values[1:], torch.zeros_like(values[:1])]) - values
    advantages = deltas.clone()
    for step in range(len(deltas) - 2, -1, -1):
        advantages[step] += LAMBDA * advantages[step + 1]
    rows = [part.flatten(0, 1) for part in (observations, masks, actions, before, advantages, advantages + values)]
    for _ in range(EPOCHS):
        for some in torch.randperm(len(rows[0])).chunk(MINIBATCHES):
            observation, mask, action, old, advantage, returns = (row[some] for row in rows)
            policy, value = agent(observation, mask)
            ratio = (policy.log_prob(action) - old).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gain = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
            loss = VALUE * (value - returns).square().mean() - ENTROPY * policy.entropy().mean() - gain
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


torch.manual_seed(0)
torch.set_num_threads(1)
problem = emplace.problem("rnnlm", "p2-8xlarge-2", groups=GROUPS)
env = gymnasium.make_vec("emplace/Placement-v0", EPISODES, "vector_entry_point", problem=problem, start="random",
                         observations="flat")
env.reset(seed=0)
agent, best_us = Agent(env), float("inf")
optimizer = torch.optim.Adam(agent.parameters(), LEARNING_RATE)
for number in range(1, UPDATES + 1):
    batch, info = play(env, agent)
    update(agent, optimizer, batch)
    best_us = min(best_us, info["objective_us"].min())
    if number % 20 == 0:
        print(f"update {number:3}: mean {info['objective_us'].mean() / 1e3:.1f}, best {best_us / 1e3:.1f} ms")
print(f"PPO {best_us / 1e3:.1f} ms, HEFT {emplace.place(problem, 'heft').step_time_us / 1e3:.1f} ms")
