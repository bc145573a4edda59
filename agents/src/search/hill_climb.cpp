#include <emplace/agents/agent.hpp>
#include <emplace/agents/registry.hpp>

#include <numeric>
#include <string>

namespace emplace::agents {
namespace {

// Iterated local search: groups in a random order try the other devices and stay where a step first
// gets better, until no group can improve it; then some groups of the best placement so far are
// drawn anew and the climb starts from there. The first climb starts from everything on the first
// placeable device, which is hard to beat where links are slow, or from what HEFT finds. Ends with
// the budget and returns the best seen. With kick = 1 every restart is random (Tarnawski et al.
// 2020).
class HillClimb final : public Agent {
 public:
  explicit HillClimb(const Params& params)
      : kick_(params.get<double>("kick")), start_(params.get<std::string>("start")) {}

  Placement place(const Problem& problem, Session& session) override {
    Placement start = start_ == kOneDevice
                          ? Placement(problem.num_groups(), problem.placeable_devices().front())
                          : AgentRegistry::global().make(Spec{start_})->place(problem, session);
    climb(problem, session, start);
    // With one device there is nowhere to go.
    while (problem.placeable_devices().size() > 1 && !session.exhausted()) {
      climb(problem, session, kicked(problem, session));
    }
    return session.best_placement().value_or(std::move(start));
  }

  static constexpr const char* kOneDevice = "one-device";

 private:
  // Returns the best placement so far with the devices of some groups, about kick_ of all, redrawn.
  Placement kicked(const Problem& problem, Session& session) const {
    const std::span<const DeviceId> devices = problem.placeable_devices();
    Placement placement = *session.best_placement();
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      if (session.random().uniform() < kick_) {
        placement[group] = devices[session.random().below(devices.size())];
      }
    }
    return placement;
  }

  static void climb(const Problem& problem, Session& session, Placement current) {
    Evaluation reached = session.evaluate(current);
    std::vector<GroupId> order(static_cast<std::size_t>(problem.num_groups()));
    std::iota(order.begin(), order.end(), 0);
    session.random().shuffle(std::span(order));

    // Groups in a row that could not improve; all of them make a local optimum.
    std::size_t stuck = 0;
    for (std::size_t at = 0; stuck < order.size() && !session.exhausted();
         at = (at + 1) % order.size()) {
      const GroupId group = order[at];
      const DeviceId before = current[group];
      ++stuck;
      for (const DeviceId device : problem.placeable_devices()) {
        if (device == before) {
          continue;
        }
        current[group] = device;
        const Evaluation tried = session.evaluate(current);
        if (tried.better_than(reached)) {
          reached = tried;
          stuck = 0;
          break;
        }
        current[group] = before;
      }
    }
  }

  double kick_;
  std::string start_;  // kOneDevice or the name of an agent
};

EMPLACE_REGISTER_AGENT(
    HillClimb,
    {.name = "hill-climb",
     .kind = AgentKind::kSearch,
     .summary = "moves one group at a time while it helps, with restarts near the best",
     .reference = "Lourenco, Martin, Stutzle 2003; local search of Tarnawski et al. 2020",
     .parameters = {{.name = "kick",
                     .default_value = 0.2,
                     .min = 0.01,
                     .max = 1,
                     .summary = "share of the groups drawn anew at a restart"},
                    {.name = "start",
                     .default_value = std::string(HillClimb::kOneDevice),
                     .choices = {HillClimb::kOneDevice, "heft"},
                     .summary = "where the first climb starts"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
