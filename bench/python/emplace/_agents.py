"""Agents that are Python classes."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Iterable, Mapping, Optional, TypeVar, Union

from emplace import _core
from emplace._errors import UsageError, tells_nearest_argument

_LEARNS = ("train", "place_with_policy", "save", "load", "evaluations_per_episode")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LARGEST = 2.0**53  # the bound of a number that has none

_Class = TypeVar("_Class", bound=type)

_classes: dict[str, type] = {}  # by the names of their agents
_registered: dict[str, tuple[Any, ...]] = {}  # what the registry knows of them, besides texts
_files: dict[str, dict[str, bytes]] = {}  # by the names of their agents: the text of each file, by its path
_last_failure: list[Optional[tuple[str, BaseException]]] = [None]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """Describes a parameter of an agent: `name:key=value` sets it within these bounds."""

    default: Union[bool, int, float, str]
    min: float = -LARGEST
    max: float = LARGEST
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


def _paths_of(cls: type, registering: str) -> set[str]:
    """Returns the files that results of a class depend on: `registering`, and those of its methods."""
    members = [member for base in cls.__mro__ for member in vars(base).values()]
    return {registering, *(member.__code__.co_filename for member in members if hasattr(member, "__code__"))}


def add_file(name: str, path: str, text: bytes) -> None:
    """Notes a file on which results of an agent depend."""
    _files[name][os.path.abspath(path)] = text


def files_of(names: Iterable[str]) -> list[tuple[str, bytes]]:
    """Returns name and text of the files of those of these agents that are in Python."""
    paths = {path: text for name in names for path, text in _files.get(name, {}).items()}
    texts: dict[str, bytes] = {}
    for path, text in sorted(paths.items()):
        base = os.fsencode(Path(path).name).decode(errors="replace")
        texts[base] = texts.get(base, b"") + text
    return list(texts.items())


Parameter.__init__.__qualname__ = "Parameter.__init__"  # not so in Python 3.9
setattr(Parameter, "__init__", tells_nearest_argument(Parameter.__init__))


@tells_nearest_argument
def agent(name: str, *, kind: str = "search", summary: Optional[str] = None, description: Optional[str] = None,
          reference: str = "", deterministic: bool = False, respects_placeable: bool = True,
          groups: Optional[int] = None,
          parameters: Optional[Mapping[str, Union[Parameter, bool, int, float, str]]] = None
          ) -> Callable[[_Class], _Class]:
    """Registers a class as the agent `name`, next to all others.

    The class has place(problem, evaluator), which returns a device for each group of the problem. It is constructed
    with its parameters as keyword arguments, '-' in their names as '_'. `parameters` has the default, or a Parameter,
    of each. `kind` is "baseline", "expert", "heuristic", "search" or "learned"; `deterministic` says that the
    placement depends on the problem alone. With `groups`, problems with more groups are decided on a coarser level.
    Registering a class of the same name again replaces it, if only its texts differ.

    An agent that learns a policy has these methods, too; emplace.train() and the policies of suites call them:

        train(problems, evaluators, report)
            Learns from all problems until an evaluator is exhausted or report() returns False. Each update calls
            report(episodes, last_us, entropy=0, gradient_norm=0): the episodes run so far over all problems, and for
            each problem the mean objective, in microseconds, at the end of its last episodes.
        place_with_policy(problem, evaluator)
            Places greedily, in one episode.
        evaluations_per_episode(groups)
            Returns the most evaluations that an episode takes.
        save()
            Returns the policy: dicts, lists, numbers, texts and numpy arrays.
        load(policy)
            Takes what save() returned, with lists for arrays.

    place() then begins with the policy, if there is one, and learns from its problem.
    """
    def register(cls: _Class) -> _Class:
        if not _NAME.fullmatch(name):
            raise UsageError(f"agent '{name}', expected a name such as 'my-search'")
        if not callable(getattr(cls, "place", None)):
            raise UsageError(f"agent {name}: {cls.__name__} has no method place(problem, evaluator)")
        trainable = callable(getattr(cls, "train", None))
        missing = [method for method in _LEARNS if not callable(getattr(cls, method, None))]
        if trainable and missing:
            raise UsageError(f"agent {name}: {cls.__name__} has a method train, but no {', '.join(missing)}")
        table = [_described(name, key, value) for key, value in (parameters or {}).items()]
        facts = (kind, deterministic, respects_placeable, groups, trainable, table)
        if name in _registered:
            if _registered[name] != facts:
                raise UsageError(f"agent {name} already exists with another kind, other parameters or properties; "
                                 "these cannot change while Python runs")
        elif name in _core.agents():
            raise UsageError(f"there is an agent {name} already; choose another name")
        else:
            doc = (cls.__doc__ or f"The Python class {cls.__name__}.").strip()
            _core.register_agent(name, kind, summary or doc.splitlines()[0].rstrip("."), description or doc,
                                 reference or f"the Python class {cls.__name__}", deterministic, respects_placeable,
                                 groups, trainable, table)
            _registered[name] = facts
        _classes[name] = cls
        _files[name] = {}
        for path in _paths_of(cls, sys._getframe(1).f_code.co_filename):
            try:
                add_file(name, path, Path(path).read_bytes())
            except OSError:
                pass  # typed at a prompt, or in a notebook
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


def class_of(name: str) -> Optional[type]:
    """Returns the class of an agent in Python; None for others."""
    return _classes.get(name)


def make(name: str, parameters: Mapping[str, Any]) -> Any:
    """Makes the agent of a cell; called by emplace._core."""
    return _classes[name](**{key.replace("-", "_"): value for key, value in parameters.items() if key != "groups"})


def policy_text(policy: Any) -> str:
    """Returns what save() of an agent returned as JSON; called by emplace._core."""
    return json.dumps(policy, default=lambda array: array.tolist())


def note_failure(error: BaseException, trace: Optional[TracebackType], path: Optional[str] = None) -> str:
    """Returns the last line of the traceback of an agent, with the place in its file; called by emplace._core.

    The place is in the file `path`, where the traceback has one in it.
    """
    error = error.with_traceback(trace)
    line = traceback.format_exception_only(type(error), error)[-1].strip()
    frames = list(traceback.extract_tb(error.__traceback__))
    frames = [frame for frame in frames if frame.filename == path] or frames
    if isinstance(error, SyntaxError) and error.filename:
        line += f" ({Path(error.filename).name}, line {error.lineno})"
    elif frames:
        line += f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
    _last_failure[0] = (line, error)
    return line


def cause_of(message: str) -> Optional[BaseException]:
    """Returns the exception of the agent that `message` reports, and forgets it."""
    last, _last_failure[0] = _last_failure[0], None
    return last[1] if last and last[0] in message else None


def registered() -> list[str]:
    """Returns the names of all agents in Python, in the order of their registration."""
    return list(_registered)
