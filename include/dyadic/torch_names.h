// What libtorch calls otherwise, under its names, so that programs for it read the same: dtypes, namespaces, files.
#pragma once
#include <string>
#include <vector>

#include "dyadic/autograd.h"
#include "dyadic/io.h"
#include "dyadic/nn.h"
#include "dyadic/optim.h"

namespace dyadic::inline v1 {

inline constexpr DType kFloat64 = f64, kFloat32 = f32, kFloat16 = f16, kBFloat16 = bf16, kDouble = f64, kFloat = f32,
                       kHalf = f16;
inline constexpr DType kInt64 = i64, kInt32 = i32, kInt16 = i16, kInt8 = i8, kUInt8 = u8, kBool = boolean;
inline constexpr DType kLong = i64, kInt = i32, kShort = i16, kChar = i8, kByte = u8, kComplexFloat = c64,
                       kComplexDouble = c128;
inline constexpr Device kCPU = cpu, kMeta = meta;

namespace autograd {
using v1::backward, v1::grad;
}
namespace nn {
namespace functional = v1;

namespace utils {
inline optim::Lazy<double> clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2) {
  return optim::clip_grad_norm_(numbered(parameters), max_norm, norm_type);
}
inline void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  optim::clip_grad_value_(numbered(parameters), clip_value);
}
}  // namespace utils
}  // namespace nn

// Safetensors files, which every tool of the field reads: of one tensor, of a module's parameters and buffers, of named
// tensors.
inline void save(const nn::NamedTensors& tensors, const std::string& path) { io::save_safetensors(path, tensors); }
inline void save(const Tensor& tensor, const std::string& path) { io::save_safetensors(path, {{"tensor", tensor}}); }
inline void save(const nn::Module& module, const std::string& path) { io::save_safetensors(path, module.state_dict()); }
inline nn::NamedTensors load(const std::string& path) { return io::load_safetensors(path).tensors; }
inline void load(nn::Module& module, const std::string& path) { module.load_state_dict(load(path)); }
inline void load(Tensor& tensor, const std::string& path) {
  nn::NamedTensors all = load(path);
  if (all.size() != 1)
    throw ValueError(path + ": a file of " + std::to_string(all.size()) + " tensors; load(path) gives all of them");
  tensor = all[0].second;
}

}  // namespace dyadic::inline v1
