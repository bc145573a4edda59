#include <emplace/bench/fidelity.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/profiles/cluster.hpp>

#include <boost/graph/graph_traits.hpp>
#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace emplace::bench::fidelity_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

PublishedStep step_of(const std::string& profile, double ms) {
  return {.software = "F 1",
          .device = "a card",
          .profile = profile,
          .math = std::string(kFloat32Math),
          .graph = {.name = "rnnlm", .batch = 4, .options = "hidden=64,steps=4"},
          .ms = ms};
}

PublishedSteps steps_of(std::vector<PublishedStep> steps) {
  return {.sources =
              {{.name = "s", .repository = "o/r", .path = "a, b", .commit = "c", .licence = "MIT"}},
          .steps = std::move(steps)};
}

// Steps of which the first three judge: ratios 1.1, 0.8 and 2, in an order that differs in one pair
// of three.
Fidelity example() {
  Fidelity fidelity{.published = steps_of({step_of("a", 100), step_of("a", 300), step_of("b", 150),
                                           step_of("b", 100), step_of("b", 100)})};
  fidelity.published.steps[3].used_for_fit = true;
  fidelity.steps = {{.us = 110e3},
                    {.us = 240e3, .status = StepStatus::kOutOfMemory, .bytes_over = 1'500'000'000},
                    {.us = 300e3},
                    {.us = 100e3},
                    {.why_none = "no \"such\" profile"}};
  return fidelity;
}

TEST(Fidelity, AStepOnOneDeviceTakesTheSumOfItsCosts) {
  const Fidelity fidelity = predict_published(steps_of({step_of("v100", 1)}), {});
  const OpGraph graph = load_graph("rnnlm:batch=4,hidden=64,steps=4");
  const DeviceProfile profile = load_device_profile("v100");
  double sum_us = 0;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const double us = op_cost(profile, graph[op]).us;
    sum_us += us > 0 ? profile.launch_us + us : 0;
  }
  ASSERT_TRUE(fidelity.steps[0].us.has_value());
  EXPECT_GT(sum_us, 100);
  EXPECT_NEAR(*fidelity.steps[0].us, sum_us, 1e-6 * sum_us);
  EXPECT_EQ(fidelity.steps[0].status, StepStatus::kOk);
  EXPECT_DOUBLE_EQ(fidelity.ratio(0).value(), *fidelity.steps[0].us / 1000);
}

