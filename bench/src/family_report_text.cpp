#include "family_report.hpp"

#include <fmt/format.h>

namespace emplace::bench {
namespace {

// 1.035 is 3.5 % more.
std::string percent_more(double ratio) { return fmt::format("{:+.1f}", (ratio - 1) * 100); }

std::string interval_of(const PairedComparison& pairs) {
  return pairs.interval
             ? percent_more(pairs.interval->first) + " .. " + percent_more(pairs.interval->second)
             : "-";
}

}  // namespace

TextTable layout(const FamilyTable& table) {
  using Align = TextTable::Align;
  TextTable text({{"agent", Align::kLeft},
                  {"graphs", Align::kRight},
                  {"mean [ms]", Align::kRight},
                  {"over best [%]", Align::kRight},
                  {"over rival [%]", Align::kRight},
                  {"95 % interval", Align::kRight},
                  {"faster", Align::kRight},
                  {"slower", Align::kRight},
                  {"p", Align::kRight}});
  for (const FamilyRow& row : table.rows) {
    std::vector<std::string> cells = {row.agent, fmt::format("{}", row.graphs)};
    if (row.graphs > 0) {
      cells.push_back(fmt::format("{:.1f}", row.mean_us / 1e3));
      cells.push_back(percent_more(row.over_best));
    }
    if (const auto& pairs = row.against_rival) {
      cells.push_back(percent_more(pairs->ratio));
      cells.push_back(interval_of(*pairs));
      cells.push_back(fmt::format("{}", pairs->less));
      cells.push_back(fmt::format("{}", pairs->greater));
      cells.push_back(fmt::format("{:.2g}", pairs->p));
    }
    cells.resize(9, "-");
    text.add_row(std::move(cells));
  }
  return text;
}

std::string title_of(const FamilyTable& table) {
  return without_control_characters(
      fmt::format("{} on {}, {} graphs to test on", table.family, table.cluster, table.graphs));
}

std::string legend_of_families(const Report& report) {
  std::string text =
      "mean: of step times over graphs, each the median over repetitions; over best: than the "
      "fastest agent on the same\ngraph, geometric mean.";
  if (!report.rivals.empty()) {
    text += fmt::format(
        "\nover rival: the same over {}, with the 95 % confidence interval of Student's paired t "
        "on logarithms; faster,\nslower: graphs on which it is; p: Wilcoxon's signed-rank test of "
        "these pairs, two-sided.",
        fmt::join(report.rivals, ", "));
  }
  return text + "\n";
}

}  // namespace emplace::bench
