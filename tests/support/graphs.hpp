#pragma once

// Graphs as tests look into them and compare them.

#include <emplace/graphs/op_graph.hpp>

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::test {

/// Returns the op called `name`; fails the test and returns op 0 if there is none.
OpId op_named(const OpGraph& graph, std::string_view name);

/// Returns what is known of the op called `name`.
const Op& find(const OpGraph& graph, std::string_view name);

/// Returns the names of the ops that an op reads, in the order of its inputs.
std::vector<std::string> producers_of(const OpGraph& graph, std::string_view name);

/// Returns the inputs of an op in order, as "producer:output".
std::vector<std::string> inputs_of(const OpGraph& graph, std::string_view name);

/// Returns how many ops there are of each kind.
std::map<std::string, int> count_kinds(const OpGraph& graph);

/// Returns the scopes of all ops.
std::set<std::string> scopes_of(const OpGraph& graph);

/// Returns the FLOPs of all ops of some kinds.
std::int64_t flops_of(const OpGraph& graph, std::initializer_list<std::string_view> kinds);

/// Returns the built-in networks that have a parameter of this name.
std::vector<std::string> models_with(std::string_view parameter);

/// Returns an op in which no field has its default value.
Op full_op();

/// Expects two graphs to be equal in every field, and in the order of edges at their consumers, at
/// their producers and in all.
void expect_equal(const OpGraph& a, const OpGraph& b);

}  // namespace emplace::test
