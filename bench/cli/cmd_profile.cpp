#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "profile_picture.hpp"
#include "profile_report.hpp"
#include "terminal.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string profile;
  std::string only;
  std::string picture;
  bool json = false;
};

// Returns the profiles that are asked for; throws kUsage if a picture is, of several.
std::vector<DeviceProfile> chosen_profiles(const Options& options) {
  std::vector<DeviceProfile> profiles = load_device_profiles(options.profile);
  std::vector<std::string> names;
  for (const DeviceProfile& profile : profiles) {
    names.push_back(profile.name);
  }
  if (!options.only.empty()) {
    const auto found = std::ranges::find(profiles, options.only, &DeviceProfile::name);
    if (found == profiles.end()) {
      throw_unknown_name("device profile", options.only, names);
    }
    return {*found};
  }
  if (!options.picture.empty() && profiles.size() > 1) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--picture: '{}' has {} device profiles; give --only NAME, of {}",
                            excerpt(options.profile), profiles.size(), fmt::join(names, ", ")));
  }
  return profiles;
}

void show(const Options& options) {
  if (!options.picture.empty()) {
    check_profile_picture_path(options.picture);
  }
  const std::vector<DeviceProfile> profiles = chosen_profiles(options);
  if (!options.picture.empty()) {
    write_profile_picture(options.picture, profiles.front());
  }
  std::string text;
  Json list = Json::array();
  for (const DeviceProfile& profile : profiles) {
    text += (text.empty() ? "" : "\n") + to_text(profile);
    list.push_back(to_json(profile));
  }
  if (options.json) {
    print_json(Json{{"schema_version", 1}, {"profiles", std::move(list)}});
  } else {
    print(text);
  }
}

}  // namespace

void add_profile(CLI::App& app, Action& action) {
  CLI::App* profile = app.add_subcommand("profile", "Look at device profiles");
  profile->group("Look up");
  profile->require_subcommand(1);
  CLI::App* command =
      profile->add_subcommand("show", "Show rooflines, measurements and how well they agree");
  command->group("Commands");
  set_examples(*command,
               {"emplace profile show p2-8xlarge-2", "emplace profile show k80 --picture k80.svg"});
  const auto options = std::make_shared<Options>();
  command
      ->add_option("PROFILE", options->profile,
                   "Device profile or cluster: a name (emplace list profiles), or a file")
      ->required()
      ->type_name("PROFILE");
  command->add_option("--only", options->only, "Of a cluster: the profile of this name")
      ->type_name("NAME");
  command
      ->add_option("--picture", options->picture,
                   "Draw roofs, measured rates and residuals: FILE.svg, or FILE.html with tables")
      ->type_name("FILE")
      ->group("Output");
  add_json(*command, options->json);
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      show(*options);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
