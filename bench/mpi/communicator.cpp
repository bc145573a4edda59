// The ranks of a job of Open MPI, by MPI's C interface. An error of MPI ends the job: Open MPI says
// what is wrong and stops all ranks.
//
// Waiting sleeps, first for microseconds and later for up to a millisecond. Open MPI's own calls
// would spin instead, and take the core from a rank that computes.

#include <emplace/base/error.hpp>
#include <emplace/bench/communicator.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace emplace::bench {
namespace {

constexpr int kLookOften = 200;  // times, which takes about as long as a short sleep
constexpr std::chrono::microseconds kShortestSleep{20};
constexpr std::chrono::microseconds kLongestSleep{1000};

void wait_for(MPI_Request& request) {
  int is_done = 0;
  for (int i = 0; i < kLookOften; ++i) {
    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    if (is_done != 0) {
      return;
    }
  }
  for (auto sleep = kShortestSleep; is_done == 0; sleep = std::min(2 * sleep, kLongestSleep)) {
    std::this_thread::sleep_for(sleep);
    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
  }
}

int checked_size(std::size_t bytes) {
  if (bytes > INT_MAX) {
    throw Error(ErrorCode::kUnsupported, "a message of 2^31 bytes or more between ranks");
  }
  return static_cast<int>(bytes);
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED) {
      throw Error(ErrorCode::kUnsupported, "this Open MPI was built without threads");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm here = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &ranks_here_);
    MPI_Comm_free(&here);
  }

  std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  std::size_t size() const override { return static_cast<std::size_t>(size_); }
  std::string name() const override {
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(host, &length);
    return "rank " + std::to_string(rank_) + " on " + host;
  }

  std::size_t ranks_here() const override { return static_cast<std::size_t>(ranks_here_); }

  void send(std::size_t to, int kind, std::string_view text) override {
    forget_what_was_sent();
    Sending& sending = sendings_.emplace_back(Sending{std::string(text), MPI_REQUEST_NULL});
    MPI_Isend(sending.text.data(), checked_size(text.size()), MPI_CHAR, static_cast<int>(to), kind,
              MPI_COMM_WORLD, &sending.request);
  }

  std::optional<Message> receive() override {
    forget_what_was_sent();
    int has_arrived = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &has_arrived, &handle, &status);
    if (has_arrived == 0) {
      return std::nullopt;
    }
    int bytes = 0;
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    Message message{.from = static_cast<std::size_t>(status.MPI_SOURCE),
                    .kind = status.MPI_TAG,
                    .text = std::string(static_cast<std::size_t>(bytes), '\0')};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Imrecv(message.text.data(), bytes, MPI_CHAR, &handle, &request);
    wait_for(request);
    return message;
  }

  std::vector<std::string> all_gather(std::string_view bytes) override {
    const int mine = checked_size(bytes.size());
    std::vector<int> sizes(size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(&mine, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD, &request);
    wait_for(request);
    std::size_t total = 0;
    std::vector<int> offsets;
    for (const int rank_bytes : sizes) {
      offsets.push_back(checked_size(total));
      total += static_cast<std::size_t>(rank_bytes);
    }
    std::string all(static_cast<std::size_t>(checked_size(total)), '\0');
    MPI_Iallgatherv(bytes.data(), mine, MPI_CHAR, all.data(), sizes.data(), offsets.data(),
                    MPI_CHAR, MPI_COMM_WORLD, &request);
    wait_for(request);
    std::vector<std::string> by_rank;
    for (std::size_t i = 0; i < size(); ++i) {
      by_rank.push_back(
          all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(sizes[i])));
    }
    return by_rank;
  }

  void finish() override {
    for (Sending& sending : sendings_) {
      wait_for(sending.request);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait_for(request);
    MPI_Finalize();
  }

  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::abort();
  }

 private:
  // A text on its way, which must stay where it is.
  struct Sending {
    std::string text;
    MPI_Request request;
  };

  void forget_what_was_sent() {
    std::erase_if(sendings_, [](Sending& sending) {
      int is_done = 0;
      MPI_Test(&sending.request, &is_done, MPI_STATUS_IGNORE);
      return is_done != 0;
    });
  }

  int rank_ = 0;
  int size_ = 0;
  int ranks_here_ = 0;
  std::list<Sending> sendings_;
};

}  // namespace
}  // namespace emplace::bench

/// Joins the job in which this process was started, and returns its communicator, which lasts as
/// long as the process.
extern "C" emplace::bench::Communicator* emplace_mpi_communicator() {
  static emplace::bench::MpiCommunicator communicator;
  return &communicator;
}
