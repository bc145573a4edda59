"""Graphs of whatever Python has: names, files, models, tables, networkx."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy

from emplace import _core
from emplace._errors import UsageError, tells_nearest_argument
from emplace._tables import COST, OP_COLUMNS, columns_of, plain
from emplace._types import Path

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def with_parameters(name_or_path: Path, parameters: Mapping[str, Any]) -> Path:
    """Returns NAME:key=value,... as the program takes it; '_' in a key is '-', several values are a list."""
    if not parameters:
        return name_or_path

    def text_of(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return ";".join(map(text_of, value))
        return json.dumps(value) if isinstance(value, bool) else str(value)

    name = os.fspath(name_or_path)
    separator = "," if re.search(r":[a-z-]+=", name) else ":"
    return name + separator + ",".join(f"{key.replace('_', '-')}={text_of(value)}" for key, value in parameters.items())


def _is_a(thing: Any, module: str, name: str) -> bool:
    """Says whether a thing is of a class of a package that may not be installed."""
    return module in sys.modules and isinstance(thing, getattr(sys.modules[module], name, ()))


def load(graph: Any, example_inputs: Any = None, **options: Any) -> _core.Graph:
    """Returns the graph of one step of anything that emplace knows.

    graph: one of
        a name of `emplace.graphs()`, with `options` as its parameters: load("inception-v3", batch=64);
        the path of a file in any format of `emplace list formats`, with the format's parameters as `options`;
        a torch.nn.Module or torch.export.ExportedProgram, with its `example_inputs` and the options of from_torch();
        a directed graph of networkx. Nodes have the columns of from_arrays() as attributes, or all members of an op in
        a graph file, and edges `bytes`; of other attributes, `cost`, `bytes` and `device_class` name those to read;
        a dict: the content of a graph file, as Graph.document is;
        an emplace.Graph, which is returned.

    Raises UnknownNameError, IoError, FormatError, UsageError for wrong parameters, and TypeError for anything else.

        emplace.load("model.onnx", batch=32, training=True)
        emplace.load(torchvision.models.resnet50(), torch.zeros(64, 3, 224, 224))
    """
    is_model = _is_a(graph, "torch.nn", "Module") or type(graph).__name__ == "ExportedProgram"
    if example_inputs is not None and not is_model:
        raise UsageError(f"example_inputs: expected none for a graph of the type {type(graph).__name__}")
    if is_model:
        from emplace._models import from_torch
        if example_inputs is None and type(graph).__name__ != "ExportedProgram":
            raise UsageError(f"example_inputs: expected those of the {type(graph).__name__}")
        return from_torch(graph, example_inputs, **options)
    if isinstance(graph, _core.Graph):
        if options:
            raise UsageError(f"{next(iter(options))}: a graph that exists takes no options")
        return graph
    if isinstance(graph, (str, os.PathLike)):
        return _core.load_graph(with_parameters(graph, options))
    if _is_a(graph, "networkx", "Graph"):
        return _from_networkx(graph, options)
    if isinstance(graph, Mapping):
        return _read("emplace", graph, options)
    raise TypeError("graph: expected a name, a path, an emplace.Graph, a torch.nn.Module, a networkx graph or a dict, "
                    f"found {type(graph).__name__}")


def _read(format: str, document: Mapping[str, Any], options: Mapping[str, Any]) -> _core.Graph:
    return _core.read_graph(json.dumps(document, default=plain), str(with_parameters(format, options)), "graph")


def _from_networkx(graph: Any, options: Mapping[str, Any]) -> _core.Graph:
    def node_of(name: Any, attributes: dict[str, Any]) -> dict[str, Any]:
        node = {"id": plain(name) if isinstance(name, numpy.generic) else name, "kind": "op", **attributes}
        size = node.pop("output_bytes", 0)
        if size and "outputs" not in node:
            node["outputs"] = [{"bytes": size}]
        costs = [key for key in node if isinstance(key, str) and key.startswith(COST)]
        if costs:
            node["measured"] = [*node.get("measured", ()),
                                *({"device_class": key[len(COST):], "cost_us": node.pop(key)} for key in costs)]
        return node

    return _read("node-link", {
        "directed": graph.is_directed(), "graph": graph.graph,
        "nodes": [node_of(name, attributes) for name, attributes in graph.nodes(data=True)],
        # The edges of a consumer are its inputs, in order.
        "links": [{**attributes, "source": source, "target": target} for node in graph
                  for source, target, attributes in getattr(graph, "in_edges", graph.edges)(node, data=True)]}, options)


@tells_nearest_argument
def from_arrays(ops: Any, edges: ArrayLike = (), *, edge_bytes: Optional[ArrayLike] = None,
                name: str = "graph") -> _core.Graph:
    """Returns a graph of columns, one row for each op.

    ops: a mapping of columns (arrays, lists), or a data frame of pandas or polars, as Graph.ops() returns it:
        name: texts that differ; the only column that must be there
        kind: what each op computes, such as "conv2d"; the cost of a kind that emplace does not know is a guess
        cost_us:CLASS: microseconds on devices of a class (Cluster.kinds), NaN or None where unknown. These count
            before any cost that emplace would compute
        flops, bytes_read, bytes_written: from which costs are computed where there is none; a multiply-add is two
        output_bytes: of the one tensor that an op hands on
        parameters, persistent_bytes, workspace_bytes: trained numbers; what stays in memory between steps; scratch
        scope, phase, colocation: the layer as a path; "forward", "backward" or "update"; ops with the same label share
            a device
        micro_batch, replica, priority: see docs/concepts/parallelism.md
    edges: (edges, 2) producer and consumer, as rows or names of ops
    edge_bytes: (edges,) what each edge moves, 0 for one that only orders. Edges of a producer with as many bytes are
        uses of one tensor. Without, edges move the `output_bytes` of their producers.
    name: what the graph is called

    Raises UsageError or FormatError, which names the column and the row, or the cycle.

        graph = emplace.from_arrays({"name": ["a", "b"], "cost_us:gpu-k80": [100, 200], "output_bytes": [4000, 0]},
                                    [(0, 1)])
    """
    columns = columns_of(ops, "ops")
    for column in columns:
        if column not in OP_COLUMNS and not (isinstance(column, str) and column.startswith(COST)):
            near = difflib.get_close_matches(str(column), [*OP_COLUMNS, COST + "CLASS"], 3)
            raise UsageError(f"ops: no column is called '{column}'; " + (
                f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(OP_COLUMNS)}, {COST}CLASS"))
    if "name" not in columns:
        raise UsageError("ops: the column name is missing")
    names = _texts("name", columns["name"])
    rows = {text: row for row, text in enumerate(names)}
    if len(rows) < len(names):
        row = next(row for row, text in enumerate(names) if rows[text] != row)
        raise UsageError(f"name: rows {row} and {rows[names[row]]} are both '{names[row]}', expected names that differ")
    nodes: list[dict[str, Any]] = [{"id": text, "kind": OP_COLUMNS["kind"]} for text in names]
    for column, values in columns.items():
        if column.startswith(COST):
            for node, cost in zip(nodes, _costs(column, values, len(names))):
                if cost == cost:
                    node.setdefault("measured", []).append({"device_class": column[len(COST):], "cost_us": cost})
        elif column != "name":
            read: Any = _texts if isinstance(OP_COLUMNS[column], str) else _counts
            for node, value in zip(nodes, read(column, values, len(names))):
                if column != "output_bytes":
                    node[column] = value
                elif value:
                    node["outputs"] = [{"bytes": value}]
    links: list[dict[str, Any]] = [{"source": names[producer], "target": names[consumer]}
                                   for producer, consumer in _ends(edges, rows)]
    if edge_bytes is not None:
        for link, size in zip(links, _counts("edge_bytes", edge_bytes, len(links))):
            link["bytes"] = size
    else:
        for link in links:
            link["output"] = 0 if "outputs" in nodes[rows[link["source"]]] else -1
    return _core.read_graph(json.dumps({
        "directed": True, "graph": {"name": name, "source": "emplace.from_arrays()"}, "nodes": nodes,
        "links": links}), "node-link", name)


def _array(column: str, values: Any, count: Optional[int]) -> numpy.ndarray:
    array = numpy.asarray(values)
    if array.ndim != 1 or (count is not None and len(array) != count):
        raise UsageError(f"{column}: expected an array of the shape ({'ops' if count is None else count},), "
                         f"found {array.shape}")
    return array


def _refuse(column: str, row: int, value: Any, expected: str) -> None:
    raise UsageError(f"{column}: row {row} is {value!r}, expected {expected}")


def _texts(column: str, values: Any, count: Optional[int] = None) -> list[str]:
    _array(column, values, count)
    texts = list(values)  # an array would make texts of numbers
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            _refuse(column, row, text, "a text")
    return texts


def _counts(column: str, values: Any, count: Optional[int] = None) -> list[int]:
    numbers = _array(column, values, count).tolist()
    for row, number in enumerate(numbers):
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number < 2**63 or number % 1:
            _refuse(column, row, number, "a whole number from 0 to 2^63 - 1")
    return [int(number) for number in numbers]


def _costs(column: str, values: Any, count: int) -> list[float]:
    costs = [numpy.nan if cost is None else cost for cost in _array(column, values, count).tolist()]
    for row, cost in enumerate(costs):
        if isinstance(cost, bool) or not isinstance(cost, (int, float)) or cost < 0 or cost == numpy.inf:
            _refuse(column, row, cost, "microseconds of 0 or more, or NaN")
    return costs


def _ends(edges: Any, rows: Mapping[str, int]) -> list[tuple[int, int]]:
    """Returns the rows of producers and consumers."""
    array = numpy.asarray(edges)
    if array.size == 0:
        return []
    if array.ndim != 2 or array.shape[1] != 2:
        raise UsageError(f"edges: expected an array of the shape (edges, 2), found {array.shape}")

    def row_of(edge: int, end: Union[int, str]) -> int:
        if isinstance(end, str):
            if end not in rows:
                near = difflib.get_close_matches(end, rows, 1)
                _refuse("edges", edge, end, f"the name of an op; did you mean '{near[0]}'?" if near else
                        "the name of an op")
            return rows[end]
        if isinstance(end, bool) or not isinstance(end, int) or not 0 <= end < len(rows):
            _refuse("edges", edge, end, f"a row of ops from 0 to {len(rows) - 1}, or a name")
        return end

    return [(row_of(edge, producer), row_of(edge, consumer)) for edge, (producer, consumer) in
            enumerate(array.tolist())]
