#include "report_columns.hpp"

#include "suite/units.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/bench/median_interval.hpp>

#include <array>
#include <optional>
#include <utility>

namespace emplace::bench {
namespace {

using T = const ReportTable&;
using R = const ReportRow&;
using FT = const FamilyTable&;
using FR = const FamilyRow&;
using Range = std::pair<double, double>;
using Compared = const PairedComparison&;
using Baseline = BaselineComparison;

FieldValue csv_field(const std::string& text) { return text; }
FieldValue csv_field(std::int64_t number) { return number; }
FieldValue csv_field(double number) { return number; }

template <class Value>
FieldValue csv_field(const std::optional<Value>& value) {
  return value ? csv_field(*value) : FieldValue();
}

template <auto Member>
FieldValue of_table(T table, R /*row*/) {
  return csv_field(table.*Member);
}

template <auto Member>
FieldValue of(T /*table*/, R row) {
  return csv_field(row.*Member);
}

template <auto Whole, auto Member>
FieldValue member_of(T /*table*/, R row) {
  if constexpr (requires { (row.*Whole).has_value(); }) {
    return row.*Whole ? csv_field(*(row.*Whole).*Member) : FieldValue();
  } else {
    return csv_field((row.*Whole).*Member);
  }
}

template <auto Member>
FieldValue if_ok(T /*table*/, R row) {
  return row.ok() ? csv_field(row.*Member) : FieldValue();
}

// Agents that failed have decided nothing.
bool decided(R row) { return row.failed < row.repetitions; }

template <auto Member>
FieldValue if_decided(T /*table*/, R row) {
  return decided(row) ? csv_field(row.*Member) : FieldValue();
}

FieldValue speedup_of(T /*table*/, R row) {
  return row.speedup > 0 ? csv_field(row.speedup) : FieldValue();
}

double shown_in_unit(double value, std::string_view unit) {
  constexpr double kBytesPerGb = 1e9;
  return unit == "ms"   ? value / kUsPerMs
         : unit == "GB" ? value / kBytesPerGb
         : unit == "%"  ? value * 100
                        : value;
}

// An agent that evaluates nothing has no count.
std::string count_or_none(const std::optional<double>& value) {
  return value.value_or(0) > 0 ? number_text(*value, "", 0) : kNone;
}

std::string range_text(double from_us, double to_us) {
  return from_us == to_us ? ""
                          : fmt::format("{:.1f} .. {:.1f}", from_us / kUsPerMs, to_us / kUsPerMs);
}

std::string interval_of_median(T /*table*/, R row) {
  return row.interval_us ? range_text(row.interval_us->first, row.interval_us->second) : "";
}

std::string range_of_repetitions(T table, R row) {
  return any_interval(table) ? "" : range_text(row.least_us, row.largest_us);
}

std::string published_step_text(T /*table*/, R row) {
  return !row.published               ? kNone
         : row.published->step_time_s ? number_text(*row.published->step_time_s, "s", 2)
                                      : "out of memory";
}

// --- Notes

struct Note {
  std::string (*text)(T, R) = nullptr;
  std::string_view meaning{};
};

// "2 of 5 failed", or "failed" if all did.
std::string some_text(std::int64_t count, R row, std::string_view what) {
  return count == 0                 ? ""
         : count == row.repetitions ? std::string(what)
                                    : fmt::format("{} of {} {}", count, row.repetitions, what);
}

const auto kNotes = std::to_array<Note>({
    {[](T table, R row) {
       return decided(row) && row.decision_groups < table.groups
                  ? counted(row.decision_groups, "group")
                  : "";
     },
     "N groups: the agent decided on N groups, each made of groups of the problem"},
    {[](T, R row) { return some_text(row.out_of_memory, row, "out of memory"); }},
    {[](T, R row) { return some_text(row.failed, row, "failed"); }},
    {[](T, R row) {
       return row.ok() ? some_text(row.on_one_device, row, "all on one device") : "";
     },
     "all on one device: the agent, which learns, put all groups there, as single-gpu does"},
    {[](T, R row) { return std::string(row.new_best ? "new best" : ""); },
     "new best: a repetition was faster than the best known"},
    {[](T, R row) {
       return row.within_uncertainty()
                  ? fmt::format("within uncertainty: slower in {:.0f} % of draws",
                                100 * row.slower_share.value_or(0))
                  : "";
     },
     "within uncertainty: the step is longer than that of the fastest in less than 95 % of draws "
     "of "
     "the costs"},
});

// Of the notes that any row has.
std::string meaning_of_notes(const Report& report) {
  std::vector<std::string_view> meanings;
  for (const Note& note : kNotes) {
    const auto shown_in = [&](T table) {
      return std::ranges::any_of(table.rows, [&](R row) { return !note.text(table, row).empty(); });
    };
    if (!note.meaning.empty() && std::ranges::any_of(report.tables, shown_in)) {
      meanings.push_back(note.meaning);
    }
  }
  return fmt::format("{}", fmt::join(meanings, "; "));
}

// --- Over graphs

// 1.035 is 3.5 % more.
std::string percent_more(double ratio) { return fmt::format("{:+.1f}", (ratio - 1) * 100); }

std::string over_best(const std::optional<FamilyMeans>& means) {
  return means ? percent_more(means->over_best) : kNone;
}

// What compares a row with the reference.
template <class Text>
auto against_reference(Text text) {
  return [text](FT /*table*/, FR row) {
    return row.against_reference ? text(*row.against_reference, row) : kNone;
  };
}

}  // namespace

std::string number_text(const FieldValue& value, std::string_view unit, int decimals) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    return std::string(*text);
  }
  if (std::holds_alternative<std::monostate>(value)) {
    return kNone;
  }
  const auto* whole = std::get_if<std::int64_t>(&value);
  const double number = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
  return fmt::format("{:.{}f}", shown_in_unit(number, unit), decimals);
}

