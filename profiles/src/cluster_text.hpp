#pragma once

// The text that names a cluster: a name or path, and parameters.

#include <emplace/base/params.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {

/// Parts NAME:key=value,... A path may have colons of its own, and so may values: parameters begin
/// at the first colon before a key and '='. The name of the Spec is NAME, too.
std::pair<std::string_view, Spec> without_parameters(std::string_view text);

/// Adds values to those of the parameter `key`, in which ';' parts them. Throws kUsage if one is
/// empty or contains ',' or ';'.
void add_values(Spec& spec, const std::string& key, const std::vector<std::string>& values);

/// Says whether a pattern of the shell (fnmatch) matches all of a text.
bool matches(const std::string& pattern, const std::string& text);

}  // namespace emplace
