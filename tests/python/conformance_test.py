#!/usr/bin/env python3
"""emplace.check_agent: good agents pass, and each mistake is found."""
import itertools
import unittest

import emplace
import numpy


def first_device(problem):
    return numpy.full(problem.num_groups, problem.placeable_devices[0])


@emplace.agent("py-good", parameters={"tries": emplace.Parameter(3, 1, 5), "greedy": True,
                                      "mode": emplace.Parameter("a", choices=("a", "b"))})
class Good:
    """Evaluates a few random placements."""

    def __init__(self, tries, greedy, mode):
        self.tries = tries

    def place(self, problem, evaluator):
        evaluator.evaluate(first_device(problem))
        for _ in range(self.tries):
            devices = problem.placeable_devices
            evaluator.evaluate(devices[evaluator.random.integers(len(devices), problem.num_groups)])
        return first_device(problem) if evaluator.best_placement is None else evaluator.best_placement


class CheckAgent(unittest.TestCase):
    def test_good_agents_pass(self):
        emplace.check_agent(Good)
        emplace.check_agent("py-good:tries=1")
        emplace.check_agent("heft")

    def finds(self, text, name, place, **properties):
        cls = emplace.agent(name, **properties)(type("Wrong", (), {"place": place}))
        with self.assertRaisesRegex(AssertionError, text):
            emplace.check_agent(cls)

    def test_mistakes_are_found(self):
        self.finds("nothing may be placed", "py-uses-cpu",
                   lambda self, problem, evaluator: numpy.full(problem.num_groups, problem.num_devices - 1))
        self.finds("ZeroDivisionError", "py-needs-budget",
                   lambda self, problem, evaluator: first_device(problem) + 0 * (1 // evaluator.evaluations_left))
        self.finds("calls itself deterministic", "py-seeded", lambda self, problem, evaluator: problem.placeable_devices[
            evaluator.random.integers(len(problem.placeable_devices), problem.num_groups)], deterministic=True)
        calls = itertools.count()
        self.finds("two placements for one seed", "py-counts", lambda self, problem, evaluator: first_device(problem) * 0
                   + problem.placeable_devices[next(calls) % len(problem.placeable_devices)])

        def worse(self, problem, evaluator):
            evaluator.evaluate(first_device(problem))
            return problem.placeable_devices[numpy.arange(problem.num_groups) % len(problem.placeable_devices)]
        self.finds("worse than the best", "py-worse", worse)

        class Fragile:
            def __init__(self, depth):
                self.depth = 1 // depth

            def place(self, problem, evaluator):
                return first_device(problem)
        emplace.agent("py-fragile", parameters={"depth": emplace.Parameter(1, 0, 3)})(Fragile)
        with self.assertRaisesRegex(AssertionError, "with depth=0: .*ZeroDivisionError"):
            emplace.check_agent(Fragile)

    def test_only_bounds_that_were_given_are_tried(self):
        seen = set()

        class Unbounded:
            def __init__(self, depth, width, rate):
                seen.update((depth, width, rate))

            def place(self, problem, evaluator):
                return first_device(problem)
        emplace.agent("py-unbounded", deterministic=True,
                      parameters={"depth": 3, "width": emplace.Parameter(4, min=1), "rate": 0.5})(Unbounded)
        emplace.check_agent(Unbounded)
        self.assertEqual(seen, {3, 4, 1, 0.5})


if __name__ == "__main__":
    unittest.main()
