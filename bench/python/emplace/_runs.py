"""Placing, running suites and reading their results."""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, NamedTuple, Optional, Union, overload

import numpy

from emplace import _core
from emplace._agents import cause_of, files_of, name_of
from emplace._errors import Error, IoError, UnsupportedError, UsageError, tells_nearest_argument
from emplace._models import PlacedModel, place_model
from emplace._types import Path

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    AgentName = Union[str, type]  # NAME[:key=value,...], or a class with @emplace.agent
    Suite = Union[Path, "dict[str, Any]"]
    Progress = Optional[Callable[[int, int], None]]

_UNLIMITED = 1 << 60
_DEFAULT_AGENT = "auto"
_DEFAULT_TIME_LIMIT = 10.0


class Placed(NamedTuple):
    """The placement that an agent found, and its step."""

    agent: str
    placement: numpy.ndarray
    status: str
    step_time_us: float
    bound_us: float
    gap: float
    peak_bytes: numpy.ndarray
    evaluations: int
    evaluations_to_best: int
    decision_groups: int


@tells_nearest_argument
def problem(graph: Union[Path, _core.Graph], cluster: Path, groups: int = 0, grouping: str = "",
            constraints: Optional[dict[str, Any]] = None) -> _core.Problem:
    """Loads a graph and a cluster by name or file, or takes a Graph; `groups` of 0 is the default of the grouping.

    `constraints` has the members of a file of constraints: {"pin": {"mixed_5*": "gpu:1"}, "together": ["mixed_6b"],
    "exclude": ["gpu:3"], "memory": {"gpu:*": "8GB"}}.
    """
    if not isinstance(graph, (str, os.PathLike, _core.Graph)):
        raise TypeError(f"graph: expected an emplace.Graph, a name or a path, found {type(graph).__name__}")
    if not isinstance(cluster, (str, os.PathLike)):
        raise TypeError(f"cluster: expected a name or a path, found {type(cluster).__name__}")
    return _core.problem(graph, cluster, groups, grouping, constraints or {})


@overload
def place(problem: _core.Problem, agent: AgentName = ..., *, evaluations: Optional[int] = ...,
          time_limit: Optional[float] = ..., seed: int = ..., start: Optional[ArrayLike] = ...,
          threads: int = ...) -> Placed: ...


@overload
def place(problem: Any, example_inputs: Any, *, cluster: Path, agent: AgentName = ...,
          evaluations: Optional[int] = ..., time_limit: Optional[float] = ..., seed: int = ..., threads: int = ...,
          groups: int = ..., grouping: str = ..., training: bool = ..., optimizer: str = ...,
          micro_batches: int = ..., constraints: Optional[dict[str, Any]] = ..., **options: Any) -> PlacedModel: ...


def place(problem: Any, agent_or_inputs: Any = None, *, cluster: Optional[Path] = None,  # type: ignore[misc]
          **options: Any) -> Union[Placed, PlacedModel]:
    """Lets an agent place a problem, or a model of PyTorch, as `emplace place` does.

    place(problem, agent, *, evaluations, time_limit, seed, start, threads) returns Placed. `agent` is
    NAME[:key=value,...] or a registered class. The budget is `evaluations` (1000 unless told otherwise) or
    `time_limit` in seconds; without either, `auto` has ten seconds. `start` is a placement from which searches start.
    Raises UnsupportedError if the agent fails, from the exception of an agent in Python.

    place(model, example_inputs, cluster=..., time_limit=60) returns PlacedModel. It takes the options above, `agent`,
    `groups`, `grouping` and `constraints` of problem(), and those of from_torch(), for one step of training unless told
    otherwise.
    """
    if cluster is not None:
        return place_model(problem, agent_or_inputs, cluster=cluster, place=_place_problem, **options)
    if not isinstance(problem, _core.Problem):
        raise UsageError(f"expected an emplace.Problem, or a model with cluster=..., found {type(problem).__name__}")
    if agent_or_inputs is not None:
        options["agent"] = agent_or_inputs
    return _place_problem(problem, **options)


