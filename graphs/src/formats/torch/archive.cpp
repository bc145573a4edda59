#include "archive.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace emplace::torch_program {
namespace {

bool is_program(std::string_view name) {
  if (name.ends_with("serialized_exported_program.json")) {
    return true;
  }
  // NAME/models/NAME.json, where the first NAME is that of the archive.
  const std::size_t slash = name.rfind('/');
  return name.ends_with(".json") && slash != std::string_view::npos &&
         (name.substr(0, slash) == "models" || name.substr(0, slash).ends_with("/models"));
}

bool is_weights(std::string_view name) { return name.ends_with("_weights_config.json"); }

// An archive in memory, which must live as long.
class Archive {
 public:
  Archive(std::string_view bytes, const std::string& source)
      : source_(source), num_bytes_(bytes.size()) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* buffer = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (buffer != nullptr) {
      zip_.reset(zip_open_from_source(buffer, ZIP_RDONLY, &error));
      if (!zip_) {
        zip_source_free(buffer);
      }
    }
    const std::string reason =
        error.zip_err == ZIP_ER_NOZIP ? "it has no directory" : zip_error_strerror(&error);
    zip_error_fini(&error);
    if (!zip_) {
      fail(reason);
    }
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    const zip_int64_t count = zip_get_num_entries(zip_.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) {
      const char* name = zip_get_name(zip_.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
      names.emplace_back(name == nullptr ? "" : name);
    }
    return names;
  }

  std::string find_program() const {
    auto text = find(is_program, "programs");
    if (!text) {
      fail("it contains no program of torch.export, models/NAME.json");
    }
    return *std::move(text);
  }

  // Returns the text of the entry with such a name, if there is one; `what` are several.
  std::optional<std::string> find(bool (*has_name)(std::string_view), std::string_view what) const {
    std::optional<zip_stat_t> found;
    const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(zip_.get(), 0));
    for (zip_uint64_t i = 0; i < count; ++i) {
      zip_stat_t entry;
      zip_stat_init(&entry);
      if (zip_stat_index(zip_.get(), i, ZIP_FL_ENC_RAW, &entry) != 0) {
        fail(zip_strerror(zip_.get()));
      }
      if ((entry.valid & ZIP_STAT_NAME) == 0 || !has_name(entry.name)) {
        continue;
      }
      if (found) {
        fail(fmt::format("it contains several {}, expected one", what));
      }
      found = entry;
    }
    return found ? std::optional(content(*found)) : std::nullopt;
  }

 private:
  struct Close {
    void operator()(zip_t* zip) const { zip_discard(zip); }
    void operator()(zip_file_t* file) const { zip_fclose(file); }
  };

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::kFormat, fmt::format("{}: zip archive: {}", source_, what));
  }

  std::string content(const zip_stat_t& entry) const {
    const std::string name = excerpt(entry.name);
    if (entry.comp_method != ZIP_CM_STORE) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{}: zip archive: '{}' is compressed; PyTorch stores it as it is",
                              source_, name));
    }
    if (entry.size > num_bytes_) {
      fail(fmt::format("'{}' ends too early", name));
    }
    const std::unique_ptr<zip_file_t, Close> file(zip_fopen_index(zip_.get(), entry.index, 0));
    if (!file) {
      fail(fmt::format("'{}': {}", name, zip_strerror(zip_.get())));
    }
    std::string text(entry.size, '\0');
    const zip_int64_t read = zip_fread(file.get(), text.data(), text.size());
    if (read < 0) {
      fail(fmt::format("'{}': {}", name, zip_file_strerror(file.get())));
    }
    if (static_cast<zip_uint64_t>(read) != entry.size) {
      fail(fmt::format("'{}' ends too early", name));
    }
    char rest = 0;
    if (zip_fread(file.get(), &rest, 1) < 0) {  // at the end, the checksum is compared
      fail(fmt::format("'{}': {}", name, zip_file_strerror(file.get())));
    }
    return text;
  }

  std::string source_;
  std::size_t num_bytes_;
  std::unique_ptr<zip_t, Close> zip_;
};

}  // namespace

bool is_archive(std::string_view bytes) { return bytes.starts_with("PK\x03\x04"); }

std::vector<std::string> entry_names(std::string_view bytes) {
  try {
    return Archive(bytes, "").names();
  } catch (const Error&) {
    return {};
  }
}

bool holds_program(std::string_view bytes) {
  return std::ranges::any_of(entry_names(bytes), is_program);
}

std::string find_program(std::string_view bytes, const std::string& source) {
  return Archive(bytes, source).find_program();
}

std::string find_weights(std::string_view bytes, const std::string& source) {
  return Archive(bytes, source).find(is_weights, "lists of weights").value_or("");
}

}  // namespace emplace::torch_program
