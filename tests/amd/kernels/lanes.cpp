// Arithmetic, divergence, scalar loads and global memory.
#define MIX_FN __attribute__((always_inline)) static inline
#include "device.h"
#include "mix.h"

KERNEL(128)
mixed(Global<const unsigned> in, Global<const unsigned> table, Global<unsigned> out, unsigned count) {
  const unsigned i = group() * 128 + thread();
  if (i < count) out[i] = mix(in[i], thread() & 63, table);
}

// Narrow accesses and atomics: bytes reversed within 64, and a sum.
KERNEL(64)
narrow(Global<const unsigned char> bytes, Global<const unsigned short> words, Global<unsigned char> out_bytes,
       Global<short> out_words, Global<unsigned> total) {
  const unsigned t = thread();
  out_bytes[63 - t] = bytes[t] + 1;
  out_words[t] = short(words[t] ^ 0x55) + short(bytes[63 - t]);
  __atomic_fetch_add(total, unsigned(bytes[t]), __ATOMIC_RELAXED);
}

// Correctly rounded, as the compiler makes it of three instructions for the purpose.
KERNEL(64) divide(Global<const float> numerators, Global<const float> denominators, Global<float> out) {
  const unsigned i = group() * 64 + thread();
  out[i] = numerators[i] / denominators[i];
}

// What is stored before a counter is visible to the wave that finds it was the last; here nothing orders either.
KERNEL(64) count(Global<unsigned> sums, Global<unsigned> counter, Global<unsigned> out) {
  sums[group() * 64 + thread()] = thread();
  unsigned before = 0;
  if (thread() == 0) before = __builtin_amdgcn_atomic_inc32(counter, 1u, __ATOMIC_RELAXED, "agent");
  before = __builtin_amdgcn_readfirstlane(before);
  if (before != 1) return;
  out[thread()] = sums[thread()] + sums[64 + thread()];
}
