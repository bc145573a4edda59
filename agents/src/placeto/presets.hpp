#pragma once

// The presets of Placeto: defaults that differ from those of the authors' released code.

#include "option_table.hpp"

namespace emplace::agents::placeto {

/// For few evaluations: a low discount factor, which credits an action with its near future instead
/// of with all later, random actions; episodes that start at the best placement and keep most
/// groups in place (stay bias); no evaluation of unchanged placements; devices encoded by features;
/// and PPO, which makes several optimizer steps for each episode.
Preset plus_preset();

/// For policies that generalize to unseen graphs: they learn the immediate reward of every device
/// at each visit, and episodes do not start at the best placement of the session, which a new graph
/// does not have.
Preset transfer_preset();

/// For a learned grouping: that of plus, on merged groups.
Preset joint_preset();

}  // namespace emplace::agents::placeto
