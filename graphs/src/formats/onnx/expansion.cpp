#include "expansion.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <google/protobuf/repeated_field.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace emplace::onnx_model {
namespace {

// A loop is unrolled up to so many steps.
constexpr std::int64_t kMaxSteps = 10'000;

// The nodes that replace functions, branches and loops have up to so many bytes.
constexpr std::size_t kMaxMadeBytes = std::size_t{1} << 30;

// The steps of all loops hand on up to so many values.
constexpr std::int64_t kMaxCarriedValues = 1'000'000;

// All sequences together have up to so many tensors. Each change makes a sequence of its own.
constexpr std::size_t kMaxInSequences = 4'000'000;

// Collects the names that a graph and the graphs within make. What is left out has none.
template <class Take>
void for_each_made(const onnx::GraphProto& graph, const Take& take) {
  for (const auto& input : graph.input()) {
    take(input.name());
  }
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& name : node.output()) {
      if (!name.empty()) {
        take(name);
      }
    }
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        for_each_made(attribute.g(), take);
      }
    }
  }
}

// Collects the initializers of a graph and the graphs within.
template <class Take>
void for_each_initializer(const onnx::GraphProto& graph, const Take& take) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    take(tensor);
  }
  for (const onnx::NodeProto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        for_each_initializer(attribute.g(), take);
      }
    }
  }
}

// Puts the call's attributes, or the function's own values, where the nodes refer to them.
void set_attributes(onnx::NodeProto& node, const onnx::NodeProto& call,
                    const onnx::FunctionProto& function) {
  for (int i = 0; i < node.attribute_size();) {
    onnx::AttributeProto& attribute = *node.mutable_attribute(i);
    if (attribute.ref_attr_name().empty()) {
      ++i;
      continue;
    }
    const std::string name = attribute.name();
    const onnx::AttributeProto* given = find_attribute(call, attribute.ref_attr_name());
    for (const auto& own : function.attribute_proto()) {
      given = given == nullptr && own.name() == attribute.ref_attr_name() ? &own : given;
    }
    if (given == nullptr) {
      node.mutable_attribute()->DeleteSubrange(i, 1);
      continue;
    }
    attribute = *given;
    attribute.set_name(name);
    ++i;
  }
}

}  // namespace

// The names of the tensors in the body of a function or loop, and what they are called where the
// body's nodes stand.
struct Expansion::Names {
  std::map<std::string, std::string, std::less<>> known{};
  std::string prefix;         // of all nodes
  bool sees_outside = false;  // a loop reads tensors from around it, a function does not

  std::string operator()(const std::string& name) const {
    const auto found = known.find(name);
    return found != known.end()           ? found->second
           : name.empty() || sees_outside ? name
                                          : prefix + name;
  }

  void rename(onnx::NodeProto& node) const {
    node.set_name(prefix + node.name());
    for (std::string& name : *node.mutable_input()) {
      name = (*this)(name);
    }
    for (std::string& name : *node.mutable_output()) {
      name = (*this)(name);
    }
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) {
        rename(*attribute.mutable_g());
      }
    }
  }

  void rename(onnx::GraphProto& graph) const {
    // A loop has them once. Clearing would keep their memory.
    google::protobuf::RepeatedPtrField<onnx::TensorProto>().Swap(graph.mutable_initializer());
    for (auto* list : {graph.mutable_input(), graph.mutable_output()}) {
      for (auto& value : *list) {
        value.set_name((*this)(value.name()));
      }
    }
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      rename(node);
    }
  }
};

bool Expansion::expand(const onnx::NodeProto& node, int depth) {
  for (const onnx::FunctionProto& function : model_.proto.functions()) {
    if (function.name() == node.op_type() && function.domain() == node.domain()) {
      expand_call(node, function, depth);
      return true;
    }
  }
  if (!is_standard_domain(node.domain())) {
    return false;
  }
  if (node.op_type() == "If") {
    expand_branch(node, depth);
    return true;
  }
  if (node.op_type() == "Loop") {
    expand_loop(node, depth);
    return true;
  }
  return expand_sequence(node, depth);
}

// --- Functions, branches, loops ---

