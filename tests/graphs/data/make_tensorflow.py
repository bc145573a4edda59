#!/usr/bin/env python3
"""Writes tensorflow_*.pb beside this file: frozen graphs of published networks, with the shapes of weights and
placeholders only. Needs protoc and python3-protobuf."""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parents[2] / "graphs/src/protobuf"

with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["protoc", f"--python_out={folder}", f"--proto_path={PROTO}", "tensorflow.proto"], check=True)
    sys.path.insert(0, folder)
    import tensorflow_pb2 as proto


class Graph:
    """Grows a frozen graph, layer by layer; `layout` is NHWC or NCHW."""

    def __init__(self, layout):
        self.definition = proto.GraphDef()
        self.layout = layout

    def node(self, name, op, *inputs, **attributes):
        node = self.definition.node.add(name=name, op=op, input=inputs)
        node.attr["T"].type = proto.DT_FLOAT
        for key, value in attributes.items():
            attribute = node.attr[key]
            if isinstance(value, bool):
                attribute.b = value
            elif isinstance(value, str):
                attribute.s = value.encode()
            else:
                attribute.list.i.extend(value)
        return name

    def constant(self, name, shape, integers=()):
        node = self.definition.node.add(name=name, op="Const")
        tensor = node.attr["value"].tensor
        tensor.dtype = node.attr["dtype"].type = proto.DT_INT32 if integers else proto.DT_FLOAT
        for size in shape:
            tensor.tensor_shape.dim.add(size=size)
        tensor.int_val.extend(integers)
        return name

    def weights(self, name, *shape):
        return self.node(f"{name}/read", "Identity", self.constant(name, shape))

    def image(self, channels, size):
        node = self.definition.node.add(name="input", op="Placeholder")
        node.attr["dtype"].type = proto.DT_FLOAT
        for extent in self.arrange(-1, channels, size, size):
            node.attr["shape"].shape.dim.add(size=extent)
        return "input"

    def arrange(self, n, c, h, w):
        return [n, h, w, c] if self.layout == "NHWC" else [n, c, h, w]

    def window(self, name, op, *inputs, stride, padding, **attributes):
        strides = self.arrange(1, 1, stride, stride)
        return self.node(name, op, *inputs, strides=strides, padding=padding, data_format=self.layout, **attributes)

    def conv(self, name, x, size, channels, filters, stride=1, padding="SAME"):
        weights = self.weights(f"{name}/weights", size, size, channels, filters)
        return self.window(f"{name}/Conv2D", "Conv2D", x, weights, stride=stride, padding=padding)

    def depthwise(self, name, x, size, channels, stride):
        weights = self.weights(f"{name}/depthwise_weights", size, size, channels, 1)
        return self.window(f"{name}/depthwise", "DepthwiseConv2dNative", x, weights, stride=stride, padding="SAME")

    def batch_norm(self, name, x, channels):
        read = [self.weights(f"{name}/{of}", channels) for of in ("gamma", "beta", "moving_mean", "moving_variance")]
        op = "FusedBatchNormV3"
        return self.node(f"{name}/{op}", op, x, *read, is_training=False, data_format=self.layout)

    def pool(self, name, op, x, size, stride):
        return self.window(name, op, x, stride=stride, padding="VALID", ksize=self.arrange(1, 1, size, size))

    def pad(self, name, x, border):
        borders = [side for extent in self.arrange(0, 0, border, border) for side in (extent, extent)]
        return self.node(f"{name}/Pad", "Pad", x, self.constant(f"{name}/paddings", (4, 2), borders))


def mobilenet_v1():
    """Howard et al. 2017, arXiv 1704.04861, table 1."""
    graph = Graph("NHWC")

    def normalize(name, x, channels):
        return graph.node(f"{name}/Relu6", "Relu6", graph.batch_norm(f"{name}/BatchNorm", x, channels))

    x = normalize("Conv2d_0", graph.conv("Conv2d_0", graph.image(3, 224), 3, 3, 32, 2), 32)
    channels = 32
    blocks = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + 5 * [(512, 1)] + [(1024, 2), (1024, 1)]
    for i, (filters, stride) in enumerate(blocks, 1):
        name = f"Conv2d_{i}_depthwise"
        x = normalize(name, graph.depthwise(name, x, 3, channels, stride), channels)
        name = f"Conv2d_{i}_pointwise"
        x = normalize(name, graph.conv(name, x, 1, channels, filters), filters)
        channels = filters
    x = graph.conv("Logits", graph.pool("AvgPool", "AvgPool", x, 7, 1), 1, 1024, 1000)
    x = graph.node("BiasAdd", "BiasAdd", x, graph.weights("Logits/biases", 1000))
    graph.node("Softmax", "Softmax", graph.node("SpatialSqueeze", "Squeeze", x, squeeze_dims=[1, 2]))
    return graph


def resnet50(layout):
    """He et al. 2015, arXiv 1512.03385, with the stride in the 3 x 3 convolution as in torchvision."""
    graph = Graph(layout)

    def convolve(name, x, size, channels, filters, stride=1):
        x = graph.pad(name, x, size // 2) if size > 1 else x
        return graph.batch_norm(f"{name}/bn", graph.conv(name, x, size, channels, filters, stride, "VALID"), filters)

    x = graph.node("relu", "Relu", convolve("conv1", graph.image(3, 224), 7, 3, 64, 2))
    x = graph.pool("pool1", "MaxPool", graph.pad("pool1", x, 1), 3, 2)
    channels = 64
    for stage, (units, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)]):
        for unit in range(units):
            name = f"block{stage}/unit{unit}"
            stride = 2 if unit == 0 and stage > 0 else 1
            y = graph.node(f"{name}/relu1", "Relu", convolve(f"{name}/conv1", x, 1, channels, width))
            y = graph.node(f"{name}/relu2", "Relu", convolve(f"{name}/conv2", y, 3, width, width, stride))
            y = convolve(f"{name}/conv3", y, 1, width, 4 * width)
            if unit == 0:
                x = convolve(f"{name}/shortcut", x, 1, channels, 4 * width, stride)
            x = graph.node(f"{name}/relu", "Relu", graph.node(f"{name}/add", "AddV2", y, x))
            channels = 4 * width
    axes = graph.constant("axes", (2,), [1, 2] if layout == "NHWC" else [2, 3])
    x = graph.node("pool5", "Mean", x, axes, keep_dims=False)
    x = graph.node("fc/MatMul", "MatMul", x, graph.weights("fc/weights", 2048, 1000))
    graph.node("fc/BiasAdd", "BiasAdd", x, graph.weights("fc/biases", 1000))
    return graph


for name, graph in (("mobilenet_v1", mobilenet_v1()), ("resnet50_nhwc", resnet50("NHWC")),
                    ("resnet50_nchw", resnet50("NCHW"))):
    (HERE / f"tensorflow_{name}.pb").write_bytes(graph.definition.SerializeToString(deterministic=True))
