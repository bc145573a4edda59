// Rows are drawn from rooflines that the test knows, on a shipped device's peaks.

#include "support/errors.hpp"

#include <emplace/calibrate/sample_fit.hpp>
#include <emplace/profiles/cluster.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/source_path.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace emplace::calibrate::sample_fit_test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTable = R"(# a comment
#source,lab,a laboratory,1a2b,MIT,none
#source,host,a host,3c4d,MIT,floor
device,kind,shape,type,flops,bytes,us,source
v100,matmul,512x1024x768,float32,805306368,8912896,78.25,lab
v100-pcie,relu,100,float16,100,400,30,host
)";

std::string error_of(std::string_view text) {
  return test::error_of([&] { parse_sample_table(text, "table.csv"); });
}

std::string with(std::string_view what, std::string_view instead) {
  std::string text(kTable);
  return text.replace(text.find(what), what.size(), instead);
}

TEST(SampleTable, IsReadAsItStands) {
  const SampleTable table = parse_sample_table(kTable, "table.csv");
  ASSERT_EQ(table.sources.size(), 2U);
  EXPECT_EQ(table.sources[1], (SampleSource{.name = "host",
                                            .location = "a host",
                                            .version = "3c4d",
                                            .licence = "MIT",
                                            .has_launch_floor = true}));
  ASSERT_EQ(table.samples.size(), 2U);
  EXPECT_EQ(table.samples[0].device, "v100");
  EXPECT_EQ(table.samples[0].key.shape, (std::vector<std::int64_t>{512, 1024, 768}));
  EXPECT_EQ(table.samples[0].flops, 805306368);
  EXPECT_EQ(table.samples[0].us, 78.25);
  EXPECT_EQ(table.samples[1].key.type, DataType::kFloat16);
  EXPECT_EQ(table.samples[1].source, 1U);
}

TEST(SampleTable, IsRefusedWithLineAndColumn) {
  EXPECT_THAT(error_of(with("78.25", "-1")), HasSubstr("table.csv:5: 'us'"));
  EXPECT_THAT(error_of(with("78.25", "nan")), HasSubstr("'us': expected a number from 1e-06 to"));
  EXPECT_THAT(error_of(with("512x", "512xx")), HasSubstr("'shape'"));
  EXPECT_THAT(error_of(with("float16", "float17")), HasSubstr("did you mean 'float16'"));
  EXPECT_THAT(error_of(with("30,host", "30,hosts")), HasSubstr("no line '#source,hosts,...'"));
  EXPECT_THAT(error_of(with(",MIT,none", ",MIT,maybe")), HasSubstr("table.csv:2:"));
  EXPECT_THAT(error_of(with("device,kind", "device,kin")), HasSubstr("found 'device,kin,"));
  EXPECT_THAT(error_of(with("device,kind", "device,device,kind")), HasSubstr("at most once"));
  EXPECT_THAT(error_of(with("device,kind", "kind")), HasSubstr("'device' is missing"));
  EXPECT_THAT(error_of(with("805306368,", "")), HasSubstr("expected 8 fields, found 7"));
  EXPECT_THAT(error_of(""), HasSubstr("expected the columns"));
}

