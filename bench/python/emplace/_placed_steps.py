"""Training steps of PyTorch models, on one device or on several: imported where they are made only."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import operator
import os
import queue
import statistics
import threading
import time
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

import torch
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from emplace._calibrate import Place
from emplace._errors import UnsupportedError


def device_of(path: str, device_map: Mapping[str, Any]) -> Any:
    """Returns the device of a module: its own in the map, that of the nearest module above it, or None."""
    parts = path.split(".") if path else []
    for count in range(len(parts), -1, -1):
        found = device_map.get(".".join(parts[:count]))
        if found is not None:
            return found
    return None


def default_loss(outputs: Any) -> torch.Tensor:
    """Returns the loss that from_torch() takes: numbers are losses, and other results logits."""
    total = None
    for value in pytree.tree_flatten(outputs)[0]:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.requires_grad:
            continue
        if value.dim() > 0:
            rows = value.reshape(-1, value.shape[-1])
            value = F.cross_entropy(rows, torch.zeros(len(rows), dtype=torch.int64, device=value.device))
        total = value if total is None else total + value
    if total is None:
        raise UnsupportedError("the model returns nothing that can be trained")
    return total


def on_device(values: Any, device: Any) -> Any:
    """Returns a tree of values with its tensors on a device."""
    return pytree.tree_map(lambda value: value.to(device) if isinstance(value, torch.Tensor) else value, values)


def next_to(outputs: Any, given: Sequence[Any]) -> list[Any]:
    """Returns tensors on the device of a model's outputs."""
    device = next((value.device for value in pytree.tree_flatten(outputs)[0] if isinstance(value, torch.Tensor)), None)
    return on_device(list(given), device)


class Recipe(NamedTuple):
    """How a model is trained."""

    loss: Callable[[Any], Any]  # of what the model returns
    optimizer: Callable[[Any], Any]  # of parameters
    dtype: str = "float32"  # of torch.autocast
    max_norm: Optional[float] = None  # to which gradients are clipped

    def autocast(self, device: str) -> Any:
        """Returns the context of a forward pass."""
        if self.dtype == "float32":
            return contextlib.nullcontext()
        return torch.autocast(torch.device(device).type, getattr(torch, self.dtype))


class Step:
    """A training step of a model as it is, on one device, or with hooks that move what modules read."""

    def __init__(self, model: Any, inputs: Any, recipe: Recipe) -> None:
        self.model, self.inputs, self.recipe = model, inputs, recipe
        self.parameters = list(model.parameters())
        self.optimizer = recipe.optimizer(self.parameters)

    def __call__(self) -> None:
        arguments, keywords = self.inputs
        self.optimizer.zero_grad()
        with self.recipe.autocast(str(self.parameters[0].device)):
            loss = self.recipe.loss(self.model(*arguments, **keywords))
        loss.backward()
        if self.recipe.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.recipe.max_norm)
        self.optimizer.step()


def put(model: Any, device_map: Mapping[str, Any]) -> None:
    """Moves parameters and buffers where the map says. They stay the same objects if their devices let them."""
    replaced: dict[int, tuple[Any, Any]] = {}  # by id of what was there: modules share tensors
    for path, module in model.named_modules():
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                own = device_of(f"{path}.{name}" if path else name, device_map)
                if tensor is None or own is None:
                    continue
                moved = tensor.data.to(own)
                if type(tensor) in (torch.Tensor, torch.nn.Parameter) and torch._has_compatible_shallow_copy_type(
                        tensor, moved):
                    tensor.data = moved
                    continue
                if tensors is module._parameters:
                    moved = torch.nn.Parameter(moved, tensor.requires_grad)
                tensors[name] = replaced.setdefault(id(tensor), (moved, tensor))[0]


def dispatch(model: Any, device_map: Mapping[str, Any]) -> list[Any]:
    """Puts modules where the map says, and adds hooks that move what they read there, as Accelerate does."""
    def move(device: Optional[Any], module: Any, arguments: Any, keywords: Any) -> Any:
        return on_device((arguments, keywords), device) if device else (arguments, keywords)

    put(model, device_map)
    return [module.register_forward_pre_hook(functools.partial(move, device_of(path, device_map)), with_kwargs=True)
            for path, module in model.named_modules() if path in device_map or not any(module.children())]


# --- Several CPU devices ----------------------------------------------------------------------------------------------


