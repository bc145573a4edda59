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
from emplace._errors import (
    Error,
    IoError,
    UnsupportedError,
    UsageError,
    argument_names,
    check_arguments,
    tells_nearest_argument,
)
from emplace._models import PlacedModel, from_torch, place_model
from emplace._tables import frame_of, html_of, html_of_facts
from emplace._types import Path, describes_fields
from emplace._workers import run_in_processes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from emplace._problems import AnyCluster

    AgentName = Union[str, type]  # NAME[:key=value,...], or a class with @emplace.agent
    Suite = Union[Path, "dict[str, Any]"]
    Progress = Union[bool, Callable[[int, int], None], None]

_UNLIMITED = 1 << 60
_DEFAULT_AGENT = "auto"
_DEFAULT_TIME_LIMIT = 10.0


@describes_fields
class Placed(NamedTuple):
    """The placement that an agent found, and its step. Where a placement is expected, it is that array.

    agent: the agent's name, with its parameters
    placement: (groups,) int32, the device of each group, an index of Problem.devices
    status: "ok" or "out_of_memory"
    step_time_us: microseconds of the step
    bound_us: microseconds that no placement can beat: the larger of the lower bound and what the agent proved
    gap: (step_time_us - bound_us) / bound_us
    peak_bytes: (devices,) int64, the most memory that is taken at once
    evaluations: how many placements were simulated
    evaluations_to_best: how many until the placement was found
    decision_groups: in how many groups the agent decided
    """

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

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> numpy.ndarray:
        return numpy.array(self.placement, dtype) if copy else numpy.asarray(self.placement, dtype)

    def __repr__(self) -> str:
        return (f"<emplace.Placed by {self.agent}: {self.status}, {self.step_time_us / 1e3:.3f} ms, "
                f"bound {self.bound_us / 1e3:.3f} ms, {len(self.placement)} groups>")

    def _repr_html_(self) -> str:
        return html_of_facts(f"Placed by {self.agent}", {
            "status": self.status, "step": f"{self.step_time_us / 1e3:.3f} ms",
            "lower bound": f"{self.bound_us / 1e3:.3f} ms", "gap": f"{100 * self.gap:.1f} %",
            "evaluations": self.evaluations, "groups": len(self.placement),
            "peak memory": ", ".join(f"{peak / 1e9:.2f} GB" for peak in self.peak_bytes.tolist())})


