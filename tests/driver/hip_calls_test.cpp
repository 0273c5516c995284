// The recorder of HIP answers calls at the edges of its rules, and every rule is broken by one of them. Nothing proves
// the rules themselves: no AMD device was asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driver/hip_recorder/rules.h"
#include "driver/session.h"
#include "gpu/image.h"
#include "hip/driver.h"
#include "warpwright/kernel/cdna/config.h"

namespace warpwright {
namespace {

namespace abi = hip::abi;
using hip_recorder::Rule;
using Image = std::vector<uint8_t>;

constexpr const char* kName = "matmul_pingpong_bf16";
constexpr unsigned kThreads = 512, kLds = 131072, kLdsOfChip = 163840;
constexpr size_t kBytes = sizeof(CdnaMatmulArgs);

const abi::Functions& hip_api() { return hip::driver(); }

// A call and the rule that it breaks; none: it is accepted.
struct Call {
  std::string name;
  std::optional<Rule> broken;
  std::function<int()> make;
};

class Calls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    recorded::begin_hip("gfx950,gfx942");
    const auto bytes = gpu::embedded_image("gfx950/matmul-pingpong/bf16", "gfx950");
    image_.assign(bytes.begin(), bytes.end());
  }
  void SetUp() override {
    if (image_.empty()) GTEST_SKIP() << "this build has no code objects";
    (void)hip_api().set_device(0);
    ASSERT_EQ(hip_api().module_load(&module_, image_.data()), 0);
    ASSERT_EQ(hip_api().module_function(&function_, module_, kName), 0);
    ASSERT_EQ(hip_api().allocate(&memory_, 4096), 0);
    ASSERT_EQ(hip_api().stream_create(&stream_, 0), 0);
    ASSERT_EQ(hip_api().event_create(&event_), 0);
    ASSERT_EQ(hip_api().event_create(&recorded_), 0);
    ASSERT_EQ(hip_api().event_record(recorded_, stream_), 0);
  }

  // The image with bytes of it replaced.
  static Image patched(size_t at, std::vector<uint8_t> bytes) {
    Image image = image_;
    std::copy(bytes.begin(), bytes.end(), image.begin() + std::ptrdiff_t(at));
    return image;
  }
  // Behind a word of the metadata.
  static size_t behind(const char* word) {
    const auto found = std::search(image_.begin(), image_.end(), word, word + std::strlen(word));
    EXPECT_NE(found, image_.end()) << word;
    return size_t(found - image_.begin()) + std::strlen(word);
  }
  // In .rodata; what it holds of LDS and arguments is in no other place.
  static size_t descriptor() {
    const uint32_t words[] = {kLds, 0, uint32_t(kBytes)};
    uint8_t bytes[sizeof words];
    std::memcpy(bytes, words, sizeof words);
    const auto found = std::search(image_.begin(), image_.end(), std::begin(bytes), std::end(bytes));
    EXPECT_NE(found, image_.end());
    return size_t(found - image_.begin());
  }
  static int load(const Image& image) {
    abi::Module module = nullptr;
    return hip_api().module_load(&module, image.data());
  }

  // A launch that is accepted as it is.
  struct Launch {
    unsigned grid[3] = {4, 1, 1};
    unsigned block[3] = {kThreads, 1, 1};
    unsigned shared = 0;
    size_t bytes = kBytes;
    size_t shift = 0;
    bool list = false, buffer = true;
    uintptr_t words[3] = {abi::kBufferPointer, abi::kBufferSize, abi::kBufferEnd};
  };
  int launch(const Launch& l, abi::Function function, abi::Stream stream) const {
    alignas(64) uint8_t room[2 * kBytes] = {};
    size_t bytes = l.bytes;
    void* extra[] = {abi::launch_word(l.words[0]), room + l.shift, abi::launch_word(l.words[1]), &bytes,
                     abi::launch_word(l.words[2])};
    void* list[] = {room};
    return hip_api().launch(function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2], l.shared,
                            stream, l.list ? list : nullptr, l.buffer ? extra : nullptr);
  }
  // The function of another image's kernel.
  int launch_of(const Image& image, const Launch& l) const {
    abi::Module module = nullptr;
    abi::Function function = nullptr;
    if (const int code = hip_api().module_load(&module, image.data()); code != 0) return code;
    if (const int code = hip_api().module_function(&function, module, kName); code != 0) return code;
    return launch(l, function, stream_);
  }
  int launch_with(const std::function<void(Launch&)>& change) const {
    Launch l;
    change(l);
    return launch(l, function_, stream_);
  }

  std::vector<Call> machine_calls();
  std::vector<Call> image_calls();
  std::vector<Call> launch_calls();

  inline static Image image_;
  abi::Module module_ = nullptr;
  abi::Function function_ = nullptr;
  void* memory_ = nullptr;
  abi::Stream stream_ = nullptr;
  abi::Event event_ = nullptr, recorded_ = nullptr;
};

