// Files of tensors, whatever their kind: names, dtypes and shapes at once, each tensor when it is asked for.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/io.h"
#include "dyadic/tensor.h"

namespace dyadic::inline v1::io {

struct TensorInfo {
  std::string name;
  DType dtype;         // of the tensor that get() gives; undefined: no dtype here holds it, and get() says so
  std::string stored;  // the file's own word: "BF16", "Q4_K", "torch.FloatStorage", "<f4"
  std::vector<int64_t> shape;
  uint64_t bytes = 0;  // in the file
  // Of a dtype in blocks whose rows run along another dimension than the last: the dimensions in the order of its storage.
  std::vector<int64_t> order = {};
  DType own = {};  // of the tensor that this one is made of, where that had to be decoded; else undefined
};

class TensorFile {
  std::string path_;

 public:
  explicit TensorFile(std::string path) : path_(std::move(path)) {}
  virtual ~TensorFile() = default;
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;

  const std::string& path() const { return path_; }
  virtual std::string_view kind() const = 0;                   // "safetensors", "gguf", "torch", "npz", "npy"
  virtual const std::vector<TensorInfo>& tensors() const = 0;  // in the file's order
  virtual std::string metadata() const { return "{}"; }        // what else the file says: a JSON object
  virtual const TensorFile& origin() const { return *this; }   // what a converted one is made of
  // Number i of tensors(). Where the file holds the elements as memory does, they are mapped: read when touched, and not to be
  // written; else they are read. ValueError "<path>: tensor "x": ..." where the file is not as it must be.
  virtual Tensor get(size_t i) const = 0;
  // The first of the tensors that are number i under other names: weights that are tied. i where there is none before it.
  virtual size_t same_as(size_t i) const { return i; }

  Tensor get(std::string_view name) const;  // ValueError naming the nearest names there are
  bool has(std::string_view name) const;
  NamedTensors all() const;  // each by get()
};

// By what is in the file, not by its name. A folder is the model in it: its index, or its files of tensors. ValueError
// "<path>: ..." for what is none of the kinds known; Error with the system's reason where it cannot be opened.
std::shared_ptr<TensorFile> open(const std::string& path);

struct SaveOptions {
  std::string kind = {};        // "safetensors" ...; empty: by the ending of the path
  Metadata metadata = {};       // what the kind has a place for
  uint64_t max_shard_size = 0;  // bytes of tensors in one file, unless one tensor has more; 0: all in one
};
// Writes the tensors, one at a time: at most one of a lazy source is in memory. Tied ones are written once and tied again when
// read. A folder gets the file that open() looks for first. In several files: <name>-00001-of-00003<ending> ... and last
// <name><ending>.index.json, as Hugging Face's tools read and write them; what an earlier save left there goes then. Each file
// appears whole or not at all. Returns what open() takes.
std::string save(const std::string& path, const TensorFile& source, const SaveOptions& options = {});
std::string save(const std::string& path, const NamedTensors& tensors, const SaveOptions& options = {});

}  // namespace dyadic::inline v1::io
