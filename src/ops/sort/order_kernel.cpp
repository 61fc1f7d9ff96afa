#include "ops/sort/order_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kFew = 64;  // keys among which the k-th is found by counting
constexpr int kBits = 11;     // of a pass that counts the keys of a long row by their leading bits; a short one takes 8

DY_INLINE uint32_t ordered(float x) {
  const auto u = __builtin_bit_cast(uint32_t, x + 0.0f);  // -0 becomes 0
  return x != x ? ~0u : u ^ (uint32_t(int32_t(u) >> 31) | 0x80000000u);
}
DY_INLINE uint64_t ordered(double x) {
  const auto u = __builtin_bit_cast(uint64_t, x + 0.0);
  return x != x ? ~uint64_t{0} : u ^ (uint64_t(int64_t(u) >> 63) | uint64_t{1} << 63);
}

template <class K, class T> void keys_of_floats(const void* x, int64_t n, int shift, K invert, K* keys) {
  const T* __restrict v = static_cast<const T*>(x);
  K* __restrict to = keys;
  for (int64_t i = 0; i < n; i++) to[i] = K(K(ordered(v[i])) >> shift) ^ invert;
}
template <class K, class T> void keys_of_integers(const void* x, int64_t n, K bias, K invert, K* keys) {
  const T* __restrict v = static_cast<const T*>(x);
  K* __restrict to = keys;
  for (int64_t i = 0; i < n; i++) to[i] = (K(v[i]) + bias) ^ invert;
}
template <class K> void make(const Keys& k, const void* x, int64_t n, K* keys) {
  constexpr int64_t kTile = 1024;
  alignas(64) char buffer[kTile * 8];
  const FormatDef& f = *k.format->def;
  const int64_t width = f.bits / 8;
  const bool decoded = width == compute_size(f.compute);
  const K most = K(~K{0}) >> (8 * (int(sizeof(K)) - k.bytes)), invert = k.ascending ? 0 : most;
  const K bias = f.kind == Kind::sint ? K(1) << (8 * k.bytes - 1) : 0;
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t m = min_of(kTile, n - at);
    const void* v = static_cast<const char*>(x) + at * width;
    if (!decoded) f.decode(v, buffer, m), v = buffer;
    if constexpr (sizeof(K) == 4) {
      if (f.kind == Kind::floating)
        keys_of_floats<K, float>(v, m, 32 - 8 * k.bytes, invert, keys + at);
      else if (f.compute == Compute::i32)
        keys_of_integers<K, int32_t>(v, m, bias, invert, keys + at);
      else
        keys_of_integers<K, int64_t>(v, m, bias, invert, keys + at);
    } else if (f.kind == Kind::floating) {
      keys_of_floats<K, double>(v, m, 0, invert, keys + at);
    } else {
      keys_of_integers<K, int64_t>(v, m, bias, invert, keys + at);
    }
  }
}

// f(piece, begin, end) for the pieces of a row.
template <class F> DY_INLINE int64_t for_pieces(int64_t n, F&& f) {
  const int64_t pieces = n < kLongRow ? 1 : kRowPieces, size = (n + pieces - 1) / pieces;
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; p++) f(p, min_of(n, p * size), min_of(n, (p + 1) * size));
  });
  return pieces;
}

template <class K> struct Bounds {
  K low = K(~K{0}), high = 0;
  DY_INLINE void take(const K* keys, int64_t n) {
    K l = low, h = high;
    for (int64_t i = 0; i < n; i++) {
      l = keys[i] < l ? keys[i] : l;
      h = keys[i] > h ? keys[i] : h;
    }
    low = l, high = h;
  }
};
template <class K> Bounds<K> bounds_of(const K* keys, int64_t n) {
  Bounds<K> piece[kRowPieces], all;
  const int64_t pieces =
      for_pieces(n, [&](int64_t p, int64_t begin, int64_t end) { piece[p].take(keys + begin, end - begin); });
  for (int64_t p = 0; p < pieces; p++) {
    all.low = piece[p].low < all.low ? piece[p].low : all.low;
    all.high = piece[p].high > all.high ? piece[p].high : all.high;
  }
  return all;
}

template <class K> int64_t count_below(const K* keys, int64_t n, K limit) {
  int64_t piece[kRowPieces], sum = 0;
  const int64_t pieces = for_pieces(n, [&](int64_t p, int64_t begin, int64_t end) {
    K count = 0;
    for (int64_t i = begin; i < end; i++) count += K(keys[i] < limit);
    piece[p] = int64_t(count);
  });
  for (int64_t p = 0; p < pieces; p++) sum += piece[p];
  return sum;
}

