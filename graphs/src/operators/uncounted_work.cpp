#include <emplace/base/error.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/graphs/uncounted_work.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace emplace {

// Of so many kinds a sentence tells the names.
constexpr std::size_t kMaxTold = 12;

std::map<std::string, std::int64_t> uncounted_kinds(const OpGraph& graph) {
  std::map<std::string, std::int64_t> kinds;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const Op& properties = graph[op];
    if (properties.flops == 0 && properties.measured.empty() && launches(properties.kind) &&
        op_class_of(properties.kind) == OpClass::kOther) {
      ++kinds[properties.kind];
    }
  }
  return kinds;
}

std::string describe_uncounted(const OpGraph& graph) {
  const auto kinds = uncounted_kinds(graph);
  if (kinds.empty()) {
    return "";
  }
  std::vector<std::pair<std::string, std::int64_t>> most(kinds.begin(), kinds.end());
  std::ranges::stable_sort(most, std::ranges::greater(), &decltype(most)::value_type::second);
  std::vector<std::string> told;
  for (const auto& [kind, count] : most) {
    if (told.size() == kMaxTold) {
      told.push_back(fmt::format("and {} more kinds", most.size() - kMaxTold));
      break;
    }
    told.push_back(fmt::format("{} ({})", excerpt(kind), count));
  }
  return fmt::format(
      "no FLOPs are counted of operators that emplace does not know, by kind and number of ops: "
      "{}; their costs are guesses",
      fmt::join(told, ", "));
}

}  // namespace emplace
