#pragma once

// Parts of reports and comparisons of runs, laid out.

#include <emplace/base/json.hpp>
#include <emplace/bench/run_comparison.hpp>
#include <emplace/bench/text_table.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::bench {

/// Says how a table is written.
struct TableForm {
  bool markdown = false;
  bool color = false;     ///< at a terminal
  std::size_t width = 0;  ///< of the terminal; 0 for no limit
};

/// Returns a table under its title.
std::string titled(std::string_view title, const TextTable& table, const TableForm& form);

/// Returns the table alone.
std::string written(const TextTable& table, const TableForm& form);

/// Returns a name from a user's file as one line of that form.
std::string escaped(std::string_view text, const TableForm& form);

/// Returns "1.035".
std::string ratio_text(double ratio);

/// Returns "1.010 .. 1.060", or "-" for none.
std::string interval_text(const std::optional<std::pair<double, double>>& interval);

/// Returns the interval, of two pairs both ratios, "1.010 and 1.060".
std::string interval_text(const PairedComparison& pairs);

/// Returns the table of what differs, with its title; empty if nothing does.
std::string differences_text(const std::vector<InputDifference>& differences,
                             const TableForm& form);

/// Returns what was counted and by which threshold: "1 slower by more than 2 %, 3 faster".
std::string verdicts_text(std::int64_t slower, std::int64_t faster, double threshold);

/// Return the same in JSON.
Json to_json(const std::vector<InputDifference>& differences);
Json interval_json(const std::optional<std::pair<double, double>>& interval);
Json to_json(const Significance& significance);

/// Returns null for Verdict::kUnsure.
Json to_json(Verdict verdict);

}  // namespace emplace::bench
