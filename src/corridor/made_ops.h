// Ops without a file of their own: their records are made at run time, of other records (gradients of pointwise ops) or by
// layers above (what an optimizer does to a parameter). They are called, counted and observed like any other, and are internal.
#pragma once
#include <memory>
#include <string>

#include "corridor/call.h"
#include "op_columns.h"

namespace dyadic::inline v1 {

const Kernel* column_kernel(int column, Op op);  // null where there is none

struct MadeOp {
  std::string name, sig, doc;
  OpDef def{};  // without texts: they are those above
  const Kernel* kernel[kColumns]{};
  Op of{};         // a gradient's: of this op
  int input = -1;  // for this input; -1: it is none
};
inline constexpr int kMostMade = 4096;
Op add_op(std::unique_ptr<MadeOp> op);  // for good
const MadeOp& made_op(Op op);

}  // namespace dyadic::inline v1