bool any_interval(const ReportTable& table) {
  return std::ranges::any_of(table.rows, [](R row) { return row.interval_us.has_value(); });
}

bool is_best(const ReportTable& table, const ReportRow& row) {
  return row.ok() && row.step_time_us == table.rows.front().step_time_us;
}

bool is_best(const FamilyTable& table, const FamilyRow& row) {
  const std::optional<FamilyMeans>& best = table.rows.front().all;
  return best && row.all && row.all->over_best == best->over_best;
}

std::string notes_of(const ReportTable& table, const ReportRow& row) {
  std::vector<std::string> notes;
  for (const Note& note : kNotes) {
    if (std::string text = note.text(table, row); !text.empty()) {
      notes.push_back(std::move(text));
    }
  }
  return fmt::format("{}", fmt::join(notes, ", "));
}

// Each is an id, title, unit, decimals, importance, meaning, value and text.
std::vector<ReportColumn> report_columns(const Report& report) {
  return {
      {.id = "family", .value = of_table<&ReportTable::family>},
      {"graph", "graph", "", kTextColumn, 0, "", of_table<&ReportTable::graph>},
      {"cluster", "cluster", "", kTextColumn, 0, "", of_table<&ReportTable::cluster>},
      {"mark", "", "", kTextColumn, 0, "the fastest", nullptr,
       [](T table, R row) { return is_best(table, row) ? "*" : ""; }},
      {"agent", "agent", "", kTextColumn, 0, "", of<&ReportRow::agent>},
      {.id = "repetitions", .value = of<&ReportRow::repetitions>},
      {.id = "out_of_memory", .value = of<&ReportRow::out_of_memory>},
      {.id = "failed", .value = of<&ReportRow::failed>},
      {"step_time_us", "step", "ms", 1, 0,
       "simulated time of one training step, median over repetitions",
       if_ok<&ReportRow::step_time_us>},
      {.id = "interval_from_us", .value = member_of<&ReportRow::interval_us, &Range::first>},
      {.id = "interval_to_us", .value = member_of<&ReportRow::interval_us, &Range::second>},
      {"interval_us", fmt::format("{:.0f} % interval", kMedianCoverage * 100), "", 0, 4,
       "of the median, from order statistics of five repetitions or more, without those that ran "
       "out "
       "of memory or failed",
       nullptr, interval_of_median},
      {.id = "least_us", .value = if_ok<&ReportRow::least_us>},
      {.id = "largest_us", .value = if_ok<&ReportRow::largest_us>},
      {"range_us", "least .. largest", "", 0, 4, "step times of the repetitions", nullptr,
       range_of_repetitions},
      {.id = "bound_us", .value = of_table<&ReportTable::bound_us>},
      {"gap", "gap", "%", 1, 2, "(step - lower bound) / lower bound", if_ok<&ReportRow::gap>},
      {.id = "best_known_us", .value = of_table<&ReportTable::best_known_us>},
      {"above_best_known", "above best known", "%", 1, 5,
       "(step - best known) / best known, of the best placement known (emplace list best-known)",
       of<&ReportRow::above_best_known>},
      {"speedup", "speed-up", "", 2, 3, "over single-gpu", speedup_of},
      {.id = "slower_share", .value = of<&ReportRow::slower_share>},
      {.id = "groups", .value = of_table<&ReportTable::groups>},
      {.id = "decision_groups", .value = if_decided<&ReportRow::decision_groups>},
      {"peak_bytes", "peak", "GB", 2, 7, "memory of the fullest device",
       if_decided<&ReportRow::peak_bytes>},
      {"evaluations", "evaluations", "", 0, 6, "placements that the agent simulated, median",
       if_decided<&ReportRow::evaluations>},
      {.id = "evaluations_to_best", .value = if_decided<&ReportRow::evaluations_to_best>},
      {"evaluations_to_near_best", "to within 2 %", "", 0, 8,
       "evaluations until it had a placement at most 2 % slower than its own best, median",
       of<&ReportRow::evaluations_to_near_best>,
       [](T, R row) { return count_or_none(row.evaluations_to_near_best); }},
      {"episodes_to_near_best", "episodes", "", 0, 9, "the same in episodes, of agents that learn",
       of<&ReportRow::episodes_to_near_best>,
       [](T, R row) { return count_or_none(row.episodes_to_near_best); }},
      {"gain", "gain", "%", 1, 3,
       fmt::format("how much shorter the step is than that of the fastest baseline ({})",
                   fmt::join(report.baselines, ", ")),
       member_of<&ReportRow::against_baseline, &Baseline::gain>},
      {"sampling_speedup", "sampling speed-up", "", 2, 10,
       "the evaluations to within 2 % of that baseline over those of the agent",
       member_of<&ReportRow::against_baseline, &Baseline::sampling_speedup>},
      {"evaluations_to_baseline", "to baseline", "", 0, 9,
       "evaluations until a placement was as fast as that baseline in the end (its median), none "
       "if "
       "fewer than half of the repetitions ever had one",
       member_of<&ReportRow::against_baseline, &Baseline::evaluations_to_baseline>,
       [](T, R row) { return count_or_none(row.against_baseline.evaluations_to_baseline); }},
      {"speedup_to_baseline", "speed-up to baseline", "", 2, 10,
       "evaluations to baseline of the baseline itself over those of the agent",
       member_of<&ReportRow::against_baseline, &Baseline::speedup_to_baseline>},
      {"published_step_time_s", "published", "s", 2, 0, "",
       member_of<&ReportRow::published, &PublishedFigure::step_time_s>, published_step_text},
      {"published_evaluations", "published evaluations", "", 0, 0,
       "placements sampled, as the authors count them",
       member_of<&ReportRow::published, &PublishedFigure::evaluations>},
      {"published_gain", "published gain", "%", 1, 0, "of published figures alone", nullptr,
       [](T, R row) {
         return number_text(csv_field(row.published_against_baseline.gain), "%", 1);
       }},
      {"published_sampling_speedup", "published sampling speed-up", "", 2, 1,
       "of published figures alone", nullptr,
       [](T, R row) {
         return number_text(csv_field(row.published_against_baseline.sampling_speedup), "", 2);
       }},
      {"wall_s", "search", "s", 2, 6, "wall time that the agent took, median", nullptr,
       [](T, R row) { return number_text(row.wall_s, "s", 2); }},
      {"note", "note", "", kTextColumn, 1, meaning_of_notes(report), nullptr, notes_of},
  };
}

