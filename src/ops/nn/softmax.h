// What softmax, log_softmax and their gradient share: operands that lie in any way, and the rows or columns that the kernel
// takes.
#pragma once
#include "ops/along.h"
#include "ops/nn/softmax_kernel.h"
#include "ops/scratch.h"

namespace dyadic::inline v1::ops {

// An operand as the kernel meets it: where it lies, or a dense copy in the workspace, in `dtype` and with `dim` last.
class SoftmaxOperand {
  Assignment copy_;
  const Format* format_ = nullptr;
  int64_t at_ = -1, scratch_ = 0;  // in the workspace; at_ < 0: where it lies

 public:
  Source read(const void* given, void* workspace) const;
  Target target(void* given, void* workspace) const { return {at_ < 0 ? given : static_cast<char*>(workspace) + at_, format_}; }
  void finish(void* given, void* workspace) const;  // of a result
  bool lies_there() const { return at_ < 0; }

  friend struct SoftmaxLayout;
};

// [outer, n, inner] around a dimension: its columns go side by side if they are short and stand in rows of some width. Others
// are turned into rows.
struct SoftmaxLayout {
  int64_t outer, n, inner, dim;
  bool turned;
  SoftmaxLayout(const char* who, IntList sizes, int64_t dim);
  SoftmaxOperand input(const Operand& given, DType dtype, Scratch& scratch) const;
  SoftmaxOperand result(const Operand& given, const SoftmaxOperand& in, Scratch& scratch) const;  // over a copy of `in`
};

void infer_softmax(Call& c, const Tensor& self, int64_t dim, const Arg& dtype);
void plan_softmax(Call& c, int64_t dim, bool log);
void softmax_gradient(Grad& g, int64_t dim, bool log);

}  // namespace dyadic::inline v1::ops
