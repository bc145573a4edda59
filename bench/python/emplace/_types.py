"""What evaluations return."""

import enum
import os
from typing import NamedTuple, Union

import numpy

Path = Union[str, "os.PathLike[str]"]  # a file, or a name where the program takes one


class Status(enum.IntEnum):
    """How an evaluation ended."""

    OK = 0
    OUT_OF_MEMORY = 1
    CUT_OFF = 2
    BUDGET_SPENT = 3


STATUSES = tuple(Status)


class Evaluation(NamedTuple):
    """One simulated step."""

    status: Status
    step_time_us: float
    bytes_over: int
    objective_us: float


class Evaluations(NamedTuple):
    """Many simulated steps: an array for each number of an Evaluation."""

    status: numpy.ndarray
    step_time_us: numpy.ndarray
    bytes_over: numpy.ndarray
    objective_us: numpy.ndarray


class Export(NamedTuple):
    """A placement as a file of another program."""

    text: str
    step_time_us: float  # as that program runs it, which may be another placement
