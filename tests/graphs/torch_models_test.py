"""Exports torchvision's models to ONNX, imports them with training graphs, and compares parameters and multiply-adds with
what PyTorch itself says: torch_models_test.py EMPLACE. Exit status 77 (skipped) where there is no PyTorch.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import onnx  # noqa: F401  (the exporter needs it)
    import torch
    import torchvision
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
warnings.simplefilter("ignore")

MODELS = (("resnet50", 17), ("mobilenet_v2", 17), ("densenet121", 17), ("squeezenet1_1", 17), ("shufflenet_v2_x1_0", 13),
          ("mobilenet_v3_small", 11), ("mobilenet_v3_small", 17))


def multiply_adds(net, image):
    """Counts those of convolutions and linear layers by what goes in and out of them."""
    total = 0

    def count(layer, inputs, output):
        nonlocal total
        if isinstance(layer, torch.nn.Conv2d):
            total += output.numel() * layer.weight[0].numel()
        elif isinstance(layer, torch.nn.Linear):
            total += output.numel() * layer.in_features

    for layer in net.modules():
        layer.register_forward_hook(count)
    with torch.no_grad():
        net(image)
    return total


def imported(emplace, path):
    out = path.with_suffix(".json")
    subprocess.run([emplace, "convert", f"{path}:training=true", "-o", out], check=True, stdout=subprocess.DEVNULL)
    ops = [op for op in json.loads(out.read_text())["ops"] if op.get("phase", "forward") == "forward"]
    products = ("conv2d", "depthwise_conv2d", "grouped_conv", "matmul", "batch_matmul")
    flops = sum(op.get("flops", 0) for op in ops if op["kind"] in products)
    return sum(op.get("parameters", 0) for op in ops), flops // 2


def main():
    wrong = 0
    for name, opset in MODELS:
        net = getattr(torchvision.models, name)()
        image = torch.zeros(2, 3, 224, 224)
        # As in training, so that batch normalizations are not folded into convolutions.
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"{name}.onnx"
            torch.onnx.export(net.train(), image, path, opset_version=opset,
                              training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
            found = imported(sys.argv[1], path)
        expected = (sum(p.numel() for p in net.parameters()), multiply_adds(net, image))
        print(f"{name}, opset {opset}: parameters and multiply-adds are {found}, PyTorch says {expected}")
        wrong += found != expected
    return wrong


sys.exit(main())