TEST(SampleTable, MayHaveMoreColumnsInAnyOrder) {
  constexpr std::string_view kMore = R"(#source,torch,here,2.9,none,none
host_us,kind,device,shape,type,attributes,flops,bytes,us,runs,deviation,kernels,source
2.5,matmul,cpu:0,8x4x2,float32,"{""transB"": true, ""x"": ""a, b""}",128,256,3.5,20,0.25,3,torch
)";
  const SampleTable table = parse_sample_table(kMore, "table.csv");
  ASSERT_EQ(table.samples.size(), 1U);
  const TableSample& sample = table.samples[0];
  EXPECT_EQ(sample.device, "cpu:0");
  EXPECT_EQ(sample.key.attributes, R"({"transB": true, "x": "a, b"})");
  EXPECT_EQ(sample.us, 3.5);
  EXPECT_EQ(sample.runs, 20);
  EXPECT_EQ(sample.relative_deviation, 0.25);
  EXPECT_EQ(sample.kernels, 3);
  EXPECT_EQ(sample.host_us, 2.5);
  const auto refused = [&](std::string_view what, std::string_view instead) {
    std::string text(kMore);
    return error_of(text.replace(text.find(what), what.size(), instead));
  };
  EXPECT_THAT(refused("true, ", "true, \""), HasSubstr("table.csv:3: "));
  EXPECT_THAT(refused(R"(b""}")", "b"), HasSubstr("a field in quotes does not end"));
  EXPECT_THAT(refused("20,0.25", "0,0.25"), HasSubstr("'runs': expected a number of at least 1"));
  EXPECT_THAT(refused("0.25", "1.5"), HasSubstr("'deviation': expected a number from 0 to 1"));
  EXPECT_THAT(refused("0.25,3", "0.25,-3"), HasSubstr("'kernels'"));
  EXPECT_THAT(refused("2.5,", "-1,"), HasSubstr("'host_us'"));
}

TEST(SampleTable, IsReadAsItWasWritten) {
  const SampleSource source{
      .name = "emplace", .location = "this machine", .version = "2026-11-29", .licence = "none"};
  const OpSample sample{.site = {.op = {.name = "y",
                                        .kind = "matmul",
                                        .attributes = GemmAttributes{.trans_b = true},
                                        .shape = {8, 4, 2},
                                        .flops = 128,
                                        .bytes_read = 100,
                                        .bytes_written = 56,
                                        .outputs = {{.type = DataType::kFloat16}}}},
                        .time = {.median_us = 3.25, .relative_deviation = 0.125, .runs = 20}};
  const SampleTable table = parse_sample_table(
      sample_table_head(source) + sample_table_row("gpu:0", sample, source), "table.csv");
  EXPECT_EQ(table.sources, std::vector{source});
  ASSERT_EQ(table.samples.size(), 1U);
  const TableSample& found = table.samples[0];
  EXPECT_EQ(found.device, "gpu:0");
  EXPECT_EQ(found.key, key_of(sample.site.op));
  EXPECT_EQ(found.flops, 128);
  EXPECT_EQ(found.bytes, 156);
  EXPECT_EQ(found.us, 3.25);
  EXPECT_EQ(found.runs, 20);
  EXPECT_EQ(found.relative_deviation, 0.125);
}

constexpr double kBandwidth = 900e3;  // of the v100
constexpr double kPeak = 15.6672e6;

// Rows of relu ops that take `fixed_us` and reach `share` of the bandwidth.
void add_relus(SampleTable& table, double fixed_us, double share, std::size_t source,
               std::int64_t least = 1 << 20) {
  for (std::int64_t n = least; n < 1 << 28; n = n * 3 / 2) {
    table.samples.push_back({.device = "v100",
                             .key = {.kind = "relu", .shape = {n}},
                             .flops = n,
                             .bytes = 8 * n,
                             .us = fixed_us + 8 * static_cast<double>(n) / (share * kBandwidth),
                             .source = source});
  }
}

void add_convolutions(SampleTable& table, const std::string& kind, std::int64_t window,
                      double efficiency) {
  for (std::int64_t channels = 64; channels <= 1024; channels *= 2) {
    for (const std::int64_t side : {14, 28, 56}) {
      const std::int64_t flops =
          std::int64_t{2} * 8 * channels * channels * side * side * window * window;
      table.samples.push_back({.device = "v100",
                               .key = {.kind = kind,
                                       .shape = {8, channels, side, side, channels, window, window,
                                                 1, 1, 1, side, side}},
                               .flops = flops,
                               .bytes = 1000,
                               .us = 5 + static_cast<double>(flops) / (efficiency * kPeak),
                               .source = 0});
    }
  }
}

SampleTable empty_table() {
  return {.sources = {{.name = "lab", .location = "a laboratory", .version = "1", .licence = "MIT"},
                      {.name = "host",
                       .location = "a host",
                       .version = "2",
                       .licence = "MIT",
                       .has_launch_floor = true}},
          .samples = {}};
}