// The nodes of a function, with names of their own.
void Expansion::expand_call(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                            int depth) {
  Names names{.prefix = path_of(call)};
  for (int i = 0; i < function.input_size(); ++i) {
    names.known[function.input(i)] = i < call.input_size() ? call.input(i) : "";
  }
  for (int i = 0; i < function.output_size() && i < call.output_size(); ++i) {
    if (!call.output(i).empty()) {
      names.known[function.output(i)] = call.output(i);
    }
  }
  for (const onnx::NodeProto& node : function.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        for_each_initializer(attribute.g(), [&](const onnx::TensorProto& tensor) {
          sink_.add_initializer(tensor, names(tensor.name()));
        });
      }
    }
  }
  for (const onnx::NodeProto& node : function.node()) {
    onnx::NodeProto& made = copy(node, names);
    set_attributes(made, call, function);
    charge(call, made.ByteSizeLong());  // the call's attributes may be large
    sink_.add_node(made, depth + 1);
  }
}

onnx::NodeProto& Expansion::copy(const onnx::NodeProto& node, const Names& names) {
  onnx::NodeProto& made = model_.made.emplace_back(node);
  names.rename(made);
  // Initializers are copied, although they are not kept.
  charge(node, std::max(node.ByteSizeLong(), made.ByteSizeLong()));
  return made;
}

void Expansion::charge(const onnx::NodeProto& node, std::size_t bytes) {
  made_bytes_ += bytes;
  if (made_bytes_ > kMaxMadeBytes) {
    sink_.unsupported(
        fmt::format("{}: functions, branches and loops expand to nodes of more than {} bytes",
                    describe(node), kMaxMadeBytes));
  }
}

// The initializers of a branch or a loop and of the graphs within, under names of their own.
void Expansion::add_initializers(const onnx::GraphProto& graph, Names& names) {
  for_each_initializer(graph, [&](const onnx::TensorProto& tensor) {
    const std::string name = names.prefix + tensor.name();
    names.known[tensor.name()] = name;
    sink_.add_initializer(tensor, name);
  });
}

// The nodes of the branch that the condition chooses.
void Expansion::expand_branch(const onnx::NodeProto& node, int depth) {
  const auto chosen = node.input_size() == 1 ? number(node.input(0)) : std::nullopt;
  if (!chosen) {
    sink_.unsupported(
        fmt::format("{}: which branch runs depends on the data; control flow is not supported, "
                    "export the model for one branch",
                    describe(node)));
  }
  const auto* branch = find_attribute(node, *chosen != 0 ? "then_branch" : "else_branch");
  if (branch == nullptr || branch->g().output_size() != node.output_size()) {
    sink_.fail(fmt::format("{}: its branch has a different number of results", describe(node)));
  }
  Names names{.prefix = path_of(node), .sees_outside = true};
  add_initializers(branch->g(), names);
  for_each_made(branch->g(),
                [&](const std::string& name) { names.known[name] = names.prefix + name; });
  for (const onnx::NodeProto& inner : branch->g().node()) {
    sink_.add_node(copy(inner, names), depth + 1);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    add_identity(names(branch->g().output(i).name()), node.output(i), depth);
  }
}

