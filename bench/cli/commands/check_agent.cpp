#include "command.hpp"
#include "help_text.hpp"
#include "stop_signal.hpp"
#include "terminal.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/agent_check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace emplace::cli {
namespace {

std::string to_text(const std::vector<bench::AgentCheck>& checks) {
  std::string text;
  for (const bench::AgentCheck& check : checks) {
    text += fmt::format("{:<6}  {}\n", check.mistakes.empty() ? "ok" : "not ok", check.what);
    for (const std::string& mistake : check.mistakes) {
      text += fmt::format("          {}\n", mistake);
    }
  }
  return text;
}

Json to_json(const std::string& agent, const std::vector<bench::AgentCheck>& checks) {
  Json list = Json::array();
  for (const bench::AgentCheck& check : checks) {
    list.push_back({{"what", check.what}, {"mistakes", check.mistakes}});
  }
  return {{"schema_version", 1}, {"agent", agent}, {"checks", std::move(list)}};
}

Outcome check_agent(const std::string& agent, const Invocation& invocation) {
  const std::atomic<bool>& stop = stop_on_signal();
  const std::vector<bench::AgentCheck> checks = bench::check_agent(agent, stop);
  if (invocation.json) {
    print_json(to_json(agent, checks));
  } else {
    print_text(to_text(checks));
  }
  if (stop) {
    return Outcome::kInterrupted;
  }
  const auto failed = std::ranges::count_if(
      checks, [](const bench::AgentCheck& check) { return !check.mistakes.empty(); });
  if (failed > 0) {
    flush();
    throw Error(ErrorCode::kUnsupported, fmt::format("agent {} fails {} of {}", excerpt(agent),
                                                     failed, counted(std::ssize(checks), "check")));
  }
  return Outcome::kOk;
}

}  // namespace

void add_check_agent(CLI::App& dev, Action& action) {
  CLI::App* command = dev.add_subcommand(
      "check-agent", "Check on tiny problems that an agent does what every agent must do");
  set_examples(*command, {"emplace dev check-agent heft"});
  const auto agent = std::make_shared<std::string>();
  command
      ->add_option("AGENT", *agent,
                   "NAME[:key=value,...], exec:COMMAND, or an agent of a --plugin; it exits with 3 "
                   "if a check fails")
      ->required()
      ->type_name("AGENT");
  command->callback([agent, &action] {
    action = [agent](const Invocation& invocation) { return check_agent(*agent, invocation); };
  });
}

}  // namespace emplace::cli
