#include "program.hpp"

#include "aten.hpp"
#include "model/assemble.hpp"
#include "model/strides.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace emplace::torch_program {
namespace {

constexpr std::int64_t kLastVersion = 8;

// By the numbers of the schema's ScalarType, from 1 on. An unsigned byte is as long as a signed
// one. A complex number is the integer of its length, or two floats.
constexpr std::array kTypes = {
    DataType::kInt8,    DataType::kInt8,    DataType::kInt16,   DataType::kInt32, DataType::kInt64,
    DataType::kFloat16, DataType::kFloat32, DataType::kFloat64, DataType::kInt32, DataType::kInt64,
    DataType::kFloat64, DataType::kBool,    DataType::kBfloat16};
constexpr std::int64_t kComplexDouble = 11;

// A size is a number, or a symbol with the number that it stood for when the model was exported.
std::int64_t read_size(const JsonCursor& size) {
  if (size.is_integer()) {
    return size.integer(0);
  }
  if (const auto number = size.find("as_int")) {
    return number->integer(0);
  }
  const JsonCursor expression = size.at("as_expr");
  const auto hint = expression.find("hint");
  const auto number = hint && hint->is_object() ? hint->find("as_int") : std::nullopt;
  if (!number) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the size '{}' is not known; export the model without dynamic shapes",
                            expression.at("expr_str").text()));
  }
  return number->integer(0);
}

Output read_tensor(const JsonCursor& meta) {
  const auto type = meta.at("dtype").integer(0, 64);
  if (type < 1 || type > std::ssize(kTypes)) {
    throw Error(ErrorCode::kUnsupported, fmt::format("tensors of type {} are not supported", type));
  }
  std::vector<std::int64_t> shape;
  for (const JsonCursor& size : meta.at("sizes").elements()) {
    shape.push_back(read_size(size));
  }
  Output output = make_output(std::move(shape), kTypes[static_cast<std::size_t>(type - 1)]);
  if (type == kComplexDouble) {
    output.bytes = product({output.bytes, 2});
  }
  return output;
}

// Files of early versions have no strides.
std::vector<std::int64_t> read_strides(const JsonCursor& meta,
                                       const std::vector<std::int64_t>& shape) {
  const auto given = meta.find("strides");
  std::vector<std::int64_t> strides;
  if (given && given->is_array()) {
    for (const JsonCursor& stride : given->elements()) {
      strides.push_back(read_size(stride));
    }
  }
  return strides.size() == shape.size() ? normal_strides(shape, std::move(strides))
                                        : contiguous_strides(shape);
}

// The module that calls a node is the last of "key,path,class;key,path,class".
std::string read_module(const JsonCursor& node) {
  const auto metadata = node.find("metadata");
  const auto stack = metadata ? metadata->find("nn_module_stack") : std::nullopt;
  if (!stack || !stack->is_text()) {
    return "";
  }
  const std::string text = stack->text();
  const std::string_view last = std::string_view(text).substr(text.rfind(';') + 1);
  const std::size_t first_comma = last.find(',');
  const std::size_t last_comma = last.rfind(',');
  std::string path(first_comma < last_comma
                       ? last.substr(first_comma + 1, last_comma - first_comma - 1)
                       : last.substr(0, first_comma));
  // Early versions write Python: L['self'].layer1[0], getattr(L['self'].layer1, '0').
  constexpr std::string_view kSelf = "L['self']";
  if (const std::size_t at = path.find(kSelf); at != std::string::npos) {
    std::string plain;
    for (const char c : path.substr(at + kSelf.size())) {
      const bool separates = c == '.' || c == '[' || c == ',';
      if (separates && !plain.empty() && plain.back() != '.') {
        plain += '.';
      } else if (!separates && c != ']' && c != '\'' && c != ')' && c != ' ' && c != '"') {
        plain += c;
      }
    }
    path = plain;
  }
  return path;
}

class ProgramReader {
 public:
  ProgramReader(const JsonCursor& root, std::string source)
      : root_(root), source_(std::move(source)) {}

