// A kernel of your own under the checker. A source file that defines
//
//   extern "C" void warpwright_kernels(warpwright::check::Registry& registry) {
//     registry.add<MyKernel>("my_kernel", {{.m = 100, .n = 128}}, arrange);
//   }
//
// is checked by `warpwright check FILE`. `arrange(Arrays&, Shape, MyKernel::Args&)` makes the arrays of one problem,
// says what the kernel must write, fills the arguments, and returns how many CTAs to launch. The same function serves a
// GPU: see check_gpu.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "warpwright/core/block_plan.h"
#include "warpwright/core/numeric.h"
#include "warpwright/core/raw_pointer.h"
#include "warpwright/core/tensor_box.h"
#if WW_IN_SIMULATOR
#include "warpwright/core/call_site.h"
#include "warpwright/sim/addresses.h"
#include "warpwright/sim/simulator.h"
#endif

namespace warpwright::check {

// What the three numbers mean is the kernel's business.
struct Shape {
  int64_t m = 1, n = 1, k = 1;
};

// An array that the kernel reads.
template <class T>
struct Input {
  T* data = nullptr;      // where the kernel finds it
  std::vector<T> values;  // the same on the host, to compute what is expected
};

// The shape of an output, for the report of what is wrong in it: the columns of a row, and the tile that a block
// computes at a time. 0: unknown.
struct Tiling {
  int64_t columns = 0;
  int64_t tile_rows = 0, tile_columns = 0;
};

// How far an element of an output may be from what is expected: `absolute`, and `relative` times what is expected.
// Where nothing is said it must be equal to the bit.
struct Tolerance {
  double absolute = 0, relative = 0;
  bool exact() const { return absolute == 0 && relative == 0; }
};

// The arrays of one problem, in the memory of whatever runs the kernel. Inputs are whole numbers unless they are given,
// so that sums are exact; outputs start as NaN, all bits set.
class Arrays {
 public:
  explicit Arrays(uint64_t seed) : state_(seed) {}
  virtual ~Arrays() = default;
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  // `count` is of any whole type, so that {5} is a list of values.
  template <class T, class Count>
  requires(std::is_integral_v<Count>) Input<T> input(std::string name, Count count) {
    Input<T> in;
    if (count < 0)
      throw std::invalid_argument("input '" + name + "' has " + std::to_string(count) + " elements: at least 0");
    std::vector<T> values(static_cast<size_t>(count));
    for (T& value : values) value = drawn<T>();
    return input(std::move(name), std::move(values));
  }
  // The same with values of one's own: a table, indices, keys.
  template <class T>
  Input<T> input(std::string name, std::vector<T> values) {
    Input<T> in;
    in.data = static_cast<T*>(add(std::move(name), Use::input, bytes_of(values), {}));
    in.values = std::move(values);
    return in;
  }

  // An array that the kernel writes; it has at least one. To read an element that it has not written is a finding.
  template <class T>
  T* output(std::string name, const std::vector<T>& expected, Tiling tiling = {}, Tolerance tolerance = {}) {
    std::vector<std::byte> nothing(expected.size() * sizeof(T), std::byte(0xff));
    return compared<T>(add(std::move(name), Use::output, std::move(nothing), bytes_of(expected)), tiling, tolerance);
  }
  // An array that the kernel reads and writes: what it adds to, counters, flags. It begins as `initial` and must end as
  // `expected`; a counter that the next launch uses again ends as it began.
  template <class T>
  T* in_out(std::string name, const std::vector<T>& initial, const std::vector<T>& expected, Tiling tiling = {},
            Tolerance tolerance = {}) {
    if (initial.size() != expected.size())
      throw std::invalid_argument("in_out '" + name + "' begins with " + std::to_string(initial.size()) +
                                  " elements and ends with " + std::to_string(expected.size()) + ": as many.");
    return compared<T>(add(std::move(name), Use::in_out, bytes_of(initial), bytes_of(expected)), tiling, tolerance);
  }
  // Memory for the kernel's own use: what it leaves there is not looked at. To read an element that it has not written
  // is a finding; where `initial` is given, all are there from the start.
  template <class T, class Count>
  requires(std::is_integral_v<Count>) T* workspace(std::string name, Count count) {
    if (count < 0)
      throw std::invalid_argument("workspace '" + name + "' has " + std::to_string(count) + " elements: at least 0");
    return static_cast<T*>(
        add(std::move(name), Use::output, std::vector<std::byte>(size_t(count) * sizeof(T), std::byte(0xff)), {}));
  }
  template <class T>
  T* workspace(std::string name, const std::vector<T>& initial) {
    return static_cast<T*>(add(std::move(name), Use::in_out, bytes_of(initial), {}));
  }

