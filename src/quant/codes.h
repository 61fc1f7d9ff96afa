// Codes of a scaled format, chosen one by one while its scales stand. Methods that say which code each weight gets (GPTQ, HQQ,
// searches for scales) need three things of a format, whatever its layout: which values an element can have, where its code
// lies, which columns share their scales. All three are found by asking the format's own encoder and decoder, so that every
// format whose elements have codes of their own is served, and none has a line here.
#pragma once
#include <memory>
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1::quant {

// Of every `period` elements in storage order (of a row, where rows begin on whole bytes) the codes lie in `bytes` bytes of the
// first plane, the code of element e in the bits bit[e * bits ...] of them.
struct CodeMap {
  int64_t period = 0, bytes = 0;
  int bits = 0;
  std::vector<uint32_t> bit;
  // What an element can be, ascending from 0 to 1: its value is offset + scale * level, with a scale and an offset for each
  // element that the scales as stored say. code[i] gives level[i]; first and last are those of 0 and 1.
  std::vector<float> level;
  std::vector<uint32_t> code;
  bool uniform = false;  // level[i] = i / (levels - 1)
};
// Null where codes cannot be chosen: plain dtypes, formats that are only decoded, bytes that hold several elements' codes
// together (tq1_0) or something that depends on them (q8_K).
const CodeMap* code_map(DType format);
std::string why_no_codes(DType format);  // for messages

// What the scales of `stored` (2-d, whole of its storage) make of levels: f32, of its shape.
struct Affine {
  Tensor scale, offset;
};
Affine affine_of(const Tensor& stored);
// Writes the codes whose values are nearest to `wanted` (f32, of its shape). Where a scale is zero or not finite they stay.
void choose_codes(const Tensor& stored, const Tensor& wanted);

// Columns that share their scales in a matrix of so many rows and columns, if each run of so many columns of a row is encoded
// by itself, whatever stands beside it; 0 where it is not (scales of scales, one scale for all, blocks that cross rows).
int64_t own_columns(DType format, int64_t rows, int64_t cols);
// A matrix from pieces of own_columns() columns each, side by side; their codes and scales stay.
Tensor join_columns(const std::vector<Tensor>& pieces);
// Row by row and run by run, b's codes and scales where `take` (bool [rows, runs]) says so, else a's.
Tensor merge_runs(const Tensor& a, const Tensor& b, const Tensor& take);

}  // namespace dyadic::inline v1::quant