  Program run() && {
    if (const auto version = root_.find("schema_version")) {
      (version->is_object() ? version->at("major") : *version).integer(1, kLastVersion);
    }
    const JsonCursor module = root_.at("graph_module");
    const JsonCursor graph = module.at("graph");
    const auto name = module.find("name");
    program_.name = name ? name->text() : "";
    const auto version = root_.find("torch_version");
    program_.source = fmt::format("PyTorch {}", version ? version->text() : "");
    for (const auto& [key, meta] : graph.at("tensor_values").members()) {
      const auto trained = meta.find("requires_grad");
      ids_.emplace(key, static_cast<ValueId>(program_.values.size()));
      program_.values.push_back(
          {.name = key, .output = read_tensor(meta), .is_trained = trained && trained->boolean()});
      TorchValue& value = program_.values.back();
      value.strides = read_strides(meta, value.output.shape);
    }
    read_inputs(module.at("signature").at("input_specs"));
    for (const JsonCursor& node : graph.at("nodes").elements()) {
      read_call(node);
    }
    for (const JsonCursor& spec : module.at("signature").at("output_specs").elements()) {
      for (const std::string_view kind : {"user_output", "loss_output"}) {
        if (const auto output = spec.find(kind)) {
          const Argument argument = read_argument("", output->at("arg"));
          for (const ValueId id : argument.tensors) {
            program_.outputs.push_back(id == kNone ? kNone : present(id));
          }
        }
      }
    }
    return std::move(program_);
  }

 private:
  // The tensor called like this object's member `name`.
  ValueId find(const JsonCursor& argument) const {
    const JsonCursor name = argument.at("name");
    const auto found = ids_.find(name.text());
    if (found == ids_.end()) {
      name.fail(fmt::format("no tensor is called '{}'", excerpt(name.text())));
    }
    return found->second;
  }

  TorchValue& value(ValueId id) { return program_.values[static_cast<std::size_t>(id)]; }

  void read_inputs(const JsonCursor& specs) {
    for (const JsonCursor& spec : specs.elements()) {
      const auto members = spec.members();
      if (members.size() != 1) {
        spec.fail("expected one kind of input");
      }
      const auto& [kind, input] = members.front();
      const auto argument = input.find("arg");
      if (!argument || kind == "token" || kind == "custom_obj" || kind == "constant_input") {
        continue;
      }
      if (kind == "user_input") {
        const auto tensor = argument->find("as_tensor");
        const auto name = input.find("name");
        if (tensor) {
          enter(find(*tensor), Origin::kInput, name ? *name : tensor->at("name"));
        }
        continue;
      }
      const bool is_parameter = kind == "parameter";
      const ValueId id = find(*argument);
      enter(id, is_parameter ? Origin::kParameter : Origin::kConstant, input.at(kind + "_name"));
    }
  }

  void enter(ValueId id, Origin origin, const JsonCursor& name) {
    if (!made_.insert(id).second) {
      name.fail(fmt::format("the tensor '{}' is made twice", excerpt(name.text())));
    }
    value(id).origin = origin;
    value(id).name = name.non_empty_text();
    value(id).is_trained = value(id).is_trained && origin == Origin::kParameter;
    program_.inputs.push_back(id);
  }

  Argument read_argument(std::string name, const JsonCursor& tagged) const {
    Argument argument{.name = std::move(name)};
    const auto members = tagged.members();
    if (members.size() != 1) {
      tagged.fail("expected one tagged value, such as {\"as_int\": 1}");
    }
    const auto& [tag, content] = members.front();
    if (tag == "as_tensor") {
      argument.is_tensor = true;
      argument.tensors = {find(content)};
    } else if (tag == "as_tensors") {
      argument.is_tensor = true;
      for (const JsonCursor& tensor : content.elements()) {
        argument.tensors.push_back(find(tensor));
      }
    } else if (tag == "as_optional_tensors") {
      argument.is_tensor = true;
      for (const JsonCursor& tensor : content.elements()) {
        const auto present = tensor.find("as_tensor");
        argument.tensors.push_back(present ? find(*present) : kNone);
      }
    } else if (tag == "as_optional_tensor") {
      return read_argument(std::move(argument.name), content);
    } else if (tag == "as_int") {
      argument.integers = {content.integer()};
      argument.number = static_cast<double>(argument.integers[0]);
    } else if (tag == "as_scalar_type") {
      argument.integers = {content.integer(0, 64)};
    } else if (tag == "as_bool") {
      argument.integers = {content.boolean() ? 1 : 0};
    } else if (tag == "as_float" && !content.is_text()) {  // infinity is a text
      argument.number =
          content.number(std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max());
    } else if (tag == "as_string" && content.is_text()) {
      argument.text = content.text();
    } else if (tag == "as_ints") {
      for (const JsonCursor& number : content.elements()) {
        argument.integers.push_back(number.integer());
      }
    } else if (tag == "as_bools") {
      for (const JsonCursor& truth : content.elements()) {
        argument.integers.push_back(truth.boolean() ? 1 : 0);
      }
    } else if (tag == "as_sym_ints") {
      // What was computed from shapes is in the results' shapes, too.
      for (const JsonCursor& number : content.elements()) {
        const auto known = number.find("as_int");
        argument.integers.push_back(known ? known->integer() : -1);
      }
    } else if (tag == "as_graph") {
      throw Error(ErrorCode::kUnsupported, "control flow (torch.cond, torch.map) is not supported");
    }
    return argument;
  }