class _Segment:
    """Modules of one device that hang together, between two exchanges with other devices."""

    def __init__(self, device: str, level: int) -> None:
        self.device, self.level = device, level
        self.nodes: list[Any] = []
        self.reads: list[Any] = []  # nodes of other segments
        self.gives: list[Any] = []  # nodes that others read
        self.producers: list[_Segment] = []
        self.readers: list[_Segment] = []
        self.leaves: dict[Any, torch.Tensor] = {}  # what it reads, for autograd to end at


class PlacedStep:
    """A training step of a model whose modules are on several devices, each some cores of a CPU.

    Each device is a thread on its cores. It runs its modules in segments, as soon as what a segment reads was made, and
    copies that from other devices. Autograd then runs segment by segment backwards, and gradients are copied likewise.
    Last, each device updates its own parameters.
    """

    def __init__(self, model: Any, inputs: Any, recipe: Recipe, device_map: Mapping[str, str],
                 places: Sequence[Place]) -> None:
        self.recipe, self.device_map = recipe, device_map
        self.devices = [place.name for place in places]
        self.interpreter, self.values = _traced(model, inputs)
        self.segments = self._segments()
        self.in_place = self._in_place()
        owner: dict[int, tuple[Any, str]] = {}  # the first device that reads a parameter updates it
        self.awaited: dict[str, set[_Segment]] = {device: set() for device in self.devices}
        for segment in self.segments:
            for parameter in (each for node in segment.nodes for each in self._parameters_of(node)):
                device = owner.setdefault(id(parameter), (parameter, segment.device))[1]
                self.awaited[device].add(segment)
        self.optimizers = {}
        for device in self.devices:
            if own := [parameter for parameter, of in owner.values() if of == device]:
                self.optimizers[device] = recipe.optimizer(own)
        self.changed = threading.Condition()  # guards what follows
        self.ended: set[_Segment] = set()  # forward
        self.returned: set[_Segment] = set()  # backward
        self.norms: dict[str, torch.Tensor] = {}  # of the gradients of each device
        self.failure: Optional[BaseException] = None
        self.is_over = False
        self.begin, self.end = (threading.Barrier(len(places) + 1) for _ in range(2))
        self.threads = [threading.Thread(target=self._run, args=(place,), daemon=True) for place in places]
        for thread in self.threads:
            thread.start()

    def _parameters_of(self, node: Any) -> list[Any]:
        """Returns the parameters that a node reads: they belong to its device."""
        own = [self.values.get(each) for each in node.all_input_nodes]
        if node.op == "call_module":
            own += self.interpreter.fetch_attr(node.target).parameters()
        return [each for each in own if isinstance(each, torch.nn.Parameter)]

    def _device_of(self, node: Any, read: Sequence[Any]) -> str:
        path = node.target if node.op == "call_module" else next(
            (entry[0] for entry in reversed(list((node.meta.get("nn_module_stack") or {}).values()))), None)
        device = device_of(path, self.device_map) if isinstance(path, str) else None
        return device or (self.segment_of[read[0]].device if read else self.devices[0])

    # Level: the most exchanges on any path to a node. So segments of one level do not depend on each other.
    def _segments(self) -> list[_Segment]:
        self.segment_of: dict[Any, _Segment] = {}
        for node in self.interpreter.module.graph.nodes:
            if node.op == "get_attr":
                self.values[node] = self.interpreter.fetch_attr(node.target)
            elif node.op == "output":
                self.results = node.args[0]
            elif node.op != "placeholder":
                read = [each for each in node.all_input_nodes if each in self.segment_of]
                device = self._device_of(node, read)
                level = max((self.segment_of[each].level + (self.segment_of[each].device != device) for each in read),
                            default=0)
                own = _Segment(device, level)
                for each in dict.fromkeys(self.segment_of[each] for each in read):
                    if (each.device, each.level) == (device, level):  # now they hang together
                        own.nodes += each.nodes
                own.nodes.append(node)
                self.segment_of.update(dict.fromkeys(own.nodes, own))
        place = {node: index for index, node in enumerate(self.interpreter.module.graph.nodes)}
        results = [node for node in pytree.tree_flatten(self.results)[0] if node in self.segment_of]
        segments = list(dict.fromkeys(self.segment_of.values()))
        end = _Segment(self.segment_of[results[-1]].device, 1 + max(segment.level for segment in segments))  # the loss
        for segment in [*segments, end]:
            segment.nodes.sort(key=place.__getitem__)
            wanted = results if segment is end else [each for node in segment.nodes for each in node.all_input_nodes]
            segment.reads = [node for node in dict.fromkeys(wanted)
                             if node in self.segment_of and self.segment_of[node] is not segment]
            segment.producers = list(dict.fromkeys(self.segment_of[node] for node in segment.reads))
            for producer in segment.producers:
                producer.readers.append(segment)
                producer.gives = list(dict.fromkeys([*producer.gives, *(
                    node for node in segment.reads if self.segment_of[node] is producer)]))
        return sorted(segments, key=lambda segment: (segment.level, place[segment.nodes[0]])) + [end]

    def _in_place(self) -> dict[Any, bool]:
        """Returns which calls of modules that work in place may do so: nobody else reads what they overwrite."""
        found = {}
        for node in self.segment_of:
            if node.op == "call_module" and getattr(self.interpreter.fetch_attr(node.target), "inplace", False) is True:
                read = node.args[0]
                found[node] = self.segment_of.get(read) is self.segment_of[node] and len(read.users) == 1
        return found

    def _forward(self, segment: _Segment) -> None:
        values = dict(self.values)
        written = {node.args[0] for node in segment.nodes if node.args and _writes(node)}
        segment.leaves = {}
        for node in segment.reads:
            made = self.made[node]
            if isinstance(made, torch.Tensor):
                if self.segment_of[node].device != segment.device:  # one copy for all its readers there
                    key = node, segment.device
                    if key not in self.copies:
                        self.copies[key] = made.detach().clone()
                    leaf = self.copies[key].detach()
                else:
                    leaf = made.detach()
                if made.requires_grad:
                    segment.leaves[node] = leaf.requires_grad_()
                    if node in written:  # autograd does not let a leaf be overwritten
                        leaf = leaf.clone()
                made = leaf
            values[node] = made
        for node in segment.nodes:
            if node in self.in_place:
                self.interpreter.fetch_attr(node.target).inplace = self.in_place[node]
            values[node] = getattr(self.interpreter, node.op)(node.target, _of(node.args, values),
                                                              _of(node.kwargs, values))
        self.made.update({node: values[node] for node in segment.gives})
        if segment is self.segments[-1]:
            self.made["loss"] = self.recipe.loss(_of(self.results, values))

    def _backward(self, segment: _Segment) -> None:
        if segment is self.segments[-1]:
            self.made.pop("loss").backward()
            return
        tensors, gradients = [], []
        for node in segment.gives:
            total = None
            for reader in segment.readers:
                leaf = reader.leaves.get(node)
                if leaf is None or leaf.grad is None:
                    continue
                own = leaf.grad.clone() if reader.device != segment.device else leaf.grad
                total = own if total is None else total + own
            if total is not None:
                tensors.append(self.made[node])
                gradients.append(total)
        if tensors:
            torch.autograd.backward(tensors, gradients)

    def _work(self, device: str) -> None:
        """Runs a device's part of a step: of what is ready, always what comes first."""
        own = [segment for segment in self.segments if segment.device == device]
        left = [(self._forward, each, self.ended, each.producers, self.ended) for each in own]
        left += [(self._backward, each, self.returned, each.readers or [each],
                  self.returned if each.readers else self.ended) for each in reversed(own)]
        while left:
            with self.changed:
                while True:
                    if self.failure is not None:
                        return
                    ready = next((task for task in left if task[4].issuperset(task[3])), None)
                    if ready is not None:
                        break
                    self.changed.wait()
            run, segment, done, _, _ = ready
            with self.recipe.autocast("cpu") if done is self.ended else contextlib.nullcontext():
                run(segment)
            left.remove(ready)
            with self.changed:
                done.add(segment)
                self.changed.notify_all()
        if device in self.optimizers:
            with self.changed:
                self.changed.wait_for(lambda: self.failure or self.returned.issuperset(self.awaited[device]))
            if self.recipe.max_norm is not None and self.failure is None:
                self._clip(device, self.recipe.max_norm)
            self.optimizers[device].step()

    def _clip(self, device: str, max_norm: float) -> None:
        """Does what clip_grad_norm_() does, which takes parameters of all devices."""
        own = [each.grad for group in self.optimizers[device].param_groups for each in group["params"]
               if each.grad is not None]
        norm = torch.stack([gradient.norm() for gradient in own]).norm() if own else torch.zeros(())
        with self.changed:
            self.norms[device] = norm
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.failure or len(self.norms) == len(self.optimizers))
            factor = (max_norm / (torch.stack([self.norms[each] for each in sorted(self.norms)]).norm() + 1e-6)).clamp(
                max=1)
        for gradient in own:
            gradient.mul_(factor)

    def _run(self, place: Place) -> None:
        os.sched_setaffinity(0, place.cores)
        torch.set_num_threads(len(place.cores))
        with torch.enable_grad():
            while True:
                self.begin.wait()
                if self.is_over:
                    return
                try:
                    self._work(place.name)
                except BaseException as error:  # raised by who waits for the step
                    with self.changed:
                        self.failure = self.failure or error
                        self.changed.notify_all()
                self.end.wait()

    def __call__(self) -> None:
        self.made: dict[Any, Any] = {}
        self.copies: dict[Any, torch.Tensor] = {}
        self.ended.clear()
        self.returned.clear()
        self.norms.clear()
        for optimizer in self.optimizers.values():
            optimizer.zero_grad()
        self.begin.wait()
        self.end.wait()
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        """Ends the threads."""
        self.is_over = True
        self.begin.wait()
        for thread in self.threads:
            thread.join()