std::vector<Call> Calls::machine_calls() {
  const abi::Functions& h = hip_api();
  static uint8_t host[4096];
  auto* const device = static_cast<uint8_t*>(memory_);
  const auto nothing = std::nullopt;
  return {
      {"init", nothing, [&h] { return h.init(0); }},
      {"init with flags", Rule::init_flags, [&h] { return h.init(1); }},
      {"count without a place", Rule::no_place, [&h] { return h.device_count(nullptr); }},
      {"device 1", nothing,
       [&h] {
         const int code = h.set_device(1);
         (void)h.set_device(0);
         return code;
       }},
      {"device 2", Rule::no_device, [&h] { return h.set_device(2); }},
      {"device -1", Rule::no_device, [&h] { return h.set_device(-1); }},
      {"an attribute", Rule::no_attribute,
       [&h] {
         int value = 0;
         return h.device_attribute(&value, 9999, 0);
       }},
      {"a name without room", Rule::no_length,
       [&h] {
         char text[4];
         return h.device_name(text, 0, 0);
       }},
      {"the properties of device 7", Rule::no_device,
       [&h] {
         abi::PropertiesR0600 properties;
         return h.properties(&properties, 7);
       }},
      {"more memory than there is", Rule::too_much_memory,
       [&h] {
         void* at = nullptr;
         return h.allocate(&at, size_t(289) << 30);
       }},
      {"memory that begins elsewhere", Rule::no_memory, [&h, device] { return h.free(device + 16); }},
      {"a copy of all", nothing, [&h, device] { return h.copy(device, host, 4096, abi::kHostToDevice); }},
      {"a copy beyond the end", Rule::copy_range,
       [&h, device] { return h.copy(device + 1, host, 4096, abi::kHostToDevice); }},
      {"a copy from the host, said to be the device", Rule::copy_range,
       [&h] { return h.copy(host + 16, host, 16, abi::kDeviceToHost); }},
      {"a copy from nowhere", Rule::copy_host,
       [&h, device] { return h.copy(device, nullptr, 16, abi::kHostToDevice); }},
      {"a copy that guesses", Rule::copy_direction, [&h, device] { return h.copy(device, host, 16, 4); }},
      {"a fill of all", nothing, [&h, device, this] { return h.set_bytes_async(device, 1, 4096, stream_); }},
      {"a fill beyond the end", Rule::copy_range,
       [&h, device, this] { return h.set_bytes_async(device, 1, 4097, stream_); }},
      {"a stream that does not block", nothing,
       [&h] {
         abi::Stream stream = nullptr;
         return h.stream_create(&stream, abi::kStreamNonBlocking);
       }},
      {"a stream with other flags", Rule::stream_flags,
       [&h] {
         abi::Stream stream = nullptr;
         return h.stream_create(&stream, 2);
       }},
      {"a stream that there is not", Rule::no_stream,
       [&h, this] { return h.stream_synchronize(reinterpret_cast<abi::Stream>(event_)); }},
      {"an event that there is not", Rule::no_event,
       [&h, this] { return h.event_synchronize(reinterpret_cast<abi::Event>(stream_)); }},
      {"the time to an event that was never recorded", Rule::event_not_recorded,
       [&h, this] {
         float ms = 0;
         return h.event_elapsed(&ms, recorded_, event_);
       }},
      {"the time between two", nothing,
       [&h, this] {
         float ms = 0;
         return h.event_elapsed(&ms, recorded_, recorded_);
       }},
  };
}