  // The kernel ahead on the stream still writes this array when a dependent launch begins: it may be touched only after
  // grid_dependency_wait. Arrays that are not named are there from the start.
  void of_kernel_ahead(const void* data) {
    for (Array& array : arrays_) {
      if (array.data != data) continue;
      array.of_kernel_ahead = true;
      return;
    }
    throw std::invalid_argument("of_kernel_ahead was given an address at which no array begins");
  }
  bool behind_a_kernel() const {
    for (const Array& array : arrays_)
      if (array.of_kernel_ahead) return true;
    return false;
  }

  // A tensor map of a row-major matrix; what cannot be mapped is reported as a refused problem.
  void map(TensorMap& map, const TensorBox& box, const void* data, int64_t rows, int64_t columns) {
    if (auto why = encode(map, box, const_cast<void*>(data), rows, columns); why && refusal_.empty()) refusal_ = *why;
  }
  void refuse(std::string why) { refusal_ = std::move(why); }

  enum class Use : uint8_t { input, output, in_out };
  struct Array {
    std::string name;
    Use use = Use::input;
    bool of_kernel_ahead = false;
    std::vector<std::byte> initial, expected;
    size_t element = 1;
    void* data = nullptr;
    std::string (*text)(const std::byte* element) = nullptr;  // what is compared only: a number as people read it
    double (*number)(const std::byte* element) = nullptr;     // the same as a number
    Tiling tiling;
    Tolerance tolerance;
    bool output() const { return !expected.empty(); }
  };
  const std::vector<Array>& all() const { return arrays_; }
  const std::string& refusal() const { return refusal_; }

 protected:
  virtual void* place(const std::vector<std::byte>& initial) = 0;
  virtual std::optional<std::string> encode(TensorMap& map, const TensorBox& box, void* data, int64_t rows,
                                            int64_t columns) = 0;

 private:
  template <class T>
  static std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }

  template <class T>
  T drawn() {
    const int whole = int(draw() % 7);
    if constexpr (std::is_unsigned_v<T>) {
      return T(whole);
    } else if constexpr (std::is_integral_v<T>) {
      return T(whole - 3);
    } else if constexpr (std::is_same_v<T, double>) {
      return whole - 3;
    } else {
      return from_float<T>(float(whole - 3));
    }
  }

  template <class T>
  T* compared(void* data, Tiling tiling, Tolerance tolerance) {
    Array& array = arrays_.back();
    array.element = sizeof(T);
    array.text = text_of<T>;
    array.number = number_of<T>;
    array.tiling = tiling;
    array.tolerance = tolerance;
    return static_cast<T*>(data);
  }

  template <class T>
  static double number_of(const std::byte* element) {
    T value;
    std::memcpy(&value, element, sizeof(T));
    if constexpr (std::is_arithmetic_v<T>) {
      return double(value);
    } else {
      return double(to_float(value));
    }
  }

  template <class T>
  static std::string text_of(const std::byte* element) {
    T value;
    std::memcpy(&value, element, sizeof(T));
    if constexpr (std::is_integral_v<T>) {
      return std::to_string(value);
    } else {
      char text[32];
      std::snprintf(text, sizeof(text), "%.9g", number_of<T>(element));
      return text;
    }
  }

  void* add(std::string name, Use use, std::vector<std::byte> initial, std::vector<std::byte> expected) {
    void* const data = place(initial);
    Array& array = arrays_.emplace_back();
    array.name = std::move(name);
    array.use = use;
    array.initial = std::move(initial);
    array.expected = std::move(expected);
    array.data = data;
    return data;
  }

  uint64_t draw() {  // SplitMix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (z ^ (z >> 31)) >> 8;
  }

  uint64_t state_;
  std::vector<Array> arrays_;
  std::string refusal_;
};

