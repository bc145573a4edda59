// What is written is read back as the same value.

#include "profiles/profile_texts.hpp"
#include "support/properties.hpp"

#include <emplace/base/error.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace emplace::profile_writer_test {
namespace {

using test::below;
using testing::HasSubstr;

constexpr std::uint64_t kFine = std::uint64_t{1} << 50;

// A part of one with more digits than any decimal of reasonable length.
double part() { return static_cast<double>(1 + below(kFine - 1)) / static_cast<double>(kFine); }

double relative_deviation() { return below(3) == 0 ? 0 : part(); }

std::string text() {
  static const std::string kLetters = "ab\"\\/\n\t<>&\x7f\x01 {}[]";
  std::string drawn = "x\xc3\xa4";
  for (std::uint64_t left = below(8); left > 0; --left) {
    drawn += kLetters[below(kLetters.size())];
  }
  return drawn;
}

std::int32_t count() { return static_cast<std::int32_t>(below(1000)); }

std::int64_t quantity() { return static_cast<std::int64_t>(below(std::uint64_t{1} << 62)); }

// Of a whole number per second.
double per_us() { return static_cast<double>(1'000'000 + below(kFine)) / 1e6; }

Roofline draw_roofline() {
  Roofline roofline = {.fixed_us = part() * static_cast<double>(below(1000)),
                       .compute_efficiency = std::max(4 * part(), 1e-6),
                       .memory_efficiency = std::max(part(), 1e-6),
                       .relative_deviation = relative_deviation(),
                       .form = static_cast<CostForm>(below(3))};
  if (roofline.form == CostForm::kTiles) {
    roofline.tile_efficiencies = {std::max(part(), 1e-6), std::max(part(), 1e-6)};
  }
  return roofline;
}

CostCase draw_case(OpClass op_class) {
  CostCase which = {.window = static_cast<std::int64_t>(below(4)),
                    .roofline = draw_roofline(),
                    .proxy = below(2) == 0 ? "" : text()};
  if (op_class == OpClass::kConvolution && below(2) == 0) {
    which.kinds = {"conv2d", "conv2d_backward_data"};
  }
  if (below(2) == 0) {
    which.precision = static_cast<Precision>(below(kPrecisions.size()));
  }
  return which;
}

PredictionError draw_error() {
  return {
      .predicted = count(), .mean = part(), .max = 1e3 * part(), .median = relative_deviation()};
}

ClassCalibration draw_class() {
  ClassCalibration calibration = {
      .measurements = count(), .interpolated = draw_error(), .roofline = draw_error()};
  if (below(2) == 0) {
    calibration.fitted = draw_error();
    ++calibration.fitted.predicted;
  }
  return calibration;
}

// Draws an entry for about half of the classes that may have one.
template <class Entry>
void draw_classes(std::array<std::optional<Entry>, kNumOpClasses>& entries, Entry (*draw)()) {
  for (std::size_t at = 0; at < static_cast<std::size_t>(OpClass::kOther); ++at) {
    if (below(2) == 0) {
      entries[at] = draw();
    }
  }
}

Provenance draw_provenance() {
  return {.kind = below(2) == 0 ? "measured" : "fitted",
          .source = text(),
          .date = text(),
          .notes = below(2) == 0 ? "" : text()};
}

DeviceProfile draw_profile(const std::string& name) {
  DeviceProfile profile;
  profile.name = name;
  profile.device_class = text();
  profile.summary = text();
  profile.peak_flops_per_us = per_us();
  profile.memory_bytes_per_us = per_us();
  profile.memory_bytes = 1 + static_cast<std::int64_t>(below(kFine));
  profile.context_bytes =
      std::min(1000 * static_cast<std::int64_t>(below(4)), profile.memory_bytes - 1);
  profile.reserve_bytes =
      std::min(1000 * static_cast<std::int64_t>(below(4)), profile.usable_bytes() - 1);
  profile.slots = 1 + static_cast<std::int32_t>(below(4));
  profile.launch_us = below(2) == 0 ? 0 : part();
  if (below(2) == 0) {
    profile.tf32_flops_per_us = per_us();
    profile.float16_flops_per_us = per_us();
    profile.multiprocessors = 1 + count();
  }
  draw_classes(profile.rooflines, draw_roofline);
  for (std::size_t at = 0; at < kNumOpClasses; ++at) {
    while (profile.rooflines[at] && below(3) == 0) {
      profile.cases[at].push_back(draw_case(static_cast<OpClass>(at)));
    }
  }
  profile.fallback = draw_roofline();
  std::vector<OpMeasurement> measurements;
  for (std::int64_t left = static_cast<std::int64_t>(below(5)); left > 0; --left) {
    const bool is_product = below(2) == 0;
    measurements.push_back({.key = {.kind = is_product ? "matmul" : text(),
                                    .shape = {left, quantity()},
                                    .type = static_cast<DataType>(below(9)),
                                    .attributes = is_product ? R"({"transA": true})" : ""},
                            .us = std::max(1e6 * part(), 1e-6),
                            .relative_deviation = relative_deviation(),
                            .runs = 1 + count(),
                            .library = text(),
                            .flops = quantity(),
                            .bytes = quantity()});
  }
  profile.measured = MeasurementTable(std::move(measurements));
  if (below(2) == 0) {
    profile.calibration = Calibration{.product = text(),
                                      .software = text(),
                                      .clocks = below(2) == 0 ? "" : text(),
                                      .date = text(),
                                      .runs_throttled = quantity(),
                                      .runs_lost = quantity()};
    draw_classes(profile.calibration->classes, draw_class);
    profile.calibration->all = draw_class();
  }
  profile.provenance = draw_provenance();
  return profile;
}

// Devices d0, d1, ... with profiles p0, p1, ..., which are numbered in the order of the devices.
Cluster draw_cluster() {
  Cluster cluster;
  cluster.name = text();
  cluster.summary = text();
  cluster.provenance = draw_provenance();
  cluster.transfer_model = static_cast<TransferModel>(below(3));
  cluster.math = static_cast<MathMode>(below(3));
  const auto num_devices = static_cast<DeviceId>(1 + below(4));
  for (DeviceId device = 0; device < num_devices; ++device) {
    const std::size_t profile = below(cluster.profiles.size() + 1);
    if (profile == cluster.profiles.size()) {
      cluster.profiles.push_back(draw_profile("p" + std::to_string(profile)));
    }
    cluster.devices.push_back({.name = "d" + std::to_string(device),
                               .profile = profile,
                               .placeable = device == 0 || below(2) == 0});
  }
  switch (cluster.transfer_model) {
    case TransferModel::kPlaceto:
      cluster.placeto = {.gap_after_op_us = part(),
                         .gap_after_transfer_us = part(),
                         .bytes_per_us = 1e3 * part() + 1};
      break;
    case TransferModel::kGrappler:
      cluster.grappler = {.latency_us = part(), .bytes_per_us = 1e3 * part() + 1};
      break;
    case TransferModel::kPhysical: {
      cluster.queue_order = static_cast<QueueOrder>(below(2));
      std::vector<Link> links;
      for (std::uint64_t link = 0; link < 1 + below(5); ++link) {
        links.push_back({.name = "l" + std::to_string(link),
                         .bytes_per_us = 1e5 * part() + 1,
                         .latency_us = part(),
                         .sharing = static_cast<LinkSharing>(below(3))});
      }
      const auto num_links = static_cast<std::int32_t>(links.size());
      cluster.topology = Topology(num_devices, std::move(links));
      for (DeviceId from = 0; from < num_devices; ++from) {
        for (DeviceId to = 0; to < num_devices; ++to) {
          if (from != to) {
            std::vector<std::int32_t> route;
            for (std::int32_t link = 0; link < num_links; ++link) {
              if (link == 0 || below(2) == 0) {
                route.insert(route.begin(), link);
              }
            }
            cluster.topology.set_route(from, to, std::move(route));
          }
        }
      }
    }
  }
  return cluster;
}

TEST(ProfileWriter, WritesWhatIsReadAsTheSameProfile) {
  test::expect_always([] {
    const DeviceProfile profile = draw_profile(text());
    RC_ASSERT(read_device_profile(write_device_profile_json(profile), "written") == profile);
  });
}

TEST(ProfileWriter, WritesWhatIsReadAsTheSameCluster) {
  test::expect_always([] {
    const Cluster cluster = draw_cluster();
    RC_ASSERT(read_cluster(write_cluster_json(cluster), "written") == cluster);
  });
}

TEST(ProfileWriter, ShippedProfilesAndClustersComeBackUnchanged) {
  for (const std::string& name : device_profile_names()) {
    const DeviceProfile profile = load_device_profile(name);
    EXPECT_EQ(read_device_profile(write_device_profile_json(profile), name), profile) << name;
  }
  for (const std::string& name : cluster_names()) {
    const Cluster cluster = load_cluster(name);
    EXPECT_EQ(read_cluster(write_cluster_json(cluster), name), cluster) << name;
  }
}

TEST(ProfileWriter, GivesEachMeasurementALine) {
  DeviceProfile profile = read_device_profile(kProfileText, "tiny.json");
  profile.measured = MeasurementTable({{.key = {.kind = "conv2d", .shape = {1, 2}},
                                        .us = 12.5,
                                        .relative_deviation = 0.1,
                                        .runs = 20,
                                        .library = "cudnn",
                                        .flops = 1'000'000'000,
                                        .bytes = 4},
                                       {.key = {.kind = "relu", .type = DataType::kBfloat16},
                                        .us = 1e-6,
                                        .runs = 1,
                                        .library = "emplace"}});
  EXPECT_EQ(write_device_profile_json(profile), R"({
  "schema": "emplace-device-profile",
  "version": 1,
  "name": "tiny",
  "device_class": "gpu-tiny",
  "summary": "a device for tests",
  "peak_flops_per_s": 2000000000000,
  "memory_bytes_per_s": 100000000000,
  "memory_bytes": 4000000000,
  "op_classes": {
    "convolution": {"fixed_us": 3, "compute_efficiency": 0.5, "memory_efficiency": 0.25}
  },
  "fallback": {"fixed_us": 10, "compute_efficiency": 0.125, "memory_efficiency": 0.0625},
  "measured": [
    {"kind": "conv2d", "shape": [1, 2], "us": 12.5, "relative_deviation": 0.1, "runs": 20, "library": "cudnn", "flops": 1000000000, "bytes": 4},
    {"kind": "relu", "shape": [], "type": "bfloat16", "us": 1e-06, "relative_deviation": 0, "runs": 1, "library": "emplace", "flops": 0, "bytes": 0}
  ],
  "provenance": {"kind": "measured", "source": "a test", "date": "2026-11-20", "notes": ""}
}
)");
}

TEST(ProfileWriter, RefusesNamesThatNoFileMayHave) {
  Cluster cluster = load_cluster("cpu-gpu");
  cluster.topology = Topology(2, {{.name = std::string(101, 'x'), .bytes_per_us = 1}});
  cluster.topology.set_route(0, 1, {0});
  cluster.topology.set_route(1, 0, {0});
  EXPECT_THAT(test::error_of(ErrorCode::kUnsupported, [&] { write_cluster_json(cluster); }),
              HasSubstr("a name of 101 bytes"));
}

TEST(LoadDeviceProfiles, TakesProfilesAndClustersByName) {
  EXPECT_EQ(load_device_profiles("k80"), std::vector{load_device_profile("k80")});
  EXPECT_EQ(load_device_profiles("dgx-h200"), load_cluster("dgx-h200").profiles);
  EXPECT_THAT(test::error_of(ErrorCode::kUnknownName, [&] { load_device_profiles("dgx-h20"); }),
              HasSubstr("'dgx-h200'"));
}

}  // namespace
}  // namespace emplace::profile_writer_test
