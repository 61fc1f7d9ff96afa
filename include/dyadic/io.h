// Files of tensors: safetensors, which every tool of the field reads, and checkpoints in the same form.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1::io {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using Metadata = std::map<std::string, std::string>;  // keys that begin with "dyadic." are ours

// Writes the tensors as a safetensors file. A scaled tensor `w` becomes one plain array per plane (w.codes, w.scales ...),
// which any reader sees, with its dtype and shape in the file's metadata, so that load_safetensors gives back the very same
// bits, a permuted view included. The file appears whole or not at all: it is written beside `path`, synced and renamed.
// ValueError: a name twice or not UTF-8, a part of a scaled tensor, a meta tensor. Error: the system's reason why the file
// cannot be written; what was there before stays.
void save_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata = {});

struct SafeTensors {
  NamedTensors tensors;  // in the order of the header
  Metadata metadata;     // without ours
};
// Trusts nothing in the file: ValueError "<path>: tensor "x": ..." for whatever is not as the format says. Dtypes: F64 F32 F16
// BF16 I64 I32 I16 I8 U8 BOOL.
SafeTensors load_safetensors(const std::string& path);

// The file of a checkpoint: tensors in named groups and a JSON document. Which tensors and what the document says is the affair
// of train::Checkpoint (train.h). One safetensors file, sealed with a SHA-256 that load checks; or, above a size, several and
// an index of them.
class Checkpoint {
  NamedTensors tensors_;  // "<group>.<name>"

 public:
  std::string json = "{}";  // an object

  // Group names have no dot. set replaces a whole group; get returns it under the names it was set with: states of an optimizer
  // are found by their parameters' names, never by their order.
  void set(std::string_view group, const NamedTensors& tensors);
  NamedTensors get(std::string_view group) const;  // Error naming the groups there are
  bool has(std::string_view group) const;

  // With shard_bytes above 0 and more bytes of tensors than that: "<path without .safetensors>-00001-of-00003.safetensors" ...,
  // none larger unless one tensor is, and then "<path>.index.json", in the form that Hugging Face's tools read. The checkpoint
  // is there from the moment that its file, or its index, is. Returns the path to load.
  std::string save(const std::string& path, int64_t shard_bytes = 0) const;
  // Tensors of plain dtypes lie in the file: they are read when they are used, and not to be written (clone() them).
  // "checkpoint <path>: damaged: ...; delete it or pass an older one" (ValueError) for one that is not what save wrote.
  static Checkpoint load(const std::string& path);
  static std::string document(const std::string& path);  // the JSON alone, without a look at the tensors or the seal
};

struct CheckpointFolderOptions {
  std::string name = "checkpoint";
  int keep = 3;           // the newest so many, at least 1
  std::string best = {};  // a number in the document's "metrics": the checkpoint where it is smallest is kept as well
  bool maximize = false;  // ... where it is largest
  int64_t shard_bytes = 0;
};

// A folder of checkpoints of one run, <name>-<step>.safetensors or .safetensors.index.json.
class CheckpointFolder {
  std::string folder_;
  CheckpointFolderOptions o_;

 public:
  struct File {
    std::string path;
    int64_t step = 0;
  };
  struct Found {
    std::string path;
    int64_t step = 0;
    Checkpoint checkpoint;
  };
  explicit CheckpointFolder(std::string folder, CheckpointFolderOptions options = {});
  std::string path(int64_t step) const;
  // Writes the step's file, making the folder, then removes what is neither among the newest nor the best (nor the one just
  // written), and what killed processes left. Returns its path.
  std::string save(const Checkpoint& checkpoint, int64_t step) const;
  void tidy(const std::string& written) const;  // the second half of it
  std::vector<File> list() const;               // newest step first; nothing for a folder that is not there
  // The newest complete checkpoint: a damaged one is passed over with a warning. Nothing if there are none; Error, with the
  // newest's reason, if all are damaged.
  std::optional<Found> latest() const;
  std::optional<File> best() const;  // the first of equals; nothing if no checkpoint has the metric
};

}  // namespace dyadic::inline v1::io