Roofline roofline_of(const DeviceProfile& profile, OpClass op_class) {
  const std::optional<Roofline>& found = profile.rooflines[static_cast<std::size_t>(op_class)];
  return found ? *found : profile.fallback;
}

SampleFit fit(const SampleTable& table, const std::vector<SampleTable>& proxies = {}) {
  return fit_to_samples(load_device_profile("v100"), std::span(&table, 1), proxies, "2026-11-23");
}

TEST(SampleFit, FindsWhatRowsWereDrawnFrom) {
  SampleTable table = empty_table();
  add_relus(table, 4, 0.8, 0);
  const Roofline fitted = roofline_of(fit(table).profile, OpClass::kElementwise);
  EXPECT_NEAR(fitted.fixed_us, 4, 0.1);
  EXPECT_NEAR(fitted.memory_efficiency, 0.8, 1e-3);
  EXPECT_LT(fitted.relative_deviation, 0.01);
}

TEST(SampleFit, LaunchFloorIsNoFixedTime) {
  const double fixed_us = roofline_of(load_device_profile("v100"), OpClass::kElementwise).fixed_us;
  SampleTable table = empty_table();
  add_relus(table, 5, 0.8, 1);
  const DeviceProfile alone = fit(table).profile;
  EXPECT_EQ(roofline_of(alone, OpClass::kElementwise).fixed_us, fixed_us);
  EXPECT_NEAR(roofline_of(alone, OpClass::kElementwise).memory_efficiency, 0.8, 1e-3);
  add_relus(table, 6, 0.8, 0);
  const DeviceProfile both = fit(table).profile;
  EXPECT_NEAR(roofline_of(both, OpClass::kElementwise).fixed_us, 6, 0.1);
  EXPECT_NEAR(roofline_of(both, OpClass::kElementwise).memory_efficiency, 0.8, 1e-3);
}

// Rows of less than four times the cache are of a faster memory.
TEST(SampleFit, RowsInTheCacheDoNotCountWhereThereAreOthers) {
  SampleTable table = empty_table();
  add_relus(table, 4, 0.8, 0, 1 << 17);
  const std::int64_t least = kCaches * load_device_profile("v100").cache_bytes;
  for (TableSample& row : table.samples) {
    if (row.bytes < least) {
      row.us = 4 + 0.5 * (row.us - 4);
    }
  }
  const Roofline without = roofline_of(fit(table).profile, OpClass::kElementwise);
  EXPECT_NEAR(without.memory_efficiency, 0.8, 1e-3);
  std::erase_if(table.samples, [&](const TableSample& row) { return row.bytes >= least; });
  const Roofline alone = roofline_of(fit(table).profile, OpClass::kElementwise);
  EXPECT_GT(alone.memory_efficiency, 0.9);
}

TEST(SampleFit, MemoryIsAtMostAsFastAsBabelStreamFindsIt) {
  SampleTable table = empty_table();
  add_relus(table, 4, 0.95, 0);
  DeviceProfile base = load_device_profile("v100");
  base.stream_bytes_per_us = 0.9 * kBandwidth;
  const Roofline fitted = roofline_of(
      fit_to_samples(base, std::span(&table, 1), {}, "2026-11-28").profile, OpClass::kElementwise);
  EXPECT_NEAR(fitted.memory_efficiency, 0.9, 1e-3);
}

TEST(SampleFit, ClassesThatMoveDataWithoutRowsRunAsElementwiseOps) {
  SampleTable table = empty_table();
  add_relus(table, 4, 0.8, 0);
  const DeviceProfile profile = fit(table).profile;
  EXPECT_NEAR(roofline_of(profile, OpClass::kPooling).memory_efficiency, 0.8, 1e-3);
  EXPECT_GE(roofline_of(profile, OpClass::kPooling).relative_deviation, kProxyDeviation);
}

