#include "presets.hpp"

#include <utility>

namespace emplace::agents::placeto {
namespace {

// Changes some of the defaults of a preset, or adds to them.
Preset changed(Preset preset, Preset changes) {
  changes.merge(preset);
  return changes;
}

}  // namespace

Preset plus_preset() {
  return {{"algorithm", "ppo"},     {"device-encoding", "features"},
          {"stay-bias", 3.0},       {"zero-init", true},
          {"mean-pooling", true},   {"order", "random"},
          {"start", "best"},        {"discount", 0.3},
          {"skip-unchanged", true}, {"time-unit", "work"},
          {"baseline-episodes", 0}, {"normalize-advantages", true},
          {"entropy-weight", 0.2},  {"entropy-decay", "none"},
          {"learning-rate", 3e-3},  {"learning-rate-end", 1e-3}};
}

Preset transfer_preset() {
  return changed(plus_preset(), {{"algorithm", "reinforce"},
                                 {"stay-bias", 1.0},
                                 {"start", "better"},
                                 {"random-start", 0.5},
                                 {"discount", 0.0},
                                 {"sweeps", 2},
                                 {"all-actions", true},
                                 {"minibatches", 32},
                                 {"learning-rate-end", 1e-4}});
}

Preset joint_preset() { return changed(plus_preset(), {{"merged-groups", 64}}); }

}  // namespace emplace::agents::placeto
