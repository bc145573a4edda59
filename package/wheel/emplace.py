#!python
"""Starts the program that lies in the package, without importing the package."""
import importlib.util
import os
import sys

package = os.path.dirname(importlib.util.find_spec("emplace").origin)
program = os.path.join(package, "program", "emplace")
os.environ["EMPLACE_PYTHON"] = sys.executable
os.execv(program, ["emplace", *sys.argv[1:]])
