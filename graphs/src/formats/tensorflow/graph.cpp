#include "graph.hpp"

#include "formats/text_message.hpp"
#include "formats/unsupported_models.hpp"
#include "functions.hpp"
#include "messages.hpp"
#include "model/assemble.hpp"
#include "operators.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace emplace::tensorflow {
namespace {

// All nodes together have up to so many results.
constexpr std::size_t kMaxResults = 2'000'000;

// The most names that the source of a graph lists.
constexpr std::size_t kMaxNames = 5;

class TensorFlowReader {
 public:
  TensorFlowReader(const proto::GraphDef& definition, const std::string& source,
                   const Options& options)
      : definition_(definition), source_(source), options_(options) {
    for (const proto::NodeDef& node : definition.node()) {
      add_op(node);
    }
    for (int i = 0; i < definition.node_size(); ++i) {
      add_edges(definition.node(i), i);
    }
    check_shapes_given();
    if (!options.step_stats.empty()) {
      add_measurements(read_run_metadata(read_text_file(options.step_stats), options.step_stats));
    }
    infer_shapes();
    find_weights();
    colocate();
    for (OpId op = 0; op < num_ops(graph_); ++op) {
      count(op);
    }
    for (OpId op = 0; op < num_ops(graph_); ++op) {
      leave_out_what_is_known(op);
    }
  }

  OpGraph finish() && {
    graph_[boost::graph_bundle].source = "TensorFlow GraphDef" + unknown_sizes() + unknown_types();
    return graph_;
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& message,
                         ErrorCode code = ErrorCode::kFormat) const {
    throw Error(code, fmt::format("{}: node '{}': {}", source_, excerpt(name), message));
  }

  [[noreturn]] void fail_at(const proto::NodeDef& node, const std::string& message,
                            ErrorCode code = ErrorCode::kFormat) const {
    throw Error(code, fmt::format("{}: node '{}' ({}): {}", source_, excerpt(node.name(), 200),
                                  excerpt(node.op()), message));
  }

  void add_op(const proto::NodeDef& node) {
    if (is_control_flow(node.op())) {
      fail_at(node,
              "loops and branches that run other graphs are not supported; export the model with "
              "loops unrolled (unroll=True of a Keras layer) and branches decided",
              ErrorCode::kUnsupported);
    }
    if (is_one_of(node.op(), {"PartitionedCall", "StatefulPartitionedCall"})) {
      fail_at(node, "it calls a function that is missing in the file");
    }
    if (!op_of_.emplace(node.name(), num_ops(graph_)).second) {
      fail(node.name(), "the name appears twice");
    }
    const std::size_t slash = node.name().rfind('/');
    Op op{.name = node.name(), .kind = kind_of(node.op())};
    op.scope = slash == std::string::npos ? "" : node.name().substr(0, slash);
    op.phase = op.kind == "optimizer_update"                                  ? Phase::kUpdate
               : ("/" + node.name()).find("/gradients/") != std::string::npos ? Phase::kBackward
                                                                              : Phase::kForward;
    boost::add_vertex(op, graph_);
  }

  // An input is "producer", "producer:1", or "^producer" for an order.
  void add_edges(const proto::NodeDef& node, OpId consumer) {
    for (const std::string& text : node.input()) {
      Input input;
      try {
        input = parse_input(text);
      } catch (const Error& error) {
        fail(node.name(), error.what());
      }
      const auto producer = op_of_.find(input.node);
      if (producer == op_of_.end()) {
        fail(node.name(), fmt::format("its input '{}' is not a node of the file", excerpt(text)));
      }
      if (input.output != Input::kControl) {
        add_results(graph_[index_of(producer->second)], input.output);
      }
      add_dependency(graph_, producer->second, input.output, consumer);
    }
  }

  // Gives an op so many results that `last` is one of them.
  void add_results(Op& op, std::int32_t last) {
    const std::size_t count = std::max(op.outputs.size(), index_of(last) + 1);
    num_results_ += count - op.outputs.size();
    if (num_results_ > kMaxResults) {
      fail(op.name, fmt::format("with its result {}, all nodes have more than {} results", last,
                                kMaxResults));
    }
    op.outputs.resize(count);
  }

  const proto::NodeDef& node_of(OpId op) const { return definition_.node(op); }

