#include "../assemble.hpp"
#include "../tensorflow.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/id_vector.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/graphs/text_file.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <graphs/src/protobuf/tensorflow.pb.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace emplace::tensorflow {
namespace {

namespace proto = emplace::tensorflow_proto;

using Shape = std::vector<std::int64_t>;

// An operator with more results than this does not occur; files with larger numbers are broken.
constexpr std::int32_t kMaxOutput = 65535;

// --- Messages, binary or text
// ----------------------------------------------------------------------

// Keeps the first mistake of a text.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (message_.empty()) {
      message_ = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
    }
  }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

// Binary messages hold the numbers of fields, which are control characters.
bool is_text(std::string_view bytes) {
  return std::ranges::none_of(bytes, [](unsigned char byte) {
    return byte < ' ' && byte != '\n' && byte != '\r' && byte != '\t';
  });
}

template <class Message>
Message read_message(std::string_view bytes, const std::string& source) {
  const google::protobuf::LogSilencer silencer;  // what it would print stands in our errors
  Message message;
  FirstError error;
  bool is_good = bytes.size() <= std::numeric_limits<int>::max();
  if (is_good && is_text(bytes)) {
    google::protobuf::TextFormat::Parser parser;
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(64);
    parser.RecordErrorsTo(&error);
    is_good = parser.ParseFromString(std::string(bytes), &message);
  } else if (is_good) {
    is_good = message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  }
  if (!is_good) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("{}: expected a message of type {}{}{}", source, Message::descriptor()->name(),
                    error.message().empty() ? "" : "; ", excerpt(error.message(), 200)));
  }
  return message;
}

// Texts, resources and variants count as numbers of 8 bytes: handles.
DataType data_type(int type) {
  switch (type % 100) {
    case proto::DT_FLOAT:
      return DataType::kFloat32;
    case proto::DT_HALF:
      return DataType::kFloat16;
    case proto::DT_BFLOAT16:
      return DataType::kBfloat16;
    case proto::DT_INT32:
    case proto::DT_UINT32:
      return DataType::kInt32;
    case proto::DT_INT16:
    case proto::DT_UINT16:
      return DataType::kInt16;
    case proto::DT_INT8:
    case proto::DT_UINT8:
      return DataType::kInt8;
    case proto::DT_BOOL:
      return DataType::kBool;
    case proto::DT_DOUBLE:
    case proto::DT_COMPLEX64:
      return DataType::kFloat64;
    default:
      return DataType::kInt64;
  }
}

const proto::AttrValue* find_attribute(const proto::NodeDef& node, const std::string& name) {
  const auto found = node.attr().find(name);
  return found != node.attr().end() ? &found->second : nullptr;
}

// --- The graph
// -------------------------------------------------------------------------------------

class Reader {
 public:
  Reader(const proto::GraphDef& definition, const std::string& source, const Options& options)
      : definition_(definition), source_(source), options_(options) {
    for (const proto::NodeDef& node : definition.node()) {
      add_op(node);
    }
    if (definition.node().empty()) {
      throw Error(ErrorCode::kFormat, fmt::format("{}: expected at least one node", source));
    }
    for (int i = 0; i < definition.node_size(); ++i) {
      add_edges(definition.node(i), i);
    }
    colocate();
    if (!options.step_stats.empty()) {
      add_measurements(
          read_message<proto::RunMetadata>(read_text_file(options.step_stats), options.step_stats));
    }
    for (OpId op = 0; op < num_ops(graph_); ++op) {
      count(op);
    }
  }

  OpGraph finish() && {
    graph_[boost::graph_bundle].source = "TensorFlow GraphDef";
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& message,
                         ErrorCode code = ErrorCode::kFormat) const {
    throw Error(code, fmt::format("{}: node '{}': {}", source_, excerpt(name), message));
  }

  void add_op(const proto::NodeDef& node) {
    if (node.op() == "NextIteration") {
      fail(node.name(), "loops are not supported", ErrorCode::kUnsupported);
    }
    if (!op_of_.emplace(node.name(), num_ops(graph_)).second) {
      fail(node.name(), "the name comes twice");
    }
    const std::size_t slash = node.name().rfind('/');
    Op op{.name = node.name(), .kind = kind_of(node.op())};
    op.scope = slash == std::string::npos ? "" : node.name().substr(0, slash);
    op.phase = op.kind == "optimizer_update"                                  ? Phase::kUpdate
               : ("/" + node.name()).find("/gradients/") != std::string::npos ? Phase::kBackward
                                                                              : Phase::kForward;
    const DataType type = type_of(node);
    if (const auto* shapes = find_attribute(node, "_output_shapes")) {
      for (const auto& shape : shapes->list().shape()) {
        op.outputs.push_back(make(node.name(), shape, type));
      }
    } else if (const auto* value = find_attribute(node, "value"); value && value->has_tensor()) {
      op.outputs = {make(node.name(), value->tensor().tensor_shape(), type)};
    } else if (const auto* shape = find_attribute(node, "shape"); shape && shape->has_shape()) {
      op.outputs = {make(node.name(), shape->shape(), type)};
    }
    boost::add_vertex(std::move(op), graph_);
  }

  static DataType type_of(const proto::NodeDef& node) {
    for (const char* name : {"dtype", "DstT", "out_type", "T"}) {
      if (const auto* type = find_attribute(node, name)) {
        return data_type(type->type());
      }
    }
    return DataType::kFloat32;
  }

