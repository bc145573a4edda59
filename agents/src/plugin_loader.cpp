#include <emplace/agents/plugin_abi.hpp>
#include <emplace/agents/plugin_loader.hpp>
#include <emplace/agents/registry.hpp>
#include <emplace/base/error.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

#include <exception>
#include <string_view>
#include <vector>

namespace emplace::agents {
namespace {

std::vector<LoadedPlugin>& plugins() {
  static std::vector<LoadedPlugin> loaded;
  return loaded;
}

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::kUnsupported, fmt::format("plug-in {}: {}", excerpt(path), why));
}

}  // namespace

void load_plugin(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  // Without a folder, dlopen would look where the system keeps its libraries.
  const std::string file = slash == std::string::npos ? "./" + path : path;
  // All symbols now, so that a missing one is told here.
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    refuse(path, fmt::format("cannot be loaded: {}", excerpt(::dlerror(), 300)));
  }
  using Describe = const PluginDescription* (*)();
  const auto describe = reinterpret_cast<Describe>(::dlsym(library, EMPLACE_PLUGIN_SYMBOL));
  if (describe == nullptr) {
    refuse(path, "has no symbol " EMPLACE_PLUGIN_SYMBOL "; copy examples/plugin, which has it");
  }
  const PluginDescription* const description = describe();
  const std::string_view ours = kPluginAbi.data();
  if (description == nullptr || description->abi == nullptr || description->abi != ours) {
    refuse(path, fmt::format("was built for '{}', and this program is '{}'; rebuild it with the "
                             "package of this emplace and its compiler",
                             description == nullptr || description->abi == nullptr
                                 ? "unknown"
                                 : excerpt(description->abi, 100),
                             ours));
  }
  try {
    description->add_agents(AgentRegistry::global());
  } catch (const std::exception& error) {
    refuse(path, error.what());
  }
  plugins().push_back({.name = path.substr(slash + 1), .path = path});
}

std::span<const LoadedPlugin> loaded_plugins() { return plugins(); }

}  // namespace emplace::agents
