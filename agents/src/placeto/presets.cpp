#include "presets.hpp"

namespace emplace::agents::placeto {

// paper: a visit is credited with the time that it saves soon, and little with what later, random
// visits do (discount); episodes start at the best placement and leave most groups in place (stay
// bias); half of those that train a policy for other graphs start at a random placement, or it
// would never see a bad one; what stays unchanged is not evaluated again; devices are encoded by
// features.
//
// released: the options' own defaults are those of the authors' file of hyperparameters, where it
// has them. The rest follows their code: four workers, each with a start of its own; the first
// episodes are greedy; the limit of memory is 8 GB for every device; the entropy weight stays.
std::vector<Preset> presets() {
  return {{.name = "paper",
           .summary = "the algorithm of the paper, with hyperparameters for few evaluations",
           .defaults = {{"device-encoding", "features"},
                        {"stay-bias", 3.0},
                        {"zero-init", true},
                        {"mean-pooling", true},
                        {"order", "random"},
                        {"start", "best"},
                        {"random-start", 0.5},
                        {"discount", 0.3},
                        {"skip-unchanged", true},
                        {"time-unit", "work"},
                        {"baseline-episodes", 0},
                        {"normalize-advantages", true},
                        {"entropy-weight", 0.2},
                        {"entropy-decay", "none"},
                        {"learning-rate", 3e-3},
                        {"learning-rate-end", 1e-3}}},
          {.name = "released",
           .summary = "the authors' released code, with its hyperparameters",
           .defaults = {{"workers", 4},
                        {"greedy-first", true},
                        {"memory-limit", 8.0},
                        {"entropy-decay", "none"}}}};
}

}  // namespace emplace::agents::placeto
