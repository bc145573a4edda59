#include "fusions.hpp"

#include "aten.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::torch_program {
namespace {

class RmsNormFuser {
 public:
  explicit RmsNormFuser(Program& program) : program_(program), is_gone_(program.calls.size()) {
    for (const ValueId id : program.outputs) {
      ++reads_[id];
    }
    for (std::size_t i = program.calls.size(); i-- > 0;) {
      const TorchCall& call = program.calls[i];
      for (const ValueId id : call.results) {
        maker_[id] = i;
      }
      // What the results do not depend on does not count as a reader.
      if (std::ranges::none_of(call.results, [&](ValueId id) { return reads_.contains(id); })) {
        continue;
      }
      for (const Argument& argument : call.arguments) {
        for (const ValueId id : argument.tensors) {
          ++reads_[id];
          reader_[id] = i;
        }
      }
    }
  }

  void run() {
    for (std::size_t i = 0; i < program_.calls.size(); ++i) {
      if (is(i, "rsqrt")) {
        fuse(i);
      }
    }
    std::size_t left = 0;
    for (std::size_t i = 0; i < program_.calls.size(); ++i) {
      if (!is_gone_[i]) {
        std::swap(program_.calls[left++], program_.calls[i]);
      }
    }
    program_.calls.resize(left);
  }

 private:
  bool is(std::size_t call, std::string_view op) const {
    return name_of_aten(program_.calls[call].op) == op;
  }

  const TorchValue& value(ValueId id) const {
    return program_.values[static_cast<std::size_t>(id)];
  }

  ValueId result(std::size_t call) const {
    const std::vector<ValueId>& all = program_.calls[call].results;
    return all.size() == 1 ? all.front() : kNone;
  }

  const Argument* find(std::size_t call, std::string_view name) const {
    const std::vector<Argument>& all = program_.calls[call].arguments;
    const auto found = std::ranges::find(all, name, &Argument::name);
    return found != all.end() ? &*found : nullptr;
  }

  ValueId tensor(std::size_t call, std::string_view name) const {
    const Argument* argument = find(call, name);
    return argument != nullptr && !argument->tensors.empty() ? argument->tensors.front() : kNone;
  }

  std::optional<std::size_t> maker(ValueId id, std::string_view op) const {
    const auto found = maker_.find(id);
    return id != kNone && found != maker_.end() && is(found->second, op)
               ? std::optional(found->second)
               : std::nullopt;
  }

  // The only call that reads a tensor, if it is of this operator.
  std::optional<std::size_t> reader(ValueId id, std::string_view op) const {
    const auto reads = reads_.find(id);
    return id != kNone && reads != reads_.end() && reads->second == 1 && reader_.contains(id) &&
                   is(reader_.at(id), op)
               ? std::optional(reader_.at(id))
               : std::nullopt;
  }

  // What a tensor was before it was turned into the type that it had.
  ValueId before_casts(ValueId id) const {
    for (auto cast = maker(id, "to"); cast; cast = maker(id, "to")) {
      const ValueId from = tensor(*cast, "self");
      if (from == kNone || value(from).output.type != value(id).output.type) {
        break;
      }
      id = from;
    }
    return id;
  }

  // The other factor of a product, if one is `id`.
  ValueId other_factor(std::size_t product, ValueId id) const {
    const ValueId left = tensor(product, "self");
    const ValueId right = tensor(product, "other");
    return left == id ? right : right == id ? left : kNone;
  }

  // The length of the rows over which the mean of the squares is taken.
  std::optional<std::int64_t> columns_of(std::size_t mean, ValueId x) const {
    const Argument* dims = find(mean, "dim");
    const Argument* keeps = find(mean, "keepdim");
    const auto& shape = value(x).output.shape;
    const bool is_of_rows = dims != nullptr && dims->integers.size() == 1 && !shape.empty() &&
                            (dims->integers[0] == -1 || dims->integers[0] == std::ssize(shape) - 1);
    return is_of_rows && keeps != nullptr && keeps->integers == std::vector<std::int64_t>{1}
               ? std::optional(shape.back())
               : std::nullopt;
  }

  void fuse(std::size_t root) {
    const auto shifted = maker(tensor(root, "self"), "add");
    if (!shifted) {
      return;
    }
    const auto mean = maker(tensor(*shifted, "self"), "mean");
    if (!mean) {
      return;
    }
    const auto power = maker(tensor(*mean, "self"), "pow");
    if (!power) {
      return;
    }
    const Argument* exponent = find(*power, "exponent");
    const auto product = reader(result(root), "mul");
    if (exponent == nullptr || exponent->number != 2 || !product) {
      return;
    }
    const ValueId x = other_factor(*product, result(root));
    const ValueId squared = tensor(*power, "self");
    if (x == kNone || squared == kNone || before_casts(x) != before_casts(squared)) {
      return;
    }
    const auto columns = columns_of(*mean, x);
    const bool are_alone = reader(result(*power), "mean") && reader(result(*mean), "add") &&
                           reader(result(*shifted), "rsqrt");
    if (!columns || !are_alone || tensor(*shifted, "other") != kNone) {
      return;
    }
    std::vector<std::size_t> calls{*power, *mean, *shifted, root, *product};
    TorchCall norm{.op = "rms_norm",
                   .module = program_.calls[root].module,
                   .arguments = {{.name = "input", .is_tensor = true, .tensors = {x}},
                                 {.name = "normalized_shape", .integers = {*columns}}}};
    ValueId last = result(*product);
    if (const auto cast = reader(last, "to"); cast && before_casts(result(*cast)) == last) {
      calls.push_back(*cast);
      last = result(*cast);
    }
    if (const auto scaled = reader(last, "mul")) {
      const ValueId weight = other_factor(*scaled, last);
      if (weight != kNone && value(weight).origin == Origin::kParameter &&
          value(weight).output.shape == std::vector<std::int64_t>{*columns}) {
        norm.arguments.push_back({.name = "weight", .is_tensor = true, .tensors = {weight}});
        calls.push_back(*scaled);
      }
    }
    // A cast that the scale does not follow stays.
    if (calls.size() == 6 && !is(calls.back(), "mul")) {
      calls.pop_back();
    }
    norm.results = {result(calls.back())};
    for (const std::size_t call : calls) {
      is_gone_[call] = true;
    }
    is_gone_[calls.back()] = false;
    program_.calls[calls.back()] = std::move(norm);
  }

  Program& program_;
  std::vector<bool> is_gone_;
  std::map<ValueId, int> reads_;  // results of the program count as a read
  std::map<ValueId, std::size_t> reader_;
  std::map<ValueId, std::size_t> maker_;
};

}  // namespace

void fuse_rms_norms(Program& program) { RmsNormFuser(program).run(); }

}  // namespace emplace::torch_program
