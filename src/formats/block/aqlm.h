// Additive codebooks, AQLM (Egiazarian, Panferov, Kuznedelev, Frantar, Babenko, Alistarh 2024, "Extreme Compression of Large
// Language Models via Additive Quantization", arXiv:2401.06118; additive codes: Babenko, Lempitsky 2014): 8 neighbouring
// columns of a row are the sum of one word of each codebook, times the row's scale. Here: how codes lie in a row, and the words
// that are near a vector.
#pragma once
#include "formats/block/lanes.h"
#include "formats/format.h"

namespace dyadic::DY_ISA::aqlm {

inline constexpr int64_t kVector = 8, kMostWords = 1 << kMostWordBits, kBeam = 8;

// A row's codes follow each other without gaps, those of a vector by codebook, lowest bits first. Reading may touch the byte
// behind: the codebooks' plane lies there.
inline uint32_t read_code(const uint8_t* row, int64_t at, int bits) {
  const uint8_t* p = row + at * bits / 8;
  return uint32_t(p[0] | p[1] << 8) >> (at * bits % 8) & ((1u << bits) - 1);
}
inline void write_code(uint8_t* row, int64_t at, int bits, uint32_t code) {
  uint8_t* p = row + at * bits / 8;
  const int shift = int(at * bits % 8);
  const uint32_t mask = ((1u << bits) - 1) << shift;
  p[0] = uint8_t((p[0] & ~mask) | code << shift);
  if (shift + bits > 8) p[1] = uint8_t((p[1] & ~(mask >> 8)) | code << shift >> 8);
}

inline void add_word(const float* word, float* sum) {
  for (int64_t k = 0; k < kVector; ++k) sum[k] += word[k];
}
inline void take_word(const float* word, float* rest) {
  for (int64_t k = 0; k < kVector; ++k) rest[k] -= word[k];
}

// A codebook as the search reads it: words side by side, and half their squares; what pads them to whole vectors of lanes is
// infinitely far.
struct Book {
  alignas(64) float value[kVector][kMostWords];
  alignas(64) float half_square[kMostWords];
  const float* words = nullptr;  // [count, 8]
  int64_t count = 0;

  void read(const float* from, int64_t n) {
    words = from, count = (n + kLanes - 1) / kLanes * kLanes;
    for (int64_t w = 0; w < count; ++w) {
      float square = 0;
      for (int64_t k = 0; k < kVector; ++k) {
        value[k][w] = w < n ? from[w * kVector + k] : 0.0f;
        square += value[k][w] * value[k][w];
      }
      half_square[w] = w < n ? 0.5f * square : bits_float(kInfBits);
    }
  }
};

// Words of the codebooks before this one; rest: the vector less their sum. Distances are halves of squares, less the same for
// all.
struct Path {
  float rest[kVector];
  float distance;
  uint8_t code[kMostCodebooks];
};
struct Step {
  float distance;
  int32_t path, word;
};

// The `most` nearest continuations of all paths by a word of the codebook, nearest first; of equal ones the first stays before.
inline int next_steps(const Book& book, const Path* paths, int count, int most, Step* best) {
  int found = 0;
  for (int p = 0; p < count; ++p) {
    VF rest[kVector];
    for (int64_t k = 0; k < kVector; ++k) rest[k] = hn::Set(kF32, paths[p].rest[k]);
    const VF before = hn::Set(kF32, paths[p].distance);
    for (int64_t w = 0; w < book.count; w += kLanes) {
      VF dot = hn::Mul(rest[0], hn::Load(kF32, book.value[0] + w));
      for (int64_t k = 1; k < kVector; ++k) dot = hn::Add(dot, hn::Mul(rest[k], hn::Load(kF32, book.value[k] + w)));
      const VF distance = hn::Add(before, hn::Sub(hn::Load(kF32, book.half_square + w), dot));
      float bound = found < most ? bits_float(kInfBits) : best[most - 1].distance;
      uint32_t nearer = mask_bits(hn::Lt(distance, hn::Set(kF32, bound)));
      if (!nearer) continue;
      alignas(64) float lane[kLanes];
      hn::Store(distance, kF32, lane);
      for (; nearer; nearer &= nearer - 1) {
        const int i = __builtin_ctz(nearer);
        if (found == most && !(lane[i] < best[most - 1].distance)) continue;
        int at = found < most ? found++ : most - 1;
        for (; at > 0 && lane[i] < best[at - 1].distance; --at) best[at] = best[at - 1];
        best[at] = {lane[i], p, int32_t(w + i)};
      }
    }
  }
  if (found == 0) best[found++] = {paths[0].distance, 0, 0};  // of what is no number nothing is near
  return found;
}

// A word of each codebook, so that their sum is near x [8]: codebook by codebook, the kBeam nearest sums so far go on.
inline void search(const Book* books, int64_t count, const float* x, uint8_t* code) {
  Path paths[kBeam], next[kBeam];
  Step best[kBeam];
  int alive = 1;
  __builtin_memcpy(paths[0].rest, x, sizeof paths[0].rest);
  paths[0].distance = 0;
  for (int64_t b = 0; b < count; ++b) {
    const int found = next_steps(books[b], paths, alive, b + 1 < count ? int(kBeam) : 1, best);
    for (int i = 0; i < found; ++i) {
      next[i] = paths[best[i].path];
      next[i].distance = best[i].distance;
      next[i].code[b] = uint8_t(best[i].word);
      take_word(books[b].words + best[i].word * kVector, next[i].rest);
    }
    __builtin_memcpy(paths, next, sizeof(Path) * size_t(found));
    alive = found;
  }
  __builtin_memcpy(code, paths[0].code, size_t(count));
}

}  // namespace dyadic::DY_ISA::aqlm
