"""What PyTorch runs for an op of a graph, by its kind: imported by calibrate() and validate() only.

An op is described by its attributes, and by the shapes and types of what it reads and makes. For a gradient, the
forward op is built, and what autograd then does is the op: the kernels of a step, whatever PyTorch calls them.
"""

import json
import math
from typing import Any, Callable

import torch
from torch import nn
from torch.nn import functional

F: Any = functional  # whose stubs lack some functions

TYPES = {name: getattr(torch, name) for name in ("float32", "float16", "bfloat16", "int32", "int64", "bool", "float64",
                                                 "int8", "int16")}


class Site:
    """An op, which makes the tensors that it reads."""

    def __init__(self, site: dict[str, Any], device: str) -> None:
        self.kind, self.shape, self.producers, self.device = site["kind"], site["shape"], site["producers"], device
        self.attributes = json.loads(site["attributes"] or "{}")
        self.inputs = [(list(each["shape"]), TYPES[each["type"]]) for each in site["inputs"]]
        self.outputs = [(list(each["shape"]), TYPES[each["type"]]) for each in site["outputs"]]
        self.type = self.outputs[0][1] if self.outputs else self.inputs[0][1]

    def tensor(self, shape: Any, type: Any = None, trained: bool = True) -> Any:
        """Returns random numbers, of which autograd keeps track if it can and they are `trained`."""
        type = type or self.type
        if not type.is_floating_point:
            return torch.randint(0, 2, shape, device=self.device).to(type)
        made = torch.randn(shape, device=self.device).to(type)
        if self.attributes.get("layout") == "nhwc" and made.dim() == 4:
            made = made.contiguous(memory_format=torch.channels_last)
        return made.requires_grad_(trained)

    def numbers(self, limit: int, *shape: int) -> Any:
        """Returns random integers below `limit`."""
        return torch.randint(0, limit, shape, device=self.device)

    def input(self, index: int, trained: bool = True) -> Any:
        return self.tensor(*self.inputs[index], trained=trained)

    def all_inputs(self) -> list[Any]:
        return [self.tensor(*each) for each in self.inputs]

    def result(self) -> Any:
        return self.tensor(*self.outputs[0])


class Backward:
    """Autograd's part of a call; to start autograd belongs to no op."""

    def __init__(self, result: Any, *inputs: Any) -> None:
        self.result, self.inputs, self.given = result, inputs, torch.randn_like(result)

    def __call__(self) -> Any:
        return torch.autograd.grad(self.result, self.inputs, self.given, retain_graph=True)


class Difference:
    """An op whose time is that of one call less that of another, over the number of ops that this has not."""

    def __init__(self, run: Callable[[], Any], without: Callable[[], Any], count: int = 1) -> None:
        self.run, self.without, self.count = run, without, count

    def __call__(self) -> Any:
        return self.run()


BUILDERS: dict[str, Callable[[Site], Callable[[], Any]]] = {}


def builds(*kinds: str) -> Callable[[Any], Any]:
    """Registers what makes the call for ops of some kinds: `(site) -> call`."""
    def register(builder: Any) -> Any:
        BUILDERS.update(dict.fromkeys(kinds, builder))
        return builder
    return register


def runs(function: Callable[..., Any], *kinds: str, inputs: Any = Site.all_inputs) -> None:
    """Registers kinds that are `function(*inputs(site))`."""
    def build(site: Site) -> Callable[[], Any]:
        read = inputs(site)
        return lambda: function(*read)
    builds(*kinds)(build)


def pair(kind: str, inputs: Callable[[Site], list[Any]], function: Callable[..., Any]) -> None:
    """Registers a kind that is `function(site, *inputs(site))`, and its gradient."""
    @builds(kind)
    def _(site: Site) -> Callable[[], Any]:
        read = inputs(site)
        return lambda: function(site, *read)

    @builds(kind + "_backward")
    def _(site: Site) -> Callable[[], Any]:
        read = inputs(site)
        return Backward(function(site, *read), *(x for x in read if x.requires_grad))


def maps(site: Site) -> list[Any]:
    """Returns what a forward op reads first: also as its gradient's result."""
    return [site.result() if site.kind.endswith("_backward") else site.input(0)]


# --- Convolutions and products --------------------------------------------------------------------------------------


