// The value of one element of a blocked tensor, with the products and sums of src/formats/block in their order. What a format's
// bytes mean is said in its file there.
#pragma once
#include "plugins/cuda/formats/blocked.h"
#include "plugins/cuda/formats/dynamic.h"

#include "formats/grid_tables.h"

namespace dyadic::gpu {

// Where an element is: its number in storage order, and its row and column.
struct Position {
  int64_t i, row, col;
};

__device__ __forceinline__ float half_at(const uint8_t* p) { return half_value(uint16_t(p[0] | p[1] << 8)); }
__device__ __forceinline__ uint32_t word16_at(const uint8_t* p) { return uint32_t(p[0] | p[1] << 8); }
__device__ __forceinline__ uint32_t word32_at(const uint8_t* p) { return word16_at(p) | word16_at(p + 2) << 16; }
template <class T> __device__ __forceinline__ T number_at(const uint8_t* p) { return *reinterpret_cast<const T*>(p); }

// Code i of a bitstream.
__device__ __forceinline__ uint32_t bits_at(const uint8_t* stream, int64_t i, int bits) {
  if (bits == 8) return stream[i];
  const int64_t bit = i * bits;
  const int shift = int(bit % 8);
  uint32_t word = stream[bit / 8];
  if (shift + bits > 8) word |= uint32_t(stream[bit / 8 + 1]) << 8;
  return word >> shift & ((1u << bits) - 1);
}
__device__ __forceinline__ int32_t signed_code(uint32_t code, int bits) {
  const uint32_t sign = 1u << (bits - 1);
  return int32_t(code ^ sign) - int32_t(sign);
}

__constant__ DY_ISA::Codebook4 kNf4Book = DY_ISA::kNf4;
__constant__ DY_ISA::Codebook4 kFp4Book = DY_ISA::kFp4;
__constant__ int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
__constant__ int8_t kMxValues[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Flat blocks.

__device__ __forceinline__ float flat_scale(const Blocked& b, const uint8_t* at, int64_t block) {
  if (b.more < 0) return number_at<float>(at + b.scales + 4 * block);
  const float nested = number_at<float>(at + b.more + 4 * (block / 256));
  return dynamic_value<true>(at[b.scales + block]) * nested + number_at<float>(at + b.whole);
}
__device__ __forceinline__ float flat_value(const Blocked& b, const uint8_t* at, int64_t i) {
  const uint8_t* codes = at + b.codes;
  const float scale = flat_scale(b, at, b.block.divide(i));
  const int nibble = i % 2 ? codes[i / 2] & 15 : codes[i / 2] >> 4;
  switch (b.layout) {
    case Layout::nf4:
      return kNf4Book.value[nibble] * scale;
    case Layout::fp4:
      return kFp4Book.value[nibble] * scale;
    case Layout::dynamic8:
      return dynamic_value<true>(codes[i]) * scale;
    case Layout::udynamic8:
      return dynamic_value<false>(codes[i]) * scale;
    default:
      return float(int(codes[i]) - (codes[i] > 127 ? 128 : 127)) / 127 * scale;
  }
}

// Groups of a row.

__device__ __forceinline__ float scale_at(Code code, const uint8_t* scales, int64_t i) {
  switch (code) {
    case Code::f16:
      return half_value(reinterpret_cast<const uint16_t*>(scales)[i]);
    case Code::bf16:
      return bf16_value(reinterpret_cast<const uint16_t*>(scales)[i]);
    case Code::f8e8m0fnu:
      return DY_ISA::e8m0_value(scales[i]);
    case Code::f8e4m3fn:
      return ElementOf<Code::f8e4m3fn>::value(scales[i]);
    default:
      return reinterpret_cast<const float*>(scales)[i];
  }
}
__device__ __forceinline__ float small_value(Layout layout, uint32_t code) {
  const auto c = uint8_t(code);
  switch (layout) {
    case Layout::group_f8e4m3fn:
      return DY_ISA::MiniFloat<DY_ISA::kF8e4m3fn>::value(c);
    case Layout::group_f8e5m2:
      return DY_ISA::MiniFloat<DY_ISA::kF8e5m2>::value(c);
    case Layout::packed_f6e2m3fn:
    case Layout::group_f6e2m3fn:
      return DY_ISA::MiniFloat<DY_ISA::kF6e2m3fn>::value(c);
    case Layout::packed_f6e3m2fn:
    case Layout::group_f6e3m2fn:
      return DY_ISA::MiniFloat<DY_ISA::kF6e3m2fn>::value(c);
    case Layout::packed_f4e3m0:
      return DY_ISA::MiniFloat<DY_ISA::kF4e3m0>::value(c);
    case Layout::group_mxint8:
      return float(int8_t(c)) / 64;
    default:
      return DY_ISA::MiniFloat<DY_ISA::kF4e2m1fn>::value(c);
  }
}
__device__ __forceinline__ int64_t scale_number(const Blocked& b, const Position& p) {
  return b.scales_per_row ? (b.band == 1 ? p.row : p.row / b.band) * b.scales_per_row + b.block.divide(p.col) : 0;
}
__device__ __forceinline__ float group_value(const Blocked& b, const uint8_t* at, const Position& p) {
  const uint32_t code = bits_at(at + b.codes + p.row * b.pitch, p.col, b.bits);
  int64_t s = scale_number(b, p);
  if (b.layout == Layout::ordered_group) {
    const int32_t group = number_at<int32_t>(at + b.more + 4 * p.col);
    s = p.row * b.groups + (int64_t(uint32_t(group)) < b.groups ? group : 0);  // a file may lie
  }
  const float scale = scale_at(b.scale, at + b.scales, s);
  if (b.layout == Layout::int_group || b.layout == Layout::ordered_group) {
    const int32_t zero = b.zeros < 0 ? 0 : number_at<int8_t>(at + b.zeros + s);
    return float(signed_code(code, b.bits) - zero) * scale;
  }
  if (b.layout == Layout::offset_group) return float(int32_t(code)) * scale + scale_at(b.scale, at + b.more, s);
  return small_value(b.layout, code) * (b.whole < 0 ? scale : scale * number_at<float>(at + b.whole));
}

// ggml's blocks: element j of the one at `p`.

__device__ __forceinline__ int half_code(const uint8_t* p, int j) { return j < 16 ? p[j] & 15 : p[j - 16] >> 4; }
__device__ __forceinline__ int quarter_code(const uint8_t* p, int j) {
  return p[j / 128 * 32 + j % 32] >> (2 * (j % 128 / 32)) & 3;
}
__device__ __forceinline__ int pair_code(const uint8_t* p, int j) {
  const uint8_t both = p[j / 64 * 32 + j % 32];
  return j % 64 < 32 ? both & 15 : both >> 4;
}
__device__ __forceinline__ float six_bit_value(const uint8_t* p, int j, int code) {
  const uint8_t* six = p + 4;
  const int s = j / 32, k = s % 4;
  const int sc = s < 4 ? six[k] & 63 : (six[k + 8] & 15) | six[k] >> 6 << 4;
  const int m = s < 4 ? six[k + 4] & 63 : six[k + 8] >> 4 | six[k + 4] >> 6 << 4;
  return float(code) * (half_at(p) * float(sc)) + -(half_at(p + 2) * float(m));
}
__device__ __forceinline__ int tq1_code(const uint8_t* p, int j) {
  const int first = j < 160 ? 0 : j < 240 ? 160 : 240, bytes = j < 160 ? 32 : j < 240 ? 16 : 4, k = j - first;
  uint8_t byte = p[first / 5 + k % bytes];
  for (int n = 0; n < k / bytes; ++n) byte = uint8_t(byte * 3);
  return byte * 3 >> 8;
}

// Codebooks of ggml's iq formats, in the device's memory.
enum class Book : uint8_t { iq2xxs, iq2xs, iq2s, iq1, iq3xxs, iq3s };
static __device__ const v1::Grid<256> kBook2xxs = grid_tables::kIq2xxs;
static __device__ const v1::Grid<256> kBook3xxs = grid_tables::kIq3xxs;
static __device__ const v1::Grid<512> kBook2xs = grid_tables::kIq2xs;
static __device__ const v1::Grid<512> kBook3s = grid_tables::kIq3s;
static __device__ const v1::Grid<1024> kBook2s = grid_tables::kIq2s;
static __device__ const v1::Grid<2048> kBook1 = grid_tables::kIq1;
__device__ __forceinline__ uint64_t book_entry(Book book, uint32_t i) {
  switch (book) {
    case Book::iq2xxs:
      return kBook2xxs.entry[i];
    case Book::iq2xs:
      return kBook2xs.entry[i];
    case Book::iq2s:
      return kBook2s.entry[i];
    case Book::iq1:
      return kBook1.entry[i];
    case Book::iq3xxs:
      return kBook3xxs.entry[i];
    default:
      return kBook3s.entry[i];
  }
}

__device__ __forceinline__ bool even_sign(uint32_t seven, int k) {  // the eighth makes their number even
  seven &= 127;
  if (k < 7) return seven >> k & 1;
  seven ^= seven >> 4, seven ^= seven >> 2, seven ^= seven >> 1;
  return seven & 1;
}
__device__ __forceinline__ float book_value(uint64_t entry, int k, bool minus, float scale) {
  const int value = int(entry >> (8 * k) & 255);
  return float(minus ? -value : value) * scale;
}
__device__ __forceinline__ float iq1_value(uint32_t index, int k, bool down, float scale) {
  const int value = int(int8_t(book_entry(Book::iq1, index) >> (8 * k)));
  return float(8 * value + (down ? -1 : 1)) * scale;
}
__device__ __forceinline__ float iq_value(Layout layout, const uint8_t* p, int j) {
  const float d = half_at(p);
  const int k = j % 8, eight = j / 8, part = j / 32;  // element of its 8, which 8, which 32
  switch (layout) {
    case Layout::iq1_s: {
      const uint32_t word = word16_at(p + 34 + 2 * part);
      const uint32_t index = p[2 + eight] | (word >> (3 * (eight % 4)) & 7) << 8;
      return iq1_value(index, k, word & 0x8000, d * float(int32_t(2 * (word >> 12 & 7) + 1)) * 0.125f);
    }
    case Layout::iq1_m: {
      const uint8_t *upper = p + 32, *scales = p + 48;
      uint32_t bits = 0;
      for (int w = 0; w < 4; ++w) bits |= word16_at(scales + 2 * w) >> 12 << (4 * w);
      const int sub = j / 16;
      const uint32_t half = upper[sub] >> (4 * (eight % 2)) & 15, s = word16_at(scales + sub / 4 * 2) >> (3 * (sub % 4)) & 7;
      return iq1_value(p[eight] | (half & 7) << 8, k, half & 8,
                       half_value(uint16_t(bits)) * float(int32_t(2 * s + 1)) * 0.125f);
    }
    case Layout::iq2_xxs: {
      const uint8_t* index = p + 2 + 8 * part;
      const uint32_t word = word32_at(index + 4);
      return book_value(book_entry(Book::iq2xxs, index[eight % 4]), k, even_sign(word >> (7 * (eight % 4)), k),
                        d * (0.5f + float(int32_t(word >> 28))) * 0.25f);
    }
    case Layout::iq2_xs: {
      const int s = p[66 + part] >> (4 * (j / 16 % 2)) & 15;
      const uint32_t word = word16_at(p + 2 + 2 * eight);
      return book_value(book_entry(Book::iq2xs, word & 511), k, even_sign(word >> 9, k), d * (0.5f + float(s)) * 0.25f);
    }
    case Layout::iq2_s: {
      const uint32_t index = p[2 + eight] | (p[66 + eight / 4] >> (2 * (eight % 4)) & 3) << 8;
      const int s = p[74 + part] >> (4 * (j / 16 % 2)) & 15;
      return book_value(book_entry(Book::iq2s, index), k, p[34 + eight] >> k & 1, d * (0.5f + float(s)) * 0.25f);
    }
    case Layout::iq3_xxs: {
      const uint32_t word = word32_at(p + 66 + 4 * part);
      return book_value(book_entry(Book::iq3xxs, p[2 + j / 4]), j % 4, even_sign(word >> (7 * (eight % 4)), k),
                        d * (0.5f + float(int32_t(word >> 28))) * 0.5f);
    }
    default: {  // iq3_s
      const uint32_t index = p[2 + j / 4] | (p[66 + part] >> (j / 4 % 8) & 1) << 8;
      const int s = p[106 + part / 2] >> (4 * (part % 2)) & 15;
      return book_value(book_entry(Book::iq3s, index), j % 4, p[74 + eight] >> k & 1, d * float(1 + 2 * s));
    }
  }
}

__device__ __forceinline__ const uint8_t* block_of(const uint8_t* at, int64_t i, int size, int bytes, int* j) {
  *j = int(i % size);
  return at + i / size * bytes;
}
__device__ __forceinline__ float ggml_value(Layout layout, const uint8_t* at, int64_t i) {
  int j;
  const uint8_t* p;
  switch (layout) {
    case Layout::q4_0:
      p = block_of(at, i, 32, 18, &j);
      return float(half_code(p + 2, j) - 8) * half_at(p);
    case Layout::q4_1:
      p = block_of(at, i, 32, 20, &j);
      return float(half_code(p + 4, j)) * half_at(p) + half_at(p + 2);
    case Layout::q5_0:
      p = block_of(at, i, 32, 22, &j);
      return float((half_code(p + 6, j) | (p[2 + j / 8] >> (j % 8) & 1) << 4) - 16) * half_at(p);
    case Layout::q5_1:
      p = block_of(at, i, 32, 24, &j);
      return float(half_code(p + 8, j) | (p[4 + j / 8] >> (j % 8) & 1) << 4) * half_at(p) + half_at(p + 2);
    case Layout::q8_0:
      p = block_of(at, i, 32, 34, &j);
      return float(int8_t(p[2 + j])) * half_at(p);
    case Layout::q8_K:
      p = block_of(at, i, 256, 292, &j);
      return float(int8_t(p[4 + j])) * number_at<float>(p);
    case Layout::q2_K:
      p = block_of(at, i, 256, 84, &j);
      return float(quarter_code(p + 16, j)) * (half_at(p + 80) * float(p[j / 16] & 15)) +
             -(half_at(p + 82) * float(p[j / 16] >> 4));
    case Layout::q3_K: {
      p = block_of(at, i, 256, 110, &j);
      const uint8_t* s = p + 96;
      const int k = j / 16, sc = ((k < 8 ? s[k] & 15 : s[k - 8] >> 4) | (s[8 + k % 4] >> (2 * (k / 4)) & 3) << 4) - 32;
      const int code = quarter_code(p + 32, j) + 4 * (p[j % 32] >> (j / 32) & 1) - 4;
      return float(code) * (half_at(p + 108) * float(sc));
    }
    case Layout::q4_K:
      p = block_of(at, i, 256, 144, &j);
      return six_bit_value(p, j, pair_code(p + 16, j));
    case Layout::q5_K:
      p = block_of(at, i, 256, 176, &j);
      return six_bit_value(p, j, pair_code(p + 48, j) | (p[16 + j % 32] >> (j / 32) & 1) << 4);
    case Layout::q6_K: {
      p = block_of(at, i, 256, 210, &j);
      const int l = j % 128;
      const uint8_t pair = p[j / 128 * 64 + l % 64];
      const int code = (l < 64 ? pair & 15 : pair >> 4) + (quarter_code(p + 128, j) << 4) - 32;
      return float(code) * (half_at(p + 208) * float(int8_t(p[192 + j / 16])));
    }
    case Layout::iq4_nl:
      p = block_of(at, i, 32, 18, &j);
      return float(kIq4Values[half_code(p + 2, j)]) * half_at(p);
    case Layout::iq4_xs: {
      p = block_of(at, i, 256, 136, &j);
      const int s = j / 32, sc = (p[4 + s / 2] >> (4 * (s % 2)) & 15) | (int(word16_at(p + 2)) >> (2 * s) & 3) << 4;
      return float(kIq4Values[half_code(p + 8 + 16 * s, j % 32)]) * (half_at(p) * float(sc - 32));
    }
    case Layout::mxfp4:
      p = block_of(at, i, 32, 17, &j);
      return float(kMxValues[half_code(p + 1, j)]) * DY_ISA::mx_half_scale(p[0]);
    case Layout::q1_0:
      p = block_of(at, i, 128, 18, &j);
      return float(2 * (p[2 + j / 8] >> (j % 8) & 1) - 1) * half_at(p);
    case Layout::q2_0:
      p = block_of(at, i, 64, 18, &j);
      return float((p[2 + j / 4] >> (2 * (j % 4)) & 3) - 1) * half_at(p);
    case Layout::tq1_0:
      p = block_of(at, i, 256, 54, &j);
      return float(tq1_code(p, j) - 1) * half_at(p + 52);
    case Layout::tq2_0:
      p = block_of(at, i, 256, 66, &j);
      return float(quarter_code(p, j) - 1) * half_at(p + 64);
    case Layout::iq1_s:
      p = block_of(at, i, 256, 50, &j);
      return iq_value(layout, p, j);
    case Layout::iq1_m:
      p = block_of(at, i, 256, 56, &j);
      return iq_value(layout, p, j);
    case Layout::iq2_xxs:
      p = block_of(at, i, 256, 66, &j);
      return iq_value(layout, p, j);
    case Layout::iq2_xs:
      p = block_of(at, i, 256, 74, &j);
      return iq_value(layout, p, j);
    case Layout::iq2_s:
      p = block_of(at, i, 256, 82, &j);
      return iq_value(layout, p, j);
    case Layout::iq3_xxs:
      p = block_of(at, i, 256, 98, &j);
      return iq_value(layout, p, j);
    default:
      p = block_of(at, i, 256, 110, &j);
      return iq_value(Layout::iq3_s, p, j);
  }
}

// Of any layout but packed_integer.
__device__ __forceinline__ float blocked_value(const Blocked& b, const uint8_t* at, int64_t i) {
  if (b.layout >= Layout::q4_0) return ggml_value(b.layout, at, i);
  if (b.layout >= Layout::int_group) {
    const int64_t row = b.cols.divide(i);
    return group_value(b, at, {i, row, i - row * b.cols.by});
  }
  if (b.layout >= Layout::nf4) return flat_value(b, at, i);
  return small_value(b.layout, bits_at(at, i, b.bits));
}
__device__ __forceinline__ int32_t packed_integer(const Blocked& b, const uint8_t* at, int64_t i) {
  const uint32_t code = bits_at(at, i, b.bits);
  return b.is_signed ? signed_code(code, b.bits) : int32_t(code);
}

}  // namespace dyadic::gpu