std::vector<FamilyColumn> family_columns(const Report& report, const FamilyTable& table) {
  const std::string& reference = table.reference;
  return {
      {"agent", "agent", "", kTextColumn, 0, "", nullptr, [](FT, FR row) { return row.agent; }},
      {"graphs", "graphs", "", 0, 4, "", nullptr,
       [](FT, FR row) { return fmt::format("{}", row.graphs); }},
      {"mean", "mean", "ms", 1, 2,
       "of the step times over graphs, each a median over repetitions; none for agents without a "
       "step time on some graphs",
       nullptr,
       [](FT, FR row) { return row.all ? number_text(row.all->mean_us, "ms", 1) : kNone; }},
      {"over_best", "over best", "%", 1, 0,
       "how much slower than the fastest agent on the same graph, geometric mean", nullptr,
       [](FT, FR row) { return over_best(row.all); }},
      {"over_best_on_common", "on " + counted(table.common_graphs, "common graph"), "%", 1, 1,
       "over best, on the graphs where every agent with any step time has one", nullptr,
       [](FT in, FR row) { return in.common_graphs < in.graphs ? over_best(row.common) : kNone; }},
      {"over_reference", "over " + (reference.empty() ? "baseline" : reference), "%", 1, 1,
       fmt::format("the same compared with {} on the same graph",
                   reference.empty()
                       ? fmt::format("the fastest of {}", fmt::join(report.baselines, ", "))
                       : reference),
       nullptr, against_reference([](Compared pairs, FR) { return percent_more(pairs.ratio); })},
      {"interval", "95 % interval", "", 0, 2,
       "confidence interval of that, of Student's paired t on logarithms; of two graphs both "
       "values",
       nullptr, against_reference([](Compared pairs, FR) {
         return pairs.interval ? percent_more(pairs.interval->first) + " .. " +
                                     percent_more(pairs.interval->second)
                : pairs.pairs == 2
                    ? percent_more(pairs.range.first) + " and " + percent_more(pairs.range.second)
                    : kNone;
       })},
      {"faster", "faster", "", 0, 3, "number of graphs on which the agent is", nullptr,
       against_reference([](Compared pairs, FR) { return fmt::format("{}", pairs.less); })},
      {"slower", "slower", "", 0, 3, "number of graphs on which the agent is", nullptr,
       against_reference([](Compared pairs, FR) { return fmt::format("{}", pairs.greater); })},
      {"p", "p", "", 0, 5, "Wilcoxon's signed-rank test of these pairs, two-sided", nullptr,
       against_reference([](Compared pairs, FR) { return fmt::format("{:.2g}", pairs.p); })},
      {"corrected_p", "corrected p", "", 0, 2,
       "the same with Holm's correction over the agents of the table", nullptr,
       against_reference([](Compared, FR row) { return fmt::format("{:.2g}", row.corrected_p); })},
  };
}

}  // namespace emplace::bench