def padded(x: Any, pads: list[int]) -> tuple[Any, list[int]]:
    """Returns maps and the padding that is left to do, of the same extent on both sides."""
    before, after = pads[:len(pads) // 2], pads[len(pads) // 2:]
    if before == after:
        return x, before
    return F.pad(x, [side for each in zip(reversed(before), reversed(after)) for side in each]), [0] * len(before)


def window_of(site: Site, dims: int) -> tuple[list[int], list[int], list[int]]:
    """Returns strides, dilations and pads."""
    given = site.attributes
    return given.get("strides", [1] * dims), given.get("dilations", [1] * dims), given.get("pads", [0] * 2 * dims)


def convolve(site: Site, x: Any, weight: Any) -> Any:
    strides, dilations, pads = window_of(site, x.dim() - 2)
    x, pads = padded(x, pads)
    function = (F.conv1d, F.conv2d, F.conv3d)[x.dim() - 3]
    return function(x, weight, None, strides, pads, dilations, x.shape[1] // weight.shape[1])


for name in ("conv", "conv2d", "depthwise_conv2d", "grouped_conv"):
    @builds(name)
    def _(site: Site) -> Callable[[], Any]:
        x, weight = site.all_inputs()
        return lambda: convolve(site, x, weight)

    @builds(name + "_backward_data")
    def _(site: Site) -> Callable[[], Any]:
        x, weight = site.result(), site.input(1, trained=False)
        return Backward(convolve(site, x, weight), x)

    @builds(name + "_backward_filter")
    def _(site: Site) -> Callable[[], Any]:
        x, weight = site.input(1, trained=False), site.result()
        return Backward(convolve(site, x, weight), weight)


@builds("conv2d_transpose", "conv_transpose")
def _(site: Site) -> Callable[[], Any]:
    x, weight = site.all_inputs()
    strides, dilations, pads = window_of(site, x.dim() - 2)
    shape = site.outputs[0][0]
    extra = [want - ((have - 1) * stride - 2 * pad + dilation * (window - 1) + 1) for want, have, stride, pad, dilation,
             window in zip(shape[2:], x.shape[2:], strides, pads, dilations, weight.shape[2:])]
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[x.dim() - 3]
    return lambda: function(x, weight, None, strides, pads[:len(strides)], [max(0, more) for more in extra],
                            shape[1] // weight.shape[1], dilations)


@builds("matmul", "batch_matmul")
def _(site: Site) -> Callable[[], Any]:
    left, right = (site.input(side).transpose(-1, -2) if site.attributes.get(key) else site.input(side)
                   for side, key in enumerate(("transA", "transB")))
    return lambda: torch.matmul(left, right)


@builds("bias_add")
def _(site: Site) -> Callable[[], Any]:
    """Frameworks add a bias within the product or convolution before it: what that takes longer with one."""
    function: Any
    if len(site.shape) == 3:
        n, size, rest = site.shape
        x, weight, function = site.tensor([n, 1, rest, 1]), site.tensor([size, 1, 1, 1]), F.conv2d
    elif site.producers[0] in ("matmul", "batch_matmul"):
        rows, size = site.shape
        x, weight, function = site.tensor([rows, 8]), site.tensor([size, 8]), F.linear
    else:
        x, bias = site.input(0), site.input(1)
        return lambda: x + bias
    bias = site.tensor([size])
    return Difference(lambda: function(x, weight, bias), lambda: function(x, weight))


@builds("bias_add_backward")
def _(site: Site) -> Callable[[], Any]:
    x = site.input(0, trained=False)
    x = x if len(site.shape) == 3 else x.reshape(site.shape)
    dims = [dim for dim in range(x.dim()) if dim != 1] if len(site.shape) == 3 else [0]
    return lambda: x.sum(dims)


# --- Attention and recurrent layers ---------------------------------------------------------------------------------


def lstm_inputs(site: Site) -> list[Any]:
    steps, batch, width, hidden = site.shape[:4]
    layer = nn.LSTM(width, hidden, batch_first=True, bidirectional=site.shape[4:5] == [2]).to(site.device)
    return [site.tensor([batch, steps, width], torch.float32), *layer.parameters(), layer]


def lstm_cell_inputs(site: Site) -> list[Any]:
    batch, width, hidden = site.shape
    width = max(1, width - hidden) if site.kind.endswith("_backward") else width
    cell = nn.LSTMCell(width, hidden).to(site.device)
    return [*(site.tensor([batch, size], torch.float32) for size in (width, hidden, hidden)), *cell.parameters(), cell]


for kind, inputs in (("lstm", lstm_inputs), ("lstm_cell", lstm_cell_inputs)):
    @builds(kind)
    def _(site: Site, inputs: Any = inputs) -> Callable[[], Any]:
        x, *state, layer = inputs(site)
        return lambda: layer(x, tuple(state[:2])) if isinstance(layer, nn.LSTMCell) else layer(x)

    @builds(kind + "_backward")
    def _(site: Site, inputs: Any = inputs) -> Callable[[], Any]:
        x, *others, layer = inputs(site)
        made = torch.cat(layer(x, tuple(others[:2]))) if isinstance(layer, nn.LSTMCell) else layer(x)[0]
        return Backward(made, x, *others)


def attend(site: Site, query: Any, key: Any, value: Any) -> Any:
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(query, key, value)
    return torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]), -1) @ value


