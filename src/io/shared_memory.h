// Memory that several processes map: part of a file, which stays open as long as the memory is used. Where no file is given it
// is one without a name, of which nothing is left when the last process lets go.
#pragma once
#include <string>

#include "tensor/impl.h"

namespace dyadic::inline v1::io {

// A tensor over the part of a file from byte `offset` on: what one process writes the others see. `file` is its own from then
// on, whatever happens; `name` is for messages.
Tensor map_shared(int file, const std::string& name, IntList shape, DType dtype, int64_t offset = 0);

// The memory of a storage, and so of all its views, becomes shared; its contents stay. RuntimeError: it is read only, on meta,
// or the system refuses.
void share_memory(const Tensor& t);
bool is_shared(const Tensor& t);

struct FilePart {
  int file;  // the storage's own
  int64_t offset, bytes;
};
FilePart shared_part(const Tensor& t);  // where another process finds the storage; RuntimeError: it is not shared

}  // namespace dyadic::inline v1::io
