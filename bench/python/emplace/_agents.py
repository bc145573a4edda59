"""Agents that are classes of Python."""

from __future__ import annotations

import dataclasses
import re
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Mapping, Optional, TypeVar, Union

from emplace import _core
from emplace._errors import UsageError

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LARGEST = 2.0**53

_Class = TypeVar("_Class", bound=type)

_classes: dict[str, type] = {}  # by the names of their agents
_registered: dict[str, tuple[Any, ...]] = {}  # what the registry knows of them, besides texts
_last_failure: list[Optional[tuple[str, BaseException]]] = [None]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """Describes a parameter of an agent: `name:key=value` sets it within these bounds."""

    default: Union[bool, int, float, str]
    min: float = -_LARGEST
    max: float = _LARGEST
    choices: tuple[str, ...] = ()
    summary: str = ""


def _described(name: str, key: str, parameter: Any) -> dict[str, Any]:
    if not isinstance(parameter, Parameter):
        parameter = Parameter(parameter)
    if not _NAME.fullmatch(key) or key == "groups":
        raise UsageError(f"agent {name}: parameter '{key}', expected a name such as 'max-moves'")
    if not isinstance(parameter.default, (bool, int, float, str)):
        raise UsageError(f"agent {name}: the default of '{key}' is {parameter.default!r}, expected a bool, an int, "
                         "a float or a str")
    return {"name": key, "default": parameter.default, "min": float(parameter.min), "max": float(parameter.max),
            "choices": list(parameter.choices), "summary": parameter.summary or key.replace("-", " ")}


def agent(name: str, *, kind: str = "search", summary: Optional[str] = None, description: Optional[str] = None,
          reference: str = "", deterministic: bool = False, respects_placeable: bool = True,
          groups: Optional[int] = None,
          parameters: Optional[Mapping[str, Union[Parameter, bool, int, float, str]]] = None
          ) -> Callable[[_Class], _Class]:
    """Registers a class as the agent `name`, beside all others.

    The class has place(problem, session), which returns a device for each group of the problem. It is constructed
    with its parameters as keyword arguments, '-' in their names as '_'. `parameters` has the default, or a Parameter,
    of each. `kind` is "baseline", "expert", "heuristic", "search" or "learned"; `deterministic` says that the
    placement depends on the problem alone. With `groups`, problems of more groups are decided on a coarser level.
    Registering a class of the same name again replaces it, if all but its texts is as before.
    """
    def register(cls: _Class) -> _Class:
        if not _NAME.fullmatch(name):
            raise UsageError(f"agent '{name}', expected a name such as 'my-search'")
        if not callable(getattr(cls, "place", None)):
            raise UsageError(f"agent {name}: {cls.__name__} has no method place(problem, session)")
        table = [_described(name, key, value) for key, value in (parameters or {}).items()]
        facts = (kind, deterministic, respects_placeable, groups, table)
        if name in _registered:
            if _registered[name] != facts:
                raise UsageError(f"agent {name} is there already with another kind, other parameters or properties; "
                                 "these cannot change while Python runs")
        elif name in _core.agents():
            raise UsageError(f"there is an agent {name} already; choose another name")
        else:
            doc = (cls.__doc__ or f"The Python class {cls.__name__}.").strip()
            _core.register_agent(name, kind, summary or doc.splitlines()[0].rstrip("."), description or doc,
                                 reference or f"the Python class {cls.__name__}", deterministic, respects_placeable,
                                 groups, table)
            _registered[name] = facts
        _classes[name] = cls
        cls.emplace_name = name  # type: ignore[attr-defined]
        return cls

    return register


def name_of(agent_or_text: Union[str, type]) -> str:
    """Returns an agent as suites name it: a text as it is, a registered class by its name."""
    if isinstance(agent_or_text, str):
        return agent_or_text
    name = getattr(agent_or_text, "emplace_name", None)
    if name is None:
        raise UsageError(f"expected the name of an agent, or a class with @emplace.agent; found {agent_or_text!r}")
    return name


def make(name: str, parameters: Mapping[str, Any]) -> Any:
    """Makes the agent of a cell; called by emplace._core."""
    return _classes[name](**{key.replace("-", "_"): value for key, value in parameters.items() if key != "groups"})


def note_failure(error: BaseException, trace: Optional[TracebackType]) -> str:
    """Returns the last line of the traceback of an agent, with the place in its file; called by emplace._core."""
    error = error.with_traceback(trace)
    line = traceback.format_exception_only(type(error), error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        line += f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
    _last_failure[0] = (line, error)
    return line


def cause_of(message: str) -> Optional[BaseException]:
    """Returns the exception of the agent of which `message` tells, and forgets it."""
    last, _last_failure[0] = _last_failure[0], None
    return last[1] if last and last[0] in message else None


def registered() -> list[str]:
    """Returns the names of all agents in Python, in the order of their registration."""
    return list(_registered)