  // Calls `use` with the producer and the output of each input that is data, in their order.
  template <class Use>
  void for_each_input(OpId op, Use use) const {
    for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(op), graph_))) {
      if (const auto output = graph_[edge].output; output != Dependency::kControl) {
        use(static_cast<OpId>(boost::source(edge, graph_)), index_of(output));
      }
    }
  }

  // What is known of each input that is data.
  std::vector<KnownTensor> inputs_of(OpId op) const {
    std::vector<KnownTensor> inputs;
    for_each_input(op, [&](OpId producer, std::size_t output) {
      const auto& values = values_[index_of(producer)];
      inputs.push_back(output < values.size() ? values[output] : KnownTensor());
    });
    return inputs;
  }

  // --- Shapes

  void check_shapes_given() const {
    for (const auto& [name, shape] : options_.shapes) {
      if (!op_of_.contains(name)) {
        std::vector<std::string> names;
        for (const proto::NodeDef& node : definition_.node()) {
          if (node.op() == "Placeholder") {
            names.push_back(node.name());
          }
        }
        throw Error(ErrorCode::kUnknownName,
                    fmt::format("{}: shapes names '{}', which is not a node of the file{}", source_,
                                excerpt(name), suggest_names(name, names)));
      }
    }
  }

  // Only the first dimension may be open; it is the batch.
  std::optional<Shape> complete(const proto::NodeDef& node,
                                const proto::TensorShapeProto& declared) const {
    Shape shape;
    bool is_open = declared.unknown_rank();
    for (const auto& dimension : declared.dim()) {
      if (dimension.size() < -1) {
        fail(node.name(),
             fmt::format("expected a dimension of at least -1, found {}", dimension.size()));
      }
      is_open = is_open || (dimension.size() == -1 && !shape.empty());
      shape.push_back(dimension.size() == -1 ? options_.unknown_dimension : dimension.size());
    }
    return is_open ? std::nullopt : std::optional(shape);
  }

  static bool is_complete(const proto::TensorShapeProto& shape) {
    return !shape.unknown_rank() &&
           std::ranges::none_of(shape.dim(), [](const auto& d) { return d.size() < 0; });
  }

  // Up to this version of graphs a placeholder without dimensions is no scalar: its shape is open.
  bool is_old() const {
    return definition_.has_versions() && definition_.versions().producer() <= 21;
  }

  // The results of an op that brings its own shapes, or of any other by its inputs.
  std::vector<KnownTensor> values_of(OpId op) const {
    const proto::NodeDef& node = node_of(op);
    if (node.op() == "Const") {
      const auto* value = find_attribute(node, "value");
      return value == nullptr
                 ? std::vector<KnownTensor>()
                 : std::vector{KnownTensor{.shape = complete(node, value->tensor().tensor_shape()),
                                           .integers = read_integers(value->tensor())}};
    }
    // Where there is a rule, the work that is counted relies on what it checks.
    const auto* shapes =
        has_shape_rule(node.op()) ? nullptr : find_attribute(node, "output_shapes");
    if (shapes != nullptr) {
      std::vector<KnownTensor> values;
      for (const auto& shape : shapes->list().shape()) {
        values.push_back({.shape = complete(node, shape)});
      }
      return values;
    }
    if (node.op() == "Placeholder" || is_variable(node.op())) {
      const auto* shape = find_attribute(node, "shape");
      const bool is_given = shape != nullptr && !(node.op() == "Placeholder" && is_old() &&
                                                  shape->shape().dim().empty());
      return {{.shape = is_given ? complete(node, shape->shape()) : std::nullopt}};
    }
    try {
      return infer(node, inputs_of(op));
    } catch (const Error& error) {
      fail_at(node, error.what(),
              error.code() == ErrorCode::kUnsupported ? error.code() : ErrorCode::kFormat);
    }
  }

  void infer_shapes() {
    values_.resize(size());
    std::vector<OpId> order;
    try {
      order = topological_order(graph_);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", source_, error.what()));
    }
    for (const OpId op : order) {
      values_[index_of(op)] = values_of(op);
      settle(op);
    }
  }

  // Chooses among what the user, the run, the file and our rules say of each result.
  void settle(OpId op) {
    const proto::NodeDef& node = node_of(op);
    std::vector<KnownTensor>& values = values_[index_of(op)];
    std::vector<Output>& outputs = graph_[index_of(op)].outputs;
    const auto* attribute =
        is_variable(node.op()) ? nullptr : find_attribute(node, "_output_shapes");
    const auto num_declared =
        attribute != nullptr ? index_of(attribute->list().shape_size()) : std::size_t{0};
    // What nothing reads is no result of an op that has others.
    const std::size_t count =
        std::max({outputs.size(), num_declared, std::min<std::size_t>(values.size(), 1),
                  is_heavy(node.op()) ? std::size_t{1} : 0});
    values.resize(count);
    outputs.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      KnownTensor& value = values[i];
      const auto recorded = recorded_.find({op, i});
      const auto given = options_.shapes.find(node.name());
      if (given != options_.shapes.end() && i == 0) {
        value.shape = given->second;
      } else if (recorded != recorded_.end()) {
        value.shape = recorded->second.shape;
      } else if (i < num_declared) {
        const auto& declared = attribute->list().shape(static_cast<int>(i));
        if (!value.shape || (is_complete(declared) && options_.shapes.empty())) {
          value.shape = complete(node, declared);
        }
      }
      if (value.integers &&
          (!value.shape || product(*value.shape) != std::ssize(*value.integers))) {
        value.integers.reset();  // of another shape than the file, a run or the user says
      }
      outputs[i] = recorded != recorded_.end() ? recorded->second
                                               : make(node, value.shape, result_type(node, i));
    }
  }

  // Of a tensor whose shape is open only the type is known.
  Output make(const proto::NodeDef& node, const std::optional<Shape>& shape, proto::DataType type) {
    if (!proto::DataType_IsValid(type % 100)) {
      unknown_types_.insert(type);
    }
    if (!shape) {
      return {.type = data_type(type)};
    }
    try {
      Output output = make_output(*shape, data_type(type));
      // No type of ours has the 16 bytes of two doubles.
      output.bytes = product({output.bytes, type % 100 == proto::DT_COMPLEX128 ? 2 : 1});
      return output;
    } catch (const Error&) {
      fail(node.name(), "the size of a result does not fit 64 bits");
    }
  }

  bool is_known(OpId op, std::size_t output) const {
    const auto& values = values_[index_of(op)];
    return output < values.size() && values[output].shape.has_value();
  }

  // The first op from which on shapes are unknown.
  OpId cause_of(OpId op) const {
    for (;;) {
      std::optional<OpId> unknown;
      for_each_input(op, [&](OpId producer, std::size_t output) {
        if (!unknown && !is_known(producer, output)) {
          unknown = producer;
        }
      });
      if (!unknown) {
        return op;
      }
      op = *unknown;
    }
  }

  [[noreturn]] void fail_for_lack_of_shapes(OpId op) const {
    const OpId cause = cause_of(op);
    const proto::NodeDef& node = node_of(cause);
    const std::string reason =
        node.op() == "Placeholder"    ? "the file leaves more of it open than the batch"
        : num_data_inputs(cause) == 0 ? "the file does not give it"
        : !has_shape_rule(node.op())  ? "emplace has no shape rule for this operator"
                                      : "it depends on data";
    fail_at(node_of(op),
            fmt::format("its work cannot be counted, because the shape of '{}' ({}) is not known: "
                        "{}. Give it: shapes={}:1x224x224x3, with its own sizes",
                        excerpt(node.name(), 200), excerpt(node.op()), reason,
                        excerpt(node.name(), 200)),
            ErrorCode::kUnsupported);
  }

  std::size_t num_data_inputs(OpId op) const {
    std::size_t count = 0;
    for_each_input(op, [&](OpId, std::size_t) { ++count; });
    return count;
  }

  // Names the ops that others read results of unknown size from.
  std::string unknown_sizes() const {
    std::set<OpId> unknown;
    for (OpId op = 0; op < num_ops(graph_); ++op) {
      for_each_input(op, [&](OpId producer, std::size_t output) {
        if (!is_known(producer, output)) {
          unknown.insert(producer);
        }
      });
    }
    if (unknown.empty()) {
      return "";
    }
    std::string text = fmt::format("; results of {} have an unknown size, which counts as 0: ",
                                   counted(std::ssize(unknown), "op"));
    std::size_t listed = 0;
    for (const OpId op : unknown) {
      if (listed == kMaxNames) {
        return text + ", ...";
      }
      text += fmt::format("{}{} ({})", listed++ == 0 ? "" : ", ", excerpt(node_of(op).name(), 100),
                          excerpt(node_of(op).op()));
    }
    return text;
  }

  // Names the types that came after those that we know.
  std::string unknown_types() const {
    return unknown_types_.empty() ? ""
                                  : fmt::format("; elements of unknown types count as 8 bytes: {}",
                                                fmt::join(unknown_types_, ", "));
  }

  // --- Weights

  // Finds what holds numbers between steps, what of it is trained, and who reads it first. In a
  // graph without variables, which is frozen, constants of real numbers are the weights.
  void find_weights() {
    const bool is_frozen =
        std::ranges::none_of(definition_.node(), [](const auto& n) { return is_variable(n.op()); });
    stored_by_.assign(size(), std::nullopt);
    first_reader_.assign(size(), std::nullopt);
    std::vector<bool> is_read(size(), false);
    std::vector<bool> is_statistic(size(), false);
    for (const OpId op : topological_order(graph_)) {
      const std::string& kind = node_of(op).op();
      if (kind == "Const" || is_variable(kind)) {
        stored_by_[index_of(op)] = op;
        continue;
      }
      std::size_t input = 0;
      for_each_input(op, [&](OpId producer, std::size_t) {
        const auto stored = stored_by_[index_of(producer)];
        const std::size_t place = input++;
        if (!stored || kind.starts_with("Assign")) {
          return;
        }
        if (passes_on(kind)) {
          stored_by_[index_of(op)] = place == 0 ? stored : stored_by_[index_of(op)];
          return;
        }
        auto& reader = first_reader_[index_of(*stored)];
        reader = reader ? reader : op;
        (reads_statistics(kind, place) ? is_statistic : is_read)[index_of(*stored)] = true;
      });
    }
    for (OpId op = 0; op < num_ops(graph_); ++op) {
      if (graph_[index_of(op)].outputs.empty() || stored_by_[index_of(op)] != op) {
        continue;
      }
      Op& holder = graph_[index_of(op)];
      const bool is_kept = (is_statistic[index_of(op)] && !is_read[index_of(op)]) ||
                           names_statistics(holder.name) || !is_real(holder.outputs[0].type);
      const bool is_weight = is_frozen && is_read[index_of(op)] && !holder.outputs[0].shape.empty();
      holder.kind =
          !is_kept && (is_variable(node_of(op).op()) || is_weight) ? "variable" : "constant";
    }
  }

  // "loc:@name" in the list `_class` says that the op shares the device of `name`.
  void colocate() {
    std::vector<std::size_t> leader(size());
    std::iota(leader.begin(), leader.end(), std::size_t{0});
    const auto find = [&](std::size_t op) {
      while (leader[op] != op) {
        op = leader[op] = leader[leader[op]];
      }
      return op;
    };
    std::vector<bool> is_bound(size(), false);
    const auto bind = [&](std::size_t a, std::size_t b) {
      const auto [low, high] = std::minmax({find(a), find(b)});
      leader[high] = low;
      is_bound[a] = is_bound[b] = true;
    };
    bind_weights(bind);
    for (std::size_t i = 0; i < size(); ++i) {
      const auto* classes = find_attribute(definition_.node(static_cast<int>(i)), "_class");
      if (classes == nullptr) {
        continue;
      }
      for (const std::string& label : classes->list().s()) {
        constexpr std::string_view kPrefix = "loc:@";
        const bool names_op = label.starts_with(kPrefix);
        const auto other = op_of_.find(names_op ? label.substr(kPrefix.size()) : "");
        if (other != op_of_.end()) {
          bind(i, index_of(other->second));
        }
      }
    }
    for (std::size_t i = 0; i < size(); ++i) {
      if (is_bound[i]) {
        graph_[i].colocation = graph_[find(i)].name;
      }
    }
  }

  // Weights and the ops that hand them on share the device of their first reader. Variables of
  // TensorFlow 1 say themselves what they share a device with.
  template <class Bind>
  void bind_weights(Bind bind) const {
    for (std::size_t i = 0; i < size(); ++i) {
      const auto stored = stored_by_[i];
      if (!stored) {
        continue;
      }
      const std::string& kind = node_of(*stored).op();
      const auto reader = first_reader_[index_of(*stored)];
      const bool is_large = !graph_[index_of(*stored)].outputs.empty() &&
                            !graph_[index_of(*stored)].outputs[0].shape.empty();
      if (reader && is_large && (kind == "VarHandleOp" || kind == "Const") && !values_[i].empty() &&
          !values_[i][0].integers) {
        bind(i, index_of(*reader));
      }
    }
  }

  std::size_t size() const { return boost::num_vertices(graph_); }

  // Returns the op that a record of the run is of: "name", or "name:Operator" for a kernel.
  std::optional<OpId> op_called(const std::string& name) const {
    const auto found = op_of_.find(name.substr(0, name.find(':')));
    return found != op_of_.end() ? std::optional(found->second) : std::nullopt;
  }

  // What ran on a device's streams is what its kernels took; a device's own records tell when they
  // were launched. Runs of one op add up.
  void add_measurements(const proto::RunMetadata& run) {
    std::map<std::tuple<OpId, bool, bool>, double> times;  // by op, on a CPU, on a stream
    for (const auto& device : run.step_stats().dev_stats()) {
      const bool is_cpu = device.device().find("CPU") != std::string::npos ||
                          device.device().find("cpu:") != std::string::npos;
      const bool is_stream = device.device().find("/stream:") != std::string::npos;
      if (is_stream && !device.device().ends_with("stream:all")) {
        continue;  // the same again, stream by stream
      }
      for (const auto& record : device.node_stats()) {
        if (const auto op = op_called(record.node_name())) {
          const double us = static_cast<double>(record.op_end_rel_micros()) -
                            static_cast<double>(record.op_start_rel_micros());
          if (us < 0) {
            fail(record.node_name(), "its run ends before it begins");
          }
          times[{*op, is_cpu, is_stream}] += us;
          add_sizes(*op, record);
        }
      }
    }
    if (times.empty()) {
      for (const auto& node : run.cost_graph().node()) {
        if (const auto op = op_called(node.name()); op && node.compute_cost() > 0) {
          times[{*op, false, true}] += static_cast<double>(node.compute_cost());
        }
      }
    }
    for (const auto& [key, us] : times) {
      const auto& [op, is_cpu, is_stream] = key;
      const bool is_kernel_known = !is_cpu && !is_stream && times.contains({op, false, true});
      if (!is_kernel_known) {
        graph_[index_of(op)].measured.push_back(
            {.device_class = is_cpu ? "cpu" : options_.device_class, .cost_us = us});
      }
    }
  }

  void add_sizes(OpId id, const proto::NodeExecStats& record) {
    Op& op = graph_[index_of(id)];
    const proto::NodeDef& node = node_of(id);
    for (const auto& result : record.output()) {
      const auto& tensor = result.tensor_description();
      const std::int64_t bytes = tensor.allocation_description().requested_bytes();
      if (result.slot() < 0 || result.slot() > kMaxOutput || bytes < 0) {
        fail(op.name, "expected the slot and the bytes of a result to be at least 0");
      }
      add_results(op, result.slot());
      Output output = make(node, complete(node, tensor.shape()), tensor.dtype());
      output.bytes = bytes > 0 ? bytes : output.bytes;
      recorded_[{id, index_of(result.slot())}] = std::move(output);
    }
    if (record.memory_stats().temp_memory_size() > 0) {
      op.workspace_bytes = std::max(op.workspace_bytes, record.memory_stats().temp_memory_size());
    }
  }

  // Fills in what follows from the sizes of tensors.
  void count(OpId id) {
    Op& op = graph_[index_of(id)];
    const proto::NodeDef& node = node_of(id);
    const std::vector<KnownTensor> inputs = inputs_of(id);
    std::vector<Output> tensors;
    bool reads_stored = false;
    for_each_input(id, [&](OpId producer, std::size_t output) {
      reads_stored = reads_stored || (tensors.empty() && stored_by_[index_of(producer)]);
      tensors.push_back(graph_[index_of(producer)].outputs[output]);
    });
    const bool is_result_known = op.outputs.empty() || is_known(id, 0);
    const bool has_all = is_result_known && std::ranges::all_of(inputs, [](const auto& input) {
                           return input.shape.has_value();
                         });
    try {
      if (is_heavy(node.op()) && op.measured.empty() && !has_all) {
        fail_for_lack_of_shapes(id);
      }
      if (stored_by_[index_of(id)] == id) {
        count_stored(op);
      } else if (has_all || (is_result_known && !is_heavy(node.op()))) {
        count_work(op, {.node = node,
                        .inputs = inputs,
                        .tensors = tensors,
                        .results = op.outputs,
                        .reads_stored = reads_stored});
      }
      if (launches(op.kind)) {
        for (const Output& input : tensors) {
          op.bytes_read = sum({op.bytes_read, input.bytes});
        }
        for (const Output& output : op.outputs) {
          op.bytes_written = sum({op.bytes_written, output.bytes});
        }
      }
    } catch (const Error& error) {
      if (std::string_view(error.what()).starts_with(source_)) {
        throw;
      }
      fail_at(node, error.what(),
              error.code() == ErrorCode::kUnsupported ? error.code() : ErrorCode::kFormat);
    }
  }

  static void count_stored(Op& op) {
    for (Output& output : op.outputs) {
      output.persistent = true;
      op.shape = output.shape;
      op.persistent_bytes = sum({op.persistent_bytes, output.bytes});
      op.parameters = sum({op.parameters, op.kind == "variable" ? product(output.shape) : 0});
    }
  }

  // Integers that are known before the step are no work, and what they are known from need not
  // reach them.
  void leave_out_what_is_known(OpId id) {
    const auto& values = values_[index_of(id)];
    if (node_of(id).op() == "Const" || values.empty() || !values[0].integers) {
      return;
    }
    Op& op = graph_[index_of(id)];
    op.kind = "no_op";
    op.attributes = {};
    op.flops = op.bytes_read = op.bytes_written = 0;
    for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(id), graph_))) {
      graph_[edge].output = Dependency::kControl;
    }
  }

  const proto::GraphDef& definition_;
  const std::string& source_;
  const Options& options_;
  OpGraph graph_;
  std::size_t num_results_ = 0;  // that an input or a run names
  std::set<int> unknown_types_;
  std::unordered_map<std::string, OpId> op_of_;              // by name
  std::map<std::pair<OpId, std::size_t>, Output> recorded_;  // by op and result, of a run
  std::vector<std::vector<KnownTensor>> values_;             // by op and result
  std::vector<std::optional<OpId>> stored_by_;     // by op: whose stored numbers it hands on
  std::vector<std::optional<OpId>> first_reader_;  // by op that stores numbers
};

