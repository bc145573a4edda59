#!/usr/bin/env python3
"""What CMake installs works away from the build. package/try_wheel.sh tries the wheel."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = "import emplace; print(emplace.place(emplace.problem('inception-v3', 'cpu-gpu'), 'heft').status)"


class Package(unittest.TestCase):
    def test_installed_by_cmake(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["cmake", "--install", os.environ["EMPLACE_BUILD"], "--component", "python",
                            "--prefix", folder], check=True, stdout=subprocess.DEVNULL)
            packages = next(pathlib.Path(folder).rglob("emplace/__init__.py")).parents[1]
            done = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "PYTHONPATH": str(packages)},
                                  cwd=folder, check=True, capture_output=True, text=True)
            self.assertEqual(done.stdout, "ok\n")
            self.assertTrue((packages / "emplace/py.typed").exists())
            self.assertTrue((packages / "emplace/_core.pyi").exists())


if __name__ == "__main__":
    unittest.main()
