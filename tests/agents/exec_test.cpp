// The agent `exec` with programs that behave in every wrong way: each is an error that names the
// reason, soon, and leaves nothing behind. That good programs place as agents must is tested by
// conformance_test.cpp.

#include "exec/messages.hpp"
#include "support/errors.hpp"
#include "support/problems.hpp"
#include "support/temporary_folder.hpp"

#include <emplace/agents/agent_spec.hpp>
#include <emplace/base/text_file.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace emplace::agents::exec_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kHello = R"(echo '{"hello": "emplace-agent", "version": 1}'; )";

class ExecTest : public testing::Test {
 protected:
  // Returns the agent that runs `script` in a shell.
  std::string agent(const std::string& script, const std::string& parameters = "") {
    const std::string path = folder_.path(fmt::format("agent_{}.sh", num_scripts_++));
    write_text_file(path, script);
    return "exec:sh " + path + (parameters.empty() ? "" : "," + parameters);
  }

  static Placement place(const std::string& agent, const Problem& problem,
                         const Evaluator::Options& options = {.seed = 1,
                                                              .budget = {.max_evaluations = 100}}) {
    Evaluator evaluator(problem, options);
    return AgentSpec(agent).make()->place(problem, evaluator);
  }

  static std::string error_of(const std::string& agent, const Problem& problem) {
    return test::error_of([&] { place(agent, problem); });
  }

  std::string error_of(const std::string& script, const std::string& parameters = "") {
    return error_of(agent(script, parameters), problem_);
  }

  // What the program does after its hello and the problem.
  std::string error_after_hello(const std::string& script, const std::string& parameters = "") {
    return error_of(kHello + std::string("read -r problem; ") + script, parameters);
  }

  TemporaryFolder folder_;
  Problem problem_ = test::make_problem(test::diamond_graph(50));

 private:
  int num_scripts_ = 0;
};

int num_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

// Says whether a process goes on to run after it should have been killed, which takes a moment. One
// that nobody has waited for yet does not run.
bool runs(const std::string& process) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    std::ifstream file("/proc/" + process + "/stat");
    std::string text;
    std::getline(file, text);
    if (text.empty() || text.find(") Z") != std::string::npos) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

TEST_F(ExecTest, NeedsAProgram) {
  EXPECT_THAT([] { AgentSpec("exec").resolve(); },
              testing::ThrowsMessage<Error>(HasSubstr("agent exec needs a program")));
  EXPECT_THAT([] { AgentSpec("exec:").resolve(); },
              testing::ThrowsMessage<Error>(HasSubstr("agent exec needs a program")));
  EXPECT_THAT([] { AgentSpec("exec:  ").make(); },
              testing::ThrowsMessage<Error>(HasSubstr("its program has no name")));
  EXPECT_THAT([] { AgentSpec("exec:./a,time-limt=3").resolve(); },
              testing::ThrowsMessage<Error>(HasSubstr("did you mean 'time-limit'")));
  EXPECT_THAT([] { AgentSpec("exec:./a,program=./b"); },
              testing::ThrowsMessage<Error>(HasSubstr("'program' is given twice")));
}

TEST_F(ExecTest, TakesTheCommandLineUpToTheFirstComma) {
  const Params params = AgentSpec("exec:./a --depth=3:4 x,time-limit=7").resolve();
  EXPECT_EQ(params.get<std::string>("program"), "./a --depth=3:4 x");
  EXPECT_EQ(params.get<double>("time-limit"), 7);
}

TEST_F(ExecTest, TellsWhatCannotBeStarted) {
  EXPECT_EQ(error_of("exec:./no-such-program", problem_),
            "cannot start './no-such-program': No such file or directory");
  const std::string plain = folder_.path("plain");
  write_text_file(plain, "no program");
  EXPECT_THAT(error_of("exec:" + plain, problem_), HasSubstr("Permission denied"));
}

