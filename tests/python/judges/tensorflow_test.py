#!/usr/bin/env python3
"""TensorFlow's own counts, for networks of Keras as SavedModels and as frozen graphs.

FLOPs of convolutions and products are within 1 % of what tf.compat.v1.profiler counts, and parameters equal those of
Keras. Kinds, FLOPs, bytes and the simulated time of a step are within 1 % in both files.
"""
import os
import pathlib
import tempfile
import unittest
import warnings

import emplace
from facts import TOLERANCE, Facts, differences, kinds_that_differ, quiet

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import tensorflow
except ImportError:
    tensorflow = None

PIXELS, BATCH = 96, 4

# Operators of the profiler and kinds of emplace.
PRODUCTS = {"Conv2D", "Conv2DBackpropInput", "DepthwiseConv2dNative", "MatMul", "BatchMatMulV2", "Einsum"}

# Known failures of networks, by what fails, with the reason.
GROUPED = "the profiler does not count functions, which Keras has its grouped convolutions in"
FOLDED = "TensorFlow takes transposes out of a frozen graph"
KNOWN = {
    "convnext": {"saved-model products": GROUPED, "frozen products": GROUPED, "frozen kinds": FOLDED,
                 "frozen bytes": FOLDED, "frozen time": FOLDED},
}


def application(name):
    return lambda: getattr(tensorflow.keras.applications, name)(weights=None, classes=10,
                                                                input_shape=(PIXELS, PIXELS, 3))


NETWORKS = {
    "convnext": application("ConvNeXtTiny"),
    "densenet": application("DenseNet121"),
    "efficientnet": application("EfficientNetB0"),
    "inception-v3": application("InceptionV3"),
    "mobilenet": application("MobileNet"),
    "mobilenet-v3": application("MobileNetV3Small"),
    "nasnet": application("NASNetMobile"),
    "resnet-50": application("ResNet50"),
}


def counted_flops(graph):
    """Returns the FLOPs of products and convolutions of a tf.Graph whose shapes are known."""
    profiler = tensorflow.compat.v1.profiler
    options = profiler.ProfileOptionBuilder(profiler.ProfileOptionBuilder.float_operation())
    options = options.with_empty_output().order_by("float_ops").build()
    nodes = profiler.profile(graph, cmd="op", options=options).children
    flops = 0
    while nodes:  # a chain, in the order of FLOPs
        (node, *_) = nodes
        flops += node.float_ops if node.name in PRODUCTS else 0
        nodes = node.children
    return flops


def frozen(model):
    """Returns the function of a model with its weights as constants."""
    from tensorflow.python.framework import convert_to_constants
    size = model.inputs[0].shape[1]
    function = tensorflow.function(lambda image: model(image, training=False))
    concrete = function.get_concrete_function(tensorflow.TensorSpec([BATCH, size, size, 3]))
    return convert_to_constants.convert_variables_to_constants_v2(concrete)


def judge(name):
    """Returns {check: what fails}, and the counted and imported FLOPs."""
    failures = {}
    model = NETWORKS[name]()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with quiet():
            saved = os.path.join(folder, "saved")
            model.export(saved)
            graph = frozen(model).graph
            counted = counted_flops(graph)
        path = pathlib.Path(folder, "frozen.pb")
        path.write_bytes(graph.as_graph_def().SerializeToString())
        facts = {}
        for way, file in (("saved-model", saved), ("frozen", path)):
            try:
                facts[way] = Facts(emplace.load(f"{file}:unknown-dimension={BATCH}"), folder)
            except emplace.Error as error:
                failures[f"{way} import"] = str(error)
                continue
            if abs(facts[way].products / counted - 1) > TOLERANCE:
                failures[f"{way} products"] = f"{facts[way].products} FLOPs, TensorFlow counts {counted}"
    if "saved-model" in facts:
        expected = sum(weight.shape.num_elements() for weight in model.trainable_weights)
        if facts["saved-model"].parameters != expected:
            failures["saved-model parameters"] = f"{facts['saved-model'].parameters}, Keras has {expected}"
    if len(facts) == 2:
        base = facts["saved-model"]
        for what, share in differences(facts["frozen"], base).items():
            if abs(share) > TOLERANCE:
                kinds = kinds_that_differ(facts["frozen"], base)
                failures[f"frozen {what}"] = f"{100 * share:+.1f} %: {kinds}"
    return failures, counted, facts


@unittest.skipIf(tensorflow is None, "needs the package tensorflow-cpu")
class Applications(unittest.TestCase):
    def test_networks_have_the_flops_of_the_profiler(self):
        for name in NETWORKS:
            with self.subTest(name):
                failures = judge(name)[0]
                self.assertEqual(set(failures), set(KNOWN.get(name, {})), failures)


if __name__ == "__main__":
    unittest.main()
