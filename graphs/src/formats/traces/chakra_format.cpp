// Chakra's execution traces, the input of ASTRA-sim (mlcommons/chakra): length-prefixed messages of
// protobuf, or the JSON of its feeder. One file is what one device did.
//
// A node's duration is a cost measured on a device class: of "cpu" if it is a CPU op. What it reads
// of another node is known if its inputs name tensors that the other puts out; else a dependency
// only orders. Real traces name nodes that they lack, and some wait for themselves: such
// dependencies are dropped, and the graph's source says how many. So are control dependencies that
// close a cycle, with a warning (feedback.hpp). A graph that we write keeps each
// op whole in the attribute `emplace_op`; what is lost is its name and in which order the consumers
// of a tensor stand.

#include "chakra.hpp"
#include "feedback.hpp"
#include "formats/torch/aten.hpp"
#include "model/element_type.hpp"
#include "model/op_json.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace emplace {

#ifndef EMPLACE_WITH_PROTOBUF
namespace chakra {
namespace {
constexpr std::string_view kMissing =
    "this build cannot read or write Chakra's messages; install libprotobuf-dev and "
    "protobuf-compiler "
    "and configure it with EMPLACE_WITH_PROTOBUF=ON";
}

Trace read_messages(std::string_view, const std::string& source) {
  throw Error(ErrorCode::kUnsupported, fmt::format("{}: {}", source, kMissing));
}

std::string write_messages(const Trace&) {
  throw Error(ErrorCode::kUnsupported, std::string(kMissing));
}
}  // namespace chakra
#endif

namespace {

using chakra::ChakraNode;
using chakra::NodeType;
using chakra::TensorUse;
using chakra::Trace;

constexpr std::string_view kWholeOp = "emplace_op";

// By NodeType.
constexpr std::array<std::string_view, 8> kKinds = {
    "no_op", "no_op", "mem_load", "mem_store", "comp", "comm_send", "comm_recv", "comm_collective"};

// By CollectiveCommType.
constexpr std::array<std::string_view, 10> kCollectives = {
    "all_reduce", "reduce",         "all_gather",           "gather", "scatter", "broadcast",
    "all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier"};

class ChakraReader {
 public:
  ChakraReader(const Trace& trace, const std::string& source, const Params& params)
      : trace_(trace), source_(source), device_class_(params.get<std::string>("device-class")) {
    for (const ChakraNode& node : trace.nodes) {
      add_op(node);
    }
    if (trace.nodes.empty()) {
      throw Error(ErrorCode::kFormat, fmt::format("{}: expected at least one node", source));
    }
    for (const ChakraNode& node : trace.nodes) {
      add_data_edges(node);
    }
    for (const ChakraNode& node : trace.nodes) {
      order(node);
    }
    if (params.get<bool>("chain-streams")) {
      chain_streams();
    }
    add_orders();
  }

