#include "device_class.hpp"

#include <emplace/base/error.hpp>

namespace emplace::calibrate {

std::string device_class_of(std::string_view kind, std::string_view product) {
  std::string name = std::string(kind) + '-';
  for (const char c : to_lower(product)) {
    const bool is_part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_part || name.back() != '-') {
      name += is_part ? c : '-';
    }
  }
  name.erase(name.find_last_not_of('-') + 1);
  return name;
}

}  // namespace emplace::calibrate