  void read_call(const JsonCursor& node) {
    const std::string target = node.at("target").non_empty_text();
    TorchCall call{.op = target, .module = read_module(node)};
    ValueId first = kNone;  // as the program calls it
    // "torch.ops.aten.conv2d.default"
    constexpr std::string_view kPrefix = "torch.ops.";
    if (target.starts_with(kPrefix)) {
      const std::string_view name = std::string_view(target).substr(kPrefix.size());
      const std::size_t space = name.find('.');
      const std::size_t dot = name.rfind('.');
      if (space == std::string_view::npos || dot == space) {
        node.at("target").fail("expected torch.ops.NAMESPACE.OPERATOR.OVERLOAD");
      }
      call.op = name.substr(space + 1, dot - space - 1);
      call.overload = name.substr(dot + 1);
    }
    try {
      for (const JsonCursor& input : node.at("inputs").elements()) {
        call.arguments.push_back(read_argument(input.at("name").text(), input.at("arg")));
        for (const ValueId id : call.arguments.back().tensors) {
          if (id != kNone && !made_.contains(id)) {
            input.fail(
                fmt::format("reads '{}', which nothing before it makes", excerpt(value(id).name)));
          }
        }
      }
      first = call.arguments.empty() || call.arguments[0].tensors.empty()
                  ? kNone
                  : call.arguments[0].tensors[0];
      for (Argument& argument : call.arguments) {
        for (ValueId& id : argument.tensors) {
          id = id == kNone ? kNone : present(id);
        }
      }
      for (const JsonCursor& output : node.at("outputs").elements()) {
        const Argument results = read_argument("", output);
        for (const ValueId id : results.tensors) {
          if (id != kNone && !made_.insert(id).second) {
            output.fail(fmt::format("the tensor '{}' is made twice", excerpt(value(id).name)));
          }
          call.results.push_back(id);
        }
        if (!results.is_tensor) {
          call.results.push_back(kNone);
        }
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) {
        throw;
      }
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{}: operator {}: {}", source_, excerpt(target), error.what()));
    }
    program_.calls.push_back(std::move(call));
    if (first != kNone) {
      note_aliases(tensor_of(first));
    }
  }

  // --- Programs that write in place: a tensor has a new value, and so has what it is a view of ---

  struct View {
    ValueId base;
    std::size_t call;  // makes it
  };

  // The tensor that has the memory of a result, such as that of relu_().
  ValueId tensor_of(ValueId id) const {
    const auto found = tensors_.find(id);
    return found != tensors_.end() ? found->second : id;
  }

  // The present value of a tensor. A view is made again if what it shows was written.
  ValueId present(ValueId id) {
    id = tensor_of(id);
    if (stale_.erase(id) > 0) {
      const View view = views_.at(id);
      TorchCall call = program_.calls[view.call];
      call.arguments[0].tensors[0] = present(view.base);
      for (ValueId& result : call.results) {
        const bool is_asked = result == id;
        result = result == kNone ? kNone : copy_of(result);
        if (is_asked) {
          latest_[id] = result;
        }
      }
      program_.calls.push_back(std::move(call));
    }
    const auto found = latest_.find(id);
    return found != latest_.end() ? found->second : id;
  }

