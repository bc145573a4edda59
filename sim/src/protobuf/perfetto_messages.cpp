// Writes traces of Perfetto's format. All packets are of one sequence, whose first one clears what
// is known of it; texts are interned by the packet that uses them first. An arrow is a flow, whose
// number its producer, its transfer and its consumer carry. Readers sort events by time and keep
// the order of those of one time. So a slice ends right behind its beginning, before the next one
// of its row.

#include "../trace_layout.hpp"

#include <emplace/sim/explanation.hpp>
#include <emplace/sim/memory_curve.hpp>
#include <emplace/sim/perfetto_trace.hpp>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <sim/src/protobuf/perfetto.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emplace {
namespace {

namespace proto = emplace::perfetto_proto;

constexpr std::uint32_t kSequence = 1;

std::uint64_t in_nanoseconds(double us) {
  constexpr double kMost = 9e18;
  return static_cast<std::uint64_t>(std::llround(std::min(us * 1e3, kMost)));
}

// The numbers of texts of one kind.
using Interned = std::unordered_map<std::string_view, std::uint64_t>;

class PerfettoWriter {
 public:
  PerfettoWriter(const Problem& problem, const StepRecord& record)
      : problem_(problem),
        record_(record),
        layout_(problem, record),
        leaving_(problem.num_ops()),
        arriving_(problem.num_ops()),
        first_compute_(problem.num_devices()),
        first_send_(problem.num_devices()) {}

  std::string write() {
    number_arrows();
    describe_step();
    for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
      describe_device(device);
    }
    for (const OpId op : layout_.ops_by_start()) {
      write_op(op);
    }
    std::uint64_t flow = 0;
    for (const std::size_t transfer : layout_.transfers_by_start()) {
      write_transfer(record_.transfers[transfer], layout_.lane_of_transfer(transfer), flow);
    }
    write_memory();
    write_critical_path();
    return std::move(bytes_);
  }

 private:
  // Flows are numbered from 1 in the order of transfers and their consumers.
  void number_arrows() {
    std::uint64_t flow = 0;
    for (const std::size_t at : layout_.transfers_by_start()) {
      const Transfer& transfer = record_.transfers[at];
      layout_.for_each_consumer(transfer, [&](OpId consumer) {
        ++flow;
        leaving_[transfer.producer].push_back(flow);
        arriving_[consumer].push_back(flow);
      });
    }
  }

  // --- Packets ---

  // Starts the next packet.
  proto::TracePacket& packet() {
    packet_.Clear();
    packet_.set_trusted_packet_sequence_id(kSequence);
    packet_.set_sequence_flags(
        proto::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE |
        (bytes_.empty() ? proto::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED : 0));
    return packet_;
  }

  // Appends the packet as an element of Trace.packet.
  void append() {
    constexpr char kTag = (proto::Trace::kPacketFieldNumber << 3) | 2;  // 2: behind its length
    std::array<std::uint8_t, 10> length{};
    const std::uint8_t* const end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(
        packet_.ByteSizeLong(), length.data());
    bytes_ += kTag;
    bytes_.append(static_cast<const std::uint8_t*>(length.data()), end);
    packet_.AppendToString(&bytes_);
  }

  proto::TrackEvent& event(proto::TrackEvent::Type type, std::uint64_t track, double at_us) {
    packet().set_timestamp(in_nanoseconds(at_us));
    proto::TrackEvent& event = *packet_.mutable_track_event();
    event.set_type(type);
    event.set_track_uuid(track);
    return event;
  }

  void end_slice(std::uint64_t track, double at_us) {
    append();
    event(proto::TrackEvent::TYPE_SLICE_END, track, at_us);
    append();
  }

  // --- Texts ---

  template <class Field>
  std::uint64_t intern(Interned& known, std::string_view text, Field field) {
    const auto [found, is_new] = known.try_emplace(text, known.size() + 1);
    if (is_new) {
      proto::InternedString& entry = *(packet_.mutable_interned_data()->*field)();
      entry.set_iid(found->second);
      entry.set_text(std::string(text));
    }
    return found->second;
  }
  void set_category(proto::TrackEvent& event, std::string_view category) {
    event.add_category_iids(
        intern(categories_, category, &proto::InternedData::add_event_categories));
  }
  void set_name(proto::TrackEvent& event, std::string_view name) {
    event.set_name_iid(intern(names_, name, &proto::InternedData::add_event_names));
  }
  proto::DebugAnnotation& annotate(proto::TrackEvent& event, std::string_view name) {
    proto::DebugAnnotation& annotation = *event.add_debug_annotations();
    annotation.set_name_iid(
        intern(annotations_, name, &proto::InternedData::add_debug_annotation_names));
    return annotation;
  }
  void annotate(proto::TrackEvent& event, std::string_view name, std::string_view text) {
    annotate(event, name)
        .set_string_value_iid(
            intern(texts_, text, &proto::InternedData::add_debug_annotation_string_values));
  }

  // --- Tracks ---

  proto::TrackDescriptor& track() {
    proto::TrackDescriptor& track = *packet().mutable_track_descriptor();
    track.set_uuid(++tracks_);
    return track;
  }

  // Describes a process and returns its track. Viewers hide process 0.
  std::uint64_t describe_process(std::int32_t process, const std::string& name) {
    proto::TrackDescriptor& described = track();
    described.mutable_process()->set_pid(process);
    described.mutable_process()->set_process_name(name);
    described.set_child_ordering(proto::TrackDescriptor::EXPLICIT);
    append();
    return tracks_;
  }

