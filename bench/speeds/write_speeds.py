#!/usr/bin/env python3
"""Writes the speeds of agents from a run of the suite agent-speeds.

Usage: write_speeds.py EMPLACE STORE > bench/speeds/speeds.json

For each agent, log(time per evaluation) is fitted by least squares to log(ops), log(groups on which it decides),
log(devices) and whether the cluster is of the physical engine. The fastest repetition of a cell counts, so that other
work on the machine counts little. An agent that evaluates nothing has the time of its cell instead.
"""

import collections
import json
import math
import pathlib
import subprocess
import sys

import numpy

USUAL_OPS, USUAL_GROUPS, USUAL_DEVICES = 1000, 128, 4
PHYSICAL = {"p2-8xlarge-2": 0, "p2-8xlarge-4": 0, "dgx-a100": 1}  # the suite's clusters

program, store = sys.argv[1:]


def answer(*arguments):
    return json.loads(subprocess.run([program, *arguments, "--json"], check=True, capture_output=True).stdout)


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


def fit(cells):
    ops = numpy.array([num_ops[cell["graph"]] for cell in cells]) / USUAL_OPS
    groups = numpy.array([cell["decision_groups"] for cell in cells]) / USUAL_GROUPS
    devices = numpy.array([len(cell["peak_bytes"]) for cell in cells]) / USUAL_DEVICES
    us = numpy.array([cell["measured"]["wall_s"] * 1e6 / max(1, cell["evaluations"]) for cell in cells])
    physical = numpy.array([PHYSICAL[cell["cluster"]] for cell in cells])
    features = numpy.stack([numpy.ones(len(cells)), numpy.log(ops), numpy.log(groups), numpy.log(devices), physical],
                           axis=1)
    at_usual, *exponents, log_physical = numpy.linalg.lstsq(features, numpy.log(us), rcond=None)[0]
    names = ("ops_exponent", "groups_exponent", "devices_exponent")
    return {"us": float(f"{math.exp(at_usual):.3g}"), **{name: round(x, 2) for name, x in zip(names, exponents)},
            "physical": float(f"{math.exp(log_physical):.3g}")}


start = manifest["starts"][0]
agents = [{"agent": agent, **fit(list(cells.values()))} for agent, cells in sorted(fastest.items())]
head = {"schema": "emplace-speeds", "version": 2,
        "comment": "Written by bench/speeds/write_speeds.py from one run of the suite agent-speeds on one thread.",
        "recorded": {"time": start["time"][:10], "cpu": start["machine"]["cpu"],
                     "git_revision": start["build"]["git_revision"], "cells": num_cells}}
rows = ",\n".join("  " + json.dumps(agent) for agent in agents)
print(json.dumps(head, indent=1)[:-2] + ',\n "agents": [\n' + rows + "\n ]\n}")
