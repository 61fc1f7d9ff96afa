// Which views a tensor with scales can have.
#pragma once
#include "tensor/impl.h"

namespace dyadic::inline v1 {

void check_whole_blocks(const Tensor& base, const TensorImpl& view);  // ValueError where a block would be cut

}  // namespace dyadic::inline v1
