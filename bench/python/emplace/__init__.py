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
from emplace._types import Evaluation, Evaluations, Export, Status
from emplace._core import (
    Evaluator,
    Graph,
    Problem,
    Random,
    Step,
    agents,
    clusters,
    graphs,
    load_graph,
    load_plugin,
    suites,
    version,
)
from emplace._agents import Parameter, agent
from emplace._calibrate import Calibration, calibrate
from emplace._conformance import check_agent
from emplace._leaderboard import benchmark, leaderboard
from emplace._models import PlacedModel, device_map, from_torch
from emplace._runs import Comparison, Placed, Report, compare, place, problem, report, run
from emplace._training import Trained, train
from emplace._validate import ValidatedStep, Validation, validate
from emplace import gymnasium_env  # registers the environments

__version__ = version()

__all__ = [
    "Calibration", "Comparison", "Error", "Evaluation", "Evaluations", "Evaluator", "Export", "FormatError", "Graph", "InternalError",
    "IoError", "Parameter", "Placed", "PlacedModel", "Problem", "Random", "Report", "Status", "Step", "Trained",
    "UnknownNameError", "UnsupportedError", "UsageError", "ValidatedStep", "Validation", "agent", "agents", "benchmark",
    "calibrate", "check_agent", "clusters", "compare", "device_map", "from_torch", "graphs", "gymnasium_env", "leaderboard", "load_graph",
    "load_plugin", "place", "problem", "report", "run", "suites", "train", "validate", "version",
]
