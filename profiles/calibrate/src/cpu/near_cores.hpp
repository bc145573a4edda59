#pragma once

// The cores next to a device on the PCI bus. On a machine of several sockets, memory of the host is
// where the thread was that took it, and copies across sockets are slower.

#include <sched.h>

#include <filesystem>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Returns the cores of a list as Linux writes it: "0-3,8"; none if it is no such list.
std::vector<int> cores_of_list(const std::string& list);

/// Keeps this thread on the cores next to a device while it lives; on all of them, where Linux does
/// not tell, or none of them may be used.
class NearCores {
 public:
  explicit NearCores(const std::string& pci_bus_id,
                     const std::filesystem::path& devices = "/sys/bus/pci/devices");
  ~NearCores();
  NearCores(const NearCores&) = delete;
  NearCores& operator=(const NearCores&) = delete;

 private:
  cpu_set_t before_{};
  bool is_changed_ = false;
};

}  // namespace emplace::calibrate
