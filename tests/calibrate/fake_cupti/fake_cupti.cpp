#include "fake_cupti.hpp"

#include <algorithm>

namespace {

constexpr int kSuccess = 0;
constexpr int kMaxLimitReached = 12;
constexpr int kQueueEmpty = 18;
constexpr int kInvalidKind = 21;
constexpr std::uint32_t kCustom0 = 3;

using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

Request request = nullptr;
Complete complete = nullptr;
std::uint8_t* held_buffer = nullptr;

emplace::test::FakeCupti& state() { return *fake_cupti(); }

}  // namespace

extern "C" {

emplace::test::FakeCupti* fake_cupti() {
  static emplace::test::FakeCupti fake;
  return &fake;
}

int cuptiGetVersion(std::uint32_t* version) {
  *version = state().version;
  return kSuccess;
}

int cuptiGetResultString(int, const char** text) {
  *text = "CUPTI_ERROR_FAKE";
  return kSuccess;
}

int cuptiActivityRegisterCallbacks(Request on_request, Complete on_complete) {
  request = on_request;
  complete = on_complete;
  return kSuccess;
}

int cuptiActivityEnable(std::uint32_t kind) {
  if (const auto refusal = state().refusals.find(kind); refusal != state().refusals.end()) {
    return refusal->second;
  }
  state().enabled.insert(kind);
  return kSuccess;
}

int cuptiActivityDisable(std::uint32_t kind) {
  state().enabled.erase(kind);
  return kSuccess;
}

int cuptiActivityFlushAll(std::uint32_t forced) {
  state().forced_flushes += forced != 0 ? 1 : 0;
  auto& pending = state().pending;
  if (pending.empty()) {
    return kSuccess;
  }
  std::size_t bytes = 0;
  std::size_t max_records = 0;
  if (held_buffer == nullptr) {
    request(&held_buffer, &bytes, &max_records);
    std::copy(pending.begin(), pending.end(), held_buffer);
  }
  if (!state().held_back || forced != 0) {
    complete(nullptr, 0, held_buffer, bytes, pending.size());
    held_buffer = nullptr;
    pending.clear();
  }
  return kSuccess;
}

int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  *dropped = state().dropped;
  state().dropped = 0;
  return kSuccess;
}

int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, std::uint8_t** record) {
  const auto bytes_of = [](const std::uint8_t* at) -> std::size_t {
    const auto found = state().record_bytes.find(at[0]);
    return found != state().record_bytes.end() ? found->second : 0;
  };
  std::uint8_t* const next = *record == nullptr ? buffer : *record + bytes_of(*record);
  if (next >= buffer + bytes) {
    return kMaxLimitReached;
  }
  if (bytes_of(next) == 0) {
    return kInvalidKind;
  }
  *record = next;
  return kSuccess;
}

int cuptiActivityPushExternalCorrelationId(std::uint32_t kind, std::uint64_t id) {
  if (kind == kCustom0 && state().push_result == kSuccess) {
    state().ids.push_back(id);
  }
  return state().push_result;
}

int cuptiActivityPopExternalCorrelationId(std::uint32_t, std::uint64_t*) {
  if (state().ids.empty()) {
    return kQueueEmpty;
  }
  state().ids.pop_back();
  return kSuccess;
}

}  // extern "C"
