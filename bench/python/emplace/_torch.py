"""Lists the operators that a PyTorch model calls, as torch.export writes them; imported by from_torch() only.

If PyTorch has torch.export, that traces the model. If not, or if it cannot, the model runs once on tensors without
data, and what it calls is recorded below autograd: aten operators with the module that calls them. A model whose Python
code asks for values of tensors then runs on its real tensors, so the list has the branches that the example inputs
take. docs/concepts/formats.md describes what the list is turned into.
"""

import contextlib
import json
import warnings

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from emplace._errors import UnsupportedError, UsageError

# The version of torch.export's schema that this writes a part of: torch/_export/serde/schema.py.
_SCHEMA_VERSION = {"major": 8, "minor": 0}

_SCALAR_TYPES = {torch.uint8: 1, torch.int8: 2, torch.int16: 3, torch.int32: 4, torch.int64: 5, torch.float16: 6,
                 torch.float32: 7, torch.float64: 8, torch.complex32: 9, torch.complex64: 10, torch.complex128: 11,
                 torch.bool: 12, torch.bfloat16: 13}

# Functions that are one operator to a GPU, though PyTorch can split them: with overloads for padded and packed input.
_UNITS = {"lstm": ("input", "data"), "gru": ("input", "data"), "rnn_tanh": ("input", "data"),
          "rnn_relu": ("input", "data"), "lstm_cell": ("default",), "scaled_dot_product_attention": ("default",)}

# Where classes of quantized modules and tensors are defined, and namespaces of operators on quantized numbers.
_QUANTIZED = ("torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized", "torch.nn.quantized", "torchao",
              "bitsandbytes", "quantized", "quantized_decomposed")


class Program:
    """Grows the list: tensors by name, and nodes that read and make them."""

    def __init__(self, name):
        self.name = name
        self.inputs, self.specs, self.nodes, self.tensors = [], [], [], {}

    def add_tensor(self, tensor, name=None, trained=False):
        """Describes a tensor and returns its name."""
        if tensor.dtype not in _SCALAR_TYPES:
            hint = "; pass the model as it was before quantization" if tensor.is_quantized else ""
            raise UnsupportedError(f"{self.name}: tensors of {tensor.dtype} are not supported{hint}")
        name = name or f"t{len(self.tensors)}"
        self.tensors[name] = {"dtype": _SCALAR_TYPES[tensor.dtype], "requires_grad": bool(trained),
                              "sizes": [{"as_int": int(size)} for size in tensor.shape]}
        if tensor.layout == torch.strided:
            self.tensors[name]["strides"] = [{"as_int": int(stride)} for stride in tensor.stride()]
        return name

    def add_input(self, tensor, kind, path="", trained=False):
        """Adds what is there before the step: a user_input, parameter, buffer or tensor_constant."""
        name = self.add_tensor(tensor, trained=trained)
        argument = {"name": name}
        self.inputs.append({"as_tensor": argument})
        if kind == "user_input":
            self.specs.append({kind: {"arg": {"as_tensor": argument}, "name": path}})
        else:
            self.specs.append({kind: {"arg": argument, f"{kind}_name": path}})
        return name

    def add_node(self, operator, module, arguments, results):
        """Adds a call: `arguments` by name, tensors among them as _Name; `results` are names, lists of them, or None."""
        if _is_quantized(operator):
            raise _quantized(self.name, f"operator {operator}", module)
        node: dict = {"target": f"torch.ops.{operator}",
                "inputs": [{"name": name, "arg": _argument(value)} for name, value in arguments if value is not None],
                "outputs": [_result(result) for result in results], "metadata": {}}
        if module:
            node["metadata"]["nn_module_stack"] = f"{module},{module},"
        self.nodes.append(node)

    def text(self, outputs):
        """Returns the program, whose results are `outputs`, in JSON."""
        graph = {"inputs": self.inputs, "outputs": [{"as_tensor": {"name": name}} for name in outputs],
                 "nodes": self.nodes, "tensor_values": self.tensors}
        signature = {"input_specs": self.specs,
                     "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": name}}}} for name in outputs]}
        return json.dumps({"graph_module": {"graph": graph, "signature": signature, "name": self.name},
                           "schema_version": _SCHEMA_VERSION, "torch_version": torch.__version__},
                          separators=(",", ":"))


class _Name(str):
    """The name of a tensor of the program."""


def _is_quantized(name):
    return name.startswith((*(f"{each}." for each in _QUANTIZED), "aten.quantize_per_"))


