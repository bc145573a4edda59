#!/usr/bin/env python3
"""Rows of leaderboards, against the cells that they are of."""
import math
import pathlib
import tempfile
import unittest

import emplace


def rows_of(table):
    return table if isinstance(table, list) else table.to_dict("records")


class Leaderboard(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_row_is_of_the_steps_of_all_problems(self):
        (row,) = rows_of(emplace.benchmark("human-expert", output=self.folder / "run", threads=1))
        table = rows_of(emplace.report(self.folder / "run").table)
        self.assertEqual(len({(one["graph"], one["cluster"]) for one in table}), 36)
        fitting = [one for one in table if not one["out_of_memory"]]
        ratios = [one["step_time_us"] / one["best_known_us"] for one in fitting if (one["best_known_us"] or 0) > 0]
        self.assertEqual((row["agent"], row["problems"], row["fits"]), ("human-expert", 36, len(fitting)))
        self.assertAlmostEqual(row["over_best_known"], math.prod(ratios) ** (1 / len(ratios)))
        self.assertAlmostEqual(row["over_bound"], math.prod(one["step_time_us"] / one["bound_us"] for one in fitting)
                               ** (1 / len(fitting)))
        self.assertEqual(row["within_10_percent"], sum(ratio <= 1.1 for ratio in ratios) / len(ratios))
        self.assertGreaterEqual(row["over_bound"], row["over_best_known"])

    def test_budgets_are_rows_and_the_best_comes_first(self):
        suite = {"schema": "emplace-suite", "version": 1, "name": "small", "graphs": ["rnnlm", "inception-v3"],
                 "clusters": ["p2-8xlarge-4"], "agents": ["heft", "random"], "max_evaluations": [1, 200]}
        report = emplace.run(suite, output=self.folder / "run")
        rows = rows_of(emplace.leaderboard(report))
        self.assertEqual([row["agent"] for row in rows], ["heft", "random, 200", "random, 1"])
        self.assertEqual([row["evaluations"] for row in rows[1:]], [200, 1])
        self.assertEqual(rows, rows_of(emplace.leaderboard(report.folder)))

    def test_wrong_use(self):
        with self.assertRaisesRegex(emplace.UsageError, "suite is 'standart', expected one of .*'?standard"):
            emplace.benchmark("heft", "standart")
        with self.assertRaisesRegex(TypeError, "no argument 'worker'; did you mean workers"):
            emplace.benchmark("heft", worker=2)


if __name__ == "__main__":
    unittest.main()
