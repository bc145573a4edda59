#pragma once

// The options of learning that agents share. They are declared here once; an agent's defaults are
// the initial values of its LearningOptions.

#include "option_table.hpp"
#include "policy_gradient/schedule.hpp"

namespace emplace::agents::policy_gradient {

/// Says how the parameters of a policy are updated.
struct LearningOptions {
  double learning_rate = 1e-3;
  double learning_rate_end = 1e-4;
  double max_grad_norm = 1;           ///< Euclidean, to which gradients are clipped
  bool normalize_advantages = false;  ///< to a root mean square of 1
  double entropy_weight = 0;
  double entropy_weight_end = 0;
  Decay entropy_decay = Decay::kLinear;
  double entropy_decay_share = 1;  ///< of the budget, in which the weight reaches its end
};

/// Declares what users may change in `table`, whose struct has the options in `section`.
template <class Options>
void declare_learning_options(OptionTable<Options>& table, LearningOptions Options::*section) {
  auto learning = table.group("learning", section);
  learning.number("learning-rate", &LearningOptions::learning_rate, 0, 1, "initial learning rate");
  learning.number("learning-rate-end", &LearningOptions::learning_rate_end, 0, 1,
                  "final learning rate, reached linearly at the end of the budget", kForExperts);
  learning.flag("normalize-advantages", &LearningOptions::normalize_advantages,
                "divides the advantages of an update by their root mean square", kForExperts);
  learning.number("entropy-weight", &LearningOptions::entropy_weight, 0, 1000,
                  "initial weight of the entropy bonus, which keeps the policy exploring");
  learning.number("entropy-weight-end", &LearningOptions::entropy_weight_end, 0, 1000,
                  "final entropy weight", kForExperts);
  learning.choice("entropy-decay", &LearningOptions::entropy_decay, {"none", "linear"},
                  "decay of the entropy weight", kForExperts);
}

}  // namespace emplace::agents::policy_gradient
