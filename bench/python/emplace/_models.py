"""Graphs of PyTorch models, and the placement of their modules."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

from emplace import _core
from emplace._errors import UnsupportedError, UsageError, argument_names, tells_nearest_argument
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
               clip: bool = False, micro_batches: int = 1) -> _core.Graph:
    """Returns the graph of one step of a torch.nn.Module, or of a torch.export.ExportedProgram.

    `example_inputs` is a tensor, a tuple of arguments or a dict of keyword arguments; their shapes, with the batch,
    are those of the step. The model runs once, on tensors without data where it can, and is left as it was. With
    `training`, the graph has the backward pass and the updates of `optimizer`. The loss is then what the model
    returns, `loss(model(...), *targets)`, or the cross entropy of the model's logits. Modules are scopes. `dtype` is
    that of torch.autocast, float16 or bfloat16; with `clip`, gradients are clipped by their norm. With `micro_batches`,
    a training step has so many parts, each with the inputs of the example: a placement of it is a pipeline.

    Raises UsageError for wrong arguments, and UnsupportedError without PyTorch and for what has no one graph.

        graph = emplace.from_torch(torchvision.models.resnet50(), torch.zeros(64, 3, 224, 224))
    """
    text = _torch_module().program_of(model, example_inputs, training=training, loss=loss, targets=targets)
    flags = f"training={json.dumps(training)},optimizer={optimizer},dtype={dtype},clip={json.dumps(clip)}"
    if micro_batches != 1:
        flags += f",micro-batches={micro_batches}"
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

    def apply(self, model: Any, devices: Union[None, Sequence[Any], Mapping[Union[int, str], Any]] = None) -> Any:
        """Moves the modules of `model` to their devices, has what they read move there, too, and returns it.

        `devices` are torch devices: a list, in the order of problem.placeable_devices, or a dict by device of the map,
        as {0: "cuda:2", 1: "cpu"}. Unless told otherwise, 0 is cuda:0, 1 is cuda:1, and so on, and "cpu" is the CPU,
        which computes what is on it. Results of the model move to the device of its inputs. Accelerate's
        dispatch_model() adds the hooks where that package is installed. Parameters stay the same objects, so optimizers
        that have them go on. Raises UsageError if the map is of another model or uses a device that PyTorch has not.
        """
        _torch_module()  # says what is missing
        from emplace import _apply
        return _apply.apply(model, self.problem, self.device_map, devices)

    def stages(self) -> list[tuple[Union[int, str], list[str]]]:
        """Returns the stages of a pipeline: the device of each, and its modules in the order in which they run.

        Raises UnsupportedError if a device runs modules before and after those of another one. A step in one part is
        seldom faster in stages: place it with `micro_batches`.

            split = {modules[0]: SplitPoint.BEGINNING for _, modules in placed.stages()[1:]}
            pipe = torch.distributed.pipelining.pipeline(model, (micro_batch,), split_spec=split)
        """
        found: list[tuple[Union[int, str], list[str]]] = []
        for name, scope, kind, phase in zip(self.problem.names, self.problem.scopes, self.problem.kinds,
                                            self.problem.phases):
            if phase != "forward" or kind in ("input", "variable", "constant") or name.rpartition("#")[2].isdecimal():
                continue  # NAME#1 and so on are of other micro-batches
            path = scope.replace("/", ".")
            while path and path not in self.device_map:
                path = path.rpartition(".")[0]
            if path not in self.device_map:
                continue  # what a module with several devices computes itself follows what it reads
            device = self.device_map[path]
            if not found or found[-1][0] != device:
                if any(device == other for other, _ in found):
                    raise UnsupportedError(
                        f"not a pipeline: module '{path}' runs on {device!r} after '{found[-1][1][-1]}' on "
                        f"{found[-1][0]!r}, and a stage of {device!r} ran before; the agent pipeline-dp places modules "
                        "of a stage one after another, and constraints={'together': [MODULE, ...]} keep modules whole")
                found.append((device, []))
            if path not in found[-1][1]:
                found[-1][1].append(path)
        return found

    def _repr_html_(self) -> str:
        return html_of(repr(self), [{"module": path, "device": device} for path, device in self.device_map.items()])


@tells_nearest_argument
def device_map(problem: _core.Problem, placement: ArrayLike) -> dict[str, Union[int, str]]:
    """Returns the device of each module as Accelerate reads it: the number of a GPU, or "cpu", by path.

    What is below a module goes with it. Modules that PyTorch cannot split go to the device where the step
    loses least, as by `emplace convert --to torch-device-map`, which reports what moves.
    """
    return json.loads(problem.export(placement, "torch-device-map").text)


def place_model(model: Any, example_inputs: Any, *, cluster: AnyCluster, place: Callable[..., Placed], groups: int = 0,
                grouping: str = "", constraints: Optional[dict[str, Any]] = None, agent: Any = None,
                **options: Any) -> PlacedModel:
    """Returns a PlacedModel; called by place()."""
    graph = model
    if not isinstance(model, _core.Graph):
        if example_inputs is None:
            raise UsageError("to place a model, give its example_inputs")
        of_graph = {name: options.pop(name) for name in argument_names(from_torch)[2:] if name in options}
        graph = from_torch(model, example_inputs, **of_graph)
    problem = problem_of(graph, cluster, groups, grouping, constraints)
    placed = place(problem, *([] if agent is None else [agent]), **options)
    memory = dict(zip(problem.devices, placed.peak_bytes.tolist()))
    exported = problem.export(placed.placement, "torch-device-map")
    return PlacedModel(json.loads(exported.text), placed.step_time_us, exported.step_time_us, placed.status, memory,
                       problem.trace(placed.placement), placed, problem)