TEST_F(ExecTest, TellsHowAProgramEnded) {
  EXPECT_EQ(error_of("exit 3"), "the program exited with code 3 too early");
  EXPECT_EQ(error_after_hello("echo first >&2; echo last words >&2; exit 1"),
            "the program exited with code 1 too early; its standard error ends with: last words");
  EXPECT_EQ(error_after_hello("kill -SEGV $$"),
            "the program was killed by SIGSEGV (Segmentation fault)");
  EXPECT_EQ(error_after_hello("kill -9 $$"), "the program was killed by SIGKILL (Killed)");
  EXPECT_EQ(error_after_hello("exec 1>&-; sleep 60"),
            "the program closed its standard output too early");
}

TEST_F(ExecTest, KillsAProgramThatHangs) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(error_of("sleep 60", "start-limit=1"), "the program sent no hello within 1 s");
  EXPECT_EQ(error_after_hello("echo busy >&2; sleep 60", "time-limit=1"),
            "the program gave no placement within 1 s; its standard error ends with: busy");
  // It asks for more and more, and reads no answer.
  EXPECT_EQ(error_after_hello("yes '{\"best\": true}'", "time-limit=1"),
            "the program gave no placement within 1 s");
  // It ignores all signals that can be ignored.
  EXPECT_EQ(error_after_hello("trap '' TERM INT HUP; while :; do :; done", "time-limit=1"),
            "the program gave no placement within 1 s");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(ExecTest, RefusesGarbage) {
  EXPECT_THAT(error_of("echo hello"),
              StartsWith("the program sent a line that is not a JSON object: hello"));
  EXPECT_THAT(error_of("echo '{}'"), HasSubstr("no hello as its first line"));
  EXPECT_THAT(error_of("echo '{\"hello\": \"emplace-agent\", \"version\": 2}'"),
              HasSubstr("speaks version 2 of the protocol emplace-agent; this emplace speaks"));
  EXPECT_THAT(error_of("printf '\\377\\000\\001{\\n'"), HasSubstr("not a JSON object: \\xff\\x00"));
  for (const char* line : {"[]", "{}", "{\"best\": false}", "{\"bset\": true}",
                           "{\"best\": true, \"placement\": []}", "null", "{\"evaluate\": [[0]"}) {
    EXPECT_THAT(error_after_hello(fmt::format("echo '{}'", line)), StartsWith("the program sent "))
        << line;
  }
  // Deeper than any stack.
  EXPECT_THAT(error_after_hello("yes '[' | head -n 1000000 | tr -d '\\n'; echo"),
              HasSubstr("not a JSON object"));
}

TEST_F(ExecTest, RefusesTooMuchOutput) {
  EXPECT_EQ(error_after_hello("cat /dev/zero"), "the program wrote a line of more than 16 MiB");
  EXPECT_THAT(error_after_hello("yes >&2"),
              StartsWith("the program wrote more than 64 MiB to standard error"));
  EXPECT_EQ(error_after_hello("printf '{\"evaluate\": [0'; yes ,0 | head -n 70000 | tr -d '\\n'; "
                              "echo ]}"),
            "the program asked for 70001 evaluations at once; at most 65536 are allowed");
}

TEST_F(ExecTest, RefusesPlacementsThatDoNotFitTheProblem) {
  const auto error = [&](const std::string& line) {
    return error_after_hello("echo '" + line + "'");
  };
  EXPECT_EQ(error(R"({"placement": [0, 0, 0]})"),
            "the program sent a final placement of 3 groups; expected 4");
  EXPECT_EQ(error(R"({"evaluate": [[0, 0, 0, 0], [0, 0, 2, 0]]})"),
            "the program sent placement 1 with group 2 on device 2; expected a whole number from 0 "
            "to 1");
  for (const char* device : {"-1", "0.5", "1e3", "null", "\"0\"", "99999999999999999999", "[]"}) {
    EXPECT_THAT(error(fmt::format(R"({{"placement": [0, {}, 0, 0]}})", device)),
                HasSubstr("a final placement with group 1 on device "))
        << device;
  }
  EXPECT_THAT(error(R"({"placement": {"0": 1}})"), HasSubstr("neither an array of devices nor"));
  EXPECT_THAT(error(R"({"placement": "AAA!AA=="})"), HasSubstr("neither an array of devices nor"));
  EXPECT_EQ(error(R"({"placement": "AAAA"})"),
            "the program sent a final placement of 3 groups; expected 4");
  EXPECT_EQ(error(R"({"placement": "AAAAAg=="})"),
            "the program sent a final placement with group 3 on device 2; expected a whole number "
            "from 0 to 1");
  EXPECT_THAT(error(R"({"evaluate": 7})"), HasSubstr("without an array of placements"));
}

