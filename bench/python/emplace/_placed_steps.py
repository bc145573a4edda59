"""Training steps of PyTorch models, on one device or on several: imported by validate() only."""

from __future__ import annotations

import contextlib
import copy
import inspect
import operator
import os
import threading
from typing import Any, Callable, Mapping, Optional, Sequence

import torch
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from emplace._calibrate import Place
from emplace._errors import UnsupportedError


def device_of(path: str, device_map: Mapping[str, str]) -> Optional[str]:
    """Returns the device of a module: its own in the map, or that of the nearest module above it."""
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


class Step:
    """A training step of a model as it is, on one device, or with hooks that move what modules read."""

    def __init__(self, model: Any, inputs: Any, loss: Callable[[Any], Any], optimizer: Callable[[Any], Any]) -> None:
        self.model, self.inputs, self.loss = model, inputs, loss
        self.optimizer = optimizer(list(model.parameters()))

    def __call__(self) -> None:
        arguments, keywords = self.inputs
        self.optimizer.zero_grad()
        self.loss(self.model(*arguments, **keywords)).backward()
        self.optimizer.step()


def dispatched(model: Any, device_map: Mapping[str, str]) -> Any:
    """Puts modules where the map says, and moves what they read there, as Accelerate does."""
    def move(device: Optional[str]) -> Callable[..., Any]:
        def hook(module: Any, arguments: Any, keywords: Any) -> Any:
            def moved(value: Any) -> Any:
                return value.to(device) if isinstance(value, torch.Tensor) and device else value
            return pytree.tree_map(moved, arguments), pytree.tree_map(moved, keywords)
        return hook

    for path, module in model.named_modules():
        device = device_of(path, device_map)
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                own = device_of(f"{path}.{name}" if path else name, device_map)
                if tensor is not None and own is not None:
                    tensor.data = tensor.data.to(own)
        if path in device_map or not any(module.children()):
            module.register_forward_pre_hook(move(device), with_kwargs=True)
    return model


# --- Several CPU devices ----------------------------------------------------------------------------------------------


class _Segment:
    """Operators of one device between two exchanges with others."""

    def __init__(self, device: str, level: int) -> None:
        self.device, self.level = device, level
        self.nodes: list[Any] = []
        self.reads: list[Any] = []  # nodes of other segments
        self.gives: list[Any] = []  # nodes that others read
        self.ended = threading.Event()
        self.returned = threading.Event()  # gradients were handed on


