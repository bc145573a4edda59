#include "without_effect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace emplace {
namespace {

constexpr std::size_t kMaxNames = 4;

std::string listed(const std::vector<std::string>& names) {
  std::string text = names.front();
  const std::size_t shown = std::min(names.size(), kMaxNames);
  for (std::size_t at = 1; at < shown; ++at) {
    text += (at + 1 == names.size() ? " and " : ", ") + names[at];
  }
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

class Effects {
 public:
  Effects(const StepFacts& facts, const Explanation& explanation)
      : facts_(facts), explanation_(explanation), had_choice_(had_choice()) {}

  std::vector<std::string> sentences() {
    note_idle_devices();
    note_launches_and_slots();
    if (facts_.record().transfers.empty()) {
      note_no_transfers();
    } else if (is_physical()) {
      note_links();
    }
    note_queue_order();
    note_memory();
    return std::move(sentences_);
  }

 private:
  const Cluster& cluster() const { return facts_.problem().cluster(); }
  bool is_physical() const { return cluster().transfer_model == TransferModel::kPhysical; }
  const DeviceLoad& load(DeviceId device) const { return explanation_.devices[device]; }

  void note_idle_devices() {
    // The order of the critical path goes by the least cost of an op over all devices.
    if (is_physical() && cluster().queue_order == QueueOrder::kCriticalPath && had_choice_) {
      return;
    }
    std::vector<std::string> idle;
    for (DeviceId device = 0; device < facts_.problem().num_devices(); ++device) {
      if (load(device).ops == 0) {
        idle.push_back(facts_.problem().device(device).name);
      }
    }
    if (!idle.empty()) {
      sentences_.push_back(fmt::format("{} ran nothing: what {} could do has no effect.",
                                       listed(idle), idle.size() == 1 ? "it" : "they"));
    }
  }

  void note_launches_and_slots() {
    std::vector<std::string> roomy;
    std::vector<std::string> misunderstood;
    for (DeviceId device = 0; device < facts_.problem().num_devices(); ++device) {
      const Device& named = facts_.problem().device(device);
      const DeviceProfile& profile = facts_.problem().profile(device);
      if (load(device).ops == 0) {
        continue;
      }
      if (is_physical() && load(device).most_at_once < profile.slots && profile.slots > 1) {
        roomy.push_back(named.name);
      }
      if (!is_physical() && (profile.slots > 1 || profile.launch_us > 0)) {
        misunderstood.push_back(named.name);
      }
    }
    if (!roomy.empty()) {
      sentences_.push_back(fmt::format(
          "{} never had all slots in use at once: more slots have no effect.", listed(roomy)));
    }
    if (!misunderstood.empty()) {
      sentences_.push_back(
          fmt::format("The {} model ignores slots and launch_us: those of {} have no effect.",
                      to_string(cluster().transfer_model), listed(misunderstood)));
    }
  }

  void note_no_transfers() {
    if (facts_.problem().num_devices() > 1) {
      sentences_.emplace_back("Nothing was sent: no bandwidth or latency has an effect.");
    }
  }

  void note_links() {
    IdVector<std::int32_t, std::vector<const Transfer*>> carried(facts_.links().size());
    for (const Transfer& transfer : facts_.record().transfers) {
      for (const std::int32_t link : facts_.route(transfer)) {
        carried[link].push_back(&transfer);
      }
    }
    std::vector<std::string> unused;
    std::vector<std::string> never_limiting;
    for (std::int32_t link = 0; link < carried.end_id(); ++link) {
      if (carried[link].empty()) {
        unused.push_back(facts_.link(link).name);
      } else if (!could_limit(facts_.link(link), carried[link])) {
        never_limiting.push_back(facts_.link(link).name);
      }
    }
    if (!unused.empty()) {
      sentences_.push_back(fmt::format("Nothing crossed {}: {} {} no effect.", listed(unused),
                                       unused.size() == 1 ? "it" : "they",
                                       unused.size() == 1 ? "has" : "have"));
    }
    if (!never_limiting.empty()) {
      sentences_.push_back(
          fmt::format("Other links were always slower than {}: more bandwidth there has no effect.",
                      listed(never_limiting)));
    }
  }

  // Says whether a link could be what limits a transfer: the slowest of its route, or shared at a
  // moment at which the transfers, each as fast as its slowest link lets it be, want more.
  bool could_limit(const Link& link, const std::vector<const Transfer*>& transfers) const {
    struct Change {
      double at_us;
      double speed;
    };
    std::vector<Change> changes;
    for (const Transfer* transfer : transfers) {
      const double speed = facts_.link(facts_.slowest_link(*transfer)).bytes_per_us;
      if (speed >= link.bytes_per_us) {
        return true;
      }
      changes.push_back({facts_.asks_us(*transfer), speed});
      changes.push_back({transfer->end_us, -speed});
    }
    if (link.sharing == LinkSharing::kFatpipe) {
      return false;
    }
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return a.at_us < b.at_us || (a.at_us == b.at_us && a.speed < b.speed);
    });
    double wanted = 0;
    std::int32_t moving = 0;
    for (const Change& change : changes) {
      wanted += change.speed;
      moving += change.speed > 0 ? 1 : -1;
      if (moving > 1 && (link.sharing == LinkSharing::kFifo || wanted > link.bytes_per_us)) {
        return true;
      }
    }
    return false;
  }

  // A device had a choice if it started an op while another was ready and did not start. Where it
  // started an op that takes no time together with another, one of them may have waited.
  bool had_choice() const {
    IdVector<DeviceId, std::vector<double>> starts_us(explanation_.devices.size());
    for (OpId op = 0; op < facts_.problem().num_ops(); ++op) {
      starts_us[facts_.device_of(op)].push_back(facts_.start_us(op));
    }
    for (std::vector<double>& starts : starts_us) {
      std::sort(starts.begin(), starts.end());
    }
    for (OpId op = 0; op < facts_.problem().num_ops(); ++op) {
      const double start_us = facts_.start_us(op);
      const double ready_us = facts_.last_arrival(op).at_us;
      const std::vector<double>& starts = starts_us[facts_.device_of(op)];
      const auto next = std::lower_bound(starts.begin(), starts.end(), ready_us);
      if (start_us - ready_us > rounding_us(start_us) && start_us - *next > rounding_us(start_us)) {
        return true;
      }
      const auto together = std::equal_range(starts.begin(), starts.end(), start_us);
      if (!(facts_.free_us(op) > start_us) && together.second - together.first > 1) {
        return true;
      }
    }
    return false;
  }

  void note_queue_order() {
    if (is_physical() && !had_choice_) {
      sentences_.emplace_back(
          "No device had a choice between ready ops: queue_order has no effect.");
    }
  }

  void note_memory() {
    double fullest = 0;
    for (DeviceId device = 0; device < facts_.problem().num_devices(); ++device) {
      const auto bytes = static_cast<double>(facts_.record().peak_bytes[device]);
      const auto capacity = static_cast<double>(facts_.problem().memory_bytes(device));
      fullest = bytes > 0 ? std::max(fullest, bytes / capacity) : fullest;
    }
    if (fullest < 0.5) {
      sentences_.push_back(
          fmt::format("No memory was more than {:.0f} % full: capacities have no effect.",
                      std::ceil(100 * fullest)));
    }
  }

  const StepFacts& facts_;
  const Explanation& explanation_;
  bool had_choice_;
  std::vector<std::string> sentences_;
};

}  // namespace

std::vector<std::string> parameters_without_effect(const StepFacts& facts,
                                                   const Explanation& explanation) {
  return Effects(facts, explanation).sentences();
}

}  // namespace emplace
