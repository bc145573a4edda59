#pragma once

// The options of an agent, each declared once: name, text, bounds or choices, and the field that
// holds its value, whose initial value is the default. From the declarations come the agent's table
// of parameters, the reading of what a user gave, and the list of what shapes a network.
//
//     OptionTable<Options> table;
//     auto network = table.group("network", &Options::network);
//     network.number("rounds", &Network::rounds, 0, 64, "rounds of messages", kShapesNetwork);
//     network.flag("zero-init", &Network::zero_init, "starts with zeros", kForExperts);

#include <emplace/agents/agent.hpp>
#include <emplace/base/check.hpp>
#include <emplace/base/params.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace emplace::agents {

/// Holds parameters with their values, as a user would write them.
using ParameterTexts = std::vector<std::pair<std::string, std::string>>;

/// Traits of an option: few users need it; a policy fits only where it has the same value.
inline constexpr unsigned kForExperts = 1;
inline constexpr unsigned kShapesNetwork = 2;

/// Declares the options that a struct holds. Copies share nothing, and constant tables may be read
/// by any number of threads.
template <class Options>
class OptionTable {
 public:
  /// Declares options under one heading, in one section of the struct.
  template <class Section>
  class Group {
   public:
    Group(OptionTable& table, std::string heading, std::function<Section&(Options&)> section)
        : table_(&table), heading_(std::move(heading)), section_(std::move(section)) {}

    /// Declares a number from `min` to `max`, a whole one if the field is.
    template <class Number>
      requires std::integral<Number> || std::floating_point<Number>
    void number(const std::string& name, Number Section::*field, double min, double max,
                const std::string& text, unsigned traits = 0) {
      using Value = std::conditional_t<std::integral<Number>, std::int64_t, double>;
      add({.name = name,
           .default_value = static_cast<Value>(initial(field)),
           .min = min,
           .max = max,
           .summary = text},
          field, traits,
          [](const ParamValue& value) { return static_cast<Number>(std::get<Value>(value)); });
    }

    /// Declares a switch.
    void flag(const std::string& name, bool Section::*field, const std::string& text,
              unsigned traits = 0) {
      add({.name = name, .default_value = initial(field), .summary = text}, field, traits,
          [](const ParamValue& value) { return std::get<bool>(value); });
    }

    /// Declares one of `choices`, which stand for the values of the field, an enumeration or a
    /// truth value, from 0 on.
    template <class Choice>
    void choice(const std::string& name, Choice Section::*field, std::vector<std::string> choices,
                const std::string& text, unsigned traits = 0) {
      const auto index_of = [choices](const ParamValue& value) {
        const auto found = std::ranges::find(choices, std::get<std::string>(value));
        EMPLACE_CHECK(found != choices.end(), "'{}' is not a choice", std::get<std::string>(value));
        return static_cast<Choice>(found - choices.begin());
      };
      std::string initial_choice = choices.at(static_cast<std::size_t>(initial(field)));
      add({.name = name,
           .default_value = std::move(initial_choice),
           .choices = std::move(choices),
           .summary = text},
          field, traits, index_of);
    }

   private:
    template <class Value>
    Value initial(Value Section::*field) const {
      Options options;
      return section_(options).*field;
    }

    template <class Value, class Read>
    void add(ParamSpec spec, Value Section::*field, unsigned traits, Read read) {
      spec.group = heading_;
      spec.expert = (traits & kForExperts) != 0;
      table_->options_.push_back(
          {.spec = std::move(spec),
           .shapes_network = (traits & kShapesNetwork) != 0,
           .set = [section = section_, field, read](Options& options, const ParamValue& value) {
             section(options).*field = read(value);
           }});
    }

    OptionTable* table_;
    std::string heading_;
    std::function<Section&(Options&)> section_;
  };

  /// Returns a group of options under `heading`, which is for listings, whose fields are in
  /// `section` of the struct, or in the struct itself. Requires: this outlives the group.
  template <class Section>
  Group<Section> group(std::string heading, Section Options::*section) {
    return {*this, std::move(heading),
            [section](Options& options) -> Section& { return options.*section; }};
  }
  Group<Options> group(std::string heading) {
    return {*this, std::move(heading), [](Options& options) -> Options& { return options; }};
  }

  /// Returns the table of parameters, with `defaults` in the place of its own.
  std::vector<ParamSpec> parameters(const ParamDefaults& defaults = {}) const {
    std::vector<ParamSpec> specs;
    specs.reserve(options_.size());
    for (const Option& option : options_) {
      specs.push_back(option.spec);
    }
    return with_defaults(std::move(specs), defaults);
  }

  /// Returns the options with the values of `params`. Requires: it has a value for each of them.
  Options read(const Params& params) const {
    Options options;
    for (const Option& option : options_) {
      option.set(options, params.values().at(option.spec.name));
    }
    return options;
  }

  /// Returns what shapes the network, in the order of declaration.
  ParameterTexts network_parameters(const Params& params) const {
    ParameterTexts texts;
    for (const Option& option : options_) {
      if (option.shapes_network) {
        texts.emplace_back(option.spec.name,
                           emplace::to_string(params.values().at(option.spec.name)));
      }
    }
    return texts;
  }

 private:
  struct Option {
    ParamSpec spec;
    bool shapes_network;
    std::function<void(Options&, const ParamValue&)> set;
  };

  std::vector<Option> options_;
};

}  // namespace emplace::agents