TEST_F(ExecTest, ReadsPlacementsInBase64) {
  const std::string script =
      std::string(kHello) + "read -r p; echo '{\"placement\": \"AAEAAQ==\"}'";
  EXPECT_EQ(place(agent(script), problem_), Placement({0, 1, 0, 1}));
}

TEST_F(ExecTest, TakesAPlacementOfAProgramThatReadsNothing) {
  // More than a pipe holds.
  const Problem large = test::make_problem(test::fork_join_graph(5000, 20));
  std::string devices = "0";
  for (GroupId group = 1; group < large.num_groups(); ++group) {
    devices += ",0";
  }
  const std::string answer = "echo '{\"placement\": [" + devices + "]}'";
  EXPECT_EQ(place(agent(kHello + answer), large), Placement(large.num_groups()));
  EXPECT_EQ(place(agent(kHello + ("exec 0<&-; sleep 0.2; " + answer)), large),
            Placement(large.num_groups()));
}

TEST_F(ExecTest, IsNotHeldUpByProcessesThatAProgramLeaves) {
  const std::string pid = folder_.path("pid");
  const std::string leaves = fmt::format("sleep 60 & echo $! > {}; ", pid);
  const auto left_process = [&] {
    std::string text = read_text_file(pid);
    text.erase(text.find_last_not_of('\n') + 1);
    return text;
  };
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(error_after_hello(leaves + "exit 0"), "the program exited with code 0 too early");
  EXPECT_FALSE(runs(left_process()));
  EXPECT_EQ(error_after_hello(leaves + "kill -9 $$"), "the program was killed by SIGKILL (Killed)");
  EXPECT_FALSE(runs(left_process()));
  EXPECT_EQ(error_after_hello(leaves + "echo '{\"placement\": [0, 0, 0, 0]}'"), "none");
  EXPECT_FALSE(runs(left_process()));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(ExecTest, LimitsMemory) {
  EXPECT_THAT(
      error_after_hello("exec python3 -c 'bytearray(600 * 1000 * 1000)'", "memory-limit=0.3"),
      HasSubstr("exited with code 1 too early; its standard error ends with: MemoryError"));
  EXPECT_EQ(error_after_hello("python3 -c 'bytearray(600 * 1000 * 1000)'; "
                              "echo '{\"placement\": [0, 0, 0, 0]}'",
                              "memory-limit=0"),
            "none");
}

TEST_F(ExecTest, EndsSoonWhenTheSearchIsStopped) {
  for (const char* const hello : {kHello, ""}) {
    std::atomic<bool> stop = false;
    std::thread stops([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      stop = true;
    });
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT(
        [&] {
          place(agent(hello + std::string("sleep 60")), problem_,
                {.budget = {.max_evaluations = 100, .stop = &stop}});
        },
        testing::ThrowsMessage<Error>(HasSubstr("the search was stopped")));
    stops.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  }
}

TEST_F(ExecTest, LeavesNothingBehindOnManyThreads) {
  const std::vector<std::string> agents = {
      agent("exit 3"), agent(kHello + std::string("kill -9 $$")), agent("echo garbage"),
      agent(kHello + std::string("read -r p; echo '{\"placement\": [1, 1, 1, 1]}'")),
      agent("sleep 60", "start-limit=1")};
  const std::vector<std::string> errors = {
      "the program exited with code 3 too early", "the program was killed by SIGKILL (Killed)",
      "the program sent a line that is not a JSON object: garbage", "none",
      "the program sent no hello within 1 s"};
  tbb::parallel_for(0, 4, [](int) {});  // its threads may open files
  const int before = num_descriptors();
  std::vector<std::string> found(60);
  tbb::parallel_for(std::size_t{0}, found.size(), [&](std::size_t i) {
    found[i] = error_of(agents[i % agents.size()], problem_);
  });
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], errors[i % errors.size()]) << i;
  }
  EXPECT_EQ(num_descriptors(), before);
  EXPECT_FALSE(has_children());
}

