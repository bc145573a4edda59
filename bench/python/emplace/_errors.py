"""The exceptions of emplace. Their texts are those of the program; each names what is wrong and what was expected."""

import difflib
import functools
import inspect
from collections.abc import Callable
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


def tells_nearest_argument(function: _Function) -> _Function:
    """Lets a call with a keyword argument that `function` does not have raise a TypeError with the nearest names."""
    parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]

    @functools.wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        for name in options:
            if name not in names:
                near = difflib.get_close_matches(name, names, 3)
                raise TypeError(f"{function.__name__.lstrip('_')}() has no argument '{name}'; " +
                                (f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(names)}"))
        return function(*arguments, **options)

    return cast(_Function, checked)
