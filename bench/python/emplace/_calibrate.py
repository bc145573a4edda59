"""Costs of ops as a framework runs them on this machine, and a cluster of them: docs/guide/calibrate.md."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import itertools
import json
import os
import statistics
import tempfile
import threading
import time
import warnings
from pathlib import Path as FilePath
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Sequence

from emplace import _core
from emplace._errors import UnsupportedError, UsageError, tells_nearest_argument
from emplace._graphs import load
from emplace._models import _torch_module, from_torch
from emplace._problems import problem as problem_of
from emplace._types import Path, describes_fields

# Of an op: calls before those that count, and for how long the others go on at most.
_WARM_UP, _SECONDS, _MIN_RUNS = 2, 0.5, 5

# An op runs on several sets of inputs in turn, of so many bytes together: as in a step, some of what it reads was made
# just before, and some is long out of the nearest caches.
_BYTES_OF_SETS, _MAX_SETS = 24_000_000, 16

# The standard deviation of normal errors whose absolute values have the median 1.
_DEVIATION_OF_MEDIAN_DEVIATION = 1.4826

_COLUMNS = ("device", "kind", "shape", "type", "attributes", "flops", "bytes", "us", "runs", "deviation", "kernels",
            "host_us", "source")
_LEAST_US = 1e-3


class Run(NamedTuple):
    """One call of an op."""

    us: float  # how long it occupied the device
    kernels: int = 0  # of a GPU
    host_us: float = 0  # how long the host took to launch them


@describes_fields
class Calibration(NamedTuple):
    """What was measured.

    samples: the times of ops, as a table: docs/concepts/calibration.md
    cluster: the content of a cluster file
    left_out: ops and copies without a sample, and why
    """

    samples: str
    cluster: str
    left_out: list[str]

    def __repr__(self) -> str:
        return f"<emplace.Calibration, {len(self.left_out)} ops and copies left out>"

    def save(self, path: Path) -> None:
        """Writes the cluster, for every command and function that takes one."""
        FilePath(path).write_text(self.cluster, encoding="utf-8")

    def save_samples(self, path: Path) -> None:
        """Writes the samples, for `emplace calibrate --samples` and `emplace dev fit`."""
        FilePath(path).write_text(self.samples, encoding="utf-8")


class Place(NamedTuple):
    """Where PyTorch runs what a device of a cluster stands for."""

    name: str  # of the device in the cluster
    torch_device: str
    cores: tuple[int, ...] = ()  # of a CPU


def places_of(devices: str) -> list[Place]:
    """Returns the devices that `devices` names as `emplace calibrate --devices` does."""
    import torch
    places = []
    for word in sorted(devices.split(","), key=lambda word: not word.startswith("gpu")):
        kind, _, parts = word.partition("/")
        if kind not in ("cpu", "gpu") or (parts and not (parts.isdecimal() and int(parts) > 0)):
            raise UsageError(f"devices: expected gpu, cpu or cpu/PARTS, found '{word}'")
        if kind == "gpu":
            if parts:
                raise UnsupportedError("devices: PyTorch does not run on parts of a GPU")
            if not torch.cuda.is_available():
                raise UnsupportedError("devices: PyTorch has no GPU here; to calibrate the CPU alone, ask for 'cpu'")
            places += [Place(f"gpu:{index}", f"cuda:{index}") for index in range(torch.cuda.device_count())]
            continue
        cores = sorted(os.sched_getaffinity(0))
        each = len(cores) // int(parts or 1)
        if each == 0:
            raise UsageError(f"devices: {len(cores)} cores can't be cut into {parts} parts")
        places += [Place(f"cpu:{part}", "cpu", tuple(cores[part * each:(part + 1) * each]))
                   for part in range(int(parts or 1))]
    return places


def on_cores(place: Place, work: Callable[[], Any]) -> Any:
    """Returns what `work` returns on the cores of a CPU.

    It runs in a thread of its own: the threads that OpenMP starts for it inherit its cores.
    """
    import torch
    outcome: list[Any] = []

    def run() -> None:
        try:
            if place.cores:
                os.sched_setaffinity(0, place.cores)
                torch.set_num_threads(len(place.cores))
            outcome.append((work(), None))
        except BaseException as error:  # raised again below
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


# --- Timing ----------------------------------------------------------------------------------------------------------


def _runs_on_cpu(call: Callable[[], Any], count: int) -> Iterator[Run]:
    for _ in range(count):
        begin = time.perf_counter_ns()
        result = call()
        us = (time.perf_counter_ns() - begin) / 1e3
        del result  # giving memory back is no part of an op
        yield Run(us, 0, us)


def runs_of_activities(ranges: Sequence[tuple[float, float]],
                       kernels: Iterable[tuple[float, float]]) -> list[Run]:
    """Returns the runs in a recording: `ranges` of the host's calls, after each of which it waited, and `kernels`.

    Both are (begin, end) in microseconds of one clock. A run occupies the device while any of its kernels runs. Runs
    without a kernel are left out: the profiler lost them.
    """
    runs = []
    left = sorted(kernels)
    for index, (begin, end) in enumerate(ranges):
        next_begin = ranges[index + 1][0] if index + 1 < len(ranges) else float("inf")
        own = [each for each in left if begin <= each[0] < next_begin]
        busy, busy_until = 0.0, -float("inf")
        for kernel_begin, kernel_end in own:
            busy += max(0.0, kernel_end - max(kernel_begin, busy_until))
            busy_until = max(busy_until, kernel_end)
        if own:
            runs.append(Run(busy, len(own), end - begin))
    return runs


def _runs_on_gpu(call: Callable[[], Any], count: int) -> list[Run]:
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recording:
        for _ in range(count):
            with record_function("emplace.run"):
                call()
            torch.cuda.synchronize()
    ranges, kernels = [], []
    for event in recording.events():
        span = (event.time_range.start, event.time_range.end)
        if event.name == "emplace.run" and event.device_type == torch.autograd.DeviceType.CPU:
            ranges.append(span)
        elif event.device_type == torch.autograd.DeviceType.CUDA and event.name != "emplace.run":
            kernels.append(span)
    return runs_of_activities(sorted(ranges), kernels)


def _timed(calls: Sequence[Callable[[], Any]], is_gpu: bool, runs: int) -> list[Run]:
    turn = itertools.cycle(calls)

    def call() -> Any:
        return next(turn)()

    for _ in range(max(_WARM_UP, len(calls))):
        call()
    begin = time.perf_counter()
    call()
    seconds = time.perf_counter() - begin
    count = max(min(runs, _MIN_RUNS), min(runs, int(_SECONDS / max(seconds, 1e-9))))
    return _runs_on_gpu(call, count) if is_gpu else list(_runs_on_cpu(call, count))


def _measured(calls: Sequence[Any], is_gpu: bool, runs: int, start_us: float) -> Optional[dict[str, float]]:
    """Returns the fields of an op's row, or none if the profiler lost all runs. `calls` differ in their inputs."""
    from emplace import _torch_ops
    call = calls[0]
    own = _timed(calls, is_gpu, runs)
    if not own:
        return None
    us = statistics.median(run.us for run in own)
    deviation = _DEVIATION_OF_MEDIAN_DEVIATION * statistics.median(abs(run.us - us) for run in own)
    kernels = statistics.median_low([run.kernels for run in own])
    host_us = statistics.median(run.host_us for run in own)
    if isinstance(call, _torch_ops.Difference):
        without = _timed([each.without for each in calls], is_gpu, runs)
        us = (us - statistics.median(run.us for run in without)) / call.count
        host_us = (host_us - statistics.median(run.host_us for run in without)) / call.count
        kernels = max(0, kernels - statistics.median_low([run.kernels for run in without])) // call.count
        deviation /= call.count
    elif isinstance(call, _torch_ops.Backward):  # to start autograd is the step's, once, and not the op's
        us, host_us = us - (0 if is_gpu else start_us), host_us - start_us
    us = max(us, _LEAST_US)
    return {"us": us, "runs": len(own), "deviation": min(1.0, deviation / us), "kernels": kernels,
            "host_us": max(0.0, host_us)}


