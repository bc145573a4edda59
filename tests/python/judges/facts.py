"""What is compared between graphs of one network. Needs no framework."""
import collections
import contextlib
import json
import logging
import os
import pathlib
import sys
import warnings

import emplace
import numpy

# The largest difference between graphs that agree, as a share.
TOLERANCE = 0.01

CLUSTER = "dgx-1-v100"

# Kinds whose FLOPs torch.utils.flop_counter counts, too.
PRODUCTS = {"attention", "batch_matmul", "conv", "conv2d", "conv2d_transpose", "conv_transpose", "depthwise_conv2d",
            "einsum", "grouped_conv", "grouped_matmul", "gru", "lstm", "lstm_cell", "matmul"}


class Facts:
    """What a graph says about a step. Kinds are those of ops that take time."""

    def __init__(self, graph, folder):
        problem = emplace.problem(graph, CLUSTER)
        device = int(problem.placeable_devices[0])
        costs = problem.op_costs(device)
        self.parameters, self.flops = graph.parameters, graph.flops
        self.uncounted = dict(graph.uncounted)
        self.step_us = problem.simulate(numpy.full(problem.num_groups, device)).step_time_us
        self.kinds = collections.Counter(kind for kind, cost in zip(graph.kinds, costs) if cost > 0)
        path = os.path.join(folder, "facts.json")
        graph.save(path)
        ops = json.loads(pathlib.Path(path).read_text())["ops"]
        self.bytes = sum(op.get("bytes_read", 0) + op.get("bytes_written", 0) for op in ops)
        self.kind_us, self.kind_flops = collections.Counter(), collections.Counter()
        for op, cost in zip(ops, costs.tolist()):
            self.kind_us[op["kind"]] += cost
            self.kind_flops[op["kind"]] += op.get("flops", 0)
        self.products = sum(self.kind_flops[kind] for kind in PRODUCTS)


@contextlib.contextmanager
def quiet():
    """Swallows what exporters print, from C++ too."""
    logging.disable(logging.ERROR)
    kept = [os.dup(1), os.dup(2)]
    try:
        with open(os.devnull, "w") as nowhere, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sys.stdout.flush()
            for number in (1, 2):
                os.dup2(nowhere.fileno(), number)
            yield
    finally:
        sys.stdout.flush()
        for number, original in zip((1, 2), kept):
            os.dup2(original, number)
            os.close(original)
        logging.disable(logging.NOTSET)


def ratio(value, base):
    """Returns the difference as a share of the base."""
    return value / base - 1 if base else float(value != base)


def differences(facts, base):
    """Returns {what: share} by which a graph differs from another."""
    kinds = sum(abs(facts.kinds[kind] - base.kinds[kind]) for kind in facts.kinds | base.kinds)
    return {"kinds": kinds / sum(base.kinds.values()), "flops": ratio(facts.flops, base.flops),
            "bytes": ratio(facts.bytes, base.bytes), "time": ratio(facts.step_us, base.step_us)}


def kinds_that_differ(facts, base):
    """Returns which kinds an imported graph has more (+) or fewer (-) of."""
    return ", ".join(f"{facts.kinds[kind] - base.kinds[kind]:+} {kind}" for kind in sorted(facts.kinds | base.kinds)
                     if facts.kinds[kind] != base.kinds[kind])
