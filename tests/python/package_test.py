#!/usr/bin/env python3
"""What CMake installs and what pip gets: the same files, which work away from the build."""
import base64
import csv
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench/python"))

import build_backend  # noqa: E402

PROGRAM = "import emplace; print(emplace.place(emplace.problem('inception-v3', 'cpu-gpu'), 'heft').status)"


class Package(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def install(self, prefix):
        subprocess.run(["cmake", "--install", os.environ["EMPLACE_BUILD"], "--component", "python", "--prefix", prefix],
                       check=True, stdout=subprocess.DEVNULL)
        return next(pathlib.Path(prefix).rglob("emplace/__init__.py")).parents[1]

    def works(self, packages):
        done = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "PYTHONPATH": str(packages)},
                              cwd=self.folder, check=True, capture_output=True, text=True)
        self.assertEqual(done.stdout, "ok\n")

    def test_installed_by_cmake(self):
        self.works(self.install(self.folder / "prefix"))

    def test_wheel(self):
        # As the backend does it, but from this build instead of one of its own.
        build_backend._install = lambda folder: self.install_flat(pathlib.Path(folder))
        name = build_backend.build_wheel(self.folder)
        with zipfile.ZipFile(self.folder / name) as wheel:
            names = set(wheel.namelist())
            record = next(name for name in names if name.endswith(".dist-info/RECORD"))
            rows = list(csv.reader(io.StringIO(wheel.read(record).decode())))
            self.assertEqual({row[0] for row in rows}, names)
            for path, digest, size in rows:
                if path != record:
                    content = wheel.read(path)
                    expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                    self.assertEqual((digest, size), ("sha256=" + expected, str(len(content))))
            self.assertIn("emplace/py.typed", names)
            self.assertIn("emplace/_core.pyi", names)
            wheel.extractall(self.folder / "installed")
        self.works(self.folder / "installed")

    def install_flat(self, folder):
        packages = self.install(self.folder / "prefix")
        for file in (packages / "emplace").iterdir():
            (folder / "emplace").mkdir(exist_ok=True)
            (folder / "emplace" / file.name).write_bytes(file.read_bytes())


if __name__ == "__main__":
    unittest.main()
