#include "model/assemble.hpp"
#include "model/element_type.hpp"
#include "operators/operators.hpp"
#include "transforms/same_network.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/replicas.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {
namespace {

class Replicator {
 public:
  explicit Replicator(Parts parts)
      : parts_(parts),
        network_(parts[0]),
        copies_(parts.size(), IdVector<OpId, OpId>(boost::num_vertices(network_), -1)),
        reduced_(parts.size()) {}

  OpGraph run(std::int64_t bucket_bytes) && {
    graph_[boost::graph_bundle] = network_[boost::graph_bundle];
    add_ops([](Phase phase) { return phase != Phase::kUpdate; });
    for (OpId op = 0; op < num_ops(network_); ++op) {
      highest_priority_ = std::max(highest_priority_, network_[index_of(op)].priority);
    }
    reduce_gradients(bucket_bytes);
    add_ops([](Phase phase) { return phase == Phase::kUpdate; });
    validate(graph_, graph_[boost::graph_bundle].name);
    return take(graph_);
  }

 private:
  std::size_t num_replicas() const { return parts_.size(); }

  static std::string in_replica(std::size_t replica, std::string name) {
    return replica == 0 || name.empty() ? name : fmt::format("{}@{}", name, replica);
  }

  static std::string scope_in(std::size_t replica, std::string_view scope) {
    return fmt::format("replica_{}{}{}", replica, scope.empty() ? "" : "/", scope);
  }

  template <class Which>
  void add_ops(const Which& is_one) {
    for (std::size_t replica = 0; replica < num_replicas(); ++replica) {
      const OpGraph& part = parts_[replica];
      for (OpId op = 0; op < num_ops(part); ++op) {
        if (is_one(part[index_of(op)].phase)) {
          Op copy = part[index_of(op)];
          copy.name = in_replica(replica, std::move(copy.name));
          // The label of an update would tie what comes before a sum over replicas to what follows.
          copy.colocation =
              copy.phase == Phase::kUpdate ? "" : in_replica(replica, std::move(copy.colocation));
          copy.scope = scope_in(replica, copy.scope);
          copy.replica = static_cast<std::int32_t>(replica);
          copies_[replica][op] = static_cast<OpId>(boost::add_vertex(copy, graph_));
        }
      }
      for (OpId op = 0; op < num_ops(part); ++op) {
        if (is_one(part[index_of(op)].phase)) {
          connect(replica, op);
        }
      }
    }
  }