  OpGraph finish() && {
    std::string& said = graph_[boost::graph_bundle].source;
    said = trace_.version.empty() ? "Chakra ET" : "Chakra ET " + trace_.version;
    if (!missing_.empty()) {
      constexpr std::size_t kMaxNamed = 8;
      const std::vector<std::uint64_t> all(missing_.begin(), missing_.end());
      const std::vector<std::uint64_t> named(
          all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kMaxNamed)));
      said +=
          fmt::format("; without the dependencies on {} nodes that are missing in the file: {}{}",
                      all.size(), fmt::join(named, ", "), all.size() > kMaxNamed ? ", ..." : "");
    }
    if (waits_for_itself_ > 0) {
      said += fmt::format("; without {} dependencies of nodes on themselves", waits_for_itself_);
    }
    if (num_left_out_ > 0) {
      const std::string left_out =
          num_left_out_ == 1
              ? "1 control dependency that closes a cycle"
              : fmt::format("{} control dependencies that close cycles", num_left_out_);
      said += "; without " + left_out;
      graph_[boost::graph_bundle].warnings.push_back(
          fmt::format("{}: {} {} left out", source_, left_out, num_left_out_ == 1 ? "is" : "are"));
    }
    return graph_;
  }

 private:
  [[noreturn]] void fail(const ChakraNode& node, const std::string& message) const {
    throw Error(ErrorCode::kFormat, fmt::format("{}: node {}: {}", source_, node.id, message));
  }

  // Returns an attribute that is a quantity; 0 if the node has none.
  std::int64_t quantity(const ChakraNode& node, std::string_view name) const {
    const auto found = node.attributes.find(name);
    if (found == node.attributes.end()) {
      return 0;
    }
    const auto* value = std::get_if<std::int64_t>(&found->second);
    if (value == nullptr || *value < 0) {
      fail(node, fmt::format("expected {} to be an integer of at least 0", name));
    }
    return *value;
  }

  void add_op(const ChakraNode& node) {
    if (!op_of_.emplace(node.id, num_ops(graph_)).second) {
      fail(node, "the id appears twice");
    }
    Op op = whole_op(node);
    if (op.name.empty() || names_.contains(op.name)) {
      op.name = fmt::format("{}#{}", op.name.empty() ? "node" : op.name, node.id);
    }
    while (!names_.insert(op.name).second) {
      op.name += '_';
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      output_of_.insert_or_assign({num_ops(graph_), node.outputs[i].id},
                                  static_cast<std::int32_t>(i));
    }
    boost::add_vertex(op, graph_);
  }

  Op whole_op(const ChakraNode& node) const {
    const auto whole = node.attributes.find(kWholeOp);
    if (whole == node.attributes.end()) {
      return third_party_op(node);
    }
    const auto* text = std::get_if<std::string>(&whole->second);
    const std::string place = fmt::format("{}: node {}: {}", source_, node.id, kWholeOp);
    const JsonDocument document = JsonDocument::parse(text != nullptr ? *text : "", place);
    Op op = read_op(document.root());
    if (op.outputs.size() != node.outputs.size()) {
      fail(node, fmt::format("its outputs are {}, those of {} {}", node.outputs.size(), kWholeOp,
                             op.outputs.size()));
    }
    return op;
  }

  Op third_party_op(const ChakraNode& node) const {
    Op op{.name = node.name, .kind = kind_of(node)};
    const bool is_communication = node.type >= NodeType::kCommSend;
    const std::int64_t bytes = quantity(node, is_communication ? "comm_size" : "tensor_size");
    op.flops = quantity(node, "num_ops");
    op.bytes_read = node.type == NodeType::kMemStore ? 0 : bytes;
    op.bytes_written = is_communication || node.type == NodeType::kMemStore ? bytes : 0;
    for (const TensorUse& tensor : node.outputs) {
      Output output{.shape = {tensor.elements}, .type = type_of_size(tensor.element_bytes)};
      if (__builtin_mul_overflow(tensor.elements, tensor.element_bytes, &output.bytes)) {
        fail(node, "the size of an output does not fit 64 bits");
      }
      op.outputs.push_back(std::move(output));
    }
    if (node.duration_us > 0) {
      const bool is_cpu_op = quantity(node, "is_cpu_op") != 0;
      op.measured = {{.device_class = is_cpu_op ? "cpu" : device_class_,
                      .cost_us = static_cast<double>(node.duration_us)}};
    }
    return op;
  }

  std::string kind_of(const ChakraNode& node) const {
    // Names of kernels have colons too: "void at::native::reduce_kernel<...>".
    if (node.type == NodeType::kComp && node.name.starts_with("aten::")) {
      return kind_of_aten(node.name);
    }
    if (node.type == NodeType::kCommColl && node.attributes.contains("comm_type")) {
      const auto type = static_cast<std::size_t>(quantity(node, "comm_type"));
      return std::string(type < kCollectives.size() ? kCollectives[type] : kKinds.back());
    }
    return std::string(kKinds[static_cast<std::size_t>(node.type)]);
  }

  // Returns the ops that a node waits for, without those that the file lacks.
  std::vector<OpId> resolve(const ChakraNode& node, const std::vector<std::uint64_t>& ids) {
    std::vector<OpId> ops;
    for (const std::uint64_t id : ids) {
      const auto found = op_of_.find(id);
      if (id == node.id) {
        ++waits_for_itself_;
      } else if (found == op_of_.end()) {
        missing_.insert(id);
      } else {
        ops.push_back(found->second);
      }
    }
    return ops;
  }

  void add_data_edges(const ChakraNode& node) {
    const OpId op = op_of_.at(node.id);
    const std::vector<OpId> data = resolve(node, node.data_deps);
    std::set<OpId> waited;  // for some reason already
    for (const TensorUse& tensor : node.inputs) {
      // If several hand out the tensor, the last has changed it in place.
      for (auto producer = data.rbegin(); producer != data.rend(); ++producer) {
        const auto output = output_of_.find({*producer, tensor.id});
        if (output != output_of_.end()) {
          add_dependency(graph_, *producer, output->second, op);
          waited.insert(*producer);
          break;
        }
      }
    }
    for (const OpId producer : data) {
      if (waited.insert(producer).second) {
        add_dependency(graph_, producer, Dependency::kControl, op);
      }
    }
  }

  void order(const ChakraNode& node) {
    const OpId op = op_of_.at(node.id);
    std::set<OpId> ordered;
    for (const OpId producer : resolve(node, node.control_deps)) {
      if (ordered.insert(producer).second) {
        orders_.emplace_back(producer, op);
      }
    }
  }

  void add_orders() {
    std::vector<std::uint64_t> start_us;
    start_us.reserve(trace_.nodes.size());
    for (const ChakraNode& node : trace_.nodes) {
      start_us.push_back(node.start_us);
    }
    const std::vector<bool> closes = chakra::find_feedback(graph_, orders_, start_us);
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      if (closes[i]) {
        ++num_left_out_;
      } else {
        add_dependency(graph_, orders_[i].first, Dependency::kControl, orders_[i].second);
      }
    }
  }

  // Orders what ran on one stream as it ran.
  void chain_streams() {
    const std::set<std::pair<OpId, OpId>> ordered(orders_.begin(), orders_.end());
    std::map<std::int64_t, std::vector<std::pair<std::uint64_t, OpId>>> streams;
    for (const ChakraNode& node : trace_.nodes) {
      if (node.attributes.contains("stream") && quantity(node, "is_cpu_op") == 0) {
        streams[quantity(node, "stream")].emplace_back(node.start_us, op_of_.at(node.id));
      }
    }
    for (auto& [stream, ops] : streams) {
      std::ranges::sort(ops);
      for (std::size_t i = 1; i < ops.size(); ++i) {
        const std::pair pair(ops[i - 1].second, ops[i].second);
        if (!ordered.contains(pair) &&
            !boost::edge(index_of(pair.first), index_of(pair.second), graph_).second) {
          orders_.push_back(pair);
        }
      }
    }
  }

  const Trace& trace_;
  const std::string& source_;
  std::string device_class_;
  OpGraph graph_;
  std::unordered_map<std::uint64_t, OpId> op_of_;  // by id
  std::set<std::string> names_;
  std::map<std::pair<OpId, std::int64_t>, std::int32_t> output_of_;  // by op and tensor
  std::vector<std::pair<OpId, OpId>> orders_;                        // by control dependencies
  std::set<std::uint64_t> missing_;
  std::int64_t waits_for_itself_ = 0;
  std::int64_t num_left_out_ = 0;
};

