"""The exceptions of emplace. Their texts are those of the program; each names what is wrong and what was expected."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast


class Error(Exception):
    """A user's mistake, or something that this build cannot do."""


class UsageError(Error, ValueError):
    """A wrong argument or parameter."""


class IoError(Error, OSError):
    """A file that cannot be read or written."""


class FormatError(Error, ValueError):
    """A file whose content is not what it should be."""


class UnknownNameError(Error, LookupError):
    """A graph, cluster, agent, suite or device that does not exist."""


class UnsupportedError(Error, RuntimeError):
    """A valid request that this build or version cannot serve."""


class InternalError(Exception):
    """A mistake of emplace itself."""


_Function = TypeVar("_Function", bound=Callable[..., Any])


def argument_names(function: Callable[..., Any]) -> list[str]:
    """Returns the names of the arguments of a function or constructor."""
    return [parameter.name for parameter in inspect.signature(function).parameters.values()
            if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) and parameter.name != "self"]


def check_arguments(function: str, names: Iterable[str], given: Iterable[str]) -> None:
    """Raises a TypeError with the nearest of `names` for a given one that is not among them."""
    names = list(names)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, 3)
            raise TypeError(f"{function}() has no argument '{name}'; " +
                            (f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(names)}"))


def tells_nearest_argument(function: _Function) -> _Function:
    """Lets a call with a keyword argument that `function` does not have raise a TypeError with the nearest names."""
    names = argument_names(function)
    title = function.__qualname__.replace(".__init__", "")

    @functools.wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        check_arguments(title, names, options)
        return function(*arguments, **options)

    return cast(_Function, checked)