def _start_of_autograd_us(device: str, runs: int) -> float:
    """Returns what a call of autograd takes beyond the nodes that it runs."""
    import torch
    times = []
    for nodes in (1, 65):
        x = torch.zeros(1, device=device, requires_grad=True)
        y = x
        for _ in range(nodes):
            y = y.view(1)
        given = torch.ones_like(y)
        times.append(statistics.median(
            run.us for run in _runs_on_cpu(lambda: torch.autograd.grad(y, x, given, retain_graph=True), max(runs, 20))))
    node_us = max(0.0, (times[1] - times[0]) / 64)
    return max(0.0, times[0] - node_us)


def _rows_of(sites: Sequence[dict[str, Any]], place: Place, runs: int, left_out: list[str],
             progress: Optional[Callable[[str, float], None]]) -> list[dict[str, Any]]:
    """Measures ops on one device; what cannot run is told in `left_out`."""
    from emplace import _torch_ops
    is_gpu = place.torch_device != "cpu"
    rows = []
    start_us = _start_of_autograd_us(place.torch_device, runs)
    for index, site in enumerate(sites):
        shape = "x".join(str(size) for size in site["shape"])
        what = f"{place.name}: {site['kind']} {shape}"
        if progress:
            progress(what, index / len(sites))
        build = _torch_ops.BUILDERS.get(site["kind"])
        if build is None:
            left_out.append(f"{what}: emplace does not know how PyTorch runs it")
            continue
        try:
            sets = min(_MAX_SETS, 1 + _BYTES_OF_SETS // max(1, site["bytes"]))
            calls = [build(_torch_ops.Site(site, place.torch_device)) for _ in range(sets)]
            fields = _measured(calls, is_gpu, runs, start_us)
        except Exception as error:  # whatever PyTorch throws: the other ops are worth more
            left_out.append(f"{what}: {type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")
            continue
        if fields is None:
            left_out.append(f"{what}: the profiler lost all runs")
            continue
        attributes = "" if site["attributes"] in ("", "{}") else site["attributes"]
        rows.append({**site, "device": place.name, "shape": shape, "attributes": attributes, **fields,
                     "us": f"{fields['us']:.4f}", "deviation": f"{fields['deviation']:.4f}",
                     "host_us": f"{fields['host_us']:.4f}", "source": "torch"})
    return rows


def _table(rows: Sequence[dict[str, Any]]) -> str:
    import torch
    text = io.StringIO()
    text.write(f"#source,torch,this machine,PyTorch {torch.__version__},none,none\n")
    writer = csv.DictWriter(text, _COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@tells_nearest_argument
def calibrate(model: Any, example_inputs: Any = None, *, devices: str = "cpu", output: Optional[Path] = None,
              name: str = "this-machine", runs: int = 20, max_copy: int = 1 << 30, full_precision: bool = False,
              training: bool = True, optimizer: str = "adam", loss: Optional[Callable[..., Any]] = None,
              targets: Any = None, dtype: str = "float32", clip: bool = False,
              progress: Optional[Callable[[str, float], None]] = None) -> Calibration:
    """Measures the ops of a model as PyTorch runs them, and makes a cluster that predicts this machine.

    `model` is a torch.nn.Module with its `example_inputs`, a graph (or what load() takes), or a list of graphs.
    `devices` are "cpu", "gpu", both, or parts of the CPU's cores such as "cpu/2". Each op runs eagerly, with its data
    where the op before it left them: on a CPU for as long as the call takes; on a GPU for as long as its kernels run,
    by torch.profiler. Copies and launches are measured by emplace, and so are ops that PyTorch does not run. Of a
    model, trained as by validate(), steps show how much longer its ops take in a step than alone: the step factors of
    the profiles, which `framework=false` leaves out. `output` is a file for the cluster.
    """
    _torch_module()  # says what is missing
    import torch
    graphs = model if isinstance(model, (list, tuple)) else [model]
    graphs = [from_torch(each, example_inputs, training=training, optimizer=optimizer, loss=loss, targets=targets,
                         dtype=dtype, clip=clip)
              if isinstance(each, torch.nn.Module) else load(each) for each in graphs]
    sites = json.loads(_core.op_sites(graphs))
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    measured = set()
    places = places_of(devices)
    for place in places:
        alike = torch.cuda.get_device_name(place.torch_device) if not place.cores else "cpu"
        if alike not in measured:
            measured.add(alike)
            with settings(full_precision):
                rows += on_cores(place, functools.partial(_rows_of, sites, place, runs, left_out, progress))
    samples = _table(rows)
    made = _core.calibrated_cluster(graphs, devices, samples, name, runs, max_copy, full_precision)
    for warning in made["warnings"]:
        warnings.warn(warning, stacklevel=2)
    from emplace import _placed_steps, _validate
    cluster = _with_exchanges(json.loads(made["cluster"]), [place for place in places if place.cores],
                              _placed_steps.exchange_us)
    if training and isinstance(model, torch.nn.Module):
        trained = _validate.Training(optimizer, loss, targets, dtype, clip)
        with tempfile.TemporaryDirectory() as folder:
            path = FilePath(folder) / "cluster.json"
            path.write_text(json.dumps(cluster), encoding="utf-8")
            problem = problem_of(graphs[0], path)

        def step_factor(place: Place) -> float:
            device_map = {"": place.name}
            return trained.measured_us(model, example_inputs, device_map, [place], _STEPS) / _validate.predicted_us(
                problem, device_map)

        with settings(full_precision):
            placeable = [problem.devices[index] for index in problem.placeable_devices.tolist()]
            cluster = _with_step_factors(cluster, [place for place in places if place.name in placeable], step_factor)
    result = Calibration(samples, json.dumps(cluster, indent=2) + "\n", left_out + made["left_out"])
    if output is not None:
        result.save(output)
    return result


# Of tensors that are passed between parts of a CPU, in numbers of float32.
_SMALL, _LARGE = 1 << 10, 1 << 20


def _with_exchanges(cluster: dict[str, Any], places: Sequence[Place],
                    exchange_us: Callable[[Sequence[Place], int], float]) -> dict[str, Any]:
    """Returns the cluster with links between parts of a CPU as PyTorch's threads pass tensors on."""
    links = {link["name"]: link for link in cluster["physical"]["links"]}
    for pair in itertools.combinations(places, 2):
        small_us, large_us = (exchange_us(pair, numbers) for numbers in (_SMALL, _LARGE))
        bytes_per_us = 4 * (_LARGE - _SMALL) / max(large_us - small_us, _LEAST_US)
        latency_us = max(0.0, small_us - 4 * _SMALL / bytes_per_us)
        for a, b in itertools.permutations(pair):
            if link := links.get(f"{a.name}>{b.name}"):
                link.update(bandwidth_bytes_per_us=bytes_per_us, latency_us=latency_us)
    return cluster


_STEPS = 7  # of a model, which show how much longer ops take in it than alone


def _with_step_factors(cluster: dict[str, Any], places: Sequence[Place],
                       factor_of: Callable[[Place], float]) -> dict[str, Any]:
    """Returns the cluster in which ops take as much longer as they do in the model's step on a device of their kind."""
    by_name = {place.name: place for place in places}
    for device in cluster["devices"]:
        place, profile = by_name.get(device["name"]), device["profile"]
        if place is not None and isinstance(profile, dict):  # others of its kind name it
            factor = min(max(factor_of(place), 0.01), 100)
            profile["step_factors"] = dict.fromkeys(("float32", "tf32", "float16"), factor)
    return cluster


@contextlib.contextmanager
def settings(full_precision: bool) -> Iterator[None]:
    """Lets float32 be multiplied as TF32, as the cluster will say, or not."""
    import torch
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = not full_precision
    try:
        with torch.random.fork_rng(), torch.enable_grad():
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
