// Which arguments of a kernel hold a raw pointer.
#include "warpwright/core/raw_pointer.h"

#include <gtest/gtest.h>

#include <array>

namespace warpwright {
namespace {

struct Flat {
  int rows;
  float* out;
};
struct Nested {
  int rows;
  Flat part;
};
struct LastOfMany {
  TensorMap a, b;
  int numbers[3];
  const void* lists[2];
};
struct InArrays {
  Nested parts[2];
};
struct Inherits : Flat {
  int columns;
};
struct Wrapped {
  std::array<int*, 2> lists;
};
struct Calls {
  void (*function)(int);
};
struct WithDefaults {
  int rows = 3;
  float* out = nullptr;
};

struct Empty {};
struct Words {
  TensorMap a, b;
  Global<float> out;
  Global<const int> table[2];
  int rows, columns;
  float alpha = 1;
  bool flag;
  Arch arch;
  Index3 grid;
  Vec<float, 4> four;
};
struct NestedWords {
  Empty nothing;
  Words parts[2];
  uint64_t low : 3, high : 5;
};
class Hidden {
 public:
  constexpr Hidden(int* p = nullptr) : p_(p) {}

 private:
  int* p_;
};
struct HasHidden {
  Hidden hidden;
  int rows;
};

TEST(RawPointer, IsFoundAtAnyDepth) {
  EXPECT_TRUE(holds_raw_pointer<float*>());
  EXPECT_TRUE(holds_raw_pointer<const float* const[2]>());
  EXPECT_TRUE(holds_raw_pointer<Flat>());
  EXPECT_TRUE(holds_raw_pointer<const Flat>());
  EXPECT_TRUE(holds_raw_pointer<Nested>());
  EXPECT_TRUE(holds_raw_pointer<LastOfMany>());
  EXPECT_TRUE(holds_raw_pointer<InArrays>());
  EXPECT_TRUE(holds_raw_pointer<Inherits>());
  EXPECT_TRUE(holds_raw_pointer<Wrapped>());
  EXPECT_TRUE(holds_raw_pointer<Calls>());
  EXPECT_TRUE(holds_raw_pointer<WithDefaults>());
}

TEST(RawPointer, IsNotSeenWhereThereIsNone) {
  EXPECT_FALSE(holds_raw_pointer<int>());
  EXPECT_FALSE(holds_raw_pointer<Empty>());
  EXPECT_FALSE(holds_raw_pointer<TensorMap>());
  EXPECT_FALSE(holds_raw_pointer<Words>());
  EXPECT_FALSE(holds_raw_pointer<NestedWords>());
}

// As the header says.
TEST(RawPointer, IsNotSeenInWhatAClassHides) {
  EXPECT_FALSE(holds_raw_pointer<Hidden>());
  EXPECT_FALSE(holds_raw_pointer<HasHidden>());
}

}  // namespace
}  // namespace warpwright