@tells_nearest_argument
def _place_problem(problem: _core.Problem, agent: AgentName = _DEFAULT_AGENT, *, evaluations: Optional[int] = None,
                   time_limit: Optional[float] = None, seed: int = 0, start: Optional[ArrayLike] = None,
                   threads: int = 0) -> Placed:
    name = name_of(agent)
    if time_limit is None and evaluations is None and name == _DEFAULT_AGENT:
        time_limit = _DEFAULT_TIME_LIMIT
    if time_limit is not None and not time_limit > 0:
        raise UsageError(f"time_limit is {time_limit}, expected more than 0 seconds")
    if evaluations is None:
        evaluations = _UNLIMITED if time_limit is not None else 1000
    if evaluations < 0:
        raise UsageError(f"evaluations is {evaluations}, expected 0 or more")
    try:
        facts = _core.place(problem, name, evaluations, time_limit, seed, start, threads)
    except UnsupportedError as error:
        cause = cause_of(str(error))
        if cause is not None:
            raise error from cause
        raise
    return Placed(*(facts[field] for field in Placed._fields))


class Report(NamedTuple):
    """The results of a run: pandas.DataFrames, or lists of dicts where there is no pandas."""

    table: Any
    cells: Any
    histories: Any
    folder: str


class Comparison(NamedTuple):
    """Placements compared with the first; print() shows the tables of `emplace compare`."""

    graph: str
    placements: list[dict[str, Any]]  #: as `emplace compare --json` has them
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        steps = ", ".join(f"{one['name']}: {one['step_time_us'] / 1e3:.3f} ms" for one in self.placements)
        return f"<emplace.Comparison of {self.graph}: {steps}>"


@tells_nearest_argument
def compare(problem: _core.Problem, placements: dict[str, Any], *, draws: int = 0, seed: int = 0,
            output: Optional[Path] = None) -> Comparison:
    """Compares placements of a problem with the first, as `emplace compare` does.

    `placements` has a name for each: a placement of `problem`, what place() returned, or a tuple of another problem of
    the same graph and its placement. `draws` of uncertain costs show how likely each is faster than the first.
    `output` is the path of a page (.html) with both timelines. Raises UsageError if the graphs differ.

        comparison = emplace.compare(problem, {"heft": emplace.place(problem, "heft"), "mine": placement})
    """
    if len(placements) < 2:
        raise UsageError(f"placements: expected two or more, found {len(placements)}")
    if draws < 0:
        raise UsageError(f"draws is {draws}, expected 0 or more")

    def side(name: str, given: Any) -> tuple[str, _core.Problem, Any]:
        of, given = given if type(given) is tuple else (problem, given)
        return name, of, given.placement if isinstance(given, Placed) else given

    found, text, page = _core.compare([side(*item) for item in placements.items()], draws, seed, output is not None)
    if output is not None:
        with open(output, "w", encoding="utf-8") as file:
            file.write(page)
    facts = json.loads(found)
    return Comparison(facts["graph"], facts["placements"], text)


