// Elements in the few formats that a kernel takes beside the type it computes in: one by one, and by runs of neighbours.
#pragma once
#include "plugins/cuda/copies/words.h"

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
template <class W, int N> DY_DEVICE void read_word(StoredRun<N>& r, int first, const char* at) {
  const W word = *reinterpret_cast<const W*>(at);
  if constexpr (sizeof(W) == 4)
    r.part[first] = word.part;
  else
    DY_UNROLL for (int i = 0; i < int(sizeof(W) / 4); ++i) r.part[first + i] = word.part[i];
}
template <int kBytes, int N> DY_DEVICE void read_bytes(StoredRun<N>& r, const char* at) {
  using W = Word<kBytes>;
  DY_UNROLL
  for (int i = 0; i < kBytes; i += int(sizeof(W))) read_word<W>(r, i / 4, at + i);
}
// From memory that is aligned to a run. Of one that ends early what lies behind is read too: it is within the same aligned
// bytes.
template <int N> DY_DEVICE void read_whole(StoredRun<N>& r, const char* at, int bytes) {
  if (bytes == 4) return read_bytes<N * 4>(r, at);
  if (bytes == 2) return read_bytes<N * 2>(r, at);
  read_bytes<N>(r, at);
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
  with_near<T>(code, [&](auto e) { values_of<decltype(e)>(r.part, x); });
}
template <class T, int N> DY_DEVICE void encode(StoredRun<N>& r, Code code, const T (&x)[N]) {
  with_near<T>(code, [&](auto e) { store_of<decltype(e)>(x, r.part); });
}

// Part r of a group: a run of `run` elements of `bytes` bytes each, from memory that is aligned to it. Parts lie without gaps;
// where one is as long as the group, at its halves.
template <int r, int N> DY_DEVICE void read_part(StoredRun<N>& group, const char* at, int bytes, int run) {
  const int access = bytes * run;
  if (access == 16) return read_word<Word16>(group, r * 4, at);
  if (access == 4) return read_word<Word4>(group, r, at);
  if (r > 0 && run == N) return read_word<Word8>(group, r * 4, at);
  read_word<Word8>(group, r * 2, at);
}
// Its first n elements.
template <int r, int N>
__device__ __forceinline__ void write_part(const StoredRun<N>& group, char* at, int bytes, int run, int n) {
  const int access = bytes * run;
  const uint32_t* const part = group.part;
  if (n < run) {  // in one thread of a grid
    __shared__ StoredRun<N> whole;
    whole = group;
    DY_NO_UNROLL
    for (int i = 0; i < n * bytes; ++i) at[i] = reinterpret_cast<const char*>(whole.part)[r * access + i];
  } else if (access == 16) {
    *reinterpret_cast<Word16*>(at) = {{part[r * 4], part[r * 4 + 1], part[r * 4 + 2], part[r * 4 + 3]}};
  } else if (access == 8) {
    *reinterpret_cast<Word8*>(at) = {{part[r * 2], part[r * 2 + 1]}};
  } else {
    *reinterpret_cast<Word4*>(at) = {part[r]};
  }
}
DY_DEVICE uint32_t read_single(const char* at, int bytes) {
  if (bytes == 4) return *reinterpret_cast<const uint32_t*>(at);
  if (bytes == 2) return *reinterpret_cast<const uint16_t*>(at);
  return *reinterpret_cast<const uint8_t*>(at);
}
// Of an element that lies in a word.
template <class T> DY_DEVICE T decode_single(uint32_t word, Code code) {
  T x[1] = {};
  with_near<T>(code, [&](auto e) { values_of<decltype(e)>(&word, x); });
  return x[0];
}

}  // namespace dyadic::gpu
