// Elements in the few formats that a kernel takes beside the type it computes in: one by one, and by runs of neighbours.
#pragma once
#include "plugins/cuda/elements.h"

namespace dyadic::gpu {

template <class T> inline constexpr Code kOwn = Code::none;
template <> inline constexpr Code kOwn<float> = Code::f32;
template <> inline constexpr Code kOwn<double> = Code::f64;
template <> inline constexpr Code kOwn<int32_t> = Code::i32;
template <> inline constexpr Code kOwn<int64_t> = Code::i64;
template <> inline constexpr Code kOwn<uint64_t> = Code::u64;
template <> inline constexpr Code kOwn<Parts<float>> = Code::c64;
template <> inline constexpr Code kOwn<Parts<double>> = Code::c128;
template <> inline constexpr Code kOwn<bool> = Code::boolean;

// f(ElementOf<code>{}) for the formats that kernels load as T or store T in; operands in others are converted by themselves.
// False: it is one of those.
template <class T, class F> DY_DEVICE bool with_near(Code code, F f) {
  if constexpr (std::is_same_v<T, float>) {
    if (code == Code::bf16) return f(ElementOf<Code::bf16>{}), true;
    if (code == Code::f16) return f(ElementOf<Code::f16>{}), true;
  }
  if constexpr (std::is_same_v<T, int32_t>) {
    if (code == Code::u8) return f(ElementOf<Code::u8>{}), true;
    if (code == Code::i8) return f(ElementOf<Code::i8>{}), true;
    if (code == Code::i16) return f(ElementOf<Code::i16>{}), true;
  }
  if (code == kOwn<T>) return f(ElementOf<kOwn<T>>{}), true;
  if (code == Code::boolean) return f(ElementOf<Code::boolean>{}), true;
  return false;
}

template <class T> DY_DEVICE T load_one(Code code, const void* at) {
  T x{};
  with_near<T>(code, [&](auto e) {
    using E = decltype(e);
    x = number<T>(E::value(*static_cast<const typename E::Stored*>(at)));
  });
  return x;
}
template <class T> DY_DEVICE void store_one(Code code, void* at, T x) {
  with_near<T>(code, [&](auto e) {
    using E = decltype(e);
    *static_cast<typename E::Stored*>(at) = E::stored(x);
  });
}

// N elements of at most four bytes as they are stored.
template <int N> struct alignas(16) StoredRun {
  uint32_t part[N];
};
template <class S, int N> DY_DEVICE void read_as(StoredRun<N>& r, const char* at) {
  S stored[N];
  read_run(reinterpret_cast<const S*>(at), stored);
  __builtin_memcpy(r.part, stored, sizeof(stored));
}
// From memory that is aligned to a run. Of one that ends early what lies behind is read too: it is within the same aligned
// bytes.
template <int N> DY_DEVICE void read_whole(StoredRun<N>& r, const char* at, int bytes) {
  if (bytes == 4) return read_as<uint32_t>(r, at);
  if (bytes == 2) return read_as<uint16_t>(r, at);
  read_as<uint8_t>(r, at);
}
// Its first n, from anywhere.
template <class S, int N> DY_DEVICE void read_some_as(StoredRun<N>& r, const char* at, int n) {
  S stored[N];
  DY_UNROLL
  for (int i = 0; i < N; ++i) stored[i] = i < n ? reinterpret_cast<const S*>(at)[i] : S(0);
  __builtin_memcpy(r.part, stored, sizeof(stored));
}
template <int N> DY_DEVICE void read_some(StoredRun<N>& r, const char* at, int bytes, int n) {
  if (bytes == 4) return read_some_as<uint32_t>(r, at, n);
  if (bytes == 2) return read_some_as<uint16_t>(r, at, n);
  read_some_as<uint8_t>(r, at, n);
}
// The first n elements; `aligned`: to a run.
template <class S, int N> DY_DEVICE void write_as(const StoredRun<N>& r, char* at, int n, bool aligned = true) {
  S stored[N];
  __builtin_memcpy(stored, r.part, sizeof(stored));
  S* to = reinterpret_cast<S*>(at);
  if (n == N && aligned) return write_run(stored, to);
  DY_UNROLL
  for (int i = 0; i < N; ++i)
    if (i < n) to[i] = stored[i];
}
template <int N> DY_DEVICE void write_some(const StoredRun<N>& r, char* at, int bytes, int n, bool aligned = true) {
  if (bytes == 4) return write_as<uint32_t>(r, at, n, aligned);
  if (bytes == 2) return write_as<uint16_t>(r, at, n, aligned);
  write_as<uint8_t>(r, at, n, aligned);
}
template <class T, int N> DY_DEVICE void decode(const StoredRun<N>& r, Code code, T (&x)[N]) {
  with_near<T>(code, [&](auto e) {
    using E = decltype(e);
    typename E::Stored stored[N];
    __builtin_memcpy(stored, r.part, sizeof(stored));
    DY_UNROLL
    for (int i = 0; i < N; ++i) x[i] = number<T>(E::value(stored[i]));
  });
}
template <class T, int N> DY_DEVICE void encode(StoredRun<N>& r, Code code, const T (&x)[N]) {
  with_near<T>(code, [&](auto e) {
    using E = decltype(e);
    typename E::Stored stored[N];
    DY_UNROLL
    for (int i = 0; i < N; ++i) stored[i] = E::stored(x[i]);
    __builtin_memcpy(r.part, stored, sizeof(stored));
  });
}

}  // namespace dyadic::gpu
