"""Plays episodes of Placeto's environment with random actions, four at a time."""
import numpy
from emplace.gymnasium_env import PlacetoVectorEnv

env = PlacetoVectorEnv(4, "inception-v3", "p2-8xlarge-2", groups=32)
observation, info = env.reset(seed=0)
before_us, total = info["objective_us"], numpy.zeros(4)
ended = numpy.zeros(4, bool)
while not ended.all():
    actions = numpy.array([env.single_action_space.sample(mask) for mask in info["action_mask"]])
    observation, rewards, ended, truncated, info = env.step(actions)
    total += rewards
print("changed the objective by", ((info["objective_us"] - before_us) / 1e3).round(1), "ms")
