from typing import Any, Callable, Optional, Sequence, SupportsIndex, Union

import numpy
from numpy.typing import ArrayLike, NDArray

from emplace._types import Evaluation, Evaluations, Export, Path as _Path

_Size = Union[None, SupportsIndex, Sequence[SupportsIndex]]

class Graph:
    """The ops of one step, and what they hand on: emplace.load() and emplace.from_arrays() return it.

    Lists have an entry for each op. They and arrays are made anew each time, so keep them in a variable.
    """

    @property
    def name(self) -> str:
        """What the graph is called, with the parameters that were given."""
    @property
    def source(self) -> str:
        """The paper, file or program that the graph comes from."""
    @property
    def num_ops(self) -> int:
        """How many ops there are."""
    @property
    def num_edges(self) -> int:
        """How many edges between ops there are: uses of tensors, and orders."""
    @property
    def flops(self) -> int:
        """Floating-point operations of the step; a multiply-add is two."""
    @property
    def forward_flops(self) -> int:
        """Floating-point operations of the forward pass."""
    @property
    def parameters(self) -> int:
        """How many trained numbers there are."""
    @property
    def persistent_bytes(self) -> int:
        """What parameters, buffers and optimizer slots take."""
    @property
    def names(self) -> list[str]:
        """The name of each op."""
    @property
    def kinds(self) -> list[str]:
        """What each op computes, such as "conv2d"."""
    @property
    def scopes(self) -> list[str]:
        """The module that calls each op, as a path with slashes."""
    @property
    def phases(self) -> list[str]:
        """The part of the step that each op is in: "forward", "backward" or "update"."""
    @property
    def uncounted(self) -> dict[str, int]:
        """How many ops of each kind have no FLOPs because emplace does not know the kind."""
    @property
    def op_flops(self) -> NDArray[numpy.int64]:
        """(ops,) Floating-point operations of each op."""
    @property
    def edges(self) -> NDArray[numpy.int32]:
        """(edges, 2) Producer and consumer."""
    @property
    def edge_bytes(self) -> NDArray[numpy.int64]:
        """(edges,) The bytes of the tensor that the consumer uses; 0 for an edge that only orders."""
    @property
    def document(self) -> dict[str, Any]:
        """The content of the graph's file (graphs/schema/graph.schema.json), a new dict; load() takes it."""
    def ops(self, frame: Optional[str] = None) -> Any:
        """Returns a table of the ops, with the columns of from_arrays().

        frame: "pandas", "polars" or "dicts" (a list of dicts); None is pandas where it is installed, else dicts.
        `output_bytes` is the sum of an op's outputs.
        """
    def to_networkx(self) -> Any:
        """Returns a networkx.MultiDiGraph: nodes by name, with the members of an op as attributes; load() takes it.

        Edges have `output`, which output of the producer they use (-1: none, they only order), and its `bytes`.
        """
    def save(self, path: _Path) -> None:
        """Writes a graph file, which every command of the program reads. Raises IoError."""

class Cluster:
    """Devices and the links between them: emplace.cluster() returns it."""

    @property
    def name(self) -> str:
        """What the cluster is called, with the parameters that were given."""
    @property
    def summary(self) -> str:
        """One line about it."""
    @property
    def transfer_model(self) -> str:
        """The rules by which data moves: "physical", "placeto" or "grappler" (docs/concepts/simulation.md)."""
    @property
    def devices(self) -> list[str]:
        """The names of the devices."""
    @property
    def kinds(self) -> list[str]:
        """The class of each device, by which a graph has measured costs, such as "gpu-k80"."""
    @property
    def placeable_devices(self) -> NDArray[numpy.int32]:
        """The indices of the devices from which agents choose."""
    @property
    def capacities(self) -> NDArray[numpy.int64]:
        """(devices,) The bytes of memory that weights and tensors may take."""
    @property
    def links(self) -> list[dict[str, Any]]:
        """The links of a "physical" cluster, each direction on its own.

        Each has name, bandwidth_bytes_per_us, latency_us and sharing ("fair", "fifo" or "fatpipe").
        """
    @property
    def document(self) -> dict[str, Any]:
        """The content of the cluster's file (profiles/schema/cluster.schema.json), a new dict; cluster() takes it."""
    def save(self, path: _Path) -> None:
        """Writes a cluster file, which every command of the program reads. Raises IoError."""

