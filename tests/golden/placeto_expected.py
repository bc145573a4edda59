#!/usr/bin/env python3
"""Prints what the simulator released with Placeto makes of the cases of a case file: placeto_expected.py CLONE <CASES

CLONE is a clone of that code, which is imported unchanged. It wants the objects that TensorFlow records: a metagraph,
memory and times of ops. Here they are objects with the members that it reads.
"""
import importlib
import json
import pathlib
import sys
import warnings
from types import SimpleNamespace


def load_simulator(clone):
    warnings.filterwarnings("ignore", category=SyntaxWarning)  # it compares strings and numbers with "is"
    sys.path.insert(0, str(pathlib.Path(clone) / "sim"))
    return importlib.import_module("tf_placement_sim.tf_pl_simulator").ImportantOpsSimulator


def node_names(case):
    """Returns the name of each id. Names that are made here sort as the ids do."""
    width = len(str(max(node["id"] for node in case["nodes"])))
    return {node["id"]: node.get("name", f"n{node['id']:0{width}}") for node in case["nodes"]}


def make_simulator(simulator, case, names):
    inputs = {name: [] for name in names.values()}
    for producer, output, consumer in case["edges"]:
        name = names[producer]
        inputs[names[consumer]].append(f"^{name}" if output < 0 else f"{name}:{output}" if output else name)
    ops, memory, times = [], [], []
    for node in case["nodes"]:
        name = names[node["id"]]
        ops.append(SimpleNamespace(name=name, op="Op", device="", input=inputs[name]))
        memory.append(SimpleNamespace(node=name, op_memory=SimpleNamespace(output_memory=node["outputs"])))
        times.append(SimpleNamespace(node_name=name, all_start_micros=0, op_start_rel_micros=0,
                                     all_end_rel_micros=node["cost_us"], output=[]))
    metagraph = SimpleNamespace(graph_def=SimpleNamespace(node=ops))
    steps = SimpleNamespace(dev_stats=[SimpleNamespace(device="/device:GPU:0/stream:all", node_stats=times)])
    return simulator(metagraph, memory, steps, [f"/device:GPU:{device}" for device in range(case["devices"])])


def main():
    released = load_simulator(sys.argv[1])
    for line in sys.stdin:
        case = json.loads(line)
        names = node_names(case)
        simulator = make_simulator(released, case, names)
        in_order = [names[node["id"]] for node in case["nodes"]]
        for index, placement in enumerate(case["placements"]):
            makespan, peaks = simulator.simulate(dict(zip(in_order, placement)), sim_mem_usage=True)
            times = [[simulator.f[name].start_time, simulator.f[name].end_time] for name in in_order]
            print(json.dumps({"name": case["name"], "placement": index, "makespan_us": makespan, "peak_mem": peaks,
                              "times": times}, separators=(",", ":")))


if __name__ == "__main__":
    main()
