// Models whose weights are quantized: the tools that do it (bitsandbytes, GPTQ ...) write a weight as several tensors, codes
// and scales and zero points under names of their own, and say in config.json's "quantization_config" which tool it was. One
// record for each such packing; reading through it gives the weights again, under the names and in the shapes that the model
// has for them.
#pragma once
#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/tensor_file.h"
#include "formats/format.h"
#include "io/bad_file.h"

namespace dyadic::inline v1::io {

using nlohmann::json;

// A weight that several tensors of a file make.
struct PackedWeight {
  TensorInfo info;
  std::vector<size_t> parts;  // numbers of those tensors; it stands in the place of the first
  std::function<Tensor()> read;
  std::vector<size_t> beside = {};  // of the parts those that packing it again would not give: divisors, scales of inputs
};
// What goes along with weights, so that packing them again gives the file's own tensors: some of its own, by the weight's name.
using BesideWeights = std::map<std::string, NamedTensors>;

// A file's tensors by name. It outlives what is found in it.
struct Names {
  const TensorFile& file;
  std::map<std::string_view, size_t> numbers;

  explicit Names(const TensorFile& file);
  // Of the tensors that end so, what stands before it, in the file's order.
  std::vector<std::string> before(std::string_view ending) const;
  // Of weight <module>.weight the tensor <module><ending>, where it is there, which says nothing of its values: it is beside.
  void add_part(PackedWeight& weight, std::string_view ending) const;
};

struct Packing {
  const char* method;  // as quantization_config's quant_method says
  // All weights there are. Shapes, dtypes and lengths are checked here; values when they are read. ValueError for a variant
  // that is not read, BadFile for what contradicts itself.
  std::vector<PackedWeight> (*find)(const Names& names, const json& config);
  // The tensors that a weight with scales is written as; none where the packing, as `config` has it, has no place for it. It is
  // the whole of its storage, but may be a transposed view. beside: what was beside the weight, or nothing. Null: the packing
  // is only read.
  NamedTensors (*pack)(const std::string& name, const Tensor& weight, const json& config, const NamedTensors& beside) = nullptr;
  // The quantization_config of weights of one dtype, without its quant_method; null where there is none. Null: no model is
  // made so.
  json (*describe)(DType dtype) = nullptr;
};

// The weights of a model's file for what config.json says of it; null where none is packed, or all have been unpacked.
// ValueError naming a method that is unknown, or weights that are codes without the scales that belong to them.
std::shared_ptr<TensorFile> unpacked(std::shared_ptr<const TensorFile> file, const json& quantization_config);
bool is_unpacked(const TensorFile& file);
void check_packing(const std::string& path, const json& quantization_config);  // ValueError naming a method that is unknown
// Those of such a file; of any other there are none.
BesideWeights beside_weights(const TensorFile& weights);
// The method that a quantization_config names, its old key or its new one; empty without.
template <class Json> std::string quantization_method(const Json& config) {
  for (const char* key : {"quant_method", "quant_algo"})
    if (const auto at = config.find(key); at != config.end() && at->is_string())
      if (std::string name = at->template get<std::string>(); !name.empty()) return name;
  return config.contains("bits") && config.contains("group_size") ? "mlx" : "";  // which says no more
}

// Weights as a file of that packing holds them, each made when it is asked for; null where it has no place for one of those
// with scales. What unpacked() has made of a file is that file again.
std::shared_ptr<const TensorFile> packed(std::shared_ptr<const TensorFile> weights, const json& quantization_config,
                                         const BesideWeights& beside = {});
// The quantization_config for a file in that packing of weights of which those with scales have one dtype. ValueError where the
// packing is unknown or has no such weights.
json quantization_for(const std::string& packing, const NamedTensors& weights);
// What a config.json says of how weights are packed; null where it says nothing.
json quantization_of(const json& config);
void forget_quantization(json& config);  // its words for that go: nothing is packed any more

// The tensors of a file that one weight is made of. What is not as it must be is BadFile with its name.
class Pieces {
  const Names& names_;
  std::string stem_;
  std::vector<size_t> parts_;

 public:
  Pieces(const Names& names, std::string stem) : names_(names), stem_(std::move(stem)) {}

  // The number of tensor <stem><ending>, which has one of `dtypes`.
  size_t take(std::string_view ending, std::initializer_list<DType> dtypes);
  bool has(std::string_view ending) const { return names_.numbers.contains(stem_ + std::string(ending)); }
  const TensorInfo& info(size_t number) const { return names_.file.tensors()[number]; }
  Tensor get(size_t number) const { return names_.file.get(number); }
  // -1: any size.
  void check_shape(size_t number, std::vector<int64_t> shape) const;
  void check_count(size_t number, int64_t elements) const;
  template <class... A> [[noreturn]] void refuse(fmt::format_string<A...> text, A&&... args) const {
    bad(names_.file.path(), "weight {}: {}", quote_name(stem_), fmt::format(text, std::forward<A>(args)...));
  }
  PackedWeight weight(const std::string& ending, DType dtype, std::vector<int64_t> shape, std::function<Tensor()> read) const;
};

// A scaled tensor to be filled plane by plane.
class Filling {
  PlaneList list_;

 public:
  Tensor tensor;
  Filling(IntList shape, DType dtype);
  void* plane(std::string_view name) const;
  template <class T> T* at(std::string_view name) const { return static_cast<T*>(plane(name)); }
};
Tensor plane_of(const Tensor& t, std::string_view name);  // undefined where it has none of that name
// Tensor "<weight's name without "weight"><name>".
std::string beside(const std::string& weight, std::string_view name);
// The elements of a tensor from a file, in order.
template <class T> const T* elements_of(const Tensor& t) { return static_cast<const T*>(t.data_ptr()); }

bool is_integer_in(const json& v, int64_t least, int64_t most);
// An integer of the configuration in `least` ... `most`.
int64_t integer_of(const json& config, const char* key, int64_t otherwise, int64_t least, int64_t most);
std::string word_of(const json& config, const char* key, const std::string& otherwise);
bool flag_of(const json& config, const char* key, bool otherwise);

extern const Packing bitsandbytes_packing, gptq_packing, awq_packing, fp8_packing, fbgemm_fp8_packing, mxfp4_packing,
    compressed_tensors_packing, mlx_packing, torchao_packing, bitnet_packing, auto_round_packing;

}  // namespace dyadic::inline v1::io