pair("attention", lambda site: [site.input(index) for index in range(3)], attend)

# --- Norms, softmax, losses -----------------------------------------------------------------------------------------


def norm_inputs(site: Site, size: int, count: int) -> list[Any]:
    return [*maps(site), *(site.tensor([size], torch.float32) for _ in range(count))]


def batch_norm(site: Site, x: Any, scale: Any, offset: Any, is_training: bool = True) -> Any:
    moving = (torch.full_like(scale, number, requires_grad=False) for number in (0, 1))
    return F.batch_norm(x, *moving, scale, offset, is_training)


def rms_norm(site: Site, x: Any, scale: Any) -> Any:
    if hasattr(F, "rms_norm"):
        return F.rms_norm(x, x.shape[-1:], scale.to(x.dtype))
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * scale.to(x.dtype)


pair("batch_norm", lambda site: norm_inputs(site, site.shape[1], 2), batch_norm)
runs(lambda x, scale, offset, site: batch_norm(site, x, scale, offset, False), "batch_norm_inference",
     inputs=lambda site: [*norm_inputs(site, site.shape[1], 2), site])
pair("layer_norm", lambda site: norm_inputs(site, site.shape[-1], 2), lambda site, x, scale, offset: F.layer_norm(
    x, x.shape[-1:], scale.to(x.dtype), offset.to(x.dtype)))
pair("rms_norm", lambda site: norm_inputs(site, site.shape[-1], 1), rms_norm)
pair("softmax", maps, lambda site, x: torch.softmax(x, -1))
pair("log_softmax", maps, lambda site, x: torch.log_softmax(x, -1))


def logits(site: Site) -> Any:
    return site.tensor(site.shape, site.inputs[0][1])


pair("softmax_cross_entropy", lambda site: [logits(site), site.numbers(site.shape[-1], *site.shape[:-1])],
     lambda site, x, target: F.cross_entropy(x.flatten(0, -2), target.flatten()))
pair("mean_squared_error", lambda site: [logits(site), logits(site).detach()], lambda site, *both: F.mse_loss(*both))
pair("sigmoid_cross_entropy", lambda site: [logits(site), torch.rand_like(logits(site))],
     lambda site, *both: F.binary_cross_entropy_with_logits(*both))

# --- Pooling --------------------------------------------------------------------------------------------------------


