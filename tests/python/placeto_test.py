#!/usr/bin/env python3
"""The agent `placeto`, next to a second implementation in PyTorch (placeto_reference.py)."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import emplace
import numpy

MISSING = None
try:
    import placeto_reference as reference
    import torch
except ModuleNotFoundError as error:
    MISSING = error.name

# Graph, cluster and groups; with 2, 4 and 8 devices.
PROBLEMS = [("rnnlm", "p2-8xlarge-2", 16), ("inception-v3", "p2-8xlarge-4", 20), ("cifar10:member=3", "dgx-1-v100", 12)]
RELEASED, TERMINAL = "placeto:preset=released", "placeto:preset=released,reward=terminal"


def setUpModule():
    if MISSING:
        raise unittest.SkipTest(f"{MISSING} is not installed")
    torch.set_num_threads(1)


def run(*arguments):
    return subprocess.run([os.environ["EMPLACE"], *arguments], check=True, capture_output=True, text=True).stdout


def weights_of(policy):
    return numpy.concatenate([parameter.detach().flatten() for parameter in policy.parameters()])


def trained(agent, problem, episodes):
    """Trains with the agent and its double; returns weights and learning curve of each."""
    graph, cluster, groups = problem
    with tempfile.TemporaryDirectory() as folder:
        layers, curve, draws = reference.train(os.environ["EMPLACE"], Path(folder), agent, *problem, episodes)
    training = reference.Training(emplace.problem(graph, cluster, groups=groups), reference.options_of(agent),
                                  reference.Stream(draws), episodes)
    other_curve = training.run(episodes)
    policy = reference.Policy(training.options, training.graph.num_devices)
    policy.load(layers)
    return (weights_of(policy), curve), (weights_of(training.policy), other_curve)


class Network(unittest.TestCase):
    def test_the_number_of_weights_is_that_of_the_paper(self):
        for cluster, devices, weights in (("p2-8xlarge-2", 2, 15_962), ("p2-8xlarge-4", 4, 26_338),
                                          ("dgx-1-v100", 8, 54_842)):
            self.assertEqual(len(weights_of(reference.Policy(reference.RELEASED, devices))), weights)
            shown = json.loads(run("show", RELEASED, "--cluster", cluster, "--json"))
            self.assertEqual(shown["policy"]["weights"], weights)

    def test_new_policies(self):
        for agent in (RELEASED + ",", "placeto:"):
            (weights, _), (others, _) = trained(agent + "learning-rate=0,learning-rate-end=0", PROBLEMS[0], 8)
            numpy.testing.assert_allclose(others, weights, rtol=1e-6)


class GreedyEpisode(unittest.TestCase):
    def test_placements(self):
        for agent in (RELEASED + ",", TERMINAL + ",", "placeto:", "placeto:reward=terminal,"):
            # So that an episode draws no random number.
            agent += "order=topological,start=one-device,random-start=0"
            for graph, cluster, groups in PROBLEMS:
                with self.subTest(f"{agent} {graph}"), tempfile.TemporaryDirectory() as folder:
                    layers, *_ = reference.train(os.environ["EMPLACE"], Path(folder), agent, graph, cluster, groups, 16)
                    run("place", graph, "--cluster", cluster, "--policy", f"{folder}/policy.json",
                        "-o", f"{folder}/placement.json")
                    problem = emplace.problem(graph, cluster, groups=groups)
                    placed = problem.load(f"{folder}/placement.json")
                    other = reference.Training(problem, reference.options_of(agent), None, 1, layers)
                    other.play(1, greedy=True)
                    numpy.testing.assert_array_equal(problem.placeable_devices[other.best[1]], placed)


class LearningCurve(unittest.TestCase):
    """A curve depends on the probability of each decision, the sampled actions, the returns, losses and gradients."""

    def assert_same(self, agent, problem, episodes, tolerance):
        (weights, curve), (other_weights, other_curve) = trained(agent, problem, episodes)
        with self.subTest(f"{agent} {problem}"):
            # Updates, episodes, evaluations; last and best objective; entropy and norm of the gradient.
            numpy.testing.assert_array_equal(other_curve[:, :3], curve[:, :3])
            numpy.testing.assert_allclose(other_curve[:, 3:5], curve[:, 3:5], rtol=1e-12)
            numpy.testing.assert_allclose(other_curve[:, 5:], curve[:, 5:], rtol=tolerance)
            numpy.testing.assert_allclose(other_weights, weights, rtol=0, atol=tolerance)

    def test_as_released(self):
        for agent in (RELEASED, TERMINAL):
            for problem in PROBLEMS:
                self.assert_same(agent, problem, 24, 1e-5)

    def test_options(self):
        for options in ("pooling=all,mean-pooling=true,order=random,start=random-each-episode,discount=0.9",
                        "workers=2,greedy-first=false,time-unit=work,memory-limit=0.1,baseline-episodes=2,rounds=1",
                        "reward=minimum,order=random,start=one-device",
                        "reward=terminal,device-encoding=features,normalize-advantages=true,order=reverse,stay-bias=1"):
            self.assert_same(f"{RELEASED},{options}", PROBLEMS[2], 16, 1e-4)

    def test_the_preset_paper(self):
        # Adam also makes full steps along derivatives that are little more than rounding, of which there are many while
        # the last layer is nearly 0. The start times of one visit are in microseconds, which leaves few digits for the
        # rest.
        for problem in PROBLEMS:
            self.assert_same("placeto:reward=terminal", problem, 8, 1e-2)
            self.assert_same("placeto", problem, 8, 2e-2)


if __name__ == "__main__":
    unittest.main()
