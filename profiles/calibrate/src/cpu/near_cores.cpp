#include "near_cores.hpp"

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <boost/lexical_cast/try_lexical_convert.hpp>

#include <cstddef>
#include <fstream>

namespace emplace::calibrate {

std::vector<int> cores_of_list(const std::string& list) {
  std::vector<int> cores;
  std::vector<std::string> ranges;
  for (const std::string& range :
       boost::split(ranges, boost::trim_right_copy(list), boost::is_any_of(","))) {
    const std::size_t dash = range.find('-');
    int first = 0;
    int last = 0;
    if (!boost::conversion::try_lexical_convert(range.substr(0, dash), first) ||
        !boost::conversion::try_lexical_convert(
            dash == std::string::npos ? range : range.substr(dash + 1), last) ||
        last >= CPU_SETSIZE) {
      return {};
    }
    for (int core = first; core <= last; ++core) {
      cores.push_back(core);
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
