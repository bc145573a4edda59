#pragma once

// Libraries that are opened by name while the program runs, so that it starts where they are
// missing. They are looked for in this order: the folders listed in EMPLACE_CUDA_LIBRARIES,
// wherever the system's loader looks, the lib64 of CUDA_HOME and CUDA_PATH, the toolkit's usual
// folder.

#include <initializer_list>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Says which library is wanted.
struct LibraryRequest {
  std::string what{};                ///< "cuDNN 9"
  std::vector<std::string> names{};  ///< of files, the best first: "libcudnn.so.9"
  std::string remedy{};              ///< what to install
};

/// Holds a library open for as long as the program runs: what it has started cannot be unloaded.
class SharedLibrary {
 public:
  /// Opens the first that is found; throws DeviceFailure that says where it was searched and what
  /// to install.
  explicit SharedLibrary(LibraryRequest request);

  /// Returns the file or name by which it was opened.
  const std::string& path() const { return path_; }

  /// The address of a function, for a pointer to it.
  struct Symbol {
    void* address = nullptr;
    template <typename Function>
    operator Function*() const {  // NOLINT(google-explicit-constructor)
      return reinterpret_cast<Function*>(address);
    }
  };

  /// Returns the library's function `name`; throws DeviceFailure if it has none.
  Symbol operator[](const char* name) const;

 private:
  LibraryRequest request_;
  std::string path_;
  void* handle_ = nullptr;
};

}  // namespace emplace::calibrate
