#!/usr/bin/env python3
"""Writes the speeds of agents, and the memory that they take, from a run of the suite agent-speeds.

Usage: write_speeds.py EMPLACE STORE > bench/speeds/speeds.json (needs numpy and GNU time)

For each agent, log(time per evaluation) is fitted by least squares to log(ops), log(groups on which it decides),
log(devices) and whether the cluster is of the physical engine. The fastest repetition of a cell counts, so that other
work on the machine counts little. An agent that evaluates nothing has the time of its cell instead.

For the memory, each cell is placed once more by a process of its own. What its peak is above that of `single-gpu` is
fitted to a constant, ops and groups, none of them below 0, so that the squares of the relative errors are least.
"""

import collections
import functools
import itertools
import json
import math
import pathlib
import subprocess
import sys

import numpy

USUAL_OPS, USUAL_GROUPS, USUAL_DEVICES = 1000, 128, 4
LEAST_PEAK = 1e6  # bytes: less than that is noise
PHYSICAL = {"p2-8xlarge-2": 0, "p2-8xlarge-4": 0, "dgx-a100": 1}  # the suite's clusters

program, store = sys.argv[1:]


def answer(*arguments):
    return json.loads(subprocess.run([program, *arguments, "--json"], check=True, capture_output=True).stdout)


def peak_bytes(cell, agent):
    """The most memory of a process that places the cell's problem, as the operating system counts it."""
    grouping = ["--groups", str(cell["groups"])] if cell["groups"] else []
    arguments = [cell["graph"], "--cluster", cell["cluster"], "--grouping", cell["grouping"], *grouping,
                 "--agent", agent, "--evaluations", str(cell["max_evaluations"]), "--threads", "1", "--quiet"]
    run = subprocess.run(["time", "-f", "%M", program, "place", *arguments], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"write_speeds.py: place {' '.join(arguments)}: {run.stderr}")
    return 1024 * int(run.stderr.splitlines()[-1])


manifest = json.loads(pathlib.Path(store, "manifest.json").read_text())
fastest = collections.defaultdict(dict)  # agent -> (graph, cluster) -> cell
num_cells = 0
for line in pathlib.Path(store, "cells.jsonl").read_text().splitlines():
    cell = json.loads(line)
    if cell["status"] == "failed":
        continue
    num_cells += 1
    best = fastest[cell["agent"]].setdefault((cell["graph"], cell["cluster"]), cell)
    if cell["measured"]["wall_s"] < best["measured"]["wall_s"]:
        fastest[cell["agent"]][cell["graph"], cell["cluster"]] = cell

graphs = sorted({graph for cells in fastest.values() for graph, _ in cells})
num_ops = {graph: answer("show", graph)["ops"] for graph in graphs}


@functools.cache
def bytes_without_agent(graph, cluster):
    cell = next(iter(fastest.values()))[graph, cluster]
    return min(peak_bytes(cell, "single-gpu") for _ in range(3))


def fit_memory(cells, ops, groups):
    peaks = numpy.array([peak_bytes(cell, cell["agent"]) - bytes_without_agent(cell["graph"], cell["cluster"])
                         for cell in cells])
    weights = 1 / numpy.maximum(peaks, LEAST_PEAK)
    features = numpy.stack([numpy.full(len(cells), 1e6), 1e3 * ops, 1e3 * groups], axis=1)
    best = numpy.inf, numpy.zeros(3)
    for chosen in itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in (1, 2, 3)):
        weighted = features[:, chosen] * weights[:, None]
        factors = numpy.linalg.lstsq(weighted, peaks * weights, rcond=None)[0]
        error = numpy.sum((weighted @ factors - peaks * weights) ** 2)
        if numpy.all(factors >= 0) and error < best[0]:
            all_factors = numpy.zeros(3)
            all_factors[list(chosen)] = factors
            best = error, all_factors
    return {name: float(f"{abs(factor):.3g}") for name, factor in zip(("mb", "kb_per_op", "kb_per_group"), best[1])}


def fit(cells):
    ops = numpy.array([num_ops[cell["graph"]] for cell in cells])
    groups = numpy.array([cell["decision_groups"] for cell in cells])
    devices = numpy.array([len(cell["peak_bytes"]) for cell in cells])
    us = numpy.array([cell["measured"]["wall_s"] * 1e6 / max(1, cell["evaluations"]) for cell in cells])
    physical = numpy.array([PHYSICAL[cell["cluster"]] for cell in cells])
    features = numpy.stack([numpy.ones(len(cells)), numpy.log(ops / USUAL_OPS), numpy.log(groups / USUAL_GROUPS),
                            numpy.log(devices / USUAL_DEVICES), physical], axis=1)
    at_usual, *exponents, log_physical = numpy.linalg.lstsq(features, numpy.log(us), rcond=None)[0]
    names = ("ops_exponent", "groups_exponent", "devices_exponent")
    return {"us": float(f"{math.exp(at_usual):.3g}"), **{name: round(x, 2) for name, x in zip(names, exponents)},
            "physical": float(f"{math.exp(log_physical):.3g}"), **fit_memory(cells, ops, groups)}


start = manifest["starts"][0]
agents = [{"agent": agent, **fit(list(cells.values()))} for agent, cells in sorted(fastest.items())]
head = {"schema": "emplace-speeds", "version": 3,
        "comment": "Written by bench/speeds/write_speeds.py from the suite agent-speeds, on one thread.",
        "recorded": {"time": start["time"][:10], "cpu": start["machine"]["cpu"],
                     "git_revision": start["build"]["git_revision"], "cells": num_cells}}
rows = ",\n".join("  " + json.dumps(agent) for agent in agents)
print(json.dumps(head, indent=1)[:-2] + ',\n "agents": [\n' + rows + "\n ]\n}")
