#pragma once

// What bounded a simulated step.
//
// The critical path is found by going back from the last event of the step. An op started when it
// did because its last input came or the host launched it, or, if it was ready before, because its
// device ended another op.
// A transfer ended when it did because of its latency, its bytes, and others on its links; it
// started when its producer ended, or was admitted when the transfer before it was done. So the
// path is a chain of ops and transfers, each of which waited for the one before, and its segments
// cover [0, makespan] without a gap.
//
// Had a device, a link or the launches taken no time, and everything kept its order, the step would
// have been shorter by at most the time that they spend on the path; by less if another path then
// becomes the longest. Complexity: O((ops + transfers x links of a route) log).

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/memory_curve.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// What happened during a segment of the critical path.
enum class PathKind : std::uint8_t {
  kCompute,   ///< an op ran
  kHost,      ///< the host launched ops, one after the other
  kLaunch,    ///< a device began the kernels of an op
  kGap,       ///< a device or channel paused (`placeto`)
  kLatency,   ///< a transfer waited for its first byte
  kTransfer,  ///< its bytes moved, at the speed of the slowest link of its route
  kLinkWait,  ///< it moved more slowly, because others shared a link
};

/// The number of kinds, for arrays indexed by PathKind.
inline constexpr std::size_t kNumPathKinds = 7;

/// Returns "compute", "host", "launch", "gap", "latency", "transfer" or "link-wait".
std::string_view to_string(PathKind kind);

/// Describes a segment of the critical path. Exactly one of `device` and `link` is set: of
/// launches by the host, the device for which the op was launched.
struct PathSegment {
  static constexpr std::int32_t kNone = -1;

  PathKind kind = PathKind::kCompute;
  /// Whether the next op or transfer on the path was ready all the time and queued for the device
  /// or link.
  bool is_queued = false;
  double from_us = 0;
  double to_us = 0;
  OpId op = 0;                    ///< the op that ran, or whose output was sent
  DeviceId device = kNone;        ///< the device that ran it
  std::int32_t link = kNone;      ///< an index into Explanation::links: the slowest link of the
                                  ///< route, or the most loaded one while others shared it
  std::int32_t transfer = kNone;  ///< an index into StepRecord::transfers

  /// Returns how long it lasts.
  double length_us() const { return to_us - from_us; }
};

/// Returns the critical path in the order of time; only segments longer than 0. Requires: `record`
/// is a run on `problem`.
std::vector<PathSegment> critical_path(const Problem& problem, const StepRecord& record);

/// How much of the critical path is of one kind.
struct PathShare {
  double path_us = 0;
  double queued_us = 0;  ///< of it, in segments that are queued
};

/// Describes what one device did in a step.
struct DeviceLoad {
  double path_us = 0;      ///< on the critical path
  double busy_us = 0;      ///< sum over its ops
  double utilization = 0;  ///< busy time by makespan and slots
  /// Time in which it ran nothing while an output that it needed was being transferred.
  double transfer_wait_us = 0;
  std::int64_t ops = 0;
  std::int32_t most_at_once = 0;  ///< ops that ran at the same time
};

/// Describes what one link carried in a step: a link of the cluster, or, in the `placeto` and
/// `grappler` models, the outgoing channel of a device or of a pair of devices.
struct LinkLoad {
  std::string name{};
  double path_us = 0;  ///< on the critical path
  std::int64_t transfers = 0;
  std::int64_t bytes = 0;
  /// Bytes over bandwidth times makespan; for a fatpipe link, the share of time in which any bytes
  /// move.
  double utilization = 0;
};

/// Describes the share of ops of one kind in the critical path.
struct OpKindShare {
  std::string kind{};
  double path_us = 0;
  std::int64_t ops = 0;  ///< on the path
};

/// The most by which the step could be shorter if something took no time.
struct Gain {
  enum class What : std::uint8_t { kDevice, kLink, kAllLinks, kLaunches, kGaps };

  What what = What::kDevice;
  std::int32_t index = 0;  ///< of the device or link
  double at_most_us = 0;
};

/// Returns "device", "link", "all-links", "launches" or "gaps".
std::string_view to_string(Gain::What what);

/// What bounded a step.
struct Explanation {
  double makespan_us = 0;
  std::vector<PathSegment> path{};
  std::array<PathShare, kNumPathKinds> path_kinds{};  ///< by PathKind
  IdVector<DeviceId, DeviceLoad> devices{};
  IdVector<std::int32_t, LinkLoad> links{};
  std::vector<OpKindShare> op_kinds{};  ///< by time, longest first
  double exposed_us = 0;                ///< no op ran while a transfer was under way
  std::vector<Gain> gains{};            ///< largest first
  std::optional<MemoryOverflow> overflow{};
};

/// Explains a step. Requires: `record` is a run on `problem`.
Explanation explain(const Problem& problem, const StepRecord& record);

}  // namespace emplace
