// The kinds of files of tensors that open() knows, one reader each.
#pragma once
#include <memory>

#include "dyadic/convert.h"
#include "io/mapped_file.h"

namespace dyadic::inline v1::io {

struct FileKind {
  const char* name;
  bool (*matches)(const MappedFile&);  // from a look at its first bytes, or its last
  std::shared_ptr<TensorFile> (*open)(std::shared_ptr<const MappedFile>);
};
extern const FileKind safetensors_kind, index_kind;

struct FileWriter {
  const char* name;
  const char* endings;    // of names: ".pt .pth"
  const char* in_folder;  // the name that a model has in a folder
  std::string (*save)(const std::string& path, const TensorFile& source, const SaveOptions& options);
};
extern const FileWriter safetensors_writer, gguf_writer, torch_writer, npz_writer, npy_writer;
bool has_ending(const std::string& path, const char* endings);
// The one meant by SaveOptions::kind, or by the path's ending; ValueError naming those there are.
const FileWriter& writer_of(const std::string& path, const std::string& kind);

void check_rules(const TensorFile& source,
                 const ConvertOptions& options);  // ValueError for one of `map` that is none, or fits none

// TensorInfo::order of a tensor: its dimensions by falling strides, those of size 1 where they are; empty for the usual order.
std::vector<int64_t> storage_order(IntList sizes, IntList strides);
// Tensors in memory as a source.
std::shared_ptr<TensorFile> in_memory(const NamedTensors& tensors);

// A dict of a source's tensors as a file of torch.save, one at a time.
void write_torch(const std::string& path, const TensorFile& source);

// The model in a folder: model.safetensors or its index; else pytorch_model.bin or its index; else all that is there of one
// kind.
std::shared_ptr<TensorFile> open_folder(const std::string& path);
extern const FileKind gguf_files;

}  // namespace dyadic::inline v1::io
