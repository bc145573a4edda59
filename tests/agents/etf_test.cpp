#include "agents/placing.hpp"
#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::agents::etf_test {
namespace {

using testing::Each;
using testing::ElementsAre;

// a(2) and b(3) send 4 bytes to c(3); d(1) is alone. Static levels: a 5, b 6, c 3, d 1.
//   0: b, the highest level, starts on gpu:0 (0-3); then a on gpu:1 (0-2)
//   2: d on gpu:1 (2-3), as gpu:0 is busy until 3 and c's data is not there
//   6: c on gpu:0, where a's bytes are at 2 + 4; on gpu:1 b's come at 3 + 4
TEST(Etf, TakesThePairThatStartsFirstAndTheHighestLevelAmongEquals) {
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "a", .cost_us = 2, .output_bytes = 4},
                                           {.name = "b", .cost_us = 3, .output_bytes = 4},
                                           {.name = "c", .cost_us = 3, .producers = {0, 1}},
                                           {.name = "d", .cost_us = 1}}));
  EXPECT_THAT(place("etf", problem), ElementsAre(1, 0, 0, 1));
}

TEST(Etf, SpreadsIndependentOpsEvenly) {
  std::vector<test::OpSketch> ops;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    ops.push_back({.name = name, .cost_us = 10});
  }
  EXPECT_THAT(place("etf", test::make_problem(test::make_graph(ops), {.num_devices = 3})),
              ElementsAre(0, 1, 2, 0, 1, 2));
}

// Three ops of 60 bytes of weights in a row; a device holds 100. The third fits nowhere, and both
// devices have 40 bytes left.
TEST(MEtf, GoesOnToADeviceWithMemoryAndAtLastToTheRoomiest) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .persistent_bytes = 60},
                        {.name = "b", .producers = {0}, .persistent_bytes = 60},
                        {.name = "c", .producers = {1}, .persistent_bytes = 60}}),
      {.memory_bytes = 100});
  EXPECT_THAT(place("etf", problem), Each(0));
  EXPECT_THAT(place("m-etf", problem), ElementsAre(0, 1, 0));
}

// As above with outputs of 60 bytes: a's are freed once b is placed, so gpu:0 has room for c.
TEST(MEtf, CountsOutputsUntilTheirLastConsumerIsPlaced) {
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "a", .output_bytes = 60},
                                           {.name = "b", .output_bytes = 60, .producers = {0}},
                                           {.name = "c", .output_bytes = 60, .producers = {1}}}),
                         {.memory_bytes = 100});
  EXPECT_THAT(place("m-etf", problem), ElementsAre(0, 1, 0));
}

}  // namespace
}  // namespace emplace::agents::etf_test
