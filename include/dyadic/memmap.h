// Files as tensors, without reading them first.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

struct MemmapOptions {
  DType dtype{};                              // of a .npy file: its own
  std::optional<std::vector<int64_t>> shape;  // of a .npy file: its own; else all of the file, 1-d
  // "r": writing to the tensor is an error. "r+": writes change the file. "w+": a new file (or one made anew) of zeros, dtype
  // and shape are needed. "c": writes are the tensor's own.
  std::string_view mode = "r";
  int64_t offset = 0;  // bytes before the first element; not of .npy files
};

// The elements of a file as a tensor: a page is read when it is touched, and the ledger counts none of it. A path that ends in
// .npy has numpy's header, any other file is its elements, row-major, little-endian. Plain dtypes. The file must not become
// shorter while the tensor lives: the system ends a process that reads beyond the end. ValueError "<path>: ..." for a file that
// is not what is asked for; Error with the system's reason where it cannot be opened.
Tensor memmap(const std::string& path, const MemmapOptions& options = {});

}  // namespace dyadic::inline v1
