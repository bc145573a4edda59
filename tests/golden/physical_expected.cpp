// Simulates a golden case of the physical model with SimGrid: physical_expected <CASE
//
// It reads one line of a case file (bench/include/emplace/bench/case_file.hpp) and prints the
// start and end of every op and transfer. It shares no code with the engine that it is compared
// with.
//
// - An op is ready when its last input has arrived. A device runs one op at a time, in the order of
//   (ready time, id), without preemption.
// - When an op ends, one transfer starts for each other device that has a consumer.
// - A transfer first waits for the sum of its route's latencies, which uses no bandwidth, and then
//   moves its bytes. Transfers share links max-min fairly.
// - Everything that ends at one instant is handled together, ops before transfers, by index, before
//   any device takes its next op.
//
// One second of SimGrid is one microsecond here: its absolute precision of 1e-9 s is then far below
// what is compared.

#include <nlohmann/json.hpp>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <xbt/log.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using nlohmann::json;
namespace s4u = simgrid::s4u;
using simgrid::kernel::timer::Timer;

struct Op {
  double cost_us;
  std::uint64_t bytes;
  int device;
  std::size_t inputs_missing = 0;
  std::vector<std::size_t> consumers{};
  double start_us = -1;
  double end_us = -1;
};

struct Transfer {
  std::size_t producer;
  int to;
  std::vector<std::size_t> consumers{};
  double start_us;
  double end_us = -1;
};

class Step {
 public:
  explicit Step(const json& golden) {
    for (const json& node : golden["nodes"]) {
      ops_.push_back({.cost_us = node["cost_us"],
                      .bytes = node["outputs"][0],
                      .device = golden["placements"][0][ops_.size()]});
      // The generated cases have neither, and it would need rules of its own.
      if (ops_.back().cost_us <= 0 || ops_.back().bytes == 0) {
        throw std::runtime_error("every op must take time and every output must have bytes");
      }
    }
    for (const json& edge : golden["edges"]) {
      ops_.at(edge[0]).consumers.push_back(edge[2]);
      ++ops_.at(edge[2]).inputs_missing;
    }
    build_machine(golden);
  }

