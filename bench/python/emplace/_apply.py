"""Modules on the devices of a placement, and stages of a pipeline: imported by the methods of PlacedModel only."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any, Mapping, Optional, Sequence, Union

import torch
from torch.utils import _pytree as pytree

from emplace import _core
from emplace._errors import UnsupportedError, UsageError
from emplace._placed_steps import device_of, dispatch, on_device, put
from emplace._torch import _stored

DeviceMap = Mapping[str, Union[int, str]]
Devices = Union[Sequence[Any], Mapping[Union[int, str], Any]]


def _key_of(name: str) -> Union[int, str]:
    """Returns what a device of a cluster is called in a map."""
    kind, _, index = name.partition(":")
    return int(index) if kind == "gpu" else kind


def _torch_devices(problem: _core.Problem, device_map: DeviceMap,
                   devices: Optional[Devices]) -> dict[Union[int, str], torch.device]:
    """Returns the torch device of each device in a map."""
    names = [problem.devices[index] for index in problem.placeable_devices]
    if devices is None:
        devices = {each: each if each == "cpu" else f"cuda:{each}" for each in device_map.values()}
    elif isinstance(devices, str) or not isinstance(devices, (Sequence, Mapping)):
        raise UsageError(f"devices: expected a list or a dict of torch devices, found {type(devices).__name__}")
    elif isinstance(devices, Sequence):
        if len(devices) > len(names):
            raise UsageError(f"devices: found {len(devices)}, and cluster {problem.cluster} has {len(names)} for ops")
        devices = {_key_of(name): device for name, device in zip(names, devices)}
    found = {}
    for each in dict.fromkeys(device_map.values()):
        if each not in devices:
            raise UsageError(f"devices: the device map uses {each!r}, expected a torch device for it as for "
                             f"{', '.join(map(repr, devices)) or 'none'}")
        try:
            found[each] = torch.device(devices[each])
            torch.empty(0, device=found[each])
        except (AssertionError, RuntimeError, TypeError) as error:
            raise UsageError(f"devices: PyTorch has no device {devices[each]!r} here, for {each!r} of the device map: "
                             f"{str(error).splitlines()[0]}") from error
    return found


def _completed(model: Any, device_map: DeviceMap) -> dict[str, Union[int, str]]:
    """Adds buffers that no operator of the graph reads, such as masks of attention: where most of their module is."""
    name, main = type(model).__name__, next(iter(device_map.values()))
    stored = {path: is_parameter for _, _, path, _, is_parameter in _stored(model)}
    paths = {path for path, _ in model.named_modules()} | set(stored)
    if unknown := [path for path in device_map if path not in paths]:
        raise UsageError(f"the device map has '{unknown[0]}', which {name} has not: it is of another model")
    added = dict(device_map)
    for path, is_parameter in stored.items():
        if device_of(path, device_map) is None:
            if is_parameter:
                raise UsageError(f"the device map has no device for '{path}' of {name}: it is of another model. If the "
                                 "graph had no such parameter, add it to device_map")
            holder = path.rpartition(".")[0]
            within = Counter(device for each, device in device_map.items() if holder and each.startswith(holder + "."))
            added[path] = within.most_common(1)[0][0] if within else main
    return added


def _give_back(model: Any) -> list[Any]:
    """Adds hooks that move the results of a model to the device of its inputs, as Accelerate does."""
    given: list[Any] = []

    def note(module: Any, arguments: Any, keywords: Any) -> None:
        tensors = [value for value in pytree.tree_flatten((arguments, keywords))[0] if isinstance(value, torch.Tensor)]
        given[:] = [value.device for value in tensors[:1]]

    def move(module: Any, arguments: Any, output: Any) -> Any:
        return on_device(output, given[0]) if given else output

    return [model.register_forward_pre_hook(note, prepend=True, with_kwargs=True), model.register_forward_hook(move)]


def apply(model: Any, problem: _core.Problem, device_map: DeviceMap, devices: Optional[Devices]) -> Any:
    """Moves modules, and has what they read follow; called by PlacedModel.apply()."""
    name = type(model).__name__
    if name == "OptimizedModule":
        raise UsageError("the model is compiled: apply the placement to what torch.compile was given, then compile it")
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"expected a torch.nn.Module, found {name}")
    if int(torch.__version__.partition(".")[0]) < 2:
        raise UnsupportedError(f"a placement is applied by hooks of PyTorch 2, found PyTorch {torch.__version__}")
    completed = _completed(model, device_map)
    places = _torch_devices(problem, device_map, devices)
    chosen = {path: places[device] for path, device in completed.items()}
    main = next(iter(chosen.values()))
    try:
        import accelerate
    except ImportError:
        for handle in getattr(model, "_placed_by", []):  # those of another placement
            handle.remove()
        hooks = [*dispatch(model, {**chosen, "": chosen.get("", main)}), *_give_back(model)]
        model._placed_by = hooks  # type: ignore[assignment]
        return model
    accelerate.hooks.remove_hook_from_submodules(model)
    put(model, chosen)  # dispatch_model() moves modules, and the map may name a tensor
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The following device_map keys do not match")  # those of tensors
        # As torch.device, "cpu" computes; as a string, it would keep weights for a GPU.
        return accelerate.dispatch_model(model, chosen, main_device=main, force_hooks=True,
                                         skip_keys=getattr(model, "_skip_keys_device_placement", None))
