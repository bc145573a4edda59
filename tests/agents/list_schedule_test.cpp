#include "support/problems.hpp"

#include <emplace/agents/list_schedule.hpp>
#include <emplace/base/check.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::agents::list_schedule_test {
namespace {

// a(100) sends 40 bytes at 1 byte/us to b(200) and c(200), which send 40 to d(50).
Problem diamond() { return test::make_problem(test::diamond_graph(40)); }

TEST(ListSchedule, StartsAGroupWhenItsDataArrivesAndItsDeviceIsFree) {
  const Problem problem = diamond();
  ListSchedule schedule(problem);
  schedule.assign(0, 0);
  EXPECT_DOUBLE_EQ(schedule.finish_us(0), 100);
  EXPECT_DOUBLE_EQ(schedule.ready_us(1, 0), 100);
  EXPECT_DOUBLE_EQ(schedule.ready_us(1, 1), 140);
  schedule.assign(1, 0);
  EXPECT_DOUBLE_EQ(schedule.start_if(2, 0), 300);  // behind b
  EXPECT_DOUBLE_EQ(schedule.start_if(2, 1), 140);  // after the transfer
  EXPECT_DOUBLE_EQ(schedule.finish_if(2, 1), 340);
  schedule.assign(2, 1);
  // d waits for c's bytes on device 0 (340 + 40), for b's on device 1 (300 + 40) and for c itself.
  EXPECT_DOUBLE_EQ(schedule.start_if(3, 0), 380);
  EXPECT_DOUBLE_EQ(schedule.start_if(3, 1), 340);
  schedule.assign(3, 1);
  EXPECT_DOUBLE_EQ(schedule.finish_us(3), 390);
  EXPECT_EQ(std::move(schedule).take(), Placement(std::vector<DeviceId>{0, 0, 1, 1}));
}

TEST(ListSchedule, GivesTheOrderOfItsStartsAsPriorities) {
  const Problem problem = diamond();
  ListSchedule schedule(problem);
  schedule.assign(0, 0);
  schedule.assign(2, 0);  // c starts at 100, b behind it at 300, d at 500
  schedule.assign(1, 0);
  schedule.assign(3, 0);
  EXPECT_THAT(schedule.priorities(), testing::ElementsAre(3, 1, 2, 0));
}

TEST(ListSchedule, AnEdgeOfPureOrderTakesNoTime) {
  const Problem problem = test::make_problem(test::chain_graph({10, 10}, 0));
  ListSchedule schedule(problem);
  schedule.assign(0, 0);
  EXPECT_DOUBLE_EQ(schedule.ready_us(1, 1), 10);
}

TEST(ListSchedule, OffersGroupsWhoseProducersAreAssigned) {
  const Problem problem = diamond();
  ListSchedule schedule(problem);
  EXPECT_THAT(schedule.ready_groups(), testing::ElementsAre(0));
  schedule.assign(0, 0);
  EXPECT_THAT(schedule.ready_groups(), testing::ElementsAre(1, 2));
  schedule.assign(2, 0);
  EXPECT_THAT(schedule.ready_groups(), testing::ElementsAre(1));
  schedule.assign(1, 0);
  EXPECT_THAT(schedule.ready_groups(), testing::ElementsAre(3));
  schedule.assign(3, 0);
  EXPECT_THAT(schedule.ready_groups(), testing::IsEmpty());
}

// x(10) -> y(10) with 50 bytes, and z(20) alone: with x on 1 and y on 0, device 0 idles until 60.
Problem with_gap(double last_cost_us) {
  return test::make_problem(test::make_graph({{.name = "x", .cost_us = 10, .output_bytes = 50},
                                              {.name = "y", .cost_us = 10, .producers = {0}},
                                              {.name = "z", .cost_us = last_cost_us}}));
}

TEST(ListSchedule, FillsAnIdleSlotIfTheGroupFits) {
  const Problem problem = with_gap(60);
  ListSchedule schedule(problem, IdleSlots::kFill);
  schedule.assign(0, 1);
  schedule.assign(1, 0);
  EXPECT_DOUBLE_EQ(schedule.start_us(1), 60);
  EXPECT_DOUBLE_EQ(schedule.start_if(2, 0), 0);  // exactly fits
  schedule.assign(2, 0);
  EXPECT_DOUBLE_EQ(schedule.finish_us(2), 60);
}

TEST(ListSchedule, GoesToTheEndIfNoIdleSlotIsLongEnough) {
  const Problem problem = with_gap(61);
  ListSchedule schedule(problem, IdleSlots::kFill);
  schedule.assign(0, 1);
  schedule.assign(1, 0);
  EXPECT_DOUBLE_EQ(schedule.start_if(2, 0), 70);
}

TEST(ListSchedule, LeavesIdleSlotsUnlessItIsToldToFillThem) {
  const Problem problem = with_gap(20);
  ListSchedule schedule(problem);
  schedule.assign(0, 1);
  schedule.assign(1, 0);
  EXPECT_DOUBLE_EQ(schedule.start_if(2, 0), 70);
}

TEST(ListSchedule, HoldsWeightsForGoodAndOutputsUntilTheLastConsumerIsAssigned) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .output_bytes = 300, .persistent_bytes = 100},
                        {.name = "b", .producers = {0}},
                        {.name = "c", .output_bytes = 650, .producers = {0}}}),
      {.memory_bytes = 1000});
  ListSchedule schedule(problem);
  schedule.assign(0, 0);
  EXPECT_EQ(schedule.free_bytes(0), 600);
  EXPECT_EQ(schedule.free_bytes(1), 1000);
  EXPECT_FALSE(schedule.fits(2, 0));
  EXPECT_TRUE(schedule.fits(2, 1));
  schedule.assign(1, 0);
  EXPECT_EQ(schedule.free_bytes(0), 600);  // c has not read a yet
  schedule.assign(2, 0);                   // takes more than there is, then a's outputs are freed
  EXPECT_EQ(schedule.free_bytes(0), 900);  // and its own at once: no group reads them
}

TEST(ListSchedule, KeepsFreeWhatIsReserved) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .persistent_bytes = 600}}), {.memory_bytes = 1000});
  ListSchedule schedule(problem);
  schedule.reserve(std::vector<std::int64_t>{401, 400});
  EXPECT_FALSE(schedule.fits(0, 0));
  EXPECT_TRUE(schedule.fits(0, 1));
}

TEST(ListSchedule, StartsAGroupNoSoonerThanItMay) {
  const Problem problem = diamond();
  ListSchedule schedule(problem);
  schedule.assign(0, 0, 30);
  EXPECT_DOUBLE_EQ(schedule.start_us(0), 30);
  schedule.assign(1, 0, 30);  // behind a, which is later
  EXPECT_DOUBLE_EQ(schedule.start_us(1), 130);
  ListSchedule with_slots(problem, IdleSlots::kFill);
  EXPECT_THROW(with_slots.assign(0, 0, 30), InternalError);
}

TEST(ListSchedule, RefusesAGroupBeforeItsProducersOrTwice) {
  const Problem problem = diamond();
  ListSchedule schedule(problem);
  EXPECT_THROW(schedule.assign(3, 0), InternalError);
  schedule.assign(0, 0);
  EXPECT_THROW(schedule.assign(0, 1), InternalError);
  EXPECT_THROW(std::move(schedule).take(), InternalError);
}

}  // namespace
}  // namespace emplace::agents::list_schedule_test
