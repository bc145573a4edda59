#pragma once

// Transfers that compete for links, as flows of bytes: who gets how much, and who is through next
// (rule 2 of the `physical` engine in docs/concepts/simulation.md).
//
// All flows of one route have the same rate at every moment, so a route keeps one clock, the bytes
// that each of its flows was served so far; a flow ends when the clock reaches what it showed at
// its start plus the flow's bytes. Clocks are read only when their rate changes. Rates are max-min
// fair by progressive filling (Bertsekas and Gallager, Data Networks, 1992, 6.5.2): the link with
// the least share for each of its flows fixes them; what they use is taken off their other links;
// and so on. Only routes that shared links join to one whose flows changed can have other rates
// than before. A route whose links no other route uses at the time just divides the narrowest. A
// `fifo` link admits one flow at a time, in order of arrival, and a flow moves when all its `fifo`
// links admit it. Arrivals have one order, so the first can always move. A `fatpipe` link is a
// limit for each flow alone.

#include <emplace/base/id_vector.hpp>
#include <emplace/profiles/topology.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace emplace::physical {

/// Moves flows over the links of a topology; a workspace of one thread.
class Network {
 public:
  /// Holds a flow that ended, and when.
  struct Ended {
    std::int32_t flow;
    double at_us;
  };

  /// Prepares for up to `max_flows` flows, named 0 to max_flows - 1, on routes between
  /// `num_devices` devices. Afterwards nothing is allocated.
  Network(const Topology& topology, DeviceId num_devices, std::int32_t max_flows);

  /// Forgets all flows.
  void reset();

  /// Says that a flow of `bytes` wants to move from one device to another from now on. Flows that
  /// are under way keep their rates until share().
  void add(std::int32_t flow, DeviceId from, DeviceId to, double bytes, double now_us);

  /// Takes out all flows that end until `until_us`, and appends them to `ended`, in no order.
  void take_ended(double until_us, std::vector<Ended>& ended);

  /// Lets flows move that waited for those taken out, and shares the links anew, if need be. Only
  /// necessary where has_changed().
  void share(double now_us);

  /// Says whether some flow started or ended since share().
  bool has_changed() const { return has_changed_; }

  /// Returns when the next flow ends; infinity if none moves. Requires: share() was called since
  /// the last change.
  double next_end_us() const { return next_end_us_; }

  /// Returns the present rate of the flows from one device to another in bytes per microsecond.
  double rate(DeviceId from, DeviceId to) const { return routes_[from * num_devices_ + to].rate; }

 private:
  static constexpr std::int32_t kNone = -1;

  struct Route {
    double rate = 0;             // of each flow
    double served = 0;           // the clock: bytes served to each flow, at `read_us`
    double read_us = 0;          // when the clock was read
    double end_us = 0;           // when the first flow ends at this rate
    std::int32_t first = kNone;  // the flow that ends first: root of a heap
    std::int32_t num_flows = 0;  // that move
    std::int32_t position = 0;   // among the busy routes
    bool is_stale = false;       // whether end_us is to be computed anew
  };

  struct Flow {
    double bytes = 0;
    double end_at = 0;  // what the clock of its route will show
    std::int32_t route = 0;
    std::int32_t child = kNone;    // in the heap
    std::int32_t sibling = kNone;  // in the heap
    std::int32_t num_blocked = 0;  // fifo links that do not admit it yet
  };

  struct LinkUse {
    double bytes_per_us = 0;
    std::int32_t num_flows = 0;   // that move
    std::int32_t num_routes = 0;  // busy routes over it
    std::int32_t position = 0;    // among the busy links
    bool has_changed = false;     // whether some flow over it started or ended since share()
    std::int32_t first = kNone;   // fifo: the queue, of nodes
    std::int32_t last = kNone;
  };

  // A link while rates are fixed: one with flows without a rate.
  struct OpenLink {
    double left;     // bandwidth that is not given away
    double unfixed;  // how many flows
    std::int32_t link;
  };

