"""Checks on tiny problems that an agent does what every agent must do."""

from typing import Union

from emplace import _core
from emplace._agents import name_of
from emplace._errors import tells_nearest_argument


@tells_nearest_argument
def check_agent(agent: Union[str, type]) -> None:
    """Checks that an agent, a name or a registered class, does what every agent must do.

    The checks are those of `emplace dev check-agent`: placements on placeable devices, budgets kept, one placement for
    a seed on any number of threads, no step below the lower bound, the best of what was evaluated, parameters at their
    bounds, and others. Raises AssertionError with all that it does not do.
    """
    name = name_of(agent)
    mistakes = _core.mistakes_of_agent(name)
    if mistakes:
        raise AssertionError(f"agent {name}:\n  " + "\n  ".join(mistakes))