def _frame(rows: list[dict[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def report(folder: Path) -> Report:
    """Returns what `emplace report` shows of the run in `folder`.

    `table` has a row for each graph, cluster and agent, `cells` one for each cell, `histories` one for each
    improvement that a cell kept.
    """
    text, tables = _core.read_run(os.fspath(folder))
    rows = []
    for table in json.loads(text)["tables"]:
        of_all = {key: value for key, value in table.items() if not isinstance(value, (list, dict))}
        for row in table["rows"]:
            rows.append({**of_all, **{key: value for key, value in row.items()
                                      if not isinstance(value, (list, dict))}})
    return Report(_frame(rows), _frame(tables["cells"]), _frame(tables["histories"]), os.fspath(folder))


def _free_folder(name: str) -> str:
    number = 1
    while True:
        folder = f"results/{name}" if number == 1 else f"results/{name}-{number}"
        try:
            os.makedirs(folder)
            return folder
        except FileExistsError:
            number += 1


def _is_of_suite(folder: str, suite: str) -> bool:
    """Says whether a folder may hold a run of the suite; what cannot be read is told by the store."""
    try:
        return _core.suite_of_run(folder) == suite
    except Error:
        return True


def last_folder(name: str, suite: str) -> str:
    """Returns the folder that a run named `name` of `suite` goes on in: the last of results/NAME, results/NAME-2, ...

    results/NAME-2 may be of a suite NAME-2, too.
    """
    last, number = f"results/{name}", 2
    while os.path.exists(folder := f"results/{name}-{number}"):
        last = folder if _is_of_suite(folder, suite) else last
        number += 1
    return last


def _with_classes(agents: Iterable[Any]) -> Iterator[Any]:
    """Replaces classes by the names of their agents."""
    for entry in agents:
        if isinstance(entry, dict) and "agent" in entry:
            yield {**entry, "agent": name_of(entry["agent"])}
        else:
            yield name_of(entry) if not isinstance(entry, dict) else entry


@tells_nearest_argument
def run(suite: Suite, *, agents: Iterable[Any] = (), output: Optional[Path] = None, seed: int = 0,
        shard: str = "1/1", resume: bool = False, threads: int = 0, progress: Progress = None) -> Report:
    """Runs a suite, as `emplace run` does, and returns its report().

    `suite` is a name, the path of a file, or a dict with the content of a file, whose agents may be registered classes.
    `agents` are added to those of the suite. `output` is the folder of the results; results/SUITE, then results/SUITE-2
    and so on unless told otherwise. `shard`, as "2/8", runs that part of the suite; `emplace merge` joins their
    folders. `progress(done, total)` is called after each cell. Ctrl-C ends the run; with `resume` it continues in
    `output`, or in the last of these folders, and warns if another emplace or other files of agents started it. IoError
    lists cells for which the machine had too little memory, processes, files or disk space; `resume` tries them again.
    """
    folder, faults = run_cells(suite, agents=agents, output=output, seed=seed, shard=shard, resume=resume,
                               threads=threads, warn=warnings.warn, progress=progress)
    if faults:
        raise IoError(f"{faults}; resume=True tries them again")
    return report(folder)


def _complete(suite: Suite, agents: Iterable[Any]) -> tuple[dict[str, Any], str]:
    """Returns a suite with these agents and without "*" and "extends", and what errors call it."""
    added = list(_with_classes(agents))
    if isinstance(suite, dict):
        source = "suite"
        document = dict(suite)
        listed = document.get("agents", "extends" in document)
        if not listed and added:
            document["agents"], added = added, []
        elif listed and not isinstance(listed, (bool, str)):
            document["agents"] = list(_with_classes(listed))
        document = json.loads(_core.complete_suite(json.dumps(document), source))
    else:
        source = os.fspath(suite)
        document = json.loads(_core.suite_text(source))
    document["agents"] += [entry for entry in added if entry not in document["agents"]]
    return document, source


def run_cells(suite: Suite, *, agents: Iterable[Any] = (), output: Optional[Path] = None, seed: int = 0,
              shard: str = "1/1", resume: bool = False, threads: int = 0, warn: Callable[[str], None],
              progress: Progress = None) -> tuple[str, str]:
    """Runs a suite. Returns the folder of its results, and which cells this machine could not run, if any."""
    document, source = _complete(suite, agents)
    text = json.dumps(document)
    name = _core.name_of_run(text, source, shard)
    if output is not None:
        folder = os.fspath(output)
    else:
        folder = last_folder(name, document["name"]) if resume else _free_folder(name)
    used = [(entry["agent"] if isinstance(entry, dict) else entry).partition(":")[0] for entry in document["agents"]]
    return folder, _core.run_suite(text, source, folder, seed, shard, resume, threads, list(sys.argv), files_of(used),
                                   warn, progress)
