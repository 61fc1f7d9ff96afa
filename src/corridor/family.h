// The family of an op: the folder of its file, src/ops/<family>/<op>.cpp.
#pragma once
#include "dyadic/op_ids.h"

namespace dyadic::inline v1 {

const char* op_family(Op op);

}  // namespace dyadic::inline v1
