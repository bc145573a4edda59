#include "memory_site.hpp"

#include <emplace/graphs/op_kind.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace emplace::calibrate {
namespace {

constexpr auto kGathers = std::to_array<std::string_view>(
    {"embedding", "embedding_bag", "embedding_bag_backward", "gather", "gather_elements",
     "index_select", "moe_dispatch", "quantized_gather", "take"});
constexpr auto kScatters = std::to_array<std::string_view>(
    {"embedding_backward", "gather_backward", "gather_elements_backward", "index_add",
     "moe_dispatch_backward", "scatter_add", "scatter_elements", "scatter_nd"});

// Shorter rows are reduced together.
constexpr std::int64_t kLeastRowBytes = 2048;

constexpr std::int64_t num_parts(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}

constexpr std::int64_t rounded_up(std::int64_t bytes, std::int64_t word) {
  return num_parts(bytes, word) * word;
}

std::int64_t bytes_of(std::span<const Stream> streams) {
  std::int64_t sum = 0;
  for (const Stream& stream : streams) {
    sum += stream.bytes;
  }
  return sum;
}

// Parts as short as the largest tensor needs it; others have as many, or are at their end before.
void cut(MemorySite& found, std::int64_t part_bytes) {
  const auto streams = std::span(found.streams.all).first(found.streams.count);
  const auto largest = std::ranges::max_element(streams, {}, &Stream::bytes);
  if (largest != streams.end() && largest->bytes > 0) {
    found.parts = num_parts(largest->bytes, part_bytes);
  }
  for (Stream& stream : streams) {
    stream.part_bytes =
        static_cast<std::int32_t>(rounded_up(num_parts(stream.bytes, found.parts), 16));
  }
}

// A row is the last axis of the largest input.
std::int64_t bytes_of_row(const std::vector<Output>& inputs) {
  const auto largest = std::ranges::max_element(inputs, {}, &Output::bytes);
  if (largest == inputs.end() || largest->shape.empty()) {
    return kPartBytes;
  }
  const std::int64_t columns = std::clamp(largest->shape.back(), std::int64_t{1}, kPartBytes);
  return std::clamp(rounded_up(columns * size_of(largest->type), 16), kLeastRowBytes, kPartBytes);
}

// A row of a table is what its axes behind the first have in common with the other tensor.
std::int64_t bytes_of_row(const Output& table, const Output& rows) {
  std::int64_t bytes = size_of(rows.type);
  for (std::size_t i = 1; i < table.shape.size() && i <= rows.shape.size(); ++i) {
    const std::int64_t extent = table.shape[table.shape.size() - i];
    if (extent != rows.shape[rows.shape.size() - i] || extent < 1) {
      break;
    }
    bytes = std::min(bytes * std::min(extent, kPartBytes), kPartBytes);
  }
  return rounded_up(bytes, 4);
}

// A gather of several rows for each of its own, such as `embedding_bag`, reads so many more bytes
// than it writes, and has so many ids.
std::int64_t lookups_of(const OpSite& site, std::int64_t row_bytes) {
  const Op& op = site.op;
  const std::vector<Output>& inputs = site.inputs;
  const std::int64_t ids = inputs.size() > 1 ? inputs[1].bytes / size_of(inputs[1].type) : 1;
  const std::int64_t id_bytes = inputs.size() > 1 ? inputs[1].bytes : 0;
  const std::int64_t bytes = std::max(op.outputs[0].bytes, std::int64_t{1});
  return std::clamp((op.bytes_read - id_bytes) / bytes, std::int64_t{1},
                    std::max(ids / num_parts(bytes, row_bytes), std::int64_t{1}));
}

}  // namespace

std::optional<AccessPattern> access_pattern_of(std::string_view kind) {
  if (!launches(kind)) {
    return std::nullopt;
  }
  switch (op_class_of(kind)) {
    case OpClass::kElementwise:
    case OpClass::kPooling:
    case OpClass::kUpdate:
      return AccessPattern::kMap;
    case OpClass::kDataMovement:
      return std::ranges::count(kGathers, kind) > 0    ? AccessPattern::kGather
             : std::ranges::count(kScatters, kind) > 0 ? AccessPattern::kScatter
                                                       : AccessPattern::kMap;
    case OpClass::kNormalization:
    case OpClass::kReduction:
      return AccessPattern::kRows;
    default:
      return std::nullopt;
  }
}

