// Steps of optimizers.

#include "model/assemble.hpp"
#include "operators.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/optimizer.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace emplace {
namespace {

// FLOPs count each addition, multiplication, division and square root on one parameter; what is the
// same for all parameters (bias correction, learning-rate schedule) is not counted.
constexpr std::array kOptimizers = {
    // m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g g; w = w - a m / (sqrt(v) + e)
    Optimizer{"adam", 2, 12, "two moments per parameter (Kingma, Ba, ICLR 2015, arXiv 1412.6980)"},
    // v = b v + g; w = w - a v
    Optimizer{"momentum", 1, 4, "heavy ball (Polyak, USSR Comp. Math. 4(5), 1964)"},
    // s = r s + (1 - r) g g; v = b v + a g / sqrt(s + e); w = w - v
    Optimizer{"rmsprop", 2, 11,
              "mean square and momentum, as in TensorFlow (Tieleman, Hinton, Coursera lecture 6.5, "
              "2012)"},
    // w = w - a g
    Optimizer{"sgd", 0, 2, "plain gradient steps (Robbins, Monro, Ann. Math. Stat. 22(3), 1951)"},
};

static_assert(std::ranges::is_sorted(kOptimizers, {}, &Optimizer::name));

}  // namespace

std::span<const Optimizer> optimizers() { return kOptimizers; }

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  names.reserve(kOptimizers.size());
  for (const Optimizer& optimizer : kOptimizers) {
    names.emplace_back(optimizer.name);
  }
  return names;
}

const Optimizer& find_optimizer(std::string_view name) {
  const auto found = std::ranges::find(kOptimizers, name, &Optimizer::name);
  if (found == kOptimizers.end()) {
    throw_unknown_name("optimizer", name, optimizer_names());
  }
  return *found;
}

namespace operators {
namespace {

// The first input is the gradient. One of fewer numbers than the variable is that of the rows that
// were looked up; the others stay as they are. The slots are kept by the op, unless they are inputs
// behind the variable.
void count_update(Op& op, const Call& call) {
  const Optimizer& optimizer = find_optimizer(call.as<UpdateAttributes>().optimizer);
  const Output& variable = call.input(1);
  const std::int64_t touched_bytes = std::min(variable.bytes, call.input(0).bytes);
  const std::int64_t touched = touched_bytes / size_of(variable.type);
  const std::int64_t slot_bytes = product({optimizer.slots, touched_bytes});
  const bool keeps_slots = call.inputs.size() == 2;
  op.kind = "optimizer_update";
  op.shape = {touched, optimizer.slots};
  op.flops = product({optimizer.flops, touched});
  op.bytes_read = sum({keeps_slots ? slot_bytes : 0, touched_bytes}) - variable.bytes;
  op.bytes_written = sum({slot_bytes, touched_bytes});
  op.persistent_bytes = keeps_slots ? product({optimizer.slots, variable.bytes}) : 0;
  if (!call.results.empty()) {  // the variable itself
    op.bytes_written -= call.result().bytes;
  }
}

constexpr std::string_view kTermsAlone = "[terms], each a scalar";

Attributes optimizer_from_key(const Op& op) {
  UpdateAttributes attributes;
  for (const Optimizer& optimizer : kOptimizers) {
    if (op.shape.size() == 2 && op.shape[1] == optimizer.slots && op.flops % optimizer.flops == 0 &&
        op.flops / optimizer.flops == op.shape[0]) {
      attributes.optimizer = optimizer.name;
    }
  }
  return attributes;
}

// The gradient, and whether a number of it is not finite.
std::vector<Output> infer_unscaled(const Call& call) {
  return {call.input(0), make_output({}, DataType::kFloat32)};
}

std::vector<Output> infer_joint(const Call&) { return {make_output({}, DataType::kFloat32)}; }

std::int64_t num_terms(const Call& call) { return static_cast<std::int64_t>(call.inputs.size()); }

void count_found_inf(Op& op, const Call& call) {
  op.shape = {num_terms(call)};
  op.flops = num_terms(call) - 1;
}

// The norm of norms; min(1, limit / (norm + 1e-6)).
void count_clip_factor(Op& op, const Call& call) {
  op.shape = {num_terms(call)};
  op.flops = sum({product({2, num_terms(call)}), 3});
}

constexpr std::array kUpdates = {
    // As PyTorch: stack, norm, sum, reciprocal, product, minimum.
    in_kernels(6, {.kind = {"clip_factor", OpClass::kReduction, true, kTermsAlone,
                            "what brings gradients of these norms down to a joint norm"},
                   .infer = infer_joint,
                   .count = count_clip_factor,
                   .only_imported = true}),
    Operator{.kind = {"found_inf", OpClass::kReduction, true, kTermsAlone,
                      "whether one of several gradients overflowed"},
             .infer = infer_joint,
             .count = count_found_inf,
             .only_imported = true},
    Operator{
        .kind = {"unscale", OpClass::kElementwise, true, kElements,
                 "gradient over the loss scale, and whether it is finite", ResultMemory::kInPlace},
        .infer = infer_unscaled,
        .count = count_inputs,
        .flops = 2,
        .only_imported = true},
    Operator{.kind = {"optimizer_update", OpClass::kUpdate, true, "[parameters, slots]",
                      "one step of an optimizer"},
             .count = count_update,
             .from_key = optimizer_from_key},
};

}  // namespace

std::span<const Operator> updates() { return kUpdates; }

}  // namespace operators
}  // namespace emplace
