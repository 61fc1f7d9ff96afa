// Files of tensors into others, and what that does to their values.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "dyadic/tensor_file.h"

namespace dyadic::inline v1::io {

// How far the values of two tensors of one shape are apart. NaN is equal to NaN. Where only one is NaN, or they are infinitely
// far apart, max_abs and rmse are infinite.
struct Difference {
  bool exact = true;
  int64_t different = 0;  // elements
  double max_abs = 0, rmse = 0;
};
Difference compare(const Tensor& a, const Tensor& b);

struct Statistics {  // of the finite values; NaN where there are none
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double min = kNone, max = kNone, mean = kNone, std = kNone;  // std: of the whole, not of a sample
  int64_t nans = 0, infinities = 0;
  std::vector<int64_t> histogram;  // 16 bins of equal width from min to max
};
Statistics statistics(const Tensor& t);  // of complex numbers: of their parts

struct ConvertOptions {
  // Of all floating-point and scaled tensors; a scaled format only of those of two dimensions and more. Undefined: as they are.
  DType format = {};
  // A name with * and ?, and the dtype's text or "keep"; the first that fits counts, before `format`. ValueError for one that
  // fits no tensor of what is written.
  std::vector<std::pair<std::string, std::string>> map = {};
  std::vector<std::pair<std::string, std::string>> otherwise = {};  // the same after those, whether or not they fit any
  // What tensors of that name become that would else stay what they are: where no rule but "otherwise" is for them, or its
  // format does not fit them.
  std::vector<std::pair<std::string, std::string>> instead = {};
  SaveOptions save = {};
  void (*progress)(void* context, size_t done, size_t total) = nullptr;  // before each tensor
  void* context = nullptr;
};
struct Converted {
  std::string name;
  DType from, to;    // from: as the file has it
  std::string kept;  // why it is not what was asked for
  Difference difference;
};
// Writes `source` to `path`, a tensor at a time, then reads what was written and compares it with what was meant: Error when it
// differs. Metadata goes along as far as it is text or numbers.
std::vector<Converted> convert(const TensorFile& source, const std::string& path, const ConvertOptions& options = {});

}  // namespace dyadic::inline v1::io
