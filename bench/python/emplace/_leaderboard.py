"""How an agent does on a fixed set of problems, in one row for each budget."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Optional, Union

from emplace import _core
from emplace._errors import UsageError, tells_nearest_argument
from emplace._runs import Report, report, run
from emplace._tables import frame_of

if TYPE_CHECKING:
    from emplace._runs import AgentName, Progress
    from emplace._types import Path

_CLOSE, _NEAR = 1.01, 1.1


def _geometric_mean(ratios: list[float]) -> Optional[float]:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def _row(agent: str, problems: list[dict[str, Any]]) -> dict[str, Any]:
    fitting = [row for row in problems if row["step_time_us"] is not None and not row["out_of_memory"]
               and not row["failed"]]
    over_best = [row["step_time_us"] / row["best_known_us"] for row in fitting if row["best_known_us"]]
    compared = sum(1 for row in problems if row["best_known_us"])
    return {"agent": agent, "problems": len(problems), "fits": len(fitting),
            "within_1_percent": sum(ratio <= _CLOSE for ratio in over_best) / compared if compared else None,
            "within_10_percent": sum(ratio <= _NEAR for ratio in over_best) / compared if compared else None,
            "over_best_known": _geometric_mean(over_best),
            "over_bound": _geometric_mean([row["step_time_us"] / row["bound_us"] for row in fitting
                                           if row["bound_us"] > 0]),
            "new_best": sum(bool(row["new_best"]) for row in fitting),
            "evaluations": max((row["evaluations"] or 0 for row in problems), default=0)}


@tells_nearest_argument
def leaderboard(results: Union[Report, Path]) -> Any:
    """Returns a row for each agent of a run: a pandas.DataFrame, or a list of dicts without pandas.

    Those that fit on most problems come first, and of these the ones with the least `over_best_known`. `results` is
    what run() returned, or the folder of a run. The columns:

        problems            graphs on clusters
        fits                on how many of these every repetition fits into memory
        within_1_percent    share of the problems where the median step is at most 1 % above the best known
        within_10_percent   the same for 10 %; what does not fit counts as further off
        over_best_known     geometric mean of the median step over the best known, where it fits
        over_bound          the same over the lower bound
        new_best            problems with a repetition below the best known
        evaluations         the most that the agent made on a problem, as a median of its repetitions
    """
    rows = report(results.folder if isinstance(results, Report) else results, "dicts").table
    by_agent: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_agent.setdefault(row["agent"], []).append(row)
    table = [_row(agent, problems) for agent, problems in by_agent.items()]
    return frame_of(sorted(table, key=lambda row: (-row["fits"], row["over_best_known"] or math.inf, row["agent"])))


@tells_nearest_argument
def benchmark(agent: AgentName, suite: str = "standard", *, output: Optional[Path] = None, seed: int = 0,
              resume: bool = False, threads: int = 0, workers: int = 1, progress: Progress = None) -> Any:
    """Runs an agent on the problems of a suite with the suite's budgets, and returns its leaderboard().

    `agent` is NAME[:key=value,...] or a registered class; `output` the folder of the results, results/SUITE-AGENT
    unless told otherwise. The other arguments are those of run(). Compare with docs/results/leaderboard.md:

        emplace.benchmark("heft")
        emplace.benchmark(MyAgent, workers=4, progress=True)
    """
    if suite not in _core.suites():
        raise UsageError(f"suite is {suite!r}, expected one of {', '.join(_core.suites())}")
    label = agent if isinstance(agent, str) else getattr(agent, "emplace_name", agent.__name__)
    name = re.sub("[^a-z0-9]+", "-", f"{suite}-{label}".lower()).strip("-")[:64].strip("-")
    # The baselines are of agents that are not there.
    document = {"schema": "emplace-suite", "version": 1, "name": name, "extends": suite, "agents": [agent],
                "baselines": None, "published": None}
    return leaderboard(run(document, output=output, seed=seed, resume=resume, threads=threads, workers=workers,
                           progress=progress))
