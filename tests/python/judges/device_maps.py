#!/usr/bin/env python3
"""Runs device maps of emplace by Accelerate, and prints as Markdown what their steps take.

    PYTHONPATH=build/release/bench/python build/judges/bin/python tests/python/judges/device_maps.py [NETWORK...]

Each network is placed on two K80s: freely, with `--for torch-device-map`, and by Accelerate itself, which divides weights
evenly. Accelerate's dispatch_model() then takes the map of emplace twice, and the exit status is 1 if that fails:

- on two GPUs that need not be there, with tensors without data: the map must name every weight, and PyTorch refuses an
  operator that reads both GPUs;
- on the CPU, with the modules of gpu:1 offloaded to a file: results must be those of the network as it was, bit for bit.
"""
import argparse
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import accelerate
    import torch
    import torchvision
    from accelerate.utils import get_balanced_memory
    from torch._subclasses.fake_tensor import FakeTensorMode
except ImportError as missing:
    print(f"device_maps: skipped: needs the package {missing.name}")
    sys.exit(0)
import emplace

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests/python"))
from torch_models import Gpt  # noqa: E402

CLUSTER = "p2-8xlarge-2"
MEMORY = 11_000_000_000  # of each of its GPUs

# Networks, and the classes of their blocks: Accelerate has to be told not to split what adds its input.
NETWORKS = {"alexnet": [], "densenet121": ["_DenseBlock"], "efficientnet_b0": ["MBConv"], "googlenet": ["Inception"],
            "gpt2, 4 layers": ["Block"], "mobilenet_v3_small": ["InvertedResidual"], "resnet18": ["BasicBlock"],
            "resnet50": ["Bottleneck"], "shufflenet_v2_x1_0": ["InvertedResidual"], "squeezenet1_1": ["Fire"],
            "vgg16": [], "vit_b_16": ["EncoderBlock"]}


def network(name, batch):
    """Returns a network, and its input."""
    if name.startswith("gpt2"):
        return Gpt(layers=4, positions=256), torch.zeros(batch, 256, dtype=torch.int64)
    options = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    return getattr(torchvision.models, name)(**options), torch.randn(batch, 3, 224, 224)


# --- Placements -------------------------------------------------------------------------------------------------------


