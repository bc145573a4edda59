#pragma once

// Favourite children: which group should follow which on the same device (Hanen, Munier 1995). Were
// there a device for each group, a producer could keep at most one consumer on its own device, and
// a consumer could be kept by at most one producer; all other edges e = (u, v) are paid. With x_e =
// 0 where an edge is free, the shortest step is the integer program
//     minimize w,  s_u + p_u + c_e x_e <= s_v,  s_v + p_v <= w,
//     sum of x over the edges out of u >= their number - 1,  the same for the edges into v,
// with mean costs p and mean transfer times c. Its linear relaxation, 0 <= x_e <= 1, is solved by
// COIN-OR Clp; an edge whose x_e is below a threshold is taken to be free. Edges of pure order
// take no time, so they are always paid. The linear program has O(groups + edges) rows and columns.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <functional>

namespace emplace::agents {

/// Stands for no group.
inline constexpr GroupId kNoGroup = -1;

/// Holds a solution of the relaxation.
struct FavouriteChildren {
  IdVector<GroupId, GroupId> child{};  ///< of each group; kNoGroup if it has none
  double bound_us = 0;                 ///< w: no schedule is shorter on any number of devices
                                       ///< that all have the mean costs and transfer times
};

/// Solves the relaxation. Throws kInternal if Clp finds no optimum, which exists always.
/// `is_stopped` is asked in each iteration of the simplex: once it says so, no group has a child,
/// and the bound is 0.
FavouriteChildren favourite_children(const Problem& problem,
                                     const std::function<bool()>& is_stopped = {});

}  // namespace emplace::agents
