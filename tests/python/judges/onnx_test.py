#!/usr/bin/env python3
"""ONNX's own backend tests: every model is imported, and its results have the shapes of the stored ones.

    python3 tests/python/judges/onnx_test.py --table

prints how many are right, refused and wrong as Markdown, and why they are refused.

A model is imported twice. `as-given` is the file as it is: shapes and axes that are inputs of the model are unknown
there, and results of unknown shape have the one that the file declares. `inferred` has the declared shapes of results
removed, so that emplace infers them itself, and short stored inputs as initializers, as exporters write settings.
"""
import collections
import json
import math
import os
import pathlib
import re
import sys
import tempfile
import unittest
import warnings

import emplace

try:
    import onnx
except ImportError:
    onnx = None
else:
    import numpy
    import onnx.backend.test.loader
    from onnx import TensorProto, helper, numpy_helper

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
WAYS = ("as-given", "inferred")

# Types of tensors that a probe can add to.
REAL = {"bfloat16", "bool", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "uint16", "uint32",
        "uint64", "uint8"}

# Inputs that `inferred` makes initializers: up to so many numbers, or so many integers.
KNOWN_SETTINGS, KNOWN_INTEGERS = 8, 64

# Not fewer than this many are right. Raise it when an importer learns more.
RIGHT = {"as-given": 1623, "inferred": 1754}
WRONG: dict = {}  # by name of the test: what is wrong


def stored(folder, prefix, values):
    """Returns the tensors of a data set in a folder, in the order of the model's inputs or outputs."""
    tensors = []
    for index, value in enumerate(values):
        path = folder / f"{prefix}_{index}.pb"
        if not path.exists():
            tensors.append(None)
            continue
        kind = value.type.WhichOneof("value")
        proto = {"tensor_type": onnx.TensorProto, "sequence_type": onnx.SequenceProto,
                 "optional_type": onnx.OptionalProto}.get(kind, onnx.TensorProto)()
        proto.ParseFromString(path.read_bytes())
        tensors.append(array_of(proto))
    return tensors


def array_of(value):
    """Returns an array, a list of them, or None for what is no tensor."""
    if isinstance(value, onnx.SequenceProto):
        return numpy_helper.to_list(value)
    if isinstance(value, onnx.OptionalProto):
        return numpy_helper.to_optional(value)
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def cases():
    """Yields (kind, name, model, inputs, outputs) of every test that has a model in the package."""
    for kind in KINDS:
        for case in sorted(onnx.backend.test.loader.load_model_tests(kind=kind), key=lambda case: case.name):
            if case.model is not None:
                inputs, outputs = ([array_of(value) for value in values] for values in case.data_sets[0])
                yield kind, case.name, case.model, inputs, outputs
                continue
            folder = pathlib.Path(case.model_dir)
            model = onnx.load(folder / "model.onnx")
            data = folder / "test_data_set_0"
            names = {tensor.name for tensor in model.graph.initializer}
            inputs = [value for value in model.graph.input if value.name not in names]
            yield (kind, case.name, model, stored(data, "input", inputs), stored(data, "output", model.graph.output))


def set_shape(value, shape):
    value.type.tensor_type.ClearField("shape")
    value.type.tensor_type.shape.SetInParent()
    for size in shape:
        value.type.tensor_type.shape.dim.add().dim_value = size