def exchange_us(places: Sequence[Place], numbers: int, rounds: int = 30) -> float:
    """Returns how long a tensor takes from one of two CPU devices to the other: to be told, and to copy it."""
    given: list[queue.Queue[torch.Tensor]] = [queue.Queue(), queue.Queue()]
    times: list[float] = []

    def run(turn: int) -> None:
        os.sched_setaffinity(0, places[turn].cores)
        for _ in range(rounds):
            made = given[turn].get().clone()
            times.append(time.perf_counter())
            given[1 - turn].put(made)

    given[0].put(torch.zeros(numbers))
    threads = [threading.Thread(target=run, args=(turn,)) for turn in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 1e6 * statistics.median(after - before for before, after in zip(times, times[1:]))


def _traced(model: Any, inputs: Any) -> tuple[Any, dict[Any, Any]]:
    """Returns the Interpreter that runs the modules of a model one by one, and the values of its inputs by node.

    torch.fx keeps modules whole. Where it cannot trace the model, torch.export lists operators.
    """
    arguments, keywords = inputs
    bound = inspect.signature(model.forward).bind(*arguments, **keywords)
    bound.apply_defaults()
    fixed = {name: value for name, value in bound.arguments.items() if not isinstance(value, torch.Tensor)}
    try:
        traced = torch.fx.symbolic_trace(model, fixed)
        given = [bound.arguments[name] for name in bound.arguments if name not in fixed]
    except Exception as error:  # of many classes: whatever it cannot trace
        if not hasattr(torch, "export") or not hasattr(torch.export, "export"):
            raise UnsupportedError(f"{type(model).__name__}: torch.fx cannot trace it: {error}") from error
        traced = torch.export.export(model, tuple(arguments), dict(keywords), strict=False).module()
        given = [value for value in pytree.tree_flatten((arguments, keywords))[0] if isinstance(value, torch.Tensor)]
    read = [node for node in traced.graph.nodes if node.op == "placeholder" and node.users]
    return torch.fx.Interpreter(traced), dict(zip(read, given))


def _of(arguments: Any, values: Mapping[Any, Any]) -> Any:
    return torch.fx.node.map_arg(arguments, lambda node: values[node])


def _writes(node: Any) -> bool:
    """Says whether a node overwrites what it reads first, as `x += y` does."""
    schema = getattr(node.target, "_schema", None)
    name = getattr(node.target, "__name__", node.target)
    return schema.is_mutable if schema is not None else node.op != "call_module" and (
        node.target in _IN_PLACE or (node.op == "call_method" and name.endswith("_") and not name.endswith("__")))


_IN_PLACE = {operator.iadd, operator.imul, operator.isub, operator.itruediv}


@contextlib.contextmanager
def step_of(model: Any, inputs: Any, recipe: Recipe, device_map: Mapping[str, str], places: Sequence[Place]) -> Any:
    """Yields (a step of a copy of `model` as the map places it, the place where it is called)."""
    own = copy.deepcopy(model).train()
    used = [place for place in places if place.name in set(device_map.values())]
    if len(used) == 1:
        device = used[0].torch_device
        yield Step(own.to(device), on_device(inputs, device), recipe), used[0]
    elif all(place.cores for place in used):
        step = PlacedStep(own, inputs, recipe, device_map, used)
        try:
            yield step, None
        finally:
            step.close()
    else:
        torch_devices = {place.name: place.torch_device for place in used}
        dispatch(own, {path: torch_devices[device] for path, device in device_map.items()})
        yield Step(own, inputs, recipe), None
