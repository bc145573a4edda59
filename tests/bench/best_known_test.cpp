#include "support/errors.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/bench/best_known.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/problems.hpp>
#include <support/source_path.hpp>
#include <support/temporary_folder.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <thread>

namespace emplace::bench::best_known_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// 123 groups on 12 devices, so that lines wrap and numbers have two digits.
BestKnown example() {
  BestKnown entry{.graph = "g:batch=2",
                  .cluster = "c",
                  .step_hash = "0123456789abcdef",
                  .step_time_us = 0.1 + 0.2,
                  .found = {.by = "hill-climb:start=heft",
                            .evaluations = 20'000,
                            .seed = 7,
                            .comment = "repetition 2",
                            .version = "0.2.0"}};
  for (int device = 0; device < 12; ++device) {
    entry.devices.push_back("gpu:" + std::to_string(device));
  }
  entry.placement = Placement(123);
  IdVector<GroupId, Priority> priorities;
  for (GroupId group = 0; group < 123; ++group) {
    entry.placement[group] = group % 12;
    priorities.push_back(122 - group);
  }
  entry.placement.set_priorities(std::move(priorities));
  return entry;
}

std::string message_of(const std::string& text) {
  return test::error_of(ErrorCode::kFormat, [&] { read_best_known(text, "x.json"); });
}

// The text of the example with `from` replaced.
std::string broken(const std::string& from, const std::string& to) {
  return test::with(write_best_known(example()), from, to);
}

TEST(BestKnownFile, SurvivesARoundTrip) {
  EXPECT_EQ(read_best_known(write_best_known(example()), "x.json"), example());
  BestKnown least = example();
  least.found = {.by = "a placement file", .version = "0.2.0"};
  least.step_time_us = std::numeric_limits<double>::denorm_min();
  least.placement.set_priorities({});
  EXPECT_EQ(read_best_known(write_best_known(least), "x.json"), least);
}

