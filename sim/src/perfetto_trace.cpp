#include <emplace/base/error.hpp>
#include <emplace/sim/perfetto_trace.hpp>

namespace emplace {

void require_perfetto_traces() {
#ifndef EMPLACE_WITH_PROTOBUF
  throw Error(ErrorCode::kUnsupported,
              "this build cannot write traces in Perfetto's format: install libprotobuf-dev and "
              "protobuf-compiler and configure it with EMPLACE_WITH_PROTOBUF=ON");
#endif
}

#ifndef EMPLACE_WITH_PROTOBUF
std::string write_perfetto_trace(const Problem&, const StepRecord&) {
  require_perfetto_traces();
  return {};
}
#endif

}  // namespace emplace
