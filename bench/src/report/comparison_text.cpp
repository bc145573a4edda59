#include "comparison_text.hpp"

#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>

#include <fmt/format.h>

namespace emplace::bench {

std::string written(const TextTable& table, const TableForm& form) {
  return form.markdown ? table.to_markdown() : table.to_terminal(form.color, form.width);
}

std::string titled(std::string_view title, const TextTable& table, const TableForm& form) {
  return fmt::format("\n{}{}\n{}{}", form.markdown ? "## " : "", title, form.markdown ? "\n" : "",
                     written(table, form));
}

std::string escaped(std::string_view text, const TableForm& form) {
  return form.markdown ? escape_markdown(text) : escape_terminal(text);
}

std::string ratio_text(double ratio) { return fmt::format("{:.3f}", ratio); }

std::string interval_text(const std::optional<std::pair<double, double>>& interval) {
  return interval ? ratio_text(interval->first) + " .. " + ratio_text(interval->second) : "-";
}

std::string interval_text(const PairedComparison& pairs) {
  return pairs.pairs == 2 ? ratio_text(pairs.range.first) + " and " + ratio_text(pairs.range.second)
                          : interval_text(pairs.interval);
}

std::string differences_text(const std::vector<InputDifference>& differences,
                             const TableForm& form) {
  if (differences.empty()) {
    return "";
  }
  TextTable table({{"what"}, {"A"}, {"B"}});
  for (const InputDifference& difference : differences) {
    table.add_row({difference.what, difference.a, difference.b});
  }
  return titled("Inputs that differ", table, form);
}

std::string verdicts_text(std::int64_t slower, std::int64_t faster, double threshold) {
  return fmt::format(
      "B is significantly slower by more than {:g} % in {} comparisons, faster in {}.\n",
      100 * threshold, slower, faster);
}

Json to_json(const std::vector<InputDifference>& differences) {
  Json list = Json::array();
  for (const InputDifference& difference : differences) {
    list.push_back({{"what", difference.what}, {"a", difference.a}, {"b", difference.b}});
  }
  return list;
}

Json interval_json(const std::optional<std::pair<double, double>>& interval) {
  return interval ? Json::array({interval->first, interval->second}) : Json(nullptr);
}

Json to_json(const Significance& significance) {
  return {{"p", significance.p},
          {"p_slower", significance.p_slower},
          {"p_faster", significance.p_faster}};
}

Json to_json(Verdict verdict) {
  return verdict == Verdict::kUnsure ? Json(nullptr) : Json(to_string(verdict));
}

}  // namespace emplace::bench
