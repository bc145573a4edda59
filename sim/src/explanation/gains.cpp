#include "parts.hpp"

#include <emplace/base/check.hpp>

#include <algorithm>
#include <vector>

namespace emplace {
namespace {

// Knows when transfers moved over each link.
class LinkTraffic {
 public:
  explicit LinkTraffic(const StepFacts& facts)
      : facts_(facts), begins_us_(facts.links().size()), ends_us_(facts.links().size()) {
    for (const Transfer& transfer : facts.record().transfers) {
      for (const std::int32_t link : facts.route(transfer)) {
        begins_us_[link].push_back(facts.asks_us(transfer));
        ends_us_[link].push_back(transfer.end_us);
      }
    }
    for (std::int32_t link = 0; link < begins_us_.end_id(); ++link) {
      std::sort(begins_us_[link].begin(), begins_us_[link].end());
      std::sort(ends_us_[link].begin(), ends_us_[link].end());
    }
  }

  // Says whether others moved over a link while `transfer` did.
  bool is_shared(std::int32_t link, const Transfer& transfer) const {
    const auto begun =
        std::lower_bound(begins_us_[link].begin(), begins_us_[link].end(), transfer.end_us) -
        begins_us_[link].begin();
    const auto ended =
        std::upper_bound(ends_us_[link].begin(), ends_us_[link].end(), facts_.asks_us(transfer)) -
        ends_us_[link].begin();
    return begun - ended > 1;
  }

 private:
  const StepFacts& facts_;
  IdVector<std::int32_t, std::vector<double>> begins_us_;
  IdVector<std::int32_t, std::vector<double>> ends_us_;
};

// Adds to `saved_us` what a segment would lose if one of the links of its route took no time: its
// latency, the wait for it, and, if it is the slowest, what makes it slower than the next. Each
// link that others used meanwhile may be what a transfer waited for.
void add_link_gains(const StepFacts& facts, const LinkTraffic& traffic, const PathSegment& segment,
                    IdVector<std::int32_t, double>& saved_us) {
  const Transfer& transfer = facts.transfer(segment.transfer);
  const std::int32_t next = facts.slowest_link(transfer, segment.link);
  switch (segment.kind) {
    case PathKind::kLatency:
      for (const std::int32_t link : facts.route(transfer)) {
        saved_us[link] +=
            segment.length_us() * facts.link(link).latency_us / facts.latency_us(transfer);
      }
      break;
    case PathKind::kTransfer:
      saved_us[segment.link] +=
          next == StepFacts::kNone
              ? segment.length_us()
              : segment.length_us() *
                    (1 - facts.link(segment.link).bytes_per_us / facts.link(next).bytes_per_us);
      break;
    case PathKind::kLinkWait:
      for (const std::int32_t link : facts.route(transfer)) {
        const bool may_limit =
            link == segment.link || (facts.link(link).sharing != LinkSharing::kFatpipe &&
                                     traffic.is_shared(link, transfer));
        saved_us[link] += may_limit ? segment.length_us() : 0;
      }
      break;
    default:
      saved_us[segment.link] += segment.length_us();
  }
}

}  // namespace

std::vector<Gain> gains_of(const StepFacts& facts, const Explanation& explanation) {
  const LinkTraffic traffic(facts);
  IdVector<std::int32_t, double> saved_us(explanation.links.size());
  double links_us = 0;
  for (const PathSegment& segment : explanation.path) {
    if (segment.link != PathSegment::kNone) {
      links_us += segment.length_us();
      add_link_gains(facts, traffic, segment, saved_us);
    }
  }
  const auto kind_us = [&](PathKind kind) {
    return explanation.path_kinds[static_cast<std::size_t>(kind)].path_us;
  };
  std::vector<Gain> gains{
      {Gain::What::kAllLinks, 0, links_us},
      {Gain::What::kLaunches, 0, kind_us(PathKind::kHost) + kind_us(PathKind::kLaunch)},
      {Gain::What::kGaps, 0, kind_us(PathKind::kGap)}};
  for (DeviceId device = 0; device < explanation.devices.end_id(); ++device) {
    gains.push_back({Gain::What::kDevice, device, explanation.devices[device].path_us});
  }
  for (std::int32_t link = 0; link < saved_us.end_id(); ++link) {
    gains.push_back({Gain::What::kLink, link, saved_us[link]});
  }
  std::erase_if(gains, [](const Gain& gain) { return !(gain.at_most_us > 0); });
  std::stable_sort(gains.begin(), gains.end(),
                   [](const Gain& a, const Gain& b) { return a.at_most_us > b.at_most_us; });
  return gains;
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

}  // namespace emplace
