// The agent `exec`: a program in any language places, and talks JSON lines with this one
// (docs/reference/agent-protocol.md). Whatever it does wrong is an error of its cell and of nothing
// else. Placements of a request are evaluated in parallel; answers depend on no clock and no
// threads unless time is the budget, so a program that uses nothing but the problem, its seed and
// the answers places the same always.

#include "exec/child_process.hpp"
#include "exec/messages.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/agents/exec_protocol.hpp>
#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

using Clock = ChildProcess::Clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kStopGrace{kStopGraceS};
constexpr Seconds kEndGrace{kEndGraceS};

// How often is asked whether the user stopped the search.
constexpr Seconds kStopInterval{0.1};

// Numbers that JSON readers hold exactly.
constexpr int kSeedShift = 64 - 53;

Clock::time_point after(Clock::time_point begin, Seconds time) {
  return begin + std::chrono::duration_cast<Clock::duration>(time);
}

// Splits at blanks. There are no quotes: what needs them is a script of its own.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) {
      words.push_back(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return words;
}

class Exec final : public Agent {
 public:
  explicit Exec(const Params& params)
      : child_{.command = words_of(params.get<std::string>(kProgramParameter)),
               .memory_bytes = std::llround(params.get<double>("memory-limit") * 1e9),
               .shows_errors = params.get<bool>("verbose")},
        time_limit_(params.get<double>("time-limit")),
        start_limit_(params.get<double>("start-limit")) {
    if (child_.command.empty()) {
      throw Error(ErrorCode::kUsage, "agent exec: its program has no name");
    }
  }

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    const Clock::time_point begin = Clock::now();
    const Clock::time_point limit = after(begin, time_limit_);
    const std::uint64_t seed = evaluator.random().next() >> kSeedShift;
    ChildProcess child(child_);
    const Seconds hello_limit = std::min(start_limit_, time_limit_);
    const auto hello = receive(child, evaluator, after(begin, hello_limit));
    if (!hello) {
      throw Error(ErrorCode::kIo, fmt::format("the program sent no hello within {} s{}",
                                              hello_limit.count(), child.last_error()));
    }
    expect_hello(*hello);
    child.send(write_problem(problem, seed, evaluator));
    while (true) {
      const auto line = receive(child, evaluator, limit);
      if (!line) {
        throw Error(ErrorCode::kIo, fmt::format("the program gave no placement within {} s{}",
                                                time_limit_.count(), child.last_error()));
      }
      AgentMessage message = read_message(*line, problem);
      if (auto* const final = std::get_if<FinalPlacement>(&message)) {
        child.finish(std::min(after(Clock::now(), kEndGrace), limit));
        return std::move(final->placement);
      }
      if (const auto* const request = std::get_if<EvaluateRequest>(&message)) {
        const std::vector<Evaluation> evaluations = evaluator.evaluate(request->placements);
        child.send(write_evaluations(evaluations, evaluator));
      } else {
        child.send(write_best(evaluator));
      }
    }
  }

 private:
  // Returns nothing if the limit is over. Where the budget is stopped, throws kIo kStopGrace
  // later.
  static std::optional<std::string> receive(ChildProcess& child, const Evaluator& evaluator,
                                            Clock::time_point limit) {
    Clock::time_point deadline = limit;
    bool was_stopped = false;
    while (true) {
      if (!was_stopped && evaluator.budget().stopped()) {
        was_stopped = true;
        deadline = std::min(limit, after(Clock::now(), kStopGrace));
      }
      if (auto line = child.receive(std::min(deadline, after(Clock::now(), kStopInterval)))) {
        return line;
      }
      if (Clock::now() >= deadline) {
        if (was_stopped && deadline < limit) {
          throw Error(ErrorCode::kIo, "the search was stopped, and the program gave no placement");
        }
        return std::nullopt;
      }
    }
  }

  ChildProcess::Options child_;
  Seconds time_limit_;
  Seconds start_limit_;
};

EMPLACE_REGISTER_AGENT(
    Exec,
    {.name = "exec",
     .kind = AgentKind::kSearch,
     .summary = "your own program, in any language: exec:./my_agent",
     .description =
         "Runs a program that speaks the agent protocol: JSON lines on its standard streams. It "
         "gets the problem once, may ask for evaluations of placements in batches, which run in "
         "parallel, and gives a placement. Its command line follows the colon, with words "
         "separated by blanks and without commas; then come parameters: exec:python3 agent.py "
         "--depth 3,time-limit=60. A program that crashes, hangs, answers nonsense or breaks a "
         "limit fails its cell, with the reason, and nothing else is lost.",
     .reference = "the protocol emplace-agent, docs/reference/agent-protocol.md",
     .parameters =
         {{.name = "time-limit",
           .default_value = 600.0,
           .min = 1,
           .max = 1e6,
           .summary = "seconds until a program that has given no placement is killed"},
          {.name = "start-limit",
           .default_value = 30.0,
           .min = 1,
           .max = 1e6,
           .summary = "seconds until a program that has sent no hello is killed"},
          {.name = "memory-limit",
           .default_value = 16.0,
           .min = 0,
           .max = 1e6,
           .summary = "data that each of its processes may have, in 10^9 bytes; 0: no limit"},
          {.name = "verbose",
           .default_value = false,
           .summary = "shows its standard error instead of keeping the last line for errors"},
          {.name = kProgramParameter,
           .default_value = std::string(),
           .summary = "command line of the program, which comes first: exec:COMMAND"}},
     .deterministic = false,
     .needs_program = true});

}  // namespace
}  // namespace emplace::agents
