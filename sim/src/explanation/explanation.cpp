#include "parts.hpp"

#include <emplace/base/check.hpp>
#include <emplace/sim/explanation.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace emplace {
namespace {

void share_path(const StepFacts& facts, Explanation& explanation) {
  std::map<std::string, OpKindShare> kinds;
  IdVector<OpId, bool> is_counted(facts.problem().num_ops());
  for (const PathSegment& segment : explanation.path) {
    const double us = segment.length_us();
    PathShare& of_kind = explanation.path_kinds[static_cast<std::size_t>(segment.kind)];
    of_kind.path_us += us;
    of_kind.queued_us += segment.is_queued ? us : 0;
    if (segment.link != PathSegment::kNone) {
      explanation.links[segment.link].path_us += us;
      continue;
    }
    if (segment.kind == PathKind::kHost) {
      continue;  // no work of the device or the op
    }
    explanation.devices[segment.device].path_us += us;
    OpKindShare& share = kinds[facts.problem().op(segment.op).kind];
    share.path_us += us;
    share.ops += is_counted[segment.op] ? 0 : 1;
    is_counted[segment.op] = true;
  }
  for (auto& [kind, share] : kinds) {
    share.kind = kind;
    explanation.op_kinds.push_back(share);
  }
  std::stable_sort(
      explanation.op_kinds.begin(), explanation.op_kinds.end(),
      [](const OpKindShare& a, const OpKindShare& b) { return a.path_us > b.path_us; });
}

}  // namespace

std::string_view to_string(PathKind kind) {
  switch (kind) {
    case PathKind::kCompute:
      return "compute";
    case PathKind::kHost:
      return "host";
    case PathKind::kLaunch:
      return "launch";
    case PathKind::kGap:
      return "gap";
    case PathKind::kLatency:
      return "latency";
    case PathKind::kTransfer:
      return "transfer";
    case PathKind::kLinkWait:
      return "link-wait";
  }
  EMPLACE_CHECK(false, "no such kind of segment");
}

Explanation explain(const Problem& problem, const StepRecord& record) {
  const StepFacts facts(problem, record);
  Explanation explanation{.makespan_us = record.makespan_us};
  add_loads(facts, explanation);
  explanation.path = critical_path(facts);
  share_path(facts, explanation);
  explanation.gains = gains_of(facts, explanation);
  explanation.overflow = first_overflow(problem, record);
  return explanation;
}

}  // namespace emplace