double efficiency_for(const DeviceProfile& profile, const std::string& kind, std::int64_t window) {
  const std::vector<std::int64_t> shape = {8, 64, 14, 14, 64, window, window, 1, 1, 1, 14, 14};
  return emplace::roofline_of(profile, kind, shape, Precision::kFloat32).compute_efficiency;
}

TEST(SampleFit, CasesThatPayHaveARooflineOfTheirOwn) {
  SampleTable table = empty_table();
  add_convolutions(table, "conv2d", 3, 1.5);
  add_convolutions(table, "conv2d", 5, 0.5);
  add_convolutions(table, "conv2d_backward_filter", 3, 2);
  const DeviceProfile profile = fit(table).profile;
  EXPECT_NEAR(efficiency_for(profile, "conv2d", 3), 1.5, 0.01);
  EXPECT_NEAR(efficiency_for(profile, "conv2d", 5), 0.5, 0.01);
  EXPECT_NEAR(efficiency_for(profile, "conv2d_backward_filter", 3), 2, 0.01);
}

TEST(SampleFit, CasesThatDoNotPayHaveNone) {
  SampleTable table = empty_table();
  for (const std::int64_t window : {1, 3, 5}) {
    add_convolutions(table, "conv2d", window, 0.5);
  }
  const DeviceProfile profile = fit(table).profile;
  EXPECT_TRUE(profile.cases[static_cast<std::size_t>(OpClass::kConvolution)].empty());
}

TEST(SampleFit, ProxiesServeWhatTheDeviceLacksAndAreNamed) {
  SampleTable table = empty_table();
  add_convolutions(table, "conv2d", 3, 1.5);
  SampleTable proxy = empty_table();
  add_convolutions(proxy, "conv2d", 3, 0.7);
  add_convolutions(proxy, "conv2d_backward_data", 3, 0.9);
  for (TableSample& sample : proxy.samples) {
    sample.device = "v100-pcie";
    sample.us = 5 + (sample.us - 5) * 15.6672 / 14.1312;
  }
  const DeviceProfile profile = fit(table, {proxy}).profile;
  EXPECT_NEAR(efficiency_for(profile, "conv2d", 3), 1.5, 0.01);
  EXPECT_NEAR(efficiency_for(profile, "conv2d_backward_data", 3), 0.9, 0.01);
  const auto& cases = profile.cases[static_cast<std::size_t>(OpClass::kConvolution)];
  const auto found = std::ranges::find_if(
      cases, [](const CostCase& which) { return which.kinds.front() == "conv2d_backward_data"; });
  ASSERT_NE(found, cases.end());
  EXPECT_EQ(found->proxy, "v100-pcie");
  EXPECT_GE(found->roofline.relative_deviation, kProxyDeviation);
}

// Products that take `efficiency` of the peak, so large that nothing else counts.
void add_gemms(SampleTable& table, const std::string& device, double efficiency) {
  const double peak = load_device_profile(device).peak_flops_per_us;
  for (std::int64_t side = 1 << 11; side <= 1 << 14; side *= 2) {
    for (const std::int64_t depth : {1 << 11, 1 << 12}) {
      const std::int64_t flops = 2 * side * side * depth;
      table.samples.push_back({.device = device,
                               .key = {.kind = "matmul", .shape = {side, side, depth}},
                               .flops = flops,
                               .bytes = 1000,
                               .us = static_cast<double>(flops) / (efficiency * peak),
                               .source = 0});
    }
  }
}

TEST(SampleFit, ConvolutionsOfProxiesCountByWhatProductsReach) {
  SampleTable own = empty_table();
  add_gemms(own, "v100", 0.4);
  SampleTable proxy = empty_table();
  add_gemms(proxy, "v100-pcie", 0.8);
  add_convolutions(proxy, "conv2d", 3, 1.2 * 14.1312 / 15.6672);
  for (TableSample& sample : proxy.samples) {
    sample.device = "v100-pcie";
  }
  const DeviceProfile profile = fit(own, {proxy}).profile;
  EXPECT_NEAR(efficiency_for(profile, "conv2d", 3), 1.2 * 0.4 / 0.8, 0.02);
}

