#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/layered_layout.hpp>

#include <boost/range/adaptor/reversed.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace emplace {
namespace {

using NodeId = std::int32_t;  // of a node, or of a waypoint, which come after the nodes

constexpr int kShortenPasses = 4;
constexpr int kOrderSweeps = 24;
constexpr int kPositionSweeps = 48;

// How hard neighbours pull, by the number of waypoints among the two.
constexpr double kPull[] = {1, 2, 8};

// A node or waypoint in the next layer.
struct Neighbour {
  NodeId node;
  double weight;  // of the edges between, the largest
};

// The graph in layers.
class Layers {
 public:
  Layers(NodeId num_nodes, std::span<const LayeredEdge> edges, const LayeredSizes& sizes)
      : num_nodes_(num_nodes), sizes_(sizes), edges_(edges.begin(), edges.end()) {}

  LayeredLayout lay_out() {
    break_cycles();
    choose_layers();
    add_waypoints();
    order_layers();
    choose_positions();
    return result();
  }

 private:
  void break_cycles();
  void choose_layers();
  void add_waypoints();
  void connect(NodeId above, NodeId below, double weight);
  const std::vector<NodeId>& duct(NodeId from, std::size_t count);
  void order_layers();
  void sort_layer(std::size_t layer, const std::vector<std::vector<Neighbour>>& neighbours);
  std::int64_t crossings() const;
  void choose_positions();
  void move_layer(std::size_t layer);
  LayeredLayout result() const;

  bool is_waypoint(NodeId node) const { return node >= num_nodes_; }
  double width(NodeId node) const {
    return is_waypoint(node) ? sizes_.waypoint_width : sizes_.node_width;
  }

  // Between the centers of neighbours in a layer, at the least.
  double room_between(NodeId left, NodeId right) const {
    const bool in_duct = is_waypoint(left) && is_waypoint(right);
    return (width(left) + width(right) + (in_duct ? sizes_.gap : 2 * sizes_.gap)) / 2;
  }

  NodeId num_nodes_;
  LayeredSizes sizes_;
  std::vector<LayeredEdge> edges_;             // acyclic after break_cycles()
  std::vector<bool> turned_;                   // by edge
  std::vector<NodeId> order_;                  // topological, of the nodes
  std::vector<std::int32_t> layer_;            // by node and waypoint
  std::vector<std::vector<Neighbour>> above_;  // neighbours in the layer above
  std::vector<std::vector<Neighbour>> below_;  // and below
  std::vector<std::vector<NodeId>> ducts_;     // by node: waypoints in the layers below
  std::vector<std::size_t> num_waypoints_;     // by edge, from the duct of its upper end
  std::vector<std::vector<NodeId>> layers_;    // by layer, from the left
  std::vector<std::int32_t> position_;         // in its layer, by node and waypoint
  std::vector<double> x_;                      // of the center, by node and waypoint
};

void Layers::break_cycles() {
  std::vector<std::vector<std::size_t>> out(index_of(num_nodes_));
  for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
    out[index_of(edges_[edge].from)].push_back(edge);
  }
  turned_.assign(edges_.size(), false);
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  std::vector<State> state(index_of(num_nodes_), State::kNew);
  std::vector<std::pair<NodeId, std::size_t>> path;  // a node and its next edge
  for (NodeId root = 0; root < num_nodes_; ++root) {
    if (state[index_of(root)] != State::kNew) {
      continue;
    }
    state[index_of(root)] = State::kOpen;
    path.emplace_back(root, 0);
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next == out[index_of(node)].size()) {
        state[index_of(node)] = State::kDone;
        order_.push_back(node);
        path.pop_back();
        continue;
      }
      const std::size_t edge = out[index_of(node)][next++];
      const NodeId to = edges_[edge].to;
      if (state[index_of(to)] == State::kOpen) {
        turned_[edge] = true;
      } else if (state[index_of(to)] == State::kNew) {
        state[index_of(to)] = State::kOpen;
        path.emplace_back(to, 0);
      }
    }
  }
  std::ranges::reverse(order_);
  for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
    if (turned_[edge]) {
      std::swap(edges_[edge].from, edges_[edge].to);
    }
  }
}

