#pragma once

// Chakra's execution traces (mlcommons/chakra) as nodes, between the two syntaxes that files have
// and the graph. A node says on which nodes it waits; what it reads of them is known only if the
// lists of its inputs name tensors that they put out.

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace emplace::chakra {

/// The value of an attribute; integers and truth values of every kind are one.
using ChakraValue = std::variant<std::int64_t, double, std::string>;

/// A tensor in a node's list of inputs or outputs.
struct TensorUse {
  std::int64_t id = 0;
  std::int64_t elements = 0;
  std::int64_t element_bytes = 0;
};

/// What a node is, by Chakra's numbers.
enum class NodeType : std::uint8_t {
  kInvalid,
  kMetadata,
  kMemLoad,
  kMemStore,
  kComp,
  kCommSend,
  kCommRecv,
  kCommColl,
};

/// One node of a trace.
struct ChakraNode {
  std::uint64_t id = 0;
  std::string name{};
  NodeType type = NodeType::kInvalid;
  std::vector<std::uint64_t> control_deps{};
  std::vector<std::uint64_t> data_deps{};
  std::uint64_t start_us = 0;
  std::uint64_t duration_us = 0;  ///< 0 if it was not measured, or took less
  std::vector<TensorUse> inputs{};
  std::vector<TensorUse> outputs{};
  std::map<std::string, ChakraValue, std::less<>> attributes{};
};

/// One trace: what one device did.
struct Trace {
  std::string version{};
  std::vector<ChakraNode> nodes{};
};

/// Returns the tensors in a list that is written as text: every [id, storage, offset, elements,
/// bytes of an element, "device"] in it. Traces of PyTorch hold what Python prints, which is no
/// JSON.
std::vector<TensorUse> find_tensors(std::string_view list);

/// Returns tensors as such a list.
std::string write_tensors(const std::vector<TensorUse>& tensors);

/// Reads a trace from length-prefixed messages of protobuf; throws kFormat, and kUnsupported if
/// protobuf is not built in.
Trace read_messages(std::string_view bytes, const std::string& source);

/// Returns the trace as such messages; throws kUnsupported if protobuf is not built in.
std::string write_messages(const Trace& trace);

/// Reads a trace in the JSON of Chakra's feeder, {"workload_graph": [...]}; throws kFormat.
Trace read_json(std::string_view text, const std::string& source);

}  // namespace emplace::chakra
