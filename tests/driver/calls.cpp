#include "driver/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "gpu/driver.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "warpwright/core/address.h"

namespace warpwright::recorded {
namespace {

namespace abi = gpu::abi;

constexpr unsigned kOptIn = 232448;  // bytes of shared memory that a block of compute capability 9.0 may have
constexpr unsigned kUsual = 49152;
constexpr unsigned kStatic = 16384;
constexpr unsigned kBound = 256;

// Kernels that do nothing: with launch bounds, without, and with shared memory of its own.
constexpr const char* kPtx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry bounded(.param .align 8 .b8 bounded_0[64]) .maxntid 256, 1, 1 { ret; }
.visible .entry unbounded(.param .u64 unbounded_0) { ret; }
.visible .entry with_shared(.param .u64 with_shared_0) {
  .shared .align 16 .b8 own[16384];
  .reg .u32 %a;
  mov.u32 %a, own;
  st.volatile.shared.u32 [%a], %a;
  ret;
}
)";

}  // namespace

class CallFixture {
 public:
  CallFixture() : memory(1 << 16) {
    const abi::Functions& cu = gpu::driver();
    gpu::require(cu.library_load(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), "loading the kernels");
    gpu::require(cu.library_kernel(&bounded, library, "bounded"), "finding a kernel");
    gpu::require(cu.library_kernel(&unbounded, library, "unbounded"), "finding a kernel");
    gpu::require(cu.library_kernel(&with_shared, library, "with_shared"), "finding a kernel");
  }
  abi::Library library = nullptr;
  abi::KernelHandle bounded = nullptr, unbounded = nullptr, with_shared = nullptr;
  gpu::DeviceMemory memory;
  gpu::Stream stream;
};

namespace {

using Fixture = std::shared_ptr<const CallFixture>;

// ---- tensor maps

// 1024 x 512 of bf16 in boxes of 64 x 64: accepted as it is.
struct Tensor {
  int type = abi::kTypeBfloat16;
  uint32_t rank = 2;
  uint64_t shift = 0;  // of the address
  bool null = false;
  std::array<uint64_t, 7> dims = {512, 1024, 4, 4, 4, 4, 4};
  std::array<uint64_t, 6> strides = {1024, 1024 * 1024, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
  std::array<uint32_t, 7> box = {64, 64, 1, 1, 1, 1, 1};
  std::array<uint32_t, 7> steps = {1, 1, 1, 1, 1, 1, 1};
  int interleave = 0, swizzle = 3, promotion = 3, fill = 0;
  size_t map_shift = 0;

  int encode(const CallFixture& f, void* map) const {
    return gpu::driver().encode_tiled(map, type, rank, null ? nullptr : f.memory.data() + shift, dims.data(),
                                      strides.data(), box.data(), steps.data(), interleave, swizzle, promotion, fill);
  }
  int encode(const CallFixture& f) const {
    alignas(128) uint8_t room[256];
    return encode(f, room + map_shift);
  }
};

class List {
 public:
  explicit List(Fixture fixture) : fixture_(std::move(fixture)) {}
  void tensor(std::string name, bool accepted, const Tensor& t) {
    list.push_back({"tensor map: " + std::move(name), accepted, [f = fixture_, t] { return t.encode(*f); }});
  }
  void call(std::string name, bool accepted, std::function<int(const CallFixture&)> make) {
    list.push_back({std::move(name), accepted, [f = fixture_, make = std::move(make)] { return make(*f); }});
  }
  std::vector<Call> list;