void Layers::choose_layers() {
  std::vector<std::vector<NodeId>> before(index_of(num_nodes_));
  std::vector<std::vector<NodeId>> after(index_of(num_nodes_));
  for (const auto& [from, to, weight] : edges_) {
    before[index_of(to)].push_back(from);
    after[index_of(from)].push_back(to);
  }
  layer_.assign(index_of(num_nodes_), 0);
  const auto first_layer = [&](NodeId node) {
    std::int32_t layer = 0;
    for (const NodeId other : before[index_of(node)]) {
      layer = std::max(layer, layer_[index_of(other)] + 1);
    }
    return layer;
  };
  for (const NodeId node : order_) {
    layer_[index_of(node)] = first_layer(node);
  }
  // Who may as well move does so downwards, and gives way to what waits above.
  for (int pass = 0; pass < kShortenPasses; ++pass) {
    for (const NodeId node : boost::adaptors::reverse(order_)) {
      if (after[index_of(node)].empty() ||
          after[index_of(node)].size() < before[index_of(node)].size()) {
        continue;
      }
      std::int32_t layer = std::numeric_limits<std::int32_t>::max();
      for (const NodeId other : after[index_of(node)]) {
        layer = std::min(layer, layer_[index_of(other)] - 1);
      }
      layer_[index_of(node)] = layer;
    }
    for (const NodeId node : order_) {
      if (before[index_of(node)].size() > after[index_of(node)].size()) {
        layer_[index_of(node)] = first_layer(node);
      }
    }
  }
  const std::int32_t top = num_nodes_ == 0 ? 0 : *std::ranges::min_element(layer_);
  for (std::int32_t& layer : layer_) {
    layer -= top;
  }
}

void Layers::connect(NodeId above, NodeId below, double weight) {
  const auto add = [&](std::vector<Neighbour>& neighbours, NodeId node) {
    const auto known = std::ranges::find(neighbours, node, &Neighbour::node);
    if (known == neighbours.end()) {
      neighbours.push_back({node, weight});
    } else {
      known->weight = std::max(known->weight, weight);
    }
  };
  add(below_[index_of(above)], below);
  add(above_[index_of(below)], above);
}

// Returns the waypoints below a node, of which its edges share the first ones: at least `count`.
const std::vector<NodeId>& Layers::duct(NodeId from, std::size_t count) {
  std::vector<NodeId>& waypoints = ducts_[index_of(from)];
  while (waypoints.size() < count) {
    const auto next = static_cast<NodeId>(layer_.size());
    const NodeId last = waypoints.empty() ? from : waypoints.back();
    layer_.push_back(layer_[index_of(last)] + 1);
    above_.emplace_back();
    below_.emplace_back();
    waypoints.push_back(next);
  }
  return waypoints;
}

void Layers::add_waypoints() {
  above_.resize(index_of(num_nodes_));
  below_.resize(index_of(num_nodes_));
  ducts_.resize(index_of(num_nodes_));
  num_waypoints_.resize(edges_.size());
  std::vector<std::size_t> by_length(edges_.size());
  std::iota(by_length.begin(), by_length.end(), std::size_t{0});
  const auto length = [&](std::size_t edge) {
    return index_of(layer_[index_of(edges_[edge].to)] - layer_[index_of(edges_[edge].from)]);
  };
  std::ranges::stable_sort(by_length, {}, length);
  std::size_t left = LayeredLayout::kMaxWaypoints;
  for (const std::size_t edge : by_length) {
    const auto& [from, to, weight] = edges_[edge];
    const std::size_t count = length(edge) - 1;
    if (count > left) {
      return;  // the rest is as long or longer
    }
    left -= count;
    num_waypoints_[edge] = count;
    const std::vector<NodeId>& waypoints = duct(from, count);
    NodeId last = from;
    for (std::size_t at = 0; at < count; ++at) {
      connect(last, waypoints[at], weight);
      last = waypoints[at];
    }
    connect(last, to, weight);
  }
}

