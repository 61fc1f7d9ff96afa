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
extern const FileKind safetensors_kind, index_kind;

// The model in a folder: model.safetensors or its index; else pytorch_model.bin or its index; else all that is there of one
// kind.
std::shared_ptr<TensorFile> open_folder(const std::string& path);

}  // namespace dyadic::inline v1::io
