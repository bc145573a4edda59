"""Tables of Python: data frames in and out, and what notebooks show."""

from __future__ import annotations

import html
import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy

from emplace import _core
from emplace._errors import UnsupportedError, UsageError

_FRAMES = ("pandas", "polars", "dicts")

# The columns of a table of ops, as a graph file calls them, and what an op has by default.
OP_COLUMNS: dict[str, Any] = {
    "name": "", "kind": "op", "scope": "", "phase": "forward", "flops": 0, "bytes_read": 0, "bytes_written": 0,
    "output_bytes": 0, "parameters": 0, "persistent_bytes": 0, "workspace_bytes": 0, "colocation": "",
    "micro_batch": 0, "replica": 0, "priority": 0}
COST = "cost_us:"  # of a device class, whose name follows


def frame_of(rows: list[dict[str, Any]], frame: Optional[str] = None) -> Any:
    """Returns rows as `frame` says: "pandas", "polars" or "dicts"; None is pandas where it is installed, else dicts."""
    if frame not in (None, *_FRAMES):
        raise UsageError(f"frame is {frame!r}, expected None or one of {', '.join(_FRAMES)}")
    if frame == "dicts":
        return rows
    try:
        library = importlib.import_module(frame or "pandas")
    except ImportError as error:
        if frame is None:
            return rows
        raise UnsupportedError(f"{frame} cannot be imported ({error})") from error
    # polars would guess the types of columns from the first rows.
    return library.DataFrame(rows, infer_schema_length=None) if frame == "polars" else library.DataFrame(rows)


def columns_of(table: Any, what: str, other: str = "") -> dict[str, Any]:
    """Returns the columns of a mapping or a data frame; `other` is what else the error says that it may be."""
    if isinstance(table, Mapping):
        return dict(table)
    if not hasattr(table, "columns"):
        raise TypeError(f"{what}: expected {other}a mapping of columns or a data frame, found {type(table).__name__}")
    return {name: table[name] for name in table.columns}


def rows_of(table: Any, what: str) -> list[dict[str, Any]]:
    """Returns the rows of a list of dicts, of a mapping of columns or of a data frame, without empty cells."""
    if isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
        return [dict(row) for row in table]
    columns = columns_of(table, what, "a list of dicts, ")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise UsageError(f"{what}: the columns have different lengths: " +
                         ", ".join(f"{name} {length}" for name, length in lengths.items()))
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    return [{name: cell for name, cell in row.items() if cell is not None and not _is_nan(cell)} for row in rows]


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, (float, numpy.floating)) and bool(numpy.isnan(cell))


def plain(value: Any) -> Any:
    """Returns what json.dumps() writes in place of what it does not know."""
    if isinstance(value, (numpy.generic, numpy.ndarray)):
        return value.tolist()
    return str(value)


def html_of(title: str, rows: Sequence[Mapping[str, Any]], limit: int = 20) -> str:
    """Returns the first rows as a table in HTML."""
    names = list(rows[0]) if rows else []

    def line(tag: str, cells: Sequence[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    lines = [line("th", names), *(line("td", [row.get(name, "") for name in names]) for row in rows[:limit])]
    more = f"<p>and {len(rows) - limit} more</p>" if len(rows) > limit else ""
    return f"<table><caption>{html.escape(title)}</caption>{''.join(lines)}</table>{more}"


def html_of_facts(title: str, facts: Mapping[str, Any]) -> str:
    """Returns facts as a table in HTML."""
    return html_of(title, [{"": name, " ": fact} for name, fact in facts.items()])


# What the classes of emplace._core have from Python.


def _document(self: _core.Graph) -> dict[str, Any]:
    return json.loads(_core.write_graph(self, "emplace"))


def _graph_ops(self: _core.Graph, frame: Optional[str] = None) -> Any:
    ops = self.document["ops"]
    classes = sorted({cost["device_class"] for op in ops for cost in op.get("measured", ())})
    rows = []
    for op in ops:
        costs = {cost["device_class"]: cost["cost_us"] for cost in op.get("measured", ())}
        rows.append({**{name: op.get(name, default) for name, default in OP_COLUMNS.items()},
                     "output_bytes": sum(output.get("bytes", 0) for output in op.get("outputs", ())),
                     **{COST + name: costs.get(name) for name in classes}})
    return frame_of(rows, frame)


def _graph_edges(self: _core.Graph) -> numpy.ndarray:
    return numpy.array([edge[::2] for edge in self.document["edges"]], numpy.int32).reshape(-1, 2)


def _graph_edge_bytes(self: _core.Graph) -> numpy.ndarray:
    document = self.document
    outputs = [op.get("outputs", ()) for op in document["ops"]]
    return numpy.array([outputs[producer][output].get("bytes", 0) if output >= 0 else 0
                        for producer, output, _ in document["edges"]], numpy.int64)


def _to_networkx(self: _core.Graph) -> Any:
    try:
        import networkx
    except ImportError as error:
        raise UnsupportedError(f"networkx cannot be imported ({error})") from error
    document = json.loads(_core.write_graph(self, "node-link"))
    graph = networkx.MultiDiGraph(**document["graph"])
    graph.add_nodes_from((node.pop("id"), node) for node in document["nodes"])
    graph.add_edges_from((link.pop("source"), link.pop("target"), link.pop("key"), link) for link in document["links"])
    return graph


def _graph_html(self: _core.Graph) -> str:
    return html_of_facts(repr(self), {
        "ops": self.num_ops, "edges": self.num_edges, "parameters": f"{self.parameters:,}",
        "FLOPs of a step": f"{self.flops:,}", "bytes kept between steps": f"{self.persistent_bytes:,}"})


def _cluster_html(self: _core.Cluster) -> str:
    placeable = set(self.placeable_devices.tolist())
    return html_of(repr(self), [
        {"device": name, "kind": kind, "memory": f"{capacity / 1e9:.1f} GB", "placeable": at in placeable}
        for at, (name, kind, capacity) in enumerate(zip(self.devices, self.kinds, self.capacities.tolist()))])


def _problem_html(self: _core.Problem) -> str:
    return html_of_facts(repr(self), {
        "graph": self.graph, "cluster": self.cluster, "ops": self.num_ops, "groups": self.num_groups,
        "edges between groups": len(self.edges), "devices": ", ".join(self.devices)})


def _step_ops(self: _core.Step, frame: Optional[str] = None) -> Any:
    problem = self.problem
    devices = problem.devices
    return frame_of([
        {"name": name, "kind": kind, "scope": scope, "device": devices[device], "start_us": start, "end_us": end}
        for name, kind, scope, device, start, end in zip(
            problem.names, problem.kinds, problem.scopes, self.placement[problem.groups].tolist(),
            self.start_us.tolist(), self.end_us.tolist())], frame)


def attach() -> None:
    """Gives the classes of emplace._core these members."""
    members: dict[type, dict[str, Any]] = {
        _core.Graph: {"document": property(_document), "edges": property(_graph_edges),
                      "edge_bytes": property(_graph_edge_bytes), "ops": _graph_ops, "to_networkx": _to_networkx,
                      "_repr_html_": _graph_html},
        _core.Cluster: {"_repr_html_": _cluster_html},
        _core.Problem: {"_repr_html_": _problem_html},
        _core.Step: {"ops": _step_ops}}
    for bound, added in members.items():
        for name, member in added.items():
            if not isinstance(member, property):
                member.__name__, member.__qualname__ = name, f"{bound.__name__}.{name}"
            setattr(bound, name, member)
