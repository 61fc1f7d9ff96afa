// The kinds besides safetensors that save() writes: GGUF, PyTorch's and numpy's files.
#include <algorithm>

#include "dyadic/gguf.h"
#include "dyadic/numpy_file.h"
#include "dyadic/torch_file.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"
#include "io/gguf.h"
#include "io/npy.h"

namespace dyadic::inline v1::io {
namespace {

void refuse_parts(const char* kind, const SaveOptions& o) {
  DY_CHECK_AS(ValueError, o.max_shard_size == 0, "save: files of {} are whole: max_shard_size is {}; leave it out, or write {}",
              kind, o.max_shard_size, "safetensors or GGUF");
}

// A source that is GGUF keeps its keys: architecture, vocabulary and all; a model that is made into one has its own.
std::string save_as_gguf(const std::string& path, const TensorFile& source, const SaveOptions& o) {
  GgufMetadata keys;
  if (const auto* gguf = dynamic_cast<const GgufFile*>(&source.origin())) keys = gguf->values();
  if (const auto* made = dynamic_cast<const GgufSource*>(&source.origin())) keys = made->values();
  const auto is_there = [&](const std::string& key) {
    return std::ranges::any_of(keys, [&](const auto& k) { return k.first == key; });
  };
  for (const auto& [key, value] : o.metadata)
    if (!is_there(key)) keys.emplace_back(key, value);
  const auto get = [&](size_t i) { return source.get(i); };
  return save_gguf(path, source.tensors(), get, keys, {.max_bytes = int64_t(o.max_shard_size)});
}

// A dict of tensors. PyTorch's file has no place for metadata.
std::string save_as_torch(const std::string& path, const TensorFile& source, const SaveOptions& o) {
  refuse_parts("PyTorch", o);
  // A tensor at a time, but where tensors share parts of their memory.
  if (const std::string_view from = source.origin().kind(); from != "torch" && from != "memory")
    return write_torch(path, source), path;
  Value::Entries entries;
  for (auto& [name, t] : source.all()) entries.emplace_back(Value(name), Value(t));
  save_torch(path, Value::dict(std::move(entries)));
  return path;
}
std::string save_as_npz(const std::string& path, const TensorFile& source, const SaveOptions& o) {
  refuse_parts("numpy", o);
  write_npz(path, source);
  return path;
}

// One array, which the file has no name for.
std::string save_as_npy(const std::string& path, const TensorFile& source, const SaveOptions& o) {
  refuse_parts("numpy", o);
  DY_CHECK_AS(ValueError, source.tensors().size() == 1, "save: a .npy file has one array, and there are {}; write .npz",
              source.tensors().size());
  save_npy(path, source.get(0));
  return path;
}

}  // namespace

const FileWriter gguf_writer = {"gguf", ".gguf", "model.gguf", save_as_gguf};
const FileWriter torch_writer = {"torch", ".pt .pth .bin", "pytorch_model.bin", save_as_torch};
const FileWriter npz_writer = {"npz", ".npz", "model.npz", save_as_npz};
const FileWriter npy_writer = {"npy", ".npy", "model.npy", save_as_npy};

}  // namespace dyadic::inline v1::io
