// What the io tests share: a folder of their own, and files made by hand.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "dyadic/io.h"
#include "dyadic/ops.h"
#include "tensor/impl.h"

namespace dyadic::testing {

namespace fs = std::filesystem;

class Folder {  // gone with its content at the end of the test
  fs::path path_;

 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "dyadic_io_XXXXXX").native();
    if (mkdtemp(name.data())) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).native(); }
  const fs::path& path() const { return path_; }
  size_t files() const { return size_t(std::distance(fs::directory_iterator(path_), fs::directory_iterator())); }
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// A safetensors file from its header and data.
inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += char(uint64_t(header.size()) >> (8 * i));
  return out + header + data;
}

// All that makes a tensor: dtype, sizes, strides where they matter, and the bytes of its elements or planes.
inline std::string content(const Tensor& t) {
  std::string out = describe(t);
  const Storage& s = *t.impl()->storage;
  if (t.dtype().is_scaled()) {
    for (int64_t d = 0; d < t.dim(); ++d) out += " " + std::to_string(t.size(d) == 1 ? 0 : t.stride(d));
    out += " of " + std::to_string(s.geometry.rows) + "x" + std::to_string(s.geometry.cols);
    PlaneList planes = t.dtype().format()->def->planes(*t.dtype().format(), s.geometry);
    for (int k = 0; k < planes.count; ++k)
      out.append(static_cast<const char*>(s.data) + planes.plane[size_t(k)].offset, size_t(planes.plane[size_t(k)].bytes));
  } else {
    Tensor dense = t.contiguous();
    if (t.numel()) out.append(static_cast<const char*>(dense.data_ptr()), size_t(dense.nbytes()));
  }
  return out;
}

template <class F> std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

}  // namespace dyadic::testing