TEST(Fidelity, WhatDoesNotFitHasATimeAllTheSame) {
  PublishedSteps published = steps_of({step_of("k80", 1)});
  published.steps[0].graph = {.name = "vgg-16", .batch = 512, .options = ""};
  const Fidelity fidelity = predict_published(std::move(published), {});
  EXPECT_EQ(fidelity.steps[0].status, StepStatus::kOutOfMemory);
  EXPECT_GT(fidelity.steps[0].bytes_over, 1'000'000'000);
  EXPECT_TRUE(fidelity.judges(0));
}

TEST(Fidelity, WhatCannotBeSimulatedSaysWhy) {
  PublishedSteps published = steps_of({step_of("v1000", 1), step_of("v100", 1)});
  published.steps[1].graph.options = "hiden=64";
  const Fidelity fidelity = predict_published(std::move(published), {});
  EXPECT_THAT(fidelity.steps[0].why_none, HasSubstr("unknown device profile 'v1000'"));
  EXPECT_THAT(fidelity.steps[1].why_none, HasSubstr("hiden"));
  EXPECT_FALSE(fidelity.judges(0));
  EXPECT_FALSE(fidelity.ratio(0).has_value());
}

// The graph has two batches.
TEST(Fidelity, ASpecThatCannotBeParsedIsAStepThatIsNotSimulated) {
  PublishedSteps published = steps_of({step_of("v100", 1)});
  published.steps[0].graph.options = "batch=4";
  const Fidelity fidelity = predict_published(std::move(published), {});
  EXPECT_THAT(fidelity.steps[0].why_none, HasSubstr("batch"));
  const std::vector<Accuracy> all = accuracy_of(fidelity);
  EXPECT_EQ(all.back().not_simulated, 1);
  EXPECT_EQ(all[1].numbers, "float32");
  EXPECT_THAT(write_terminal(fidelity, false), HasSubstr("1 of them: "));
}

TEST(Fidelity, SpeedupsUseTheFirstDevicesOfTheirCluster) {
  PublishedSteps published;
  published.sources.push_back({.name = "s"});
  const PublishedSpeedup speedup{.cluster = "k80-pcie-8",
                                 .devices = 1,
                                 .agent = "round-robin",
                                 .graph = {"rnnlm", 4, "hidden=64,steps=4"},
                                 .one_ms = 2,
                                 .placed_ms = 1};
  published.speedups = {speedup, speedup, speedup};
  published.speedups[1].devices = 2;
  published.speedups[2].devices = 99;
  const Fidelity fidelity = predict_published(std::move(published), {});
  ASSERT_THAT(fidelity.speedups, SizeIs(3));
  EXPECT_EQ(fidelity.speedups[0].speedup(), 1.0);
  EXPECT_NE(fidelity.speedups[1].speedup(), 1.0);
  EXPECT_EQ(fidelity.speedups[1].one, fidelity.speedups[0].one);
  EXPECT_FALSE(fidelity.speedups[2].speedup().has_value());
  EXPECT_THAT(fidelity.speedups[2].placed.why_none, HasSubstr("8 devices for agents, not 99"));
}

TEST(Fidelity, SumsUpByDeviceAndOverAll) {
  const std::vector<Accuracy> all = accuracy_of(example());
  ASSERT_THAT(all, SizeIs(5));
  EXPECT_EQ(all[0].profile, "a");
  EXPECT_EQ(all[0].out_of_memory, 1);
  EXPECT_EQ(all[0].judging, 2);
  EXPECT_NEAR(*all[0].median_error, 0.15, 1e-12);
  EXPECT_EQ(all[1].profile, "b");
  EXPECT_EQ(all[1].steps, 3);
  EXPECT_EQ(all[1].not_simulated, 1);
  EXPECT_EQ(all[1].used_for_fit, 1);
  EXPECT_EQ(all[1].judging, 1);
  EXPECT_FALSE(all[1].tau.has_value());
  EXPECT_EQ(all[3].publisher, "o");
  const Accuracy& total = all[4];
  EXPECT_EQ(total.profile, "");
  EXPECT_EQ(total.publisher, "");
  EXPECT_EQ(total.numbers, "");
  EXPECT_EQ(all[2].numbers, "float32");
  EXPECT_EQ(all[2].mean_error, total.mean_error);
  EXPECT_EQ(total.steps, 5);
  EXPECT_EQ(total.judging, 3);
  EXPECT_NEAR(*total.median_ratio, 1.1, 1e-12);
  EXPECT_NEAR(*total.median_error, 0.2, 1e-12);
  EXPECT_NEAR(*total.mean_error, (0.1 + 0.2 + 1) / 3, 1e-12);
  EXPECT_NEAR(*total.tau, 1.0 / 3, 1e-12);
}

// The V100's steps take 1.5 times what their ops take alone, those of other publishers twice.
TEST(Fidelity, AStepIsPredictedByTheStepsOfOtherPublishers) {
  const double alone_ms =
      predict_published(steps_of({step_of("v100", 1)}), {}).steps[0].alone_us / 1000;
  PublishedSteps published =
      steps_of({step_of("v100", 1.5 * alone_ms), step_of("v100", 2 * alone_ms), step_of("k80", 1)});
  published.sources.push_back({.name = "t", .repository = "other/r"});
  published.steps[1].source = 1;
  const Fidelity fidelity = predict_published(published, {});
  EXPECT_NEAR(*fidelity.steps[0].us, 2e3 * alone_ms, 1e-6 * alone_ms);
  EXPECT_NEAR(*fidelity.steps[1].us, 1.5e3 * alone_ms, 1e-6 * alone_ms);
  EXPECT_EQ(fidelity.steps[2].us, fidelity.steps[2].alone_us);  // its profile was fitted to steps
  ASSERT_THAT(fidelity.factors, SizeIs(3));
  EXPECT_EQ(fidelity.factors[0].publisher, "o");
  EXPECT_NEAR(fidelity.factors[0].factors[0], 2, 1e-9);
  EXPECT_EQ(fidelity.factors[2].publisher, "");
  EXPECT_GT(fidelity.factors[2].factors[0], 1.5);
  EXPECT_LT(fidelity.factors[2].factors[0], 2);
}

TEST(Fidelity, ShippedFactorsAreThoseFittedToAllSteps) {
  const Fidelity fidelity = predict_published(shipped_published_steps(), {});
  const StepFactors& fitted = fidelity.factors.back().factors;
  for (const std::string& name : device_profile_names()) {
    const DeviceProfile profile = load_device_profile(name);
    if (profile.step_factors != DeviceProfile().step_factors) {
      for (std::size_t at = 0; at < fitted.size(); ++at) {
        EXPECT_NEAR(profile.step_factors[at], fitted[at], 0.0051) << name << kPrecisions[at];
      }
    }
  }
}

TEST(Fidelity, ReportsTellWhatMatters) {
  const Fidelity fidelity = example();
  const std::string terminal = write_terminal(fidelity, false);
  EXPECT_THAT(terminal, HasSubstr("1.5 GB over"));
  EXPECT_THAT(terminal, HasSubstr("1 of them: no \"such\" profile"));
  EXPECT_THAT(terminal, Not(HasSubstr("Times faster")));
  EXPECT_THAT(write_markdown(fidelity), StartsWith("## Accuracy\n"));
  EXPECT_THAT(write_markdown(fidelity), HasSubstr("## Not simulated\n\n- 1: no "));

  const auto json = nlohmann::json::parse(write_json(fidelity));
  EXPECT_EQ(json.at("steps").size(), 5);
  EXPECT_EQ(json.at("steps")[1].at("ratio").get<double>(), 0.8);
  EXPECT_EQ(json.at("steps")[1].at("status"), "out_of_memory");
  EXPECT_TRUE(json.at("steps")[4].at("predicted_us").is_null());
  EXPECT_EQ(json.at("accuracy")[0].at("device"), "a");
  EXPECT_TRUE(json.at("accuracy")[3].at("device").is_null());

  const std::string csv = write_csv(fidelity);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 6);
  EXPECT_THAT(csv, HasSubstr("step,o/r,\"a, b\",c,MIT,F 1,a card,a,float32,"
                             "\"rnnlm:batch=4,hidden=64,steps=4\",ms,100,110,1.1,false,ok,\n"));
  EXPECT_THAT(csv, HasSubstr(",\"no \"\"such\"\" profile\",\n"));
}

