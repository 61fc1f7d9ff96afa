// fp8 as DeepSeek's models have it, and those made after them: "weight" of 8-bit floats and "weight_scale_inv" a scale for each
// tile of it, [rows / 128, columns / 128] rounded up, or one for all, or one for each row; f32, bf16, or powers of two. w =
// code scale: the name speaks of the scale that quantizes. Others call it "weight_scale". Tiles of 1 x 32 with powers of two
// are MXFP8.
#include "dyadic/planes.h"
#include "io/quantized/floats.h"
#include "io/quantized/integers.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

Block block_of(const json& config, const std::string& path) { return sizes_of(config, "weight_block_size", path); }
int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Of f8 `shape`, rows x cols, with scales of that shape. Shapes alone name no size of tiles: 2 x 2 scales of 144 x 160 are
// those of tiles of 128 x 128 as of 72 x 80. Where the configuration has none it is the one that DeepSeek's have, or MX's.
DType dtype_of(const Pieces& p, DType code, DType scale, const std::vector<int64_t>& shape, const std::vector<int64_t>& s,
               const Block& given) {
  const std::string type = code == f8e4m3fn ? "f8e4m3fn" : "f8e5m2";
  const int64_t cols = shape.back(), rows = checked_numel("tensor", shape) / cols;
  int64_t count = 1;
  for (int64_t n : s) count *= n;
  const bool matrix = s.size() >= 2, powers = scale == f8e8m0fnu || scale == u8;
  const int64_t down = matrix ? count / std::max<int64_t>(s.back(), 1) : 0, across = matrix ? s.back() : 0;
  const auto fits = [&](const Block& b) {
    return matrix && b.rows && down == divide_up(rows, b.rows) && across == divide_up(cols, b.cols);
  };
  const Block mx{1, 32}, usual = powers && cols % mx.cols == 0 && fits(mx) ? mx : Block{128, 128};
  const bool each = shape.size() > 2 && s.size() == shape.size() && count * shape.end()[-2] == rows && across == 1;
  const Block b = given.rows ? given : each ? Block{shape.end()[-2], cols} : usual;  // each: a scale for each matrix
  const bool in_rows = count == rows && (s.size() < 2 || across == 1 || s == std::vector(shape.begin(), shape.end() - 1));
  const bool whole = !powers && (in_rows || count == 1);  // a scale for each row, or for all
  if (fits(b) && !(whole && !given.rows)) {
    if (b.rows == mx.rows && b.cols == mx.cols && powers) return code == f8e4m3fn ? mxfp8_e4m3 : mxfp8_e5m2;
    return DType::parse(fmt::format("{}(tile={}x{},scale={})", type, b.rows, b.cols, powers ? "f8e8m0fnu" : scale.name()));
  }
  if (whole) return DType::parse(fmt::format("{}({},scale={})", type, count == 1 ? "tensor" : "row", scale.name()));
  p.refuse("scales {} do not fit {} in blocks of {} x {}, {}", shape_text(s), shape_text(shape), b.rows, b.cols,
           given.rows ? "which the configuration says" : "and the configuration says no other size");
}

std::vector<PackedWeight> find_fp8(const Names& names, const json& config) {
  std::vector<PackedWeight> all = float8_weights(names, block_of(config, names.file.path()));
  for (PackedWeight& w : all)  // of activations, which are not quantized here
    for (const char* other : {".input_scale", ".activation_scale"}) names.add_part(w, other);
  return all;
}

NamedTensors pack_fp8(const std::string& name, const Tensor& w, const json& config, const NamedTensors&) {
  const Format& f = *w.dtype().format();
  const std::string_view type = f.def->name;
  const Block block = block_of(config, "save");
  const bool floats = type == "f8e4m3fn" || type == "f8e5m2" || type == "mxfp8_e4m3" || type == "mxfp8_e5m2";
  const bool tiles = f.params.granularity == Granularity::tile || f.params.granularity == Granularity::group;
  if (!floats || !tiles || !w.is_contiguous() || w.dim() < 2) return {};
  if (block.rows != f.params.rows || block.cols != f.params.block) return {};
  const DType code = type.ends_with("e5m2") ? f8e5m2 : f8e4m3fn;
  std::vector<int64_t> shape = w.sizes().vec();
  shape.end()[-2] = divide_up(shape.end()[-2], block.rows), shape.end()[-1] = divide_up(shape.end()[-1], block.cols);
  return {{name, view_as(view_as(plane_of(w, "codes"), u8), code).view(w.sizes())},
          {name + "_scale_inv", plane_of(w, "scales").view(shape)}};
}

json describe_fp8(DType dtype) {
  const Format& f = *dtype.format();
  const std::string_view type = f.def->name;
  const bool tiles = f.params.granularity == Granularity::tile && type == "f8e4m3fn";
  if (!tiles && dtype != mxfp8_e4m3) return nullptr;
  return {{"activation_scheme", "dynamic"},
          {"weight_block_size", {tiles ? f.params.rows : 1, f.params.block}},
          {"modules_to_not_convert", {"lm_head"}}};
}

}  // namespace

Block sizes_of(const json& config, const char* key, const std::string& path) {
  if (!config.is_object() || !config.contains(key) || config[key].is_null()) return {};
  const json& list = config[key];
  const auto size = [&](size_t i) -> int64_t {
    const bool right = list.is_array() && list.size() == 2 && list[i].is_number_integer() && list[i] > 0 && list[i] <= 1 << 24;
    DY_CHECK_AS(ValueError, right, "{}: config.json: {} is not two sizes", path, key);
    return list[i].get<int64_t>();
  };
  return {size(0), size(1)};
}

PackedWeight float8_weight(Pieces p, std::string_view codes_at, std::string_view scales_at, const std::string& name,
                           const Block& block) {
  const size_t codes = p.take(codes_at, {f8e4m3fn, f8e5m2});
  const size_t scales = p.take(scales_at, {f32, bf16, f16, f8e8m0fnu, u8});
  const std::vector<int64_t> shape = p.info(codes).shape;
  if (shape.size() < 2) p.refuse("it is no matrix");
  const int64_t cols = shape.back(), rows = cols ? checked_numel("tensor", shape) / cols : 0;
  if (rows == 0) p.refuse("it is empty");
  const DType dtype = dtype_of(p, p.info(codes).dtype, p.info(scales).dtype, shape, p.info(scales).shape, block);
  const Params& params = dtype.format()->params;
  if (shape.size() > 2 && params.granularity == Granularity::tile && shape[shape.size() - 2] % params.rows)
    p.refuse("its matrices are no whole tiles");
  return p.weight(name, dtype, shape, [=] {
    const Filling fill(shape, dtype);
    copy_to(p.get(codes), fill.plane("codes"));
    copy_to(p.get(scales), fill.plane("scales"));
    return fill.tensor;
  });
}

std::vector<PackedWeight> float8_weights(const Names& names, const Block& block) {
  std::vector<PackedWeight> all;
  for (const char* ending : {"_scale_inv", "_scale"})
    for (const std::string& stem : names.before(ending)) {
      const auto codes = names.numbers.find(stem);
      if (codes == names.numbers.end()) continue;
      const DType dtype = names.file.tensors()[codes->second].dtype;
      if (dtype == f8e4m3fn || dtype == f8e5m2) all.push_back(float8_weight(Pieces(names, stem), "", ending, "", block));
    }
  return all;
}

extern constexpr Packing fp8_packing = {"fp8", find_fp8, pack_fp8, describe_fp8};
extern constexpr Packing fbgemm_fp8_packing = {"fbgemm_fp8", find_fp8};

}  // namespace dyadic::inline v1::io
