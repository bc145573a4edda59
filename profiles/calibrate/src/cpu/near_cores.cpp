#include "near_cores.hpp"

#include <charconv>
#include <fstream>

namespace emplace::calibrate {

std::vector<int> cores_of_list(std::string_view list) {
  std::vector<int> cores;
  while (!list.empty() && list.back() == '\n') {
    list.remove_suffix(1);
  }
  const char* at = list.data();
  const char* const end = at + list.size();
  const auto read = [&](int& number) {
    const auto [stop, error] = std::from_chars(at, end, number);
    at = stop;
    return error == std::errc() && number >= 0 && number < CPU_SETSIZE;
  };
  while (at != end) {
    int first = 0;
    if (!read(first)) {
      return {};
    }
    int last = first;
    if (at != end && *at == '-' && (++at, !read(last))) {
      return {};
    }
    for (int core = first; core <= last; ++core) {
      cores.push_back(core);
    }
    if (at != end && *at++ != ',') {
      return {};
    }
  }
  return cores;
}

NearCores::NearCores(const std::string& pci_bus_id, const std::filesystem::path& devices) {
  std::string list;
  std::ifstream file(devices / pci_bus_id / "local_cpulist");
  if (!std::getline(file, list) || sched_getaffinity(0, sizeof(before_), &before_) != 0) {
    return;
  }
  cpu_set_t near;
  CPU_ZERO(&near);
  for (const int core : cores_of_list(list)) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &before_)) {
      CPU_SET(static_cast<std::size_t>(core), &near);
    }
  }
  is_changed_ = CPU_COUNT(&near) > 0 && sched_setaffinity(0, sizeof(near), &near) == 0;
}

NearCores::~NearCores() {
  if (is_changed_) {
    sched_setaffinity(0, sizeof(before_), &before_);
  }
}

}  // namespace emplace::calibrate