// Sorts a layer by the mean position of neighbours; who has none stays.
void Layers::sort_layer(std::size_t layer, const std::vector<std::vector<Neighbour>>& neighbours) {
  std::vector<std::pair<double, NodeId>> keys;
  for (const NodeId node : layers_[layer]) {
    double sum = 0;
    double weights = 0;
    for (const auto& [other, weight] : neighbours[index_of(node)]) {
      sum += weight * position_[index_of(other)];
      weights += weight;
    }
    keys.emplace_back(weights == 0 ? position_[index_of(node)] : sum / weights, node);
  }
  std::ranges::stable_sort(keys, {}, &std::pair<double, NodeId>::first);
  for (std::size_t at = 0; at < keys.size(); ++at) {
    layers_[layer][at] = keys[at].second;
    position_[index_of(keys[at].second)] = static_cast<std::int32_t>(at);
  }
}

// Counts the pairs of edges that cross: inversions, with a Fenwick tree for each layer.
std::int64_t Layers::crossings() const {
  std::int64_t count = 0;
  std::vector<std::int64_t> tree;
  std::vector<std::int32_t> ends;
  for (std::size_t layer = 0; layer + 1 < layers_.size(); ++layer) {
    tree.assign(layers_[layer + 1].size() + 1, 0);
    std::int64_t seen = 0;
    for (const NodeId node : layers_[layer]) {
      ends.clear();
      for (const Neighbour& other : below_[index_of(node)]) {
        ends.push_back(position_[index_of(other.node)]);
      }
      for (const std::int32_t end : ends) {
        std::int64_t not_right = 0;
        for (std::size_t at = index_of(end) + 1; at > 0; at -= at & (~at + 1)) {
          not_right += tree[at];
        }
        count += seen - not_right;
      }
      for (const std::int32_t end : ends) {
        for (std::size_t at = index_of(end) + 1; at < tree.size(); at += at & (~at + 1)) {
          ++tree[at];
        }
      }
      seen += static_cast<std::int64_t>(ends.size());
    }
  }
  return count;
}

void Layers::order_layers() {
  const std::int32_t num_layers = layer_.empty() ? 0 : *std::ranges::max_element(layer_) + 1;
  layers_.resize(index_of(num_layers));
  position_.resize(layer_.size());
  // Depth first, so that what belongs together starts together.
  std::vector<bool> seen(layer_.size());
  std::vector<NodeId> open;
  for (NodeId root = 0; root < num_nodes_; ++root) {
    open.push_back(root);
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      if (seen[index_of(node)]) {
        continue;
      }
      seen[index_of(node)] = true;
      auto& layer = layers_[index_of(layer_[index_of(node)])];
      position_[index_of(node)] = static_cast<std::int32_t>(layer.size());
      layer.push_back(node);
      for (const auto* neighbours : {&above_, &below_}) {
        for (const Neighbour& other : boost::adaptors::reverse((*neighbours)[index_of(node)])) {
          open.push_back(other.node);
        }
      }
    }
  }
  auto best = layers_;
  std::int64_t fewest = crossings();
  for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; ++sweep) {
    for (std::size_t step = 1; step < layers_.size(); ++step) {
      if (sweep % 2 == 0) {
        sort_layer(step, above_);
      } else {
        sort_layer(layers_.size() - 1 - step, below_);
      }
    }
    if (const std::int64_t now = crossings(); now < fewest) {
      fewest = now;
      best = layers_;
    }
  }
  layers_ = std::move(best);
  for (const std::vector<NodeId>& layer : layers_) {
    for (std::size_t at = 0; at < layer.size(); ++at) {
      position_[index_of(layer[at])] = static_cast<std::int32_t>(at);
    }
  }
}

