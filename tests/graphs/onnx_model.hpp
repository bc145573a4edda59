#pragma once

// Models of ONNX, written by its own library in its own textual syntax.

#include <emplace/graphs/op_graph.hpp>

#include <fmt/format.h>
#include <graphs/read_format.hpp>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::test {

/// Describes an initializer.
struct Weight {
  std::string name;
  std::vector<std::int64_t> shape;
  int type = onnx::TensorProto::FLOAT;
  std::vector<std::int64_t> integers{};  // their values; others have none in the file
  std::vector<float> reals{};
};

/// Returns a model, which calls ONNX Runtime's operators by their names.
inline onnx::ModelProto parse_model(const std::string& graph,
                                    const std::vector<Weight>& weights = {}, int opset = 17) {
  onnx::ModelProto proto;
  const std::string text =
      fmt::format(R"(<ir_version: 8, opset_import: ["" : {}]> {})", opset, graph);
  const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  for (const Weight& weight : weights) {
    onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
    tensor.set_name(weight.name);
    tensor.set_data_type(weight.type);
    tensor.mutable_dims()->Add(weight.shape.begin(), weight.shape.end());
    tensor.mutable_int64_data()->Add(weight.integers.begin(), weight.integers.end());
    tensor.mutable_float_data()->Add(weight.reals.begin(), weight.reals.end());
    if (weight.integers.empty() && weight.reals.empty()) {
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    }
  }
  return proto;
}

/// Returns the bytes of such a model.
inline std::string model(const std::string& graph, const std::vector<Weight>& weights = {},
                         int opset = 17) {
  return parse_model(graph, weights, opset).SerializeAsString();
}

/// Reads a model.
inline OpGraph import(const std::string& bytes, const std::string& parameters = "") {
  return read_format("onnx" + parameters, bytes);
}

/// Returns why a model cannot be read.
inline std::string error_of(const std::string& bytes, const std::string& parameters = "") {
  return error_of_reading("onnx" + parameters, bytes);
}

/// Returns the last op.
inline const Op& last_op(const OpGraph& graph) {
  return graph[static_cast<std::size_t>(num_ops(graph)) - 1];
}

}  // namespace emplace::test
