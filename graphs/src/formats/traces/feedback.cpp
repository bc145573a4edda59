#include "feedback.hpp"

#include <emplace/base/id_vector.hpp>

#include <boost/graph/strong_components.hpp>
#include <boost/property_map/property_map.hpp>
#include <boost/range/iterator_range.hpp>

#include <set>

namespace emplace::chakra {
namespace {

// Lets nodes run one after the other.
class Runner {
 public:
  Runner(const OpGraph& data, std::span<const std::pair<OpId, OpId>> orders,
         std::span<const std::uint64_t> start_us)
      : orders_(orders),
        start_us_(start_us),
        after_(boost::num_vertices(data)),
        waits_(boost::num_vertices(data)),
        closes_(orders.size(), false) {
    const std::vector<int> component = components(data);
    for (const auto edge : boost::make_iterator_range(boost::edges(data))) {
      const std::size_t before = boost::source(edge, data);
      const std::size_t after = boost::target(edge, data);
      if (component[before] == component[after]) {
        after_[before].push_back({after, kData});
        ++waits_[after].data;
      }
    }
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const auto before = index_of(orders[i].first);
      const auto after = index_of(orders[i].second);
      if (component[before] == component[after]) {
        after_[before].push_back({after, i});
        waits_[after].orders.insert(i);
      }
    }
  }

  std::vector<bool> run() && {
    for (std::size_t node = 0; node < waits_.size(); ++node) {
      queue(node);
    }
    while (!ready_.empty() || !held_.empty()) {
      auto& nodes = ready_.empty() ? held_ : ready_;
      const std::size_t node = nodes.begin()->second;
      nodes.erase(nodes.begin());
      for (const std::size_t order : waits_[node].orders) {
        closes_[order] = true;
      }
      waits_[node].has_run = true;
      for (const auto& [after, order] : after_[node]) {
        release(after, order);
      }
    }
    return std::move(closes_);
  }

 private:
  static constexpr std::size_t kData = static_cast<std::size_t>(-1);

  struct Waits {
    std::size_t data = 0;
    std::set<std::size_t> orders{};
    bool has_run = false;
  };
  struct Use {
    std::size_t after = 0;
    std::size_t order = kData;
  };

  std::vector<int> components(const OpGraph& data) const {
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> all(
        boost::num_vertices(data));
    for (const auto edge : boost::make_iterator_range(boost::edges(data))) {
      boost::add_edge(boost::source(edge, data), boost::target(edge, data), all);
    }
    for (const auto& [before, after] : orders_) {
      boost::add_edge(index_of(before), index_of(after), all);
    }
    std::vector<int> component(boost::num_vertices(data));
    boost::strong_components(
        all, boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, all)));
    return component;
  }

  // Queues a node that only control dependencies may hold back.
  void queue(std::size_t node) {
    if (waits_[node].data == 0) {
      (waits_[node].orders.empty() ? ready_ : held_).emplace(start_us_[node], node);
    }
  }

  void release(std::size_t node, std::size_t order) {
    Waits& waits = waits_[node];
    if (waits.has_run) {
      return;
    }
    held_.erase({start_us_[node], node});
    if (order == kData) {
      --waits.data;
    } else {
      waits.orders.erase(order);
    }
    queue(node);
  }

  std::span<const std::pair<OpId, OpId>> orders_;
  std::span<const std::uint64_t> start_us_;
  std::vector<std::vector<Use>> after_;
  std::vector<Waits> waits_;
  std::vector<bool> closes_;
  std::set<std::pair<std::uint64_t, std::size_t>> ready_;  // by begin
  std::set<std::pair<std::uint64_t, std::size_t>> held_;
};

}  // namespace

std::vector<bool> find_feedback(const OpGraph& data, std::span<const std::pair<OpId, OpId>> orders,
                                std::span<const std::uint64_t> start_us) {
  return Runner(data, orders, start_us).run();
}

}  // namespace emplace::chakra