def _quantized(name, found, path):
    return UnsupportedError(f"{name}: {found} in module '{path}' is quantized, and costs of quantized operators are "
                            "not known; pass the model as it was before quantization")


def _expect_unquantized(name, model):
    for path, module in model.named_modules():
        if _is_quantized(f"{type(module).__module__}."):
            raise _quantized(name, type(module).__name__, path)
    for _, tensor_name, path, tensor, _ in _stored(model):
        if tensor.is_quantized or _is_quantized(f"{type(tensor).__module__}."):
            raise _quantized(name, tensor_name, path.rpartition(".")[0])


def _result(result):
    if result is None:
        return {"as_none": True}
    if isinstance(result, list):
        return {"as_tensors": [{"name": name} for name in result]}
    return {"as_tensor": {"name": result}}


def _argument(value):
    """Returns an argument as torch.export tags it."""
    if value is None:
        return {"as_none": True}
    if isinstance(value, _Name):
        return {"as_tensor": {"name": value}}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value} if value == value and abs(value) != float("inf") else {"as_string": str(value)}
    if isinstance(value, torch.dtype):
        return {"as_scalar_type": _SCALAR_TYPES.get(value, 0)}
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, _Name) for item in value):
            if all(isinstance(item, _Name) for item in value):
                return {"as_tensors": [{"name": item} for item in value]}
            return {"as_optional_tensors": [_argument(item) for item in value]}
        if all(isinstance(item, bool) for item in value):
            return {"as_bools": list(value)}
        if all(isinstance(item, int) for item in value):
            return {"as_ints": list(value)}
        if all(isinstance(item, (int, float)) for item in value):
            return {"as_floats": [float(item) for item in value]}
    return {"as_string": str(value)}


def _named_arguments(schema, arguments, keywords):
    """Returns (name, value) of all arguments that were given."""
    given = [(parameter.name, value) for parameter, value in zip(schema.arguments, arguments)]
    return given + list(keywords.items())


# --- Recording what a model calls ----------------------------------------------------------------------------------


class _Known:
    """A tensor that the program has. A view is made again when what it views was written to."""

    def __init__(self, tensor, name, base=None, view=None):
        self.tensor, self.name, self.base, self.view = tensor, name, base, view
        self.writes = 0
        self.writes_seen = base.writes if base else 0


class _Recorder:
    """Notes the operators that are called while its modes are on."""

    def __init__(self, program):
        self.program = program
        self.modules = []  # the paths of those that are being called
        self.known = {}  # _Known by id; they keep their tensors, so that no id appears twice
        self.is_paused = False

    def learn(self, tensor, name, base=None, view=None):
        self.known[id(tensor)] = _Known(tensor, name, base, view)

    def name_of(self, tensor):
        """Returns the name of a tensor's present value."""
        known = self.known.get(id(tensor))
        if known is None:  # made outside: a constant
            self.learn(tensor, self.program.add_input(tensor, "tensor_constant", f"constant_{len(self.known)}"))
            known = self.known[id(tensor)]
        return self.refreshed(known).name

    def refreshed(self, known):
        if known.base is not None:
            self.refreshed(known.base)
            if known.base.writes != known.writes_seen:
                known.writes_seen = known.base.writes
                known.writes += 1
                operator, arguments, make = known.view
                known.name = self.program.add_tensor(known.tensor)
                arguments = [(key, _Name(known.base.name) if key == arguments[0][0] else value)
                             for key, value in arguments]
                self.program.add_node(operator, self.path(), arguments, make(known.name))
        return known

    def path(self):
        return self.modules[-1] if self.modules else ""

    def to_names(self, value):
        if isinstance(value, torch.Tensor):
            return _Name(self.name_of(value))
        if isinstance(value, (list, tuple)):
            return [self.to_names(item) for item in value]
        return value

    def note(self, operator, schema, arguments, keywords, out):
        named = [(name, self.to_names(value)) for name, value in _named_arguments(schema, arguments, keywords)]
        written = [value for parameter, value in zip(schema.arguments, arguments)
                   if parameter.alias_info is not None and parameter.alias_info.is_write
                   and isinstance(value, torch.Tensor)]
        written += [value for parameter in schema.arguments for key, value in keywords.items()
                    if key == parameter.name and parameter.alias_info is not None and parameter.alias_info.is_write
                    and isinstance(value, torch.Tensor)]
        if written:
            return self.note_write(operator, named, written, out)
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        is_list = isinstance(out, list)
        names = [self.program.add_tensor(tensor) if isinstance(tensor, torch.Tensor) else None for tensor in outs]
        self.program.add_node(operator, self.path(), named, [names] if is_list else names)
        is_view = any(result.alias_info is not None for result in schema.returns)
        source = arguments[0] if arguments and isinstance(arguments[0], torch.Tensor) else None
        for index, (tensor, name) in enumerate(zip(outs, names)):
            if not isinstance(tensor, torch.Tensor):
                continue
            base = self.known.get(id(source)) if is_view and source is not None else None
            view = None
            if base is not None:
                others = names

                def make(fresh, index=index, others=others):
                    replaced = [f"{fresh}_other_{i}" for i in range(len(others))]
                    for other in replaced:
                        self.program.tensors[other] = self.program.tensors[fresh]
                    replaced[index] = fresh
                    return [replaced] if is_list else replaced
                view = (operator, named, make)
            self.learn(tensor, name, base, view)

    def note_write(self, operator, named, written, out):
        """Notes an operator that writes over tensors: it makes their next values, as one without underscore."""
        name, _, overload = operator.rpartition(".")
        operator = f"{name.removesuffix('_')}.{overload}" if not name.endswith("__") else operator
        fresh = [self.program.add_tensor(tensor) for tensor in written]
        self.program.add_node(operator, self.path(), named, fresh)
        for tensor, name in zip(written, fresh):
            known = self.known[id(tensor)]
            known.name = name
            known.writes += 1
            # What it is a view of has changed, too.
            while known.base is not None:
                base = known.base
                arguments: list = [("self", _Name(base.name)), ("src", _Name(known.name))]
                base.name = self.program.add_tensor(base.tensor)
                base.writes += 1
                known.writes_seen = base.writes
                is_whole = base.tensor.numel() == known.tensor.numel()
                if is_whole:
                    arguments = [("self", arguments[1][1]), ("size", list(base.tensor.shape))]
                self.program.add_node("aten.view.default" if is_whole else "aten.slice_scatter.default", self.path(),
                                      arguments, [base.name])
                known = base
        for tensor in pytree.tree_flatten(out)[0]:
            if isinstance(tensor, torch.Tensor) and id(tensor) not in self.known:
                self.learn(tensor, fresh[0])


