// GGUF, the files of llama.cpp: tensors in ggml's types and typed metadata, in which configuration and tokenizer live.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dyadic/io.h"
#include "dyadic/tensor_file.h"

namespace dyadic::inline v1::io {

// The numbers are the file's.
enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// Numbers keep their width: who reads such a file asks for the very type.
using GgufArray = std::variant<std::vector<uint8_t>, std::vector<int8_t>, std::vector<uint16_t>, std::vector<int16_t>,
                               std::vector<uint32_t>, std::vector<int32_t>, std::vector<float>, std::vector<bool>,
                               std::vector<std::string>, std::vector<uint64_t>, std::vector<int64_t>, std::vector<double>>;
using GgufValue = std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool, std::string, uint64_t,
                               int64_t, double, GgufArray, std::vector<GgufArray>>;
// In the file's order. Arrays of arrays are read by the Python package gguf, not by llama.cpp.
using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;

struct GgufKey {
  std::string name;
  GgufType type;        // of the value
  GgufType of;          // of an array's elements; else the same
  uint64_t count = 1;   // elements of an array
  uint64_t offset = 0;  // of the value, or of an array's first element, in the file
};

// One file, or all parts of a split one (<name>-00001-of-00003.gguf), of which the first is opened. Values of the metadata are
// read when they are asked for: opening passes over a vocabulary without making anything of it. Every value that the file does
// not have as asked is a ValueError "<path>: key "x": ...".
class GgufFile final : public TensorFile {
  struct State;
  std::unique_ptr<const State> state_;
  friend struct GgufOpener;
  GgufFile(std::string path, std::unique_ptr<const State> state);
  const GgufKey& find(std::string_view key) const;  // ValueError naming the nearest
  Tensor read(size_t i, std::vector<int64_t> shape, uint64_t skip, uint64_t bytes) const;

 public:
  ~GgufFile() override;
  static std::shared_ptr<GgufFile> open(const std::string& path);
  // The file of that path, or the one in a folder that has no other kind of tensors; null where there is none.
  static std::shared_ptr<GgufFile> find(const std::string& path);

  std::string_view kind() const override { return "gguf"; }
  const std::vector<TensorInfo>& tensors() const override;
  std::string metadata() const override;  // of long arrays the type and the count alone: {"type": "string", "count": 151936}
  using TensorFile::get;
  // NVFP4 is read and converted, exactly, to an nvfp4 whose scale of the tensor is 1: llama.cpp keeps that in a tensor of its
  // own ("x.scale" beside "x.weight"). All else is mapped.
  Tensor get(size_t i) const override;
  Tensor get_part(size_t i, int64_t k) const;  // number k of the first of three dimensions; the others' bytes are not read

  uint32_t version() const;
  uint64_t alignment() const;
  const std::vector<GgufKey>& keys() const;
  bool has_key(std::string_view key) const;
  GgufValue value(std::string_view key) const;
  GgufMetadata values() const;
  int64_t integer(std::string_view key) const;  // of any integer type
  double number(std::string_view key) const;    // of any type of numbers
  std::string text(std::string_view key) const;
  Tensor numbers(std::string_view key) const;                         // an array as a 1-d tensor, mapped where it lies aligned
  std::vector<std::string_view> strings(std::string_view key) const;  // an array's, in the file: they live as long as it
};

struct GgufOptions {
  int64_t max_bytes = 0;  // of the tensors in one file; 0: no limit
};
// Version 3, at the alignment that the metadata's "general.alignment" (uint32) says, else 32. Tensors of more than max_bytes
// go, in their order, to several files "<path without .gguf>-00001-of-00003.gguf" ..., none larger unless one tensor is;
// "split.*" in the metadata is then written anew, and left out otherwise. Gives the path to open. The files appear whole or not
// at all, and only when all are written. ValueError "save_gguf: tensor "x": ..." for a dtype that ggml has no type for.
std::string save_gguf(const std::string& path, const NamedTensors& tensors, const GgufMetadata& metadata = {},
                      const GgufOptions& options = {});

// The same of tensors whose names, dtypes and shapes alone are known: get(i) is called when the turn of number i comes, and
// what it gives is let go before the next.
using GgufGet = Tensor (*)(void* get, size_t i);
std::string save_gguf(const std::string& path, const std::vector<TensorInfo>& tensors, GgufGet call, void* get,
                      const GgufMetadata& metadata, const GgufOptions& options);
template <class F>
  requires std::is_invocable_r_v<Tensor, F&, size_t>
std::string save_gguf(const std::string& path, const std::vector<TensorInfo>& tensors, F&& get,
                      const GgufMetadata& metadata = {}, const GgufOptions& options = {}) {
  const auto call = [](void* f, size_t i) -> Tensor { return (*static_cast<std::remove_reference_t<F>*>(f))(i); };
  return save_gguf(path, tensors, call, const_cast<void*>(static_cast<const void*>(&get)), metadata, options);
}

}  // namespace dyadic::inline v1::io
