#!/usr/bin/env python3
"""A host program that speaks German: decimal commas change no file, no figure and no placement."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

# Sets the locale, if one is named, and then reads, computes and writes what has fractions.
SCRIPT = """
import locale, sys
import emplace
if len(sys.argv) > 2:
    locale.setlocale(locale.LC_ALL, sys.argv[2])
    assert locale.localeconv()["decimal_point"] == ","
suite = {"schema": "emplace-suite", "version": 1, "name": "german", "graphs": ["inception-v3:batch=16", "layered:ccr=0.5"],
         "clusters": ["p2-8xlarge-2", "dgx-a100"], "repetitions": 2, "max_evaluations": 40,
         "agents": ["heft", "metis", "scotch", "simulated-annealing:initial-temperature=0.5", "placeto:preset=released,rounds=1"]}
print(emplace.run(suite, output=sys.argv[1], threads=1).table)
"""


def results_of(folder):
    """Returns the cells of a run without what a clock measured."""
    cells = [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]
    for cell in cells:
        del cell["measured"], cell["crc32"]
    return sorted(cells, key=lambda cell: cell["id"])


class Locale(unittest.TestCase):
    def test_decimal_commas(self):
        with tempfile.TemporaryDirectory() as root:
            german = pathlib.Path(root) / "locale" / "de_DE.UTF-8"
            german.parent.mkdir()
            if subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(german)], capture_output=True,
                              check=False).returncode != 0:
                self.skipTest("no German locale can be made here")
            results = []
            for arguments in ([], ["de_DE.UTF-8"]):
                folder = pathlib.Path(root) / f"run-{len(results)}"
                subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT, str(folder), *arguments], check=True,
                               stdout=subprocess.DEVNULL, env={**os.environ, "LOCPATH": str(german.parent)})
                results.append(results_of(folder))
            self.assertTrue(any(cell["step_time_us"] % 1 for cell in results[0]))
            self.assertEqual(results[0], results[1])


if __name__ == "__main__":
    unittest.main()
