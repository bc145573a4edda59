#include "partition_graph.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/base/check.hpp>

#include <locale.h>  // newlocale(), which <clocale> has not
#include <scotch.h>  // names FILE, which fmt has declared

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

namespace emplace::agents {
namespace {

static_assert(std::is_same_v<SCOTCH_Num, std::int32_t>, "built for the 32-bit flavour of Scotch");

constexpr SCOTCH_Num kSeed = 1;
constexpr SCOTCH_Num kFastestWeight = 1000;  // of a device among others

// Throws if a call of Scotch failed; Scotch has printed the reason to standard error.
void require(int status, const char* call) {
  EMPLACE_CHECK(status == 0, "{} returned {}", call, status);
}

// Owns an initialized object of Scotch.
template <class T, void (*kExit)(T*)>
struct Exit {
  void operator()(T* object) const {
    kExit(object);
    delete object;
  }
};
template <class T, void (*kExit)(T*)>
using Owned = std::unique_ptr<T, Exit<T, kExit>>;

template <class T, void (*kExit)(T*), class Init>
Owned<T, kExit> initialized(Init init, const char* call) {
  auto object = std::make_unique<T>();
  require(init(object.get()), call);
  return Owned<T, kExit>(object.release());
}

// Gives the calling thread the numbers of C as long as it lives. Scotch writes its default strategy
// with the decimal mark of the locale, and cannot read it where that is a comma; a program in
// Python may have such a locale.
class PlainNumbers {
 public:
  PlainNumbers() : own_(::newlocale(LC_ALL_MASK, "C", nullptr)), before_(::uselocale(own_)) {}
  PlainNumbers(const PlainNumbers&) = delete;
  PlainNumbers& operator=(const PlainNumbers&) = delete;
  ~PlainNumbers() {
    ::uselocale(before_);
    ::freelocale(own_);
  }

 private:
  locale_t own_;
  locale_t before_;
};

// Maps the groups onto a complete graph of devices weighted by speed, by Scotch's default strategy.
std::vector<SCOTCH_Num> map_groups(const Problem& problem) {
  const PartitionGraph weighted = partition_graph(problem);
  const auto num_groups = problem.num_groups();
  auto source = initialized<SCOTCH_Graph, SCOTCH_graphExit>(SCOTCH_graphInit, "SCOTCH_graphInit");
  require(SCOTCH_graphBuild(source.get(), 0, num_groups, weighted.begin.data(),
                            weighted.begin.data() + 1, weighted.weights.data(), nullptr,
                            static_cast<SCOTCH_Num>(weighted.neighbours.size()),
                            weighted.neighbours.data(), weighted.edge_weights.data()),
          "SCOTCH_graphBuild");

  const std::vector<double> shares = speed_shares(problem);
  const double fastest = std::ranges::max(shares);
  std::vector<SCOTCH_Num> speeds;
  speeds.reserve(shares.size());
  for (const double share : shares) {
    speeds.push_back(
        std::max(1, static_cast<SCOTCH_Num>(std::lround(share / fastest * kFastestWeight))));
  }
  auto target = initialized<SCOTCH_Arch, SCOTCH_archExit>(SCOTCH_archInit, "SCOTCH_archInit");
  require(SCOTCH_archCmpltw(target.get(), static_cast<SCOTCH_Num>(speeds.size()), speeds.data()),
          "SCOTCH_archCmpltw");

  // Without a context of its own, with one thread and a seed, the mapping would depend on other
  // calls.
  auto context =
      initialized<SCOTCH_Context, SCOTCH_contextExit>(SCOTCH_contextInit, "SCOTCH_contextInit");
  require(SCOTCH_contextOptionSetNum(context.get(), SCOTCH_OPTIONNUMDETERMINISTIC, 1),
          "SCOTCH_contextOptionSetNum");
  require(SCOTCH_contextThreadSpawn(context.get(), 1, nullptr), "SCOTCH_contextThreadSpawn");
  SCOTCH_contextRandomSeed(context.get(), kSeed);
  auto graph = initialized<SCOTCH_Graph, SCOTCH_graphExit>(SCOTCH_graphInit, "SCOTCH_graphInit");
  require(SCOTCH_contextBindGraph(context.get(), source.get(), graph.get()),
          "SCOTCH_contextBindGraph");

  auto strategy = initialized<SCOTCH_Strat, SCOTCH_stratExit>(SCOTCH_stratInit, "SCOTCH_stratInit");
  std::vector<SCOTCH_Num> part(static_cast<std::size_t>(num_groups), 0);
  require(SCOTCH_graphMap(graph.get(), target.get(), strategy.get(), part.data()),
          "SCOTCH_graphMap");
  return part;
}

// The static-mapping baseline of Placeto's Table 1.
class Scotch final : public Agent {
 public:
  explicit Scotch(const Params&) {}

  Placement place(const Problem& problem, Evaluator&) override {
    const std::span<const DeviceId> devices = problem.placeable_devices();
    if (devices.size() == 1) {
      return Placement(problem.num_groups(), devices.front());
    }
    // One call at a time: only a part of Scotch's state is in the context. A call takes
    // milliseconds.
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    const PlainNumbers plain_numbers;
    const std::vector<SCOTCH_Num> part = map_groups(problem);
    Placement placement(problem.num_groups());
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      placement[group] = devices[static_cast<std::size_t>(part[static_cast<std::size_t>(group)])];
    }
    return placement;
  }
};

EMPLACE_REGISTER_AGENT(
    Scotch, {.name = "scotch",
             .kind = AgentKind::kHeuristic,
             .summary = "static mapping onto the devices, by Scotch",
             .description = "Maps the groups onto a complete graph of the devices, "
                            "weighted by their speeds, with Scotch's default strategy. It "
                            "balances work and keeps transfers small but does not know "
                            "the order of execution. The papers use it as their "
                            "graph-partitioning baseline.",
             .reference = "Pellegrini, Roman, HPCN 1996; Addanki et al. 2019"});

}  // namespace
}  // namespace emplace::agents
