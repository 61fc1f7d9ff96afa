// What op files share: shape rules and small helpers. No op lives here.
#pragma once
#include "base/parallel.h"
#include "corridor/call.h"
#include "corridor/tape.h"
#include "dyadic/ops.h"
#include "loops/blocked.h"
#include "tensor/operand.h"

namespace dyadic::inline v1::ops {

// What a tensor's values are once a scaled one is decoded.
inline DType plain(const Tensor& t) { return t.dtype().is_scaled() ? f32 : t.dtype(); }
// Arguments of a composition.
inline IntList ints_of(const Arg& a) { return {a.ints, a.kind == Arg::Kind::ints ? a.n : 0}; }
// For what depends on values: ValueError on meta.
void check_has_values(const char* who, const Tensor& t);
// Views that one function made: none of them is written while gradients are recorded, as nothing says what becomes of the
// others.
inline std::vector<Tensor> one_of_many(std::vector<Tensor> views) {
  for (const Tensor& t : views) t.impl()->flags |= kOneOfMany;
  return views;
}
inline void infer_nothing(Call&) {}  // views make their output themselves
// Replaces a -1 and checks the number of elements; `out` holds kMaxDims.
IntList resolve_size(const char* who, IntList size, int64_t numel, int64_t* out);
// Strides that show `t` with the new sizes without moving anything (as numpy's reshape finds them), or false.
bool view_strides(const TensorImpl& t, IntList sizes, int64_t* strides);
bool can_view(const Tensor& t, IntList sizes);
Tensor root_of_squares(const Tensor& sum);  // its gradient at 0 is 0
// dtype and device of a creation op from optional arguments.
DType dtype_or_default(const Call& c, int arg);
Device device_or_cpu(const Call& c, int arg);
void infer_creation(Call& c, IntList size, int dtype_arg, int device_arg);
// Of what is made in the shape of another tensor: its dtype and device where none is given.
void infer_like_other(Call& c, int dtype_arg, int device_arg);
inline DType dtype_like(const Tensor& t, const Arg& dtype) { return dtype.kind == Arg::Kind::dtype ? dtype.dtype : plain(t); }
inline Device device_like(const Tensor& t, const Arg& device) {
  return device.kind == Arg::Kind::device ? device.device : t.device();
}
// t, decoded if it is scaled, copied if it is not contiguous. (contiguous() of a scaled view would encode it again.)
Tensor dense(const Tensor& t);
// A number as an element of the dtype that is returned; `out` holds 16 bytes.
DType write_number(Scalar value, void* out);
// to += from, both in the compute type of one format.
void add_elements(const Array& to, const Array& from);
void encode_number(Scalar value, DType dtype, void* stored);  // the same as an element of `dtype`, which is not blocked
// Fills a contiguous or strided tensor with a value converted to its dtype.
void fill(const Tensor& t, Scalar value);
void fill(const Array& t, Scalar value);  // not blocked, its elements apart
void plan_fill(Call& c, Scalar value);    // of a call that gives this
// Fills a dense array with computed values: values(begin, n, out) writes n of them in `from`, tile by tile.
void generate(const Array& t, DType from, FunctionRef<void(int64_t begin, int64_t n, void* values)> values);

}  // namespace dyadic::inline v1::ops
