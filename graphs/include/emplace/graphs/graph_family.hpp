#pragma once

// A family is many graphs of one kind, drawn at random: some to train a policy on, others to test
// whether it works on graphs that it has never seen (Addanki et al. 2019, section 4.3, have three
// of 32 graphs each).
//
//     cifar10:member=5               the sixth graph to train on
//     cifar10:split=test,member=0    the first to test on
//     cifar10:split=test             where many graphs are meant: the 32 to test on
//     cifar10:members=100            where many graphs are meant: 100 to train on
//
// The members of a family differ in their Design, a list of integers. Designs are drawn one after
// the other from the seed; one that was drawn before is skipped. A hash of the design, not of the
// draw, decides its side of the split: three of four are for training. So no graph is ever on both
// sides, whatever the seed and the number of members, and all members of a split are different.

#include <emplace/base/random.hpp>
#include <emplace/graphs/catalog.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Identifies a member of a family.
using Design = std::vector<std::int64_t>;

/// Describes a family of graphs.
struct GraphFamily {
  std::string name{};                   ///< kebab-case, stable
  std::string summary{};                ///< one line
  std::string reference{};              ///< paper
  std::vector<ParamSpec> parameters{};  ///< what all members share; see with_members() for the rest
  /// Draws one design.
  std::function<Design(const Params&, RandomStream&)> draw{};
  /// Builds the graph of a design.
  std::function<OpGraph(const Params&, const Design&)> build{};
};

/// The number of graphs of a split if a user names a family and no number.
inline constexpr std::int64_t kDefaultMembers = 32;

/// Returns `parameters` and, after them, those that choose members: `split` ("train" or "test"),
/// `member` (counted from 0), `members` (how many where many are meant) and `seed`.
std::vector<ParamSpec> with_members(std::vector<ParamSpec> parameters);

/// Returns the design of the member that `params` choose. Throws kUsage if the family has fewer
/// designs on that side, that is if kMaxDraws draws in a row give no new one.
Design member_design(const GraphFamily& family, const Params& params);

/// The number of draws without a new design after which a family has no further members.
inline constexpr int kMaxDraws = 1000;

/// Returns the model whose graphs are the members of `family`.
GraphModel family_model(GraphFamily family);

}  // namespace emplace
