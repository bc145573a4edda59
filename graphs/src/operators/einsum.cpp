// Reads equations in Einstein's notation.

#include "model/assemble.hpp"
#include "operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace emplace::operators {
namespace {

// Factors are multiplied two at a time, from the left; an index that nothing behind needs is summed
// over at once.
std::int64_t contraction_flops(std::span<const std::set<std::string>> terms,
                               const std::set<std::string>& kept,
                               const std::map<std::string, std::int64_t>& extents) {
  std::int64_t flops = 0;
  std::set<std::string> indices;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    indices.insert(terms[i].begin(), terms[i].end());
    std::int64_t products = 1;
    for (const std::string& index : indices) {
      products = product({products, extents.at(index)});
    }
    const bool is_single = terms.size() == 1;
    const bool multiplies = i > 0;
    const std::size_t before = indices.size();
    if (multiplies || is_single) {
      std::erase_if(indices, [&](const std::string& index) {
        const bool is_read = std::ranges::any_of(
            terms.subspan(i + 1), [&](const auto& term) { return term.contains(index); });
        return !kept.contains(index) && !is_read;
      });
    }
    const bool sums = indices.size() < before;
    flops = sum({flops, product({products, (multiplies ? 1 : 0) + (sums ? 1 : 0)})});
  }
  return flops;
}

}  // namespace

EinsteinSum einstein_sum(std::string_view equation, std::span<const Shape> inputs) {
  std::string text(equation);
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::map<std::string, std::int64_t>
      extents;  // by index; those of an ellipsis have two characters
  std::map<std::string, int> uses;
  std::vector<std::set<std::string>> terms;
  std::set<std::string> kept;
  // The indices of one term over a tensor of `rank` dimensions.
  const auto indices_of = [&](std::string_view term, std::size_t rank) {
    std::vector<std::string> indices;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (!term.substr(i).starts_with("...")) {
        indices.emplace_back(1, term[i]);
        continue;
      }
      const std::size_t letters = term.size() - 3;
      for (std::size_t k = letters; k < rank; ++k) {
        indices.push_back(fmt::format(".{}", rank - k));  // counted from behind
      }
      i += 2;
    }
    return indices;
  };
  std::size_t begin = 0;
  std::size_t ellipsis = 0;
  for (const Shape& shape : inputs) {
    if (begin > left.size()) {
      fail_shapes(fmt::format("equation '{}' has fewer terms than inputs", excerpt(equation)));
    }
    const std::size_t end = std::min(left.find(',', begin), left.size());
    const auto term = std::string_view(left).substr(begin, end - begin);
    const auto indices = indices_of(term, shape.size());
    if (indices.size() != shape.size()) {
      fail_shapes(fmt::format("equation '{}': a term does not fit a tensor of {} dimensions",
                              excerpt(equation), shape.size()));
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& extent = extents.try_emplace(indices[i], 1).first->second;
      if (extent != 1 && shape[i] != 1 && extent != shape[i]) {
        fail_shapes(fmt::format("equation '{}': index {} is both {} and {}", excerpt(equation),
                                excerpt(indices[i]), extent, shape[i]));
      }
      extent = extent == 1 ? shape[i] : extent;
      ++uses[indices[i]];
      ellipsis = std::max(ellipsis, indices[i].size() > 1 ? std::stoul(indices[i].substr(1)) : 0);
    }
    terms.emplace_back(indices.begin(), indices.end());
    begin = end + 1;
  }
  EinsteinSum sum{.products = 1};
  for (const auto& [index, extent] : extents) {
    sum.products = product({sum.products, extent});
  }
  std::string right = arrow != std::string::npos ? text.substr(arrow + 2) : "...";
  if (arrow == std::string::npos) {
    // Behind what ellipses stand for, each index that comes once, in the order of letters.
    for (const auto& [index, count] : uses) {
      right += index.size() == 1 && count == 1 ? index : "";
    }
  }
  const bool has_ellipsis = right.find("...") != std::string::npos;
  for (const std::string& index :
       indices_of(right, has_ellipsis ? right.size() - 3 + ellipsis : right.size())) {
    const auto found = extents.find(index);
    if (found == extents.end()) {
      fail_shapes(
          fmt::format("equation '{}': no input has index {}", excerpt(equation), excerpt(index)));
    }
    sum.result.push_back(found->second);
    kept.insert(index);
  }
  sum.flops = contraction_flops(terms, kept, extents);
  if (inputs.size() == 2) {
    for (const auto& [index, extent] : extents) {
      const bool is_shared = terms[0].contains(index) && terms[1].contains(index);
      std::int64_t& part = is_shared                  ? (kept.contains(index) ? sum.batch : sum.k)
                           : terms[0].contains(index) ? sum.m
                                                      : sum.n;
      part = product({part, extent});
    }
  }
  return sum;
}

}  // namespace emplace::operators
