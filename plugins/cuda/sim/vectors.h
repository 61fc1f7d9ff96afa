// CUDA's vector types: plain structs, aligned as there.
#pragma once
#include <cstdint>

#define DY_VECTORS(T, name, a2, a4)                                     \
  struct name##1 { T x; };                                              \
  struct alignas(a2) name##2 { T x, y; };                               \
  struct name##3 { T x, y, z; };                                        \
  struct alignas(a4) name##4 { T x, y, z, w; };                         \
  constexpr name##1 make_##name##1(T x) { return {x}; }                 \
  constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
DY_VECTORS(signed char, char, 2, 4)
DY_VECTORS(unsigned char, uchar, 2, 4)
DY_VECTORS(short, short, 4, 8)
DY_VECTORS(unsigned short, ushort, 4, 8)
DY_VECTORS(int, int, 8, 16)
DY_VECTORS(unsigned, uint, 8, 16)
DY_VECTORS(long long, longlong, 16, 16)
DY_VECTORS(unsigned long long, ulonglong, 16, 16)
DY_VECTORS(float, float, 8, 16)
DY_VECTORS(double, double, 16, 16)
#undef DY_VECTORS

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