 private:
  Fixture fixture_;
};

void add_types(List& to) {
  constexpr int bits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32};
  for (int type = 0; type < 13; ++type) {
    Tensor t;
    t.type = type;
    t.box[0] = uint32_t(1024 / bits[type]);
    t.dims[0] = 4 * t.box[0];
    to.tensor(fmt::format("type {}", type), true, t);
    t.fill = 1;
    to.tensor(fmt::format("type {} filled with NaN", type), type >= 6, t);
  }
  for (const int type : {-1, 16, 100}) {
    Tensor t;
    t.type = type;
    to.tensor(fmt::format("type {}", type), false, t);
  }
}

void add_ranks_and_addresses(List& to) {
  for (const uint32_t rank : {0u, 1u, 3u, 4u, 5u, 6u, 7u}) {
    Tensor t;
    t.rank = rank;
    to.tensor(fmt::format("rank {}", rank), rank >= 1 && rank <= 5, t);
  }
  for (const uint64_t shift : {1, 2, 4, 8, 12, 16, 24, 32, 48}) {
    Tensor t;
    t.shift = shift;
    to.tensor(fmt::format("an address shifted by {}", shift), shift % 16 == 0, t);
  }
  for (const size_t shift : {8, 16, 32, 64}) {
    Tensor t;
    t.map_shift = shift;
    to.tensor(fmt::format("a map shifted by {}", shift), true, t);  // 64 is the kernel's business
  }
}

void add_extents(List& to) {
  constexpr uint64_t most = uint64_t(1) << 32;
  for (const size_t i : {0, 1}) {
    for (const uint64_t extent : {uint64_t(0), uint64_t(1), uint64_t(63), most, most + 1}) {
      Tensor t;
      t.dims[i] = extent;
      to.tensor(fmt::format("extent {} is {}", i, extent), extent >= 1 && extent <= most, t);
    }
    for (const uint32_t extent : {0u, 1u, 7u, 8u, 12u, 24u, 256u, 257u}) {
      Tensor t;
      t.swizzle = 0;
      t.box[i] = extent;
      const bool whole = i == 1 || extent % 8 == 0;
      to.tensor(fmt::format("box extent {} is {}", i, extent), extent >= 1 && extent <= 256 && whole, t);
    }
    for (const uint32_t step : {0u, 2u, 8u, 9u}) {
      Tensor t;
      t.steps[i] = step;
      to.tensor(fmt::format("step {} is {}", i, step), step >= 1 && step <= 8, t);
    }
  }
  for (const uint64_t stride : {uint64_t(8), uint64_t(24), uint64_t(1000), uint64_t(1040), uint64_t(4096),
                                (uint64_t(1) << 40) - 16, uint64_t(1) << 40, uint64_t(1) << 41}) {
    Tensor t;
    t.strides[0] = stride;
    to.tensor(fmt::format("a stride of {}", stride), stride % 16 == 0 && stride < uint64_t(1) << 40, t);
  }
}

// Gates and ups of a matrix [gates; ups] in turn, as launch::in_pairs() has them: neither is a stride a multiple of the
// one before nor do they grow, which the text of cuda.h asks for and its rules do not.
void add_pairs(List& to) {
  for (const uint64_t unit : {1, 8}) {
    Tensor t;
    t.rank = 4;
    t.dims = {512, unit, 2, 512 / unit};
    t.strides = {1024, 512 * 1024, unit * 1024};
    t.box = {64, uint32_t(unit), 2, uint32_t(64 / (2 * unit))};
    to.tensor(fmt::format("pairs of {}", unit), true, t);
    t.rank = 5;
    t.dims[4] = 3;
    t.strides[3] = 1024 * 1024;
    t.box[4] = 1;
    to.tensor(fmt::format("a batch of pairs of {}", unit), true, t);
    t.strides[1] = 1040;  // a row that is shared by gates and ups
    to.tensor(fmt::format("pairs of {} that overlap", unit), true, t);
  }
  Tensor t;
  t.rank = 3;
  t.strides[1] = 0;
  to.tensor("a stride of 0", true, t);
}

void add_layouts(List& to) {
  constexpr uint32_t spans[] = {1024, 32, 64, 128, 0};  // the last is Blackwell's
  for (int swizzle = 0; swizzle < 5; ++swizzle) {
    for (const uint32_t bytes : {16u, 32u, 64u, 128u, 256u}) {
      Tensor t;
      t.swizzle = swizzle;
      t.box[0] = bytes / 2;
      to.tensor(fmt::format("swizzle {} and {} bytes", swizzle, bytes), bytes <= spans[swizzle], t);
    }
  }
  for (const int swizzle : {-1, 7, 50}) {
    Tensor t;
    t.swizzle = swizzle;
    to.tensor(fmt::format("swizzle {}", swizzle), false, t);
  }
  for (const int interleave : {-1, 1, 2, 3}) {
    for (const uint32_t rank : {2u, 3u}) {
      for (const int swizzle : {0, 1}) {
        Tensor t;
        t.interleave = interleave;
        t.rank = rank;
        t.swizzle = swizzle;
        t.box[0] = 8;
        const bool known = (interleave == 1 || interleave == 2) && rank == 3;
        to.tensor(fmt::format("interleave {}, rank {}, swizzle {}", interleave, rank, swizzle), known, t);
      }
    }
  }
  for (const int promotion : {-1, 0, 1, 2, 4}) {
    Tensor t;
    t.promotion = promotion;
    to.tensor(fmt::format("L2 promotion {}", promotion), promotion >= 0 && promotion <= 3, t);
  }
  for (const int fill : {-1, 2}) {
    Tensor t;
    t.fill = fill;
    to.tensor(fmt::format("fill {}", fill), false, t);
  }
}

void add_replacements(List& to) {
  for (const uint64_t shift : {0, 1, 8, 16, 24, 32}) {
    to.call(fmt::format("an address replaced by one shifted by {}", shift), shift % 16 == 0,
            [shift](const CallFixture& f) {
              alignas(64) TensorMap map;
              if (const int r = Tensor{}.encode(f, &map); r != 0) return r;
              return gpu::driver().replace_address(&map, f.memory.data() + shift);
            });
  }
}

// ---- launches

struct Launch {
  enum class Kernel : uint8_t { bounded, unbounded, with_shared };
  Kernel kernel = Kernel::unbounded;
  unsigned grid[3] = {4, 1, 1};
  unsigned block[3] = {32, 1, 1};
  unsigned shared = 0;
  int allowed = -1;  // dynamic shared bytes that the kernel is told of; -1: it is not told
  bool any_cluster = false;
  std::vector<abi::LaunchAttribute> attributes = {};
  bool extra = false;

