"""Trains MaskablePPO of sb3-contrib on a network, and compares its best placement with HEFT's.

Needs sb3-contrib: pip install sb3-contrib. A minute of one core.
"""
import sys

import emplace
import gymnasium
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

GROUPS = 16
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000


class Best(BaseCallback):
    """Keeps the placement with the shortest step that fits, and prints it each time that an episode ends with one."""

    def __init__(self, problem):
        super().__init__()
        self.problem, self.step_time_us = problem, float("inf")

    def _on_step(self):
        for info, ended in zip(self.locals["infos"], self.locals["dones"]):
            if ended and info["fits"] and info["step_time_us"] < self.step_time_us:
                self.step_time_us = info["step_time_us"]
                placement = info["terminal_observation"].reshape(self.problem.num_groups, -1)
                devices = placement[:, 3:-2].argmax(axis=1)
                self.placement = self.problem.placeable_devices[devices]
                print(f"{self.num_timesteps:7} actions: {self.step_time_us / 1e3:8.1f} ms", flush=True)
        return True


def main():
    torch.set_num_threads(1)
    problem = emplace.problem("rnnlm", "p2-8xlarge-2", groups=GROUPS)
    environments = make_vec_env(
        lambda: gymnasium.make("emplace/Placement-v0", problem=problem, start="random", observations="flat"),
        n_envs=8, seed=0)
    agent = MaskablePPO("MlpPolicy", environments, n_steps=2 * GROUPS, batch_size=64, gamma=1.0, ent_coef=0.01,
                        learning_rate=1e-3, seed=0)
    best = Best(problem)
    agent.learn(STEPS, callback=best)
    heft = emplace.place(problem, "heft").step_time_us
    assert problem.evaluate(best.placement).step_time_us == best.step_time_us
    print(f"MaskablePPO {best.step_time_us / 1e3:.1f} ms, HEFT {heft / 1e3:.1f} ms")


if __name__ == "__main__":
    main()
