from typing import Any, Callable, Optional, Sequence, SupportsIndex, Union

import numpy
from numpy.typing import ArrayLike, NDArray

from emplace._types import Evaluation, Evaluations, Export, Path as _Path

_Size = Union[None, SupportsIndex, Sequence[SupportsIndex]]

class Graph:
    """The ops of one step, and what they hand on."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def num_ops(self) -> int: ...
    @property
    def num_edges(self) -> int: ...
    @property
    def flops(self) -> int:
        """Of the step; a multiply-add is two."""
    @property
    def forward_flops(self) -> int:
        """Of the forward pass."""
    @property
    def parameters(self) -> int:
        """The trained numbers."""
    @property
    def persistent_bytes(self) -> int:
        """What parameters, buffers and optimizer slots take."""
    @property
    def names(self) -> list[str]: ...
    @property
    def kinds(self) -> list[str]: ...
    @property
    def scopes(self) -> list[str]:
        """The module that calls each op, as a path with slashes."""
    @property
    def phases(self) -> list[str]:
        """"forward", "backward" or "update"."""
    @property
    def uncounted(self) -> dict[str, int]:
        """How many ops of each kind have no FLOPs because emplace does not know the kind."""
    @property
    def op_flops(self) -> NDArray[numpy.int64]:
        """(ops,)"""
    def save(self, path: _Path) -> None:
        """Writes a graph file, which every command of the program reads."""

class Step:
    """One simulated step. Times are in microseconds."""

    @property
    def status(self) -> str:
        """"ok" or "out_of_memory"."""
    @property
    def fits(self) -> bool: ...
    @property
    def step_time_us(self) -> float: ...
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
        """(ops,)"""
    @property
    def end_us(self) -> NDArray[numpy.float64]:
        """(ops,)"""
    @property
    def placement(self) -> NDArray[numpy.int32]:
        """(groups,)"""

class Problem:
    """A graph on a cluster. Arrays are read-only; those marked as views share the memory of the problem."""

    @property
    def graph(self) -> str: ...
    @property
    def cluster(self) -> str: ...
    @property
    def num_ops(self) -> int: ...
    @property
    def num_groups(self) -> int: ...
    @property
    def num_devices(self) -> int: ...
    @property
    def devices(self) -> list[str]:
        """The names of the devices."""
    @property
    def placeable_devices(self) -> NDArray[numpy.int32]:
        """The devices from which agents choose; a view."""
    @property
    def capacities(self) -> NDArray[numpy.int64]:
        """(devices,) The memory of each, in bytes."""
    @property
    def costs(self) -> NDArray[numpy.float64]:
        """(groups, devices) The time of all ops of a group, in microseconds."""
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
        """Returns the ops of a group; a view."""
    def op_costs(self, device: int) -> NDArray[numpy.float64]:
        """Returns the costs of all ops on a device, in microseconds; a view."""
    def transfer_us(self, bytes: int, source: int, target: int) -> float:
        """Returns how long bytes take between two devices if nothing else moves."""
    def simulate(self, placement: ArrayLike) -> Step:
        """Simulates one step."""
    def evaluate(self, placements: ArrayLike) -> Any:
        """Simulates (N, groups) placements on all threads without the GIL: Evaluations. One placement: Evaluation."""
    def constrain(self, placement: ArrayLike) -> NDArray[numpy.int32]:
        """Returns the placement with pinned groups on their devices and tied ones together. All methods do this first."""
    def explain(self, placement: ArrayLike) -> dict[str, Any]:
        """Returns what bounds the step, as `emplace simulate --explain --json` does."""
    def trace(self, placement: ArrayLike) -> str:
        """Returns the step as a Chrome trace, for ui.perfetto.dev."""
    @property
    def bounds(self) -> dict[str, Any]:
        """Lower bounds on the step time in microseconds; `best_us` is the largest, `by` says which that is."""
    def save(self, placement: ArrayLike, path: _Path) -> None:
        """Writes a placement file."""
    def export(self, placement: ArrayLike, format: str) -> Export:
        """Returns a placement as `emplace convert --placement --to` writes it (emplace list placement-formats)."""
    def load(self, path: _Path) -> NDArray[numpy.int32]:
        """Reads a placement file."""

class Random:
    """The random stream of an evaluator: the same numbers for the same seed, on every machine."""

    def bits(self) -> int:
        """Returns 64 random bits, a seed for generators of others."""
    def integers(self, bound: SupportsIndex, size: _Size = None) -> Any:
        """Returns integers from 0 to bound - 1."""
    def uniform(self, size: _Size = None) -> Any:
        """Returns numbers in [0, 1)."""
    def normal(self, size: _Size = None) -> Any:
        """Returns samples of the standard normal distribution."""

class Evaluator:
    """What an agent may use while it places: a budget of evaluations and a random stream."""

    def evaluate(self, placements: ArrayLike) -> Any:
        """Evaluates (N, groups) placements on all threads without the GIL: Evaluations. One placement: Evaluation."""
    @property
    def evaluations(self) -> int: ...
    @property
    def evaluations_left(self) -> int: ...
    @property
    def exhausted(self) -> bool: ...
    @property
    def share_used(self) -> float:
        """How much of the budget is used, from 0 to 1."""
    @property
    def best_placement(self) -> Optional[NDArray[numpy.int32]]: ...
    @property
    def best_evaluation(self) -> Optional[Evaluation]: ...
    def prove_bound(self, us: float) -> None:
        """Records a proof that no placement that fits takes less."""
    @property
    def random(self) -> Random: ...

def load_graph(name_or_path: _Path) -> Graph:
    """Builds a graph by name or reads a file, as the program does."""

def read_graph(text: str, format: str, source: str) -> Graph: ...
def problem(graph: Union[_Path, Graph], cluster: _Path, groups: int = 0, grouping: str = "",
            constraints: dict[str, Any] = {}) -> Problem: ...
def compare(placements: Sequence[tuple[str, Problem, ArrayLike]], draws: int, seed: int,
            with_page: bool) -> tuple[str, str, str]: ...
def op_sites(graphs: Sequence[Graph]) -> str: ...
def calibrated_cluster(graphs: Sequence[Graph], devices: str, samples: str, name: str, runs: int, max_copy: int,
                       full_precision: bool) -> dict[str, Any]: ...
def load_plugin(path: _Path) -> None:
    """Adds the agents of a shared library, such as examples/plugin makes."""

def version() -> str: ...
def agents() -> list[str]: ...
def graphs() -> list[str]: ...
def clusters() -> list[str]: ...
def suites() -> list[str]: ...
def agent_info(name: str) -> dict[str, Any]: ...
def register_agent(name: str, kind: str, summary: str, description: str, reference: str, deterministic: bool,
                   respects_placeable: bool, groups: Optional[int], trainable: bool,
                   parameters: list[dict[str, Any]]) -> None: ...
def place(problem: Problem, agent: str, evaluations: int, time_limit_s: Optional[float], seed: int,
          start: Optional[ArrayLike], threads: int, policy: Optional[tuple[str, str]]) -> dict[str, Any]: ...
def train(agent: str, graphs: list[str], clusters: list[str], episodes: int, groups: int, grouping: str, patience: int,
          seed: int, threads: int, progress: Optional[Callable[[int, int], None]]
          ) -> tuple[str, list[dict[str, Any]], str]: ...
def merge_runs(folders: list[str], output: str) -> None: ...
def mistakes_of_agent(agent: str) -> list[str]: ...
def run_suite(text: str, source: str, folder: str, seed: int, shard: str, resume: bool, threads: int,
              arguments: list[str], files: list[tuple[str, bytes]], warn: Callable[[str], None],
              progress: Optional[Callable[[int, int], None]]) -> str: ...
def read_run(folder: str) -> tuple[str, dict[str, list[dict[str, Any]]]]: ...
def report_text(folder: str, color: bool, json: bool) -> tuple[str, int, int, int]: ...
def suite_of_run(folder: str) -> str: ...
def complete_suite(text: str, source: str) -> str: ...
def name_of_run(text: str, source: str, shard: str) -> str: ...
def suite_text(name_or_path: str) -> str: ...
