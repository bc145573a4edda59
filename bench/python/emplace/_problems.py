"""Clusters, problems, and what one placement takes."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional, Union

from emplace import _core
from emplace._errors import UsageError, tells_nearest_argument
from emplace._graphs import load, with_parameters
from emplace._tables import plain, rows_of
from emplace._types import Path

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    AnyCluster = Union[Path, _core.Cluster, Mapping[str, Any]]


def cluster(cluster: Optional[AnyCluster] = None, *, devices: Any = None, links: Any = (), name: str = "cluster",
            **parameters: Any) -> _core.Cluster:
    """Returns a cluster: by name, from a file, or made of devices and links.

    cluster: a name of `emplace.clusters()` or the path of a file, with `parameters` such as `launch=8`, `math="tf32"`,
        `set=["link:nvlink.bandwidth=2x"]` (docs/concepts/clusters.md); or a dict, the content of a file, as
        Cluster.document is.
    devices: a list of dicts, a mapping of columns or a data frame, with the members of a device in a cluster file:
        name: such as "gpu:0"
        profile: a shipped profile (`emplace list profiles`), or a dict with the members of a profile file. Of a dict,
            device_class, peak_flops_per_s, memory_bytes_per_s and memory_bytes are enough: ops then take as long as
            their FLOPs or their bytes at these speeds, unless the graph has costs for that class
        placeable: False for a device that agents do not choose; True unless told otherwise
    links: the same, with the members of a link: between (two devices or switches), bandwidth_bytes_per_us, latency_us,
        and if needed name, sharing, duplex. Routes are the fastest over the links.

    Raises UnknownNameError, IoError, UsageError for wrong parameters, and FormatError for wrong devices or links, which
    it names by member and row.

        emplace.cluster("dgx-a100", launch=8)
        emplace.cluster(devices=[{"name": "gpu:0", "profile": "a100"}, {"name": "gpu:1", "profile": "a100"}],
                        links=[{"between": ["gpu:0", "gpu:1"], "bandwidth_bytes_per_us": 250e3, "latency_us": 5}])
    """
    if (cluster is None) == (devices is None):
        raise UsageError("expected a cluster, or its devices and links")
    if isinstance(cluster, (str, os.PathLike)):
        return _core.load_cluster(with_parameters(cluster, parameters))
    if parameters:
        raise UsageError(f"{next(iter(parameters))}: parameters change a cluster that has a name or a file")
    if isinstance(cluster, _core.Cluster):
        return cluster
    if cluster is None:
        cluster = _document_of(rows_of(devices, "devices"), rows_of(links, "links"), name)
    if not isinstance(cluster, Mapping):
        raise TypeError("cluster: expected a name, a path, an emplace.Cluster or a dict, "
                        f"found {type(cluster).__name__}")
    return _core.read_cluster(json.dumps(cluster, default=plain), "cluster")


def _document_of(devices: list[dict[str, Any]], links: list[dict[str, Any]], name: str) -> dict[str, Any]:
    provenance = {"kind": "spec-sheet", "source": "emplace.cluster()", "date": datetime.date.today().isoformat(),
                  "notes": ""}
    written: list[Mapping[str, Any]] = []
    for device in devices:
        profile = device.get("profile")
        if isinstance(profile, Mapping):
            whole = {"schema": "emplace-device-profile", "version": 1, "name": profile.get("device_class"),
                     "summary": "", "op_classes": {}, "provenance": provenance,
                     "fallback": {"fixed_us": 0, "compute_efficiency": 1, "memory_efficiency": 1}, **profile}
            device["profile"] = whole["name"] if profile in written else whole  # a file has each profile once
            written.append(profile)
    for link in links:
        if "name" not in link and "between" in link:
            link["name"] = "-".join(map(str, link["between"]))
    return {"schema": "emplace-cluster", "version": 1, "name": name, "summary": "", "transfer_model": "physical",
            "physical": {"links": links}, "devices": devices, "provenance": provenance}


@tells_nearest_argument
def problem(graph: Any, cluster: AnyCluster, groups: int = 0, grouping: str = "",
            constraints: Optional[dict[str, Any]] = None) -> _core.Problem:
    """Returns the problem of placing a graph on a cluster.

    graph: what load() takes, except a model of PyTorch
    cluster: what cluster() takes
    groups: how many groups the ops are in, about; 0 is the default of the grouping
    grouping: a name of `emplace list groupings`; "" is the default
    constraints: the members of a file of constraints: {"pin": {"mixed_5*": "gpu:1"}, "together": ["mixed_6b"],
        "exclude": ["gpu:3"], "memory": {"gpu:*": "8GB"}}

    Raises UnknownNameError, IoError, FormatError, and UsageError for wrong groups or constraints.

        problem = emplace.problem("inception-v3", "p2-8xlarge-4", groups=128)
    """
    if isinstance(graph, (str, os.PathLike)) and isinstance(cluster, (str, os.PathLike)):
        return _core.problem(graph, cluster, groups, grouping, constraints or {})
    return _core.problem(load(graph), _cluster(cluster), groups, grouping, constraints or {})


_cluster, _problem = cluster, problem


def _problem_of(problem: Any, cluster: Optional[AnyCluster]) -> _core.Problem:
    if cluster is not None:
        return _problem(problem, cluster)
    if not isinstance(problem, _core.Problem):
        raise TypeError(f"problem: expected an emplace.Problem, or a graph with cluster=..., "
                        f"found {type(problem).__name__}")
    return problem


@tells_nearest_argument
def simulate(problem: Any, placement: Union[ArrayLike, Path], *, cluster: Optional[AnyCluster] = None) -> _core.Step:
    """Simulates one step of a placement, as `emplace simulate` does.

    problem: a Problem, or a graph as for problem() if `cluster` is given
    placement: (groups,) a device for each group, what place() returned, or the path of a placement file
    cluster: what cluster() takes; ops are then in the default groups

    Raises UsageError for a placement of another shape or with devices that do not exist.

        emplace.simulate(problem, emplace.place(problem, "heft")).peak_bytes
    """
    problem = _problem_of(problem, cluster)
    return problem.simulate(_placement(problem, placement))


@tells_nearest_argument
def explain(problem: Any, placement: Union[ArrayLike, Path], *,
            cluster: Optional[AnyCluster] = None) -> dict[str, Any]:
    """Returns what bounds a step, as `emplace simulate --explain --json` does; arguments are those of simulate()."""
    problem = _problem_of(problem, cluster)
    return problem.explain(_placement(problem, placement))


def _placement(problem: _core.Problem, placement: Any) -> Any:
    return problem.load(placement) if isinstance(placement, (str, os.PathLike)) else placement