class Step:
    """One simulated step. Times are in microseconds; arrays are read-only."""

    @property
    def problem(self) -> Problem:
        """The problem whose step it is."""
    @property
    def status(self) -> str:
        """"ok" or "out_of_memory"."""
    @property
    def fits(self) -> bool:
        """Whether no device needs more memory than it has."""
    @property
    def step_time_us(self) -> float:
        """How long the step takes, as if memory were no limit."""
    @property
    def bytes_over(self) -> int:
        """What exceeds the memories, summed over the devices."""
    @property
    def objective_us(self) -> float:
        """The step time plus 2 s for each 10^9 bytes_over."""
    @property
    def busy_us(self) -> NDArray[numpy.float64]:
        """(devices,) The time in which each ran an op."""
    @property
    def peak_bytes(self) -> NDArray[numpy.int64]:
        """(devices,) The most memory that was taken at once."""
    @property
    def start_us(self) -> NDArray[numpy.float64]:
        """(ops,) When each op starts."""
    @property
    def end_us(self) -> NDArray[numpy.float64]:
        """(ops,) When each op ends."""
    @property
    def placement(self) -> NDArray[numpy.int32]:
        """(groups,) The device of each group."""
    def ops(self, frame: Optional[str] = None) -> Any:
        """Returns a table of the ops: name, kind, scope, device, start_us and end_us.

        frame: "pandas", "polars" or "dicts" (a list of dicts); None is pandas where it is installed, else dicts.
        """

class Problem:
    """A graph on a cluster: emplace.problem() returns it.

    A placement is an array of integers, (groups,): for each group of ops the index of a device in `devices`; or what
    place() returned. Methods that take one raise UsageError for another shape or for devices that do not exist. Times
    are in microseconds, sizes in bytes. Arrays are read-only; those marked as views share the memory of the problem,
    others are made anew each time.

        problem = emplace.problem("inception-v3", "p2-8xlarge-4", groups=128)
        batch = numpy.random.default_rng(0).choice(problem.placeable_devices, (1000, problem.num_groups))
        problem.evaluate(batch).step_time_us.min()
    """

    @property
    def graph(self) -> str:
        """The name of the graph, or its path."""
    @property
    def cluster(self) -> str:
        """The name of the cluster, or its path."""
    @property
    def num_ops(self) -> int:
        """How many ops there are."""
    @property
    def num_groups(self) -> int:
        """How many groups the ops are in; a group is placed as one."""
    @property
    def num_devices(self) -> int:
        """How many devices there are."""
    @property
    def devices(self) -> list[str]:
        """The names of the devices."""
    @property
    def placeable_devices(self) -> NDArray[numpy.int32]:
        """The indices of the devices from which agents choose; a view."""
    @property
    def capacities(self) -> NDArray[numpy.int64]:
        """(devices,) The memory of each, in bytes."""
    @property
    def costs(self) -> NDArray[numpy.float64]:
        """(groups, devices) The time of all ops of a group, in microseconds. Launches and gaps between ops count."""
    @property
    def bytes(self) -> NDArray[numpy.int64]:
        """(groups,) The bytes of outputs that other groups read."""
    @property
    def memory(self) -> NDArray[numpy.int64]:
        """(groups,) The bytes of weights, optimizer slots and all outputs."""
    @property
    def persistent_bytes(self) -> NDArray[numpy.int64]:
        """(groups,) The bytes of weights and optimizer slots."""
    @property
    def features(self) -> NDArray[numpy.float32]:
        """(groups, 3) Mean cost on the placeable devices, bytes and memory, each divided by the largest."""
    @property
    def edges(self) -> NDArray[numpy.int32]:
        """(edges, 2) Producer and consumer; a view."""
    @property
    def edge_bytes(self) -> NDArray[numpy.int64]:
        """(edges,) What the producer hands to the consumer; a view."""
    @property
    def order(self) -> NDArray[numpy.int32]:
        """(groups,) The groups in topological order; a view."""
    @property
    def names(self) -> list[str]:
        """The names of the ops."""
    @property
    def kinds(self) -> list[str]:
        """The kinds of the ops."""
    @property
    def scopes(self) -> list[str]:
        """The layers of the ops."""
    @property
    def phases(self) -> list[str]:
        """The parts of the step: "forward", "backward" or "update"."""
    @property
    def groups(self) -> NDArray[numpy.int32]:
        """(ops,) The group of each op."""
    def members(self, group: int) -> NDArray[numpy.int32]:
        """Returns the ops of a group; a view. Raises UsageError for a group that does not exist."""
    def op_costs(self, device: int) -> NDArray[numpy.float64]:
        """Returns the costs of all ops on a device, in microseconds; a view."""
    def transfer_us(self, bytes: int, source: int, target: int) -> float:
        """Returns how long bytes take between two devices if nothing else moves."""
    def simulate(self, placement: ArrayLike) -> Step:
        """Simulates one step of a placement, and returns it in detail.

            problem.simulate(emplace.place(problem, "heft")).peak_bytes
        """
    def evaluate(self, placements: ArrayLike) -> Any:
        """Simulates (N, groups) placements, on all threads without the GIL.

        Returns Evaluations, arrays of N numbers; for one placement, (groups,), an Evaluation.
        """
    def constrain(self, placement: ArrayLike) -> NDArray[numpy.int32]:
        """Returns a placement with pinned groups on their devices and tied ones together; all methods do this first."""
    def explain(self, placement: ArrayLike) -> dict[str, Any]:
        """Returns what bounds the step, as `emplace simulate --explain --json` does."""
    def trace(self, placement: ArrayLike) -> str:
        """Returns the step as a Chrome trace, for ui.perfetto.dev."""
    def picture(self, placement: ArrayLike) -> str:
        """Returns the timeline of the step in SVG, as `emplace simulate --trace step.svg` draws it."""
    @property
    def bounds(self) -> dict[str, Any]:
        """Lower bounds on the step time in microseconds; `best_us` is the largest, `by` says which that is."""
    def save(self, placement: ArrayLike, path: _Path) -> None:
        """Writes a placement file, which `emplace simulate --placement` reads. Raises IoError."""
    def export(self, placement: ArrayLike, format: str) -> Export:
        """Returns a placement as `emplace convert --placement --to` writes it (emplace list placement-formats).

            problem.export(placement, "torch-device-map").text
        """
    def load(self, path: _Path) -> NDArray[numpy.int32]:
        """Reads a placement file of this graph and these devices. Raises IoError or FormatError."""

