#!/usr/bin/env python3
"""Policies trained from Python, by agents of both languages, and suites that several processes share."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import emplace
import numpy

PROGRAM = os.environ["EMPLACE"]


@emplace.agent("py-bandit", kind="learned", parameters={"rate": emplace.Parameter(0.3, 0.0, 1.0)})
class Bandit:
    """Learns how often groups should be on each device: a policy of as many numbers as there are devices."""

    fails = False

    def __init__(self, rate):
        self.rate, self.values = rate, None

    def episode(self, problem, evaluator):
        devices = problem.placeable_devices
        weights = numpy.exp(self.values[:len(devices)] - self.values.max())
        shares = numpy.cumsum(weights / weights.sum())
        choices = numpy.searchsorted(shares[:-1], evaluator.random.uniform(problem.num_groups))
        return devices[choices], evaluator.evaluate(devices[choices]), choices

    def train(self, problems, evaluators, report):
        if self.values is None:
            self.values = numpy.zeros(8)
        episodes, goes_on = 0, True
        while goes_on and not any(evaluator.exhausted for evaluator in evaluators):
            last_us = []
            for problem, evaluator in zip(problems, evaluators):
                _, evaluation, choices = self.episode(problem, evaluator)
                last_us.append(evaluation.objective_us)
                if evaluation.objective_us <= evaluator.best_evaluation.objective_us:
                    self.values += self.rate * numpy.bincount(choices, minlength=8) / problem.num_groups
            if Bandit.fails:
                raise ArithmeticError("no more numbers")
            episodes += len(problems)
            goes_on = report(episodes, last_us, entropy=1.0)

    def place(self, problem, evaluator):
        if self.values is not None and not evaluator.exhausted:
            self.place_with_policy(problem, evaluator)
        self.train([problem], [evaluator], lambda *_, **__: True)
        best = evaluator.best_placement
        return numpy.full(problem.num_groups, problem.placeable_devices[0]) if best is None else best

    def place_with_policy(self, problem, evaluator):
        return self.episode(problem, evaluator)[0]

    def evaluations_per_episode(self, groups):
        return 1

    def save(self):
        return {"values": self.values, "note": "as JSON"}

    def load(self, policy):
        self.values = numpy.array(policy["values"])


SUITE = {
    "schema": "emplace-suite", "version": 1, "name": "shared", "clusters": ["p2-8xlarge-2"],
    "families": [{"name": "translation", "train": ["nmt:steps=4", "nmt:steps=6"], "test": ["nmt:steps=8"],
                  "groups": 16}],
    "policies": [{"name": "bandit", "agent": Bandit, "episodes": 5}],
    "agents": ["heft", "hill-climb", Bandit,
               {"agent": Bandit, "policy": "bandit", "learns": False, "name": "as it is"}],
    "max_evaluations": 50, "repetitions": 2}


def rows_of(report):
    """Returns the cells of a report but for times, in one order."""
    cells = report.cells if isinstance(report.cells, list) else report.cells.to_dict("records")
    return sorted(repr({key: value for key, value in cell.items() if key != "wall_s"}) for cell in cells)


class Training(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_as_the_program_trains(self):
        arguments = ["learned-search", "rnnlm", "inception-v3", "--cluster", "p2-8xlarge-2", "--groups", "12",
                     "--episodes", "4", "--seed", "3", "--validation", "nmt"]
        theirs = self.folder / "theirs.json"
        subprocess.run([PROGRAM, "train", *arguments, "-o", theirs], check=True, capture_output=True)
        ours = self.folder / "ours.json"
        told = []
        trained = emplace.train("learned-search", ["rnnlm", "inception-v3"], "p2-8xlarge-2", groups=12, episodes=4,
                                seed=3, validation="nmt", output=ours, progress=lambda done, total: told.append((done, total)))
        self.assertEqual(ours.read_bytes(), theirs.read_bytes())
        self.assertEqual(trained.policy, theirs.read_text())
        self.assertEqual(trained.ended_by, "episodes")
        rows = trained.validations if isinstance(trained.validations, list) else trained.validations.to_dict("records")
        self.assertEqual([row["episodes"] for row in rows], [2, 4, 6, 8])
        self.assertTrue(all(row["objective_us"] > 0 for row in rows))
        self.assertGreater(len(told), 0)
        self.assertTrue(all(total == 8 for _, total in told))

        problem = emplace.problem("rnnlm", "p2-8xlarge-2", groups=12)
        placed = emplace.place(problem, policy=ours, seed=1)
        found = self.folder / "placement.json"
        subprocess.run([PROGRAM, "place", "rnnlm", "--cluster", "p2-8xlarge-2", "--groups", "12", "--policy", ours,
                        "--seed", "1", "-o", found], check=True, capture_output=True)
        numpy.testing.assert_array_equal(placed.placement, problem.load(found))

    def test_an_agent_in_python(self):
        path = self.folder / "policy.json"
        trained = emplace.train(Bandit, ["rnnlm", "nmt"], ["p2-8xlarge-2"], groups=16, episodes=10, output=path)
        rows = trained.curve if isinstance(trained.curve, list) else trained.curve.to_dict("records")
        self.assertEqual([row["update"] for row in rows], [number for number in range(1, 11) for _ in range(2)])
        self.assertEqual([row["graph"] for row in rows[:2]], ["rnnlm", "nmt"])
        self.assertEqual(rows[-1]["episodes"], 20)
        self.assertEqual(rows[-1]["evaluations"], 20)
        self.assertEqual(rows[-1]["entropy"], 1.0)
        again = emplace.train(Bandit, ["rnnlm", "nmt"], ["p2-8xlarge-2"], groups=16, episodes=10, threads=1)
        self.assertEqual(again.policy, trained.policy)

        problem = emplace.problem("inception-v3", "p2-8xlarge-2", groups=16)
        placed = emplace.place(problem, policy=path)
        self.assertEqual((placed.agent, placed.evaluations), ("py-bandit", 1))
        learned = emplace.place(problem, policy=path, evaluations=30)
        self.assertEqual(learned.evaluations, 30)
        self.assertLessEqual(learned.step_time_us, placed.step_time_us)
        emplace.check_agent(Bandit)

    def test_several_processes_share_a_suite(self):
        alone = emplace.run(SUITE, output=self.folder / "alone")
        told = []
        shared = emplace.run(SUITE, output=self.folder / "shared", workers=2,
                             progress=lambda done, total: told.append((done, total)))
        self.assertEqual(rows_of(shared), rows_of(alone))
        self.assertEqual(told[-1], (8, 8))
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["alone", "shared"])
        with self.assertRaisesRegex(emplace.UsageError, "the folder already contains a run"):
            emplace.run(SUITE, output=self.folder / "shared", workers=2)
        self.assertEqual(rows_of(emplace.run(SUITE, output=self.folder / "shared", workers=2, resume=True)),
                         rows_of(alone))

    def test_interrupted_parts_go_on(self):
        cells = self.folder / "run.shards" / "2"
        emplace.run(SUITE, output=cells, shard="2/8")
        with self.assertRaisesRegex(emplace.UsageError, "run.shards already contains a run; finish it with resume=True"):
            emplace.run(SUITE, output=self.folder / "run", workers=2)
        resumed = emplace.run(SUITE, output=self.folder / "run", workers=2, resume=True)
        self.assertEqual(rows_of(resumed), rows_of(emplace.run(SUITE, output=self.folder / "alone")))

    def test_wrong_use(self):
        for text, call in {
                "agent 'heft' trains no policy": lambda: emplace.train("heft", "rnnlm", "p2-8xlarge-2", episodes=1),
                "episodes is 0, expected 1 or more":
                    lambda: emplace.train(Bandit, "rnnlm", "p2-8xlarge-2", episodes=0),
                "graphs is empty": lambda: emplace.train(Bandit, [], "p2-8xlarge-2", episodes=1),
                "workers is 0, expected 1 or more": lambda: emplace.run(SUITE, output=self.folder / "x", workers=0),
                "shard is 1/2, but 2 workers share":
                    lambda: emplace.run(SUITE, output=self.folder / "x", workers=2, shard="1/2"),
                "agent is heft, but the policy's agent places": lambda: emplace.place(
                    emplace.problem("rnnlm", "p2-8xlarge-2"), "heft", policy="policy.json")}.items():
            with self.subTest(text), self.assertRaisesRegex(emplace.UsageError, text):
                call()
        with self.assertRaisesRegex(emplace.IoError, "none.json: No such file"):
            emplace.place(emplace.problem("rnnlm", "p2-8xlarge-2"), policy="none.json")
        with self.assertRaisesRegex(emplace.IoError, "none/policy.json: No such file"):
            emplace.train(Bandit, "rnnlm", "p2-8xlarge-2", episodes=1, output=self.folder / "none" / "policy.json")
        with self.assertRaisesRegex(TypeError, "no argument 'episode'; did you mean episodes"):
            emplace.train(Bandit, "rnnlm", "p2-8xlarge-2", episode=1)

    def test_what_a_class_lacks(self):
        with self.assertRaisesRegex(emplace.UsageError, "has a method train, but no place_with_policy, load"):
            @emplace.agent("py-half")
            class Half:
                train = save = evaluations_per_episode = place = lambda self: None

    def test_failures(self):
        Bandit.fails = True
        self.addCleanup(setattr, Bandit, "fails", False)
        with self.assertRaisesRegex(emplace.Error, "ArithmeticError: no more numbers .training_test.py") as caught:
            emplace.train(Bandit, "rnnlm", "p2-8xlarge-2", groups=8, episodes=2)
        self.assertIsInstance(caught.exception.__cause__, ArithmeticError)


if __name__ == "__main__":
    unittest.main()
