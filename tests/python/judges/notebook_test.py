#!/usr/bin/env python3
"""The notebook of examples/python has no outputs, and runs from top to bottom as Jupyter runs it."""
import copy
import pathlib
import re
import unittest

try:
    import ipykernel  # noqa: F401
    import nbclient
    import nbformat
except ImportError as error:
    MISSING = error.name
else:
    MISSING = None

NOTEBOOK = pathlib.Path(__file__).parents[3] / "examples/python/tutorial.ipynb"


@unittest.skipIf(MISSING, f"needs the package {MISSING}")
class Tutorial(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.notebook = nbformat.read(NOTEBOOK, as_version=4)

    def test_has_no_outputs(self):
        nbformat.validate(self.notebook)
        for cell in self.notebook.cells:
            self.assertFalse(cell.get("outputs"), cell.source)
            self.assertIsNone(cell.get("execution_count"), cell.source)

    def test_runs(self):
        ran = nbclient.NotebookClient(copy.deepcopy(self.notebook), timeout=600, kernel_name="python3").execute()
        outputs = [output for cell in ran.cells for output in cell.get("outputs", ())]
        pages = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
        self.assertGreater(sum("<svg" in page for page in pages), 1)
        self.assertGreater(sum("<table" in page for page in pages), 5)
        told = "".join(output.text for output in outputs if output.get("name") == "stderr")
        self.assertRegex(told, r"^(\s*\[\d+/10\])+\s*$")  # the progress of run(), and no warnings


if __name__ == "__main__":
    unittest.main()
