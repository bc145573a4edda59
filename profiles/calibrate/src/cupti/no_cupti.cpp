#include <emplace/calibrate/activity_source.hpp>

namespace emplace::calibrate {

std::unique_ptr<ActivitySource> open_cupti() {
  return no_activities(
      "this program was built without CUPTI: install the CUDA toolkit and build it again with "
      "EMPLACE_WITH_CUDA=ON");
}

}  // namespace emplace::calibrate