TEST(Fidelity, DrawsWhatWasSimulatedOnceAndFittedStepsHollow) {
  const std::string svg = draw_fidelity(example());
  const auto number_of = [&](std::string_view what) {
    int count = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(number_of("<title>"), 4);
  EXPECT_EQ(number_of("r=\"3\" fill=\"#fff\""), 1);
  EXPECT_THAT(svg, HasSubstr("ratio 0.80</title>"));
  EXPECT_THAT(svg, HasSubstr("ratio 1.00; a profile was fitted to it</title>"));
  for (const char* label : {">within 10 %<", ">within 25 %<", ">exact<", ">a<", ">b<"}) {
    EXPECT_THAT(svg, HasSubstr(label));
  }
  // The exact one lies on the diagonal of a field of 560 x 560 pixels.
  const std::size_t at = svg.rfind("cx=\"", svg.find("fill=\"#fff\" stroke=\"#"));
  const double x = std::stod(svg.substr(at + 4));
  const double y = std::stod(svg.substr(svg.find("cy=\"", at) + 4));
  EXPECT_NEAR(x + y, 560, 0.11);
  EXPECT_THAT(write_html(example()), HasSubstr("ratio 0.80</title>"));
}

TEST(Fidelity, DrawsEvenIfNothingCouldBeSimulated) {
  Fidelity fidelity{.published = steps_of({step_of("a", 100)})};
  fidelity.steps = {{.why_none = "nothing"}};
  EXPECT_THAT(draw_fidelity(fidelity), Not(HasSubstr("<title>")));
}

TEST(Fidelity, NumbersAreThoseOfTheGraphOrElseTheMath) {
  PublishedStep step = step_of("a", 1);
  EXPECT_EQ(numbers_of(step), "float32");
  step.graph.options = "optimizer=sgd,dtype=float16";
  EXPECT_EQ(numbers_of(step), "float16");
}

}  // namespace
}  // namespace emplace::bench::fidelity_test
