// The element types of operands, results and scale factors, as values and as the words users write.
#pragma once
#include "warpwright/core/std.h"
#include "warpwright/core/word_enum.h"

namespace warpwright {

// Element types. name(DType) gives the word that the tool and Python use.
WW_WORDS(DType, kDTypes, WW_DTYPES)

// How many element types there are.
inline constexpr int kDTypeCount = sizeof(kDTypes);

// Bits of one element in memory: tf32 occupies a 32-bit word, ue4m3 a byte whose top bit is zero.
WW_HD constexpr int bits(DType type) {
  switch (type) {
    case DType::tf32:
    case DType::fp32:
      return 32;
    case DType::bf16:
    case DType::fp16:
      return 16;
    case DType::e2m1:
      return 4;
    case DType::e4m3:
    case DType::e5m2:
    case DType::ue8m0:
    case DType::ue4m3:
    case DType::s8:
      break;
  }
  return 8;
}

namespace detail {
WW_HD constexpr bool same_word(const char* a, const char* b) {
  for (; *a != '\0' && *a == *b; ++a, ++b) {
  }
  return *a == *b;
}
}  // namespace detail

// False, and `type` untouched, for a word that names no type. "fp8" means e4m3; "f16" and "f32" are the PTX spellings.
WW_HD constexpr bool parse_dtype(const char* word, DType& type) {
  if (word == nullptr) return false;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (detail::same_word(word, name(DType(i)))) {
      type = DType(i);
      return true;
    }
  }
  if (detail::same_word(word, "fp8")) {
    type = DType::e4m3;
  } else if (detail::same_word(word, "f16")) {
    type = DType::fp16;
  } else if (detail::same_word(word, "f32")) {
    type = DType::fp32;
  } else {
    return false;
  }
  return true;
}

// Storage types; core/numeric.h defines them. float stores fp32, int8_t stores s8.
struct bf16;
struct fp16;
struct tf32;
struct e4m3;
struct e5m2;
struct e2m1;
struct ue8m0;
struct ue4m3;

namespace detail {
template <DType D, class T>
struct DTypePair {
  static constexpr DType dtype = D;
  using type = T;
};
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bf16> : DTypePair<DType::bf16, bf16> {};
template <>
struct DTypeOf<fp16> : DTypePair<DType::fp16, fp16> {};
template <>
struct DTypeOf<tf32> : DTypePair<DType::tf32, tf32> {};
template <>
struct DTypeOf<float> : DTypePair<DType::fp32, float> {};
template <>
struct DTypeOf<e4m3> : DTypePair<DType::e4m3, e4m3> {};
template <>
struct DTypeOf<e5m2> : DTypePair<DType::e5m2, e5m2> {};
template <>
struct DTypeOf<e2m1> : DTypePair<DType::e2m1, e2m1> {};
template <>
struct DTypeOf<ue8m0> : DTypePair<DType::ue8m0, ue8m0> {};
template <>
struct DTypeOf<ue4m3> : DTypePair<DType::ue4m3, ue4m3> {};
template <>
struct DTypeOf<int8_t> : DTypePair<DType::s8, int8_t> {};

template <DType D>
struct StorageOf;
template <>
struct StorageOf<DType::bf16> : DTypeOf<bf16> {};
template <>
struct StorageOf<DType::fp16> : DTypeOf<fp16> {};
template <>
struct StorageOf<DType::tf32> : DTypeOf<tf32> {};
template <>
struct StorageOf<DType::fp32> : DTypeOf<float> {};
template <>
struct StorageOf<DType::e4m3> : DTypeOf<e4m3> {};
template <>
struct StorageOf<DType::e5m2> : DTypeOf<e5m2> {};
template <>
struct StorageOf<DType::e2m1> : DTypeOf<e2m1> {};
template <>
struct StorageOf<DType::ue8m0> : DTypeOf<ue8m0> {};
template <>
struct StorageOf<DType::ue4m3> : DTypeOf<ue4m3> {};
template <>
struct StorageOf<DType::s8> : DTypeOf<int8_t> {};
}  // namespace detail

// What a product of such operands is stored as when nothing else is asked for.
WW_HD constexpr DType usual_result(DType operands) {
  switch (operands) {
    case DType::e4m3:
    case DType::e5m2:
    case DType::e2m1:
      return DType::bf16;
    case DType::tf32:
    case DType::s8:
      return DType::fp32;
    default:
      return operands;
  }
}

// The DType of a storage type.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<T>::dtype;

// The storage type of a DType.
template <DType D>
using storage_t = typename detail::StorageOf<D>::type;

}  // namespace warpwright
