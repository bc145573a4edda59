#include "functions.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace emplace::tensorflow {
namespace {

// Models have a few thousand nodes and calls that are a few deep. Beyond this a file is hostile.
constexpr int kMaxDepth = 100;
constexpr int kMaxNodes = 2'000'000;
constexpr int kMaxSteps = 100'000;

// Within a function, results are called by name. Operators with several named results:
struct NamedResults {
  std::string_view op;
  std::array<std::string_view, 7> results;  // padded with empty names
};

constexpr std::array kNamedResults = {
    NamedResults{"BlockLSTM", {"i", "cs", "f", "o", "ci", "co", "h"}},
    NamedResults{"BlockLSTMV2", {"i", "cs", "f", "o", "ci", "co", "h"}},
    NamedResults{"BroadcastGradientArgs", {"r0", "r1"}},
    NamedResults{"CTCLoss", {"loss", "gradient"}},
    NamedResults{"CombinedNonMaxSuppression",
                 {"nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"}},
    NamedResults{"CudnnRNN", {"output", "output_h", "output_c", "reserve_space"}},
    NamedResults{"CudnnRNNV3",
                 {"output", "output_h", "output_c", "reserve_space", "host_reserved"}},
    NamedResults{"FusedBatchNorm",
                 {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
    NamedResults{
        "FusedBatchNormGrad",
        {"x_backprop", "scale_backprop", "offset_backprop", "reserve_space_3", "reserve_space_4"}},
    NamedResults{
        "FusedBatchNormGradV2",
        {"x_backprop", "scale_backprop", "offset_backprop", "reserve_space_3", "reserve_space_4"}},
    NamedResults{
        "FusedBatchNormGradV3",
        {"x_backprop", "scale_backprop", "offset_backprop", "reserve_space_4", "reserve_space_5"}},
    NamedResults{"FusedBatchNormV2",
                 {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
    NamedResults{"FusedBatchNormV3",
                 {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2",
                  "reserve_space_3"}},
    NamedResults{"GRUBlockCell", {"r", "u", "c", "h"}},
    NamedResults{"LSTMBlockCell", {"i", "cs", "f", "o", "ci", "co", "h"}},
    NamedResults{"ListDiff", {"out", "idx"}},
    NamedResults{"MaxPoolWithArgmax", {"output", "argmax"}},
    NamedResults{"Merge", {"output", "value_index"}},
    NamedResults{"NonMaxSuppressionV4", {"selected_indices", "valid_outputs"}},
    NamedResults{"NonMaxSuppressionV5", {"selected_indices", "selected_scores", "valid_outputs"}},
    NamedResults{"Qr", {"q", "r"}},
    NamedResults{"QuantizeV2", {"output", "output_min", "output_max"}},
    NamedResults{"SelfAdjointEigV2", {"e", "v"}},
    NamedResults{"SoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
    NamedResults{"SparseReshape", {"output_indices", "output_shape"}},
    NamedResults{"SparseSoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
    NamedResults{"Svd", {"s", "u", "v"}},
    NamedResults{"Switch", {"output_false", "output_true"}},
    NamedResults{"TopK", {"values", "indices"}},
    NamedResults{"TopKV2", {"values", "indices"}},
    NamedResults{"Unique", {"y", "idx"}},
    NamedResults{"UniqueV2", {"y", "idx"}},
    NamedResults{"UniqueWithCounts", {"y", "idx", "count"}},
    NamedResults{"UniqueWithCountsV2", {"y", "idx", "count"}},
};

// Returns where the results that are called `name` begin: 0 where their number says all, because
// no name is given or the operator has one list of results; nothing for a name that it lacks.
std::optional<std::int32_t> first_result(std::string_view op, std::string_view name) {
  const auto row = std::ranges::find(kNamedResults, op, &NamedResults::op);
  if (name.empty() || row == kNamedResults.end()) {
    return 0;
  }
  const auto found = std::ranges::find(row->results, name);
  return found == row->results.end()
             ? std::nullopt
             : std::optional(static_cast<std::int32_t>(found - row->results.begin()));
}

bool is_call_operator(const std::string& op) {
  return op == "PartitionedCall" || op == "StatefulPartitionedCall";
}

using NodesByName = std::unordered_map<std::string_view, const proto::NodeDef*>;

// One call of a function, or the graph itself, whose function is null.
struct Frame {
  Frame* caller = nullptr;
  const proto::NodeDef* call = nullptr;  // in the caller
  const proto::FunctionDef* function = nullptr;
  std::string prefix{};  // of the names of its nodes
  int depth = 0;
  const NodesByName* nodes = nullptr;  // all calls of a function share them
  std::unordered_map<const proto::NodeDef*, std::unique_ptr<Frame>> calls{};
};

// A result as its reader names it.
struct Reference {
  std::string node{};
  std::string result{};  // its name; empty where only the number counts
  std::int32_t number = 0;
  bool is_control = false;
};

struct Place {
  Frame* frame = nullptr;
  const proto::NodeDef* node = nullptr;
  std::int32_t output = 0;
};

class Inliner {
 public:
  Inliner(const proto::GraphDef& graph, const std::string& source) : source_(source) {
    for (const proto::FunctionDef& function : graph.library().function()) {
      functions_.emplace(function.signature().name(), &function);
    }
    add_nodes(root_, graph.node());
    if (graph.has_versions()) {
      *flat_.mutable_versions() = graph.versions();
    }
  }

  proto::GraphDef run(const proto::GraphDef& graph, std::span<const std::string> results) && {
    if (results.empty()) {
      for (const proto::NodeDef& node : graph.node()) {
        for (const Place& place : places_of(root_, {.node = node.name(), .is_control = true})) {
          add(place);
        }
      }
    }
    for (const std::string& result : results) {
      const Input input = parse_input(result);
      add(resolve(root_, {.node = input.node, .number = input.output}));
    }
    return std::move(flat_);
  }

 private:
  [[noreturn]] void fail(const Frame& frame, const std::string& name, const std::string& message,
                         ErrorCode code = ErrorCode::kFormat) const {
    throw Error(code,
                fmt::format("{}: node '{}': {}", source_, excerpt(frame.prefix + name), message));
  }

  template <class Nodes>
  void add_nodes(Frame& frame, const Nodes& nodes) {
    const auto [found, is_new] = nodes_.try_emplace(frame.function);
    frame.nodes = &found->second;
    if (!is_new) {
      return;
    }
    for (const proto::NodeDef& node : nodes) {
      if (!found->second.emplace(node.name(), &node).second) {
        fail(frame, node.name(), "the name appears twice");
      }
    }
  }

  const proto::FunctionDef* function_of(const Frame& frame, const proto::NodeDef& node) const {
    std::string name = node.op();
    if (is_call_operator(node.op())) {
      const auto* called = find_attribute(node, "f");
      name = called != nullptr ? called->func().name() : "";
      if (!functions_.contains(name)) {
        fail(
            frame, node.name(),
            fmt::format("it calls the function '{}', which is missing in the file", excerpt(name)));
      }
    }
    const auto found = functions_.find(name);
    return found != functions_.end() ? found->second : nullptr;
  }

  // Returns the frame of a call, or null if the node is none.
  Frame* enter(Frame& frame, const proto::NodeDef& node) {
    if (const auto known = frame.calls.find(&node); known != frame.calls.end()) {
      return known->second.get();
    }
    const proto::FunctionDef* function = function_of(frame, node);
    if (function == nullptr) {
      return nullptr;
    }
    if (frame.depth == kMaxDepth || ++num_frames_ > kMaxNodes) {
      fail(frame, node.name(), "functions call one another too deep; recursion is not supported",
           ErrorCode::kUnsupported);
    }
    auto inner = std::make_unique<Frame>();
    inner->caller = &frame;
    inner->call = &node;
    inner->function = function;
    inner->prefix = frame.prefix + node.name() + "/";
    inner->depth = frame.depth + 1;
    add_nodes(*inner, function->node_def());
    return (frame.calls[&node] = std::move(inner)).get();
  }

  // A function's nodes read "argument", "node:result:number" or "^node".
  Reference parse(const Frame& frame, const std::string& reader, const std::string& text) const {
    try {
      if (frame.function == nullptr || text.starts_with('^')) {
        const Input input = parse_input(text);
        return {.node = input.node,
                .number = std::max(input.output, 0),
                .is_control = input.output == Input::kControl};
      }
      const std::size_t colon = text.find(':');
      if (colon == std::string::npos) {
        return {.node = text};
      }
      const std::size_t second = text.find(':', colon + 1);
      const bool has_number = second != std::string::npos;
      const std::string result = text.substr(colon + 1, has_number ? second - colon - 1 : second);
      const Input input = parse_input("x" + (has_number ? text.substr(second) : ":0"));
      return {.node = text.substr(0, colon), .result = result, .number = input.output};
    } catch (const Error& error) {
      fail(frame, reader, error.what());
    }
  }

  std::optional<int> argument(const Frame& frame, const std::string& name) const {
    if (frame.function != nullptr) {
      const auto& arguments = frame.function->signature().input_arg();
      for (int i = 0; i < arguments.size(); ++i) {
        if (arguments[i].name() == name) {
          return i;
        }
      }
    }
    return std::nullopt;
  }

  // Returns the node that makes a result, through arguments and results of calls.
  Place resolve(Frame& start, Reference reference) {
    Frame* frame = &start;
    for (int step = 0; step < kMaxSteps; ++step) {
      if (const auto index = argument(*frame, reference.node)) {
        const proto::NodeDef& call = *frame->call;
        frame = frame->caller;
        if (*index >= call.input_size() || call.input(*index).starts_with('^')) {
          fail(*frame, call.name(),
               fmt::format("expected the argument '{}' at input {}", excerpt(reference.node),
                           *index));
        }
        reference = parse(*frame, call.name(), call.input(*index));
        continue;
      }
      const auto found = frame->nodes->find(reference.node);
      if (found == frame->nodes->end()) {
        fail(*frame, reference.node, "what reads it expects a node of this name; there is none");
      }
      Frame* const inner = enter(*frame, *found->second);
      if (inner == nullptr) {
        const auto first = first_result(found->second->op(), reference.result);
        if (!first) {
          fail(*frame, reference.node,
               fmt::format("what reads it expects a result '{}', which {} does not have",
                           excerpt(reference.result), excerpt(found->second->op())));
        }
        return {.frame = frame, .node = found->second, .output = *first + reference.number};
      }
      frame = inner;
      reference = parse(*frame, reference.node, returned(*frame, reference));
    }
    fail(start, reference.node, "functions pass on a value in an endless circle");
  }

  // What a call's result is called within its function.
  const std::string& returned(const Frame& frame, const Reference& reference) const {
    const auto& results = frame.function->signature().output_arg();
    int position = reference.number;
    // A call operator has one list of results, a function that is called by its name has its own.
    if (!reference.result.empty() && !is_call_operator(frame.call->op())) {
      const auto found = std::ranges::find(results, reference.result, &proto::OpDef::ArgDef::name);
      if (found == results.end()) {
        fail(*frame.caller, frame.call->name(),
             fmt::format("the function '{}' has no result '{}'",
                         excerpt(frame.function->signature().name()), excerpt(reference.result)));
      }
      position += static_cast<int>(found - results.begin());
    }
    if (position < results.size()) {
      const auto found = frame.function->ret().find(results[position].name());
      if (found != frame.function->ret().end()) {
        return found->second;
      }
    }
    fail(*frame.caller, frame.call->name(),
         fmt::format("the function '{}' returns nothing at {}",
                     excerpt(frame.function->signature().name()), position));
  }

  // The one node that makes a result; for an order after a call, all that make its results.
  std::vector<Place> places_of(Frame& frame, const Reference& reference) {
    const auto found = frame.nodes->find(reference.node);
    if (!reference.is_control || found == frame.nodes->end()) {
      return {resolve(frame, reference)};
    }
    Frame* const inner = enter(frame, *found->second);
    if (inner == nullptr) {
      return {{.frame = &frame, .node = found->second}};
    }
    std::vector<Place> places;
    places.reserve(static_cast<std::size_t>(inner->function->signature().output_arg_size()));
    for (int i = 0; i < inner->function->signature().output_arg_size(); ++i) {
      places.push_back(resolve(frame, {.node = reference.node, .number = i}));
    }
    return places;
  }

  // Adds a node after all that it depends on.
  void add(const Place& result) {
    struct Visit {
      Place place{};
      std::vector<Place> producers{};
      std::size_t next = 0;
    };
    std::vector<Visit> stack;
    const auto visit = [&](const Place& place) {
      if (added_.insert(name_of(place)).second) {
        stack.push_back({.place = place, .producers = producers_of(place)});
      }
    };
    visit(result);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.producers.size()) {
        visit(Place(top.producers[top.next++]));
        continue;
      }
      append(top.place);
      stack.pop_back();
    }
  }

  static std::string name_of(const Place& place) {
    return place.frame->prefix + place.node->name();
  }

  std::vector<Place> producers_of(const Place& place) {
    std::vector<Place> producers;
    for (const std::string& input : place.node->input()) {
      const auto found = places_of(*place.frame, parse(*place.frame, place.node->name(), input));
      producers.insert(producers.end(), found.begin(), found.end());
    }
    return producers;
  }

  void append(const Place& place) {
    if (flat_.node_size() == kMaxNodes) {
      fail(*place.frame, place.node->name(),
           fmt::format("more than {} nodes after functions are inlined", kMaxNodes),
           ErrorCode::kUnsupported);
    }
    proto::NodeDef& node = *flat_.add_node();
    node.set_name(name_of(place));
    node.set_op(place.node->op());
    for (const std::string& input : place.node->input()) {
      const Reference reference = parse(*place.frame, place.node->name(), input);
      for (const Place& producer : places_of(*place.frame, reference)) {
        const std::string name = name_of(producer);
        node.add_input(reference.is_control  ? "^" + name
                       : producer.output > 0 ? fmt::format("{}:{}", name, producer.output)
                                             : name);
      }
    }
    for (const auto& [name, value] : place.node->attr()) {
      (*node.mutable_attr())[name] = attribute(*place.frame, value);
    }
    const auto classes = node.mutable_attr()->find("_class");
    if (classes != node.mutable_attr()->end()) {
      for (std::string& label : *classes->second.mutable_list()->mutable_s()) {
        constexpr std::string_view kPrefix = "loc:@";
        if (label.starts_with(kPrefix)) {
          label.insert(kPrefix.size(), place.frame->prefix);
        }
      }
    }
  }

  // The value of an attribute, which a function may leave to its callers.
  static const proto::AttrValue& attribute(const Frame& start, const proto::AttrValue& value) {
    const proto::AttrValue* result = &value;
    for (const Frame* frame = &start;
         frame->function != nullptr && result->value_case() == proto::AttrValue::kPlaceholder;
         frame = frame->caller) {
      const auto* called = find_attribute(*frame->call, "f");
      const auto& given = is_call_operator(frame->call->op()) && called != nullptr
                              ? called->func().attr()
                              : frame->call->attr();
      const auto found = given.find(result->placeholder());
      if (found == given.end()) {
        break;
      }
      result = &found->second;
    }
    return *result;
  }

  const std::string& source_;
  std::unordered_map<std::string, const proto::FunctionDef*> functions_;
  std::unordered_map<const proto::FunctionDef*, NodesByName> nodes_;
  Frame root_;
  int num_frames_ = 0;
  std::unordered_set<std::string> added_;
  proto::GraphDef flat_;
};

// Adds the names of the tensors that `info` holds: one, or the parts of a composite one.
void add_tensors(const proto::TensorInfo& info, std::vector<std::string>& names) {
  if (info.has_coo_sparse()) {
    names.push_back(info.coo_sparse().values_tensor_name());
  } else if (info.has_composite_tensor()) {
    for (const proto::TensorInfo& part : info.composite_tensor().components()) {
      add_tensors(part, names);
    }
  } else if (!info.name().empty()) {
    names.push_back(info.name());
  }
}

// The part of a map's entries that lists always name in the same order.
template <class Map>
std::vector<std::string> sorted_keys(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) {
    keys.push_back(key);
  }
  std::ranges::sort(keys);
  return keys;
}

}  // namespace

proto::GraphDef inline_functions(const proto::GraphDef& graph, std::span<const std::string> results,
                                 const std::string& source) {
  return Inliner(graph, source).run(graph, results);
}

const proto::MetaGraphDef& serving_graph(const proto::SavedModel& model,
                                         const std::string& source) {
  if (model.meta_graphs().empty()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("{}: expected at least one graph in meta_graphs", source));
  }
  const auto serves = std::ranges::find_if(model.meta_graphs(), [](const auto& graph) {
    return std::ranges::count(graph.meta_info_def().tags(), "serve") > 0;
  });
  return serves != model.meta_graphs().end() ? *serves : model.meta_graphs(0);
}

SignatureGraph signature_graph(const proto::MetaGraphDef& model, const std::string& name,
                               const std::string& source) {
  const auto& signatures = model.signature_def();
  std::vector<std::string> names = sorted_keys(signatures);
  std::erase_if(names, [](const std::string& key) { return key.starts_with("__saved_model_"); });
  SignatureGraph result{.name = name};
  if (name.empty()) {
    if (names.empty()) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{}: the model has no signature that says what it runs; save it with "
                              "one: model.export(folder), or tf.saved_model.save(model, folder, "
                              "signatures=f.get_concrete_function(...))",
                              source));
    }
    result.name = signatures.contains("serving_default") ? "serving_default" : names.front();
    if (names.size() > 1 && result.name != "serving_default") {
      throw Error(ErrorCode::kUnknownName,
                  fmt::format("{}: the model has several signatures and no serving_default; name "
                              "one with signature=NAME{}",
                              source, suggest_names("", names)));
    }
  }
  const auto found = signatures.find(result.name);
  if (found == signatures.end()) {
    throw Error(ErrorCode::kUnknownName,
                fmt::format("{}: unknown signature '{}'{}", source, excerpt(result.name),
                            suggest_names(result.name, names)));
  }
  std::vector<std::string> outputs;
  for (const std::string& key : sorted_keys(found->second.outputs())) {
    add_tensors(found->second.outputs().at(key), outputs);
  }
  if (outputs.empty()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("{}: the signature '{}' has no outputs", source, excerpt(result.name)));
  }
  for (const auto& [key, info] : found->second.inputs()) {
    std::vector<std::string> tensors;
    add_tensors(info, tensors);
    if (tensors.size() == 1) {
      result.inputs[key] = tensors[0].substr(0, tensors[0].find(':'));
    }
  }
  result.graph = inline_functions(model.graph_def(), outputs, source);
  return result;
}

}  // namespace emplace::tensorflow
