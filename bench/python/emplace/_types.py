"""What evaluations return."""

import enum
import inspect
import os
import re
from typing import NamedTuple, TypeVar, Union

import numpy

Path = Union[str, "os.PathLike[str]"]  # a file, or a name where the program takes one


_Tuple = TypeVar("_Tuple", bound=type)


def describes_fields(of: _Tuple) -> _Tuple:
    """Gives the fields of a NamedTuple the docstrings that the class's own has for them: "name: text"."""
    found = dict(re.findall(r"^(\w+): (.+(?:\n +.+)*)", inspect.getdoc(of) or "", re.MULTILINE))
    for field in of._fields:  # type: ignore[attr-defined]
        getattr(of, field).__doc__ = re.sub(r"\s+", " ", found[field])
    return of


class Status(enum.IntEnum):
    """How an evaluation ended: simulated, and the step fits or not; cut off; or not simulated."""

    OK = 0
    OUT_OF_MEMORY = 1
    CUT_OFF = 2
    BUDGET_SPENT = 3


STATUSES = tuple(Status)


@describes_fields
class Evaluation(NamedTuple):
    """One simulated step.

    status: how it ended
    step_time_us: microseconds of the step
    bytes_over: what exceeds the memories, summed over the devices
    objective_us: the step time plus 2 s for each 10^9 of bytes_over; what agents minimize
    """

    status: Status
    step_time_us: float
    bytes_over: int
    objective_us: float


@describes_fields
class Evaluations(NamedTuple):
    """Many simulated steps: an array for each number of an Evaluation.

    status: (N,) uint8, members of Status
    step_time_us: (N,) float64, microseconds
    bytes_over: (N,) int64, what exceeds the memories, summed over the devices
    objective_us: (N,) float64, the step time plus 2 s for each 10^9 of bytes_over
    """

    status: numpy.ndarray
    step_time_us: numpy.ndarray
    bytes_over: numpy.ndarray
    objective_us: numpy.ndarray


@describes_fields
class Export(NamedTuple):
    """A placement as a file of another program.

    text: the content of the file
    step_time_us: microseconds of the step as that program runs it, which may be another placement
    """

    text: str
    step_time_us: float
