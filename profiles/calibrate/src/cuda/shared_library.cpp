#include "shared_library.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

namespace emplace::calibrate {
namespace {

constexpr const char* kFoldersVariable = "EMPLACE_CUDA_LIBRARIES";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Where to look, in order; "" is wherever the loader looks.
std::vector<std::string> places() {
  std::vector<std::string> found;  // of a path list: "/a:/b"
  boost::split(found, variable(kFoldersVariable), boost::is_any_of(":"));
  std::erase(found, "");
  found.emplace_back();
  for (const char* root : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string folder = variable(root); !folder.empty()) {
      found.push_back(folder + "/lib64");
    }
  }
  found.emplace_back("/usr/local/cuda/lib64");
  return found;
}

}  // namespace

SharedLibrary::SharedLibrary(LibraryRequest request) : request_(std::move(request)) {
  std::vector<std::string> searched;
  std::string complaint;
  for (const std::string& place : places()) {
    searched.push_back(place.empty() ? "the system's library path" : place);
    for (const std::string& name : request_.names) {
      path_ = place.empty() ? name : fmt::format("{}/{}", place, name);
      // For all to see: these libraries open parts of themselves and of one another by name.
      handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (handle_ != nullptr) {
        return;
      }
      // Of a file that is there, the reason why it does not open matters.
      if (const char* error = dlerror();
          error != nullptr && !place.empty() && std::filesystem::exists(path_)) {
        complaint += fmt::format("; {}", error);
      }
    }
  }
  throw DeviceFailure(
      fmt::format("{} is missing: no {} in {}{}. {}, or set {} to the folders that contain it",
                  request_.what, fmt::join(request_.names, " or "), fmt::join(searched, ", "),
                  complaint, request_.remedy, kFoldersVariable));
}

SharedLibrary::Symbol SharedLibrary::operator[](const char* name) const {
  void* found = dlsym(handle_, name);
  if (found == nullptr) {
    throw DeviceFailure(
        fmt::format("{} has no {}: {} is needed. {}", path_, name, request_.what, request_.remedy));
  }
  return {found};
}

}  // namespace emplace::calibrate