template <class K> int64_t find(const K* keys, int64_t n, K key, int64_t k) {
  constexpr int64_t kBlock = 512;
  for (int64_t b = 0; b < n; b += kBlock) {
    const int64_t end = min_of(n, b + kBlock);
    K count = 0;
    for (int64_t i = b; i < end; i++) count += K(keys[i] == key);
    if (k >= int64_t(count)) {
      k -= int64_t(count);
      continue;
    }
    for (int64_t i = b; i < end; i++)
      if (keys[i] == key && k-- == 0) return i;
  }
  return -1;
}

// The keys within [first, last], in order; with their places if these are asked for. kept may be keys.
template <class K, bool kPlaces> int64_t keep(const K* keys, int64_t n, K first, K last, K* kept, K* places) {
  constexpr hn::ScalableTag<K> d;
  constexpr int64_t L = hn::MaxLanes(d);
  int64_t count[kRowPieces], start[kRowPieces];
  const auto low = hn::Set(d, first), width = hn::Set(d, K(last - first));
  const int64_t pieces = for_pieces(n, [&](int64_t p, int64_t begin, int64_t end) {
    int64_t i = start[p] = begin, to = begin;
    for (; i + L <= end; i += L) {
      const auto v = hn::LoadU(d, keys + i);
      const auto inside = hn::Not(hn::Gt(hn::Sub(v, low), width));
      if (hn::AllFalse(d, inside)) continue;
      if constexpr (kPlaces) hn::CompressStore(hn::Iota(d, K(i)), inside, d, places + to);
      to += int64_t(hn::CompressStore(v, inside, d, kept + to));
    }
    for (; i < end; i++) {
      const K key = keys[i];
      if (K(key - first) > K(last - first)) continue;
      if constexpr (kPlaces) places[to] = K(i);
      kept[to++] = key;
    }
    count[p] = to - begin;
  });
  int64_t sum = count[0];
  for (int64_t p = 1; p < pieces; sum += count[p++]) {
    __builtin_memmove(kept + sum, kept + start[p], size_t(count[p]) * sizeof(K));
    if constexpr (kPlaces) __builtin_memmove(places + sum, places + start[p], size_t(count[p]) * sizeof(K));
  }
  return sum;
}
template <class K> int64_t up_to(const K* keys, int64_t n, K limit, K* kept, K* places) {
  return keep<K, true>(keys, n, 0, limit, kept, places);
}

template <class K> K kth_of_few(const K* keys, int64_t n, int64_t k) {
  for (int64_t i = 0; i < n; i++) {
    const K key = keys[i];
    K below = 0, equal = 0;
    for (int64_t j = 0; j < n; j++) below += K(keys[j] < key), equal += K(keys[j] == key);
    if (int64_t(below) <= k && k < int64_t(below + equal)) return key;
  }
  return 0;
}

// Of n keys in [low, high], counted by their leading bits, those that agree with the k-th in them: their bounds.
template <class K> Bounds<K> bin_of_kth(const K* keys, int64_t n, K low, K high, int64_t& k) {
  uint32_t counts[kRowPieces][1 << kBits];
  const int bits = n < 8192 ? 8 : kBits, spread = 64 - __builtin_clzll(uint64_t(high - low));
  const int shift = spread > bits ? spread - bits : 0;
  const int64_t pieces = for_pieces(n, [&](int64_t p, int64_t begin, int64_t end) {
    uint32_t* count = counts[p];
    for (int64_t b = 0; b < 1 << bits; b++) count[b] = 0;
    for (int64_t i = begin; i < end; i++) count[K(keys[i] - low) >> shift]++;
  });
  int64_t bin = 0;
  for (;; bin++) {
    int64_t held = 0;
    for (int64_t p = 0; p < pieces; p++) held += counts[p][bin];
    if (k < held) break;
    k -= held;
  }
  const K first = low + K(K(bin) << shift), width = K(K(1) << shift) - 1;
  return {first, high - first < width ? high : K(first + width)};
}

// A k that is small against n: the k-th of the first quarter is a limit that few pass. Then bins are opened until few keys are
// left: each pass takes 8 or 11 bits off the range, so that the worst of keys cost as many passes as they have of these.
template <class K> K kth(const K* keys, int64_t n, int64_t k, K* spare) {
  if (16 * (k + 1) <= n) {
    const K limit = kth(keys, n / 4, k, spare);
    n = keep<K, false>(keys, n, 0, limit, spare, nullptr);
    keys = spare;
  }
  while (n > kFew) {
    Bounds<K> b = bounds_of(keys, n);
    if (b.low != b.high) b = bin_of_kth(keys, n, b.low, b.high, k);
    if (b.low == b.high) return b.low;
    n = keep<K, false>(keys, n, b.low, b.high, spare, nullptr);
    keys = spare;
  }
  return kth_of_few(keys, n, k);
}

template <class K> constexpr KeyKernel<K> kernel() { return {make<K>, kth<K>, count_below<K>, find<K>, up_to<K>}; }

}  // namespace

extern const OrderKernel order_kernel = {kernel<uint32_t>(), kernel<uint64_t>()};

}  // namespace dyadic::DY_ISA
