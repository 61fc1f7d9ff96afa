// numpy's files written: .npy and .npz. They are read by io::open (tensor_file.h), data::load_npy (data_files.h), and mapped by
// memmap.h.
#pragma once
#include <string>

#include "dyadic/io.h"

namespace dyadic::inline v1::io {

// Files appear whole or not at all. TypeError for dtypes that numpy has not.
void save_npy(const std::string& path, const Tensor& t);

struct NpzOptions {
  bool compressed = false;  // as numpy.savez_compressed; else open() maps the arrays
};
void save_npz(const std::string& path, const NamedTensors& tensors, NpzOptions options = {});
NamedTensors load_npz(const std::string& path);  // all arrays, in memory of their own

}  // namespace dyadic::inline v1::io