std::vector<Call> Calls::image_calls() {
  const abi::Functions& h = hip_api();
  const auto nothing = std::nullopt;
  const auto elf = [](size_t at, std::vector<uint8_t> bytes) { return [=] { return load(patched(at, bytes)); }; };
  std::vector<Call> list = {
      {"the image", nothing, [] { return load(image_); }},
      {"no image", Rule::no_image,
       [&h] {
         abi::Module module = nullptr;
         return h.module_load(&module, nullptr);
       }},
      {"another magic", Rule::no_elf, elf(1, {'e'})},
      {"another machine", Rule::other_machine, elf(0x12, {190, 0})},
      {"another system", Rule::other_machine, elf(7, {0})},
      {"version 3", Rule::other_version, elf(8, {1})},
      {"version 4", nothing, elf(8, {2})},
      {"version 7", Rule::other_version, elf(8, {5})},
      {"not linked", Rule::not_linked, elf(0x10, {1, 0})},
      {"for gfx942", Rule::other_chip, elf(0x30, {0x4c})},
      {"for xnack alone", Rule::other_chip, elf(0x31, {0x07})},
      {"for xnack switched off", nothing, elf(0x31, {0x06})},
      {"for sramecc switched off", Rule::other_chip, elf(0x31, {0x09})},
      {"other notes", Rule::no_notes, elf(behind("amdhsa.kernel") - 1, {'x'})},
      {"another descriptor", Rule::no_descriptor, elf(behind("matmul_pingpong_bf16.k") - 1, {'x'})},
      {"less LDS in the descriptor", Rule::descriptor_disagrees, elf(descriptor(), {0, 0, 1, 0})},
      {"fewer arguments in the descriptor", Rule::descriptor_disagrees, elf(descriptor() + 8, {48, 0})},
      {"fewer registers in the descriptor", Rule::descriptor_disagrees, elf(descriptor() + 48, {0xc0})},
      {"on another chip", Rule::other_chip,
       [&h] {
         (void)h.set_device(1);
         const int code = load(image_);
         (void)h.set_device(0);
         return code;
       }},
      {"a kernel", nothing,
       [&h, this] {
         abi::Function function = nullptr;
         return h.module_function(&function, module_, kName);
       }},
      {"a kernel that it has not", Rule::no_symbol,
       [&h, this] {
         abi::Function function = nullptr;
         return h.module_function(&function, module_, "matmul_pingpong_e4m3");
       }},
      {"a kernel without a name", Rule::no_name,
       [&h, this] {
         abi::Function function = nullptr;
         return h.module_function(&function, module_, "");
       }},
      {"a kernel of no module", Rule::no_module,
       [&h] {
         abi::Function function = nullptr;
         return h.module_function(&function, nullptr, kName);
       }},
      {"an attribute of a kernel", nothing,
       [&h, this] {
         int value = 0;
         const int code = h.function_attribute(&value, abi::kFunctionSharedBytes, function_);
         EXPECT_EQ(value, int(kLds));
         return code;
       }},
      {"an attribute of no kernel", Rule::no_function,
       [&h] {
         int value = 0;
         return h.function_attribute(&value, abi::kFunctionSharedBytes, nullptr);
       }},
      {"an attribute that is not used", Rule::no_attribute,
       [&h, this] {
         int value = 0;
         return h.function_attribute(&value, 4, function_);
       }},
  };
  return list;
}

std::vector<Call> Calls::launch_calls() {
  const abi::Functions& h = hip_api();
  std::vector<Call> list;
  const auto add = [&](const char* name, std::optional<Rule> broken, std::function<void(Launch&)> change) {
    list.push_back({name, broken, [this, change] { return launch_with(change); }});
  };
  add("a launch", std::nullopt, [](Launch&) {});
  add("no workgroups", Rule::grid_empty, [](Launch& l) { l.grid[1] = 0; });
  add("2^16 workgroups along y", std::nullopt, [](Launch& l) { l.grid[1] = 65536; });
  add("2^16 + 1 workgroups along y", Rule::grid_extent, [](Launch& l) { l.grid[1] = 65537; });
  add("2^31 workgroups", Rule::grid_extent, [](Launch& l) { l.grid[0] = 1u << 31; });
  add("2^32 - 512 work-items", std::nullopt, [](Launch& l) { l.grid[0] = (1u << 23) - 1; });
  add("2^32 work-items", Rule::work_items, [](Launch& l) { l.grid[0] = 1u << 23; });
  add("no threads", Rule::block_empty, [](Launch& l) { l.block[2] = 0; });
  add("1025 threads", Rule::block_threads, [](Launch& l) { l.block[0] = 1025; });
  add("513 threads of a kernel for 512", Rule::kernel_threads, [](Launch& l) { l.block[0] = kThreads + 1; });
  add("1024 threads of a kernel for 512", Rule::kernel_threads, [](Launch& l) { l.block[1] = 2; });
  add("all of the LDS", std::nullopt, [](Launch& l) { l.shared = kLdsOfChip - kLds; });
  add("a byte more LDS", Rule::lds, [](Launch& l) { l.shared = kLdsOfChip - kLds + 1; });
  add("arguments one by one", std::nullopt, [](Launch& l) { l.list = true, l.buffer = false; });
  add("arguments twice", Rule::both_lists, [](Launch& l) { l.list = true; });
  add("no arguments", Rule::no_arguments, [](Launch& l) { l.buffer = false; });
  add("the size before the buffer", Rule::buffer_words, [](Launch& l) { std::swap(l.words[0], l.words[1]); });
  add("a list without an end", Rule::buffer_words, [](Launch& l) { l.words[2] = 0; });
  add("a buffer that is too short", Rule::buffer_bytes, [](Launch& l) { l.bytes = kBytes - 8; });
  add("a buffer that is too long", Rule::buffer_bytes, [](Launch& l) { l.bytes = kBytes + 8; });
  add("a buffer at a multiple of 8", std::nullopt, [](Launch& l) { l.shift = 8; });
  add("a buffer at a multiple of 4", Rule::buffer_alignment, [](Launch& l) { l.shift = 4; });
  list.push_back({"no kernel", Rule::no_function, [this] { return launch({}, nullptr, stream_); }});
  list.push_back({"no such stream", Rule::no_stream,
                  [this] { return launch({}, function_, reinterpret_cast<abi::Stream>(event_)); }});
  list.push_back({"on another device", Rule::other_device, [&h, this] {
                    (void)h.set_device(1);
                    const int code = launch({}, function_, stream_);
                    (void)h.set_device(0);
                    return code;
                  }});
  // 256 registers for two waves on a SIMD are all; the next granule is too much.
  const auto with_registers = [this](uint8_t granules) {
    const size_t at = descriptor() + 48;
    const uint8_t word = uint8_t((image_[at] & 0xc0) | (granules - 1));
    return [this, at, word] { return launch_of(patched(at, {word}), {}); };
  };
  list.push_back({"256 registers", std::nullopt, with_registers(32)});
  list.push_back({"264 registers", Rule::registers, with_registers(33)});
  list.push_back(
      {"waves of 32", Rule::other_wave, [this] { return launch_of(patched(behind(".wavefront_size"), {32}), {}); }});
  return list;
}

