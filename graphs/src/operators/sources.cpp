// What stands in a graph before anything is computed.

#include "operators.hpp"

#include <array>

namespace emplace::operators {
namespace {

using enum OpClass;

// The key is the shape of what is filled.
void count_fill(Op& op, const Call& call) { op.shape = call.result().shape; }

constexpr std::array kSources = {
    Operator{.kind = {"constant", kOther, false, kTensor, "numbers that are not trained"}},
    Operator{.kind = {"input", kDataMovement, false, kTensor, "data that enters the step"},
             .count = count_fill},
    Operator{.kind = {"no_op", kOther, false, kTensor, "nothing; only its edges count"}},
    Operator{.kind = {"random", kElementwise, true, "[elements]", "random numbers"},
             .count = count_results,
             .flops = 1,
             .only_imported = true},
    Operator{.kind = {"task", kMatmul, true, "[FLOPs]",
                      "a task of a classic task graph, costed like a matrix product without memory "
                      "traffic"}},
    Operator{.kind = {"variable", kOther, false, kTensor, "trained numbers"}},
    Operator{.kind = {"zeros", kDataMovement, true, kTensor,
                      "a tensor of zeros: a gradient that is missing"},
             .count = count_fill},
};

}  // namespace

std::span<const Operator> sources() { return kSources; }

}  // namespace emplace::operators
