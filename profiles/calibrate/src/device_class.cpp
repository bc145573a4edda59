#include "device_class.hpp"

namespace emplace::calibrate {

std::string device_class_of(std::string_view kind, std::string_view product) {
  std::string name(kind);
  bool gap = true;
  for (const char c : product) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      if (gap) {
        name += '-';
      }
      name += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
      gap = false;
    } else {
      gap = true;
    }
  }
  return name;
}

}  // namespace emplace::calibrate
