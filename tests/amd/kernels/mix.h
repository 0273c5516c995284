// A function of integers and floats that both the host's compiler and the device's compile; the interpreter must give
// what the host gives, to the bit. Divisions and conversions are those that are exact on both sides.
#pragma once

#ifndef MIX_FN
#define MIX_FN inline
#endif

MIX_FN unsigned rotate(unsigned x, int n) { return x << n | x >> (32 - n); }

template <class Table>
MIX_FN unsigned mix(unsigned x, unsigned lane, Table table) {
  unsigned h = x * 2654435761u + lane;
  // Divergence: lanes leave at different iterations.
  for (unsigned i = 0; i < (x & 7); ++i) {
    h = rotate(h, 5) ^ table[(h >> 3) & 31];
    if (h & 16)
      h += 0x9e3779b9u;
    else
      h ^= h >> 7;
  }
  const int s = int(h) >> 3;
  h += unsigned(s < 0 ? -s : s);
  h = s > 1000 ? h - lane : h + 3 * lane;
  const unsigned long long wide = (unsigned long long)(h) * (x | 1) + ((unsigned long long)(x) << 17);
  h ^= unsigned(wide >> 21) + unsigned(wide);
  const long long sw = (long long)(s) * int(x) - (long long)(h);
  h += unsigned(sw >> 5);
  h = (h & 0x00ff00ffu) << 8 | (h >> 8 & 0x00ff00ffu);
  const unsigned a = h & 0xffff, b = x & 0xffff;
  h += a < b ? b - a : a * b;
  h ^= (unsigned)(unsigned char)(x)*257u + (unsigned)(signed char)(h >> 8);
  // Small integers in floats: every step is exact.
  const float f = float(int(h & 1023)) * 0.25f - 37.0f, g = float(x & 255);
  const float q = f * g + 12.5f;
  const float m = q > 100.0f ? q * 0.5f : -q;
  h ^= unsigned(int(m * 4.0f));
  h += __builtin_popcount(h) + (h ? __builtin_clz(h) : 32) * 3u;
  if ((long long)(wide) < 0) h = ~h;
  return h % 1000003u + (h / 77u);
}