TEST(BestKnownFile, KeepsTheOrderOfPrioritiesAndNotTheirValues) {
  BestKnown entry = example();
  entry.placement = Placement(5);
  entry.placement.set_priorities({7, -2, 2'000'000'000, 7, 0});
  EXPECT_THAT(read_best_known(write_best_known(entry), "x.json").placement.priorities(),
              ::testing::ElementsAre(2, 0, 3, 2, 1));
}

TEST(BestKnownFile, HoldsItsStepWithoutThePlacement) {
  const std::string text = write_best_known(example());
  const std::string shortened = text.substr(0, text.find(",\n  \"devices\"")) + "}";
  const BestKnownStep step = read_best_known_step(shortened, "x.json");
  EXPECT_EQ(step, example().step());
  EXPECT_EQ(step.groups, 123);
}

TEST(BestKnownFile, OneGroupMoreOrLessElsewhereChangesOneLine) {
  const std::string before = write_best_known(example());
  BestKnown moved = example();
  moved.placement[60] = 11;  // from 0: one character more
  const std::string after = write_best_known(moved);
  const auto lines = [](const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> all;
    for (std::string line; std::getline(stream, line);) {
      EXPECT_LE(line.size(), 160U);
      all.push_back(line);
    }
    return all;
  };
  ASSERT_EQ(lines(before).size(), lines(after).size());
  int changed = 0;
  for (std::size_t i = 0; i < lines(before).size(); ++i) {
    changed += lines(before)[i] == lines(after)[i] ? 0 : 1;
  }
  EXPECT_EQ(changed, 1);
}

TEST(BestKnownFile, MistakesAreToldWithTheirPlace) {
  EXPECT_THAT(message_of(""), StartsWith("x.json: not valid JSON"));
  EXPECT_THAT(message_of("[]"), HasSubstr("expected an object"));
  const auto expect = [](const std::string& from, const std::string& to,
                         const std::string& message) {
    EXPECT_THAT(message_of(broken(from, to)), StartsWith("x.json: " + message));
  };
  expect("emplace-best-known", "emplace-suite", "/schema: expected the text 'emplace-best-known'");
  expect("\"version\": 2", "\"version\": 3", "/version: this program reads version 2 at most");
  expect("\"graph\"", "\"grpah\"", "/grpah: the member is not known");
  expect("\"g:batch=2\"", "\"\"", "/graph: expected a text that is not empty");
  expect("\"c\"", "7", "/cluster: expected a text");
  expect("0123456789abcdef", "0123456789ABCDEF", "/step_hash: expected 16 hexadecimal digits");
  expect("0123456789abcdef", "0123", "/step_hash: expected 16 hexadecimal digits");
  expect("0.30000000000000004", "-1", "/step_time_us: expected a number from 0");
  expect("0.30000000000000004", "\"fast\"", "/step_time_us: expected a number");
  expect("20000", "-1", "/found/evaluations: expected a whole number");
  expect("\"seed\": 7", "\"seed\": 1.5", "/found/seed: expected a whole number");
  expect("\"repetition 2\"", "\"\"", "/found/comment: expected a text that is not empty");
  expect("\"gpu:1\"", "\"gpu:0\"", "/devices/1: the device is already in the list");
  expect("\"groups\": 123", "\"groups\": 122",
         "/placement: expected the devices of 122 groups, found 123");
  expect("\"groups\": 123", "\"groups\": 0", "/groups: expected a whole number");
  const std::string numbers = "/placement/0: expected numbers from 0 to 11";
  expect("\"0 1 2", "\"0 12 2", numbers);
  expect("\"0 1 2", "\"0 -1 2", numbers);
  expect("\"0 1 2", "\"0 a 2", numbers);
  expect("\"0 1 2", "\"0  2", numbers);
  expect("\"0 1 2", "\" 0 1 2", numbers);
  expect("\"0 1 2", "\"0 1,2", numbers);
  expect("\"0 1 2", "\"0 1.5 2", numbers);
  expect("\"0 1 2", "\"0 99999999999999999999 2", numbers);
  expect("\"0 1 2", "\"\", \"0 1 2", numbers);
  expect("\"0 1 2", "7, \"0 1 2", "/placement/0: expected a text");
  expect("\"122 121", "\"122", "/priorities: expected the priorities of 123 groups, found 122");
  expect("\"122 121", "\"122 -1", "/priorities/0: expected numbers from 0 to 2147483647");
}

TEST(BestKnownFile, NamesHaveNoCharactersOfParameters) {
  EXPECT_EQ(example().file_name(), "g_batch_2.c.json");
}

TEST(BestKnownFile, AFolderIsReadInOrderAndEachFileHasTheNameOfItsEntry) {
  const TemporaryFolder folder;
  EXPECT_THROW(read_best_known_folder(folder.path("none")), Error);
  EXPECT_TRUE(read_best_known_folder(folder.path()).empty());
  BestKnown other = example();
  other.graph = "f";
  write_text_file(folder.path("g_batch_2.c.json"), write_best_known(example()));
  write_text_file(folder.path("f.c.json"), write_best_known(other));
  write_text_file(folder.path("notes.txt"), "not an entry");
  EXPECT_THAT(read_best_known_folder(folder.path()), ::testing::ElementsAre(other, example()));
  EXPECT_EQ(read_best_known_of(folder.path(), "f", "c"), other);
  EXPECT_EQ(read_best_known_of(folder.path(), "f", "d"), std::nullopt);

  std::filesystem::rename(folder.path("f.c.json"), folder.path("f.d.json"));
  EXPECT_THROW(read_best_known_of(folder.path(), "f", "d"), Error);
  EXPECT_THAT(test::error_of([&] { read_best_known_folder(folder.path()); }),
              HasSubstr("f.d.json: expected the file name 'f.c.json'"));
}

// a(100) -> b(200), c(200) -> d(50), without bytes: 550 us on one device, 350 us on two.
Problem diamond() { return test::make_problem(test::diamond_graph(0)); }

const Placement kOneDevice(std::vector<DeviceId>{0, 0, 0, 0});
const Placement kTwoDevices(std::vector<DeviceId>{0, 0, 1, 0});

BestKnown entry_of(const Problem& problem, const Placement& placement) {
  return make_best_known("g", "c", problem, placement, {.by = "hand", .version = "0.2.0"}).value();
}

// The same graph in which b takes 300 us, and each op allocates `bytes`.
Problem changed_diamond(std::int64_t bytes = 0, std::int64_t memory_bytes = test::kGigabyte) {
  return test::make_problem(test::make_graph({{.name = "a", .cost_us = 100, .output_bytes = bytes},
                                              {.name = "b", .cost_us = 300, .producers = {0}},
                                              {.name = "c", .cost_us = 200, .producers = {0}},
                                              {.name = "d", .cost_us = 50, .producers = {1, 2}}}),
                            {.memory_bytes = memory_bytes});
}

TEST(BestKnown, HoldsTheExactStepTimeOfAPlacementThatFits) {
  const Problem problem = diamond();
  const BestKnown entry = entry_of(problem, kTwoDevices);
  EXPECT_EQ(entry.step_time_us, 350);
  EXPECT_EQ(entry.step_hash, step_hash_of(problem));
  EXPECT_THAT(entry.devices, ::testing::ElementsAre("gpu:0", "gpu:1"));
  EXPECT_TRUE(check_best_known(entry, problem).valid());
  EXPECT_EQ(check_best_known(entry, problem).renewed, entry);
}

TEST(BestKnown, IsNeverOutOfMemory) {
  EXPECT_EQ(make_best_known("g", "c", changed_diamond(100, 99), kOneDevice, {}), std::nullopt);
  EXPECT_NE(make_best_known("g", "c", changed_diamond(100, 100), kOneDevice, {}), std::nullopt);
}

TEST(BestKnown, IsStaleWhereCostsChangedAndCountsWithItsNewStepTime) {
  const Problem changed = changed_diamond();
  const BestKnownCheck check = check_best_known(entry_of(diamond(), kTwoDevices), changed);
  EXPECT_THAT(check.complaint, StartsWith("stale"));
  ASSERT_TRUE(check.renewed);
  EXPECT_EQ(check.renewed->step_time_us, 450);
  EXPECT_EQ(check.renewed->found.by, "hand");
  EXPECT_TRUE(check_best_known(*check.renewed, changed).valid());
}

TEST(BestKnown, IsWrongWhereTheStepTakesAnotherTime) {
  const Problem problem = diamond();
  BestKnown entry = entry_of(problem, kTwoDevices);
  entry.step_time_us = std::nextafter(350.0, 0.0);
  const BestKnownCheck check = check_best_known(entry, problem);
  EXPECT_THAT(check.complaint, StartsWith("wrong: the step takes 350 us"));
  EXPECT_EQ(check.renewed->step_time_us, 350);
}

TEST(BestKnown, FindsItsDevicesByName) {
  const Problem problem = diamond();
  BestKnown entry = entry_of(problem, kTwoDevices);
  std::ranges::reverse(entry.devices);
  EXPECT_EQ(check_best_known(entry, problem).renewed->placement,
            Placement(std::vector<DeviceId>{1, 1, 0, 1}));
  entry.devices[0] = "gpu:7";
  EXPECT_EQ(check_best_known(entry, problem).renewed, std::nullopt);
  EXPECT_FALSE(check_best_known(entry, problem).valid());
  entry = entry_of(problem, kTwoDevices);
  entry.placement = Placement(5);
  EXPECT_THAT(check_best_known(entry, problem).complaint, HasSubstr("does not fit the problem"));
}

TEST(StepHash, IsOfWhatDecidesStepTimesAndOfNoGrouping) {
  const auto hash = [](std::string_view graph, std::string_view cluster,
                       std::string_view grouping = "neighbours") {
    return step_hash_of(load_problem(graph, cluster, 0, grouping));
  };
  const std::string tree = hash("in-tree:levels=5", "p2-8xlarge-2");
  EXPECT_EQ(tree.size(), 16U);
  EXPECT_EQ(hash("in-tree:levels=5", "p2-8xlarge-2", kFinestGrouping), tree);
  EXPECT_NE(hash("in-tree:levels=6", "p2-8xlarge-2"), tree);
  EXPECT_NE(hash("in-tree:levels=5", "p2-8xlarge-4"), tree);
  EXPECT_NE(step_hash_of(diamond()), step_hash_of(changed_diamond()));
  EXPECT_NE(step_hash_of(changed_diamond(100)), step_hash_of(changed_diamond(100, 100)));
  // What must share a device decides which placements there are.
  OpGraph graph = test::diamond_graph(0);
  graph[0].colocation = graph[1].colocation = "together";
  EXPECT_NE(step_hash_of(test::make_problem(std::move(graph))), step_hash_of(diamond()));
}

TEST(AtGrouping, WritesCoarsePlacementsInFineGroupsWithTheSameStep) {
  const Problem coarse = load_problem("inception-v3:batch=2", "p2-8xlarge-2", 20, "neighbours");
  const Problem finest = load_finest_problem("inception-v3:batch=2", "p2-8xlarge-2");
  ASSERT_LT(coarse.num_groups(), finest.num_groups());
  Placement placement(coarse.num_groups(), coarse.placeable_devices().front());
  for (GroupId group = 0; group < coarse.num_groups(); group += 3) {
    placement[group] = coarse.placeable_devices().back();
  }
  const std::optional<Placement> fine = at_grouping(finest.grouping(), coarse, placement);
  ASSERT_TRUE(fine);
  EXPECT_EQ(Simulator(finest).run(*fine).makespan_us, Simulator(coarse).run(placement).makespan_us);

  IdVector<GroupId, Priority> priorities;
  for (GroupId group = 0; group < coarse.num_groups(); ++group) {
    priorities.push_back(group % 7);
  }
  placement.set_priorities(std::move(priorities));
  const double ordered_us = Simulator(coarse).run(placement).makespan_us;
  EXPECT_NE(ordered_us, Simulator(finest).run(*fine).makespan_us);
  EXPECT_EQ(Simulator(finest).run(*at_grouping(finest.grouping(), coarse, placement)).makespan_us,
            ordered_us);
}

TEST(AtGrouping, GivesNothingWherePlacementsPartAGroup) {
  const Problem problem = diamond();
  const Grouping pair({0, 1, 1, 2});
  EXPECT_EQ(at_grouping(pair, problem, kTwoDevices), std::nullopt);
  EXPECT_EQ(at_grouping(pair, problem, kOneDevice), Placement(3));
}

class UpdateBestKnown : public ::testing::Test {
 protected:
  BestKnownUpdateResult update(const Problem& problem, const std::optional<BestKnown>& candidate) {
    return update_best_known(folder_.path("made"), "g", "c", problem, candidate);
  }

  std::optional<BestKnown> stored() const {
    return read_best_known_of(folder_.path("made"), "g", "c");
  }

  const TemporaryFolder folder_;
  const Problem problem_ = diamond();
  const Problem changed_ = changed_diamond();
};

TEST_F(UpdateBestKnown, AddsThenKeepsTheFaster) {
  const BestKnown slow = entry_of(problem_, kOneDevice);
  const BestKnown fast = entry_of(problem_, kTwoDevices);
  EXPECT_EQ(update(problem_, slow).update, BestKnownUpdate::kAdded);
  EXPECT_EQ(stored(), slow);
  const BestKnownUpdateResult improved = update(problem_, fast);
  EXPECT_EQ(improved.update, BestKnownUpdate::kImproved);
  EXPECT_EQ(improved.before, slow);
  EXPECT_EQ(improved.now, fast);
  EXPECT_EQ(stored(), fast);
  EXPECT_EQ(update(problem_, slow).update, BestKnownUpdate::kKept);
  BestKnown equal = fast;
  equal.found.by = "another";
  EXPECT_EQ(update(problem_, equal).update, BestKnownUpdate::kKept);
  EXPECT_EQ(update(problem_, std::nullopt).update, BestKnownUpdate::kKept);
  EXPECT_EQ(stored(), fast);
}

TEST_F(UpdateBestKnown, RenewsWhatIsStaleByTheBetterOfBoth) {
  update(problem_, entry_of(problem_, kTwoDevices));
  const BestKnownUpdateResult alone = update(changed_, std::nullopt);
  EXPECT_EQ(alone.update, BestKnownUpdate::kRenewed);
  EXPECT_EQ(stored()->step_time_us, 450);
  EXPECT_TRUE(check_best_known(*stored(), changed_).valid());

  update(problem_, std::nullopt);  // back again
  EXPECT_EQ(stored()->step_time_us, 350);
  // A candidate that is slower than the old placement under the new costs.
  EXPECT_EQ(update(changed_, entry_of(changed_, kOneDevice)).update, BestKnownUpdate::kRenewed);
  EXPECT_EQ(stored()->step_time_us, 450);

  update(problem_, std::nullopt);
  BestKnown slow = *stored();
  slow.placement = kOneDevice;
  slow.step_time_us = 550;
  write_text_file(folder_.path("made/g.c.json"), write_best_known(slow));
  EXPECT_EQ(update(changed_, entry_of(changed_, kTwoDevices)).update, BestKnownUpdate::kRenewed);
  EXPECT_EQ(stored()->step_time_us, 450);
}

TEST_F(UpdateBestKnown, MendsAStepTimeThatIsWrong) {
  BestKnown wrong = entry_of(problem_, kTwoDevices);
  wrong.step_time_us = 1;
  std::filesystem::create_directory(folder_.path("made"));
  write_text_file(folder_.path("made/g.c.json"), write_best_known(wrong));
  EXPECT_EQ(update(problem_, entry_of(problem_, kOneDevice)).update, BestKnownUpdate::kRenewed);
  EXPECT_EQ(stored()->step_time_us, 350);
}

TEST_F(UpdateBestKnown, StoresNothingThatDoesNotFit) {
  EXPECT_EQ(update(problem_, std::nullopt).update, BestKnownUpdate::kNoneFits);
  EXPECT_EQ(stored(), std::nullopt);
  const BestKnown before = entry_of(problem_, kTwoDevices);
  update(problem_, before);
  const Problem full = changed_diamond(100, 99);
  const BestKnownUpdateResult result = update(full, std::nullopt);
  EXPECT_EQ(result.update, BestKnownUpdate::kNoneFits);
  EXPECT_EQ(result.now, std::nullopt);
  EXPECT_EQ(stored(), before);
}

TEST_F(UpdateBestKnown, OfManyWritersTheBestStays) {
  const Problem problem = test::make_problem(test::crossing_graph());
  std::vector<BestKnown> candidates;
  for (int bits = 0; bits < 1 << 7; ++bits) {
    Placement placement(7);
    for (GroupId group = 0; group < 7; ++group) {
      placement[group] = bits >> group & 1;
    }
    candidates.push_back(entry_of(problem, placement));
  }
  {
    std::vector<std::jthread> writers;
    for (std::size_t writer = 0; writer < 4; ++writer) {
      writers.emplace_back([&, writer] {
        for (std::size_t i = writer; i < candidates.size(); i += 4) {
          update(problem, candidates[i]);
        }
      });
    }
  }
  EXPECT_EQ(stored()->step_time_us, test::optimum_us(problem));
  EXPECT_TRUE(check_best_known(*stored(), problem).valid());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path("made")), {}), 1);
}

