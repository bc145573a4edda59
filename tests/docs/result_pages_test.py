#!/usr/bin/env python3
"""docs/results/pages.py makes a page of each table, and finds the cells of a run in them.

result_pages_test.py ROOT EMPLACE; exit code 77 where pandas is not installed.
"""
import csv
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import pandas  # noqa: F401
except ImportError:
    sys.exit(77)

ROOT, EMPLACE = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)
RESULTS = ROOT / "docs" / "results"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def pages(*arguments):
    return run(sys.executable, RESULTS / "pages.py", *arguments)


def rows_of(page):
    """Returns the median of each (graph on cluster, agent), in milliseconds as they stand there."""
    rows, place = {}, ""
    for line in page.read_text().splitlines():
        if line.startswith("## "):
            place = line[3:]
        elif line.startswith("| ") and not line.startswith("| agent "):
            agent, median = line.split(" | ")[:2]
            rows[place, agent[2:]] = median
    return rows


class ResultPages(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def unpack(self, suite):
        """Returns the folder of a stored run, and that of its tables."""
        archive = ROOT / "tests" / "data" / f"{suite}.tar.gz"
        subprocess.run(["tar", "-xzf", archive, "-C", self.folder], check=True)
        store, tables = self.folder / suite, self.folder / f"{suite}-tables"
        tables.mkdir()
        for table in ("cells", "histories"):
            subprocess.run([EMPLACE, "report", store, "--table", table, "-o", tables / f"{table}.csv"], check=True,
                           capture_output=True)
        return store, tables

    def test_every_table_has_a_page(self):
        done = pages(self.folder / "pages")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        tables = {table.name.removesuffix(".csv.gz") for table in (RESULTS / "cells").iterdir()}
        self.assertEqual({page.stem for page in (self.folder / "pages").iterdir()}, tables)
        self.assertEqual(len(tables), 10)
        for suite in tables:
            with self.subTest(suite):
                self.assertGreaterEqual(len(rows_of(self.folder / "pages" / f"{suite}.md")), 60)

    def test_the_leaderboard_is_that_of_its_table_and_the_best_known_placements(self):
        done = pages("--leaderboard", self.folder / "leaderboard.md")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual((self.folder / "leaderboard.md").read_text(), (RESULTS / "leaderboard.md").read_text())

    def test_medians_are_those_of_the_report(self):
        store, _ = self.unpack("hdp-table")
        pages(self.folder / "pages")
        rows = rows_of(self.folder / "pages" / "hdp-table.md")
        report = run(EMPLACE, "report", store, "--format", "csv", "--quiet").stdout
        compared = 0
        for row in csv.DictReader(io.StringIO(report)):
            if row["graph"]:
                median = f"{float(row['step_time_us']) / 1000:.1f}" if row["step_time_us"] else "-"
                self.assertEqual(rows[f"{row['graph']} on {row['cluster']}", row["agent"]], median, row)
                compared += 1
        self.assertEqual(compared, 27)

    def test_cells_of_a_run_are_found(self):
        for suite, cells in (("hdp-table", 63), ("paper-ablations", 21)):
            with self.subTest(suite):
                _, tables = self.unpack(suite)
                done = pages("--compare", suite, tables)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn(f"{suite}: {cells} of {cells} cells as in the table", done.stdout)

    def test_a_cell_that_differs_is_shown(self):
        _, tables = self.unpack("paper-ablations")
        text = (tables / "cells.csv").read_text()
        (tables / "cells.csv").write_text(text.replace("276825.97423531866", "276825.97423531867", 1))
        done = pages("--compare", "paper-ablations", tables)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("276825.97423531867", done.stdout)
        self.assertIn("paper-ablations: 20 of 21 cells as in the table", done.stdout)


if __name__ == "__main__":
    unittest.main()