def pool(site: Site, x: Any) -> Any:
    dims, is_max = x.dim() - 2, site.kind.startswith("max")
    strides, _, pads = window_of(site, dims)
    window = site.attributes.get("kernel_shape", site.shape[4:6])
    if list(window) == list(x.shape[2:]) and not is_max and dims == 2:
        return F.adaptive_avg_pool2d(x, 1)
    x, pads = padded(x, pads)
    function = ((F.max_pool1d, F.max_pool2d, F.max_pool3d) if is_max else
                (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d))[dims - 1]
    return function(x, window, strides, [min(pad, size // 2) for pad, size in zip(pads, window)],
                    ceil_mode=bool(site.attributes.get("ceil_mode")))


for kind in ("max_pool", "avg_pool"):
    pair(kind, maps, pool)

# --- Elementwise ----------------------------------------------------------------------------------------------------

# Kinds that are a function of PyTorch: by their own name, or by another.
NAMED_ALIKE = ("abs acos acosh add asin asinh atan atanh bitwise_and bitwise_or bitwise_xor ceil celu cos cosh div elu "
               "erf exp floor gelu leaky_relu log mish neg pow reciprocal relu round selu sigmoid sign silu sin sinh "
               "softplus softsign sqrt tan tanh where")
NAMED_OTHERWISE = {
    "and": "logical_and", "equal": "eq", "greater": "gt", "greater_or_equal": "ge", "hard_sigmoid": "hardsigmoid",
    "hard_swish": "hardswish", "is_finite": "isfinite", "is_inf": "isinf", "is_nan": "isnan", "less": "lt",
    "less_or_equal": "le", "max": "maximum", "min": "minimum", "mod": "remainder", "multiply": "mul",
    "not": "logical_not", "not_equal": "ne", "or": "logical_or", "subtract": "sub", "xor": "logical_xor",
    "broadcast_add": "add", "broadcast_div": "div", "broadcast_max": "maximum", "broadcast_min": "minimum",
    "broadcast_mod": "remainder", "broadcast_multiply": "mul", "broadcast_pow": "pow", "broadcast_subtract": "sub"}


def elementwise(kind: str, function: Any) -> None:
    runs(function, kind)
    of_two = function in (torch.div, torch.pow, torch.maximum, torch.minimum)

    @builds(kind + "_backward")
    def _(site: Site) -> Callable[[], Any]:
        x = site.result()
        return Backward(function(torch.rand_like(x), x) if of_two else function(x), x)


for kind, name in {**{name: name for name in NAMED_ALIKE.split()}, **NAMED_OTHERWISE}.items():
    elementwise(kind, getattr(torch, name, None) or getattr(F, name))


def total(*terms: Any) -> Any:
    return sum(terms[1:], terms[0])


runs(total, "add_n", "sum")
runs(total, "add_losses", inputs=lambda site: [site.tensor([]) for _ in site.inputs])
runs(lambda *terms: total(*terms) / len(terms), "mean")
runs(lambda x: x.clamp(-1, 1), "clip")
runs(lambda x, type, factor: x.to(type) if x.dtype != type else x * factor, "scale", "cast",
     inputs=lambda site: [site.input(0), site.type, site.input(1) if len(site.inputs) > 1 else 0.5])
pair("dropout", lambda site: [site.result()], lambda site, x: F.dropout(x, 0.1))
runs(lambda x, hidden: x.masked_fill(hidden, -math.inf), "causal_mask", inputs=lambda site: [
    site.input(0), torch.ones(site.inputs[0][0][-2:], dtype=torch.bool, device=site.device).triu(1)])
runs(lambda site: torch.rand(site.outputs[0][0], dtype=site.type, device=site.device), "random",
     inputs=lambda site: [site])


def rotate(x: Any, cos: Any, sin: Any) -> Any:
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


runs(rotate, "rotary_embedding", inputs=lambda site: [
    site.input(0), *(site.tensor(site.inputs[0][0][-2:], trained=False) for _ in range(2))])

# --- Reductions -----------------------------------------------------------------------------------------------------

REDUCTIONS: dict[str, Any] = {
    "reduce_l1": lambda x, dims: x.abs().sum(dims, True), "reduce_l2": lambda x, dims: x.norm(2, dims, True),
    "reduce_log_sum": lambda x, dims: x.sum(dims, True).log(), "reduce_log_sum_exp": torch.logsumexp,
    "reduce_max": torch.amax, "reduce_mean": torch.mean, "reduce_min": torch.amin, "reduce_std": torch.std,
    "reduce_sum": torch.sum, "reduce_sum_square": lambda x, dims: x.square().sum(dims, True),
    "reduce_variance": torch.var, "broadcast_backward": torch.sum}


def reduced(site: Site) -> list[Any]:
    x, shape = site.input(0, trained=False), site.outputs[0][0]
    kept = [1] * (x.dim() - len(shape)) + shape
    return [x, [dim for dim in range(x.dim()) if kept[dim] != x.shape[dim]] or [x.dim() - 1]]


for kind, function in REDUCTIONS.items():
    runs(function, kind, inputs=reduced)
pair("top_k", lambda site: [site.tensor(site.shape[:2])], lambda site, x: torch.topk(x, site.shape[-1])[0])
pair("balance_loss", lambda site: [site.tensor(site.shape, torch.float32), site.numbers(*site.shape[::-1])],
     lambda site, x, chosen: (x.mean(0) * torch.bincount(chosen, minlength=x.shape[1])).sum() * x.shape[1] / len(x))

# --- Data movement --------------------------------------------------------------------------------------------------

runs(lambda axis, *parts: torch.cat(parts, axis), "concat",
     inputs=lambda site: [site.attributes.get("axis", 0), *site.all_inputs()])


@builds("split")
def _(site: Site) -> Callable[[], Any]:
    x, axis = site.input(0, trained=False), site.attributes.get("axis", 0)
    sizes = [shape[axis] for shape, _ in site.outputs]
    return lambda: x.split(sizes, axis)


runs(lambda x, order: x.permute(order).contiguous(), "transpose", inputs=lambda site: [
    site.input(0), site.attributes.get("perm") or list(reversed(range(len(site.inputs[0][0]))))])
runs(torch.clone, "copy")
runs(lambda x, shape: x.expand(shape).contiguous(), "expand", "broadcast", "tile",
     inputs=lambda site: [site.input(0), site.outputs[0][0]])
runs(lambda site: torch.zeros(site.outputs[0][0], dtype=site.type, device=site.device), "zeros",
     inputs=lambda site: [site])


def block(whole: list[int], part: list[int]) -> Any:
    """Returns where `part` is in the middle of `whole`; one of a dimension was taken if it has fewer."""
    if len(part) < len(whole):
        return (slice(None), 0) if len(whole) > 1 else 0
    return tuple(slice((n - m) // 2, (n - m) // 2 + m) for n, m in zip(whole, part))


runs(lambda x, at: x[at], "slice", inputs=lambda site: [site.input(0), block(site.inputs[0][0], site.outputs[0][0])])


@builds("slice_backward")
def _(site: Site) -> Callable[[], Any]:
    whole = site.result()
    return Backward(whole[block(site.outputs[0][0], site.inputs[0][0])], whole)


runs(F.pad, "pad", inputs=lambda site: [site.input(0), [
    side for n, m in reversed(list(zip(site.inputs[0][0], site.outputs[0][0])))
    for side in ((m - n) // 2, (m - n + 1) // 2)]])
pair("shift2d", lambda site: [site.result()], lambda site, x: F.pad(x[:, :, 1:, 1:], (0, 1, 0, 1)))
runs(lambda x: F.pad(x, (1, 0)).view(*x.shape[:2], -1)[:, :, x.shape[2]:].reshape(x.shape), "relative_shift")
pair("lower_triangle", lambda site: [site.tensor([site.shape[0], site.shape[1], site.shape[1]]),
                                     *torch.ones(site.shape[1], site.shape[1]).tril(-1).nonzero(as_tuple=True)],
     lambda site, x, rows, columns: x[:, rows, columns])
pair("embedding", lambda site: [site.numbers(site.shape[1], site.shape[0]), site.tensor(site.shape[1:])],
     lambda site, *both: F.embedding(*both))
pair("embedding_bag", lambda site: [site.numbers(site.shape[2], *site.shape[:2]), site.tensor(site.shape[2:])],
     lambda site, *both: F.embedding_bag(*both, mode="sum", sparse=True))


def routed(site: Site) -> list[Any]:
    """Returns the rows of tokens, or of all experts, places among them, and weights."""
    tokens, width, choices, experts, capacity = site.shape
    rows = experts * capacity
    return [site.tensor([rows, width]), site.numbers(rows, tokens * choices), site.tensor([tokens, choices, 1])]


pair("moe_combine", routed, lambda site, x, chosen, weights: (
    x.index_select(0, chosen).view(*weights.shape[:2], -1) * weights).sum(1))
pair("moe_dispatch", lambda site: [site.tensor(site.shape[:2]),
                                   site.numbers(site.shape[0], site.shape[3] * site.shape[4])],
     lambda site, x, chosen: x.index_select(0, chosen))

# --- Updates --------------------------------------------------------------------------------------------------------

# As emplace calls them.
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-3),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
    "adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}
UPDATED = 9


# As torch.amp.GradScaler, which has one flag for each device, and clip_grad_norm_() have them.
def unscale(x: Any, flag: Any, inverse: Any) -> Any:
    torch._amp_foreach_non_finite_check_and_unscale_([x], flag, inverse)
    return x


runs(unscale, "unscale",
     inputs=lambda site: [site.input(0, trained=False), *(torch.full([1], n, device=site.device) for n in (0.0, 0.5))])
runs(lambda flag: flag.clone() if flag.item() else flag, "found_inf", inputs=lambda site: [site.input(0, False)])
runs(lambda *norms: (1 / (torch.linalg.vector_norm(torch.stack(norms)) + 1e-6)).clamp(max=1), "clip_factor",
     inputs=lambda site: [x.detach() for x in site.all_inputs()])


@builds("optimizer_update")
def _(site: Site) -> Callable[[], Any]:
    """One of several parameters: what an optimizer does once for all of them is no op's."""
    def step_of(count: int) -> Any:
        parameters = [site.tensor(*site.inputs[0]) for _ in range(count)]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        return OPTIMIZERS[site.attributes["optimizer"]](parameters).step
    return Difference(step_of(UPDATED), step_of(1), UPDATED - 1)
