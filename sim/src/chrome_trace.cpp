#include <emplace/sim/chrome_trace.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <vector>

namespace emplace {
namespace {

// Threads of a device's process in the trace.
constexpr int kCompute = 1;
constexpr int kSend = 2;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// Writes a run event by event. Process ids are device ids plus 1, because viewers hide process 0.
class TraceWriter {
 public:
  TraceWriter(const Problem& problem, const Placement& placement, const SimResult& result)
      : problem_(problem), placement_(placement), result_(result) {}

  std::string write() {
    text_ = "{\"displayTimeUnit\":\"ms\",\"otherData\":{";
    fmt::format_to(std::back_inserter(text_),
                   "\"graph\":{},\"cluster\":{},\"makespan_us\":{}}},\n\"traceEvents\":[",
                   quoted(problem_.graph()[boost::graph_bundle].name),
                   quoted(problem_.cluster().name), result_.makespan_us);
    name_devices();
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      write_op(op);
      const auto [begin, end] = problem_.outputs(op);
      for (std::int32_t output = begin; output < end; ++output) {
        if (result_.transfer_start_us[index(output)] >= 0) {
          write_transfer(op, output);
        }
      }
    }
    write_memory();
    return std::move(text_) + "\n]}\n";
  }

 private:
  static std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

  DeviceId device_of(OpId op) const { return placement_[problem_.grouping().group_of(op)]; }
  int process_of(OpId op) const { return device_of(op) + 1; }

  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void name_devices() {
    const Cluster& cluster = problem_.cluster();
    for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
      const Device& named = cluster.devices[index(device)];
      event(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", device + 1,
            quoted(fmt::format("{} ({})", named.name, cluster.profiles[named.profile].name)));
      event(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
            device + 1);
      event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"compute"}}}})",
            device + 1, kCompute);
      event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"send"}}}})",
            device + 1, kSend);
    }
  }

  void write_op(OpId op) {
    const Op& facts = problem_.graph()[index(op)];
    event(R"({{"ph":"X","name":{},"cat":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
          R"("args":{{"kind":{},"scope":{},"group":{},"flops":{},"output_bytes":{}}}}})",
          quoted(facts.name), quoted(std::string(to_string(facts.phase))), process_of(op), kCompute,
          result_.start_us[index(op)], result_.end_us[index(op)] - result_.start_us[index(op)],
          quoted(facts.kind), quoted(facts.scope), problem_.grouping().group_of(op), facts.flops,
          problem_.allocated_bytes(op));
  }

  void write_transfer(OpId producer, std::int32_t output) {
    const double start_us = result_.transfer_start_us[index(output)];
    event(R"({{"ph":"X","name":{},"cat":"transfer","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
          R"("args":{{"bytes":{}}}}})",
          quoted(problem_.graph()[index(producer)].name), process_of(producer), kSend, start_us,
          result_.transfer_end_us[index(output)] - start_us, problem_.output_bytes(output));
    for (const Problem::Child& child : problem_.children(producer)) {
      if (child.output == output && device_of(child.op) != device_of(producer)) {
        write_arrow(producer, output, child.op);
      }
    }
  }

  // An arrow from the producer through the transfer to one consumer.
  void write_arrow(OpId producer, std::int32_t output, OpId consumer) {
    ++arrows_;
    const auto step = [&](const char* phase, int process, int thread, double ts) {
      event(R"({{"ph":"{}","name":"tensor","cat":"flow","id":{},"pid":{},"tid":{},"ts":{:.3f}{}}})",
            phase, arrows_, process, thread, ts, *phase == 'f' ? R"(,"bp":"e")" : "");
    };
    step("s", process_of(producer), kCompute, result_.start_us[index(producer)]);
    step("t", process_of(producer), kSend, result_.transfer_start_us[index(output)]);
    step("f", process_of(consumer), kCompute, result_.start_us[index(consumer)]);
  }

  void write_memory() {
    // Time, frees after allocations, device, bytes.
    std::vector<std::tuple<double, bool, DeviceId, std::int64_t>> changes;
    std::vector<std::int64_t> live(index(problem_.num_devices()), 0);
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      live[index(placement_[group])] += problem_.group_persistent_bytes(group);
    }
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      if (const std::int64_t bytes = problem_.allocated_bytes(op); bytes > 0) {
        changes.emplace_back(result_.start_us[index(op)], false, device_of(op), bytes);
        changes.emplace_back(result_.freed_us[index(op)], true, device_of(op), -bytes);
      }
    }
    std::sort(changes.begin(), changes.end());
    for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
      write_live(device, 0, live[index(device)]);
    }
    for (const auto& [time_us, is_free, device, bytes] : changes) {
      live[index(device)] += bytes;
      write_live(device, time_us, live[index(device)]);
    }
  }

  void write_live(DeviceId device, double time_us, std::int64_t bytes) {
    event(R"({{"ph":"C","name":"memory","pid":{},"ts":{:.3f},"args":{{"bytes":{}}}}})", device + 1,
          time_us, bytes);
  }

  const Problem& problem_;
  const Placement& placement_;
  const SimResult& result_;
  std::string text_;
  bool first_ = true;
  std::int64_t arrows_ = 0;
};

}  // namespace

std::string write_chrome_trace(const Problem& problem, const Placement& placement,
                               const SimResult& result) {
  return TraceWriter(problem, placement, result).write();
}

}  // namespace emplace
