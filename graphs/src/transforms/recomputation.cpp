#include "losses.hpp"
#include "model/assemble.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/recomputation.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emplace {
namespace {

using Segment = std::int32_t;
constexpr Segment kNone = -1;

bool is_kept(const Op& op) { return op.kind == "variable" || op.kind == "input"; }

class Recomputer {
 public:
  Recomputer(const OpGraph& step, std::string pattern)
      : step_(step),
        pattern_(std::move(pattern)),
        segment_of_(boost::num_vertices(step), kNone),
        copy_of_(boost::num_vertices(step), -1) {}

  OpGraph run() && {
    find_segments();
    find_copies();
    graph_[boost::graph_bundle] = step_[boost::graph_bundle];
    for (OpId op = 0; op < num_ops(step_); ++op) {
      boost::add_vertex(op_at(op), graph_);
    }
    for (OpId op = 0; op < num_ops(step_); ++op) {
      if (is_copied_[op]) {
        Op copy = op_at(op);
        copy.name += "/recompute";
        copy.phase = Phase::kBackward;
        copy.colocation.clear();
        copy_of_[op] = static_cast<OpId>(boost::add_vertex(copy, graph_));
      }
    }
    connect();
    validate(graph_, graph_[boost::graph_bundle].name);
    return take(graph_);
  }

 private:
  const Op& op_at(OpId op) const { return step_[index_of(op)]; }

  auto inputs_of(OpId op) const {
    return boost::make_iterator_range(boost::in_edges(index_of(op), step_));
  }
  auto uses_of(OpId op) const {
    return boost::make_iterator_range(boost::out_edges(index_of(op), step_));
  }

  // Returns the outermost scope of an op that the pattern fits; empty if none does.
  std::string_view outermost_scope(const std::string& scope) const {
    for (std::size_t end = 0; end != std::string::npos && !scope.empty();) {
      end = scope.find('/', end == 0 ? 0 : end + 1);
      const std::string prefix = scope.substr(0, end);
      if (fnmatch(pattern_.c_str(), prefix.c_str(), FNM_PATHNAME | FNM_NOESCAPE) == 0) {
        return std::string_view(scope).substr(0, end);
      }
    }
    return {};
  }

  // Numbers the segments, and says in which one each op is, in the backward pass, too.
  void find_segments() {
    std::unordered_map<std::string_view, Segment> numbers;
    std::set<Segment> with_loss;
    for (OpId op = 0; op < num_ops(step_); ++op) {
      if (op_at(op).phase == Phase::kUpdate || is_kept(op_at(op))) {
        continue;
      }
      if (const std::string_view scope = outermost_scope(op_at(op).scope); !scope.empty()) {
        segment_of_[op] =
            numbers.try_emplace(scope, static_cast<Segment>(numbers.size())).first->second;
        if (computes_loss(op)) {
          with_loss.insert(segment_of_[op]);
        }
      }
    }
    if (numbers.empty()) {
      fail_without_scopes();
    }
    num_segments_ = static_cast<Segment>(numbers.size());
    for (Segment& segment : segment_of_) {
      if (with_loss.contains(segment)) {
        segment = kNone;
      }
    }
  }

  [[noreturn]] void fail_without_scopes() const {
    std::set<std::string> scopes;
    for (OpId op = 0; op < num_ops(step_); ++op) {
      scopes.insert(op_at(op).scope.substr(0, op_at(op).scope.find('/')));
    }
    scopes.erase("");
    throw Error(ErrorCode::kUsage,
                fmt::format("graph {}: recompute is '{}', expected none, all, or a name of scopes "
                            "of the forward pass, such as {}",
                            step_[boost::graph_bundle].name, pattern_, fmt::join(scopes, ", ")));
  }

  // Says whether a forward op is a loss, which only the backward pass may read.
  bool computes_loss(OpId op) const {
    return op_at(op).phase == Phase::kForward &&
           std::ranges::find(kLosses, op_at(op).kind) != kLosses.end();
  }

  // Says whether the step keeps a tensor for something outside the segment of its producer.
  bool is_read_outside(OpId producer, std::int32_t output) const {
    return std::ranges::any_of(uses_of(producer), [&](auto edge) {
      const auto reader = static_cast<OpId>(boost::target(edge, step_));
      return step_[edge].output == output && segment_of_[reader] != segment_of_[producer];
    });
  }

  // Says whether `reader` reads what a copy makes, if it, or a copy of it, runs in the backward
  // pass.
  bool is_made_again(OpGraph::edge_descriptor edge) const {
    const auto producer = static_cast<OpId>(boost::source(edge, step_));
    const std::int32_t output = step_[edge].output;
    const Segment segment = segment_of_[producer];
    return output != Dependency::kControl && segment != kNone &&
           op_at(producer).phase == Phase::kForward &&
           segment_of_[boost::target(edge, step_)] == segment && !is_read_outside(producer, output);
  }

