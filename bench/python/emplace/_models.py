"""Graphs of PyTorch models, and the placement of their modules."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

from emplace import _core
from emplace._errors import UnsupportedError, UsageError, tells_nearest_argument
from emplace._problems import problem as problem_of
from emplace._tables import html_of
from emplace._types import describes_fields

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from emplace._problems import AnyCluster
    from emplace._runs import Placed


def _torch_module() -> Any:
    try:
        from emplace import _torch
    except ImportError as error:
        raise UnsupportedError(f"PyTorch cannot be imported ({error}); Debian has it as python3-torch") from error
    return _torch


@tells_nearest_argument
def from_torch(model: Any, example_inputs: Any, *, training: bool = True, optimizer: str = "adam",
               loss: Optional[Callable[..., Any]] = None, targets: Any = None, dtype: str = "float32",
               clip: bool = False) -> _core.Graph:
    """Returns the graph of one step of a torch.nn.Module, or of a torch.export.ExportedProgram.

    `example_inputs` is a tensor, a tuple of arguments or a dict of keyword arguments; their shapes, with the batch,
    are those of the step. The model runs once, on tensors without data where it can, and is left as it was. With
    `training`, the graph has the backward pass and the updates of `optimizer`. The loss is then what the model
    returns, `loss(model(...), *targets)`, or the cross entropy of the model's logits. Modules are scopes. `dtype` is
    that of torch.autocast, float16 or bfloat16; with `clip`, gradients are clipped by their norm.

    Raises UsageError for wrong arguments, and UnsupportedError without PyTorch.

        graph = emplace.from_torch(torchvision.models.resnet50(), torch.zeros(64, 3, 224, 224))
    """
    text = _torch_module().program_of(model, example_inputs, training=training, loss=loss, targets=targets)
    flags = f"training={json.dumps(training)},optimizer={optimizer},dtype={dtype},clip={json.dumps(clip)}"
    graph = _core.read_graph(text, f"torch-export:{flags}", type(model).__name__)
    if graph.uncounted:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in graph.uncounted.items())
        warnings.warn(f"{graph.name}: no FLOPs are counted of operators that emplace does not know, by kind and number "
                      f"of ops: {kinds}; their costs are guesses", stacklevel=2)
    return graph


@describes_fields
class PlacedModel(NamedTuple):
    """Where the modules of a model go, and what a step then takes.

    device_map: the number of a GPU, or "cpu", by module or parameter; what is below a module goes with it
    step_time_us: microseconds of the step as placed, op by op
    device_map_step_time_us: microseconds as PyTorch runs the device map
    status: "ok" or "out_of_memory"
    memory: the most bytes that are taken at once, by device
    timeline: the step as a Chrome trace, for ui.perfetto.dev
    placed: what place(problem) returns
    problem: the graph of the model on the cluster
    """

    device_map: dict[str, Union[int, str]]
    step_time_us: float
    device_map_step_time_us: float
    status: str
    memory: dict[str, int]
    timeline: str
    placed: Placed
    problem: _core.Problem

    def __repr__(self) -> str:
        return (f"<emplace.PlacedModel {self.status}, {self.step_time_us / 1e3:.3f} ms, as a device map "
                f"{self.device_map_step_time_us / 1e3:.3f} ms>")

    def _repr_html_(self) -> str:
        return html_of(repr(self), [{"module": path, "device": device} for path, device in self.device_map.items()])


@tells_nearest_argument
def device_map(problem: _core.Problem, placement: ArrayLike) -> dict[str, Union[int, str]]:
    """Returns the device of each module as Accelerate reads it: the number of a GPU, or "cpu", by path.

    What is below a module goes with it. Modules that PyTorch cannot split go to the device where the step
    loses least, as by `emplace convert --to torch-device-map`, which reports what moves.
    """
    return json.loads(problem.export(placement, "torch-device-map").text)


def place_model(model: Any, example_inputs: Any, *, cluster: AnyCluster, place: Callable[..., Placed],
                training: bool = True, optimizer: str = "adam", loss: Optional[Callable[..., Any]] = None,
                targets: Any = None, groups: int = 0, grouping: str = "", agent: Any = None,
                **options: Any) -> PlacedModel:
    """Returns a PlacedModel; called by place()."""
    graph = model
    if not isinstance(model, _core.Graph):
        if example_inputs is None:
            raise UsageError("to place a model, give its example_inputs")
        graph = from_torch(model, example_inputs, training=training, optimizer=optimizer, loss=loss, targets=targets)
    problem = problem_of(graph, cluster, groups, grouping)
    placed = place(problem, *([] if agent is None else [agent]), **options)
    memory = dict(zip(problem.devices, placed.peak_bytes.tolist()))
    exported = problem.export(placed.placement, "torch-device-map")
    return PlacedModel(json.loads(exported.text), placed.step_time_us, exported.step_time_us, placed.status, memory,
                       problem.trace(placed.placement), placed, problem)