// Elements of an output that are not what they should be; `actual` is a copy of the array in host memory.
struct Differences {
  uint64_t wrong = 0, unwritten = 0;
  // For people to read: what is wrong in one sentence; then the first wrong elements with what was expected and what
  // was found, and where all of them lie.
  std::string sentence;
  std::vector<std::string> details;
  bool none() const { return wrong + unwritten == 0; }
};
// Compares an output with what was expected.
inline Differences compare(const Arrays::Array& array, const std::byte* actual) {
  constexpr size_t shown = 4;
  Differences d;
  const Tiling& tiling = array.tiling;
  const int64_t columns = tiling.columns > 0 ? tiling.columns : int64_t(array.expected.size() / array.element) + 1;
  int64_t low_row = INT64_MAX, high_row = -1, low_column = INT64_MAX, high_column = -1;
  const auto both = [&](int64_t row, int64_t column) {
    return tiling.columns > 0 ? std::to_string(row) + ", " + std::to_string(column) : std::to_string(column);
  };
  for (size_t at = 0; at < array.expected.size(); at += array.element) {
    if (std::memcmp(actual + at, array.expected.data() + at, array.element) == 0) continue;
    if (!array.tolerance.exact()) {
      const double expected = array.number(array.expected.data() + at);
      const double allowed =
          array.tolerance.absolute + array.tolerance.relative * (expected < 0 ? -expected : expected);
      const double off = array.number(actual + at) - expected;
      if (-allowed <= off && off <= allowed) continue;
    }
    const bool untouched =
        array.use == Arrays::Use::output && std::memcmp(actual + at, array.initial.data() + at, array.element) == 0;
    ++(untouched ? d.unwritten : d.wrong);
    const int64_t row = int64_t(at / array.element) / columns, column = int64_t(at / array.element) % columns;
    low_row = row < low_row ? row : low_row;
    high_row = row > high_row ? row : high_row;
    low_column = column < low_column ? column : low_column;
    high_column = column > high_column ? column : high_column;
    if (d.details.size() >= shown) continue;
    std::string line = array.name + "[" + both(row, column) + "]";
    if (tiling.tile_rows > 0 && tiling.tile_columns > 0)
      line += " of tile (" + std::to_string(row / tiling.tile_rows) + ", " +
              std::to_string(column / tiling.tile_columns) + ")";
    line += ": expected " + array.text(array.expected.data() + at);
    d.details.push_back(line + (untouched ? ", and it was never written" : ", got " + array.text(actual + at)));
  }
  if (d.none()) return d;
  const uint64_t all = d.wrong + d.unwritten;
  d.sentence = std::to_string(all) + " of " + std::to_string(array.expected.size() / array.element) + " elements of " +
               array.name + " are wrong, " + std::to_string(d.unwritten) + " of them were never written";
  const auto range = [](int64_t low, int64_t high) {
    return low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
  };
  if (all > 1)
    d.details.push_back(
        "they lie in " +
        (tiling.columns > 0 ? "rows " + range(low_row, high_row) + ", columns " : std::string("elements ")) +
        range(low_column, high_column));
  return d;
}

#if WW_IN_SIMULATOR
// Arrays for a run in the simulator. The kernel gets addresses that only its words can follow (sim/addresses.h).
class SimulatedArrays final : public Arrays {
 public:
  using Arrays::Arrays;
  std::vector<simulator::Buffer> buffers() const {
    std::vector<simulator::Buffer> list;
    for (size_t i = 0; i < all().size(); ++i) {
      const Array& a = all()[i];
      list.push_back({a.data, a.initial.size(), a.name, simulated(a.use), a.of_kernel_ahead, memory_[i].get()});
    }
    return list;
  }
  // What the kernel has left in an array.
  const std::byte* contents(size_t index) const { return static_cast<const std::byte*>(memory_[index].get()); }

 private:
  static simulator::Buffer::Use simulated(Use use) {
    switch (use) {
      case Use::input:
        break;
      case Use::output:
        return simulator::Buffer::Use::output;
      case Use::in_out:
        return simulator::Buffer::Use::inout;
    }
    return simulator::Buffer::Use::input;
  }
  static constexpr std::align_val_t kAlignment{256};  // as cudaMalloc
  struct Free {
    void operator()(void* p) const { ::operator delete(p, kAlignment); }
  };
  void* place(const std::vector<std::byte>& initial) override {
    memory_.emplace_back(::operator new(initial.size() + 256, kAlignment));
    if (!initial.empty()) std::memcpy(memory_.back().get(), initial.data(), initial.size());
    addresses_.emplace_back(initial.size());
    return addresses_.back().begin() != nullptr ? addresses_.back().begin() : memory_.back().get();
  }
  std::optional<std::string> encode(TensorMap& map, const TensorBox& box, void* data, int64_t rows,
                                    int64_t columns) override {
    return simulator::encode_tensor_map(box, data, rows, columns, map);
  }
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<simulator::Addresses> addresses_;
};
#endif