TEST(SampleFit, DoesNotDependOnTheOrderOfRows) {
  SampleTable table = empty_table();
  add_relus(table, 5, 0.8, 1);
  add_convolutions(table, "conv2d", 3, 1.5);
  add_convolutions(table, "conv2d_backward_data", 1, 0.5);
  const DeviceProfile profile = fit(table).profile;
  std::ranges::reverse(table.samples);
  EXPECT_EQ(fit(table).profile, profile);
}

TEST(SampleFit, FittedProfileIsReadAsItIsWritten) {
  SampleTable table = empty_table();
  add_relus(table, 4, 0.8, 0);
  add_convolutions(table, "conv2d", 3, 1.5);
  add_convolutions(table, "conv2d", 5, 0.5);
  const DeviceProfile profile = fit(table).profile;
  EXPECT_EQ(profile.provenance.kind, "fitted");
  EXPECT_THAT(profile.provenance.source, HasSubstr("a laboratory 1 (MIT)"));
  EXPECT_EQ(read_device_profile(write_device_profile_json(profile), "fit"), profile);
}

// Cases of four shapes each have no roofline of their own, but the class has one of them all.
TEST(SampleFit, FewShapesOfACaseCountForTheClass) {
  SampleTable table = empty_table();
  for (const std::int64_t window : {1, 3, 5}) {
    add_convolutions(table, "conv2d", window, 0.5);
  }
  std::map<std::int64_t, int> taken;  // by window
  std::erase_if(table.samples,
                [&](const TableSample& sample) { return ++taken[sample.key.shape[5]] > 4; });
  ASSERT_EQ(table.samples.size(), 12U);
  const SampleFit fitted = fit(table);
  EXPECT_EQ(fitted.unused, std::vector<std::string>());
  ASSERT_EQ(fitted.reports.size(), 1U);
  EXPECT_EQ(fitted.reports[0].op_class, OpClass::kConvolution);
  EXPECT_EQ(fitted.reports[0].errors.predicted, 12);
  EXPECT_THAT(fitted.profile.provenance.source, HasSubstr("12 samples of v100"));
}

TEST(SampleFit, TellsWhatItDoesNotUse) {
  SampleTable table = empty_table();
  add_relus(table, 4, 0.8, 0);
  TableSample odd = table.samples[0];
  odd.key.kind = "reluu";
  table.samples.push_back(odd);
  TableSample alone = table.samples[0];
  alone.key.kind = "matmul";
  alone.key.shape = {64, 64, 64};
  table.samples.push_back(alone);
  EXPECT_THAT(fit(table).unused,
              testing::ElementsAre("1 sample of matmul: fewer than 5 shapes",
                                   "1 sample of the kind 'reluu': it belongs to no class"));
  table.samples.erase(table.samples.begin(), table.samples.end() - 2);
  EXPECT_THROW(fit(table), Error);
  EXPECT_THROW(fit(empty_table()), Error);
}

// The smallest of the shipped tables, with what it lacks from another.
TEST(SampleFit, ShippedProfileIsWhatItsSamplesSay) {
  const DeviceProfile shipped = load_device_profile("m40");
  const auto table = [](const std::string& name) {
    return read_sample_table(test::source_path("profiles/data/samples/" + name + ".csv.gz"));
  };
  const SampleTable own = table("m40");
  const SampleTable proxies = table("p100");
  const DeviceProfile refitted =
      fit_to_samples(shipped, std::span(&own, 1), std::span(&proxies, 1), shipped.provenance.date)
          .profile;
  EXPECT_EQ(refitted, shipped);
}

TEST(SampleFit, UnknownDeviceOfARowIsRefused) {
  SampleTable table = empty_table();
  add_relus(table, 4, 0.8, 0);
  table.samples[0].device = "v1000";
  EXPECT_THROW(fit(table), Error);
}

}  // namespace
}  // namespace emplace::calibrate::sample_fit_test
