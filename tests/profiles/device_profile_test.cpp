#include "profiles/profile_texts.hpp"

#include <emplace/base/error.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::device_profile_test {
namespace {

TEST(DeviceProfileFile, SaysWhatTensorsMayTake) {
  const DeviceProfile all = read_device_profile(kProfileText, "tiny.json");
  EXPECT_EQ(all.usable_bytes(), 4'000'000'000);
  const DeviceProfile profile = read_device_profile(
      with(kProfileText, "\"memory_bytes\": 4000000000",
           "\"memory_bytes\": 4000000000, \"context_bytes\": 500, \"reserve_bytes\": 30"),
      "tiny.json");
  EXPECT_EQ(profile.memory_bytes, 4'000'000'000);
  EXPECT_EQ(profile.usable_bytes(), 3'999'999'470);
}

TEST(DeviceProfileFile, GivesEveryNumberInTheUnitsOfTheSimulator) {
  const DeviceProfile profile = read_device_profile(kProfileText, "tiny.json");
  EXPECT_EQ(profile.name, "tiny");
  EXPECT_EQ(profile.device_class, "gpu-tiny");
  EXPECT_EQ(profile.summary, "a device for tests");
  EXPECT_DOUBLE_EQ(profile.peak_flops_per_us, 2e6);
  EXPECT_DOUBLE_EQ(profile.memory_bytes_per_us, 1e5);
  EXPECT_EQ(profile.memory_bytes, 4'000'000'000);
  const auto& convolution = profile.rooflines[static_cast<std::size_t>(OpClass::kConvolution)];
  ASSERT_TRUE(convolution.has_value());
  EXPECT_EQ(convolution->fixed_us, 3);
  EXPECT_EQ(convolution->compute_efficiency, 0.5);
  EXPECT_EQ(convolution->memory_efficiency, 0.25);
  EXPECT_FALSE(profile.rooflines[static_cast<std::size_t>(OpClass::kMatmul)].has_value());
  EXPECT_EQ(profile.fallback.fixed_us, 10);
  EXPECT_EQ(profile.fallback.compute_efficiency, 0.125);
  EXPECT_EQ(profile.fallback.memory_efficiency, 0.0625);
  EXPECT_EQ(profile.provenance.kind, "measured");
  EXPECT_EQ(profile.provenance.source, "a test");
  EXPECT_EQ(profile.provenance.date, "2026-11-20");
}

TEST(DeviceProfileFile, RunsOneOpAtATimeWithoutOverheadUnlessItSaysMore) {
  const DeviceProfile plain = read_device_profile(kProfileText, "tiny.json");
  EXPECT_EQ(plain.slots, 1);
  EXPECT_EQ(plain.launch_us, 0);
  const DeviceProfile more = read_device_profile(
      with(kProfileText, "\"fallback\"", "\"slots\": 4, \"launch_us\": 2.5, \"fallback\""),
      "tiny.json");
  EXPECT_EQ(more.slots, 4);
  EXPECT_EQ(more.launch_us, 2.5);
}

TEST(DeviceProfileFile, TakesARooflineAsExactUnlessItGivesADeviation) {
  const auto convolution = static_cast<std::size_t>(OpClass::kConvolution);
  EXPECT_EQ(
      read_device_profile(kProfileText, "tiny.json").rooflines[convolution]->relative_deviation, 0);
  const DeviceProfile profile =
      read_device_profile(with(kProfileText, "\"memory_efficiency\": 0.25",
                               "\"memory_efficiency\": 0.25, \"relative_deviation\": 0.2"),
                          "tiny.json");
  EXPECT_EQ(profile.rooflines[convolution]->relative_deviation, 0.2);
  EXPECT_EQ(profile.fallback.relative_deviation, 0);
}

TEST(DeviceProfileFile, ReadsTheNamesOfEarlierFiles) {
  const auto convolution = static_cast<std::size_t>(OpClass::kConvolution);
  const DeviceProfile profile = read_device_profile(
      with(kProfileText, "\"memory_efficiency\": 0.25",
           R"("memory_efficiency": 0.25, "spread": 0.2, "cases": [{"arithmetic": "tf32",
              "fixed_us": 1, "compute_efficiency": 0.5, "memory_efficiency": 0.5}])"),
      "tiny.json");
  EXPECT_EQ(profile.rooflines[convolution]->relative_deviation, 0.2);
  ASSERT_EQ(profile.cases[convolution].size(), 1);
  EXPECT_EQ(profile.cases[convolution][0].precision, Precision::kTf32);
}

// The profile with what a calibration adds, and one member of that changed.
std::string measured_profile(std::string_view from = "", std::string_view to = "") {
  const std::string measured =
      from.empty() ? std::string(kMeasuredText) : with(kMeasuredText, from, to);
  return with(kProfileText, "\"provenance\"", measured + "\"provenance\"");
}

TEST(DeviceProfileFile, HoldsWhatWasMeasured) {
  const DeviceProfile profile = read_device_profile(measured_profile(), "tiny.json");
  ASSERT_EQ(profile.measured.all().size(), 2);
  const OpMeasurement& plain = profile.measured.all()[0];
  EXPECT_EQ(plain.key.kind, "conv2d");
  EXPECT_THAT(plain.key.shape, ::testing::ElementsAre(1, 2));
  EXPECT_EQ(plain.key.type, DataType::kFloat32);
  EXPECT_EQ(plain.us, 12.5);
  EXPECT_EQ(plain.relative_deviation, 0);
  EXPECT_EQ(plain.runs, 20);
  EXPECT_EQ(plain.library, "cudnn");
  EXPECT_EQ(plain.flops, 100);
  EXPECT_EQ(plain.bytes, 50);
  const OpMeasurement& half = profile.measured.all()[1];
  EXPECT_EQ(half.key.type, DataType::kBfloat16);
  EXPECT_EQ(half.relative_deviation, 0.25);
}

TEST(DeviceProfileFile, TellsHowItWasCalibrated) {
  EXPECT_FALSE(read_device_profile(kProfileText, "tiny.json").calibration.has_value());
  const DeviceProfile profile = read_device_profile(measured_profile(), "tiny.json");
  ASSERT_TRUE(profile.calibration.has_value());
  const Calibration& calibration = *profile.calibration;
  EXPECT_EQ(calibration.product, "Tiny 1");
  EXPECT_EQ(calibration.software, "driver 1.2");
  EXPECT_EQ(calibration.clocks, "1 GHz");
  EXPECT_EQ(calibration.date, "2026-11-21");
  EXPECT_EQ(calibration.runs_throttled, 3);
  EXPECT_EQ(calibration.runs_lost, 4);
  const auto& convolution = calibration.classes[static_cast<std::size_t>(OpClass::kConvolution)];
  ASSERT_TRUE(convolution.has_value());
  EXPECT_EQ(convolution->measurements, 2);
  EXPECT_EQ(convolution->interpolated.predicted, 1);
  EXPECT_EQ(convolution->interpolated.mean, 0.05);
  EXPECT_EQ(convolution->interpolated.max, 0.06);
  EXPECT_EQ(convolution->roofline.max, 1.5);
  EXPECT_FALSE(calibration.classes[static_cast<std::size_t>(OpClass::kMatmul)].has_value());
  EXPECT_EQ(calibration.all.roofline.predicted, 0);
}

// NVIDIA's board specification and Placeto's code.
TEST(DeviceProfileFile, K80IsHalfABoard) {
  const DeviceProfile k80 = load_device_profile("k80");
  EXPECT_DOUBLE_EQ(k80.peak_flops_per_us, 2496 * 2 * 875.0);
  EXPECT_DOUBLE_EQ(k80.memory_bytes_per_us, 240e3);
  EXPECT_EQ(k80.memory_bytes, 11'993'000'000);
  EXPECT_EQ(load_device_profile("k80-placeto-paper").memory_bytes, 11'000'000'000);
}

// 16 cores, two AVX2 units of 8 lanes, multiply and add, 2.3 GHz; 4 channels of DDR4-2400; 488 GiB.
TEST(DeviceProfileFile, HostOfTheP2HasSixteenCores) {
  const DeviceProfile cpu = load_device_profile("xeon-e5-2686-v4");
  EXPECT_DOUBLE_EQ(cpu.peak_flops_per_us, 16 * 2 * 8 * 2 * 2300.0);
  EXPECT_DOUBLE_EQ(cpu.memory_bytes_per_us, 4 * 2400 * 8.0);
  EXPECT_EQ(cpu.memory_bytes, std::int64_t{488} << 30);
}

TEST(DeviceProfileFile, ShippedNamesAreTheNamesInTheFiles) {
  EXPECT_THAT(device_profile_names(),
              ::testing::ElementsAre("a100", "a100-80", "a100-pcie", "a100-pcie-80", "epyc-7742",
                                     "h100", "h100-pcie", "h200", "k80", "k80-placeto-paper", "l4",
                                     "m40", "p100", "p100-pcie", "t4", "v100", "v100-pcie",
                                     "xeon-8480c", "xeon-e5-2686-v4", "xeon-e5-2698-v4"));
  for (const std::string& name : device_profile_names()) {
    EXPECT_EQ(load_device_profile(name).name, name);
  }
}

TEST(DeviceProfileFile, UnknownNameSuggestsTheNearest) {
  EXPECT_THAT(test::error_of(ErrorCode::kUnknownName, [&] { load_device_profile("k8O"); }),
              ::testing::HasSubstr("'k80'"));
}

class HostileDeviceProfile : public ::testing::TestWithParam<HostileText> {};

TEST_P(HostileDeviceProfile, IsRefusedWithFileAndPlace) {
  EXPECT_THAT(
      test::error_of(ErrorCode::kFormat, [&] { read_device_profile(GetParam().text, "bad.json"); }),
      testing::AllOf(::testing::StartsWith("bad.json:"), ::testing::HasSubstr(GetParam().says)));
}

const HostileText kHostileProfiles[] = {
    {"Empty", "", "bad.json:"},
    {"Truncated", std::string(kProfileText.substr(0, kProfileText.size() / 2)), "bad.json:"},
    {"NotUtf8", with(kProfileText, "a device", "a \xff device"), "bad.json:"},
    {"AList", "[]", "object"},
    {"AClusterInstead", std::string(kClusterText), "emplace-device-profile"},
    {"FromTheFuture", with(kProfileText, "\"version\": 1", "\"version\": 2"), "/version"},
    {"WithoutAName", with(kProfileText, "\"name\": \"tiny\",", ""), "name"},
    {"NameIsANumber", with(kProfileText, "\"tiny\"", "7"), "/name"},
    {"NameIsEmpty", with(kProfileText, "\"tiny\"", "\"\""), "/name"},
    {"NameTwice", with(kProfileText, "\"version\": 1,", "\"version\": 1, \"name\": \"x\","),
     "name"},
    {"NegativePeak", with(kProfileText, "2e12", "-2e12"), "/peak_flops_per_s"},
    {"PeakInTeraflops", with(kProfileText, "2e12", "4.37"), "/peak_flops_per_s"},
    {"NotANumberPeak", with(kProfileText, "2e12", "NaN"), "bad.json:"},
    {"InfinitePeak", with(kProfileText, "2e12", "1e999"), "bad.json:"},
    {"ZeroBandwidth", with(kProfileText, "1e11", "0"), "/memory_bytes_per_s"},
    {"ZeroMemory", with(kProfileText, "4000000000", "0"), "/memory_bytes"},
    {"FractionalMemory", with(kProfileText, "4000000000", "0.5"), "/memory_bytes"},
    {"GiganticMemory", with(kProfileText, "4000000000", "99999999999999999999"), "/memory_bytes"},
    {"ContextLargerThanTheMemory",
     with(kProfileText, "\"fallback\"", "\"context_bytes\": 4000000000, \"fallback\""),
     "/context_bytes: expected a whole number from 0 to 3999999999"},
    {"ReserveLargerThanWhatIsLeft",
     with(kProfileText, "\"fallback\"",
          "\"context_bytes\": 3999999990, \"reserve_bytes\": 10, \"fallback\""),
     "/reserve_bytes: expected a whole number from 0 to 9"},
    {"EfficiencyAboveFour", with(kProfileText, "0.5", "4.5"),
     "/op_classes/convolution/compute_efficiency"},
    {"EfficiencyOfZero", with(kProfileText, "0.25", "0"),
     "/op_classes/convolution/memory_efficiency"},
    {"UnknownForm", with(kProfileText, "0.25}", "0.25, \"form\": \"round\"}"),
     "/op_classes/convolution/form"},
    {"TilesOfAnotherForm", with(kProfileText, "0.25}", "0.25, \"tile_efficiencies\": [1, 1]}"),
     "/op_classes/convolution/tile_efficiencies"},
    {"CaseOfAnotherClass",
     with(kProfileText, "0.25}",
          "0.25, \"cases\": [{\"kinds\": [\"relu\"], \"fixed_us\": 3, "
          "\"compute_efficiency\": 1, \"memory_efficiency\": 1}]}"),
     "/op_classes/convolution/cases/0/kinds/0"},
    {"NegativeFixedTime", with(kProfileText, "\"fixed_us\": 10", "\"fixed_us\": -1"),
     "/fallback/fixed_us"},
    {"NoSlots", with(kProfileText, "\"fallback\"", "\"slots\": 0, \"fallback\""),
     "/slots: expected a whole number from 1 to 1024"},
    {"TooManySlots", with(kProfileText, "\"fallback\"", "\"slots\": 1025, \"fallback\""), "/slots"},
    {"HalfASlot", with(kProfileText, "\"fallback\"", "\"slots\": 0.5, \"fallback\""), "/slots"},
    {"NegativeLaunch", with(kProfileText, "\"fallback\"", "\"launch_us\": -1, \"fallback\""),
     "/launch_us"},
    {"InfiniteLaunch", with(kProfileText, "\"fallback\"", "\"launch_us\": 1e999, \"fallback\""),
     "/launch_us"},
    {"NegativeDeviation",
     with(kProfileText, "\"fixed_us\": 10", "\"fixed_us\": 10, \"relative_deviation\": -0.1"),
     "/fallback/relative_deviation: expected a number from 0 to 1"},
    {"DeviationInPercent",
     with(kProfileText, "\"fixed_us\": 3", "\"fixed_us\": 3, \"relative_deviation\": 20"),
     "/op_classes/convolution/relative_deviation: expected a number from 0 to 1"},
    {"UnknownOpClass", with(kProfileText, "convolution", "convolutions"), "'convolution'"},
    {"OtherIsNoOpClass", with(kProfileText, "convolution", "other"), "unknown op class 'other'"},
    {"MeasuredIsNoArray", with(kProfileText, "\"fallback\"", "\"measured\": {}, \"fallback\""),
     "/measured: expected an array"},
    {"MeasurementTwice", measured_profile("\"type\": \"bfloat16\", ", ""),
     "/measured/1: kind, shape, type and attributes are those of measurement 0 already"},
    {"MeasuredNoTime", measured_profile("\"us\": 7.5", "\"us\": 0"), "/measured/1/us"},
    {"MeasuredNegativeTime", measured_profile("12.5", "-12.5"), "/measured/0/us"},
    {"MeasuredNotANumber", measured_profile("12.5", "NaN"), "bad.json:"},
    {"MeasuredForEver", measured_profile("12.5", "1e999"), "bad.json:"},
    {"MeasuredDeviationInPercent", measured_profile("0.25", "25"),
     "/measured/1/relative_deviation"},
    {"MeasuredInNoRun", measured_profile("\"runs\": 30", "\"runs\": 0"), "/measured/1/runs"},
    {"MeasuredByNobody", measured_profile("\"cudnn\"", "\"\""), "/measured/0/library"},
    {"MeasuredNegativeFlops", measured_profile("\"flops\": 100", "\"flops\": -1"),
     "/measured/0/flops"},
    {"MeasuredWithoutBytes", measured_profile(", \"bytes\": 50", ""), "bytes"},
    {"MeasuredUnknownType", measured_profile("bfloat16", "bfloat17"), "/measured/1/type"},
    {"MeasuredNegativeDimension", measured_profile("[1, 2]", "[1, -2]"), "/measured/0/shape/1"},
    {"MeasuredUnknownMember", measured_profile("\"relative_deviation\"", "\"sprad\""), "sprad"},
    {"CalibrationWithoutDate", measured_profile("\"date\": \"2026-11-21\",", ""), "date"},
    {"CalibrationOfAnUnknownClass", measured_profile("convolution", "convolutions"),
     "/calibration/op_classes/convolutions: unknown op class 'convolutions'"},
    {"CalibrationWithANegativeError", measured_profile("0.05", "-0.05"),
     "/calibration/op_classes/convolution/interpolated/mean_error"},
    {"CalibrationWithHalfARun", measured_profile("\"runs_lost\": 4", "\"runs_lost\": 0.5"),
     "/calibration/runs_lost"},
    {"CalibrationUnknownMember", measured_profile("\"clocks\"", "\"clock\""), "clock"},
    {"UnknownMember", with(kProfileText, "\"summary\"", "\"sumary\""), "sumary"},
    {"UnknownProvenance", with(kProfileText, "\"kind\": \"measured\"", "\"kind\": \"dreamt\""),
     "/provenance/kind"},
    {"WithoutProvenance", with(kProfileText, "\"provenance\"", "\"origin\""), "origin"},
};

INSTANTIATE_TEST_SUITE_P(Files, HostileDeviceProfile, ::testing::ValuesIn(kHostileProfiles),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace emplace::device_profile_test
