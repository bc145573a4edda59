"""Training policies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from emplace import _core
from emplace._agents import cause_of, name_of
from emplace._errors import IoError, UnsupportedError, UsageError, tells_nearest_argument
from emplace._runs import shown
from emplace._tables import frame_of, html_of_facts
from emplace._types import Path, describes_fields

if TYPE_CHECKING:
    from emplace._runs import AgentName, Progress


@describes_fields
class Trained(NamedTuple):
    """A policy, and how it was learned.

    policy: the text of the policy file
    curve: a row for each update and problem: a pandas.DataFrame, or a list of dicts without pandas
    ended_by: "episodes" or "patience"
    validations: a row for each validation, as `curve`: episodes and updates so far, objective_us
    """

    policy: str
    curve: Any
    ended_by: str
    validations: Any

    def __repr__(self) -> str:
        return f"<emplace.Trained: {len(self.curve)} rows of curve, ended by {self.ended_by}>"

    def _repr_html_(self) -> str:
        return html_of_facts("Trained", {"rows of the curve": len(self.curve), "ended by": self.ended_by,
                                         "policy": f"{len(self.policy)} bytes"})

    def save(self, path: Path) -> None:
        """Writes the policy file, which place(policy=...) and `emplace place --policy` read."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.policy)


@tells_nearest_argument
def train(agent: AgentName, graphs: Union[Path, list[Path]], clusters: Union[Path, list[Path]], *, episodes: int,
          groups: int = 0, grouping: str = "", patience: int = 0, seed: int = 0,
          validation: Union[Path, list[Path], None] = None, threads: int = 0, output: Optional[Path] = None,
          progress: Progress = None) -> Trained:
    """Trains one policy on each graph on each cluster, as `emplace train` does.

    `agent` is NAME[:key=value,...] or a registered class that learns. `graphs` and `clusters` are names or files; a
    family means all its training graphs. Training runs `episodes` on each, but ends after `patience` episodes each
    without a better placement of any, if that is not 0. With `validation` graphs, the policy is not the last one but
    that of 20 over the training which places them best, by one greedy episode each. `output` is the file for the
    policy. `progress(done, total)` is called with the number of episodes after each update; True shows it in a line.
    Ctrl-C ends the training and loses it; the program's `emplace train` can be resumed.

    Raises UsageError for an agent that learns no policy, IoError for an `output` that cannot be written, before it
    trains, and UnsupportedError if the agent fails, from the exception of an agent in Python.

        trained = emplace.train("learned-search", "rnnlm", "p2-8xlarge-2", groups=16, episodes=50, output="policy.json")
        emplace.place(emplace.problem("nmt", "p2-8xlarge-2", groups=16), policy="policy.json")
    """
    def listed(names: Any) -> list[str]:
        return [os.fspath(name) for name in ([names] if isinstance(names, (str, os.PathLike)) else names)]

    if episodes < 1:
        raise UsageError(f"episodes is {episodes}, expected 1 or more")
    if patience < 0:
        raise UsageError(f"patience is {patience}, expected 0 or more")
    for name, given in (("graphs", listed(graphs)), ("clusters", listed(clusters))):
        if not given:
            raise UsageError(f"{name} is empty, expected one or more")
    if output is not None:
        try:
            open(output, "a", encoding="utf-8").close()
        except OSError as error:
            raise IoError(f"{os.fspath(output)}: {error.strerror}") from error
    try:
        policy, rows, validations, ended_by = _core.train(
            name_of(agent), listed(graphs), listed(clusters), episodes, groups, grouping, patience, seed,
            listed(validation or []), threads, shown(progress))
    except UnsupportedError as error:
        raise error from cause_of(str(error))
    trained = Trained(policy, frame_of(rows), ended_by, frame_of(validations))
    if output is not None:
        trained.save(output)
    return trained
