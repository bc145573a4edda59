"""Steps of models that ran here, next to their simulation: docs/guide/calibrate.md."""

from __future__ import annotations

import functools
import statistics
import time
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

import numpy

from emplace import _core
from emplace._calibrate import Place, on_cores, places_of, settings
from emplace._errors import UsageError, tells_nearest_argument
from emplace._models import _torch_module, from_torch
from emplace._problems import problem as problem_of
from emplace._types import describes_fields

if TYPE_CHECKING:
    from emplace._problems import AnyCluster


# Steps before those that count.
_WARM_UP = 2


@describes_fields
class ValidatedStep(NamedTuple):
    """A placement, and how long a step took.

    name: what the placement is called
    predicted_us: microseconds in the simulation
    measured_us: microseconds on this machine, the median
    device_map: the device of each module, by its name in the cluster
    """

    name: str
    predicted_us: float
    measured_us: float
    device_map: dict[str, str]

    @property
    def error(self) -> float:
        """|predicted - measured| / measured"""
        return abs(self.predicted_us - self.measured_us) / self.measured_us


@describes_fields
class Validation(NamedTuple):
    """What validate() found.

    steps: one for each placement
    """

    steps: list[ValidatedStep]

    @property
    def mean_error(self) -> float:
        """The mean of the steps' errors."""
        return statistics.fmean(step.error for step in self.steps)


def _device_of_groups(problem: _core.Problem, device_map: Mapping[str, str]) -> list[int]:
    """Returns the placement of groups: where their modules go, and others with their neighbours."""
    from emplace._placed_steps import device_of
    unknown = sorted(set(device_map.values()) - set(problem.devices))
    if unknown:
        raise UsageError(f"cluster {problem.cluster} has no device '{unknown[0]}'; it has {', '.join(problem.devices)}")
    own: list[Optional[int]] = [None] * problem.num_groups
    for group, scope in zip(problem.groups.tolist(), problem.scopes):
        found = device_of(scope.replace("/", "."), device_map) if scope else None
        if own[group] is None and found is not None:
            own[group] = problem.devices.index(found)
    # What belongs to no module is where its first producer is, or else its first consumer.
    edges = problem.edges.tolist()
    edges += [edge[::-1] for edge in edges]
    while None in own:
        before = own.copy()
        for here, there in edges:
            if own[there] is None:
                own[there] = own[here]
        if own == before:  # nothing is next to a module
            own = [int(problem.placeable_devices[0]) if place is None else place for place in own]
    return own  # type: ignore[return-value]


def _name_of(device: Union[int, str]) -> str:
    """Returns what a device of a map is called in a cluster."""
    return f"gpu:{device}" if isinstance(device, int) else "cpu:0" if device == "cpu" else device


def _cuts(problem: _core.Problem, model: Any, devices: list[str]) -> dict[str, dict[str, str]]:
    """Returns device maps: all on one device, cuts in two at a half and a quarter of the time, and random ones."""
    parts = [path for path, module in model.named_modules()
             if not any(module.children()) or any(True for _ in module.parameters(recurse=False))]
    seconds = dict.fromkeys(parts, 0.0)
    order: list[str] = []
    for scope, cost in zip(problem.scopes, problem.op_costs(int(problem.placeable_devices[0])).tolist()):
        path = scope.replace("/", ".")
        while path and path not in seconds:
            path = path.rpartition(".")[0]
        if path in seconds:
            if path not in order:
                order.append(path)
            seconds[path] += cost
    maps = {devices[0]: {"": devices[0]}}
    if len(devices) > 1:
        for name, share in (("half", 0.5), ("quarter", 0.25)):
            done, limit = 0.0, share * sum(seconds.values())
            maps[name] = {}
            for path in order:
                maps[name][path] = devices[0] if done < limit else devices[1]
                done += seconds[path]
        random = numpy.random.default_rng(0)
        maps["random"] = {path: devices[int(random.integers(2))] for path in order}
    return maps


def _median_us(step: Callable[[], None], steps: int) -> float:
    import torch
    times = []
    for _ in range(_WARM_UP + steps):
        begin = time.perf_counter()
        step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(1e6 * (time.perf_counter() - begin))
    return statistics.median(times[_WARM_UP:])


class Training(NamedTuple):
    """How users say that a model is trained."""

    optimizer: str
    loss: Optional[Callable[..., Any]]
    targets: Any
    dtype: str
    clip: bool

    def graph(self, model: Any, example_inputs: Any) -> _core.Graph:
        return from_torch(model, example_inputs, **self._asdict())

    def measured_us(self, model: Any, example_inputs: Any, device_map: Mapping[str, str], places: Sequence[Place],
                    steps: int) -> float:
        """Returns how long a training step of a copy of the model takes, as the map places it."""
        from emplace import _placed_steps, _torch_ops
        inputs = ((), example_inputs) if isinstance(example_inputs, dict) else (
            tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,), {})
        targets = self.targets
        given = targets if isinstance(targets, (tuple, list)) else () if targets is None else (targets,)

        def loss_of(outputs: Any) -> Any:
            if self.loss is None:
                return _placed_steps.default_loss(outputs)
            return self.loss(outputs, *_placed_steps.next_to(outputs, given))

        recipe = _placed_steps.Recipe(loss_of, _torch_ops.OPTIMIZERS[self.optimizer], self.dtype,
                                      1.0 if self.clip else None)
        with _placed_steps.step_of(model, inputs, recipe, device_map, places) as (step, place):
            timed = functools.partial(_median_us, step, steps)
            return timed() if place is None else on_cores(place, timed)


def predicted_us(problem: _core.Problem, device_map: Mapping[str, str]) -> float:
    """Returns how long the step takes in the simulation."""
    return problem.simulate(numpy.array(_device_of_groups(problem, device_map), numpy.int32)).step_time_us


@tells_nearest_argument
def validate(model: Any, example_inputs: Any, *, cluster: AnyCluster, devices: str = "cpu",
             placements: Optional[Mapping[str, Mapping[str, Union[int, str]]]] = None, steps: int = 10,
             optimizer: str = "adam", loss: Optional[Callable[..., Any]] = None, targets: Any = None,
             dtype: str = "float32", clip: bool = False, full_precision: bool = False) -> Validation:
    """Runs training steps of a torch.nn.Module as it is and placed by device maps, and compares them with simulation.

    `cluster` is of this machine, by calibrate() with the same `devices`, `dtype` and `full_precision`. `placements` are
    device maps by name: the device of each module by its path, as place() and device_map() return them, or by its name
    in the cluster. Without, the model runs on one device, cut in two, and placed at random. Loss and `optimizer` are
    those of from_torch(); `dtype` is that of torch.autocast, without a GradScaler; with `clip`, clip_grad_norm_() comes
    before the update. A step is the median of `steps`. The model is left as it was.
    """
    _torch_module()  # says what is missing
    places = places_of(devices)
    training = Training(optimizer, loss, targets, dtype, clip)
    problem = problem_of(training.graph(model, example_inputs), cluster)
    names = [place.name for place in places]
    if missing := sorted(set(names) - set(problem.devices)):
        raise UsageError(f"cluster {problem.cluster} has no device '{missing[0]}'; it has {', '.join(problem.devices)}")
    chosen = {name: {path: _name_of(device) for path, device in device_map.items()}
              for name, device_map in (placements or _cuts(problem, model, names)).items()}
    with settings(full_precision):
        return Validation([
            ValidatedStep(name, predicted_us(problem, device_map),
                          training.measured_us(model, example_inputs, device_map, places, steps), device_map)
            for name, device_map in chosen.items()])
