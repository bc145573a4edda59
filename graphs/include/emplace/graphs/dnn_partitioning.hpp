#pragma once

// Reader for the workloads of Tarnawski et al., "Efficient Algorithms for Device Placement of DNN
// Graph Operators", NeurIPS 2020 (repository msr-fiddle/dnn-partitioning, MIT licence).
//
// A node's latencies become measured costs of the device classes "fpga" (any accelerator) and
// "cpu", its colour class the colocation label "class-<n>", and
// "class-<n>-backward" for its backward nodes: one label for both would tie the first op of a step
// to the last, and all between them, into one group. An edge's `cost` is the time to move the
// source's value at 2 GiB/s; the value's bytes come from it, because some files give the
// destination's size. One folder of the original has that cost in seconds instead of milliseconds;
// the unit is found from cost and size. A node's `size` is that of its weights and its value:
// persistent_bytes is what remains of it without the outputs, 0 where they are larger.
//
// The training *layer* graphs are two disconnected copies of the forward graph whose backward half
// has its edges in forward direction. They are repaired: backward edges turn round, carrying the
// bytes of the value whose gradient they are, and each forward node gets an edge to the backward
// node of its class (a control edge if its value is unknown because nothing reads it). Gradients of
// one size from one node count as one value. The number of accelerators and their memory stand in
// the file too, but belong to a cluster.

#include <emplace/graphs/op_graph.hpp>

#include <string>
#include <string_view>

namespace emplace {

/// Reads and validates a graph in the dnn-partitioning format; `source` names the text in errors,
/// and the graph gets the name of that file. Throws kFormat.
OpGraph read_dnn_partitioning(std::string_view text, const std::string& source);

}  // namespace emplace
