#include "topological_sort.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/utf8.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <utility>

namespace emplace {
namespace {

// A sum that cannot wrap; `quantity` names it in the error.
class CheckedSum {
 public:
  explicit CheckedSum(std::string_view quantity) : quantity_(quantity) {}

  void add(std::int64_t value, std::string_view source) {
    if (__builtin_add_overflow(sum_, value, &sum_)) {
      throw Error(
          ErrorCode::kFormat,
          fmt::format("{}: the sum of {} over all ops does not fit 64 bits", source, quantity_));
    }
  }

 private:
  std::string_view quantity_;
  std::int64_t sum_ = 0;
};

// Checks one op by itself.
class OpValidator {
 public:
  OpValidator(const Op& op, OpId id, std::string_view source) : op_(op), id_(id), source_(source) {}

  void validate() const {
    if (op_.name.empty()) {
      throw Error(ErrorCode::kFormat, fmt::format("{}: op {} has no name", source_, id_));
    }
    // Files of other formats may hold anything, and no file that is written here may.
    expect_utf8(op_.name, "a name");
    expect_utf8(op_.kind, "a kind");
    expect_utf8(op_.colocation, "a colocation label");
    expect_utf8(op_.scope, "a scope");
    expect_not_negative(op_.flops, "flops");
    expect_not_negative(op_.bytes_read, "bytes_read");
    expect_not_negative(op_.bytes_written, "bytes_written");
    expect_not_negative(op_.parameters, "parameters");
    expect_not_negative(op_.persistent_bytes, "persistent_bytes");
    expect_not_negative(op_.workspace_bytes, "workspace_bytes");
    expect_not_negative(op_.shape, "shape");
    for (const Output& output : op_.outputs) {
      expect_not_negative(output.bytes, "the bytes of an output");
      expect_not_negative(output.shape, "the shape of an output");
    }
    validate_measured();
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::kFormat, fmt::format("{}: op '{}': {}", source_, op_.name, message));
  }

  void expect_utf8(std::string_view text, std::string_view field) const {
    if (!is_utf8(text)) {
      fail(fmt::format("expected {} in UTF-8, found '{}'", field, excerpt(text)));
    }
  }

  void expect_not_negative(std::int64_t value, std::string_view quantity) const {
    if (value < 0) {
      fail(fmt::format("expected {} of at least 0, found {}", quantity, value));
    }
  }

  void expect_not_negative(const std::vector<std::int64_t>& values,
                           std::string_view quantity) const {
    for (const auto value : values) {
      expect_not_negative(value, quantity);
    }
  }

  void validate_measured() const {
    std::unordered_set<std::string_view> classes;
    for (const MeasuredCost& cost : op_.measured) {
      if (cost.device_class.empty()) {
        fail("a measured cost names no device class");
      }
      expect_utf8(cost.device_class, "a device class");
      if (!std::isfinite(cost.cost_us) || cost.cost_us < 0) {
        fail(fmt::format("expected a measured cost that is finite and at least 0, found {}",
                         cost.cost_us));
      }
      if (!(cost.relative_deviation >= 0 && cost.relative_deviation <= kMaxRelativeDeviation)) {
        fail(fmt::format("expected a relative deviation of a measured cost from 0 to {}, found {}",
                         kMaxRelativeDeviation, cost.relative_deviation));
      }
      if (!classes.insert(cost.device_class).second) {
        fail(fmt::format("two measured costs for device class '{}'", cost.device_class));
      }
    }
  }

  const Op& op_;
  OpId id_;
  std::string_view source_;
};

void validate_edges(const OpGraph& graph, std::string_view source) {
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    const Op& producer = graph[boost::source(edge, graph)];
    const Op& consumer = graph[boost::target(edge, graph)];
    const auto output = graph[edge].output;
    if (output < Dependency::kControl ||
        output >= static_cast<std::int64_t>(producer.outputs.size())) {
      throw Error(
          ErrorCode::kFormat,
          fmt::format("{}: the edge from op '{}' to op '{}' takes output {}, but the producer "
                      "has {} outputs (-1 is a control edge)",
                      source, producer.name, consumer.name, output, producer.outputs.size()));
    }
  }
}