void expect_answers(const std::vector<Call>& calls, std::set<Rule>& broken) {
  for (const Call& call : calls) {
    (void)recorded::lines();
    const int code = call.make();
    EXPECT_EQ(code, call.broken ? text_of(*call.broken).code : 0) << call.name;
    std::string rule;
    for (const auto& line : recorded::lines())
      if (line.contains("rule")) rule = line["rule"];
    EXPECT_EQ(rule, call.broken ? text_of(*call.broken).sentence : "") << call.name;
    if (call.broken) broken.insert(*call.broken);
  }
}

TEST_F(Calls, areAnsweredByTheRulesAndEveryRuleIsBrokenOnce) {
  std::set<Rule> broken;
  expect_answers(machine_calls(), broken);
  expect_answers(image_calls(), broken);
  expect_answers(launch_calls(), broken);
  for (const Rule rule : hip_recorder::all_rules())
    EXPECT_EQ(broken.count(rule), 1u) << "no call breaks: " << text_of(rule).sentence;
}

// What the recorder writes of a launch is what it was given.
TEST_F(Calls, aLaunchIsWrittenDownWithItsArguments) {
  CdnaMatmulArgs args;
  args.a = {static_cast<const uint8_t*>(memory_) + 256};
  args.m = 7;
  size_t bytes = sizeof args;
  void* extra[] = {abi::launch_word(1), &args, abi::launch_word(2), &bytes, abi::launch_word(3)};
  (void)recorded::lines();
  ASSERT_EQ(hip_api().launch(function_, 3, 1, 1, kThreads, 1, 1, 64, stream_, nullptr, extra), 0);
  const auto launches = recorded::launches(recorded::lines());
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0]["kernel"], kName);
  EXPECT_EQ(launches[0]["target"], "gfx950");
  EXPECT_EQ(launches[0]["grid"], nlohmann::json({3, 1, 1}));
  EXPECT_EQ(launches[0]["block"], nlohmann::json({kThreads, 1, 1}));
  EXPECT_EQ(launches[0]["shared_bytes"], kLds + 64);
  const auto& arguments = launches[0]["arguments"];
  ASSERT_EQ(arguments["addresses"].size(), 1u);
  EXPECT_EQ(arguments["addresses"][0]["at"], 0);
  EXPECT_EQ(arguments["addresses"][0]["offset"], 256);
  const std::string text = arguments["bytes"];
  EXPECT_EQ(text.size(), 2 * sizeof args);
  EXPECT_EQ(text.substr(0, 16), "0000000000000000");
  EXPECT_EQ(text.substr(48, 8), "07000000");
}

}  // namespace
}  // namespace warpwright