class _AsksForValues(Exception):
    """The model reads values of tensors, which those without data do not have."""


# Operators whose result, or its shape, is known only with the values.
_READERS = {"_local_scalar_dense", "equal", "is_nonzero", "item", "masked_select", "nonzero", "unique",
            "unique_consecutive", "_unique2"}


class _Operators(TorchDispatchMode):
    """Notes operators below autograd."""

    def __init__(self, recorder, to_fake):
        super().__init__()
        self.recorder, self.to_fake = recorder, to_fake

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        recorder, kwargs = self.recorder, kwargs or {}
        # The mode itself makes stand-ins for numbers that become tensors.
        if self.to_fake is not None and func.__name__.partition(".")[0] in _READERS:
            raise _AsksForValues(f"{func} asks for values")
        if self.to_fake is not None and not func.__name__.startswith("lift"):
            args, kwargs = pytree.tree_map(self.made_fake, (args, kwargs))
        out = func(*args, **kwargs)
        if not recorder.is_paused and func.namespace != "prim":
            recorder.note(str(func), func._schema, args, kwargs, out)
        return out

    def made_fake(self, value):
        """Returns a stand-in for a tensor that the model has made with its data and keeps for itself."""
        return self.to_fake(value) if isinstance(value, torch.Tensor) else value