  // A place in the queue of a fifo link.
  struct Node {
    std::int32_t flow;
    std::int32_t next;
  };

  std::span<const std::int32_t> shared_links(std::int32_t route) const {
    return {shared_.data() + shared_begin_[route], shared_.data() + shared_begin_[route + 1]};
  }
  std::span<std::int32_t> busy_routes_of(std::int32_t link) {
    return {lists_.data() + list_begin_[link], index_of(links_[link].num_routes)};
  }
  std::span<const std::int32_t> fifo_links(std::int32_t route) const {
    return {fifo_.data() + fifo_begin_[route], fifo_.data() + fifo_begin_[route + 1]};
  }
  void start(std::int32_t flow, double now_us);
  void stop_first(Route& route);
  void make_busy(std::int32_t id);
  void make_idle(std::int32_t id);
  void push(Route& route, std::int32_t flow);
  std::int32_t meld(std::int32_t a, std::int32_t b);
  std::int32_t meld_all(std::int32_t first);
  double rate_alone(std::int32_t id) const;
  void mark_as_changed(std::int32_t link);
  void fill(double now_us);
  void reach();
  void reach_all();
  void open(std::int32_t link);
  OpenLink find_narrowest();
  std::size_t fix_limited(double rate, double now_us);
  std::size_t fix_routes_of(std::int32_t link, double rate, double now_us);
  void fix(std::int32_t id, double rate, double now_us);
  void set_rate(Route& route, double rate, double now_us);

  DeviceId num_devices_;

  // Routes as lists of links: those that are shared, and of these the fifo ones.
  IdVector<std::int32_t, std::int32_t> shared_begin_;
  IdVector<std::int32_t, std::int32_t> shared_;
  IdVector<std::int32_t, std::int32_t> fifo_begin_;
  IdVector<std::int32_t, std::int32_t> fifo_;
  IdVector<std::int32_t, double> limit_;       // of a flow, from the fatpipe links of its route
  IdVector<std::int32_t, double> bottleneck_;  // of a route: bandwidth of its narrowest shared link
  bool has_limits_ = false;
  std::size_t max_fifo_ = 0;

  // Links as lists of their busy routes, in the order of `busy_routes_`, each with room for all.
  IdVector<std::int32_t, std::int32_t> list_begin_;
  IdVector<std::int32_t, std::int32_t> lists_;

  IdVector<std::int32_t, Route> routes_;
  IdVector<std::int32_t, Flow> flows_;
  IdVector<std::int32_t, LinkUse> links_;
  IdVector<std::int32_t, Node> nodes_;     // max_fifo_ for each flow
  std::vector<std::int32_t> busy_routes_;  // with flows that move
  std::vector<std::int32_t> busy_links_;   // of those routes
  std::vector<std::int32_t> changed_links_;
  std::vector<std::int32_t> reached_routes_;         // of the present filling: those with new rates
  std::vector<OpenLink> open_links_;                 // while sharing: their links
  std::size_t num_open_links_ = 0;                   // while sharing
  IdVector<std::int32_t, std::int32_t> open_at_;     // while sharing: where each link is therein
  IdVector<std::int32_t, std::uint64_t> opened_in_;  // the last filling that opened each link
  IdVector<std::int32_t, std::uint64_t> reached_in_;  // the last filling that reached each route
  IdVector<std::int32_t, std::uint64_t> fixed_in_;    // the last filling that fixed each route
  std::uint64_t filling_ = 0;                         // how often rates were filled in
  std::vector<std::int32_t> admitted_;                // flows to start at the next share()
  bool has_changed_ = false;                          // whether some flow started or ended
  bool must_fill_ = false;                            // whether it shares a link with another route
  double next_end_us_ = std::numeric_limits<double>::infinity();
};

}  // namespace emplace::physical