// The nodes of all steps, one after another. Inputs are the number of steps, whether the first one
// runs, and what a step hands to the next; the body gives the same but for the number, and then
// what is stacked over all steps.
void Expansion::expand_loop(const onnx::NodeProto& node, int depth) {
  const auto* attribute = find_attribute(node, "body");
  const int carried = node.input_size() - 2;
  if (attribute == nullptr || carried < 0 || attribute->g().input_size() != carried + 2 ||
      attribute->g().output_size() != node.output_size() + 1 || node.output_size() < carried) {
    sink_.fail(
        fmt::format("{}: its body has a different number of inputs or results", describe(node)));
  }
  const onnx::GraphProto& body = attribute->g();
  const auto refusal = [&](std::string_view why) {
    return fmt::format("{}: {}; export the model for a fixed number of steps", describe(node), why);
  };
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  if (!node.input(0).empty()) {
    const auto steps = number(node.input(0));
    if (!steps) {
      sink_.unsupported(refusal("how many steps it takes depends on the data"));
    }
    limit = *steps < 9e18 ? static_cast<std::int64_t>(*steps) : limit;
  }
  std::string condition = node.input(1);
  Names names{.prefix = path_of(node), .sees_outside = true};
  add_initializers(body, names);
  std::vector<std::string> state(node.input().begin() + 2, node.input().end());
  std::vector<std::vector<std::string>> stacks(
      static_cast<std::size_t>(node.output_size() - carried));
  const std::string path = names.prefix;
  for (std::int64_t step = 0; step < limit; ++step) {
    if (!condition.empty()) {
      const auto goes_on = number(condition);
      if (!goes_on) {
        sink_.unsupported(refusal("whether another step follows depends on the data"));
      }
      if (*goes_on == 0) {
        break;
      }
    }
    if (step == kMaxSteps) {
      sink_.unsupported(refusal(fmt::format("it takes more than {} steps", kMaxSteps)));
    }
    names.prefix = fmt::format("{}{}/", path, step);
    // A step that has no nodes is work all the same.
    carried_values_ += body.output_size();
    if (carried_values_ > kMaxCarriedValues) {
      sink_.unsupported(fmt::format("{}: the steps of loops hand on more than {} values",
                                    describe(node), kMaxCarriedValues));
    }
    charge(node, names.prefix.size() * static_cast<std::size_t>(body.output_size()));
    for_each_made(body, [&](const std::string& name) { names.known[name] = names.prefix + name; });
    names.known[body.input(0).name()] =
        add_constant(step, names.prefix + body.input(0).name(), onnx::TensorProto::INT64, depth);
    if (condition.empty()) {
      condition =
          add_constant(1, names.prefix + body.input(1).name(), onnx::TensorProto::BOOL, depth);
    }
    names.known[body.input(1).name()] = condition;
    for (int i = 0; i < carried; ++i) {
      names.known[body.input(i + 2).name()] = state[static_cast<std::size_t>(i)];
    }
    for (const onnx::NodeProto& inner : body.node()) {
      sink_.add_node(copy(inner, names), depth + 1);
    }
    condition = names(body.output(0).name());
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string result = names(body.output(i + 1).name());
      if (i < carried) {
        state[static_cast<std::size_t>(i)] = result;
      } else {
        stacks[static_cast<std::size_t>(i - carried)].push_back(result);
      }
    }
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (i < carried) {
      add_identity(state[static_cast<std::size_t>(i)], node.output(i), depth);
    } else {
      stack(node, stacks[static_cast<std::size_t>(i - carried)], node.output(i), depth);
    }
  }
}

// Tensors of one shape along a new first dimension.
void Expansion::stack(const onnx::NodeProto& node, const std::vector<std::string>& parts,
                      const std::string& result, int depth) {
  if (result.empty()) {
    return;
  }
  if (parts.empty()) {
    sink_.unsupported(fmt::format("{}: it takes no step, so the shape of '{}' is not known",
                                  describe(node), excerpt(result)));
  }
  const std::string axis =
      add_constant(0, fmt::format("{}/axis", result), onnx::TensorProto::INT64, depth);
  onnx::NodeProto& concat = make("Concat", node.name());
  onnx::AttributeProto& along = *concat.add_attribute();
  along.set_name("axis");
  along.set_i(0);
  for (const std::string& part : parts) {
    onnx::NodeProto& unsqueeze = make("Unsqueeze", "");
    unsqueeze.add_input(part);
    unsqueeze.add_input(axis);
    unsqueeze.add_output(fmt::format("{}/row_{}", result, concat.input_size()));
    concat.add_input(unsqueeze.output(0));
    sink_.add_node(unsqueeze, depth);
  }
  concat.add_output(result);
  sink_.add_node(concat, depth);
}

// --- Sequences ---

bool Expansion::expand_sequence(const onnx::NodeProto& node, int depth) {
  const std::string& kind = node.op_type();
  if (kind == "Identity" && node.input_size() == 1 && is_sequence(node.input(0))) {
    keep_sequence(node, sequence(node, 0));
  } else if (kind == "SequenceEmpty") {
    keep_sequence(node, {});
  } else if (kind == "SequenceConstruct") {
    keep_sequence(node, {node.input().begin(), node.input().end()});
  } else if (kind == "SequenceInsert" || kind == "SequenceErase") {
    insert_into_sequence(node, kind == "SequenceErase");
  } else if (kind == "SequenceLength") {
    add_constant(std::ssize(sequence(node, 0)), node.output(0), onnx::TensorProto::INT64, depth);
  } else if (kind == "SequenceAt") {
    const Sequence& of = sequence(node, 0);
    add_identity(of[position(node, of, of.size())], node.output(0), depth);
  } else if (kind == "SplitToSequence") {
    split_to_sequence(node, depth);
  } else if (kind == "ConcatFromSequence") {
    join_sequence(node, depth);
  } else {
    return false;
  }
  return true;
}

