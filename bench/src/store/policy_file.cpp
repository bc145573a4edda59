#include "run/training_json.hpp"
#include "suite/units.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/checksum.hpp>

#include <fmt/format.h>

#include <limits>

namespace emplace::bench {
namespace {

using agents::AgentRegistry;
using agents::TrainableAgent;

constexpr std::string_view kPolicySchema = "emplace-trained-policy";
constexpr std::int64_t kPolicyVersion = 1;

std::string trainable_names() {
  std::vector<std::string> names;
  for (const std::string& name : AgentRegistry::global().names()) {
    if (AgentRegistry::global().info(name).trainable) {
      names.push_back(name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::unique_ptr<TrainableAgent> make_trainable(const agents::AgentSpec& spec,
                                               bool groups_are_given) {
  std::unique_ptr<agents::Agent> agent = spec.make(groups_are_given);
  auto* const trainable = dynamic_cast<TrainableAgent*>(agent.get());
  if (trainable == nullptr) {
    throw Error(ErrorCode::kUsage, fmt::format("agent '{}' trains no policy; those that do: {}",
                                               spec.name(), trainable_names()));
  }
  agent.release();
  return std::unique_ptr<TrainableAgent>(trainable);
}

std::string write_policy_file(const PolicyOrigin& origin, std::string_view policy) {
  return with_checksum(fmt::format(
      "{{\n\"schema\": \"{}\",\n\"version\": {},\n\"plan\": {},\n\"episodes_played\": {},\n"
      "\"updates\": {},\n\"policy\": {}\n}}\n",
      kPolicySchema, kPolicyVersion, to_json(origin.plan).indented(2), origin.episodes_played,
      origin.updates, policy.substr(0, policy.find_last_not_of('\n') + 1)));
}

PolicyFile read_policy_file(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  root.expect_schema(kPolicySchema, kPolicyVersion);
  root.expect_only({"schema", "version", "plan", "episodes_played", "updates", "policy", "crc32"});
  PolicyFile file{.origin = {.plan = plan_from_json(root.at("plan")),
                             .episodes_played = root.at("episodes_played").integer(0, kMaxInteger),
                             .updates = root.at("updates").integer(0, kMaxInteger)},
                  .policy = root.at("policy").copy()};
  // Last, as other mistakes are told with their place.
  check_checksum(text, source);
  return file;
}

std::unique_ptr<TrainableAgent> agent_of(const PolicyFile& file, bool groups_are_given) {
  std::unique_ptr<TrainableAgent> agent = make_trainable(file.origin.plan.agent, groups_are_given);
  agent->load(file.policy.root());
  return agent;
}

}  // namespace emplace::bench