OpGraph read(std::string_view bytes, const std::string& source, const Params& params) {
  const FileContent content{.bytes = bytes, .json_members = json_root_members(bytes)};
  const Trace trace = content.has("workload_graph") ? chakra::read_json(bytes, source)
                                                    : chakra::read_messages(bytes, source);
  return ChakraReader(trace, source, params).finish();
}

void set_type(ChakraNode& node, const Op& op) {
  node.type = NodeType::kComp;
  const auto collective = std::ranges::find(kCollectives, op.kind);
  const auto kind = std::ranges::find(kKinds, op.kind);
  if (collective != kCollectives.end()) {
    node.type = NodeType::kCommColl;
    node.attributes["comm_type"] = std::int64_t{collective - kCollectives.begin()};
  } else if (kind != kKinds.end()) {
    node.type =
        op.kind == "no_op" ? NodeType::kMetadata : static_cast<NodeType>(kind - kKinds.begin());
  }
  const bool is_communication = node.type >= NodeType::kCommSend;
  node.attributes[is_communication ? "comm_size" : "tensor_size"] =
      is_communication ? op.bytes_read : op.bytes_read + op.bytes_written;
}

std::string write(const OpGraph& graph, const Params& params) {
  const std::string& device_class = params.get<std::string>("device-class");
  Trace trace{.version = "1.1.1-chakra.0.0.4"};
  std::vector<std::int64_t> first_tensor;  // by op
  std::int64_t next_tensor = 0;
  for (OpId id = 0; id < num_ops(graph); ++id) {
    const Op& op = graph[index_of(id)];
    ChakraNode& node =
        trace.nodes.emplace_back(ChakraNode{.id = static_cast<std::uint64_t>(id), .name = op.name});
    set_type(node, op);
    node.attributes["is_cpu_op"] = std::int64_t{0};
    node.attributes["num_ops"] = op.flops;
    std::string whole;
    write_op(whole, op);
    node.attributes[std::string(kWholeOp)] = whole;
    for (const MeasuredCost& cost : op.measured) {
      if (cost.device_class == device_class) {
        node.duration_us = static_cast<std::uint64_t>(std::min(std::ceil(cost.cost_us), 1e18));
      }
    }
    first_tensor.push_back(next_tensor);
    for (const Output& output : op.outputs) {
      node.outputs.push_back({.id = next_tensor++, .elements = output.bytes, .element_bytes = 1});
    }
  }
  for (OpId id = 0; id < num_ops(graph); ++id) {
    ChakraNode& node = trace.nodes[index_of(id)];
    std::set<std::uint64_t> named;
    for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(id), graph))) {
      const std::uint64_t producer = boost::source(edge, graph);
      const std::int32_t output = graph[edge].output;
      if (output == Dependency::kControl) {
        node.control_deps.push_back(producer);
        continue;
      }
      node.inputs.push_back(trace.nodes[producer].outputs[index_of(output)]);
      if (named.insert(producer).second) {
        node.data_deps.push_back(producer);
      }
    }
  }
  return chakra::write_messages(trace);
}

const FormatRegistration kRegistration({
    .name = "chakra",
#ifdef EMPLACE_WITH_PROTOBUF
    .summary = "execution traces of Chakra, for ASTRA-sim",
#else
    .summary = "execution traces of Chakra: the JSON only (not built in: needs protobuf)",
#endif
    .reference = "https://github.com/mlcommons/chakra",
    .endings = {".et"},
    .read_parameters = {{.name = "device-class",
                         .default_value = std::string("chakra"),
                         .summary = "device class on which GPU nodes were measured"},
                        {.name = "chain-streams",
                         .default_value = false,
                         .summary = "order the nodes of a stream as they ran, where dependencies "
                                    "are missing"}},
    .write_parameters = {{.name = "device-class",
                          .default_value = std::string("chakra"),
                          .summary = "device class whose measured costs become durations"}},
    .recognizes = [](const FileContent& file) { return file.has("workload_graph"); },
    .read = read,
    .write = write,
});

}  // namespace
}  // namespace emplace