// Moves a layer to where its neighbours pull it: the x that minimize the sum of weight (x -
// wanted)^2 under x[i + 1] - x[i] >= room. With the rooms taken off, that is isotonic regression,
// which pooling adjacent violators solves.
void Layers::move_layer(std::size_t layer) {
  struct Pool {
    double wanted;
    double weight;
    std::size_t size;
  };
  std::vector<Pool> pools;
  std::vector<double> offset;  // of each node from the first, at the least
  double room = 0;
  const std::vector<NodeId>& nodes = layers_[layer];
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const NodeId node = nodes[at];
    room += at == 0 ? 0 : room_between(nodes[at - 1], node);
    offset.push_back(room);
    double sum = 0;
    double weight = 0;
    const auto pull = [&](const std::vector<Neighbour>& others) {
      for (const auto& [other, edge_weight] : others) {
        const int waypoints = (is_waypoint(node) ? 1 : 0) + (is_waypoint(other) ? 1 : 0);
        const double force = edge_weight * kPull[waypoints];
        sum += force * x_[index_of(other)];
        weight += force;
      }
    };
    pull(above_[index_of(node)]);
    pull(below_[index_of(node)]);
    constexpr double kStays = 0.01;  // the weight of where it is
    sum += kStays * x_[index_of(node)];
    weight += kStays;
    pools.push_back({sum / weight - room, weight, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].wanted > pools.back().wanted) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& pool = pools.back();
      pool.wanted =
          (pool.wanted * pool.weight + last.wanted * last.weight) / (pool.weight + last.weight);
      pool.weight += last.weight;
      pool.size += last.size;
    }
  }
  std::size_t at = 0;
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.size; ++i, ++at) {
      x_[index_of(nodes[at])] = pool.wanted + offset[at];
    }
  }
}

void Layers::choose_positions() {
  x_.resize(layer_.size());
  // Layers start centered, so that the whole is upright.
  for (const std::vector<NodeId>& nodes : layers_) {
    for (std::size_t at = 1; at < nodes.size(); ++at) {
      x_[index_of(nodes[at])] =
          x_[index_of(nodes[at - 1])] + room_between(nodes[at - 1], nodes[at]);
    }
    const double middle = nodes.empty() ? 0 : x_[index_of(nodes.back())] / 2;
    for (const NodeId node : nodes) {
      x_[index_of(node)] -= middle;
    }
  }
  for (int sweep = 0; sweep < kPositionSweeps; ++sweep) {
    for (std::size_t step = 0; step < layers_.size(); ++step) {
      move_layer(sweep % 2 == 0 ? step : layers_.size() - 1 - step);
    }
  }
  double left = std::numeric_limits<double>::infinity();
  for (std::size_t node = 0; node < x_.size(); ++node) {
    left = std::min(left, x_[node] - width(static_cast<NodeId>(node)) / 2);
  }
  for (double& x : x_) {
    x -= left;
  }
}

LayeredLayout Layers::result() const {
  LayeredLayout layout;
  const auto point = [&](NodeId node) {
    return LayeredLayout::Point{
        x_[index_of(node)],
        sizes_.node_height / 2 + layer_[index_of(node)] * (sizes_.node_height + sizes_.layer_gap)};
  };
  for (NodeId node = 0; node < num_nodes_; ++node) {
    layout.layer.push_back(layer_[index_of(node)]);
    layout.center.push_back(point(node));
  }
  for (std::size_t node = 0; node < x_.size(); ++node) {
    layout.width = std::max(layout.width, x_[node] + width(static_cast<NodeId>(node)) / 2);
  }
  const auto num_layers = static_cast<double>(layers_.size());
  layout.height =
      std::max(0.0, num_layers * (sizes_.node_height + sizes_.layer_gap) - sizes_.layer_gap);
  for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
    std::vector<LayeredLayout::Point>& route = layout.route.emplace_back();
    for (std::size_t at = 0; at < num_waypoints_[edge]; ++at) {
      route.push_back(point(ducts_[index_of(edges_[edge].from)][at]));
    }
    if (turned_[edge]) {
      std::ranges::reverse(route);
    }
  }
  return layout;
}

}  // namespace

LayeredLayout layered_layout(std::int32_t num_nodes, std::span<const LayeredEdge> edges,
                             const LayeredSizes& sizes) {
  for (const auto& [from, to, weight] : edges) {
    EMPLACE_CHECK(
        weight > 0 && from != to && std::min(from, to) >= 0 && std::max(from, to) < num_nodes,
        "an edge from {} to {} of {} nodes", from, to, num_nodes);
  }
  return Layers(num_nodes, edges, sizes).lay_out();
}

}  // namespace emplace