def call(*arguments):
    """Returns the answer of a command of emplace."""
    program = os.environ.get("EMPLACE", ROOT / "build/release/emplace")
    run = subprocess.run([program, "--quiet", *arguments, "--json"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(run.stderr)
    return json.loads(run.stdout)


def of_path(path, device_map):
    """Returns the device of a module or weight in a map; None if it has none of its own."""
    while path not in device_map and path:
        path = path.rpartition(".")[0]
    return device_map.get(path)


def placement_of(graph, device_map):
    """Returns the device of each op: that of its module, of its forward op, or of what it reads.

    Accelerate gives results back on the main device, where the loss is computed.
    """
    with open(graph, encoding="utf-8") as file:
        contents = json.load(file)
    ops, found = contents["ops"], {}
    producer = {}
    for edge in contents["edges"]:
        producer.setdefault(edge[2], []).append(ops[edge[0]]["name"])
    main = next(iter(device_map.values()))
    for index, op in enumerate(ops):
        name, scope = op["name"], op.get("scope", "").replace("/", ".")
        device = of_path(name.partition("+")[0].replace("/", "."), device_map) if op["kind"] == "variable" else None
        device = of_path(scope, device_map) if device is None else device
        device = main if scope == "loss" else device
        origin = name
        while device is None and op.get("phase", "forward") != "forward" and "/" in origin:
            origin = origin.rpartition("/")[0]
            device = found.get(origin)
        read = [found[each] for each in producer.get(index, []) if each in found]
        found[name] = device if device is not None else read[0] if read else main
    return {"schema": "emplace-placement", "version": 1, "devices": {name: f"gpu:{gpu}" for name, gpu in found.items()}}


def step_of(graph, device_map, model):
    """Returns the step [us] of a map as it is read here, and not as emplace has written it."""
    with open("read.json", "w", encoding="utf-8") as file:
        json.dump(placement_of(graph, device_map), file)
    step = call("convert", graph, "--cluster", CLUSTER, "--placement", "read.json", "--to", "torch-device-map",
                "-o", "written.json")
    with open("written.json", encoding="utf-8") as file:
        written = json.load(file)
    for name, _ in model.named_parameters():
        if of_path(name, written) != of_path(name, device_map):
            raise RuntimeError(f"{name} is on {of_path(name, written)} instead of {of_path(name, device_map)}")
    return step["exported_step_time_us"]


def own_map(model, blocks):
    """Returns what Accelerate does by itself, and is told of blocks."""
    memory = get_balanced_memory(model, {0: MEMORY, 1: MEMORY}, no_split_module_classes=blocks)
    return accelerate.infer_auto_device_map(model, memory, no_split_module_classes=blocks)


def completed(device_map, model):
    """Adds buffers that no operator reads, as masks that are part of attention: to where most of their module is."""
    added = dict(device_map)
    for name, _ in model.named_buffers():
        if of_path(name, device_map) is None:
            module = name.rpartition(".")[0]
            within = [gpu for path, gpu in device_map.items() if path.startswith(module + ".")]
            added[name] = max(set(within), key=within.count)
    return added


# --- Accelerate -------------------------------------------------------------------------------------------------------


def put_stored(model, device_map, put):
    """Moves parameters and buffers that are in a map by their own names: dispatch_model() moves modules only."""
    for name, _ in [*model.named_parameters(), *model.named_buffers()]:
        if name in device_map:
            holder, _, own = name.rpartition(".")
            put(model.get_submodule(holder), own, device_map[name])


def runs_on_gpus(name, device_map):
    """Runs a network on GPUs by tensors without data."""
    model, inputs = network(name, 2)
    model.train()
    copies, mode = {}, FakeTensorMode()

    # Accelerate makes each weight anew by its class, and knows a tied one by its address: tensors without data have
    # neither.
    def put(module, path, device, **_):
        holder, _, own = path.rpartition(".")
        module = module.get_submodule(holder)
        table = module._parameters if own in module._parameters else module._buffers
        before = table[own]
        if before.device == torch.device("cuda", device):
            return
        if (before, device) not in copies:
            with mode:
                moved = mode.from_tensor(before).detach().to(f"cuda:{device}")
            if table is module._parameters:
                moved._is_param = True
                moved.requires_grad_(before.requires_grad)
            copies[before, device] = moved
        table[own] = copies[before, device]

    before = accelerate.hooks.set_module_tensor_to_device
    accelerate.hooks.set_module_tensor_to_device = put
    try:
        put_stored(model, device_map, put)
        main = next(iter(device_map.values()))
        placed = accelerate.dispatch_model(model, device_map, main_device=main, force_hooks=True)
        with mode:
            placed(mode.from_tensor(inputs))
            where = {parameter.device for parameter in placed.parameters()}
            if where != {torch.device("cuda", gpu) for gpu in device_map.values()}:
                raise RuntimeError(f"weights are on {where}")
    finally:
        accelerate.hooks.set_module_tensor_to_device = before


def runs_on_cpu(name, device_map):
    """Compares results of a network whose modules of gpu:1 are in a file while they do not run."""
    torch.manual_seed(0)
    model, inputs = network(name, 2)
    model.eval()
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        expected = model(inputs)
        places = {path: "disk" if gpu == 1 else "cpu" for path, gpu in device_map.items()
                  if path == "" or path in dict(model.named_modules())}
        # A parameter that is no module's stays: there is one memory.
        stored = {path: "cpu" for path in device_map if path not in places}
        placed = accelerate.dispatch_model(copy.deepcopy(model), {**places, **stored}, main_device="cpu",
                                           offload_dir=folder, force_hooks=True)
        if not torch.equal(placed(inputs), expected):
            raise RuntimeError("results differ from those of the network as it was")


def judged(name, options):
    """Returns the row of a network."""
    model, inputs = network(name, 32 if name[:3] != "gpt" else 8)
    emplace.from_torch(model, inputs).save("graph.json")
    place = ["place", "graph.json", "--cluster", CLUSTER]
    single = call(*place, "--agent", "single-gpu")["step_time_us"]
    free = call(*place, "--evaluations", str(options.evaluations), "-o", "free.json")["step_time_us"]
    convert = ["convert", "graph.json", "--cluster", CLUSTER, "--to", "torch-device-map", "-o", "map.json"]
    converted = call(*convert, "--placement", "free.json")["exported_step_time_us"]
    promised = call(*place, "--evaluations", str(2 * options.evaluations), "--for", "torch-device-map", "-o",
                    "for.json")["step_time_us"]
    call(*convert, "--placement", "for.json")
    with open("map.json", encoding="utf-8") as file:
        device_map = completed(json.load(file), model)
    read = step_of("graph.json", device_map, model)
    if read != promised:
        raise RuntimeError(f"as the map is read, the step takes {read} us instead of {promised} us")
    runs_on_gpus(name, device_map)
    runs_on_cpu(name, device_map)
    own = step_of("graph.json", own_map(model, NETWORKS[name]), model)
    return single, own, free, converted, promised


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--evaluations", type=int, default=1500, help="of a free search; twice as many with --for")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    failed = False
    print("| network | one GPU [ms] | Accelerate's map | free | free, converted | `--for` | kept [%] |")
    print("|---|---|---|---|---|---|---|")
    for name in options.networks or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                times = judged(name, options)
            except Exception as error:  # of many classes: whatever Accelerate and PyTorch refuse
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
                failed = True
                continue
            finally:
                os.chdir(ROOT)
        single, free, promised = times[0], times[2], times[4]
        kept = f"{100 * (single - promised) / (single - free):.0f}" if free < single else ""
        print(f"| {name} | {' | '.join(f'{time / 1e3:.1f}' for time in times)} | {kept} |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
