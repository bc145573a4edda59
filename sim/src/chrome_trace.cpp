#include "trace_layout.hpp"

#include <emplace/base/json.hpp>
#include <emplace/sim/chrome_trace.hpp>
#include <emplace/sim/explanation.hpp>
#include <emplace/sim/memory_curve.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// Threads of a device's process in the trace. Slices of one thread must not overlap, so each kind
// has as many as it needs at once.
constexpr int kCompute = 1;
constexpr int kSend = 10001;

// Writes a run event by event. Process ids are device ids plus 1, because viewers hide process 0.
class TraceWriter {
 public:
  TraceWriter(const Problem& problem, const StepRecord& record)
      : problem_(problem), record_(record), layout_(problem, record) {}

  std::string write() {
    text_ = "{\"displayTimeUnit\":\"ms\",\"otherData\":{";
    fmt::format_to(std::back_inserter(text_),
                   "\"graph\":{},\"cluster\":{},\"makespan_us\":{}}},\n\"traceEvents\":[",
                   json_text(problem_.graph()[boost::graph_bundle].name),
                   json_text(problem_.cluster().name), record_.makespan_us);
    name_threads();
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      write_op(op);
    }
    for (std::size_t transfer = 0; transfer < record_.transfers.size(); ++transfer) {
      write_transfer(record_.transfers[transfer], kSend + layout_.lane_of_transfer(transfer));
    }
    write_memory();
    write_critical_path();
    return std::move(text_) + "\n]}\n";
  }

 private:
  int process_of(OpId op) const { return layout_.device_of(op) + 1; }
  const std::string& name_of(DeviceId device) const { return problem_.device(device).name; }

  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void name_threads() {
    for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
      const Device& named = problem_.device(device);
      event(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", device + 1,
            json_text(fmt::format("{} ({})", named.name, problem_.profile(device).name)));
      event(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
            device + 1);
      name_lanes(device, kCompute, "compute", layout_.compute_lanes(device));
      name_lanes(device, kSend, "send", layout_.send_lanes(device));
    }
  }

  void name_lanes(DeviceId device, int first, std::string_view what, int count) {
    for (int lane = 0; lane < std::max(count, 1); ++lane) {
      const std::string name = lane == 0 ? std::string(what) : fmt::format("{} {}", what, lane + 1);
      event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
            device + 1, first + lane, json_text(name));
    }
  }

  void write_op(OpId op) {
    const Op& facts = problem_.op(op);
    event(R"({{"ph":"X","name":{},"cat":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
          R"("args":{{"kind":{},"scope":{},"group":{},"flops":{},"output_bytes":{}}}}})",
          json_text(facts.name), json_text(std::string(to_string(facts.phase))), process_of(op),
          kCompute + layout_.lane_of(op), record_.start_us[op],
          record_.end_us[op] - record_.start_us[op], json_text(facts.kind), json_text(facts.scope),
          problem_.grouping().group_of(op), facts.flops, problem_.allocated_bytes(op));
  }

  void write_transfer(const Transfer& transfer, int thread) {
    const bool is_to_all = transfer.to == Transfer::kToAll;
    event(R"({{"ph":"X","name":{},"cat":"transfer","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
          R"("args":{{"bytes":{},"to":{}}}}})",
          json_text(problem_.op(transfer.producer).name), transfer.from + 1, thread,
          transfer.start_us, transfer.end_us - transfer.start_us,
          problem_.output_bytes(transfer.output),
          json_text(is_to_all ? "all that want it" : name_of(transfer.to)));
    layout_.for_each_consumer(transfer,
                              [&](OpId consumer) { write_arrow(transfer, thread, consumer); });
  }

  // An arrow from the producer through the transfer to one consumer.
  void write_arrow(const Transfer& transfer, int thread, OpId consumer) {
    ++arrows_;
    const auto step = [&](const char* phase, int process, int at, double ts) {
      event(R"({{"ph":"{}","name":"tensor","cat":"flow","id":{},"pid":{},"tid":{},"ts":{:.3f}{}}})",
            phase, arrows_, process, at, ts, *phase == 'f' ? R"(,"bp":"e")" : "");
    };
    const OpId producer = transfer.producer;
    step("s", process_of(producer), kCompute + layout_.lane_of(producer),
         record_.start_us[producer]);
    step("t", process_of(producer), thread, transfer.start_us);
    step("f", process_of(consumer), kCompute + layout_.lane_of(consumer),
         record_.start_us[consumer]);
  }

  void write_memory() {
    const IdVector<DeviceId, std::vector<MemoryPoint>> curves = memory_curves(problem_, record_);
    for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
      for (const MemoryPoint& point : curves[device]) {
        event(R"({{"ph":"C","name":"memory","pid":{},"ts":{:.3f},"args":{{"bytes":{}}}}})",
              device + 1, point.at_us, point.bytes);
      }
    }
  }

  // One row of its own. Its slices are asynchronous events, since ops and transfers are not its
  // own.
  void write_critical_path() {
    const DeviceId process = problem_.num_devices() + 1;
    event(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"critical path"}}}})",
          process);
    event(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":0}}}})",
          process);
    for (const PathSegment& segment : critical_path(problem_, record_)) {
      const std::string name =
          json_text(fmt::format("{} {}", to_string(segment.kind), problem_.op(segment.op).name));
      event(R"({{"ph":"b","name":{},"cat":"critical-path","id":1,"pid":{},"tid":1,"ts":{:.3f},)"
            R"("args":{{"kind":"{}","queued":{}}}}})",
            name, process, segment.from_us, to_string(segment.kind), segment.is_queued);
      event(R"({{"ph":"e","name":{},"cat":"critical-path","id":1,"pid":{},"tid":1,"ts":{:.3f}}})",
            name, process, segment.to_us);
    }
  }

  const Problem& problem_;
  const StepRecord& record_;
  TraceLayout layout_;
  std::string text_;
  bool first_ = true;
  std::int64_t arrows_ = 0;
};

}  // namespace

std::string write_chrome_trace(const Problem& problem, const StepRecord& record) {
  return TraceWriter(problem, record).write();
}

}  // namespace emplace
