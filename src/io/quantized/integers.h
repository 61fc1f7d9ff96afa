// What the packings of integers share: words of 32 bits that hold several codes, and weights that lie as [in, out] in files.
#pragma once
#include <array>

#include "io/quantized/packing.h"

namespace dyadic::inline v1::io {

// Bits above codes of `bits` (2, 3, 4, 8) that follow each other from the lowest bit of the first word on: the top bit of each,
// in three words after which it repeats. A code q xor them is q - 2^(bits - 1) in two's complement.
std::array<uint32_t, 3> top_bits(int bits);

// i<bits> with a scale for each `group` elements of a row of `cols`.
DType integer_dtype(int bits, int64_t group, int64_t cols, bool zero, DType scale);

// Scales of rows x groups, of which there is one for a group of a row, a row, or all.
struct Scales {
  size_t number = 0;
  DType dtype;
  int64_t groups = 0, group = 0;  // groups of a row, elements of a group; 0: one scale for all
};
// Those of [rows, cols]; given: the size of a group as the configuration has it, or 0.
Scales scales_of(Pieces& p, std::string_view ending, int64_t rows, int64_t cols, int64_t given);
DType integer_dtype(int bits, const Scales& s, int64_t cols, bool zero);
// Codes of a byte each, i8 [rows, cols], with scales and perhaps zero points of the same shape.
PackedWeight byte_weight(Pieces p, std::string_view codes, std::string_view scales, std::string_view zeros, int64_t given);
void copy_to(const Tensor& from, void* to);  // its bytes

// ... whose groups are no runs of columns.
DType ordered_dtype(int bits, int64_t group, bool zero, DType scale);
// Whether column i is of group i / group, for all; ValueError of `p` for what is no group.
bool groups_are_runs(const Pieces& p, const Tensor& groups, int64_t count, int64_t group);
// A dtype of integers with scales for rows or groups. bits 0: it is none.
struct IntegerKind {
  int bits = 0;
  int64_t group = 0;  // of rows of `cols`
  bool zero = false, ordered = false;
};
IntegerKind integer_kind(DType dtype, int64_t cols);
Tensor zeros_of(const Tensor& weight);  // i8 [rows, groups] less the middle of the codes; zeros where it has none

// Fields of `bits` in words, from the lowest bit of the first on: number i.
uint32_t field(const uint32_t* words, int64_t i, int bits);
void set_field(uint32_t* words, int64_t i, int bits, uint32_t value);  // of what was 0

// [a, b] elements of a plain dtype as [b, a].
void transpose(const Tensor& from, void* to);
// [a, b] words of codes of a column each, as rows of bytes [b, a * 4], each code less 2^(bits - 1).
void transpose_words(const uint32_t* from, int64_t a, int64_t b, int bits, uint8_t* to);
void transpose_back(const uint8_t* from, int64_t a, int64_t b, int bits, uint32_t* to);

}  // namespace dyadic::inline v1::io
