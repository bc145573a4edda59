"""Simulate, learn and compare placements of neural networks on many devices. See docs/guide/use-from-python.md."""

from emplace._errors import (
    Error,
    FormatError,
    InternalError,
    IoError,
    UnknownNameError,
    UnsupportedError,
    UsageError,
)
from emplace._types import Evaluation, Evaluations, Status
from emplace._core import Problem, Step, agents, clusters, graphs, problem, suites, version

__version__ = version()

__all__ = [
    "Error", "Evaluation", "Evaluations", "FormatError", "InternalError", "IoError", "Problem", "Status", "Step",
    "UnknownNameError", "UnsupportedError", "UsageError", "agents", "clusters", "graphs", "problem", "suites",
    "version",
]