// What a simulation may ever add up fits 64 bits if this does: everything an op holds or touches,
// and every use of a tensor.
void validate_sums(const OpGraph& graph, std::string_view source) {
  CheckedSum flops("FLOPs");
  CheckedSum bytes("bytes");
  CheckedSum parameters("parameters");
  double measured_us = 0;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const Op& properties = graph[op];
    flops.add(properties.flops, source);
    parameters.add(properties.parameters, source);
    bytes.add(properties.bytes_read, source);
    bytes.add(properties.bytes_written, source);
    bytes.add(properties.persistent_bytes, source);
    bytes.add(properties.workspace_bytes, source);
    for (const Output& output : properties.outputs) {
      bytes.add(output.bytes, source);
    }
    for (const MeasuredCost& cost : properties.measured) {
      measured_us += cost.cost_us;
    }
  }
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    if (const auto output = graph[edge].output; output != Dependency::kControl) {
      bytes.add(graph[boost::source(edge, graph)].outputs[index_of(output)].bytes, source);
    }
  }
  if (!std::isfinite(measured_us)) {
    throw Error(ErrorCode::kFormat,
                fmt::format("{}: the sum of measured costs over all ops is not finite", source));
  }
}

std::vector<OpId> sorted_ops(const OpGraph& graph, std::string_view source) {
  std::vector<std::pair<OpId, OpId>> edges;
  edges.reserve(boost::num_edges(graph));
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    edges.emplace_back(static_cast<OpId>(boost::source(edge, graph)),
                       static_cast<OpId>(boost::target(edge, graph)));
  }
  auto sorted = sort_topologically(num_ops(graph), edges);
  if (!sorted.cycle.empty()) {
    constexpr std::size_t kMaxNamed = 8;
    std::string path;
    for (std::size_t i = 0; i < std::min(sorted.cycle.size(), kMaxNamed); ++i) {
      path += fmt::format("'{}' -> ", graph[index_of(sorted.cycle[i])].name);
    }
    path += sorted.cycle.size() > kMaxNamed
                ? fmt::format("... ({} ops in all)", sorted.cycle.size())
                : fmt::format("'{}'", graph[index_of(sorted.cycle[0])].name);
    throw Error(ErrorCode::kFormat, fmt::format("{}: a cycle of ops: {}", source, path));
  }
  return std::move(sorted.order);
}

}  // namespace

std::int64_t size_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kInt32:
      return 4;
    case DataType::kFloat16:
    case DataType::kBfloat16:
    case DataType::kInt16:
      return 2;
    case DataType::kInt64:
    case DataType::kFloat64:
      return 8;
    case DataType::kBool:
    case DataType::kInt8:
      return 1;
  }
  EMPLACE_CHECK(false, "data type {}", static_cast<int>(type));
}

void add_dependency(OpGraph& graph, OpId producer, std::int32_t output, OpId consumer) {
  EMPLACE_CHECK(producer >= 0 && producer < num_ops(graph), "producer {}", producer);
  EMPLACE_CHECK(consumer >= 0 && consumer < num_ops(graph), "consumer {}", consumer);
  boost::add_edge(index_of(producer), index_of(consumer), Dependency{output}, graph);
}

std::vector<OpId> topological_order(const OpGraph& graph) {
  const std::string& name = graph[boost::graph_bundle].name;
  return sorted_ops(graph, name.empty() ? "graph" : name);
}

void validate(const OpGraph& graph, std::string_view source) {
  if (boost::num_vertices(graph) > std::numeric_limits<OpId>::max()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("{}: {} ops are more than {}", source, boost::num_vertices(graph),
                            std::numeric_limits<OpId>::max()));
  }
  std::unordered_set<std::string_view> names;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    OpValidator(graph[index_of(op)], op, source).validate();
    if (!names.insert(graph[index_of(op)].name).second) {
      throw Error(ErrorCode::kFormat,
                  fmt::format("{}: two ops are called '{}'", source, graph[index_of(op)].name));
    }
  }
  validate_edges(graph, source);
  validate_sums(graph, source);
  sorted_ops(graph, source);
}

GraphTotals totals(const OpGraph& graph) {
  GraphTotals sum;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const Op& properties = graph[op];
    sum.flops += properties.flops;
    sum.parameters += properties.parameters;
    sum.persistent_bytes += properties.persistent_bytes;
    for (const Output& output : properties.outputs) {
      if (output.persistent) {
        sum.parameter_bytes += output.bytes;
      }
    }
  }
  return sum;
}

}  // namespace emplace
