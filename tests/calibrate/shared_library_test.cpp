#include "profiles/calibrate/src/cuda/shared_library.hpp"

#include "support/temporary_folder.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace emplace::calibrate::shared_library_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Sets the path list of folders while a test runs.
class SharedLibraries : public testing::Test {
 protected:
  ~SharedLibraries() override { ::unsetenv("EMPLACE_CUDA_LIBRARIES"); }

  static void search(const std::string& folders) {
    ::setenv("EMPLACE_CUDA_LIBRARIES", folders.c_str(), 1);
  }
};

TEST_F(SharedLibraries, SayWhatIsMissingWhereItWasSearchedAndWhatToInstall) {
  search("/first::/second");
  EXPECT_THAT(
      [] {
        SharedLibrary({.what = "Frobnicator",
                       .names = {"libfrob.so.2", "libfrob.so.1"},
                       .remedy = "Install frobnicator"});
      },
      ThrowsMessage<DeviceFailure>(
          AllOf(HasSubstr("Frobnicator is missing: no libfrob.so.2 or libfrob.so.1 in /first, "
                          "/second, the system's library path"),
                HasSubstr("/usr/local/cuda/lib64. Install frobnicator, or set "
                          "EMPLACE_CUDA_LIBRARIES to the folders that contain it"))));
}

TEST_F(SharedLibraries, AreFoundByNameWithTheirFunctions) {
  const SharedLibrary library({.what = "the C library", .names = {"libnone.so", "libc.so.6"}});
  EXPECT_EQ(library.path(), "libc.so.6");
  int (*const absolute)(int) = library["abs"];
  EXPECT_EQ(absolute(-7), 7);
}

TEST_F(SharedLibraries, SayWhichFunctionAnOldOneLacks) {
  const SharedLibrary library({.what = "version 9", .names = {"libc.so.6"}, .remedy = "Update it"});
  EXPECT_THAT([&] { library["no_such_function"]; },
              ThrowsMessage<DeviceFailure>(
                  HasSubstr("libc.so.6 has no no_such_function: version 9 is needed. Update it")));
}

TEST_F(SharedLibraries, SayWhyAFileThatIsThereDoesNotOpen) {
  const TemporaryFolder folder;
  const std::string path = folder.path("libbroken.so");
  std::ofstream(path) << "no library";
  search(folder.path());
  EXPECT_THAT(
      [] { SharedLibrary({.what = "Broken", .names = {"libbroken.so"}}); },
      ThrowsMessage<DeviceFailure>(AllOf(HasSubstr("Broken is missing"), HasSubstr(path + ": "))));
}

}  // namespace
}  // namespace emplace::calibrate::shared_library_test