// A registered kernel: its name, the shapes it is checked at, its block plan, and how to run it.
struct Kernel {
  std::string name;
  std::vector<Shape> shapes;
  const BlockPlan* plan = nullptr;
#if WW_IN_SIMULATOR
  CallSites sites;  // for all kernels of the file
  // Arranges the problem and runs it; `arrays` then holds what the kernel wrote.
  std::function<simulator::Result(SimulatedArrays& arrays, Shape shape, const simulator::Options& options)> run;
#else
  // Arranges the problem and launches it on the current device; a sentence says why it could not.
  std::function<std::optional<std::string>(Arrays& arrays, Shape shape)> run;
#endif
};

namespace detail {
// Arguments of shipped kernels hold pointers, which nothing but their words follows; whoever registers such a kernel
// with an epilogue did not write them.
template <class Args>
constexpr bool belongs_to_library() {
  return std::string_view(__PRETTY_FUNCTION__).find("Args = warpwright::") != std::string_view::npos;
}
}  // namespace detail

// CTAs of a launch in the simulator, which runs every thread of each.
inline constexpr int kMostCtas = 65'536;

// Collects the kernels of a source file.
class Registry {
 public:
  template <class K>
  using Arrange = int (*)(Arrays& arrays, Shape shape, typename K::Args& args);

  // `shapes` are the ones that reach the kernel's edges.
  template <class K>
  void add(std::string name, std::vector<Shape> shapes, Arrange<K> arrange) {
    static_assert(std::is_trivially_copyable_v<typename K::Args>,
                  "Args is copied to the GPU byte by byte: what has a destructor or a copy of its own, such as a "
                  "vector, cannot be a member; machine code reaches arrays by Global<T>");
    static_assert(detail::belongs_to_library<typename K::Args>() || !holds_raw_pointer<typename K::Args>(),
                  "Args holds a raw pointer, which code could follow without a word: declare the member as Global<T>; "
                  "machine::load and machine::store take it as it is, and arrange can assign the pointer to it");
    Kernel& kernel = kernels_.emplace_back();
    kernel.name = std::move(name);
    kernel.shapes = std::move(shapes);
    kernel.plan = &K::plan;
    kernel.run = runner<K>(arrange);
#if WW_IN_SIMULATOR
    kernel.sites = WW_CALL_SITES_HERE;
#endif
  }

  const std::vector<Kernel>& kernels() const { return kernels_; }

 private:
  template <class K>
  static auto runner(Arrange<K> arrange) {
#if WW_IN_SIMULATOR
    return [arrange](SimulatedArrays& arrays, Shape shape, const simulator::Options& options) -> simulator::Result {
      typename K::Args args{};
      const int ctas = arrange(arrays, shape, args);
      if (ctas < 1) arrays.refuse("arrange returned " + std::to_string(ctas) + " CTAs: a launch has at least 1.");
      if (ctas > kMostCtas) {
        arrays.refuse("arrange returned " + std::to_string(ctas) + " CTAs: the simulator runs at most " +
                      std::to_string(kMostCtas) + ", and tells the same of a smaller shape.");
      }
      if (ctas % K::plan.cluster != 0) {
        arrays.refuse("arrange returned " + std::to_string(ctas) + " CTAs: a multiple of the plan's cluster of " +
                      std::to_string(K::plan.cluster) + ".");
      }
      if (!arrays.refusal().empty()) return {};
      simulator::Options dependent = options;
      dependent.primary_pending |= arrays.behind_a_kernel();
      return simulator::run_kernel<K>(args, {uint32_t(ctas), 1, 1}, arrays.buffers(), dependent);
    };
#else
    return [arrange](Arrays& arrays, Shape shape) -> std::optional<std::string> {
      typename K::Args args{};
      const int ctas = arrange(arrays, shape, args);
      if (!arrays.refusal().empty()) return arrays.refusal();
      return launch<K>(args, unsigned(ctas));
    };
#endif
  }

#if !WW_IN_SIMULATOR
  template <class K>
  static std::optional<std::string> launch(const typename K::Args& args, unsigned ctas);  // check_gpu.h
#endif

  std::vector<Kernel> kernels_;
};

}  // namespace warpwright::check

// What your source file defines; the tool calls it once.
extern "C" void warpwright_kernels(warpwright::check::Registry& registry);
