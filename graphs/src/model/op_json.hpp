#pragma once

// An op as a JSON object: what graph.schema.json says of it. Our own format and those that attach
// attributes to nodes (node-link, DOT, GraphML) share it.

#include <emplace/base/json_cursor.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <map>
#include <string>
#include <string_view>

namespace emplace {

/// Appends `op` as a JSON object in one line; its first member is the name, and members that have
/// their default value are left out.
void write_op(std::string& text, const Op& op);

/// Returns the text that is the member `key`, or an empty one if there is none.
std::string read_text(const JsonCursor& object, std::string_view key);

/// Reads an op; name and kind must stand, and no other member than an op has.
Op read_op(const JsonCursor& object);

/// Holds how a file calls members that have another name here, by our names.
using MemberNames = std::map<std::string_view, std::string_view>;

/// Reads the members of an op that `object` has, and ignores all others. The op is called `name` if
/// none is a name, and of kind "op" if none is a kind.
Op read_third_party_op(const JsonCursor& object, std::string name, const MemberNames& names = {});

}  // namespace emplace
