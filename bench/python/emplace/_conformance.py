"""Checks on tiny problems that an agent does what every agent must do."""

import json
import os
import tempfile
from typing import Any, Sequence, Union

import numpy

from emplace import _core
from emplace._agents import LARGEST, name_of
from emplace._errors import Error
from emplace._runs import place_and_tell_best

_DEVICE_CLASSES = ("gpu-k80", "gpu-v100", "cpu")
_BUDGETS = (0, 1, 2, 7, 100)


def _graph(costs_us, edges, output_bytes=20_000, persistent_bytes=0):
    """Returns a graph file whose ops have these costs on every device."""
    return {
        "schema": "emplace-graph", "version": 1, "name": "tiny", "source": "made up",
        "ops": [{"name": f"op{i}", "kind": "tiny", "outputs": [{"bytes": output_bytes}],
                 "persistent_bytes": persistent_bytes,
                 "measured": [{"device_class": kind, "cost_us": cost} for kind in _DEVICE_CLASSES]}
                for i, cost in enumerate(costs_us)],
        "edges": [[producer, 0, consumer] for producer, consumer in edges]}


_FORK_JOIN = [(0, i) for i in range(1, 7)] + [(i, 7) for i in range(1, 7)]
_GRAPHS = {
    "one op": _graph([10], []),
    "chain": _graph([10, 20, 30, 40], [(0, 1), (1, 2), (2, 3)]),
    "fork and join": _graph([20] * 8, _FORK_JOIN),
    "disconnected": _graph([10, 20, 30, 40, 15], [(0, 1), (2, 3)]),
}
_TOO_LARGE = _graph([20] * 8, _FORK_JOIN, persistent_bytes=10**13)
_CLUSTERS = ("p2-8xlarge-2", "cpu-gpu", "mixed-v100-p100")


def _tiny_problem(graph, cluster):
    # One op in each group: other groupings put all ops into one group.
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tiny.json")
        with open(path, "w") as file:
            json.dump(graph, file)
        return _core.problem(path, cluster, 0, "colocation")


def _placed(problem, agent, **options):
    """Places, and checks what every placement must satisfy."""
    placed = place_and_tell_best(problem, agent, **options)
    info = _core.agent_info(agent.partition(":")[0])
    if info["respects_placeable"]:
        strange = set(placed["placement"].tolist()) - set(problem.placeable_devices.tolist())
        if strange:
            raise AssertionError(f"uses the devices {sorted(strange)}, which are not placeable")
    if placed["evaluations"] > options["evaluations"]:
        raise AssertionError(f"made {placed['evaluations']} evaluations of {options['evaluations']}")
    return placed


def _keeps_budgets(problem, agent):
    for budget in _BUDGETS:
        _placed(problem, agent, evaluations=budget, seed=3)


def _repeats_itself(problem, agent):
    one, four = (_placed(problem, agent, evaluations=200, seed=7, threads=threads) for threads in (1, 4))
    if not numpy.array_equal(one["placement"], four["placement"]):
        raise AssertionError("gives two placements for one seed")


def _is_deterministic_if_it_says_so(problem, agent):
    if _core.agent_info(agent.partition(":")[0])["deterministic"]:
        one, other = (_placed(problem, agent, evaluations=budget, seed=budget) for budget in (10, 100))
        if not numpy.array_equal(one["placement"], other["placement"]):
            raise AssertionError("calls itself deterministic, but depends on the seed or the budget")


def _is_not_below_the_bound(problem, agent):
    placed = _placed(problem, agent, evaluations=100)
    if placed["step_time_us"] * (1 + 1e-9) < problem.bounds["best_us"]:
        raise AssertionError(f"takes {placed['step_time_us']} us, less than the lower bound")


def _returns_its_best(problem, agent):
    placed = _placed(problem, agent, evaluations=100, seed=5)
    best_us = placed["best_objective_us"]
    if best_us is not None and problem.evaluate(placed["placement"]).objective_us > best_us:
        raise AssertionError("returns a placement that is worse than the best that it evaluated")


def _works_at_the_bounds_of_its_parameters(problem, agent):
    name = agent.partition(":")[0]
    for parameter in _core.agent_info(name)["parameters"]:
        default = parameter["default"]
        values: Sequence[Any]
        if isinstance(default, bool):
            values = ("false", "true")
        elif isinstance(default, str):
            values = parameter["choices"]
        else:
            # A number without bounds may mean more work than can be done.
            bounds = [bound for bound in (parameter["min"], parameter["max"]) if abs(bound) < LARGEST]
            values = [int(bound) for bound in bounds] if isinstance(default, int) else bounds
        for value in values:
            try:
                _placed(problem, f"{name}:{parameter['name']}={value}", evaluations=30)
            except (AssertionError, Error) as error:
                raise AssertionError(f"with {parameter['name']}={value}: {error}") from error


_CHECKS = (_keeps_budgets, _repeats_itself, _is_deterministic_if_it_says_so, _is_not_below_the_bound,
           _returns_its_best, _works_at_the_bounds_of_its_parameters)


def check_agent(agent: Union[str, type]) -> None:
    """Checks that an agent, a name or a registered class, does what every agent must do.

    Placements on placeable devices, budgets kept, one placement for a seed on any number of threads, no step below
    the lower bound, the best of what was evaluated, parameters at their bounds. Raises AssertionError
    with all that it does not do.
    """
    name = name_of(agent)
    mistakes = []

    def ask(check, label, problem):
        try:
            check(problem, name)
        except (AssertionError, Error) as error:
            mistakes.append(f"{label}: {error}")

    for cluster in _CLUSTERS:
        for label, graph in _GRAPHS.items():
            problem = _tiny_problem(graph, cluster)
            for check in _CHECKS:
                ask(check, f"{label} on {cluster}", problem)
    ask(_keeps_budgets, "what fits nowhere", _tiny_problem(_TOO_LARGE, _CLUSTERS[0]))
    if mistakes:
        raise AssertionError(f"agent {name}:\n  " + "\n  ".join(mistakes))
