// The safetensors format: 8 bytes of little-endian header length, a JSON header, the data. What reading and writing share.
//
// Note [Scaled tensors in files]: a scaled tensor w is stored plane by plane, w.codes, w.scales ..., each a one-dimensional
// array of a plain dtype. The metadata entry "dyadic.scaled" says how they belong together, as JSON:
//   {"w": {"dtype": "nf4(block=64)", "rows": 65, "cols": 100, "shape": [65, 100], "permute": [1, 0]}}
// rows and cols are the geometry of its storage (formats/format.h), shape its dimensions in storage order, and permute, where
// it is there, the permutation that makes the tensor. "dyadic.format" is the version of all our entries. "dyadic.tied" has the
// names of tensors that are there under another: {"lm_head.weight": "embed.weight"}.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "dyadic/io.h"
#include "dyadic/tensor_file.h"
#include "formats/format.h"
#include "io/bad_file.h"

namespace dyadic::inline v1::io {

inline constexpr uint64_t kMaxHeader = 100'000'000;  // the reference implementation's limit
inline constexpr int kFormatVersion = 1;
inline constexpr char kFormatKey[] = "dyadic.format", kScaledKey[] = "dyadic.scaled", kTiedKey[] = "dyadic.tied",
                      kSealKey[] = "dyadic.sha256";
inline constexpr std::string_view kReserved = "dyadic.";
inline constexpr size_t kSealDigits = 64;

// One array of a file.
struct Entry {
  std::string name, dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // in the data
};
struct Header {
  std::vector<Entry> entries;  // in the order of the header
  Metadata metadata;
};
// Checks everything that can be checked without the data: JSON, names, dtypes, shapes against offsets, and that the arrays
// cover the data without gap or overlap.
Header parse_header(std::string_view text, uint64_t data_bytes, const std::string& file);
// From the first 8 bytes of a file of `size`: the header's length, which the file has room for.
uint64_t header_length(const unsigned char (&prefix)[8], uint64_t size, const std::string& file);
void check_version(const Header& h, const std::string& file);  // of our own metadata
void check_bool(std::string_view name, std::string_view data, const std::string& file);

struct Scaled {  // Note [Scaled tensors in files]; shape and strides are the tensor's
  DType dtype;
  Geometry geometry;
  std::vector<int64_t> shape, strides;
  bool permuted = false;
};
struct Item {  // a tensor of the file, and the entries that make it: one, or a scaled tensor's planes in their order
  std::string name;
  std::vector<size_t> entries;
  std::optional<Scaled> scaled;
};
struct Tie {  // a second name of items[item]
  std::string name;
  size_t item;
};
struct Layout {
  std::vector<Item> items;
  std::vector<Tie> ties;
};
Layout layout_of(const Header& header, const std::string& file);
Tensor storage_of(const Scaled& s);  // zeros
Tensor seen_as_saved(const Scaled& s, const Tensor& storage);

const char* file_dtype(DType d);             // "F32"; null for what the format has no word for
DType dtype_of_file(std::string_view name);  // undefined for unknown ones

// Where a file's bytes come from: read(target, offset, n) fills all of target.
struct Source {
  std::string name;
  uint64_t size = 0;
  FunctionRef<void(void* target, uint64_t offset, size_t n)> read;
};
enum class Seal : bool { none, sha256 };
SafeTensors read_safetensors(const Source& source);
Metadata read_metadata(const std::string& path);  // all of it; the data may be anything
// Of a file with a seal, which is demanded and checked before anything is returned: tensors as TensorFile::get gives them,
// plain ones mapped, and all of the metadata.
SafeTensors map_sealed(const std::string& path);
// Returns the seal.
std::string write_safetensors_file(const char* who, const std::string& path, const NamedTensors& tensors,
                                   const Metadata& metadata, Seal seal);
// Those of the source's tensors, streamed, as one file. Second names of the same are left out and listed in "dyadic.tied".
// The names of its arrays are appended to `arrays`.
void write_safetensors_part(const std::string& path, const TensorFile& source, std::span<const size_t> which,
                            const Metadata& metadata, std::vector<std::string>* arrays);
uint64_t stored_bytes(const TensorInfo& t);  // of a tensor's arrays

}  // namespace dyadic::inline v1::io
