#include "driver/recorder/ledger.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

// The build gives another prefix to every recorder but the first.
#if !defined(WW_RECORDER_PREFIX)
#define WW_RECORDER_PREFIX "WARPWRIGHT_RECORDER_"
#endif

namespace recorder {

const char* variable(const char* name) {
  const char* const value = std::getenv((WW_RECORDER_PREFIX + std::string(name)).c_str());
  return value == nullptr || *value == '\0' ? nullptr : value;
}

void stop(const std::string& sentence) {
  std::fprintf(stderr, "recorder: %s\n", sentence.c_str());
  std::abort();
}

std::string hex(const std::vector<uint8_t>& bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t b : bytes) text += {digits[b / 16], digits[b % 16]};
  return text;
}

Ledger::Ledger() {
  const char* const file = variable("LOG");
  if (file == nullptr) return;
  log_ = std::fopen(file, "a");
  if (log_ == nullptr) stop(WW_RECORDER_PREFIX "LOG = " + std::string(file) + ": it cannot be written.");
}

std::map<Address, Buffer>::iterator Ledger::holding(Address at, size_t bytes) {
  auto found = buffers.upper_bound(at);
  if (found == buffers.begin()) return buffers.end();
  --found;
  const Address offset = at - found->first;
  return offset <= found->second.bytes && bytes <= found->second.bytes - offset ? found : buffers.end();
}

void Ledger::add_buffer(Address at, Buffer buffer) {
  buffer.number = ++buffer_count_;
  write({{"call", "allocate"}, {"buffer", buffer.number}, {"bytes", buffer.bytes}, {"address", at}});
  buffers.insert_or_assign(at, std::move(buffer));
}

Address Ledger::take(size_t bytes) {
  constexpr size_t alignment = 256;
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) return 0;
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.host = {static_cast<uint8_t*>(memory), std::free};
  const auto at = reinterpret_cast<Address>(memory);
  add_buffer(at, std::move(buffer));
  return at;
}

nlohmann::json Ledger::place(Address address) {
  const auto found = holding(address, 1);
  if (found == buffers.end()) return nullptr;
  return {{"buffer", found->second.number}, {"offset", address - found->first}};
}

nlohmann::json Ledger::take_addresses(std::vector<uint8_t>& bytes) {
  nlohmann::json addresses = nlohmann::json::array();
  for (size_t at = 0; at + sizeof(Address) <= bytes.size(); at += sizeof(Address)) {
    Address address = 0;
    std::memcpy(&address, bytes.data() + at, sizeof address);
    nlohmann::json one = place(address);
    if (one.is_null()) continue;
    one["at"] = at;
    addresses.push_back(std::move(one));
    std::fill_n(bytes.begin() + std::ptrdiff_t(at), sizeof address, 0);
  }
  return addresses;
}

int Ledger::answer(nlohmann::json call, const Verdict& verdict, int answered) {
  call["answer"] = answered;
  call["by_rules"] = verdict ? verdict->code : 0;
  if (verdict) call["rule"] = verdict->rule;
  write(call);
  return answered;
}

void Ledger::write(const nlohmann::json& line) {
  if (log_ == nullptr) return;
  const std::string text = line.dump() + "\n";
  std::fputs(text.c_str(), log_);
  std::fflush(log_);
}

}  // namespace recorder