  Launch& cluster(unsigned x, unsigned y = 1, unsigned z = 1) {
    abi::LaunchAttribute a = {};
    a.id = abi::kLaunchClusterDimension;
    a.value.cluster = {x, y, z};
    attributes.push_back(a);
    return *this;
  }

  int make(const CallFixture& f) const {
    const abi::Functions& cu = gpu::driver();
    const abi::KernelHandle handle = kernel == Kernel::bounded     ? f.bounded
                                     : kernel == Kernel::unbounded ? f.unbounded
                                                                   : f.with_shared;
    const auto tell = [&](int attribute, int value) { return cu.kernel_attribute(attribute, value, handle, 0); };
    if (allowed >= 0) {
      if (const int r = tell(abi::kFunctionMaxDynamicSharedBytes, allowed); r != 0) return r;
    }
    if (any_cluster) {
      if (const int r = tell(abi::kFunctionNonPortableClusterSize, 1); r != 0) return r;
    }
    std::vector<abi::LaunchAttribute> list = attributes;
    abi::LaunchConfig config = {
        {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, f.stream.get(), list.data(),
        unsigned(list.size())};
    uint8_t bytes[64] = {};
    void* arguments[] = {bytes};
    void* none[] = {nullptr};
    const int answer = cu.launch(&config, handle, arguments, extra ? none : nullptr);
    if (any_cluster) (void)tell(abi::kFunctionNonPortableClusterSize, 0);
    if (allowed >= 0) (void)tell(abi::kFunctionMaxDynamicSharedBytes, 0);
    f.stream.synchronize();
    return answer;
  }
};

void add(List& to, std::string name, bool accepted, const Launch& launch) {
  to.call("launch: " + std::move(name), accepted, [launch](const CallFixture& f) { return launch.make(f); });
}

void add_grids(List& to) {
  for (int i = 0; i < 3; ++i) {
    for (const unsigned extent : {0u, 65535u, 65536u, 1u << 31}) {
      Launch l;
      l.grid[i] = extent;
      add(to, fmt::format("grid {} is {}", i, extent), extent > 0 && extent < 1u << 31 && (i == 0 || extent < 65536),
          l);
    }
  }
  for (const unsigned threads : {0u, 1u, kBound, 512u, 1024u, 1025u}) {
    Launch l;
    l.block[0] = threads;
    add(to, fmt::format("{} threads", threads), threads >= 1 && threads <= 1024, l);
    l.kernel = Launch::Kernel::bounded;
    add(to, fmt::format("{} threads with bounds of {}", threads, kBound), threads >= 1 && threads <= kBound, l);
  }
  const unsigned blocks[][3] = {{1, 1024, 1}, {1, 1025, 1}, {1, 1, 64}, {1, 1, 65},
                                {32, 32, 1},  {32, 33, 1},  {8, 8, 17}};
  const bool accepted[] = {true, false, true, false, true, false, false};
  for (size_t i = 0; i < std::size(blocks); ++i) {
    Launch l;
    std::copy_n(blocks[i], 3, l.block);
    add(to, fmt::format("a block of {}x{}x{}", l.block[0], l.block[1], l.block[2]), accepted[i], l);
  }
}

void add_shared(List& to) {
  using Kernel = Launch::Kernel;
  for (const Kernel kernel : {Kernel::unbounded, Kernel::with_shared}) {
    const unsigned own = kernel == Kernel::with_shared ? kStatic : 0;
    const char* const words = own > 0 ? "beside 16 KiB of its own" : "alone";
    for (const unsigned shared : {kUsual - own, kUsual - own + 1, kUsual + 1}) {
      Launch l;
      l.kernel = kernel;
      l.shared = shared;
      add(to, fmt::format("{} shared bytes, {}", shared, words), shared <= kUsual - own, l);
    }
    for (const unsigned allowed : {100000u, kOptIn - own, kOptIn - own + 1, kOptIn + 1024}) {
      for (const unsigned more : {0u, 1u}) {
        Launch l;
        l.kernel = kernel;
        l.allowed = int(allowed);
        l.shared = allowed + more;
        add(to, fmt::format("{} shared bytes where {} are allowed, {}", l.shared, allowed, words),
            allowed <= kOptIn - own && more == 0, l);
      }
    }
  }
  for (const int id : {-1, 3, 200}) {
    to.call(fmt::format("kernel attribute {}", id), false,
            [id](const CallFixture& f) { return gpu::driver().kernel_attribute(id, 1, f.unbounded, 0); });
  }
  to.call("a negative number of shared bytes", false, [](const CallFixture& f) {
    return gpu::driver().kernel_attribute(abi::kFunctionMaxDynamicSharedBytes, -2, f.unbounded, 0);
  });
  to.call("a kernel attribute on device 99", false, [](const CallFixture& f) {
    return gpu::driver().kernel_attribute(abi::kFunctionMaxDynamicSharedBytes, 1024, f.unbounded, 99);
  });
}

void add_clusters(List& to) {
  for (const unsigned cluster : {1u, 2u, 3u, 4u, 7u, 8u, 9u, 12u, 16u, 17u, 32u}) {
    for (const bool any : {false, true}) {
      Launch l;
      l.grid[0] = 2 * cluster;
      l.any_cluster = any;
      l.cluster(cluster);
      add(to, fmt::format("a cluster of {}{}", cluster, any ? ", any size allowed" : ""), cluster <= (any ? 16u : 8u),
          l);
    }
  }
  add(to, "a cluster of 0", false, Launch{}.cluster(0));
  add(to, "a cluster of 3 in a grid of 4", false, Launch{}.cluster(3));
  add(to, "a cluster of 8 in a grid of 4", false, Launch{}.cluster(8));
  add(to, "a cluster of 1x2 in a grid of 4x1", false, Launch{}.cluster(1, 2));
  Launch flat;
  flat.grid[1] = 2;
  add(to, "a cluster of 2x2 in a grid of 4x2", true, flat.cluster(2, 2));
}

void add_attributes(List& to) {
  for (const int id : {-1, 100, 10000}) {
    Launch l;
    l.attributes.push_back({});
    l.attributes[0].id = id;
    add(to, fmt::format("attribute {}", id), false, l);
  }
  for (const int value : {0, 1}) {
    Launch l;
    l.attributes.push_back({});
    l.attributes[0].id = abi::kLaunchProgrammaticStreamSerialization;
    l.attributes[0].value.programmatic_stream_serialization = value;
    add(to, fmt::format("an early start: {}", value), true, l);
  }
  Launch both;
  both.extra = true;
  add(to, "arguments by a list and in a buffer", true, both);
}

void add_images(List& to) {
  const auto load = [](const char* image) {
    return [image](const CallFixture&) {
      abi::Library library = nullptr;
      const int answer = gpu::driver().library_load(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
      if (answer == 0) (void)gpu::driver().library_unload(library);
      return answer;
    };
  };
  // It is compiled when a kernel is asked for.
  to.call("an image of words", true, load("these are words and no image, and there are some of them\n"));
  to.call("an image of PTX for this chip", true,
          load(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"));
  to.call("an image of PTX for an older chip", true,
          load(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"));
  for (const char* const name : {"", "nothing", "bounde", "bounded"}) {
    to.call(fmt::format("the kernel \"{}\"", name), std::strcmp(name, "bounded") == 0, [name](const CallFixture& f) {
      abi::KernelHandle kernel = nullptr;
      return gpu::driver().library_kernel(&kernel, f.library, name);
    });
  }
}

// A call that is no work of a stream, made while one is captured.
int within_capture(int capture_mode, int thread_mode, const std::function<int(const gpu::Stream&)>& make) {
  const abi::Functions& cu = gpu::driver();
  const gpu::Stream stream;
  abi::Graph graph = nullptr;
  gpu::require(cu.begin_capture(stream.get(), capture_mode), "the begin of a capture");
  (void)cu.exchange_capture_mode(&thread_mode);
  const int answer = make(stream);
  (void)cu.exchange_capture_mode(&thread_mode);
  (void)cu.end_capture(stream.get(), &graph);
  if (graph != nullptr) (void)cu.graph_destroy(graph);
  return answer;
}

void add_captures(List& to) {
  constexpr int global = 0;
  const struct {
    const char* name;
    int capture, thread;
    bool accepted;
  } modes[] = {{"a global capture", global, global, false},
               {"a capture of the thread", abi::kCaptureModeThreadLocal, global, false},
               {"a relaxed capture", abi::kCaptureModeRelaxed, global, true},
               {"a global capture by a relaxed thread", global, abi::kCaptureModeRelaxed, true}};
  for (const auto& mode : modes) {
    const auto add = [&](const char* name, bool accepted, auto make) {
      to.call(fmt::format("{} during {}", name, mode.name), accepted,
              [=](const CallFixture&) { return within_capture(mode.capture, mode.thread, make); });
    };
    add("taking memory", mode.accepted, [](const gpu::Stream&) {
      abi::Pointer at = 0;
      const int answer = gpu::driver().allocate(&at, 256);
      if (answer == 0) (void)gpu::driver().free(at);
      return answer;
    });
    // cuda.h does not say; a driver took it in every mode.
    add("loading an image", true, [](const gpu::Stream&) {
      abi::Library library = nullptr;
      const int answer = gpu::driver().library_load(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0);
      if (answer == 0) (void)gpu::driver().library_unload(library);
      return answer;
    });
  }
}

}  // namespace

std::shared_ptr<const CallFixture> make_fixture() { return std::make_shared<const CallFixture>(); }

std::vector<Call> calls(const std::shared_ptr<const CallFixture>& fixture) {
  List list(fixture);
  add_types(list);
  add_ranks_and_addresses(list);
  add_extents(list);
  add_pairs(list);
  add_layouts(list);
  add_replacements(list);
  add_grids(list);
  add_shared(list);
  add_clusters(list);
  add_attributes(list);
  add_images(list);
  add_captures(list);
  return list.list;
}

}  // namespace warpwright::recorded
