// A file as memory: pages are read when they are touched.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "dyadic/tensor.h"

namespace dyadic::inline v1::io {

class MappedFile : public std::enable_shared_from_this<MappedFile> {
  std::string path_;
  char* at_ = nullptr;
  uint64_t size_ = 0;
  MappedFile() = default;

 public:
  // A regular file, to be read. Error "<path>: cannot be opened: <the system's reason>".
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  std::string_view bytes() const { return {at_, size_}; }
  void drop(uint64_t offset, uint64_t n) const;  // whole pages among these leave memory until they are read again
  // The tensor whose storage is `bytes` from `offset` on, in place: it keeps the file mapped, and writing to it is an error.
  // What does not lie at a multiple of its element is copied. The dtype is plain, packed or of GGUF's block formats: what is
  // one plane. The caller has checked nothing: ValueError "<path>: tensor "name": ..." where shape, dtype and file do not fit.
  Tensor tensor(std::string_view name, DType dtype, IntList shape, uint64_t offset, uint64_t bytes) const;
};
bool is_mapped(const Tensor& t);  // lies in a file that is mapped so, or is a view of what does

}  // namespace dyadic::inline v1::io
