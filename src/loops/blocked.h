// Reading and writing tensors of any dtype as a whole, blocked ones (scaled or packed) among them.
#pragma once
#include "tensor/operand.h"

namespace dyadic::inline v1 {

// The values of a blocked tensor in its compute type. What the view touches of storage order is decoded densely and seen
// through the same strides, so that a transposed weight costs no more than a plain one. Charged to the current category; on
// meta only charged.
Tensor decode_blocked(const Tensor& t);

// `t` on another device, dense unless it is blocked; itself if it is there. Without history.
Tensor brought(const Tensor& t, Device to);

// Any tensor as plain values: row-major, in its compute type; `out` holds numel() of them.
void read_values(const Tensor& t, void* out);

// dst = src, of one shape, converted; src of any format, dst not blocked. A blocked src is decoded a few elements at a time.
void assign(const Array& dst, const Array& src);

// dst = src, broadcast and converted, whatever their formats; each value is rounded once. Scaled tensors are written whole; a
// part of a packed one is written by way of the whole. Planned from geometry, run on memory.
class Assignment {
  // What is between: source values in their compute type, the whole result in what is encoded.
  enum class Way : uint8_t { copy, decode, decode_rows, codes, encode, encode_pieces, encode_part };
  Operand to_, from_, values_, whole_;  // values_: what is copied or encoded; whole_: what is encoded, if that is another
  Way way_ = Way::copy;
  bool decodes_ = false;
  int64_t low_ = 0, high_ = 0, decoded_bytes_ = 0;  // the span of storage order that is decoded

  int64_t piece_rows_ = 0;  // of encode_pieces

  void plan_encoding();
  void encode_pieces(char* dst, const char* src, char* room, const Round& round) const;
  void encode(const Array& values, void* dst, const Round& round) const;

 public:
  int64_t workspace = 0;  // bytes

  Assignment() = default;
  Assignment(const Operand& dst, const Operand& src);
  void run(void* dst, const void* src, void* workspace, const Round& round = {}) const;
};
void assign(const Tensor& dst, const Tensor& src, const Round& round = {});  // at once

}  // namespace dyadic::inline v1