  void run() {
    s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) { ended(activity); });
    for (std::size_t op = 0; op < ops_.size(); ++op) {
      if (ops_[op].inputs_missing == 0) {
        ready_[ops_[op].device].emplace(0.0, op);
      }
    }
    start_ops();
    s4u::Engine::get_instance()->run();
  }

  void print(const std::string& name) {
    double makespan_us = 0;
    for (const Op& op : ops_) {
      if (op.end_us < 0) {
        throw std::runtime_error("the graph has a cycle");
      }
      makespan_us = std::max(makespan_us, op.end_us);
    }
    std::cout << R"({"name":")" << name << R"(","placement":0,"makespan_us":)" << text(makespan_us);
    const char* separator = R"(,"times":[)";
    for (const Op& op : ops_) {
      std::cout << separator << '[' << text(op.start_us) << ',' << text(op.end_us) << ']';
      separator = ",";
    }
    std::sort(transfers_.begin(), transfers_.end(), [](const Transfer& one, const Transfer& other) {
      return std::tie(one.producer, one.to) < std::tie(other.producer, other.to);
    });
    separator = "";
    std::cout << R"(],"transfers":[)";
    for (const Transfer& transfer : transfers_) {
      std::cout << separator << '[' << transfer.producer << ',' << transfer.to << ','
                << text(transfer.start_us) << ',' << text(transfer.end_us) << ']';
      separator = ",";
    }
    std::cout << "]}\n";
  }

 private:
  enum class Kind { kOp, kTransfer };
  using End = std::pair<Kind, std::size_t>;

  void build_machine(const json& golden) {
    s4u::NetZone* const zone = s4u::create_full_zone("machine");
    for (int device = 0; device < golden["devices"]; ++device) {
      hosts_.push_back(zone->create_host("device " + std::to_string(device), 1.0)->seal());
    }
    ready_.resize(hosts_.size());
    is_busy_.resize(hosts_.size(), false);
    std::vector<s4u::Link*> links;
    for (const json& link : golden["links"]) {
      const double bandwidth = link["bandwidth_bytes_per_us"];
      links.push_back(zone->create_link("link " + std::to_string(links.size()), bandwidth)
                          ->set_latency(0.0)
                          ->seal());
    }
    for (const json& route : golden["routes"]) {
      const int src = route["src"];
      const int dst = route["dst"];
      std::vector<s4u::LinkInRoute> on_route;
      double latency_us = 0;
      for (const std::size_t link : route["links"]) {
        on_route.emplace_back(links.at(link));
        latency_us += golden["links"][link]["latency_us"].get<double>();
      }
      latency_us_[{src, dst}] = latency_us;
      zone->add_route(hosts_.at(src)->get_netpoint(), hosts_.at(dst)->get_netpoint(), nullptr,
                      nullptr, on_route, false);
    }
    zone->seal();
  }

  void ended(const s4u::Activity& activity) {
    ends_.push_back(running_.at(&activity));
    running_.erase(&activity);
    if (ends_.size() == 1) {
      // After all that ends at this instant.
      Timer::set(s4u::Engine::get_clock(), [this] { handle_ends(); });
    }
  }

  void handle_ends() {
    std::vector<End> ends = std::exchange(ends_, {});
    std::sort(ends.begin(), ends.end());
    for (const auto& [kind, index] : ends) {
      kind == Kind::kOp ? op_ended(index) : transfer_ended(index);
    }
    start_ops();
  }

  void op_ended(std::size_t index) {
    Op& op = ops_[index];
    op.end_us = s4u::Engine::get_clock();
    is_busy_[op.device] = false;
    std::map<int, std::size_t> transfer_to;
    for (const std::size_t consumer : op.consumers) {
      const int to = ops_[consumer].device;
      if (to == op.device) {
        input_arrived(consumer);
        continue;
      }
      const auto [entry, is_new] = transfer_to.try_emplace(to, transfers_.size());
      if (is_new) {
        transfers_.push_back({.producer = index, .to = to, .start_us = op.end_us});
        start_transfer(entry->second);
      }
      transfers_[entry->second].consumers.push_back(consumer);
    }
  }

  void transfer_ended(std::size_t index) {
    transfers_[index].end_us = s4u::Engine::get_clock();
    for (const std::size_t consumer : transfers_[index].consumers) {
      input_arrived(consumer);
    }
  }

  void input_arrived(std::size_t consumer) {
    if (--ops_[consumer].inputs_missing == 0) {
      ready_[ops_[consumer].device].emplace(s4u::Engine::get_clock(), consumer);
    }
  }

  void start_ops() {
    for (std::size_t device = 0; device < hosts_.size(); ++device) {
      if (is_busy_[device] || ready_[device].empty()) {
        continue;
      }
      const std::size_t op = ready_[device].extract(ready_[device].begin()).value().second;
      is_busy_[device] = true;
      ops_[op].start_us = s4u::Engine::get_clock();
      const s4u::ExecPtr exec = s4u::Exec::init();
      exec->set_flops_amount(ops_[op].cost_us)->set_host(hosts_[device]);
      start(exec, {Kind::kOp, op});
    }
  }

  // SimGrid would take a route's latency for a weight: of two flows on one link, that with ten
  // times the latency gets a tenth of the other's share. So its links have none, and a timer waits.
  void start_transfer(std::size_t index) {
    const double latency_us =
        latency_us_.at({ops_[transfers_[index].producer].device, transfers_[index].to});
    if (latency_us > 0) {
      Timer::set(s4u::Engine::get_clock() + latency_us, [this, index] { move_bytes(index); });
    } else {
      move_bytes(index);
    }
  }

  void move_bytes(std::size_t index) {
    const Op& producer = ops_[transfers_[index].producer];
    const s4u::CommPtr comm =
        s4u::Comm::sendto_init(hosts_[producer.device], hosts_[transfers_[index].to]);
    comm->set_payload_size(producer.bytes);
    start(comm, {Kind::kTransfer, index});
  }

  void start(const s4u::ActivityPtr& activity, End end) {
    activities_.push_back(activity);
    running_[activity.get()] = end;
    activity->vetoable_start();
  }

  // Nine digits are more than what is compared.
  static std::string text(double value) {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%.9g", value);
    const std::string number = digits.data();
    return number.find_first_of(".e") == std::string::npos ? number + ".0" : number;
  }

  std::vector<Op> ops_{};
  std::vector<Transfer> transfers_{};
  std::vector<s4u::Host*> hosts_{};
  std::map<std::pair<int, int>, double> latency_us_{};
  std::vector<std::set<std::pair<double, std::size_t>>> ready_{};  // of each device
  std::vector<bool> is_busy_{};
  std::vector<s4u::ActivityPtr> activities_{};  // keeps them alive
  std::map<const s4u::Activity*, End> running_{};
  std::vector<End> ends_{};
};

}  // namespace

int main(int argc, char** argv) {
  try {
    xbt_log_control_set("root.thres:warning");
    const s4u::Engine engine(&argc, argv);
    // Plain max-min fairness: no windows or acknowledgements of TCP, no correction factors.
    s4u::Engine::set_config("network/model:CM02");
    s4u::Engine::set_config("network/TCP-gamma:0");
    s4u::Engine::set_config("network/crosstraffic:0");
    s4u::Engine::set_config("network/bandwidth-factor:1");
    s4u::Engine::set_config("network/latency-factor:1");
    s4u::Engine::set_config("network/weight-S:0");

    const json golden = json::parse(std::cin);
    Step step(golden);
    step.run();
    step.print(golden["name"]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "physical_expected: " << error.what() << '\n';
    return 1;
  }
}
