#include "model/assemble.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/repeated_steps.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// Says that an op of a step waits for one of an earlier step.
struct Wait {
  OpId before;
  OpId after;
};

// Returns the updates of variables, each before the variable of a later step.
std::vector<Wait> updates_of(const OpGraph& step) {
  std::vector<Wait> updates;
  for (const auto edge : boost::make_iterator_range(boost::edges(step))) {
    const auto variable = static_cast<OpId>(boost::source(edge, step));
    const auto update = static_cast<OpId>(boost::target(edge, step));
    if (step[index_of(variable)].kind == "variable" &&
        step[index_of(update)].phase == Phase::kUpdate) {
      updates.push_back({update, variable});
    }
  }
  return updates;
}

// Returns the ops with which a step begins, those that wait for nothing but `constants`, and not
// these themselves.
std::vector<OpId> first_ops(const OpGraph& step, const IdVector<OpId, bool>& is_constant) {
  std::vector<OpId> first;
  for (OpId op = 0; op < num_ops(step); ++op) {
    const auto inputs = boost::make_iterator_range(boost::in_edges(index_of(op), step));
    if (step[index_of(op)].kind != "variable" && std::ranges::all_of(inputs, [&](auto edge) {
          return is_constant[static_cast<OpId>(boost::source(edge, step))];
        })) {
      first.push_back(op);
    }
  }
  return first;
}

std::vector<OpId> last_ops(const OpGraph& step) {
  std::vector<OpId> last;
  for (OpId op = 0; op < num_ops(step); ++op) {
    if (boost::out_degree(index_of(op), step) == 0 && step[index_of(op)].kind != "variable") {
      last.push_back(op);
    }
  }
  return last;
}

// Throws unless so many of something in each of `steps` steps are at most `limit`.
void expect_at_most(std::int64_t limit, const OpGraph& step, std::int64_t steps, std::int64_t count,
                    std::string_view what) {
  if (count > limit / steps) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("graph '{}': {} steps with {} {} each are too many",
                            step[boost::graph_bundle].name, steps, count, what));
  }
}

constexpr std::int64_t kMostNumbers = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostOps = 5'000'000;  // some gigabytes

}  // namespace

OpGraph repeated_steps(const OpGraph& step, std::int64_t count, std::int64_t in_flight) {
  EMPLACE_CHECK(count > 0 && in_flight > 0, "{} steps, {} in flight", count, in_flight);
  const OpId size = num_ops(step);
  const std::int64_t micro_batches = num_micro_batches(step);
  std::int64_t priorities = 1;
  for (OpId op = 0; op < size; ++op) {
    priorities = std::max(priorities, std::int64_t{step[index_of(op)].priority} + 1);
  }
  expect_at_most(kMostNumbers, step, count, micro_batches, "micro-batches");
  expect_at_most(kMostNumbers, step, count, priorities, "priorities");
  expect_at_most(kMostOps, step, count, size, "ops");

  std::vector<Wait> waits = updates_of(step);
  IdVector<OpId, bool> is_updated(index_of(size), false);
  for (const Wait& wait : waits) {
    is_updated[wait.after] = true;
  }
  IdVector<OpId, bool> is_constant(index_of(size));
  for (OpId op = 0; op < size; ++op) {
    is_constant[op] = step[index_of(op)].kind == "variable" && !is_updated[op];
  }
  const std::vector<OpId> first = first_ops(step, is_constant);
  const std::vector<OpId> last = last_ops(step);
  expect_at_most(kMostOps, step, count, std::ssize(first) * std::ssize(last),
                 "pairs of a first and a last op");
  for (const OpId before : last) {
    for (const OpId after : first) {
      waits.push_back({before, after});
    }
  }

  OpGraph graph;
  graph[boost::graph_bundle] = step[boost::graph_bundle];
  for (std::int64_t at = 0; at < count; ++at) {
    for (OpId op = 0; op < size; ++op) {
      Op copy = step[index_of(op)];
      if (copy.colocation.empty()) {
        copy.colocation = copy.name;
      }
      copy.micro_batch += static_cast<std::int32_t>(at * micro_batches);
      copy.priority += static_cast<std::int32_t>((count - 1 - at) * priorities);
      if (at == 0) {
        if (is_updated[op]) {
          copy.persistent_bytes = product({in_flight, copy.persistent_bytes});
        }
      } else {
        copy.name += fmt::format("~{}", at);
        copy.parameters = 0;
        copy.persistent_bytes = 0;
      }
      boost::add_vertex(copy, graph);
    }
    const auto here = static_cast<OpId>(at * std::int64_t{size});
    for (OpId op = 0; op < size; ++op) {
      for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(op), step))) {
        const auto producer = static_cast<OpId>(boost::source(edge, step));
        add_dependency(graph, (is_constant[producer] ? OpId(0) : here) + producer,
                       step[edge].output, here + op);
      }
    }
    if (at >= in_flight) {
      const auto earlier = static_cast<OpId>((at - in_flight) * std::int64_t{size});
      for (const Wait& wait : waits) {
        add_dependency(graph, earlier + wait.before, Dependency::kControl, here + wait.after);
      }
    }
  }
  validate(graph, graph[boost::graph_bundle].name);
  return take(graph);
}

std::int64_t num_micro_batches(const OpGraph& step) {
  std::int64_t count = 1;
  for (OpId op = 0; op < num_ops(step); ++op) {
    count = std::max(count, std::int64_t{step[index_of(op)].micro_batch} + 1);
  }
  return count;
}

}  // namespace emplace