class Random:
    """The random stream of an evaluator: the same numbers for the same seed, on every machine."""

    def bits(self) -> int:
        """Returns 64 random bits, a seed for generators of others."""
    def integers(self, bound: SupportsIndex, size: _Size = None) -> Any:
        """Returns integers from 0 to bound - 1: int64 of the shape `size`, or one int without it."""
    def uniform(self, size: _Size = None) -> Any:
        """Returns numbers in [0, 1): float64 of the shape `size`, or one float without it."""
    def normal(self, size: _Size = None) -> Any:
        """Returns samples of the standard normal distribution, as uniform() does."""

class Evaluator:
    """What an agent may use while it places: a budget of evaluations and a random stream."""

    def evaluate(self, placements: ArrayLike) -> Any:
        """Evaluates (N, groups) placements, on all threads without the GIL. Each takes one from the budget.

        Returns Evaluations, arrays of N numbers; for one placement, (groups,), an Evaluation. Placements beyond the
        budget have the status BUDGET_SPENT.
        """
    @property
    def evaluations(self) -> int:
        """How many evaluations are spent."""
    @property
    def evaluations_left(self) -> int:
        """How many evaluations are left."""
    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent, or the agent has to end for another reason."""
    @property
    def share_used(self) -> float:
        """How much of the budget is used, from 0 to 1."""
    @property
    def best_placement(self) -> Optional[NDArray[numpy.int32]]:
        """(groups,) The placement with the least objective so far; None before the first evaluation."""
    @property
    def best_evaluation(self) -> Optional[Evaluation]:
        """The evaluation of best_placement."""
    def prove_bound(self, us: float) -> None:
        """Records a proof that no placement that fits takes less."""
    @property
    def random(self) -> Random:
        """The agent's random numbers, which depend on the seed alone."""

