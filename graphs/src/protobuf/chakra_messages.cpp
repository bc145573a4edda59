#include "formats/traces/chakra.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>
#include <graphs/src/protobuf/chakra.pb.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace emplace::chakra {
namespace {

namespace proto = emplace::chakra_proto;
using proto::AttributeProto;

constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

// Takes messages off a file, each behind its length.
class MessageReader {
 public:
  MessageReader(std::string_view bytes, const std::string& source)
      : bytes_(bytes), source_(source) {}

  bool at_end() const { return at_ == bytes_.size(); }

  void read(google::protobuf::Message& message) {
    ++number_;
    std::uint64_t length = 0;
    int shift = 0;
    unsigned char byte = 0x80;
    for (; (byte & 0x80U) != 0; shift += 7) {
      if (at_end() || shift > 28) {
        fail("expected the length of a message");
      }
      byte = static_cast<unsigned char>(bytes_[at_++]);
      length |= std::uint64_t{byte & 0x7FU} << shift;
    }
    if (length > bytes_.size() - at_) {
      fail(fmt::format("expected a message of {} bytes, found {}", length, bytes_.size() - at_));
    }
    if (length > std::numeric_limits<int>::max() ||
        !message.ParseFromArray(bytes_.data() + at_, static_cast<int>(length))) {
      fail(fmt::format("expected a message of type {}", message.GetDescriptor()->name()));
    }
    at_ += length;
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::kFormat,
                fmt::format("{}: message {}, before byte {}: {}", source_, number_, at_, message));
  }

 private:
  std::string_view bytes_;
  const std::string& source_;
  std::size_t at_ = 0;
  int number_ = 0;
};

ChakraValue from_unsigned(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, kMaxInt64));
}

// Files write the same attribute as any of the integer types.
ChakraValue value_of(const AttributeProto& attribute) {
  switch (attribute.value_case()) {
    case AttributeProto::kDoubleVal:
      return attribute.double_val();
    case AttributeProto::kFloatVal:
      return static_cast<double>(attribute.float_val());
    case AttributeProto::kInt32Val:
      return std::int64_t{attribute.int32_val()};
    case AttributeProto::kInt64Val:
      return attribute.int64_val();
    case AttributeProto::kUint32Val:
      return std::int64_t{attribute.uint32_val()};
    case AttributeProto::kUint64Val:
      return from_unsigned(attribute.uint64_val());
    case AttributeProto::kSint32Val:
      return std::int64_t{attribute.sint32_val()};
    case AttributeProto::kSint64Val:
      return attribute.sint64_val();
    case AttributeProto::kFixed32Val:
      return std::int64_t{attribute.fixed32_val()};
    case AttributeProto::kFixed64Val:
      return from_unsigned(attribute.fixed64_val());
    case AttributeProto::kSfixed32Val:
      return std::int64_t{attribute.sfixed32_val()};
    case AttributeProto::kSfixed64Val:
      return attribute.sfixed64_val();
    case AttributeProto::kBoolVal:
      return std::int64_t{attribute.bool_val()};
    case AttributeProto::kStringVal:
      return attribute.string_val();
    case AttributeProto::VALUE_NOT_SET:
      return std::string();  // a list, or bytes
  }
  return std::string();
}

ChakraNode read_node(const proto::Node& message) {
  ChakraNode node{.id = message.id(),
                  .name = message.name(),
                  .control_deps = {message.ctrl_deps().begin(), message.ctrl_deps().end()},
                  .data_deps = {message.data_deps().begin(), message.data_deps().end()},
                  .start_us = message.start_time_micros(),
                  .duration_us = message.duration_micros(),
                  .inputs = find_tensors(message.inputs().values()),
                  .outputs = find_tensors(message.outputs().values())};
  if (proto::NodeType_IsValid(message.type())) {
    node.type = static_cast<NodeType>(message.type());
  }
  for (const AttributeProto& attribute : message.attr()) {
    node.attributes[attribute.name()] = value_of(attribute);
  }
  return node;
}

proto::Node write_node(const ChakraNode& node) {
  proto::Node message;
  message.set_id(node.id);
  message.set_name(node.name);
  message.set_type(static_cast<proto::NodeType>(node.type));
  message.mutable_ctrl_deps()->Add(node.control_deps.begin(), node.control_deps.end());
  message.mutable_data_deps()->Add(node.data_deps.begin(), node.data_deps.end());
  message.set_start_time_micros(node.start_us);
  message.set_duration_micros(node.duration_us);
  message.mutable_inputs()->set_values(write_tensors(node.inputs));
  message.mutable_outputs()->set_values(write_tensors(node.outputs));
  for (const auto& [name, value] : node.attributes) {
    AttributeProto& attribute = *message.add_attr();
    attribute.set_name(name);
    if (name == "is_cpu_op") {
      attribute.set_bool_val(std::get<std::int64_t>(value) != 0);
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      attribute.set_int64_val(*integer);
    } else if (const auto* number = std::get_if<double>(&value)) {
      attribute.set_double_val(*number);
    } else {
      attribute.set_string_val(std::get<std::string>(value));
    }
  }
  return message;
}

// Not by a StringOutputStream, which fills all that the string has room for each time.
void append(std::string& bytes, const google::protobuf::Message& message) {
  std::array<std::uint8_t, 10> length{};
  const std::uint8_t* const end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(
      message.ByteSizeLong(), length.data());
  bytes.append(static_cast<const std::uint8_t*>(length.data()), end);
  message.AppendToString(&bytes);
}

}  // namespace

Trace read_messages(std::string_view bytes, const std::string& source) {
  const google::protobuf::LogSilencer silencer;  // what it would print stands in our errors
  MessageReader reader(bytes, source);
  proto::GlobalMetadata metadata;
  reader.read(metadata);
  const auto& unknown = metadata.GetReflection()->GetUnknownFields(metadata);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() == proto::Node::kIdFieldNumber) {
      reader.fail("expected GlobalMetadata, found a Node");
    }
  }
  Trace trace{.version = metadata.version()};
  while (!reader.at_end()) {
    proto::Node node;
    reader.read(node);
    trace.nodes.push_back(read_node(node));
  }
  return trace;
}

std::string write_messages(const Trace& trace) {
  std::string bytes;
  proto::GlobalMetadata metadata;
  metadata.set_version(trace.version);
  append(bytes, metadata);
  for (const ChakraNode& node : trace.nodes) {
    append(bytes, write_node(node));
  }
  return bytes;
}

}  // namespace emplace::chakra