  // Of a tensor whose rank is open nothing is known.
  Output make(const std::string& name, const proto::TensorShapeProto& shape, DataType type) const {
    if (shape.unknown_rank()) {
      return {.type = type};
    }
    Shape extents;
    for (const auto& dimension : shape.dim()) {
      if (dimension.size() < -1) {
        fail(name, fmt::format("expected a dimension of at least -1, found {}", dimension.size()));
      }
      extents.push_back(dimension.size() == -1 ? options_.unknown_dimension : dimension.size());
    }
    try {
      return make_output(std::move(extents), type);
    } catch (const Error&) {
      fail(name, "the size of a result does not fit 64 bits");
    }
  }

  // An input is "producer", "producer:1", or "^producer" for an order.
  void add_edges(const proto::NodeDef& node, OpId consumer) {
    for (const std::string& input : node.input()) {
      const bool is_control = input.starts_with('^');
      std::string name = input.substr(is_control ? 1 : 0);
      std::int32_t output = is_control ? Dependency::kControl : 0;
      if (const std::size_t colon = name.rfind(':'); !is_control && colon != std::string::npos) {
        const char* const end = name.data() + name.size();
        const auto [stop, error] = std::from_chars(name.data() + colon + 1, end, output);
        if (error != std::errc() || stop != end || output < 0 || output > kMaxOutput) {
          fail(node.name(),
               fmt::format("expected an input 'name:number', found '{}'", excerpt(input)));
        }
        name.resize(colon);
      }
      const auto producer = op_of_.find(name);
      if (producer == op_of_.end()) {
        fail(node.name(), fmt::format("its input '{}' is no node of the file", excerpt(input)));
      }
      auto& outputs = graph_[index_of(producer->second)].outputs;
      if (std::cmp_greater_equal(output, outputs.size())) {
        outputs.resize(index_of(output) + 1);
      }
      add_dependency(graph_, producer->second, output, consumer);
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
          const auto [low, high] = std::minmax({find(i), find(index_of(other->second))});
          leader[high] = low;
          is_bound[i] = is_bound[index_of(other->second)] = true;
        }
      }
    }
    for (std::size_t i = 0; i < size(); ++i) {
      if (is_bound[i]) {
        graph_[i].colocation = graph_[find(i)].name;
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
    for (const auto& result : record.output()) {
      const auto& tensor = result.tensor_description();
      const std::int64_t bytes = tensor.allocation_description().requested_bytes();
      if (result.slot() < 0 || result.slot() > kMaxOutput || bytes < 0) {
        fail(op.name, "expected the slot and the bytes of a result to be at least 0");
      }
      if (std::cmp_greater_equal(result.slot(), op.outputs.size())) {
        op.outputs.resize(index_of(result.slot()) + 1);
      }
      Output& output = op.outputs[index_of(result.slot())];
      output = make(op.name, tensor.shape(), data_type(tensor.dtype()));
      output.bytes = bytes > 0 ? bytes : output.bytes;
    }
    if (record.memory_stats().temp_memory_size() > 0) {
      op.workspace_bytes = std::max(op.workspace_bytes, record.memory_stats().temp_memory_size());
    }
  }

  // Fills in what follows from the sizes of tensors.
  void count(OpId id) {
    Op& op = graph_[index_of(id)];
    try {
      if (op.kind == "variable" || op.kind == "constant") {
        for (Output& output : op.outputs) {
          output.persistent = true;
          op.persistent_bytes = sum({op.persistent_bytes, output.bytes});
          const bool is_trained = op.kind == "variable" && output.type != DataType::kInt64 &&
                                  output.type != DataType::kInt32;
          op.parameters = sum({op.parameters, is_trained ? product(output.shape) : 0});
        }
      }
      if (!launches(op.kind)) {
        return;
      }
      std::vector<Output> inputs;
      for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(id), graph_))) {
        if (const auto output = graph_[edge].output; output != Dependency::kControl) {
          inputs.push_back(graph_[boost::source(edge, graph_)].outputs[index_of(output)]);
          op.bytes_read = sum({op.bytes_read, inputs.back().bytes});
        }
      }
      for (const Output& output : op.outputs) {
        op.bytes_written = sum({op.bytes_written, output.bytes});
      }
      count_flops(op, definition_.node(id), inputs);
    } catch (const Error& error) {
      fail(op.name, error.what());
    }
  }

  static void count_flops(Op& op, const proto::NodeDef& node, const std::vector<Output>& inputs) {
    if (op.outputs.empty() || inputs.empty()) {
      return;
    }
    const Shape& result = op.outputs[0].shape;
    if (op.kind == "matmul" && inputs[0].shape.size() == 2 && result.size() == 2) {
      const auto* transposed = find_attribute(node, "transpose_a");
      op.shape = {result[0], result[1], inputs[0].shape[transposed && transposed->b() ? 0 : 1]};
      op.flops = product({2, product(op.shape)});
    } else if (op.kind == "conv2d" && inputs.size() == 2 && inputs[1].shape.size() == 4) {
      // Filters are [R, S, C, K]; each number of the result takes R S C multiply-adds.
      op.flops = product({2, product(result), product(std::span(inputs[1].shape).first(3))});
    } else if (op_class_of(op.kind) == OpClass::kElementwise) {
      op.shape = {product(result)};
      op.flops = op.shape[0];
    }
  }

  const proto::GraphDef& definition_;
  const std::string& source_;
  const Options& options_;
  OpGraph graph_;
  std::unordered_map<std::string, OpId> op_of_;  // by name
};

}  // namespace

OpGraph read_graph(std::string_view bytes, const std::string& source, const Options& options) {
  const auto definition = read_message<proto::GraphDef>(bytes, source);
  return Reader(definition, source, options).finish();
}

}  // namespace emplace::tensorflow