TEST(ShippedBestKnown, AllHoldToTheLastBit) {
  const std::vector<BestKnown> entries =
      read_best_known_folder(test::source_path("bench/best_known"));
  EXPECT_FALSE(entries.empty());
  for (const BestKnown& entry : entries) {
    const Problem problem = load_finest_problem(entry.graph, entry.cluster);
    const BestKnownCheck check = check_best_known(entry, problem);
    EXPECT_TRUE(check.valid()) << "bench/best_known/" << entry.file_name() << " is "
                               << check.complaint << "\nmend it with: emplace dev best-known "
                               << entry.graph << " --cluster " << entry.cluster;
    EXPECT_GE(entry.step_time_us, lower_bounds(problem).best_us()) << entry.file_name();
  }
}

TEST(ShippedBestKnown, IsFoundByNameAndIsWhatTheSourceTreeHolds) {
  std::vector<BestKnownStep> steps;
  for (const BestKnown& entry : read_best_known_folder(test::source_path("bench/best_known"))) {
    steps.push_back(entry.step());
    EXPECT_EQ(find_best_known(entry.graph, entry.cluster), steps.back());
  }
  EXPECT_EQ(shipped_best_known(), steps);
  EXPECT_EQ(find_best_known("no-such-graph", "p2-8xlarge-2"), std::nullopt);
}

TEST(ShippedBestKnown, IsOfNamesOnly) {
  EXPECT_THROW(load_finest_problem("./x.json", "p2-8xlarge-2"), Error);
  EXPECT_THROW(load_finest_problem("inception-v3:batch=2/x", "p2-8xlarge-2"), Error);
  EXPECT_THROW(load_finest_problem("inception-v3", "./p2-8xlarge-2.json"), Error);
}

}  // namespace
}  // namespace emplace::bench::best_known_test
