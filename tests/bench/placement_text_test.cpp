#include "bench/src/store/placement_text.hpp"

#include "support/errors.hpp"

#include <emplace/base/random.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace::bench::placement_text_test {
namespace {

Placement read(const std::string& text, std::int64_t groups, std::int64_t devices) {
  const JsonDocument document = JsonDocument::parse("\"" + text + "\"", "text");
  return read_placement_text(document.root(), groups, devices);
}

TEST(PlacementText, CountsRunsOfEqualDevices) {
  EXPECT_EQ(write_placement_text(Placement({0, 0, 0, 1, 0, 0, 12})), "0*3 1 0*2 12");
  EXPECT_EQ(write_placement_text(Placement(GroupId{1}, 4)), "4");
  EXPECT_EQ(write_placement_text(Placement(GroupId{1'000'000}, 3)), "3*1000000");
  EXPECT_EQ(write_placement_text(Placement()), "");
}

TEST(PlacementText, GivesBackAnyPlacement) {
  RandomStream random(5);
  for (const DeviceId devices : {1, 2, 8, 100}) {
    for (const GroupId groups : {1, 2, 7, 741}) {
      Placement placement(groups);
      for (GroupId group = 0; group < groups; ++group) {
        placement[group] = static_cast<DeviceId>(random.below(static_cast<std::uint64_t>(devices)));
      }
      EXPECT_EQ(read(write_placement_text(placement), groups, devices), placement);
    }
  }
}

TEST(PlacementText, RefusesWhatIsNone) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "expected the devices of 3 groups, found 0"},
      {"0*2", "expected the devices of 3 groups, found 2"},
      {"0*4", "expected the devices of 3 groups, found more"},
      {"0*9223372036854775807", "found more"},
      {"0*99999999999999999999", "character 1"},
      {"0*2 2", "devices from 0 to 1, found something else at character 5"},
      {"-1 0 0", "character 1"},
      {"0 -0 0", "character 3"},
      {"0*0 0*3", "character 1"},
      {"0*-1 0*3", "character 1"},
      {"0* 0 0", "character 1"},
      {"0*2*1", "character 1"},
      {"0,0,0", "character 1"},
      {" 0 0 0", "character 1"},
      {"0  0 0", "character 3"},
      {"0 0 0 ", "character 5"},
      {"a", "character 1"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(test::error_of(ErrorCode::kFormat, [&text = text] { read(text, 3, 2); }),
                testing::HasSubstr(message))
        << text;
  }
}

}  // namespace
}  // namespace emplace::bench::placement_text_test
