#include "support/errors.hpp"

#include <emplace/base/text_file.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.hpp>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>
#include <vector>

namespace emplace {
namespace {

namespace fs = std::filesystem;

class TextFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return temporary_.path(name); }

  std::size_t files_in_folder() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

template <class Action>
std::string io_error(Action action) {
  return test::error_of(ErrorCode::kIo, action);
}

TEST_F(TextFile, IsReadAsItWasWritten) {
  const std::string text("line\r\n\0\xFF end", 12);
  write_text_file(path("a.json"), text);
  EXPECT_EQ(read_text_file(path("a.json")), text);
  write_text_file(path("empty"), "");
  EXPECT_EQ(read_text_file(path("empty")), "");
}

TEST_F(TextFile, ReplacesTheOldContentAndLeavesNoOtherFile) {
  write_text_file(path("a"), "a longer first text");
  write_text_file(path("a"), "second");
  EXPECT_EQ(read_text_file(path("a")), "second");
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(TextFile, IsWrittenThroughALink) {
  write_text_file(path("real"), "old");
  fs::create_symlink("real", folder_ / "link");
  write_text_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_text_file(path("real")), "new");
}

TEST_F(TextFile, KeepsItsRights) {
  write_text_file(path("secret"), "old");
  fs::permissions(path("secret"), fs::perms::owner_read | fs::perms::owner_write);
  write_text_file(path("secret"), "new");
  EXPECT_EQ(fs::status(path("secret")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

// The folder is another in each of these, for a folder is cleaned once.
TEST_F(TextFile, WhatAKilledProgramLeftIsRemoved) {
  const std::string left = path(".emplace-0123456789abcdef0123456789abcdef.tmp");
  std::ofstream(left) << "half of a fi";
  write_text_file(path("a"), "text");
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(TextFile, WhatAnotherProgramWritesIsLeftAlone) {
  const std::string theirs = path(".emplace-0123456789abcdef0123456789abcdef.tmp");
  std::ofstream(theirs) << "half of a fi";
  const int file = ::open(theirs.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(file, LOCK_EX), 0);
  write_text_file(path("a"), "text");
  EXPECT_TRUE(fs::exists(theirs));
  ::close(file);
}

TEST_F(TextFile, WhatOthersCallAlikeIsLeftAlone) {
  for (const char* name : {".emplace-1-0.tmp", ".emplace-notes.tmp",
                           ".emplace-0123456789ABCDEF0123456789abcdef.tmp"}) {
    std::ofstream(path(name)) << "mine";
  }
  write_text_file(path("a"), "text");
  EXPECT_EQ(files_in_folder(), 4U);
}

// As in containers, where process ids repeat: children with the id of one that was killed cannot be
// made in a test, but many that write at once can.
TEST_F(TextFile, ManyWritersAtOnceDoNotHinderOneAnother) {
  std::vector<std::jthread> writers;
  std::atomic<int> failures{0};
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 50; ++i) {
        try {
          write_text_file(path(fmt::format("{}", writer)), fmt::format("{}", i));
        } catch (const Error&) {
          ++failures;
        }
      }
    });
  }
  writers.clear();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(files_in_folder(), 4U);
}

TEST_F(TextFile, IsWrittenIntoADeviceWithoutReplacingIt) {
  write_text_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(TextFile, ThatIsGzippedIsUnzipped) {
  // "hello" and an end of line, by gzip -n.
  const std::string gzipped(
      "\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\0\x20\x30\x3a\x36\x06\0\0\0", 26);
  write_text_file(path("text.gz"), gzipped);
  EXPECT_EQ(read_text_file(path("text.gz")), "hello\n");
  write_text_file(path("twice.gz"), gzipped + gzipped);
  EXPECT_EQ(read_text_file(path("twice.gz")), "hello\nhello\n");
  for (const std::string& bad :
       {gzipped.substr(0, 20), gzipped.substr(0, 12) + "xxxxxxxxxxxxxxx"}) {
    write_text_file(path("bad.gz"), bad);
    EXPECT_THAT(test::error_of(ErrorCode::kFormat, [&] { read_text_file(path("bad.gz")); }),
                testing::HasSubstr("cut off or damaged"));
  }
}

TEST_F(TextFile, ThatCannotBeReadIsNamedWithTheReason) {
  EXPECT_EQ(io_error([&] { read_text_file(path("no")); }),
            "cannot read '" + path("no") + "': No such file or directory");
  EXPECT_EQ(io_error([&] { read_text_file(folder_.string()); }),
            "cannot read '" + folder_.string() + "': Is a directory");
}

TEST_F(TextFile, ThatCannotBeWrittenIsNamedWithTheReason) {
  EXPECT_EQ(io_error([&] { write_text_file(path("no/file"), "text"); }),
            "cannot write '" + path("no/file") + "': No such file or directory");
  EXPECT_EQ(io_error([&] { write_text_file(folder_.string(), "text"); }),
            "cannot write '" + folder_.string() + "': Is a directory");
  EXPECT_EQ(files_in_folder(), 0U);
}

TEST_F(TextFile, CalledMinusIsStandardInputAndOutput) {
  std::istringstream input("from a pipe\n");
  std::ostringstream output;
  auto* const old_input = std::cin.rdbuf(input.rdbuf());
  auto* const old_output = std::cout.rdbuf(output.rdbuf());
  const std::string text = read_text_file("-");
  write_text_file("-", "to a pipe\n");
  std::cin.rdbuf(old_input);
  std::cout.rdbuf(old_output);
  EXPECT_EQ(text, "from a pipe\n");
  EXPECT_EQ(output.str(), "to a pipe\n");
}

}  // namespace
}  // namespace emplace
