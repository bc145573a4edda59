#pragma once

// Loads plug-ins (plugin.hpp): shared libraries whose agents are added to those of the program.
// Load them before other threads use the registry.

#include <span>
#include <string>

namespace emplace::agents {

/// Describes a plug-in of this process.
struct LoadedPlugin {
  std::string name{};  ///< of the file, without its folder
  std::string path{};  ///< as it was given
};

/// Loads the library at `path` and adds its agents to the global registry. It stays loaded. Throws
/// kUnsupported if it is not a library or not a plug-in, was built for another emplace, or has an
/// agent whose name is taken.
void load_plugin(const std::string& path);

/// Returns the plug-ins that were loaded, in order.
std::span<const LoadedPlugin> loaded_plugins();

}  // namespace emplace::agents