def with_probes(model, inputs, outputs, way, unread=()):
    """Returns a copy whose results each go into an op of a known name, and the shape that each op should have.

    A probe adds an input to the result, so that the result is not known before the step and its op stays. Results
    of types that have no sum get none, nor do those whose numbers are in `unread`. Inputs have the stored shapes, as
    if a user had given the sizes of symbolic dimensions.
    """
    probed = onnx.ModelProto()
    probed.CopyFrom(model)
    graph = probed.graph
    version = next((opset.version for opset in probed.opset_import if opset.domain in ("", "ai.onnx")), None)
    if version is None:
        version = onnx.defs.onnx_opset_version()
        probed.opset_import.append(helper.make_opsetid("", version))
    given = {value.name for value in graph.initializer}
    free = [value for value in graph.input if value.name not in given]
    for value, array in zip(free, inputs):
        if isinstance(array, numpy.ndarray) and value.type.HasField("tensor_type"):
            set_shape(value, array.shape)
    if way == "inferred":
        del graph.value_info[:]
        for value, array in zip(free, inputs):
            if isinstance(array, (numpy.ndarray, numpy.generic)) and (
                    array.size <= KNOWN_SETTINGS or array.dtype.kind == "i" and array.size <= KNOWN_INTEGERS):
                graph.initializer.append(numpy_helper.from_array(numpy.asarray(array), value.name))
    names = [value.name for value in graph.output]
    expected = {}
    graph.input.append(helper.make_tensor_value_info("judge_one", TensorProto.FLOAT, []))
    for index, (name, value) in enumerate(zip(names, outputs)):
        parts = value if isinstance(value, list) else [value]
        for place, part in enumerate(parts):
            if index in unread or numpy.asarray(part).dtype.name not in REAL:
                continue
            label, read = f"judge_{index}_{place}", name
            if isinstance(value, list):
                graph.initializer.append(helper.make_tensor(f"{label}_place", TensorProto.INT64, [], [place]))
                graph.node.append(helper.make_node("SequenceAt", [name, f"{label}_place"], [f"{label}_part"]))
                read = f"{label}_part"
            target = "FLOAT" if version < 6 else TensorProto.FLOAT
            graph.node.append(helper.make_node("Cast", [read], [f"{label}_real"], f"{label}_cast", to=target))
            options = {"broadcast": 1} if version < 7 else {}
            graph.node.append(helper.make_node("Add", [f"{label}_real", "judge_one"], [f"{label}_sum"], label,
                                               **options))
            expected[label] = list(numpy.shape(part))
            graph.output.append(helper.make_tensor_value_info(f"{label}_sum", TensorProto.FLOAT, None))
    if way == "inferred":
        for value in graph.output:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
    return probed, expected


def verdict(model, inputs, outputs, way, folder):
    """Returns "right", "refused" or "wrong", and why."""
    path = os.path.join(folder, "model.onnx")
    graph, expected = None, {}
    # Masks of dropout and the like are no tensors in emplace: such a model is refused only if something reads them.
    for unread in ((), range(1, len(outputs))):
        probed, expected = with_probes(model, inputs, outputs, way, unread)
        pathlib.Path(path).write_bytes(probed.SerializeToString())
        try:
            graph = emplace.load(path)
            break
        except emplace.Error as error:
            message = str(error).replace(path, "model.onnx")
            if "in training only" not in message or "judge" not in message or unread:
                return "refused", message
    graph.save(os.path.join(folder, "graph.json"))
    ops = {op["name"]: op for op in json.loads(pathlib.Path(folder, "graph.json").read_text())["ops"]}
    for label, shape in expected.items():
        result = ops[label]["outputs"][0] if label in ops else {}
        found = result.get("shape", [])
        if found != shape or result.get("bytes", 0) != 4 * math.prod(shape):
            return "wrong", f"result {label} has shape {found}, stored is {shape}"
    return "right", ""


def judged(way):
    """Returns (kind, name, verdict, reason) of every test."""
    with tempfile.TemporaryDirectory() as folder:
        return [(kind, name, *verdict(model, inputs, outputs, way, folder))
                for kind, name, model, inputs, outputs in cases()]


def reason_of(message):
    """Returns a message without the names of nodes, so that equal reasons count together."""
    message = message.split("\n")[0].removeprefix("model.onnx: ")
    return re.sub(r"'[^']*'|\b\d+\b", "…", message)[:110]


@unittest.skipIf(onnx is None or not os.path.isdir(onnx.backend.test.loader.DATA_DIR),
                 "needs the package onnx with its backend tests, which Debian's has not")
class BackendTests(unittest.TestCase):
    def test_results_have_the_stored_shapes(self):
        for way in WAYS:
            with self.subTest(way=way), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = judged(way)
                wrong = {name: reason for _, name, result, reason in rows if result == "wrong"}
                self.assertEqual(set(wrong), set(WRONG), wrong)
                self.assertGreaterEqual(sum(row[2] == "right" for row in rows), RIGHT[way])


def print_table():
    print("| way | tests | right | refused | wrong |")
    print("|---|---|---|---|---|")
    reasons = collections.Counter()
    wrong = []
    for way in WAYS:
        rows = judged(way)
        for kind in (*KINDS, "all"):
            counts = collections.Counter(row[2] for row in rows if kind in (row[0], "all"))
            print(f"| {way}, {kind} | {sum(counts.values()):,} | {counts['right']:,} | {counts['refused']:,} |"
                  f" {counts['wrong']:,} |")
        if way == "inferred":
            reasons.update(reason_of(row[3]) for row in rows if row[2] == "refused")
        wrong += [f"{way}: {name}: {reason}" for _, name, result, reason in rows if result == "wrong"]
    print("\n| refused, inferred | tests |\n|---|---|")
    for reason, count in reasons.most_common():
        print(f"| {reason.replace('|', '/')} | {count} |")
    for line in wrong:
        print(line)


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        warnings.simplefilter("ignore")
        print_table()
    else:
        unittest.main()
