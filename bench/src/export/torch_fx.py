import collections
import heapq
import operator

import torch
import torch.fx

# What makes a new tensor of its inputs. Other functions may return a view of one of them.
_MAKERS = {"add", "sub", "mul", "div", "truediv", "pow", "matmul", "mm", "bmm", "baddbmm", "einsum", "cat", "concat",
           "stack", "softmax", "log_softmax", "gelu", "silu", "sigmoid", "tanh", "exp", "sqrt", "rsqrt", "mean", "sum",
           "linear", "layer_norm", "adaptive_avg_pool2d", "scaled_dot_product_attention"}


def move(value, device):
    """Returns `value` with its tensors on `device`: a cut edge."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, (tuple, list)):
        moved = [move(item, device) for item in value]
        return type(value)(*moved) if hasattr(value, "_fields") else type(value)(moved)
    if isinstance(value, dict):
        return {key: move(item, device) for key, item in value.items()}
    return value


def move_module(module, device):
    """Moves the parameters and buffers of `module` to `device`."""
    module.to(device)


def place(model, devices=None):
    """Returns `model` as a torch.fx.GraphModule that runs on the devices of the placement.

    `devices` puts others in their place: {"cuda:1": "cuda:0"}. The parameters of `model` are moved. What torch.fx
    cannot trace, such as control flow that depends on data or sizes, it refuses: RuntimeError.
    """
    tracer = _Tracer()
    try:
        graph = tracer.trace(model)
    except Exception as error:  # of many classes: whatever the model's code does with what it traces
        raise RuntimeError(f"torch.fx cannot trace this model ({error}): its code asks for values or sizes of tensors; "
                           "export the placement with --format torch-device-map") from error
    if ORDER:
        _reorder(graph, tracer.root)
    placed = torch.fx.GraphModule(tracer.root, graph)
    wanted = {path: (devices or {}).get(device, device) for path, device in DEVICES.items()}
    where = {}  # the device of each node's result; None: as it comes
    holders = {}  # the device of each parameter, for those that several modules share or read
    copies = {}
    for node in list(graph.nodes):
        if node.op in ("placeholder", "output", "get_attr"):
            where[node] = None
            continue
        device = _device_of(node, placed, where, holders, wanted)
        where[node] = device
        if device is None:
            continue
        if node.op == "call_module":
            module = placed.get_submodule(node.target)
            for parameter in module.parameters():
                holders[parameter] = device
            move_module(module, device)
        for source in node.all_input_nodes:
            if source.op == "get_attr" and where[source] is None:
                where[source] = _move_attribute(placed, source.target, device, holders)
            if where[source] == device:
                continue
            if (source, device) not in copies:
                with graph.inserting_before(node):
                    copies[source, device] = graph.call_function(move, (source, device))
                where[copies[source, device]] = device
            node.replace_input_with(source, copies[source, device])
    graph.lint()
    placed.recompile()
    return placed


class _Tracer(torch.fx.Tracer):
    """Notes in which module each node is."""

    def __init__(self):
        super().__init__()
        self.paths = [""]

    def call_module(self, module, forward, args, kwargs):
        self.paths.append(self.path_of_module(module))
        try:
            return super().call_module(module, forward, args, kwargs)
        finally:
            self.paths.pop()

    def create_node(self, kind, target, *rest, **keywords):
        node = super().create_node(kind, target, *rest, **keywords)
        node.meta["module"] = target if kind == "call_module" else self.paths[-1]
        return node


def _device_of(node, placed, where, holders, wanted):
    path = node.meta["module"]
    if node.op == "call_module":
        module = placed.get_submodule(path)
        for parameter in module.parameters():
            if parameter in holders:
                return holders[parameter]
        if path in wanted:
            return wanted[path]
        within = collections.Counter(device for other, device in wanted.items() if other.startswith(path + "."))
        if within:
            return within.most_common(1)[0][0]
        if next(module.parameters(), None) is not None:
            raise KeyError(f"the placement has no device for the module '{path}'")
    elif path in wanted and node.target not in (operator.getitem, getattr, "size", "dim"):
        return wanted[path]
    return next((where[source] for source in node.all_input_nodes if where[source] is not None), None)


def _move_attribute(placed, path, device, holders):
    """Moves a parameter or buffer to `device`, if it is not where another module needs it; returns where it is."""
    holder, _, name = path.rpartition(".")
    module = placed.get_submodule(holder)
    tensor = getattr(module, name)
    if isinstance(tensor, torch.nn.Parameter):
        if tensor not in holders:
            tensor.data = move(tensor.data, device)
        return holders.setdefault(tensor, device)
    if isinstance(tensor, torch.Tensor):
        setattr(module, name, move(tensor, device))
    return device


# --- The order of the plan -------------------------------------------------------------------------------------------


def _writes(node, root):
    """Says whether a node may write to its inputs."""
    if node.op == "call_module":
        return bool(getattr(root.get_submodule(node.target), "inplace", False))
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return (name.endswith("_") or name in ("iadd", "isub", "imul", "itruediv", "setitem") or "out" in node.kwargs
            or any(value is True for value in [*node.args, *node.kwargs.values()]))


def _makes(node, root):
    """Says whether the result of a node is no view of an input."""
    if node.op == "call_module":
        module = root.get_submodule(node.target)
        return next(module.parameters(), None) is not None and not getattr(module, "inplace", False)
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return name in _MAKERS or node.op in ("placeholder", "get_attr")


def _reorder(graph, root):
    """Sorts nodes by ORDER, producers before consumers; what writes to a tensor stays between its readers."""
    nodes = list(graph.nodes)
    place = {node: index for index, node in enumerate(nodes)}
    after = {node: set(node.all_input_nodes) for node in nodes}

    storage = {}  # a node for each set of results that may share memory

    def storage_of(node):
        while storage[node] is not node:
            node = storage[node]
        return node

    for node in nodes:
        storage[node] = node
        if not _makes(node, root):
            for source in node.all_input_nodes:
                storage[storage_of(source)] = node
    writer, readers, caller = {}, collections.defaultdict(list), {}
    for node in nodes:
        for memory in {storage_of(source) for source in node.all_input_nodes}:
            if memory in writer:
                after[node].add(writer[memory])
            if _writes(node, root):
                after[node].update(readers[memory])
                writer[memory] = node
            readers[memory].append(node)
        if node.op == "call_module":  # a module may keep statistics
            if node.target in caller:
                after[node].add(caller[node.target])
            caller[node.target] = node

    key, users, waiting, ready = {}, collections.defaultdict(list), {}, []

    def make_ready(node):
        if node.op == "output":
            key[node] = float("inf")
        else:
            key[node] = ORDER.get(node.meta["module"], max((key[source] for source in after[node]), default=-1))
        if node.op == "placeholder":
            key[node] = -2
        heapq.heappush(ready, (key[node], place[node]))

    for node in nodes:
        waiting[node] = len(after[node])
        for source in after[node]:
            users[source].append(node)
    for node in nodes:
        if waiting[node] == 0:
            make_ready(node)
    last = graph._root
    while ready:
        node = nodes[heapq.heappop(ready)[1]]
        last.append(node)
        last = node
        for user in users[node]:
            waiting[user] -= 1
            if waiting[user] == 0:
                make_ready(user)