def load_graph(name_or_path: _Path) -> Graph:
    """Builds a graph by name or reads a file, as the program does."""

def read_graph(text: str, format: str, source: str) -> Graph:
    """Reads a graph; `source` names it in errors."""

def write_graph(graph: Graph, format: str) -> str:
    """Returns a graph as `emplace convert --to` writes it, in a format of text."""

def load_cluster(name_or_path: _Path) -> Cluster:
    """Finds a cluster by name or reads a file, as the program does."""

def read_cluster(text: str, source: str) -> Cluster:
    """Reads a cluster; `source` names it in errors."""

def problem(graph: Union[_Path, Graph], cluster: Union[_Path, Cluster], groups: int = 0, grouping: str = "",
            constraints: dict[str, Any] = {}) -> Problem:
    """Compiles a problem of a name or path each, or of a Graph and a Cluster."""

def compare(placements: Sequence[tuple[str, Problem, ArrayLike]], draws: int, seed: int,
            with_page: bool) -> tuple[str, str, str]:
    """Returns a comparison in JSON, as text, and as a page."""

def op_sites(graphs: Sequence[Graph]) -> str:
    """Returns the distinct ops of graphs, in JSON."""

def calibrated_cluster(graphs: Sequence[Graph], devices: str, samples: str, name: str, runs: int, max_copy: int,
                       full_precision: bool) -> dict[str, Any]:
    """Returns the cluster that samples of this machine make."""

def load_plugin(path: _Path) -> None:
    """Adds the agents of a shared library, such as examples/plugin makes. Raises UnsupportedError if it cannot."""

def version() -> str:
    """Returns the version of emplace."""

def agents() -> list[str]:
    """Returns the names of all agents, also of those in Python."""

def graphs() -> list[str]:
    """Returns the names of the built-in graphs."""

def clusters() -> list[str]:
    """Returns the names of the shipped clusters."""

def suites() -> list[str]:
    """Returns the names of the shipped suites."""

def agent_info(name: str) -> dict[str, Any]:
    """Returns what is known about an agent."""

def register_agent(name: str, kind: str, summary: str, description: str, reference: str, deterministic: bool,
                   respects_placeable: bool, groups: Optional[int], trainable: bool,
                   parameters: list[dict[str, Any]]) -> None:
    """Adds an agent in Python to the registry."""

def place(problem: Problem, agent: str, evaluations: int, time_limit_s: Optional[float], seed: int,
          start: Optional[ArrayLike], threads: int, policy: Optional[tuple[str, str]]) -> dict[str, Any]:
    """Lets an agent place, or the policy of a text and its source; returns the fields of Placed."""

def train(agent: str, graphs: list[str], clusters: list[str], episodes: int, groups: int, grouping: str, patience: int,
          seed: int, validation: list[str], threads: int, progress: Optional[Callable[[int, int], None]]
          ) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]], str]:
    """Trains a policy; returns the text of its file, the rows of its curve, of validations, and how it ended."""

def merge_runs(folders: list[str], output: str) -> None:
    """Merges the results of shards."""

def mistakes_of_agent(agent: str) -> list[str]:
    """Returns what an agent does not do as it must."""

def run_suite(text: str, source: str, folder: str, seed: int, shard: str, resume: bool, threads: int,
              arguments: list[str], files: list[tuple[str, bytes]], warn: Callable[[str], None],
              progress: Optional[Callable[[int, int], None]]) -> str:
    """Runs a suite; returns which cells this machine could not run."""

def read_run(folder: str) -> tuple[str, dict[str, list[dict[str, Any]]]]:
    """Returns the report of a run in JSON, and its tables."""

def report_text(folder: str, color: bool, json: bool) -> tuple[str, int, int, int]:
    """Returns the report of a run as text, and the numbers of its cells."""

def suite_of_run(folder: str) -> str:
    """Returns the name of the suite of a run."""

def complete_suite(text: str, source: str) -> str:
    """Returns a suite without "*" and "extends"."""

def name_of_run(text: str, source: str, shard: str) -> str:
    """Returns the name of the folder of a run."""

def suite_text(name_or_path: str) -> str:
    """Returns the file of a suite, completed."""

def set_docstring(function: Callable[..., Any], text: str) -> None:
    """Sets the docstring of a function of this module, which Python itself cannot."""
