#include "io/quantized/integers.h"

#include <cstring>

#include "base/parallel.h"
#include "dyadic/ops.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr int64_t kTile = 16;  // elements that share a cache line

// f(i, j) for all i < a, j < b, tile by tile.
template <class F> void for_tiles(int64_t a, int64_t b, F f) {
  parallel_for((b + kTile - 1) / kTile, 4096 / (a + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile)
      for (int64_t i = 0; i < a; ++i)
        for (int64_t j = tile * kTile; j < std::min(b, (tile + 1) * kTile); ++j) f(i, j);
  });
}
template <class T> void transpose_as(const void* from, int64_t a, int64_t b, void* to) {
  for_tiles(a, b, [&](int64_t i, int64_t j) { static_cast<T*>(to)[j * a + i] = static_cast<const T*>(from)[i * b + j]; });
}

}  // namespace

std::array<uint32_t, 3> top_bits(int bits) {
  std::array<uint32_t, 3> words{};
  for (int at = bits - 1; at < 96; at += bits) words[size_t(at / 32)] |= uint32_t(1) << at % 32;
  return words;
}

DType integer_dtype(int bits, int64_t group, int64_t cols, bool zero, DType scale) {
  const std::string cover = group >= cols ? "row" : fmt::format("group={}", group);
  return DType::parse(fmt::format("i{}({}{},scale={})", bits, cover, zero ? ",zero" : "", scale.name()));
}

Scales scales_of(Pieces& p, std::string_view ending, int64_t rows, int64_t cols, int64_t given) {
  Scales s;
  s.number = p.take(ending, {f16, bf16, f32});
  s.dtype = p.info(s.number).dtype;
  const std::vector<int64_t>& shape = p.info(s.number).shape;
  if (checked_numel("tensor", shape) == 1) return s;
  s.groups = shape.size() == 2 ? shape[1] : 1;
  if (shape.size() > 2 || shape.empty() || shape[0] != rows || s.groups == 0)
    p.refuse("scales {} do not fit {} rows", shape_text(shape), rows);
  const auto fits = [&](int64_t n) { return n > 0 && (cols + n - 1) / n == s.groups; };
  s.group = fits(given) ? given : cols / s.groups;
  if (!fits(s.group)) p.refuse("{} groups do not make {} columns", s.groups, cols);
  return s;
}
DType integer_dtype(int bits, const Scales& s, int64_t cols, bool zero) {
  if (s.groups) return integer_dtype(bits, s.group, cols, zero, s.dtype);
  return DType::parse(fmt::format("i{}(tensor{},scale={})", bits, zero ? ",zero" : "", s.dtype.name()));
}
void copy_to(const Tensor& from, void* to) {
  if (from.numel()) std::memcpy(to, from.data_ptr(), size_t(from.nbytes()));
}
PackedWeight byte_weight(Pieces p, std::string_view codes_at, std::string_view scales_at, std::string_view zeros_at,
                         int64_t given) {
  const size_t codes = p.take(codes_at, {i8});
  p.check_shape(codes, {-1, -1});
  const std::vector<int64_t> shape = p.info(codes).shape;
  if (shape[0] == 0 || shape[1] == 0) p.refuse("it is empty");
  const Scales s = scales_of(p, scales_at, shape[0], shape[1], given);
  std::optional<size_t> zeros;
  if (p.has(zeros_at)) {
    zeros = p.take(zeros_at, {i8});
    p.check_count(*zeros, s.groups ? shape[0] * s.groups : 1);
  }
  const DType dtype = integer_dtype(8, s, shape[1], zeros.has_value());
  return p.weight(".weight", dtype, shape, [=] {
    const Filling fill(shape, dtype);
    copy_to(p.get(codes), fill.plane("codes"));
    copy_to(p.get(s.number), fill.plane("scales"));
    if (zeros) copy_to(p.get(*zeros), fill.plane("zeros"));
    return fill.tensor;
  });
}

DType ordered_dtype(int bits, int64_t group, bool zero, DType scale) {
  return DType::parse(fmt::format("i{}_ordered(group={}{},scale={})", bits, group, zero ? ",zero" : "", scale.name()));
}
bool groups_are_runs(const Pieces& p, const Tensor& groups, int64_t count, int64_t group) {
  bool runs = true;
  for (int64_t i = 0; i < groups.numel(); ++i) {
    const int32_t g = elements_of<int32_t>(groups)[i];
    if (g < 0 || g >= count) p.refuse("column {} is of group {}, and there are {}", i, g, count);
    runs = runs && g == i / group;
  }
  return runs;
}
IntegerKind integer_kind(DType dtype, int64_t cols) {
  if (!dtype.is_scaled()) return {};
  const Format& f = *dtype.format();
  std::string_view name = f.def->name;
  const bool ordered = name.ends_with("_ordered");
  if (ordered) name.remove_suffix(std::string_view("_ordered").size());
  const bool rows = f.params.granularity == Granularity::row, groups = f.params.granularity == Granularity::group;
  if (name.size() != 2 || name[0] != 'i' || (!rows && !groups)) return {};
  return {f.def->bits, rows ? cols : f.params.block, f.params.zero, ordered};
}
Tensor zeros_of(const Tensor& weight) {
  const int64_t rows = weight.size(0), groups = plane_of(weight, "scales").numel() / rows;
  if (const Tensor zeros = plane_of(weight, "zeros"); zeros.defined()) return zeros.view({rows, groups});
  return dyadic::zeros({rows, groups}, i8);
}
void set_field(uint32_t* words, int64_t i, int bits, uint32_t value) {
  const int64_t at = i * bits, low = at % 32;
  words[at / 32] |= value << low;
  if (low + bits > 32) words[at / 32 + 1] |= value >> (32 - low);
}
uint32_t field(const uint32_t* words, int64_t i, int bits) {
  const int64_t at = i * bits, low = at % 32;
  uint64_t both = words[at / 32];
  if (low + bits > 32) both |= uint64_t(words[at / 32 + 1]) << 32;
  return uint32_t(both >> low) & ((1u << bits) - 1);
}

void transpose(const Tensor& from, void* to) {
  const int64_t a = from.size(0), b = from.size(1), size = from.dtype().itemsize();
  if (from.numel() == 0) return;
  if (size == 1) return transpose_as<uint8_t>(from.data_ptr(), a, b, to);
  if (size == 2) return transpose_as<uint16_t>(from.data_ptr(), a, b, to);
  DY_ASSERT(size == 4);
  transpose_as<uint32_t>(from.data_ptr(), a, b, to);
}
void transpose_back(const uint8_t* from, int64_t a, int64_t b, int bits, uint32_t* to) {
  const std::array<uint32_t, 3> top = top_bits(bits);
  for_tiles(a, b, [&](int64_t i, int64_t j) {
    uint32_t word;
    std::memcpy(&word, from + (j * a + i) * 4, 4);
    to[i * b + j] = word ^ top[size_t(i % 3)];
  });
}
void transpose_words(const uint32_t* from, int64_t a, int64_t b, int bits, uint8_t* to) {
  const std::array<uint32_t, 3> top = top_bits(bits);
  for_tiles(a, b, [&](int64_t i, int64_t j) {
    const uint32_t word = from[i * b + j] ^ top[size_t(i % 3)];
    std::memcpy(to + (j * a + i) * 4, &word, 4);
  });
}

}  // namespace dyadic::inline v1::io
