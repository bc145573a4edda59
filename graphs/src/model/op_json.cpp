#include "op_json.hpp"

#include "operators/operators.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/graphs/graph_json.hpp>

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace emplace {
namespace {

// Writes one JSON object in one line, without the members that have their default value.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& text) : text_(text) { text_ += '{'; }
  ~ObjectWriter() { text_ += '}'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  void member(std::string_view key, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "{}\"{}\": {}", is_first_ ? "" : ", ", key, value);
    is_first_ = false;
  }
  void text(std::string_view key, const std::string& value) {
    if (!value.empty()) {
      member(key, json_text(value));
    }
  }
  void quantity(std::string_view key, std::int64_t value) {
    if (value != 0) {
      member(key, fmt::to_string(value));
    }
  }
  void dimensions(std::string_view key, const std::vector<std::int64_t>& values) {
    if (!values.empty()) {
      member(key, fmt::format("[{}]", fmt::join(values, ", ")));
    }
  }

 private:
  std::string& text_;
  bool is_first_ = true;
};

void write_output(std::string& text, const Output& output) {
  ObjectWriter object(text);
  object.dimensions("shape", output.shape);
  if (output.type != DataType::kFloat32) {
    object.member("type", fmt::format("\"{}\"", to_string(output.type)));
  }
  object.quantity("bytes", output.bytes);
  if (output.persistent) {
    object.member("persistent", "true");
  }
}

void write_measured(std::string& text, const MeasuredCost& cost) {
  ObjectWriter object(text);
  object.member("device_class", json_text(cost.device_class));
  object.member("cost_us", fmt::to_string(cost.cost_us));
  if (cost.relative_deviation != 0) {
    object.member("relative_deviation", fmt::to_string(cost.relative_deviation));
  }
}

// Calls `use(name, member)` for each of the attributes of an op, which are called as in ONNX.
template <class Found, class Use>
void for_each_attribute(Found& attributes, const Use& use) {
  using Type = std::remove_const_t<Found>;
  if constexpr (std::is_same_v<Type, PoolAttributes>) {
    use("kernel_shape", attributes.kernel_shape);
  }
  if constexpr (std::is_same_v<Type, ConvAttributes> || std::is_same_v<Type, PoolAttributes>) {
    use("strides", attributes.window.strides);
    use("dilations", attributes.window.dilations);
    use("pads", attributes.window.pads);
  }
  if constexpr (std::is_same_v<Type, ConvAttributes>) {
    use("group", attributes.group);
    use("layout", attributes.layout);
  } else if constexpr (std::is_same_v<Type, PoolAttributes>) {
    use("ceil_mode", attributes.ceil_mode);
  } else if constexpr (std::is_same_v<Type, GemmAttributes>) {
    use("transA", attributes.trans_a);
    use("transB", attributes.trans_b);
  } else if constexpr (std::is_same_v<Type, EinsumAttributes>) {
    use("equation", attributes.equation);
  } else if constexpr (std::is_same_v<Type, AxisAttributes>) {
    use("axis", attributes.axis);
  } else if constexpr (std::is_same_v<Type, GroupNormAttributes>) {
    use("num_groups", attributes.num_groups);
  } else if constexpr (std::is_same_v<Type, LrnAttributes>) {
    use("size", attributes.size);
  } else if constexpr (std::is_same_v<Type, ReduceAttributes>) {
    use("axes", attributes.axes);
    use("keepdims", attributes.keepdims);
  } else if constexpr (std::is_same_v<Type, TransposeAttributes>) {
    use("perm", attributes.perm);
  } else if constexpr (std::is_same_v<Type, ResizeAttributes> ||
                       std::is_same_v<Type, BagAttributes>) {
    use("mode", attributes.mode);
  } else if constexpr (std::is_same_v<Type, AttentionAttributes>) {
    use("is_causal", attributes.is_causal);
  } else if constexpr (std::is_same_v<Type, UpdateAttributes>) {
    use("optimizer", attributes.optimizer);
  }
}

// Leaves out what has its default value.
std::string text_of_attributes(const Attributes& attributes) {
  std::string text;
  {
    ObjectWriter object(text);
    const auto write = [&object]<class Member>(std::string_view name, const Member& member,
                                               const Member& by_default) {
      if (member == by_default) {
        return;
      }
      if constexpr (std::is_same_v<Member, std::vector<std::int64_t>>) {
        object.member(name, fmt::format("[{}]", fmt::join(member, ", ")));
      } else if constexpr (std::is_same_v<Member, std::string>) {
        object.member(name, json_text(member));
      } else {
        object.member(name, fmt::to_string(member));
      }
    };
    std::visit(
        [&]<class Found>(const Found& found) {
          const Found by_default;
          // The same member of both, one after the other.
          for_each_attribute(found, [&]<class Member>(std::string_view name, const Member& member) {
            for_each_attribute(by_default,
                               [&]<class Other>(std::string_view other_name, const Other& other) {
                                 if constexpr (std::is_same_v<Member, Other>) {
                                   if (name == other_name) {
                                     write(name, member, other);
                                   }
                                 }
                               });
          });
        },
        attributes);
  }
  return text == "{}" ? "" : text;
}

// Writes a list of objects as the member `key`, unless it is empty.
template <class Item>
void write_list(ObjectWriter& object, std::string_view key, const std::vector<Item>& items,
                void (*write_item)(std::string&, const Item&)) {
  if (items.empty()) {
    return;
  }
  std::string text = "[";
  for (const Item& item : items) {
    text += text.size() == 1 ? "" : ", ";
    write_item(text, item);
  }
  object.member(key, text + ']');
}

// An object whose members may have other names in the file.
class Members {
 public:
  Members(const JsonCursor& object, const MemberNames& names) : object_(object), names_(names) {}

  std::optional<JsonCursor> find(std::string_view key) const {
    const auto name = names_.find(key);
    return object_.find(name == names_.end() ? key : name->second);
  }

 private:
  const JsonCursor& object_;
  const MemberNames& names_;
};

template <class Object>
std::int64_t read_quantity(const Object& object, std::string_view key) {
  const auto member = object.find(key);
  return member ? member->integer(0) : 0;
}

template <class Object>
std::vector<std::int64_t> read_dimensions(const Object& object) {
  std::vector<std::int64_t> dimensions;
  if (const auto member = object.find("shape")) {
    for (const JsonCursor& dimension : member->elements()) {
      dimensions.push_back(dimension.integer(0));
    }
  }
  return dimensions;
}

// Returns the enumerator whose name the member `key` gives, by default the first.
template <class Enum, class Object>
Enum read_enum(const Object& object, std::string_view key,
               std::span<const std::string_view> names) {
  const auto member = object.find(key);
  return member ? static_cast<Enum>(member->one_of(names)) : Enum{};
}

// Reads attributes of the same kind as `attributes`; what is left out has its default value.
Attributes read_given(const JsonCursor& object, const Attributes& attributes) {
  return std::visit(
      [&]<class Found>(const Found&) -> Attributes {
        Found result;
        std::vector<std::string_view> names;
        for_each_attribute(result, [&]<class Member>(std::string_view name, Member& member) {
          names.push_back(name);
          const auto found = object.find(name);
          if (!found) {
            return;
          }
          if constexpr (std::is_same_v<Member, std::vector<std::int64_t>>) {
            for (const JsonCursor& entry : found->elements()) {
              member.push_back(entry.integer());
            }
          } else if constexpr (std::is_same_v<Found, ConvAttributes> &&
                               std::is_same_v<Member, std::string>) {
            member = kImageLayouts[found->one_of(kImageLayouts)];
          } else if constexpr (std::is_same_v<Member, std::string>) {
            member = found->text();
          } else if constexpr (std::is_same_v<Member, bool>) {
            member = found->boolean();
          } else if constexpr (std::is_same_v<Found, AxisAttributes>) {
            member = found->integer();
          } else {
            member = found->integer(1);
          }
        });
        object.expect_only(names);
        return result;
      },
      attributes);
}

Output read_output(const JsonCursor& object) {
  object.expect_only({"shape", "type", "bytes", "persistent"});
  Output output{.shape = read_dimensions(object),
                .type = read_enum<DataType>(object, "type", kDataTypes),
                .bytes = read_quantity(object, "bytes")};
  if (const auto member = object.find("persistent")) {
    output.persistent = member->boolean();
  }
  return output;
}

std::vector<MeasuredCost> read_measured(const JsonCursor& list) {
  std::vector<MeasuredCost> measured;
  std::unordered_set<std::string> classes;
  for (const JsonCursor& object : list.elements()) {
    object.expect_only({"device_class", "cost_us", "relative_deviation", "spread"});
    const JsonCursor device_class = object.at("device_class");
    MeasuredCost cost{
        .device_class = device_class.non_empty_text(),
        .cost_us = object.at("cost_us").number(0, std::numeric_limits<double>::max())};
    if (const auto deviation = object.find("relative_deviation", "spread")) {
      cost.relative_deviation = deviation->number(0, kMaxRelativeDeviation);
    }
    if (!classes.insert(cost.device_class).second) {
      device_class.fail("the class appears twice");
    }
    measured.push_back(std::move(cost));
  }
  return measured;
}

template <class Object>
std::string text_of(const Object& object, std::string_view key) {
  const auto member = object.find(key);
  return member ? member->text() : "";
}

template <class Object>
std::int32_t read_number(const Object& object, std::string_view key) {
  const auto number = object.find(key);
  return number ? static_cast<std::int32_t>(
                      number->integer(0, std::numeric_limits<std::int32_t>::max()))
                : 0;
}

// Reads all but name and kind.
template <class Object>
Op read_quantities(const Object& object) {
  Op op{.phase = read_enum<Phase>(object, "phase", kPhases),
        .shape = read_dimensions(object),
        .flops = read_quantity(object, "flops"),
        .bytes_read = read_quantity(object, "bytes_read"),
        .bytes_written = read_quantity(object, "bytes_written"),
        .parameters = read_quantity(object, "parameters"),
        .persistent_bytes = read_quantity(object, "persistent_bytes"),
        .workspace_bytes = read_quantity(object, "workspace_bytes"),
        .colocation = text_of(object, "colocation"),
        .scope = text_of(object, "scope"),
        .micro_batch = read_number(object, "micro_batch"),
        .replica = read_number(object, "replica"),
        .priority = read_number(object, "priority")};
  if (const auto outputs = object.find("outputs")) {
    for (const JsonCursor& output : outputs->elements()) {
      op.outputs.push_back(read_output(output));
    }
  }
  if (const auto measured = object.find("measured")) {
    op.measured = read_measured(*measured);
  }
  return op;
}

}  // namespace