TEST_F(ExecTest, GivesItsDescriptorsAndSignalsToNoProgram) {
  const std::ofstream open_file(folder_.path("open"));  // without O_CLOEXEC
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  const std::string out = folder_.path("out");
  const std::string listed = folder_.path("listed");
  // Not in a pipe, whose end the shell may still have. From 10 on are its own: the script, and the
  // output that it saved.
  const std::string script = fmt::format(
      "{}read -r p; ls /proc/$$/fd > {}; grep -c '^.$' {} > {}; "
      "grep SigBlk /proc/self/status >> {}; echo '{{\"placement\": [0, 0, 0, 0]}}'",
      kHello, listed, listed, out, out);
  place(agent(script), problem_);
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  EXPECT_EQ(read_text_file(out), "3\nSigBlk:\t0000000000000000\n");
}

TEST_F(ExecTest, TellsConstraintsWhereThereAreAny) {
  const auto groups_of = [&](const Cluster& cluster) {
    const Problem problem(std::make_shared<const OpGraph>(test::chain_graph({1, 2, 3, 4}, 5)),
                          Grouping({0, 1, 2, 3}), std::make_shared<const Cluster>(cluster));
    const std::string out = folder_.path("constrained.json");
    const std::string script =
        fmt::format("{}head -n 1 > {}; echo '{{\"placement\": [0, 0, 0, 0]}}'", kHello, out);
    place(agent(script), problem);
    return nlohmann::json::parse(read_text_file(out)).at("problem").at("groups");
  };
  Cluster cluster = *test::make_cluster({});
  EXPECT_FALSE(groups_of(cluster).contains("pinned"));
  cluster.pins = {{.pattern = "op_1", .device = "gpu:1"}};
  EXPECT_EQ(groups_of(cluster).at("pinned"), nlohmann::json({-1, 1, -1, -1}));
  EXPECT_EQ(groups_of(cluster).at("together"), nlohmann::json::array());
  cluster.together = {"op_[13]"};
  EXPECT_EQ(groups_of(cluster).at("pinned"), nlohmann::json({-1, 1, -1, 1}));
  EXPECT_EQ(groups_of(cluster).at("together"), nlohmann::json::parse("[[1, 3]]"));
}