void Expansion::keep_sequence(const onnx::NodeProto& node, Sequence result) {
  in_sequences_ += result.size();
  if (in_sequences_ > kMaxInSequences) {
    sink_.unsupported(fmt::format(
        "{}: sequences contain more than {} tensors, each counted with all that it is made from",
        describe(node), kMaxInSequences));
  }
  sequences_[node.output(0)] = std::move(result);
}

const Expansion::Sequence& Expansion::sequence(const onnx::NodeProto& node, int input) const {
  const auto found =
      input < node.input_size() ? sequences_.find(node.input(input)) : sequences_.end();
  if (found == sequences_.end()) {
    sink_.fail(fmt::format("{}: expected a sequence as input {}", describe(node), input + 1));
  }
  return found->second;
}

// The place that the last input tells, of which negative ones count from behind; `end` is one
// behind the last that may be.
std::size_t Expansion::position(const onnx::NodeProto& node, const Sequence& of,
                                std::size_t end) const {
  const auto told = number(node.input(node.input_size() - 1));
  if (!told) {
    sink_.unsupported(
        fmt::format("{}: the place in the sequence depends on the data", describe(node)));
  }
  const auto size = static_cast<double>(of.size());
  const double place = *told < 0 ? *told + size : *told;
  if (!(place >= 0 && place < static_cast<double>(end))) {
    sink_.fail(fmt::format("{}: expected a place in a sequence of {}, found {}", describe(node),
                           of.size(), *told));
  }
  return static_cast<std::size_t>(place);
}

// The inputs are the sequence, the tensor to insert, and the place, else the end.
void Expansion::insert_into_sequence(const onnx::NodeProto& node, bool erases) {
  Sequence changed = sequence(node, 0);
  const int count = erases ? 1 : 2;
  if (node.input_size() < count || node.input(count - 1).empty()) {
    const auto last = static_cast<std::size_t>(count - 1);
    sink_.fail(fmt::format("{}: {}", describe(node), describe_missing_input(node, last)));
  }
  const bool is_told = node.input_size() > count && !node.input(count).empty();
  if (erases) {
    if (changed.empty()) {
      sink_.fail(fmt::format("{}: the sequence is empty", describe(node)));
    }
    const std::size_t place =
        is_told ? position(node, changed, changed.size()) : changed.size() - 1;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(place));
  } else {
    const std::size_t place =
        is_told ? position(node, changed, changed.size() + 1) : changed.size();
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(place), node.input(1));
  }
  keep_sequence(node, std::move(changed));
}

// Parts along an axis: of the sizes in the second input, or of the size that it is, or of 1, whose
// dimension then vanishes unless `keepdims` says otherwise.
void Expansion::split_to_sequence(const onnx::NodeProto& node, int depth) {
  const KnownValue* value = node.input_size() > 0 ? sink_.find_value(node.input(0)) : nullptr;
  const auto axis = integer_attribute(node, "axis", 0);
  const std::int64_t rank = value == nullptr ? 0 : std::ssize(value->output.shape);
  if (axis < -rank || axis >= rank) {
    sink_.fail(fmt::format("{}: expected a tensor with an axis {}", describe(node), axis));
  }
  const std::int64_t extent =
      value->output.shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
  const bool has_sizes = node.input_size() > 1 && !node.input(1).empty();
  Shape sizes;
  bool has_list = false;  // perhaps of no sizes
  std::int64_t size = 1;
  if (has_sizes) {
    const KnownValue* split = sink_.find_value(node.input(1));
    const auto told =
        split == nullptr || !split->numbers ? std::nullopt : integers_of(*split->numbers);
    if (!told) {
      sink_.unsupported(
          fmt::format("{}: the sizes of the parts depend on the data", describe(node)));
    }
    has_list = !split->output.shape.empty();
    if (has_list) {
      sizes = *told;
    } else {
      size = told->front();
    }
  }
  if (!has_list) {
    if (size < 1 || extent / size > kMaxSteps) {
      sink_.unsupported(fmt::format("{}: {} cut into parts of {}; at most {} parts are supported",
                                    describe(node), extent, size, kMaxSteps));
    }
    for (std::int64_t at = 0; at < extent; at += size) {
      sizes.push_back(std::min(size, extent - at));
    }
  }
  const bool vanishes = !has_sizes && integer_attribute(node, "keepdims", 1) == 0;
  const std::string& result = node.output(0);
  onnx::NodeProto& split = make("Split", node.name());
  split.add_input(node.input(0));
  onnx::NodeProto& list = make("Constant", "");
  onnx::AttributeProto& numbers = *list.add_attribute();
  numbers.set_name("value_ints");
  numbers.mutable_ints()->Add(sizes.begin(), sizes.end());
  list.add_output(fmt::format("{}/sizes", result));
  sink_.add_node(list, depth);
  split.add_input(list.output(0));
  onnx::AttributeProto& along = *split.add_attribute();
  along.set_name("axis");
  along.set_i(axis);
  Sequence parts;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    parts.push_back(fmt::format("{}/part_{}", result, i));
    split.add_output(parts.back());
  }
  if (!parts.empty()) {
    sink_.add_node(split, depth);
  }
  if (vanishes && !parts.empty()) {
    const std::string axes =
        add_constant(axis, fmt::format("{}/axis", result), onnx::TensorProto::INT64, depth);
    for (std::string& part : parts) {
      onnx::NodeProto& squeeze = make("Squeeze", "");
      squeeze.add_input(part);
      squeeze.add_input(axes);
      part += "/squeezed";
      squeeze.add_output(part);
      sink_.add_node(squeeze, depth);
    }
  }
  keep_sequence(node, std::move(parts));
}

