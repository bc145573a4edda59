// Gradients of functions of one number, such as those of imported models: one op each, which reads
// the gradient and the function's input or its result, whichever tells the derivative at less cost.

#include "gradient_rules.hpp"
#include "model/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace emplace {
namespace {

// What the derivative is computed from.
enum class From : std::uint8_t { kInput, kResult };

struct Derivative {
  std::string_view kind;
  std::int64_t flops;  // for each number, the product with the gradient included
  From from;
};

// Sorted by kind.
constexpr std::array kDerivatives = {
    Derivative{"abs", 2, From::kInput},                // sign(x)
    Derivative{"acos", 5, From::kInput},               // -1 / sqrt(1 - x x)
    Derivative{"asin", 4, From::kInput},               // 1 / sqrt(1 - x x)
    Derivative{"atan", 3, From::kInput},               // 1 / (1 + x x)
    Derivative{"celu", 3, From::kResult},              // 1, or 1 + y / a where negative
    Derivative{"clip", 3, From::kInput},               // 1 between the limits
    Derivative{"cos", 3, From::kInput},                // -sin(x)
    Derivative{"elu", 2, From::kResult},               // 1, or y + a where negative
    Derivative{"erf", 5, From::kInput},                // exp(-x x) 2 / sqrt(pi)
    Derivative{"exp", 1, From::kResult},               // y
    Derivative{"hard_sigmoid", 2, From::kResult},      // a between 0 and 1
    Derivative{"hard_swish", 4, From::kInput},         // 0, (2 x + 3) / 6 or 1
    Derivative{"leaky_relu", 1, From::kResult},        // 1, or a where negative
    Derivative{"log", 1, From::kInput},                // 1 / x
    Derivative{"mish", 8, From::kInput},               // t + x s (1 - t t), t = tanh(softplus(x))
    Derivative{"reciprocal", 3, From::kResult},        // -y y
    Derivative{"selu", 3, From::kResult},              // b, or y + a b where negative
    Derivative{"sin", 2, From::kInput},                // cos(x)
    Derivative{"softplus", 2, From::kInput},           // sigmoid(x)
    Derivative{"softsign", 4, From::kInput},           // 1 / (1 + |x|)^2
    Derivative{"sqrt", 2, From::kResult},              // 1 / (2 y)
    Derivative{"tan", 3, From::kResult},               // 1 + y y
    Derivative{"thresholded_relu", 1, From::kResult},  // 1 where y is not 0
};

static_assert(std::ranges::is_sorted(kDerivatives, {}, &Derivative::kind));

void function(GradientStep& step) {
  const std::string kind = step.op().kind;
  const auto found = std::ranges::lower_bound(kDerivatives, kind, {}, &Derivative::kind);
  give_unary(step, fmt::format("{}_backward", kind), product({found->flops, elements(step)}),
             {step.gradient(), found->from == From::kInput ? step.input(0) : step.output(0)});
}

// Steps are flat, so no gradient comes through.
void flat(GradientStep& step) { static_cast<void>(step.gradient()); }

constexpr std::array kFlat = {NamedRule{"ceil", flat}, NamedRule{"floor", flat},
                              NamedRule{"round", flat}, NamedRule{"sign", flat}};

constexpr auto kFunctionsRules = [] {
  std::array<NamedRule, kDerivatives.size() + kFlat.size()> rules{};
  std::ranges::transform(kDerivatives, rules.begin(), [](const Derivative& derivative) {
    return NamedRule{derivative.kind, function};
  });
  std::ranges::copy(kFlat, rules.begin() + kDerivatives.size());
  return rules;
}();

}  // namespace

std::span<const NamedRule> function_rules() { return kFunctionsRules; }

}  // namespace emplace