std::optional<MemorySite> memory_site(const OpSite& site) {
  const Op& op = site.op;
  const std::vector<Output>& inputs = site.inputs;
  const auto pattern = access_pattern_of(op.kind);
  const bool looks_up = pattern == AccessPattern::kGather || pattern == AccessPattern::kScatter;
  const bool updates = op.kind == "optimizer_update" && inputs.size() >= 2;
  if (!pattern || (looks_up && (inputs.empty() || op.outputs.empty())) ||
      inputs.size() * (updates ? 2 : 1) + op.outputs.size() + 2 > kMaxStreams) {
    return std::nullopt;
  }
  // A gradient of fewer numbers than the variable touches as much of it and of the slots.
  const double touched =
      updates && inputs[0].bytes < inputs[1].bytes
          ? static_cast<double>(inputs[0].bytes) / static_cast<double>(inputs[1].bytes)
          : 1;
  MemorySite found{.pattern = *pattern};
  Streams& streams = found.streams;
  const auto add = [&](std::size_t tensor, std::int64_t bytes, double share) {
    streams.all[streams.count++] = {
        .tensor = static_cast<std::uint32_t>(tensor),
        .bytes = static_cast<std::int64_t>(share * static_cast<double>(bytes))};
  };
  const auto add_state = [&] {
    if (op.persistent_bytes > 0) {
      add(inputs.size() + op.outputs.size(), op.persistent_bytes, touched);
    }
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    add(i, inputs[i].bytes, i == 0 ? 1 : touched);
  }
  add_state();
  streams.num_read = streams.count;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    add(inputs.size() + i, op.outputs[i].bytes, touched);
  }
  add_state();
  // Behind the gradient are the variable, unless it is an output, and slots that are kept
  // elsewhere.
  for (std::size_t i = op.outputs.empty() ? 1 : 2; updates && i < inputs.size(); ++i) {
    add(i, inputs[i].bytes, touched);
  }

  if (looks_up) {
    const bool gathers = *pattern == AccessPattern::kGather;
    found.row_bytes =
        gathers ? bytes_of_row(inputs[0], op.outputs[0]) : bytes_of_row(op.outputs[0], inputs[0]);
    found.lookups = gathers ? lookups_of(site, found.row_bytes) : 1;
    const std::int64_t part_bytes = kPartBytes / found.row_bytes * found.row_bytes;
    cut(found, part_bytes);
    for (Stream& stream : std::span(streams.all).first(streams.count)) {
      stream.part_bytes = static_cast<std::int32_t>(part_bytes);
    }
    return found;
  }
  if (!updates && op.bytes_read > 0 && streams.num_read > 0) {
    // Of some ops, such as `slice`, the first input is not read as a whole; others read all twice.
    const std::int64_t bytes = bytes_of(std::span(streams.all).first(streams.num_read));
    Stream& first = streams.all[0];
    first.bytes -= std::clamp(bytes - op.bytes_read, std::int64_t{0}, first.bytes);
    found.passes = op.bytes_read > bytes + bytes / 2 ? 2 : 1;
  }
  cut(found, *pattern == AccessPattern::kRows ? bytes_of_row(inputs) : kPartBytes);
  return found;
}

Streams bound(const MemorySite& site, const OpBuffers& buffers) {
  std::vector<const void*> tensors = buffers.inputs;
  tensors.insert(tensors.end(), buffers.outputs.begin(), buffers.outputs.end());
  tensors.push_back(buffers.state);
  Streams streams = site.streams;
  for (Stream& stream : std::span(streams.all).first(streams.count)) {
    // An update writes its inputs, too.
    stream.data = const_cast<char*>(static_cast<const char*>(tensors[stream.tensor]));
  }
  return streams;
}

}  // namespace emplace::calibrate