// Any message in the text format reads as a graph without nodes, or with empty ones, because fields
// that are not known are skipped.
void check_nodes(const proto::GraphDef& definition, std::string_view bytes,
                 const std::string& source) {
  const auto& nodes = definition.node();
  if (!nodes.empty() && std::ranges::all_of(nodes, [](const auto& node) {
        return !node.name().empty() && !node.op().empty();
      })) {
    return;
  }
  std::vector<std::string_view> fields = text_message_fields(bytes);
  fields.resize(std::min(fields.size(), kMaxNames));
  throw Error(
      ErrorCode::kFormat,
      fmt::format("{}: expected {}{}; a GraphDef, a MetaGraphDef and a SavedModel are read", source,
                  nodes.empty() ? "at least one node" : "each node to have a name and an op",
                  fields.empty()
                      ? ""
                      : fmt::format(", found a text whose fields are {}",
                                    excerpt(fmt::format("{}", fmt::join(fields, ", ")), 200))));
}

OpGraph read_signature(const proto::MetaGraphDef& model, const std::string& source,
                       Options options) {
  SignatureGraph signature = signature_graph(model, options.signature, source);
  // Shapes may be given by the names of the signature, too.
  for (const auto& [key, node] : signature.inputs) {
    if (const auto given = options.shapes.find(key); given != options.shapes.end() && key != node) {
      options.shapes.insert_or_assign(node, given->second);
      options.shapes.erase(key);
    }
  }
  OpGraph graph = TensorFlowReader(signature.graph, source, options).finish();
  std::string& text = graph[boost::graph_bundle].source;
  text = fmt::format("TensorFlow SavedModel, signature {}{}", signature.name,
                     text.substr(std::string_view("TensorFlow GraphDef").size()));
  return graph;
}

}  // namespace

OpGraph read_graph(std::string_view bytes, const std::string& source, const Options& options) {
  refuse_unsupported_model(bytes, source);
  if (is_saved_model(bytes)) {
    const auto model = read_saved_model(bytes, source);
    return read_signature(serving_graph(model, source), source, options);
  }
  if (!options.signature.empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{}: signature={} is for a SavedModel; this is a GraphDef", source,
                            excerpt(options.signature)));
  }
  auto definition = source.ends_with(".meta") || is_text_meta_graph(bytes)
                        ? std::move(*read_meta_graph(bytes, source).mutable_graph_def())
                        : read_graph_def(bytes, source);
  check_nodes(definition, bytes, source);
  if (definition.library().function_size() > 0) {
    definition = inline_functions(definition, {}, source);
  }
  return TensorFlowReader(definition, source, options).finish();
}

}  // namespace emplace::tensorflow
