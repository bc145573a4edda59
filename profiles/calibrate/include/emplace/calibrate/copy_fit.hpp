#pragma once

// What copies between devices cost, and which of them get in each other's way.
//
// A copy of n bytes takes alpha + n / beta. Both are fitted to the relative errors with Huber's
// loss, as rooflines are (fit.hpp), so small and large copies count alike. A link of a cluster has
// this one line, and the errors are those of this line. If it does not fit well, because small
// copies take another path than large ones (through a staging buffer, in the launch itself), the
// sizes are cut in two and each part has a line of its own, which shows where the link is wrong and
// by how much.
//
// Two copies that run at the same time share something if they take longer than alone. The measure
// is (t_together - t_slow) / t_fast, where t_together is when the last of the two ends, and t_slow
// and t_fast what they take alone: 0 if each has its own path, 1 if one could just as well have
// waited for the other. It is computed for the sizes at which bandwidth matters, and the median
// decides: from kSharedFrom on the two share.

#include <emplace/calibrate/samples.hpp>
#include <emplace/profiles/cluster.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// From this share of a full delay on, two copies share a link.
inline constexpr double kSharedFrom = 0.5;

/// The cost of copies of at least some size: alpha + bytes / beta.
struct CopyPiece {
  std::int64_t from_bytes = 0;  ///< the smallest copy for which it holds
  double alpha_us = 0;
  double bytes_per_us = 0;
};

/// What copies from one device to another cost.
struct CopyCost {
  std::string from{};
  std::string to{};
  HostMemory host = HostMemory::kNone;
  double alpha_us = 0;              ///< of the one line for all sizes, as in a cluster's link
  double bytes_per_us = 0;          ///< never infinite: at most kMaxBytesPerUs
  std::vector<CopyPiece> pieces{};  ///< by size: two if one line does not fit well, else that line
  std::int32_t samples = 0;
  double mean_error = 0;  ///< of the one line: |predicted - measured| / measured
  double max_error = 0;
};

/// Whether two copies disturb each other.
struct CopyPair {
  std::string one{};    ///< "gpu:0>cpu:0"
  std::string other{};  ///< the reverse of `one`, or a copy between other devices
  HostMemory host = HostMemory::kNone;
  bool reverse = false;     ///< `other` is the way back: if shared, the link is half duplex
  bool shared = false;      ///< they share bandwidth
  double delay = 0;         ///< 0: none; 1: as if one waited for the other
  double bytes_per_us = 0;  ///< of both together, for large copies
  std::string why{};        ///< a sentence with the numbers that decided
};

/// All results about copies.
struct CopyFit {
  std::vector<CopyCost> costs{};  ///< by from, to and host
  std::vector<CopyPair> pairs{};  ///< by one, other and host; `one` is the smaller name
};

/// Fits costs to the samples of single copies, and finds which copies in pairs share a link. Copies
/// with too few measured sizes (two) are left out.
CopyFit fit_copies(std::span<const CopySample> samples);

/// Throws kUnsupported unless a fitted copy leads from each of `devices` to each other one, or two
/// copies do through a third device.
void expect_routes(std::span<const std::string> devices, const CopyFit& copies);

/// Describes a device of a cluster to be made.
struct MeasuredDevice {
  std::string name{};  ///< as in CopySample: "gpu:0"
  DeviceProfile profile{};
  bool placeable = true;
};

/// Returns a cluster of the `physical` model. Each copy that was fitted is a link of its own from
/// device to device, named "gpu:0>cpu:0", and copies that share bandwidth have one more in common,
/// named "shared:0" and so on. For copies from or to the host, those of `host` count. Devices
/// between which no copy was measured reach each other through a third; throws kUnsupported if
/// there is none. Devices of equal profiles share one. The cluster's notes begin with those given,
/// followed by what was concluded about the links.
Cluster fit_cluster(std::string name, std::string summary, Provenance provenance,
                    std::span<const MeasuredDevice> devices, const CopyFit& copies,
                    HostMemory host = HostMemory::kPinned);

}  // namespace emplace::calibrate
