#include "explanation_parts.hpp"

#include <emplace/graphs/check.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

double length_us(const PathSegment& segment) { return segment.to_us - segment.from_us; }

void share_path(const StepFacts& facts, Explanation& explanation) {
  std::map<std::string, OpKindShare> kinds;
  std::vector<bool> is_counted(index(facts.problem().num_ops()));
  for (const PathSegment& segment : explanation.path) {
    const double us = length_us(segment);
    PathShare& of_kind = explanation.path_kinds[static_cast<std::size_t>(segment.kind)];
    of_kind.path_us += us;
    of_kind.queued_us += segment.is_queued ? us : 0;
    if (segment.link != PathSegment::kNone) {
      explanation.links[index(segment.link)].path_us += us;
      continue;
    }
    explanation.devices[index(segment.device)].path_us += us;
    OpKindShare& share = kinds[facts.problem().graph()[index(segment.op)].kind];
    share.path_us += us;
    share.ops += is_counted[index(segment.op)] ? 0 : 1;
    is_counted[index(segment.op)] = true;
  }
  for (auto& [kind, share] : kinds) {
    share.kind = kind;
    explanation.op_kinds.push_back(share);
  }
  std::stable_sort(
      explanation.op_kinds.begin(), explanation.op_kinds.end(),
      [](const OpKindShare& a, const OpKindShare& b) { return a.path_us > b.path_us; });
}

// Adds to `saved_us` what a segment would lose if one of the links of its route took no time: its
// latency, the wait for it, and, if it is the slowest, what makes it slower than the next.
void add_link_gains(const StepFacts& facts, const PathSegment& segment,
                    std::vector<double>& saved_us) {
  const Transfer& transfer = facts.transfer(segment.transfer);
  const std::int32_t next = facts.slowest_link(transfer, segment.link);
  switch (segment.kind) {
    case PathKind::kLatency:
      for (const std::int32_t link : facts.route(transfer)) {
        saved_us[index(link)] +=
            length_us(segment) * facts.link(link).latency_us / facts.latency_us(transfer);
      }
      break;
    case PathKind::kTransfer:
      saved_us[index(segment.link)] +=
          next == StepFacts::kNone
              ? length_us(segment)
              : length_us(segment) *
                    (1 - facts.link(segment.link).bytes_per_us / facts.link(next).bytes_per_us);
      break;
    default:
      saved_us[index(segment.link)] += length_us(segment);
  }
}

std::vector<Gain> gains_of(const StepFacts& facts, const Explanation& explanation) {
  std::vector<double> saved_us(explanation.links.size());
  double links_us = 0;
  for (const PathSegment& segment : explanation.path) {
    if (segment.link != PathSegment::kNone) {
      links_us += length_us(segment);
      add_link_gains(facts, segment, saved_us);
    }
  }
  const auto kind_us = [&](PathKind kind) {
    return explanation.path_kinds[static_cast<std::size_t>(kind)].path_us;
  };
  std::vector<Gain> gains{{Gain::What::kAllLinks, 0, links_us},
                          {Gain::What::kLaunches, 0, kind_us(PathKind::kLaunch)},
                          {Gain::What::kGaps, 0, kind_us(PathKind::kGap)}};
  for (std::size_t device = 0; device < explanation.devices.size(); ++device) {
    gains.push_back({Gain::What::kDevice, static_cast<std::int32_t>(device),
                     explanation.devices[device].path_us});
  }
  for (std::size_t link = 0; link < saved_us.size(); ++link) {
    gains.push_back({Gain::What::kLink, static_cast<std::int32_t>(link), saved_us[link]});
  }
  std::erase_if(gains, [](const Gain& gain) { return !(gain.at_most_us > 0); });
  std::stable_sort(gains.begin(), gains.end(),
                   [](const Gain& a, const Gain& b) { return a.at_most_us > b.at_most_us; });
  return gains;
}

}  // namespace

std::string_view to_string(PathKind kind) {
  switch (kind) {
    case PathKind::kCompute:
      return "compute";
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

std::string_view to_string(Gain::What what) {
  switch (what) {
    case Gain::What::kDevice:
      return "device";
    case Gain::What::kLink:
      return "link";
    case Gain::What::kAllLinks:
      return "all-links";
    case Gain::What::kLaunches:
      return "launches";
    case Gain::What::kGaps:
      return "gaps";
  }
  EMPLACE_CHECK(false, "no such gain");
}

Explanation explain(const Problem& problem, const StepRecord& record) {
  const StepFacts facts(problem, record);
  Explanation explanation{.makespan_us = record.makespan_us};
  add_loads(facts, explanation);
  explanation.path = critical_path(facts);
  share_path(facts, explanation);
  explanation.gains = gains_of(facts, explanation);
  explanation.overflow = first_overflow(problem, record);
  explanation.without_effect = parameters_without_effect(facts, explanation);
  return explanation;
}

}  // namespace emplace