  // Describes rows of one name, which viewers draw together; returns the track of the first.
  std::uint64_t describe_rows(std::uint64_t parent, std::int32_t rank, const char* name,
                              int count) {
    const std::uint64_t first = tracks_ + 1;
    for (int row = 0; row < count; ++row) {
      proto::TrackDescriptor& described = track();
      described.set_name(name);
      described.set_parent_uuid(parent);
      described.set_sibling_order_rank(rank);
      append();
    }
    return first;
  }

  void describe_device(DeviceId device) {
    const std::uint64_t process = describe_process(
        device + 1,
        fmt::format("{} ({})", problem_.device(device).name, problem_.profile(device).name));
    first_compute_[device] = describe_rows(process, 0, "compute", layout_.compute_lanes(device));
    first_send_[device] = describe_rows(process, 1, "send", layout_.send_lanes(device));
    proto::TrackDescriptor& memory = track();
    memory.set_name("memory");
    memory.set_parent_uuid(process);
    memory.set_sibling_order_rank(2);
    memory.mutable_counter()->set_unit(proto::CounterDescriptor::UNIT_SIZE_BYTES);
    append();
    memory_.push_back(tracks_);
  }

  // --- The step ---

  // One slice for all of it, which carries what holds for all.
  void describe_step() {
    const std::uint64_t process = describe_process(problem_.num_devices() + 1, "step");
    step_ = process;
    const std::uint64_t row = describe_rows(process, 0, "step", 1);
    proto::TrackEvent& slice = event(proto::TrackEvent::TYPE_SLICE_BEGIN, row, 0);
    set_name(slice, "step");
    annotate(slice, "graph", problem_.graph()[boost::graph_bundle].name);
    annotate(slice, "cluster", problem_.cluster().name);
    annotate(slice, "makespan_us").set_double_value(record_.makespan_us);
    end_slice(row, record_.makespan_us);
  }

  void write_op(OpId op) {
    const Op& facts = problem_.op(op);
    const std::uint64_t row =
        first_compute_[layout_.device_of(op)] + static_cast<std::uint64_t>(layout_.lane_of(op));
    proto::TrackEvent& slice =
        event(proto::TrackEvent::TYPE_SLICE_BEGIN, row, record_.start_us[op]);
    set_name(slice, facts.name);
    set_category(slice, to_string(facts.phase));
    annotate(slice, "kind", facts.kind);
    annotate(slice, "scope", facts.scope);
    annotate(slice, "group").set_int_value(problem_.grouping().group_of(op));
    annotate(slice, "flops").set_int_value(facts.flops);
    annotate(slice, "output_bytes").set_int_value(problem_.allocated_bytes(op));
    for (const std::uint64_t flow : leaving_[op]) {
      slice.add_flow_ids(flow);
    }
    for (const std::uint64_t flow : arriving_[op]) {
      slice.add_terminating_flow_ids(flow);
    }
    end_slice(row, record_.end_us[op]);
  }

  // Numbers arrows on from `flow`.
  void write_transfer(const Transfer& transfer, int lane, std::uint64_t& flow) {
    const std::uint64_t row = first_send_[transfer.from] + static_cast<std::uint64_t>(lane);
    proto::TrackEvent& slice = event(proto::TrackEvent::TYPE_SLICE_BEGIN, row, transfer.start_us);
    set_name(slice, problem_.op(transfer.producer).name);
    set_category(slice, "transfer");
    annotate(slice, "bytes").set_int_value(problem_.output_bytes(transfer.output));
    // No temporary string: the table of interned texts keeps views.
    const std::string_view to = transfer.to == Transfer::kToAll
                                    ? std::string_view("all that want it")
                                    : problem_.device(transfer.to).name;
    annotate(slice, "to", to);
    layout_.for_each_consumer(transfer, [&](OpId) { slice.add_flow_ids(++flow); });
    end_slice(row, transfer.end_us);
  }

  void write_memory() {
    const IdVector<DeviceId, std::vector<MemoryPoint>> curves = memory_curves(problem_, record_);
    for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
      for (const MemoryPoint& point : curves[device]) {
        event(proto::TrackEvent::TYPE_COUNTER, memory_[device], point.at_us)
            .set_counter_value(point.bytes);
        append();
      }
    }
  }

  void write_critical_path() {
    const std::uint64_t row = describe_rows(step_, 1, "critical path", 1);
    for (const PathSegment& segment : critical_path(problem_, record_)) {
      proto::TrackEvent& slice = event(proto::TrackEvent::TYPE_SLICE_BEGIN, row, segment.from_us);
      slice.set_name(fmt::format("{} {}", to_string(segment.kind), problem_.op(segment.op).name));
      set_category(slice, "critical-path");
      annotate(slice, "kind", to_string(segment.kind));
      annotate(slice, "queued").set_bool_value(segment.is_queued);
      end_slice(row, segment.to_us);
    }
  }

  const Problem& problem_;
  const StepRecord& record_;
  TraceLayout layout_;
  // The arrows that leave each op, and end at it.
  IdVector<OpId, std::vector<std::uint64_t>> leaving_;
  IdVector<OpId, std::vector<std::uint64_t>> arriving_;
  std::uint64_t tracks_ = 0;  // described so far; 0 is the track of all
  std::uint64_t step_ = 0;    // the track of the process of the step
  IdVector<DeviceId, std::uint64_t> first_compute_;
  IdVector<DeviceId, std::uint64_t> first_send_;
  IdVector<DeviceId, std::uint64_t> memory_;
  Interned categories_;
  Interned names_;
  Interned annotations_;
  Interned texts_;
  proto::TracePacket packet_;
  std::string bytes_;
};

}  // namespace

std::string write_perfetto_trace(const Problem& problem, const StepRecord& record) {
  return PerfettoWriter(problem, record).write();
}

}  // namespace emplace