TEST_F(ExecTest, TellsTheProblem) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 5, .scope = "first"},
                        {.name = "b \"x\"",
                         .cost_us = 20.5,
                         .output_bytes = 8,
                         .producers = {0},
                         .persistent_bytes = 7}}),
      {.num_devices = 2, .memory_bytes = 1000, .bytes_per_us = 4, .with_cpu = true});
  const std::string out = folder_.path("problem.json");
  const std::string script =
      fmt::format("{}head -n 1 > {}; echo '{{\"placement\": [0, 0]}}'", kHello, out);
  place(agent(script), problem, {.seed = 5, .budget = {.max_evaluations = 12}});
  const auto json = nlohmann::json::parse(read_text_file(out)).at("problem");
  EXPECT_EQ(json.at("protocol"), "emplace-agent");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("graph"), "test");
  EXPECT_EQ(json.at("evaluations_left"), 12);
  EXPECT_TRUE(json.at("seconds_left").is_null());
  EXPECT_LT(json.at("seed").get<std::uint64_t>(), std::uint64_t{1} << 53);
  ASSERT_EQ(json.at("devices").size(), 3U);
  EXPECT_EQ(json.at("devices")[2].at("name"), "cpu:0");
  EXPECT_EQ(json.at("devices")[2].at("placeable"), false);
  EXPECT_EQ(json.at("devices")[0].at("placeable"), true);
  EXPECT_EQ(json.at("devices")[0].at("memory_bytes"), 1000);
  const auto& groups = json.at("groups");
  EXPECT_EQ(groups.at("count"), 2);
  EXPECT_EQ(groups.at("names"), nlohmann::json({"a", "b \"x\""}));
  EXPECT_EQ(groups.at("scopes"), nlohmann::json({"first", ""}));
  EXPECT_EQ(groups.at("ops"), nlohmann::json({1, 1}));
  EXPECT_EQ(groups.at("persistent_bytes"), nlohmann::json({0, 7}));
  EXPECT_EQ(groups.at("output_bytes"), nlohmann::json({5, 8}));
  EXPECT_EQ(groups.at("cost_us"), nlohmann::json({{10, 20.5}, {10, 20.5}, {100, 205}}));
  EXPECT_EQ(groups.at("order"), nlohmann::json({0, 1}));
  EXPECT_EQ(json.at("edges"), nlohmann::json({{0, 1, 5}}));
  EXPECT_EQ(json.at("transfers").at("us_per_byte")[0], nlohmann::json({0, 0.25, 0.25}));
  EXPECT_EQ(json.at("transfers").at("latency_us")[1][0], problem.transfer_us(0, 1, 0));
}

TEST_F(ExecTest, AnswersWithWhatTheSimulatorSays) {
  const std::string out = folder_.path("answers");
  const std::string script = fmt::format(
      "{}read -r p; echo '{{\"best\": true}}'; read -r a; "
      "echo '{{\"evaluate\": [[0,0,0,0], \"AAEAAA==\", [0,0,0,0]]}}'; read -r b; "
      "echo '{{\"best\": true}}'; read -r c; printf '%s\\n' \"$a\" \"$b\" \"$c\" > {}; "
      "echo '{{\"placement\": [0, 1, 0, 0]}}'",
      kHello, out);
  const Problem problem = test::make_problem(test::diamond_graph(0));
  place(agent(script), problem, {.budget = {.max_evaluations = 2}});
  std::ifstream file(out);
  std::vector<nlohmann::json> answers;
  for (std::string line; std::getline(file, line);) {
    answers.push_back(nlohmann::json::parse(line));
  }
  ASSERT_EQ(answers.size(), 3U);
  const auto null = nlohmann::json();
  EXPECT_EQ(answers[0],
            nlohmann::json({{"best", null}, {"evaluations_left", 2}, {"seconds_left", null}}));
  EXPECT_EQ(answers[1], nlohmann::json({{"step_time_us", {550, 350, null}},
                                        {"bytes_over", {0, 0, 0}},
                                        {"objective_us", {550, 350, null}},
                                        {"status", {"ok", "ok", "budget-spent"}},
                                        {"evaluations_left", 0},
                                        {"seconds_left", null}}));
  EXPECT_EQ(answers[2].at("best"), nlohmann::json({{"placement", {0, 1, 0, 0}},
                                                   {"step_time_us", 350},
                                                   {"bytes_over", 0},
                                                   {"objective_us", 350},
                                                   {"status", "ok"}}));
}

TEST_F(ExecTest, TellsTheTimeWhereThatIsTheBudget) {
  Evaluator evaluator(problem_, {.budget = {.max_evaluations = Budget::kUnlimited,
                                            .max_time = std::chrono::duration<double>(100)}});
  const auto json = nlohmann::json::parse(write_best(evaluator));
  EXPECT_TRUE(json.at("evaluations_left").is_null());
  EXPECT_GT(json.at("seconds_left").get<double>(), 50);
  EXPECT_LE(json.at("seconds_left").get<double>(), 100);
}

}  // namespace
}  // namespace emplace::agents::exec_test
