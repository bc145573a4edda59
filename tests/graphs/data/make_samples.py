"""Writes the sample files of this folder that other programs would write; needs python3-networkx.

Usage: make_samples.py FOLDER
node_link.json and networkx.graphml are networkx' own output; wfcommons-*.json hold one workflow in two
versions of WfFormat. pipedream.txt and simgrid.dot are written by hand.
"""

import json
import pathlib
import sys

import networkx as nx

folder = pathlib.Path(sys.argv[1])


def write_json(name, value):
    (folder / name).write_text(json.dumps(value, indent=1) + "\n")


# A diamond with ids of both types, a value that is read twice, costs and bytes under names of their own.
diamond = nx.MultiDiGraph(name="diamond")
diamond.add_node("in", weight=1.5)
diamond.add_node(1, weight=20, color="red")
diamond.add_node("1", name="one", weight=30.25, kind="matmul", flops=4096)
diamond.add_node("out", weight=0)
diamond.add_edge("in", 1, data=4000)
diamond.add_edge("in", "1", data=4000)
diamond.add_edge(1, "out", data=100)
diamond.add_edge("1", "out", data=200)
diamond.add_edge("1", "out", data=200)
diamond.add_edge("in", "out")
write_json("node_link.json", nx.node_link_data(diamond))  # links until networkx 3.3, then edges

chain = nx.DiGraph(name="chain")
chain.add_node("first", flops=1000, cost_us=2.5, scope="a/b & c")
chain.add_node("second", flops=2000, cost_us=0.5, scope="a/d")
chain.add_node("third", cost_us=1.0)
chain.add_edge("first", "second", bytes=64)
chain.add_edge("second", "third", bytes=32)
chain.add_edge("first", "third", bytes=64)
nx.write_graphml(chain, folder / "networkx.graphml")

# split reads a database and writes it again for three searches, each with a chunk of its own; cat joins
# what they find; clean only waits.
sizes = {"input.fasta": 1000, "db.bin": 5000, "result": 60}
sizes.update({f"chunk_{i}": 100 * i for i in (1, 2, 3)})
sizes.update({f"hits_{i}": 10 * i for i in (1, 2, 3)})
tasks = [("split", [], ["input.fasta"], ["db.bin", "chunk_1", "chunk_2", "chunk_3"], 2.5)]
tasks += [("blast", [0], ["db.bin", f"chunk_{i}"], [f"hits_{i}"], 10.0 * i) for i in (1, 2, 3)]
tasks += [("cat", [1, 2, 3], ["hits_1", "hits_2", "hits_3"], ["result"], 0.125),
          ("clean", [4], [], [], 1)]


def task_id(index):
    return f"{tasks[index][0]}_ID{index + 1:06}"


def children(index):
    return [task_id(i) for i, task in enumerate(tasks) if index in task[1]]


def kin(index):
    return {"name": tasks[index][0], "id": task_id(index),
            "parents": [task_id(parent) for parent in tasks[index][1]], "children": children(index)}


head = {"name": "search", "description": "by make_samples.py", "createdAt": "2026-01-01T00:00:00Z"}
write_json("wfcommons-1.5.json", {
    **head, "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [{**kin(i), "inputFiles": task[2], "outputFiles": task[3]}
                      for i, task in enumerate(tasks)],
            "files": [{"id": name, "sizeInBytes": size} for name, size in sizes.items()]},
        "execution": {
            "makespanInSeconds": 33, "executedAt": "2026-01-01T00:00:00Z",
            "tasks": [{"id": task_id(i), "runtimeInSeconds": task[4], "coreCount": 1,
                       "memoryInBytes": 1_000_000 * (i + 1), "machines": ["host"]}
                      for i, task in enumerate(tasks)],
            "machines": [{"nodeName": "host", "cpu": {"coreCount": 4, "speedInMHz": 2500}}]}}})
write_json("wfcommons-1.4.json", {
    **head, "schemaVersion": "1.4",
    "workflow": {
        "makespanInSeconds": 33, "executedAt": "2026-01-01T00:00:00Z",
        "tasks": [{**kin(i), "type": "compute", "runtimeInSeconds": task[4],
                   "memoryInBytes": 1_000_000 * (i + 1),
                   "files": [{"link": link, "name": name, "sizeInBytes": sizes[name]}
                             for link, names in (("input", task[2]), ("output", task[3]))
                             for name in names]}
                  for i, task in enumerate(tasks)]}})