  ValueId copy_of(ValueId id) {
    const TorchValue& like = value(id);
    TorchValue copy{.name = like.name, .output = like.output, .strides = like.strides};
    program_.values.push_back(std::move(copy));
    return static_cast<ValueId>(program_.values.size() - 1);
  }

  // Notes what the last call does to the memory of its first tensor.
  void note_aliases(ValueId first) {
    const TorchCall& call = program_.calls.back();
    const bool describes = role_of_aten(call.op) == AtenRole::kDescribes;
    if (describes && kind_of_aten(call.op) != "no_op") {
      for (const ValueId result : call.results) {
        if (result != kNone) {
          views_.insert_or_assign(result, View{first, program_.calls.size() - 1});
          views_of_[first].push_back(result);
        }
      }
    } else if (!describes && call.op.ends_with('_') && !call.op.ends_with("__") &&
               !call.results.empty() && call.results[0] != kNone) {
      tensors_[call.results[0]] = first;
      const std::string module = call.module;  // write() adds calls
      write(first, call.results[0], module);
    }
  }

  void write(ValueId tensor, ValueId made, std::string_view module) {
    latest_[tensor] = made;
    stale_.erase(tensor);
    make_stale(tensor, kNone);
    for (auto found = views_.find(tensor); found != views_.end(); found = views_.find(tensor)) {
      const ValueId base = found->second.base;
      const auto& shape = value(base).output.shape;
      const bool is_whole = product(shape) == product(value(tensor).output.shape);
      TorchCall call{.op = is_whole ? "view" : "slice_scatter",
                     .overload = "default",
                     .module = std::string(module)};
      if (is_whole) {
        call.arguments = {{.name = "self", .is_tensor = true, .tensors = {latest_[tensor]}},
                          {.name = "size", .integers = shape}};
      } else {
        call.arguments = {{.name = "self", .is_tensor = true, .tensors = {present(base)}},
                          {.name = "src", .is_tensor = true, .tensors = {latest_[tensor]}}};
      }
      call.results = {copy_of(base)};
      latest_[base] = call.results[0];
      program_.calls.push_back(std::move(call));
      make_stale(base, tensor);
      tensor = base;
    }
  }

  // Views of `base` show another value, but for that through which it was written.
  void make_stale(ValueId base, ValueId except) {
    for (const ValueId id : views_of_[base]) {
      if (id != except && stale_.insert(id).second) {
        make_stale(id, kNone);
      }
    }
  }

  JsonCursor root_;
  std::string source_;
  Program program_;
  std::map<std::string, ValueId, std::less<>> ids_;
  std::set<ValueId> made_;              // inputs and results so far
  std::map<ValueId, ValueId> tensors_;  // by result in place
  std::map<ValueId, ValueId> latest_;   // value of each tensor that was written, or made again
  std::map<ValueId, View> views_;
  std::map<ValueId, std::vector<ValueId>> views_of_;
  std::set<ValueId> stale_;  // views
};

}  // namespace

void join_tied_weights(Program& program, std::string_view weights, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(weights, source);
  std::map<std::string, std::string> file_of;  // by the path of a parameter
  for (const auto& [name, weight] : document.root().at("config").members()) {
    file_of.emplace(name, weight.at("path_name").text());
  }
  std::map<std::string, ValueId> first;  // by file
  std::map<ValueId, ValueId> tied;
  std::erase_if(program.inputs, [&](ValueId id) {
    const TorchValue& value = program.values[static_cast<std::size_t>(id)];
    const auto file = file_of.find(value.name);
    if (value.origin != Origin::kParameter || file == file_of.end()) {
      return false;
    }
    const auto [known, is_new] = first.emplace(file->second, id);
    if (is_new || program.values[static_cast<std::size_t>(known->second)].output.shape !=
                      value.output.shape) {
      return false;
    }
    tied.emplace(id, known->second);
    return true;
  });
  const auto join = [&](ValueId& id) {
    if (const auto found = tied.find(id); found != tied.end()) {
      id = found->second;
    }
  };
  for (TorchCall& call : program.calls) {
    for (Argument& argument : call.arguments) {
      std::ranges::for_each(argument.tensors, join);
    }
  }
  std::ranges::for_each(program.outputs, join);
}

Program read_program(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  return ProgramReader(document.root(), source).run();
}

}  // namespace emplace::torch_program
