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
    Cluster,
    Evaluator,
    Graph,
    Problem,
    Random,
    Step,
    agents,
    clusters,
    graphs,
    load_plugin,
    suites,
    version,
)
from emplace._agents import Parameter, agent
from emplace._calibrate import Calibration, calibrate
from emplace._conformance import check_agent
from emplace._graphs import from_arrays, load
from emplace._leaderboard import benchmark, leaderboard
from emplace._models import PlacedModel, device_map, from_torch
from emplace._problems import cluster, explain, problem, simulate
from emplace._runs import Comparison, Placed, Report, compare, place, report, run
from emplace._training import Trained, train
from emplace._validate import ValidatedStep, Validation, validate
from emplace import _docstrings, _tables
from emplace import gymnasium_env  # registers the environments

__version__ = version()

__all__ = [
    "Calibration", "Cluster", "Comparison", "Error", "Evaluation", "Evaluations", "Evaluator", "Export", "FormatError",
    "Graph", "InternalError", "IoError", "Parameter", "Placed", "PlacedModel", "Problem", "Random", "Report", "Status",
    "Step", "Trained", "UnknownNameError", "UnsupportedError", "UsageError", "ValidatedStep", "Validation", "agent",
    "agents", "benchmark", "calibrate", "check_agent", "cluster", "clusters", "compare", "device_map", "explain",
    "from_arrays", "from_torch", "graphs", "gymnasium_env", "leaderboard", "load", "load_plugin", "place", "problem",
    "report", "run", "simulate", "suites", "train", "validate", "version",
]

_tables.attach()
_docstrings.attach()
