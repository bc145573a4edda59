#pragma once

// What a ModelBuilder makes, and calls that it must refuse.

#include "support/errors.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace emplace::test {

/// Returns the op that makes a tensor.
inline const Op& op_of(const OpGraph& graph, Tensor x) {
  return graph[static_cast<std::size_t>(x.op)];
}

/// Holds calls, and a part of the error of each.
using BuilderMistakes = std::vector<std::pair<std::function<void(ModelBuilder&)>, std::string>>;

/// Expects of each call an error that names the model and the scope.
inline void expect_refused(const BuilderMistakes& mistakes) {
  for (const auto& [build, expected] : mistakes) {
    ModelBuilder net("tiny");
    const auto scope = net.scope("here");
    EXPECT_THAT(error_of(ErrorCode::kUsage, [&, &build = build] { build(net); }),
                testing::AllOf(testing::HasSubstr("'tiny'"), testing::HasSubstr("'here'"),
                               testing::HasSubstr(expected)));
  }
}

}  // namespace emplace::test
