"""Evaluates 1000 random placements in one call, and shows the best of them."""
import emplace
import numpy

problem = emplace.problem("inception-v3", "p2-8xlarge-4", groups=128)
batch = numpy.random.default_rng(0).choice(problem.placeable_devices, (1000, problem.num_groups))
many = problem.evaluate(batch)
best = batch[many.objective_us.argmin()]

step = problem.simulate(best)
print(f"{problem.num_groups} groups, {len(problem.edges)} edges, {problem.num_devices} devices")
print(f"best of {len(batch)}: {step.step_time_us / 1e3:.3f} ms, {step.status}")
print("busy", dict(zip(problem.devices, (step.busy_us / step.step_time_us).round(2).tolist())))
print(f"heft: {emplace.place(problem, 'heft').step_time_us / 1e3:.3f} ms")
