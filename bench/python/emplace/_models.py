"""Graphs of PyTorch's models, and what a placement says of their modules."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

import numpy

from emplace import _core
from emplace._errors import UnsupportedError, UsageError


if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from emplace._runs import Placed


def _torch_module() -> Any:
    try:
        from emplace import _torch
    except ImportError as error:
        raise UnsupportedError(f"PyTorch cannot be imported ({error}); Debian has it as python3-torch") from error
    return _torch


def from_torch(model: Any, example_inputs: Any, *, training: bool = True, optimizer: str = "adam",
               loss: Optional[Callable[..., Any]] = None, targets: Any = None) -> _core.Graph:
    """Returns the graph of one step of a torch.nn.Module, or of a torch.export.ExportedProgram.

    `example_inputs` is a tensor, a tuple of arguments or a dict of keyword arguments; their shapes, with the batch,
    are those of the step. The model runs once, on tensors without data where it can, and is left as it was. With
    `training`, the graph has the backward pass and the updates of `optimizer`. The loss is then what the model
    returns, `loss(model(...), *targets)`, or the cross entropy of the model's logits. Modules are scopes.
    """
    text = _torch_module().program_of(model, example_inputs, training=training, loss=loss, targets=targets)
    flags = f"training={'true' if training else 'false'}"
    return _core.read_graph(text, f"torch-export:{flags},optimizer={optimizer}", type(model).__name__)


class PlacedModel(NamedTuple):
    """Where the modules of a model go, and what a step then takes."""

    device_map: dict[str, str]  # by module or parameter; what is below a module goes with it
    step_time_us: float
    status: str
    memory: dict[str, int]  # the most bytes taken at once, by device
    timeline: str  # of the step, as a Chrome trace for ui.perfetto.dev
    placed: Placed
    problem: _core.Problem


def _torch_device(name):
    """Returns a device as PyTorch calls it: "gpu:1" is "cuda:1"."""
    kind, _, number = name.partition(":")
    return {"gpu": f"cuda:{number or 0}", "cpu": "cpu"}.get(kind, name)


def device_map(problem: _core.Problem, placement: ArrayLike) -> dict[str, str]:
    """Returns the device of each module, by the longest path that needs one entry only.

    A module whose forward ops are on one device has one entry. One that is split has entries for the modules and
    parameters in it; a module without others in it goes where most of its work is.
    """
    costs = numpy.array([problem.op_costs(device) for device in range(problem.num_devices)])
    devices = numpy.asarray(placement)[problem.groups]
    work = collections.defaultdict(collections.Counter)  # by scope and device
    parameters = collections.defaultdict(dict)  # device by name, by the scope that owns them
    children = collections.defaultdict(set)
    # PyTorch computes gradients where it has computed what they are of.
    for op, (name, kind, scope, phase) in enumerate(zip(problem.names, problem.kinds, problem.scopes, problem.phases)):
        if phase != "forward" or kind == "input" or scope.partition("/")[0] == "loss":
            continue
        if kind in ("variable", "constant"):
            for part in name.rpartition("/")[2].split("+"):
                parameters[scope][part] = devices[op]
        parts = scope.split("/") if scope else []
        work[scope][devices[op]] += costs[devices[op], op]
        for length in range(len(parts)):
            children["/".join(parts[:length])].add("/".join(parts[:length + 1]))

    below = collections.defaultdict(set)

    def gather(scope):
        below[scope] |= set(work[scope])
        for child in children[scope]:
            gather(child)
            below[scope] |= below[child]
    gather("")

    found = {}

    def assign(scope):
        path = scope.replace("/", ".")
        if len(below[scope]) == 1 or not children[scope]:
            most = work[scope].most_common(1)
            device = next(iter(below[scope])) if len(below[scope]) == 1 else most[0][0]
            found[path] = _torch_device(problem.devices[device])
            return
        for name, device in sorted(parameters[scope].items()):
            found[f"{path}.{name}" if path else name] = _torch_device(problem.devices[device])
        for child in sorted(children[scope]):
            assign(child)
    assign("")
    return found


def place_model(model: Any, example_inputs: Any, *, cluster: str, place: Callable[..., Placed], training: bool = True,
                optimizer: str = "adam", loss: Optional[Callable[..., Any]] = None, targets: Any = None,
                groups: int = 0, grouping: str = "", agent: Any = None, **options: Any) -> PlacedModel:
    """Returns a PlacedModel; called by place()."""
    graph = model
    if not isinstance(model, _core.Graph):
        if example_inputs is None:
            raise UsageError("to place a model, give its example_inputs")
        graph = from_torch(model, example_inputs, training=training, optimizer=optimizer, loss=loss, targets=targets)
    problem = _core.problem(graph, cluster, groups, grouping)
    placed = place(problem, *([] if agent is None else [agent]), **options)
    memory = dict(zip(problem.devices, placed.peak_bytes.tolist()))
    return PlacedModel(device_map(problem, placed.placement), placed.step_time_us, placed.status, memory,
                       problem.trace(placed.placement), placed, problem)
