#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <profiles/calibrate/src/cpu/near_cores.hpp>
#include <support/temporary_folder.hpp>

#include <fstream>

namespace emplace::calibrate::near_cores_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

cpu_set_t allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  return set;
}

int first_allowed() {
  const cpu_set_t set = allowed();
  int core = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(core), &set)) {
    ++core;
  }
  return core;
}

TEST(NearCores, AreReadAsLinuxWritesThem) {
  EXPECT_THAT(cores_of_list("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(cores_of_list("7"), ElementsAre(7));
  EXPECT_THAT(cores_of_list(""), IsEmpty());
  for (const char* wrong : {"a", "1-", "1,,2", "-3", "1-2-3", "1 2", "99999999999"}) {
    EXPECT_THAT(cores_of_list(wrong), IsEmpty()) << wrong;
  }
}

TEST(NearCores, KeepAThreadThereWhileTheyLive) {
  const TemporaryFolder devices;
  const auto folder = std::filesystem::path(devices.path()) / "0000:3b:00.0";
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "local_cpulist") << first_allowed() << "\n";
  const cpu_set_t before = allowed();
  {
    const NearCores near("0000:3b:00.0", devices.path());
    const cpu_set_t during = allowed();
    EXPECT_EQ(CPU_COUNT(&during), 1);
    EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(first_allowed()), &during));
  }
  const cpu_set_t after = allowed();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(NearCores, ChangeNothingWhereNobodyKnows) {
  const TemporaryFolder devices;
  const cpu_set_t before = allowed();
  const NearCores near("0000:3b:00.0", devices.path());
  const cpu_set_t during = allowed();
  EXPECT_TRUE(CPU_EQUAL(&before, &during));
}

}  // namespace
}  // namespace emplace::calibrate::near_cores_test