void Expansion::join_sequence(const onnx::NodeProto& node, int depth) {
  const Sequence parts = sequence(node, 0);
  if (parts.empty()) {
    sink_.unsupported(fmt::format("{}: the sequence is empty, so the shape of '{}' is not known",
                                  describe(node), excerpt(node.output(0))));
  }
  const bool is_new = integer_attribute(node, "new_axis", 0) != 0;
  const auto axis = integer_attribute(node, "axis", 0);
  onnx::NodeProto& concat = make("Concat", node.name());
  onnx::AttributeProto& along = *concat.add_attribute();
  along.set_name("axis");
  along.set_i(axis);
  const std::string axes = is_new ? add_constant(axis, fmt::format("{}/axis", node.output(0)),
                                                 onnx::TensorProto::INT64, depth)
                                  : "";
  for (const std::string& part : parts) {
    if (!is_new) {
      concat.add_input(part);
      continue;
    }
    onnx::NodeProto& unsqueeze = make("Unsqueeze", "");
    unsqueeze.add_input(part);
    unsqueeze.add_input(axes);
    unsqueeze.add_output(fmt::format("{}/row_{}", node.output(0), concat.input_size()));
    concat.add_input(unsqueeze.output(0));
    sink_.add_node(unsqueeze, depth);
  }
  concat.add_output(node.output(0));
  sink_.add_node(concat, depth);
}

// --- Nodes that no file has ---

onnx::NodeProto& Expansion::make(std::string_view op_type, const std::string& name) {
  onnx::NodeProto& node = model_.made.emplace_back();
  node.set_op_type(std::string(op_type));
  node.set_name(name);
  return node;
}

void Expansion::add_identity(const std::string& from, const std::string& to, int depth) {
  if (to.empty()) {
    return;
  }
  onnx::NodeProto& identity = make("Identity", "");
  identity.add_input(from);
  identity.add_output(to);
  sink_.add_node(identity, depth);
}

// Returns the name of a scalar.
std::string Expansion::add_constant(std::int64_t value, const std::string& name, int type,
                                    int depth) {
  onnx::NodeProto& constant = make("Constant", "");
  onnx::AttributeProto& attribute = *constant.add_attribute();
  attribute.set_name("value");
  onnx::TensorProto& tensor = *attribute.mutable_t();
  tensor.set_data_type(type);
  if (type == onnx::TensorProto::INT64) {
    tensor.add_int64_data(value);
  } else {
    tensor.add_int32_data(static_cast<std::int32_t>(value));
  }
  constant.add_output(name);
  sink_.add_node(constant, depth);
  return name;
}

// The only number that a tensor holds, where it is known.
std::optional<double> Expansion::number(const std::string& name) const {
  const KnownValue* value = sink_.find_value(name);
  return value == nullptr || !value->numbers ? std::nullopt : single_of(*value->numbers);
}

// What stands before the names of a node's inner nodes.
std::string Expansion::path_of(const onnx::NodeProto& node) {
  return fmt::format(
      "{}/", node.name().empty() ? fmt::format("{}_{}", node.op_type(), unnamed_++) : node.name());
}

}  // namespace emplace::onnx_model