  // Joins an op to what it reads; an update reads the sums of gradients.
  void connect(std::size_t replica, OpId op) {
    for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(op), network_))) {
      const Tensor read{static_cast<OpId>(boost::source(edge, network_)), network_[edge].output};
      const auto reduced = reduced_[replica].find({read.op, read.output});
      if (network_[index_of(op)].phase == Phase::kUpdate && reduced != reduced_[replica].end()) {
        add_dependency(graph_, reduced->second.op, reduced->second.output, copies_[replica][op]);
        continue;
      }
      if (copies_[replica][read.op] < 0) {
        fail_to_join(network_, network_[index_of(op)].name, "reads what the step updates");
      }
      add_dependency(graph_, copies_[replica][read.op], read.output, copies_[replica][op]);
    }
  }

  // What updates read of the backward pass.
  struct Gradient {
    Tensor tensor;
    bool is_dense;  // else it has the rows of a part of the batch
  };

  // Returns them in the order in which the backward pass makes them. One that is as large as
  // a variable that its update reads is dense.
  std::vector<Gradient> gradients() const {
    IdVector<OpId, std::size_t> position(boost::num_vertices(network_));
    for (std::size_t at = 0; const OpId op : topological_order(network_)) {
      position[op] = at++;
    }
    std::vector<Gradient> found;
    for (OpId op = 0; op < num_ops(network_); ++op) {
      if (network_[index_of(op)].phase != Phase::kUpdate) {
        continue;
      }
      std::vector<Tensor> read;
      std::set<std::vector<std::int64_t>> variables;  // their shapes
      for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(op), network_))) {
        const Tensor tensor{static_cast<OpId>(boost::source(edge, network_)),
                            network_[edge].output};
        const Op& producer = network_[index_of(tensor.op)];
        if (tensor.output == Dependency::kControl) {
          continue;
        }
        if (producer.phase == Phase::kBackward) {
          read.push_back(tensor);
        } else if (producer.kind == "variable") {
          variables.insert(producer.outputs[index_of(tensor.output)].shape);
        }
      }
      for (const Tensor tensor : read) {
        const Output& value = value_of(network_, tensor);
        found.push_back({tensor, is_floating(value.type) && variables.contains(value.shape)});
      }
    }
    const auto key = [&](const Gradient& gradient) {
      return std::pair(position[gradient.tensor.op], gradient.tensor.output);
    };
    std::ranges::sort(found, {}, key);
    found.erase(std::unique(found.begin(), found.end(),
                            [&](const auto& a, const auto& b) { return key(a) == key(b); }),
                found.end());
    return found;
  }

  void reduce_gradients(std::int64_t bucket_bytes) {
    std::map<DataType, std::vector<Tensor>> open;  // a bucket holds one type
    std::map<DataType, std::int64_t> bytes;
    for (const auto& [gradient, is_dense] : gradients()) {
      if (!is_dense) {
        join_rows(gradient);
        continue;
      }
      const Output& value = value_of(network_, gradient);
      open[value.type].push_back(gradient);
      bytes[value.type] += value.bytes;
      if (bytes[value.type] >= bucket_bytes) {
        all_reduce(std::exchange(open[value.type], {}));
        bytes[value.type] = 0;
      }
    }
    for (auto& [type, bucket] : open) {
      if (!bucket.empty()) {
        all_reduce(bucket);
      }
    }
  }

  // Rows and their numbers are read by every replica.
  void join_rows(Tensor of) {
    const Op& producer = network_[index_of(of.op)];
    std::vector<Tensor> rows;
    rows.reserve(copies_.size());
    for (const auto& copies : copies_) {
      rows.push_back({copies[of.op], of.output});
    }
    const std::string name = fmt::format("{}{}/all_gather", producer.name,
                                         of.output == 0 ? "" : fmt::format(":{}", of.output));
    for (std::size_t replica = 0; replica < num_replicas(); ++replica) {
      reduced_[replica][{of.op, of.output}] =
          append(replica, name, producer.scope, "concat", AxisAttributes{.axis = 0}, rows, {});
    }
  }

  // A ring for one bucket. Chunk c is summed up from replica c on, so that it ends on c - 1.
  void all_reduce(const std::vector<Tensor>& bucket) {
    const std::string name = fmt::format("all_reduce/bucket_{}", num_buckets_++);
    const auto add = [&](std::size_t replica, const std::string& op, std::string_view kind,
                         const std::vector<Tensor>& inputs, std::vector<Output> results) {
      return append(replica, fmt::format("{}/{}", name, op), name, kind, {}, inputs,
                    std::move(results));
    };
    const std::vector<Output> chunks = chunks_of(bucket);
    std::vector<Tensor> own;  // chunk 0 of each replica
    for (std::size_t replica = 0; replica < num_replicas(); ++replica) {
      std::vector<Tensor> gradients;
      gradients.reserve(bucket.size());
      for (const Tensor gradient : bucket) {
        gradients.push_back({copies_[replica][gradient.op], gradient.output});
      }
      own.push_back(add(replica, "flatten", "flatten_dense_tensors", gradients, chunks));
    }
    std::vector<std::vector<Tensor>> sums(num_replicas());  // by replica, then by chunk
    for (std::size_t chunk = 0; chunk < num_replicas(); ++chunk) {
      Tensor last = {own[chunk].op, static_cast<std::int32_t>(chunk)};
      for (std::size_t step = 1; step < num_replicas(); ++step) {
        const std::size_t replica = (chunk + step) % num_replicas();
        last = add(replica, fmt::format("reduce_scatter_{}", chunk), "add",
                   {last, {own[replica].op, static_cast<std::int32_t>(chunk)}}, {});
      }
      for (std::size_t step = 0; step < num_replicas(); ++step) {
        const std::size_t replica = (chunk + num_replicas() - 1 + step) % num_replicas();
        if (step > 0) {  // a view: its bytes are where they arrived
          last =
              add(replica, fmt::format("all_gather_{}", chunk), "reshape", {last}, {chunks[chunk]});
        }
        sums[replica].push_back(last);
      }
    }
    for (std::size_t replica = 0; replica < num_replicas(); ++replica) {
      std::vector<Output> results;
      results.reserve(bucket.size());
      for (const Tensor gradient : bucket) {
        const Output& value = value_of(network_, gradient);
        results.push_back(make_output(value.shape, value.type));
      }
      Tensor sum =
          add(replica, "unflatten", "unflatten_dense_tensors", sums[replica], std::move(results));
      for (const Tensor gradient : bucket) {
        reduced_[replica][{gradient.op, gradient.output}] = sum;
        ++sum.output;
      }
    }
  }

  // A chunk for each replica, of sizes that differ by one number at most.
  std::vector<Output> chunks_of(const std::vector<Tensor>& bucket) const {
    std::int64_t numbers = 0;
    for (const Tensor gradient : bucket) {
      numbers += product(value_of(network_, gradient).shape);
    }
    const auto count = std::ssize(parts_);
    std::vector<Output> chunks;
    for (std::int64_t chunk = 0; chunk < count; ++chunk) {
      chunks.push_back(make_output({numbers / count + (chunk < numbers % count ? 1 : 0)},
                                   value_of(network_, bucket[0]).type));
    }
    return chunks;
  }

  Tensor append(std::size_t replica, const std::string& name, std::string_view scope,
                std::string_view kind, Attributes attributes, const std::vector<Tensor>& inputs,
                std::vector<Output> results) {
    Op op{.name = in_replica(replica, name),
          .phase = Phase::kBackward,
          .outputs = std::move(results),
          .scope = scope_in(replica, scope),
          .replica = static_cast<std::int32_t>(replica),
          .priority = highest_priority_};
    operators::define(op, kind, std::move(attributes), values_of(graph_, inputs));
    return {append_op(graph_, std::move(op), inputs), 0};
  }

  Parts parts_;
  const OpGraph& network_;
  OpGraph graph_;
  std::vector<IdVector<OpId, OpId>> copies_;  // by replica
  // What updates read instead of a tensor, by replica.
  std::vector<std::map<std::pair<OpId, std::int32_t>, Tensor>> reduced_;
  int num_buckets_ = 0;
  std::int32_t highest_priority_ = 0;  // of the network: sums wait for no other work
};

}  // namespace

OpGraph replicas(Parts parts, std::int64_t bucket_bytes) {
  EMPLACE_CHECK(!parts.empty(), "no replicas");
  for (const OpGraph& part : parts) {
    expect_same_network(parts[0], part);
  }
  return Replicator(parts).run(bucket_bytes);
}

}  // namespace emplace
