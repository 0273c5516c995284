// LDS: a transposition through memory, by words and by bytes, with the barriers that it needs.
#include "device.h"

LDS_ARRAY unsigned tile[16 * 64];
LDS_ARRAY unsigned char small[1024];

// 256 threads: row r of 64 is written by wave r / 4 and its columns are read by everybody.
KERNEL(256)
exchange(Global<const unsigned> in, Global<unsigned> out) {
  const unsigned t = thread();
  for (unsigned i = 0; i < 4; ++i) tile[i * 256 + t] = in[i * 256 + t];
  __builtin_amdgcn_s_waitcnt(0xc07f);
  __builtin_amdgcn_s_barrier();
  asm volatile("" ::: "memory");
  for (unsigned i = 0; i < 4; ++i) out[i * 256 + t] = tile[(t % 16) * 64 + (t / 16) * 4 + i];
}

// Halves of one word belong to different waves.
KERNEL(128)
bytes(Global<const unsigned char> in, Global<unsigned char> out) {
  const unsigned t = thread();
  // Thread t of wave w writes the bytes with (index / 2) % 2 == w.
  const unsigned lane = t & 63, wave = t >> 6;
  for (unsigned i = 0; i < 2; ++i) small[lane * 4 + wave * 2 + i] = in[lane * 4 + wave * 2 + i];
  __builtin_amdgcn_s_waitcnt(0xc07f);
  __builtin_amdgcn_s_barrier();
  asm volatile("" ::: "memory");
  out[t] = small[255 - t];
  out[128 + t] = small[127 - t];
}

// Wave 0 passes a barrier that wave 1 never reaches.
KERNEL(128)
uneven(Global<unsigned> out) {
  const unsigned t = thread();
  if (__builtin_amdgcn_readfirstlane(t >> 6) == 0) __builtin_amdgcn_s_barrier();
  out[t] = t;
}

// Reads a word of LDS that was never written, and one past the end.
KERNEL(64)
unwritten(Global<unsigned> out, unsigned at) { out[thread()] = tile[thread() + at]; }
