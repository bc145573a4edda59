#include "messages.hpp"

#include "formats/text_message.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace emplace::tensorflow {
namespace {

// Keeps the first mistake of a text.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (message_.empty()) {
      message_ = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
    }
  }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

// Binary messages hold the numbers of fields, which are control characters.
bool is_text(std::string_view bytes) {
  return std::ranges::none_of(bytes, [](unsigned char byte) {
    return byte < ' ' && byte != '\n' && byte != '\r' && byte != '\t';
  });
}

template <class Message>
Message read_message(std::string_view bytes, const std::string& source) {
  const google::protobuf::LogSilencer silencer;  // what it would print stands in our errors
  Message message;
  FirstError error;
  bool is_good = bytes.size() <= std::numeric_limits<int>::max();
  if (is_good && is_text(bytes)) {
    google::protobuf::TextFormat::Parser parser;
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(64);
    parser.RecordErrorsTo(&error);
    is_good = parser.ParseFromString(std::string(bytes), &message);
  } else if (is_good) {
    is_good = message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  }
  if (!is_good) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("{}: expected a message of type {}{}{}", source, Message::descriptor()->name(),
                    error.message().empty() ? "" : "; ", excerpt(error.message(), 200)));
  }
  return message;
}

}  // namespace

proto::GraphDef read_graph_def(std::string_view bytes, const std::string& source) {
  return read_message<proto::GraphDef>(bytes, source);
}

proto::MetaGraphDef read_meta_graph(std::string_view bytes, const std::string& source) {
  return read_message<proto::MetaGraphDef>(bytes, source);
}

proto::SavedModel read_saved_model(std::string_view bytes, const std::string& source) {
  return read_message<proto::SavedModel>(bytes, source);
}

proto::RunMetadata read_run_metadata(std::string_view bytes, const std::string& source) {
  return read_message<proto::RunMetadata>(bytes, source);
}

// A SavedModel begins with the number of its version or with a field that graphs lack.
bool is_saved_model(std::string_view bytes) {
  constexpr char kVersionField = 1 << 3;
  return bytes.starts_with(kVersionField) ||
         (is_text(bytes) &&
          (bytes.starts_with("saved_model_schema_version") || bytes.starts_with("meta_graphs") ||
           bytes.find("\nsaved_model_schema_version") != std::string_view::npos ||
           bytes.find("\nmeta_graphs") != std::string_view::npos));
}

// In binary its fields have numbers that graphs use, too.
bool is_text_meta_graph(std::string_view bytes) {
  return std::ranges::any_of(text_message_fields(bytes), [](std::string_view field) {
    return field == "meta_info_def" || field == "graph_def";
  });
}

DataType data_type(int type) {
  switch (type % 100) {
    case proto::DT_FLOAT:
      return DataType::kFloat32;
    case proto::DT_HALF:
      return DataType::kFloat16;
    case proto::DT_BFLOAT16:
      return DataType::kBfloat16;
    case proto::DT_INT32:
    case proto::DT_UINT32:
    case proto::DT_QINT32:
      return DataType::kInt32;
    case proto::DT_INT16:
    case proto::DT_UINT16:
    case proto::DT_QINT16:
    case proto::DT_QUINT16:
      return DataType::kInt16;
    case proto::DT_INT8:
    case proto::DT_UINT8:
    case proto::DT_QINT8:
    case proto::DT_QUINT8:
    case proto::DT_FLOAT8_E5M2:
    case proto::DT_FLOAT8_E4M3FN:
    case proto::DT_FLOAT8_E4M3FNUZ:
    case proto::DT_FLOAT8_E4M3B11FNUZ:
    case proto::DT_FLOAT8_E5M2FNUZ:
    case proto::DT_INT4:
    case proto::DT_UINT4:
    case proto::DT_INT2:
    case proto::DT_UINT2:
      return DataType::kInt8;
    case proto::DT_BOOL:
      return DataType::kBool;
    case proto::DT_DOUBLE:
    case proto::DT_COMPLEX64:
    case proto::DT_COMPLEX128:  // of twice the bytes, which no type of ours has
      return DataType::kFloat64;
    default:
      return DataType::kInt64;
  }
}

const proto::AttrValue* find_attribute(const proto::NodeDef& node, const std::string& name) {
  const auto found = node.attr().find(name);
  return found != node.attr().end() ? &found->second : nullptr;
}

std::int64_t integer_attribute(const proto::NodeDef& node, const std::string& name,
                               std::int64_t fallback) {
  const auto* found = find_attribute(node, name);
  return found != nullptr ? found->i() : fallback;
}

bool flag_attribute(const proto::NodeDef& node, const std::string& name, bool fallback) {
  const auto* found = find_attribute(node, name);
  return found != nullptr ? found->b() : fallback;
}

std::string text_attribute(const proto::NodeDef& node, const std::string& name,
                           const std::string& fallback) {
  const auto* found = find_attribute(node, name);
  return found != nullptr && !found->s().empty() ? found->s() : fallback;
}

Shape integers_attribute(const proto::NodeDef& node, const std::string& name) {
  const auto* found = find_attribute(node, name);
  return found != nullptr ? Shape(found->list().i().begin(), found->list().i().end()) : Shape();
}

Input parse_input(const std::string& text) {
  if (text.starts_with('^')) {
    return {.node = text.substr(1), .output = Input::kControl};
  }
  Input input{.node = text};
  if (const std::size_t colon = text.rfind(':'); colon != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, input.output);
    if (error != std::errc() || stop != end || input.output < 0 || input.output > kMaxOutput) {
      throw Error(ErrorCode::kFormat,
                  fmt::format("expected an input 'name:number', found '{}'", excerpt(text)));
    }
    input.node.resize(colon);
  }
  return input;
}

}  // namespace emplace::tensorflow