void write_op(std::string& text, const Op& op) {
  ObjectWriter object(text);
  object.member("name", json_text(op.name));
  object.member("kind", json_text(op.kind));
  if (op.phase != Phase::kForward) {
    object.member("phase", fmt::format("\"{}\"", to_string(op.phase)));
  }
  if (const std::string attributes = text_of_attributes(op.attributes); !attributes.empty()) {
    object.member("attributes", attributes);
  }
  object.dimensions("shape", op.shape);
  object.quantity("flops", op.flops);
  object.quantity("bytes_read", op.bytes_read);
  object.quantity("bytes_written", op.bytes_written);
  write_list(object, "outputs", op.outputs, write_output);
  object.quantity("parameters", op.parameters);
  object.quantity("persistent_bytes", op.persistent_bytes);
  object.quantity("workspace_bytes", op.workspace_bytes);
  object.text("colocation", op.colocation);
  object.text("scope", op.scope);
  object.quantity("micro_batch", op.micro_batch);
  object.quantity("replica", op.replica);
  object.quantity("priority", op.priority);
  write_list(object, "measured", op.measured, write_measured);
}

std::string read_text(const JsonCursor& object, std::string_view key) {
  return text_of(object, key);
}

Op read_op(const JsonCursor& object) {
  object.expect_only({"name", "kind", "phase", "attributes", "shape", "flops", "bytes_read",
                      "bytes_written", "outputs", "parameters", "persistent_bytes",
                      "workspace_bytes", "colocation", "scope", "micro_batch", "replica",
                      "priority", "measured"});
  Op op = read_quantities(object);
  op.name = object.at("name").non_empty_text();
  op.kind = object.at("kind").non_empty_text();
  op.attributes = operators::attributes_from_key(op);
  if (const auto member = object.find("attributes")) {
    op.attributes = read_attributes(*member, op);
  }
  return op;
}

Op read_third_party_op(const JsonCursor& object, std::string name, const MemberNames& names) {
  const Members members(object, names);
  Op op = read_quantities(members);
  const auto own_name = members.find("name");
  const auto kind = members.find("kind");
  op.name = own_name ? own_name->non_empty_text() : std::move(name);
  op.kind = kind ? kind->non_empty_text() : "op";
  op.attributes = operators::attributes_from_key(op);
  // Other programs may mean something else by that name.
  const auto member = members.find("attributes");
  if (member && !std::holds_alternative<std::monostate>(op.attributes)) {
    op.attributes = read_given(*member, op.attributes);
  }
  return op;
}

std::string attributes_text(const Attributes& attributes) { return text_of_attributes(attributes); }

Attributes read_attributes(const JsonCursor& object, const Op& op) {
  const Attributes known = operators::attributes_from_key(op);
  if (std::holds_alternative<std::monostate>(known)) {
    object.fail(fmt::format("ops of kind '{}' have no attributes", excerpt(op.kind)));
  }
  return read_given(object, known);
}

}  // namespace emplace
