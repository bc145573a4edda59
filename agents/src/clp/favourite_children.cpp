#include "favourite_children.hpp"

#include "heuristic/ranks.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/infinity.hpp>

#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// An edge of which less is paid is taken to be free. At most 1/2, so that no group gets two
// favourite children, nor is one the favourite of two; Baechi has 0.1.
constexpr double kThreshold = 0.1;

// A linear program: minimize the sum of cost * column over columns of at least 0, whose sums are at
// least `row_lower`.
struct LinearProgram {
  std::vector<CoinBigIndex> begin{0};  // of each column in `row` and `value`
  std::vector<int> row;
  std::vector<double> value;
  std::vector<double> upper;  // of each column
  std::vector<double> cost;
  std::vector<double> row_lower;

  int add_row(double lower) {
    row_lower.push_back(lower);
    return static_cast<int>(row_lower.size()) - 1;
  }
  void add_to_column(int at_row, double coefficient) {
    row.push_back(at_row);
    value.push_back(coefficient);
  }
  void end_column(double column_upper, double column_cost) {
    begin.push_back(static_cast<CoinBigIndex>(row.size()));
    upper.push_back(column_upper);
    cost.push_back(column_cost);
  }
};

// Ends the solver when it is told to. Clp copies it.
class StopHandler final : public ClpEventHandler {
 public:
  explicit StopHandler(const std::function<bool()>& is_stopped) : is_stopped_(is_stopped) {}

  int event(Event /*which*/) override {
    constexpr int kGoOn = -1;
    constexpr int kStop = 0;
    return is_stopped_ && is_stopped_() ? kStop : kGoOn;
  }
  ClpEventHandler* clone() const override { return new StopHandler(*this); }

 private:
  const std::function<bool()>& is_stopped_;
};

// Returns the least cost first, then the value of each column; nothing if it was stopped.
std::vector<double> solve(const LinearProgram& program, const std::function<bool()>& is_stopped) {
  ClpSimplex clp;
  const StopHandler handler(is_stopped);
  clp.passInEventHandler(&handler);
  clp.setLogLevel(0);
  clp.loadProblem(static_cast<int>(program.cost.size()), static_cast<int>(program.row_lower.size()),
                  program.begin.data(), program.row.data(), program.value.data(), nullptr,
                  program.upper.data(), program.cost.data(), program.row_lower.data(), nullptr);
  // At first all columns are 0, which no row allows but every cost: a start for the dual simplex.
  clp.initialDualSolve();
  if (!clp.isProvenOptimal() && is_stopped && is_stopped()) {
    return {};
  }
  EMPLACE_CHECK(clp.isProvenOptimal(), "Clp ended with status {}", clp.status());
  std::vector<double> result{clp.objectiveValue()};
  result.insert(result.end(), clp.getColSolution(), clp.getColSolution() + program.cost.size());
  return result;
}

}  // namespace

FavouriteChildren favourite_children(const Problem& problem,
                                     const std::function<bool()>& is_stopped) {
  const GroupTimes costs_us = mean_costs_us(problem);
  const std::span<const GroupEdge> edges = problem.group_edges();
  const auto is_data = [](const GroupEdge& edge) { return edge.bytes > 0; };

  // Rows: s_v - s_u - c_e x_e >= p_u; one group kept on either side of a group; w - s_v >= p_v.
  LinearProgram program;
  for (const GroupEdge& edge : edges) {
    program.add_row(costs_us[edge.producer]);
  }
  IdVector<GroupId, int> out_row;
  IdVector<GroupId, int> in_row;
  IdVector<GroupId, int> end_row;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    const auto out = std::ranges::count_if(problem.group_out_edges(group), is_data);
    const auto in = std::ranges::count_if(problem.group_in_edges(group), is_data);
    out_row.push_back(program.add_row(static_cast<double>(out) - 1));
    in_row.push_back(program.add_row(static_cast<double>(in) - 1));
    end_row.push_back(program.add_row(costs_us[group]));
  }

  // Columns: s of each group, w, and x of each edge with data.
  IdVector<GroupId, std::vector<std::pair<int, double>>> of_group(problem.num_groups());
  for (int row = 0; const GroupEdge& edge : edges) {
    of_group[edge.producer].emplace_back(row, -1);
    of_group[edge.consumer].emplace_back(row++, 1);
  }
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    for (const auto& [row, coefficient] : of_group[group]) {
      program.add_to_column(row, coefficient);
    }
    program.add_to_column(end_row[group], -1);
    program.end_column(kInfinity, 0);
  }
  for (const int row : end_row) {
    program.add_to_column(row, 1);
  }
  program.end_column(kInfinity, 1);
  for (int row = 0; const GroupEdge& edge : edges) {
    if (is_data(edge)) {
      program.add_to_column(row, -problem.mean_transfer_us(edge.bytes));
      program.add_to_column(out_row[edge.producer], 1);
      program.add_to_column(in_row[edge.consumer], 1);
      program.end_column(1, 0);
    }
    ++row;
  }

  const std::vector<double> solution = solve(program, is_stopped);
  FavouriteChildren favourites{.child = IdVector<GroupId, GroupId>(problem.num_groups(), kNoGroup)};
  if (solution.empty()) {
    return favourites;
  }
  favourites.bound_us = solution.front();
  auto paid = solution.begin() + problem.num_groups() + 2;
  for (const GroupEdge& edge : edges) {
    if (is_data(edge) && *paid++ < kThreshold) {
      favourites.child[edge.producer] = edge.consumer;
    }
  }
  return favourites;
}

}  // namespace emplace::agents