class _Units(TorchFunctionMode):
    """Notes functions that are not to be split."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, recorder = kwargs or {}, self.recorder
        name = getattr(func, "__name__", "")
        if name not in _UNITS or recorder.is_paused or isinstance(func, torch._ops.OpOverload):
            return func(*args, **kwargs)
        recorder.is_paused = True
        try:
            out = func(*args, **kwargs)
        finally:
            recorder.is_paused = False
        # Packed input has the sizes of batches in front of the state.
        overload = _UNITS[name][-1 if len(args) > 3 and isinstance(args[3], (list, tuple)) else 0]
        operator = getattr(getattr(torch.ops.aten, name), overload)
        recorder.note(f"aten.{name}.{overload}", operator._schema, args, kwargs, out)
        return out


@contextlib.contextmanager
def _module_paths(recorder, model):
    paths = {id(module): path for path, module in model.named_modules()}

    def enter(module, inputs):
        recorder.modules.append(paths.get(id(module), recorder.path()))

    def leave(module, inputs, output):
        recorder.modules.pop()

    handles = [torch.nn.modules.module.register_module_forward_pre_hook(enter),
               torch.nn.modules.module.register_module_forward_hook(leave)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _stored(model):
    """Returns (module, name, path, tensor, is a parameter) of every parameter and buffer, tied ones again."""
    for prefix, module in model.named_modules():
        for is_parameter, table in ((True, module._parameters), (False, module._buffers)):
            for name, tensor in table.items():
                if tensor is not None:
                    yield module, name, f"{prefix}.{name}" if prefix else name, tensor, is_parameter


@contextlib.contextmanager
def _stand_ins(model, to_fake):
    """Replaces parameters and buffers by tensors without data, or keeps the values of buffers."""
    stored = list(_stored(model))
    kept = [(tensor, tensor.detach().clone()) for _, _, _, tensor, is_parameter in stored
            if not is_parameter and to_fake is None]
    try:
        if to_fake is not None:
            for module, name, _, tensor, _ in stored:
                setattr(module, name, to_fake(tensor))
        yield
    finally:
        if to_fake is not None:
            for module, name, _, tensor, _ in stored:
                setattr(module, name, tensor)
        with torch.no_grad():
            for tensor, value in kept:
                tensor.copy_(value)


@contextlib.contextmanager
def _in_mode(model, training):
    before = [(module, module.training) for module in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        for module, was_training in before:
            module.training = was_training


def _record(name, call, model, example, is_fake):
    """Returns the program of `call(*example)`, whose parameters are those of `model`."""
    program = Program(name)
    recorder = _Recorder(program)
    flat, spec = pytree.tree_flatten(example)
    with contextlib.ExitStack() as stack:
        to_fake, fakes = None, {}
        if is_fake:
            from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
            mode = FakeTensorMode()

            def to_fake(tensor):
                if isinstance(tensor, FakeTensor):
                    return tensor
                if id(tensor) not in fakes:
                    fakes[id(tensor)] = (mode.from_tensor(tensor), tensor)
                return fakes[id(tensor)][0]

            flat = [to_fake(value) if isinstance(value, torch.Tensor) else value for value in flat]
        else:
            stack.enter_context(torch.random.fork_rng(devices=[]))
        stack.enter_context(_stand_ins(model, to_fake))
        seen = set()
        for _, _, path, tensor, is_parameter in _stored(model):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                kind = "parameter" if is_parameter else "buffer"
                recorder.learn(tensor, program.add_input(tensor, kind, path, is_parameter and tensor.requires_grad))
        for index, value in enumerate(flat):
            if isinstance(value, torch.Tensor) and id(value) not in recorder.known:
                recorder.learn(value, program.add_input(value, "user_input", f"input_{index}" if index else "input"))
        stack.enter_context(_module_paths(recorder, model))
        stack.enter_context(torch.enable_grad())
        if is_fake:
            stack.enter_context(mode)
        stack.enter_context(_Operators(recorder, to_fake))
        stack.enter_context(_Units(recorder))
        results = call(*pytree.tree_unflatten(flat, spec))
        outputs = [recorder.name_of(value) for value in pytree.tree_flatten(_plain(results))[0]
                   if isinstance(value, torch.Tensor)]
    return program.text(outputs)


def _plain(results):
    """Returns results without classes of their own, as those of libraries of transformers are."""
    if isinstance(results, dict):
        return {key: _plain(value) for key, value in results.items()}
    if isinstance(results, (list, tuple)):
        return [_plain(value) for value in results]
    return results


# --- torch.export --------------------------------------------------------------------------------------------------


def _expect_static(name, exported):
    for node in exported.graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder" and isinstance(value, torch.Tensor):
            for dimension, size in enumerate(value.shape):
                if not isinstance(size, int):
                    raise UnsupportedError(
                        f"{name}: dimension {dimension} of the input '{node.name}' is dynamic ({size}), and a step has "
                        "fixed sizes; export the model without dynamic_shapes, or pass the torch.nn.Module and "
                        "example_inputs of these sizes")


def _exported(name, exported, model=None):
    """Returns the program of a torch.export.ExportedProgram."""
    _expect_static(name, exported)
    program, signature = Program(name), exported.graph_signature
    kinds = {}
    for kind, table in (("parameter", signature.inputs_to_parameters), ("buffer", signature.inputs_to_buffers),
                        ("tensor_constant", getattr(signature, "inputs_to_lifted_tensor_constants", {}))):
        kinds.update({placeholder: (kind, path) for placeholder, path in table.items()})
    originals = getattr(exported, "state_dict", {})
    if model is not None:
        originals = {path: tensor for _, _, path, tensor, _ in _stored(model)}
    names: dict = {}  # of tensors, by node
    tied: dict = {}  # by the tensor itself

    def to_names(value):
        if isinstance(value, torch.fx.Node):
            if isinstance(names.get(value), str):
                return _Name(names[value])
            number = value.meta.get("val")  # a size
            return number if number is None or isinstance(number, (bool, int, float)) else int(number)
        if isinstance(value, (list, tuple)):
            return [to_names(item) for item in value]
        return value

    outputs = []
    for node in exported.graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder":
            if not isinstance(value, torch.Tensor):
                continue
            kind, path = kinds.get(node.name, ("user_input", node.name))
            original = originals.get(path) if kind == "parameter" else None
            if original is not None and id(original) in tied:
                names[node] = tied[id(original)]
                continue
            source = value if model is None or original is None else original
            trained = kind == "parameter" and source.requires_grad
            names[node] = program.add_input(value, kind, path, trained)
            if original is not None:
                tied[id(original)] = names[node]
        elif node.op == "output":
            wanted = set(signature.user_outputs)
            outputs = [names[item] for item in pytree.tree_flatten(node.args[0])[0]
                       if isinstance(item, torch.fx.Node) and item in names and item.name in wanted]
        elif getattr(node.target, "__name__", "") == "getitem":
            made = names.get(node.args[0])
            if isinstance(made, list):
                names[node] = made[node.args[1]]
        elif isinstance(node.target, torch._ops.OpOverload):
            stack = list(node.meta.get("nn_module_stack", {}).values())
            results = list(value) if isinstance(value, (list, tuple)) else [value]
            fresh = [program.add_tensor(item) if isinstance(item, torch.Tensor) else None for item in results]
            arguments = [(key, to_names(item))
                         for key, item in _named_arguments(node.target._schema, node.args, node.kwargs)]
            program.add_node(str(node.target), stack[-1][0] if stack else "", arguments,
                             [fresh] if isinstance(value, list) else fresh)
            names[node] = fresh if isinstance(value, (list, tuple)) else fresh[0]
        elif value is None or isinstance(value, (torch.Tensor, list, tuple)):  # else arithmetic on sizes
            raise UnsupportedError(f"{name}: torch.export left '{node.target}', which is no operator of aten")
    return program.text(outputs)


class _WithLoss(torch.nn.Module):
    """A model and its loss."""

    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, inputs, keywords, targets):
        return self.loss(self.model(*inputs, **keywords), *targets)


def _last_line(error):
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__


def program_of(model, example_inputs, *, training, loss, targets):
    """Returns the operators of a model, in JSON."""
    if type(model).__name__ == "ExportedProgram":
        return _exported("exported", model)
    if type(model).__name__ == "OptimizedModule":
        model = model._orig_mod  # what torch.compile was given
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"expected a torch.nn.Module or a torch.export.ExportedProgram, found {type(model).__name__}")
    inputs, keywords = example_inputs, {}
    if isinstance(example_inputs, dict):
        inputs, keywords = (), example_inputs
    elif not isinstance(example_inputs, (tuple, list)):
        inputs = (example_inputs,)
    if loss is None and targets is not None:
        raise UsageError("targets are given without a loss that reads them")
    if targets is None:
        targets = ()
    elif not isinstance(targets, (tuple, list)):
        targets = (targets,)
    name = type(model).__name__
    _expect_unquantized(name, model)
    example = (tuple(inputs), keywords, tuple(targets))
    if loss is None:
        def call(inputs, keywords, targets):
            return model(*inputs, **keywords)
    else:
        call = _WithLoss(model, loss).forward
    with _in_mode(model, training), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if loss is None and hasattr(torch, "export") and hasattr(torch.export, "export"):
            try:
                return _exported(name, torch.export.export(model, tuple(inputs), keywords), model)
            except Exception:  # of many classes: whatever it cannot trace, recording can
                pass
        try:
            return _record(name, call, model, example, is_fake=True)
        except (UnsupportedError, UsageError):
            raise
        except Exception as first:  # it asks for values, or an operator knows no tensors without data
            try:
                return _record(name, call, model, example, is_fake=False)
            except (UnsupportedError, UsageError):
                raise
            except Exception as error:
                raise UnsupportedError(
                    f"{name}: the model does not run on the example inputs: {_last_line(error)}"
                    f" (on tensors without data: {_last_line(first)})") from error
