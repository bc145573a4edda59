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

}  // namespace emplace
