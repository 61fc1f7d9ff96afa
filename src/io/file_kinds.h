// The kinds of files of tensors that open() knows, one reader each.
#pragma once
#include <memory>

#include "dyadic/tensor_file.h"
#include "io/mapped_file.h"

namespace dyadic::inline v1::io {

struct FileKind {
  const char* name;
  bool (*matches)(const MappedFile&);  // from a look at its first bytes, or its last
  std::shared_ptr<TensorFile> (*open)(std::shared_ptr<const MappedFile>);
};
extern const FileKind gguf_files;

}  // namespace dyadic::inline v1::io