def _read(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise IoError(f"{os.fspath(path)}: {error.strerror}") from error


@overload
def place(problem: _core.Problem, agent: AgentName = ..., *, evaluations: Optional[int] = ...,
          time_limit: Optional[float] = ..., seed: int = ..., start: Optional[ArrayLike] = ...,
          threads: int = ..., policy: Optional[Path] = ...) -> Placed: ...


@overload
def place(problem: Any, example_inputs: Any, *, cluster: AnyCluster, agent: AgentName = ...,
          evaluations: Optional[int] = ..., time_limit: Optional[float] = ..., seed: int = ..., threads: int = ...,
          groups: int = ..., grouping: str = ..., training: bool = ..., optimizer: str = ...,
          micro_batches: int = ..., constraints: Optional[dict[str, Any]] = ..., **options: Any) -> PlacedModel: ...


def place(problem: Any, agent_or_inputs: Any = None, *, cluster: Optional[AnyCluster] = None,  # type: ignore[misc]
          **options: Any) -> Union[Placed, PlacedModel]:
    """Lets an agent place a problem, or a model of PyTorch, as `emplace place` does.

    place(problem, agent, *, evaluations, time_limit, seed, start, threads, policy) returns Placed. `agent` is
    NAME[:key=value,...] or a registered class. The budget is `evaluations` (1000 unless told otherwise) or
    `time_limit` in seconds; without either, `auto` has ten seconds. `start` is a placement from which searches start.
    `policy` is a file that train() wrote, in place of an agent: it places in one episode, or with `evaluations` or
    `time_limit` it goes on learning. Raises UnsupportedError if the agent fails, from the exception of an agent in
    Python.

    place(model, example_inputs, cluster=..., time_limit=60) returns PlacedModel. It takes the options above, `agent`,
    `groups`, `grouping` and `constraints` of problem(), and those of from_torch(), for one step of training unless told
    otherwise.

        emplace.place(problem, "simulated-annealing", time_limit=20, seed=1)
    """
    names = argument_names(_place_problem)[1:]
    if cluster is not None:  # place_model() has four arguments that are not options
        check_arguments("place", names + argument_names(place_model)[4:] + argument_names(from_torch)[2:], options)
        return place_model(problem, agent_or_inputs, cluster=cluster, place=_place_problem, **options)
    check_arguments("place", [*names, "cluster"], options)
    if not isinstance(problem, _core.Problem):
        raise UsageError(f"expected an emplace.Problem, or a model with cluster=..., found {type(problem).__name__}")
    if agent_or_inputs is not None:
        options["agent"] = agent_or_inputs
    return _place_problem(problem, **options)


def _place_problem(problem: _core.Problem, agent: AgentName = _DEFAULT_AGENT, *, evaluations: Optional[int] = None,
                   time_limit: Optional[float] = None, seed: int = 0, start: Optional[ArrayLike] = None,
                   threads: int = 0, policy: Optional[Path] = None) -> Placed:
    name = name_of(agent)
    given = None
    if policy is not None:
        if name != _DEFAULT_AGENT:
            raise UsageError(f"agent is {name}, but the policy's agent places")
        given = _read(policy), os.fspath(policy)
        if time_limit is None and evaluations is None:
            evaluations = 0
    elif time_limit is None and evaluations is None and name == _DEFAULT_AGENT:
        time_limit = _DEFAULT_TIME_LIMIT
    if time_limit is not None and not time_limit > 0:
        raise UsageError(f"time_limit is {time_limit}, expected more than 0 seconds")
    if evaluations is None:
        evaluations = _UNLIMITED if time_limit is not None else 1000
    if evaluations < 0:
        raise UsageError(f"evaluations is {evaluations}, expected 0 or more")
    try:
        facts = _core.place(problem, name, evaluations, time_limit, seed, start, threads, given)
    except UnsupportedError as error:
        cause = cause_of(str(error))
        if cause is not None:
            raise error from cause
        raise
    return Placed(*(facts[field] for field in Placed._fields))


@describes_fields
class Report(NamedTuple):
    """The results of a run, as data frames or lists of dicts.

    table: a row for each graph, cluster and agent
    cells: a row for each cell: one agent on one problem with one seed
    histories: a row for each improvement that a cell kept
    folder: where the results are
    """

    table: Any
    cells: Any
    histories: Any
    folder: str

    def __repr__(self) -> str:
        return f"<emplace.Report of {self.folder}: {len(self.table)} rows, {len(self.cells)} cells>"

    def _repr_html_(self) -> str:
        return html_of(repr(self), self.table) if isinstance(self.table, list) else self.table._repr_html_()


@describes_fields
class Comparison(NamedTuple):
    """Placements compared with the first; print() shows the tables of `emplace compare`.

    graph: the name of the graph
    placements: a dict for each, as `emplace compare --json` has them
    text: the tables
    """

    graph: str
    placements: list[dict[str, Any]]
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        steps = ", ".join(f"{one['name']}: {one['step_time_us'] / 1e3:.3f} ms" for one in self.placements)
        return f"<emplace.Comparison of {self.graph}: {steps}>"

    def _repr_html_(self) -> str:
        return html_of(f"Placements of {self.graph}", [
            {"placement": one["name"], "cluster": one["cluster"], "step": f"{one['step_time_us'] / 1e3:.3f} ms"}
            for one in self.placements])


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
        return name, of, given

    found, text, page = _core.compare([side(*item) for item in placements.items()], draws, seed, output is not None)
    if output is not None:
        with open(output, "w", encoding="utf-8") as file:
            file.write(page)
    facts = json.loads(found)
    return Comparison(facts["graph"], facts["placements"], text)


@tells_nearest_argument
def report(folder: Path, frame: Optional[str] = None) -> Report:
    """Returns what `emplace report` shows of the run in `folder`.

    folder: of the results of run() or `emplace run`
    frame: "pandas", "polars" or "dicts" (lists of dicts); None is pandas where it is installed, else dicts

    Raises IoError or FormatError for a folder without such results, and UnsupportedError without the library.

        emplace.report("results/quickstart", "polars").table
    """
    text, tables = _core.read_run(os.fspath(folder))
    rows = []
    for table in json.loads(text)["tables"]:
        of_all = {key: value for key, value in table.items() if not isinstance(value, (list, dict))}
        for row in table["rows"]:
            rows.append({**of_all, **{key: value for key, value in row.items()
                                      if not isinstance(value, (list, dict))}})
    return Report(frame_of(rows, frame), frame_of(tables["cells"], frame), frame_of(tables["histories"], frame),
                  os.fspath(folder))


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


def show_progress(done: int, total: int) -> None:
    """Shows how many cells are done in a line that the next call replaces."""
    print(f"\r[{done}/{total}]", end="\n" if done == total else "", file=sys.stderr, flush=True)


def shown(progress: Progress) -> Optional[Callable[[int, int], None]]:
    """Returns what to call for the argument `progress`."""
    return show_progress if progress is True else progress or None


@tells_nearest_argument
def run(suite: Suite, *, agents: Iterable[Any] = (), output: Optional[Path] = None, seed: int = 0,
        shard: str = "1/1", resume: bool = False, threads: int = 0, workers: int = 1,
        progress: Progress = None) -> Report:
    """Runs a suite, as `emplace run` does, and returns its report().

    `suite` is a name, the path of a file, or a dict with the content of a file, whose agents may be registered classes.
    `agents` are added to those of the suite. `output` is the folder of the results; results/SUITE, then results/SUITE-2
    and so on unless told otherwise. `shard`, as "2/8", runs that part of the suite; `emplace merge` joins their
    folders. `progress(done, total)` is called after each cell; True shows both in one line of a terminal or notebook.
    Ctrl-C ends the run; with `resume` it continues in `output`, or in the last of these folders, and warns if another
    emplace or other files of agents started it. IoError lists cells for which the machine had too little memory,
    processes, files or disk space; `resume` tries them again.

    `workers` is the number of processes that share the suite, so that agents in Python run at the same time; `progress`
    then counts parts of it. Their classes are imported anew in each: a script that calls this needs the guard `if
    __name__ == "__main__"`, as for Python's multiprocessing.

        emplace.run("quickstart", agents=["heft"], progress=True).table
    """
    folder, faults = run_cells(suite, agents=agents, output=output, seed=seed, shard=shard, resume=resume,
                               threads=threads, workers=workers, warn=warnings.warn, progress=shown(progress))
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
        if "policies" in document:
            document["policies"] = list(_with_classes(document["policies"]))
        document = json.loads(_core.complete_suite(json.dumps(document), source))
    else:
        source = os.fspath(suite)
        document = json.loads(_core.suite_text(source))
    document["agents"] += [entry for entry in added if entry not in document["agents"]]
    return document, source


def run_cells(suite: Suite, *, agents: Iterable[Any] = (), output: Optional[Path] = None, seed: int = 0,
              shard: str = "1/1", resume: bool = False, threads: int = 0, workers: int = 1,
              warn: Callable[[str], None], progress: Optional[Callable[[int, int], None]] = None) -> tuple[str, str]:
    """Runs a suite. Returns the folder of its results, and which cells this machine could not run, if any."""
    document, source = _complete(suite, agents)
    text = json.dumps(document)
    name = _core.name_of_run(text, source, shard)
    if output is not None:
        folder = os.fspath(output)
    else:
        folder = last_folder(name, document["name"]) if resume else _free_folder(name)
    used = [(entry["agent"] if isinstance(entry, dict) else entry).partition(":")[0]
            for entry in document["agents"] + document.get("policies", [])]
    # A run that is there already is refused, or goes on, as it does in one process.
    if workers == 1 or os.path.exists(os.path.join(folder, "manifest.json")):
        return folder, _core.run_suite(text, source, folder, seed, shard, resume, threads, list(sys.argv),
                                       files_of(used), warn, progress)
    if workers < 1 or shard != "1/1":
        raise UsageError(f"workers is {workers}, expected 1 or more" if workers < 1 else
                         f"shard is {shard}, but {workers} workers share the whole suite")
    return folder, run_in_processes(text, source, folder, used, files_of(used), seed=seed, resume=resume,
                                    threads=threads, workers=workers, warn=warn, progress=progress)