  void find_copies() {
    find_entries();
    is_copied_.assign(boost::num_vertices(step_), false);
    std::vector<OpId> wanted;
    const auto want_inputs = [&](OpId op) {
      for (const auto edge : inputs_of(op)) {
        const auto producer = static_cast<OpId>(boost::source(edge, step_));
        if (is_made_again(edge) && !is_copied_[producer] &&
            !entries_[index_of(segment_of_[producer])].empty()) {
          is_copied_[producer] = true;
          wanted.push_back(producer);
        }
      }
    };
    for (OpId op = 0; op < num_ops(step_); ++op) {
      if (op_at(op).phase == Phase::kBackward) {
        want_inputs(op);
      }
    }
    while (!wanted.empty()) {
      const OpId op = wanted.back();
      wanted.pop_back();
      want_inputs(op);
    }
  }

  // Finds what the backward pass of each segment reads of the backward pass outside. Where
  // a segment is entered again (a layer of an unrolled network), only what comes before it counts.
  void find_entries() {
    std::vector<std::vector<OpId>> members(index_of(num_segments_));
    for (OpId op = 0; op < num_ops(step_); ++op) {
      if (op_at(op).phase == Phase::kBackward && segment_of_[op] != kNone) {
        members[index_of(segment_of_[op])].push_back(op);
      }
    }
    IdVector<OpId, Segment> reached_from(boost::num_vertices(step_), kNone);
    for (Segment segment = 0; segment < num_segments_; ++segment) {
      std::vector<OpId> open = members[index_of(segment)];
      for (const OpId op : open) {
        reached_from[op] = segment;
      }
      while (!open.empty()) {
        const OpId op = open.back();
        open.pop_back();
        for (const auto edge : uses_of(op)) {
          const auto reader = static_cast<OpId>(boost::target(edge, step_));
          if (std::exchange(reached_from[reader], segment) != segment) {
            open.push_back(reader);
          }
        }
      }
      std::set<OpId> entries;
      for (const OpId op : members[index_of(segment)]) {
        for (const auto edge : inputs_of(op)) {
          const auto producer = static_cast<OpId>(boost::source(edge, step_));
          if (op_at(producer).phase == Phase::kBackward && reached_from[producer] != segment) {
            entries.insert(producer);
          }
        }
      }
      entries_.emplace_back(entries.begin(), entries.end());
    }
  }

  void connect() {
    for (OpId op = 0; op < num_ops(step_); ++op) {
      for (const auto edge : inputs_of(op)) {
        const auto producer = static_cast<OpId>(boost::source(edge, step_));
        const bool reads_copy =
            op_at(op).phase == Phase::kBackward && is_made_again(edge) && copy_of_[producer] >= 0;
        add_dependency(graph_, reads_copy ? copy_of_[producer] : producer, step_[edge].output, op);
      }
    }
    for (OpId op = 0; op < num_ops(step_); ++op) {
      if (copy_of_[op] >= 0) {
        connect_copy(op);
      }
    }
  }

  // A copy that reads no other copy waits for the gradients.
  void connect_copy(OpId op) {
    bool is_first = true;
    for (const auto edge : inputs_of(op)) {
      const auto producer = static_cast<OpId>(boost::source(edge, step_));
      const bool reads_copy = is_made_again(edge) && copy_of_[producer] >= 0;
      is_first = is_first && !reads_copy;
      add_dependency(graph_, reads_copy ? copy_of_[producer] : producer, step_[edge].output,
                     copy_of_[op]);
    }
    if (is_first) {
      for (const OpId entry : entries_[index_of(segment_of_[op])]) {
        add_dependency(graph_, entry, Dependency::kControl, copy_of_[op]);
      }
    }
  }

  const OpGraph& step_;
  const std::string pattern_;
  OpGraph graph_;
  IdVector<OpId, Segment> segment_of_;  // kNone: of none
  Segment num_segments_ = 0;
  std::vector<std::vector<OpId>> entries_;  // by segment
  IdVector<OpId, bool> is_copied_;
  IdVector<OpId, OpId> copy_of_;  // -1: none
};

}  // namespace

OpGraph recompute(OpGraph step, const std::string& scopes) {
  if (scopes == "none") {
    return take(step);
  }
  return Recomputer(step, scopes == "all" ? "*" : scopes).run();
}

ParamSpec recompute_parameter() {
  return {.name = "recompute",
          .default_value = std::string("none"),
          .summary =
              "scopes whose forward ops run again in the backward pass instead of keeping "
              "their results: none, all, or a name with *"};
}

}  // namespace emplace
