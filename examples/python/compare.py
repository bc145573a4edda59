"""Checks the agent of my_agent.py, and compares it with others."""
import emplace
from my_agent import Mutate

emplace.check_agent(Mutate)

problem = emplace.problem("inception-v3", "p2-8xlarge-2", groups=64)
print(f"alone: {emplace.place(problem, Mutate, evaluations=1000).step_time_us / 1e3:.3f} ms")

suite = {
    "schema": "emplace-suite", "version": 1, "name": "with-python", "summary": "an agent in Python beside others",
    "graphs": ["inception-v3"], "clusters": ["p2-8xlarge-2"], "groups": 64, "max_evaluations": 500, "repetitions": 2,
    "agents": ["heft", "hill-climb", Mutate, {"agent": "mutate:rate=0.1", "name": "mutate-more"}],
}
emplace.run(suite, output="results/with-python")
for row in emplace.report("results/with-python", "dicts").table:
    print(f"{row['agent']:12} {row['step_time_us'] / 1e3:9.3f} ms")
