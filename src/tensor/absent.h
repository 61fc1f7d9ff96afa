// Tensors whose elements lie elsewhere for a while: of a model that is spread over processes.
#pragma once
#include "tensor/impl.h"

namespace dyadic::inline v1 {

// Contiguous, with the dtype, sizes and planes of `like`, without memory: who reads it gets an Error. The ledger counts
// nothing.
Tensor make_absent(const Tensor& like);
bool is_absent(const Tensor& t);  // made so, whether or not its elements are here
// Its elements lie there, in memory that somebody else frees and counts, null: they are gone again. What backward has saved of
// the tensor stays good: its version does not change.
void lend(const Tensor& absent, void* data);
int64_t buffer_bytes(const Tensor& t);  // that all its planes take; of a contiguous tensor that begins its storage

}  // namespace dyadic::inline v1
