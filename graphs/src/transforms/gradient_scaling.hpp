#pragma once

// What a step does with its gradients before the updates read them, once all are there: divides
// them by the loss scale and looks whether one overflowed (dynamic loss scaling: Micikevicius et
// al. 2018, arXiv 1710.03740; torch.amp.GradScaler), and clips them by their global norm (Pascanu
// et al. 2013, arXiv 1211.5063; torch.nn.utils.clip_grad_norm_).

#include <emplace/base/params.hpp>
#include <emplace/graphs/op_graph.hpp>

namespace emplace {

/// Returns the parameter `clip`, false by default.
ParamSpec clip_parameter();

/// Returns the parameter `loss-scaling` of a step in mixed precision, `static` by default.
ParamSpec loss_scaling_parameter();

/// Adds to the training step `step`, replicas and micro-batches included, what `params` ask for;
/// without `training` it stays as it is. In each replica, for each gradient that updates read,
///   - `loss-scaling=dynamic` adds `unscale`, which also makes a flag; `found_inf` reads all flags,
///     and each update waits for it;
///   - `clip=true` adds the norm, `reduce_l2`; `clip_factor` reads all norms, and a `scale` by its
///     result is what the updates read.
/// Such an update shares its device with its `scale`, and no longer with the op that makes the
/// gradient: one label for both would tie all that comes before a joint op to all that follows it.
/// Throws kUsage for `loss-scaling=dynamic` without `dtype=float16`, and if no update reads
/// a gradient or the step does this already. O(ops + edges).
void scale_gradients(OpGraph& step, const Params& params);

/// Says whether the step does any of this already.
bool scales_gradients(const OpGraph& step);

}  // namespace emplace