class PlacedStep:
    """A training step of a model whose modules are on several devices, each some cores of a CPU.

    Each device is a thread on its cores. It runs its modules in segments: a segment begins when what it reads was made,
    and copies that from other devices. Autograd then runs segment by segment backwards, and gradients are copied
    likewise. Last, each device updates its own parameters.
    """

    def __init__(self, model: Any, inputs: Any, loss: Callable[[Any], Any], optimizer: Callable[[Any], Any],
                 device_map: Mapping[str, str], places: Sequence[Place]) -> None:
        for module in model.modules():  # what another device reads must not be overwritten
            if getattr(module, "inplace", False) is True:
                module.inplace = False
        self.loss, self.device_map = loss, device_map
        self.devices = [place.name for place in places]
        self.interpreter, self.values = _traced(model, inputs)
        self.segments = self._segments()
        self.failure: Optional[BaseException] = None
        owner: dict[int, tuple[Any, str]] = {}  # the first device that reads a parameter updates it
        self.others: dict[str, list[_Segment]] = {device: [] for device in self.devices}
        for segment in self.segments:
            for parameter in (each for node in segment.nodes for each in self._parameters_of(node)):
                device = owner.setdefault(id(parameter), (parameter, segment.device))[1]
                if device != segment.device:
                    self.others[device].append(segment)
        self.optimizers = {}
        for device in self.devices:
            if own := [parameter for parameter, of in owner.values() if of == device]:
                self.optimizers[device] = optimizer(own)
        self.begin, self.end = (threading.Barrier(len(places) + 1) for _ in range(2))
        self.is_over = False
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

    # Level: the most exchanges on any path to a node. Segments of one device and level depend on lower levels only.
    def _segments(self) -> list[_Segment]:
        segments: dict[tuple[int, str], _Segment] = {}
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
                self.segment_of[node] = segments.setdefault((level, device), _Segment(device, level))
                self.segment_of[node].nodes.append(node)
        results = [node for node in pytree.tree_flatten(self.results)[0] if node in self.segment_of]
        end = _Segment(self.segment_of[results[-1]].device, 1 + max(segment.level for segment in segments.values()))
        segments[end.level, end.device] = end  # the loss
        for segment in segments.values():
            wanted = results if segment is end else [each for node in segment.nodes for each in node.all_input_nodes]
            segment.reads = [node for node in dict.fromkeys(wanted)
                             if node in self.segment_of and self.segment_of[node] is not segment]
            for node in segment.reads:
                if node not in self.segment_of[node].gives:
                    self.segment_of[node].gives.append(node)
        return [segments[key] for key in sorted(segments)]

    def _forward(self, segment: _Segment) -> None:
        values = dict(self.values)
        written = {node.args[0] for node in segment.nodes if node.args and _writes(node)}
        self.leaves[segment] = {}
        for node in segment.reads:
            producer = self.segment_of[node]
            producer.ended.wait()
            made = self.made[node]
            if isinstance(made, torch.Tensor):
                is_copied = producer.device != segment.device
                leaf = made.detach().clone() if is_copied else made.detach()
                if made.requires_grad:
                    self.leaves[segment][node] = leaf.requires_grad_()
                    if node in written:  # autograd does not let a leaf be overwritten
                        leaf = leaf.clone()
                made = leaf
            values[node] = made
        for node in segment.nodes:
            values[node] = getattr(self.interpreter, node.op)(node.target, _of(node.args, values),
                                                              _of(node.kwargs, values))
        self.made.update({node: values[node] for node in segment.gives})
        if segment is self.segments[-1]:
            self.made["loss"] = self.loss(_of(self.results, values))
        segment.ended.set()

    def _backward(self, segment: _Segment) -> None:
        if segment is self.segments[-1]:
            self.made.pop("loss").backward()
        else:
            tensors, gradients = [], []
            for node in segment.gives:
                total = None
                for reader in self.segments:
                    if node not in reader.reads:
                        continue
                    reader.returned.wait()
                    leaf = self.leaves[reader].get(node)
                    if leaf is None or leaf.grad is None:
                        continue
                    own = leaf.grad.clone() if reader.device != segment.device else leaf.grad
                    total = own if total is None else total + own
                if total is not None:
                    tensors.append(self.made[node])
                    gradients.append(total)
            if tensors:
                torch.autograd.backward(tensors, gradients)
        segment.returned.set()

    def _run(self, place: Place) -> None:
        os.sched_setaffinity(0, place.cores)
        torch.set_num_threads(len(place.cores))
        own = [segment for segment in self.segments if segment.device == place.name]
        with torch.enable_grad():
            while True:
                self.begin.wait()
                if self.is_over:
                    return
                try:
                    optimizer = self.optimizers.get(place.name)
                    for segment in own:
                        self._forward(segment)
                    for segment in reversed(own):
                        self._backward(segment)
                    for segment in self.others[place.name]:
                        segment.returned.wait()
                    if optimizer:
                        optimizer.step()
                except BaseException as error:  # raised by who waits for the step
                    self.failure = self.failure or error
                    for segment in self.segments:  # nobody waits for what will not come
                        segment.ended.set()
                        segment.returned.set()
                self.end.wait()

    def __call__(self) -> None:
        self.made: dict[Any, Any] = {}
        self.leaves: dict[Any, dict[Any, torch.Tensor]] = {}
        for segment in self.segments:
            segment.ended.clear()
            segment.returned.clear()
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


def _traced(model: Any, inputs: Any) -> tuple[torch.fx.Interpreter, dict[Any, Any]]:
    """Returns what runs the modules of a model one by one, and the values of its inputs by node.

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
def step_of(model: Any, inputs: Any, loss: Callable[[Any], Any], optimizer: Callable[[Any], Any],
            device_map: Mapping[str, str], places: Sequence[Place]) -> Any:
    """Yields (a step of a copy of `model` as the map places it, the place where it is called)."""
    own = copy.deepcopy(model).train()
    used = [place for place in places if place.name in set(device_map.values())]
    if len(used) == 1:
        device = used[0].torch_device
        inputs = pytree.tree_map(lambda value: value.to(device) if isinstance(value, torch.Tensor) else value, inputs)
        yield Step(own.to(device), inputs, loss, optimizer), used[0]
    elif all(place.cores for place in used):
        step = PlacedStep(own, inputs, loss, optimizer, device_map, used)
        try:
            yield step, None
        finally:
            step.close()
    else:
        torch_devices = {place.name: place.torch_device for place in used}
        own = dispatched(own, {path: torch_devices[device] for path, device in device_map.items()})
        yield Step(own, inputs, loss, optimizer), None
