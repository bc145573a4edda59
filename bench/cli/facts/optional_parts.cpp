#include "optional_parts.hpp"

#include "python_package.hpp"
#include "ranks.hpp"

namespace emplace::cli {

std::span<const OptionalPart> optional_parts() {
  static const OptionalPart parts[] = {
      {.name = "METIS",
       .brings = "agent and grouping metis",
       .present = EMPLACE_HAS_METIS,
       .how_to_get = "apt-get install libmetis-dev",
       .adds_names = true},
      {.name = "Scotch",
       .brings = "agent scotch",
       .present = EMPLACE_HAS_SCOTCH,
       .how_to_get = "apt-get install libscotch-dev",
       .adds_names = true},
      {.name = "Clp",
       .brings = "agent m-sct",
       .present = EMPLACE_HAS_CLP,
       .how_to_get = "apt-get install coinor-libclp-dev",
       .adds_names = true},
      {.name = "Protocol Buffers",
       .brings = "formats chakra, onnx and tensorflow",
       .present = EMPLACE_HAS_PROTOBUF,
       .how_to_get = "apt-get install libprotobuf-dev protobuf-compiler",
       .adds_names = true},
      {.name = "oneDNN",
       .brings = "fast convolutions and products when a CPU is calibrated",
       .present = EMPLACE_HAS_ONEDNN,
       .how_to_get = "apt-get install libdnnl-dev"},
      {.name = "CUDA",
       .brings = "calibration of GPUs",
       .present = EMPLACE_HAS_CUDA,
       .how_to_get = "EMPLACE_WITH_CUDA=ON ./emplace doctor"},
      {.name = "Open MPI",
       .brings = "run on the ranks of mpirun",
       .present = can_join_ranks(),
       .how_to_get = "apt-get install libopenmpi-dev openmpi-bin"},
      {.name = "pybind11",
       .brings = "the Python package emplace",
       .present = has_python_package(),
       .how_to_get = "apt-get install pybind11-dev python3-dev python3-numpy"},
      {.name = "Google Benchmark",
       .brings = "the program emplace_micro",
       .present = EMPLACE_HAS_BENCHMARK,
       .how_to_get = "apt-get install libbenchmark-dev"},
  };
  return parts;
}

}  // namespace emplace::cli
