// bitsandbytes. 4 bits (QLoRA): the weight's name holds codes u8 [n / 2, 1], the first in the high half, ".absmax" a scale for
// each block, ".quant_map" the 16 values, and ".quant_state.bitsandbytes__nf4" the bytes of a JSON object that has shape and
// block size; scales that are quantized themselves have ".nested_absmax", ".nested_quant_map", and their mean in that object
// alone. 8 bits (LLM.int8()): codes i8 with the weight's name and shape, and "SCB" beside it, the largest magnitude of each
// row: w = code SCB / 127.
#include <bit>
#include <cmath>
#include <cstring>

#include "base/json.h"
#include "dyadic/numbers.h"
#include "dyadic/ops.h"
#include "formats/format.h"
#include "formats/layout.h"
#include "io/quantized/packing.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr char kState[] = ".quant_state.bitsandbytes__";
constexpr int64_t kMostState = 1 << 16;  // bytes of its JSON; real ones have 200

struct State {
  std::string type;
  int64_t block = 0, nested_block = 0;
  std::vector<int64_t> shape;
  float nested_offset = 0;
};

State parse_state(size_t number, const Pieces& p) {
  if (p.info(number).shape.size() != 1 || p.info(number).shape[0] > kMostState) p.refuse("its quant_state is no JSON text");
  const Tensor bytes = p.get(number);
  const json j = bounded_json(std::string_view(elements_of<char>(bytes), size_t(bytes.numel())), 4);
  if (!j.is_object()) p.refuse("its quant_state is not a JSON object");
  State s;
  s.type = word_of(j, "quant_type", "");
  const auto size = [&](const char* key) {
    if (!is_integer_in(j[key], 1, 1 << 24)) p.refuse("its quant_state has a {} that is no size", key);
    return j[key].get<int64_t>();
  };
  s.block = j.contains("blocksize") ? size("blocksize") : 1;
  if (j.contains("nested_blocksize")) s.nested_block = size("nested_blocksize");
  int64_t numel = 1;
  if (!j.contains("shape") || !j["shape"].is_array() || j["shape"].size() > kMaxDims) p.refuse("its quant_state has no shape");
  for (const json& n : j["shape"]) {
    if (!is_integer_in(n, 0, int64_t(1) << 40) || __builtin_mul_overflow(numel, n.get<int64_t>(), &numel))
      p.refuse("its quant_state has no shape that a tensor can have");
    s.shape.push_back(n.get<int64_t>());
  }
  if (s.block % 2) p.refuse("its quant_state has a blocksize of {}", s.block);
  if (s.nested_block) {
    if (!j.contains("nested_offset") || !j["nested_offset"].is_number()) p.refuse("its quant_state has no nested_offset");
    s.nested_offset = j["nested_offset"].get<float>();
  }
  return s;
}

// Whether a table of values is the dtype's own but for the last bit, in which bitsandbytes' own computations of it differ.
bool is_table_of(DType dtype, const Tensor& table) {
  const Format& f = *dtype.format();
  for (int64_t i = 0; i < table.numel(); ++i) {
    const double is = elements_of<float>(table)[i], own = f.def->decode1(f, uint64_t(i));
    if (!(std::abs(is - own) <= 2e-7 * std::abs(own))) return false;
  }
  return true;
}

PackedWeight four_bits(const Names& names, const std::string& name, const std::string& type) {
  Pieces p(names, name);
  const size_t codes = p.take("", {u8, bf16, f16, f32}), absmax = p.take(".absmax", {u8, f32}),
               map = p.take(".quant_map", {f32});
  const State s = parse_state(p.take(kState + type, {u8}), p);
  if (s.type != type || (type != "nf4" && type != "fp4")) p.refuse("its quant_state is of type {}", quote_name(s.type));
  const int64_t n = checked_numel("tensor", s.shape), blocks = (n + s.block - 1) / s.block;
  if (p.info(codes).bytes != uint64_t(n + 1) / 2)  // whatever dtype they are stored as
    p.refuse("expected {} bytes of codes, and there are {}", (n + 1) / 2, p.info(codes).bytes);
  p.check_count(absmax, blocks);
  p.check_count(map, 16);
  const bool doubled = s.nested_block != 0;
  if (doubled != (p.info(absmax).dtype == u8)) p.refuse("its scales are {}", p.info(absmax).stored);
  size_t nested = 0, nested_map = 0;
  if (doubled) {
    if (s.nested_block != kNestedBlock) p.refuse("nested_blocksize is {}; what is read is {}", s.nested_block, kNestedBlock);
    nested = p.take(".nested_absmax", {f32}), nested_map = p.take(".nested_quant_map", {f32});
    p.check_count(nested, (blocks + kNestedBlock - 1) / kNestedBlock);
    p.check_count(nested_map, 256);
  }
  const DType dtype = DType::parse(fmt::format("{}(block={}{})", type, s.block, doubled ? ",double" : ""));
  return p.weight("", dtype, s.shape, [=] {
    if (!is_table_of(dtype, p.get(map))) p.refuse("its quant_map is not that of {}", type);
    if (doubled && !is_table_of(dynamic8, p.get(nested_map))) p.refuse("its nested_quant_map is another than usual");
    const Filling fill(s.shape, dtype);
    const auto copy = [&](const char* plane, size_t from) {
      const Tensor t = p.get(from);
      if (t.numel()) std::memcpy(fill.plane(plane), t.data_ptr(), size_t(t.nbytes()));
    };
    copy("codes", codes), copy("absmax", absmax);
    if (doubled) copy("nested_absmax", nested), *fill.at<float>("nested_offset") = s.nested_offset;
    return fill.tensor;
  });
}

PackedWeight eight_bits(const Names& names, const std::string& stem) {
  Pieces p(names, stem);
  const size_t codes = p.take(".weight", {i8}), scb = p.take(".SCB", {f32});
  p.check_shape(codes, {-1, -1});
  const std::vector<int64_t> shape = p.info(codes).shape;
  p.check_count(scb, shape[0]);
  if (p.has(".weight_format")) {  // 0: in rows; others are tiles of certain GPUs
    const size_t order = p.take(".weight_format", {u8});
    p.check_count(order, 1);
    if (*elements_of<uint8_t>(p.get(order)) != 0) p.refuse("its elements are in the order of a GPU's tiles");
  }
  return p.weight(".weight", i8_row, shape, [=] {
    const Filling fill(shape, i8_row);
    const Tensor from = p.get(codes), most = p.get(scb);
    if (from.numel()) std::memcpy(fill.plane("codes"), from.data_ptr(), size_t(from.nbytes()));
    for (int64_t i = 0; shape[1] > 0 && i < shape[0]; ++i) fill.at<float>("scales")[i] = elements_of<float>(most)[i] / 127;
    return fill.tensor;
  });
}

std::vector<PackedWeight> find_bitsandbytes(const Names& names, const json&) {
  std::vector<PackedWeight> all;
  for (const TensorInfo& t : names.file.tensors())
    if (const size_t at = t.name.find(kState); at != std::string::npos)
      all.push_back(four_bits(names, t.name.substr(0, at), t.name.substr(at + sizeof kState - 1)));
  for (const std::string& stem : names.before(".SCB")) all.push_back(eight_bits(names, stem));
  return all;
}

Tensor table_of(DType dtype, int64_t size) {
  const Tensor table = make_tensor({size}, f32, cpu);
  const Format& f = *dtype.format();
  for (int64_t i = 0; i < size; ++i) table.data<float>()[i] = float(f.def->decode1(f, uint64_t(i))) + 0.0f;  // fp4's -0 is 0
  return table;
}
// The values of scales' codes as bitsandbytes computes them, in steps that are each rounded to f32: dynamic8's but for the last
// bit of some.
Tensor nested_table() {
  const Tensor table = zeros({256}, f32);
  float* to = table.data<float>();
  static constexpr float kPowers[] = {1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f, 1e-1f, 1.0f};
  for (int i = 0; i < 7; ++i) {
    const int n = 1 << i;
    const float low = 0.1f, step = (1.0f - low) / float(n);  // torch.linspace(0.1, 1, n + 1), from both of its ends
    const auto at = [&](int k) {
      return k < (n + 1) / 2 ? float(double(low) + double(step) * k) : float(1.0 - double(step) * (n - k));
    };
    for (int k = 0; k < n; ++k) {
      const float middle = (at(k) + at(k + 1)) / 2;
      to[127 + n + k] = middle * kPowers[i], to[127 - n - k] = -to[127 + n + k];
    }
  }
  to[255] = 1;
  return table;
}
// As Python writes a number, whose readers compare bytes.
std::string python_number(double x) {
  const std::string text = fmt::format("{}", x);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

NamedTensors pack_four_bits(const std::string& name, const Tensor& w, const json& config) {
  const Format& f = *w.dtype().format();
  const std::string type = f.def->name;
  std::string state =
      fmt::format(R"({{"quant_type": "{}", "blocksize": {}, "dtype": {}, "shape": [{}])", type, f.params.block,
                  dump_json(json(word_of(config, "bnb_4bit_compute_dtype", "float32"))), fmt::join(w.sizes().vec(), ", "));
  NamedTensors parts{{name, plane_of(w, "codes").view({-1, 1})},
                     {name + ".absmax", plane_of(w, "absmax")},
                     {name + ".quant_map", table_of(w.dtype(), 16)}};
  if (f.params.doubled) {
    state += fmt::format(R"(, "nested_blocksize": {}, "nested_dtype": "float32", "nested_offset": {})", kNestedBlock,
                         python_number(double(*elements_of<float>(plane_of(w, "nested_offset")))));
    parts.emplace_back(name + ".nested_absmax", plane_of(w, "nested_absmax"));
    parts.emplace_back(name + ".nested_quant_map", nested_table());
  }
  state += "}";
  parts.emplace_back(name + kState + type, from_data(state.data(), {int64_t(state.size())}, u8));
  return parts;
}

// The largest magnitude that gives a row's scale, s = m / 127: of several the one with the fewest digits, as most come from
// f16.
float most_of(float scale) {
  float best = scale * 127;
  for (const float m : {std::nextafter(best, 0.f), best, std::nextafter(best, INFINITY)})
    if (m / 127 == scale &&
        (best / 127 != scale || std::countr_zero(std::bit_cast<uint32_t>(m)) > std::countr_zero(std::bit_cast<uint32_t>(best))))
      best = m;
  return best;
}
NamedTensors pack_eight_bits(const std::string& name, const Tensor& w) {
  const Tensor most = plane_of(w, "scales").clone();
  for (int64_t i = 0; i < most.numel(); ++i) most.data<float>()[i] = most_of(most.data<float>()[i]);
  return {{name, plane_of(w, "codes").view(w.sizes())},
          {beside(name, "SCB"), most},
          {beside(name, "weight_format"), zeros({}, u8)}};
}

NamedTensors pack_bitsandbytes(const std::string& name, const Tensor& w, const json& config, const NamedTensors&) {
  if (!name.ends_with(".weight") || !w.is_contiguous() || w.numel() == 0) return {};
  const std::string_view type = w.dtype().format()->def->name;
  const bool four = flag_of(config, "load_in_4bit", false), eight = flag_of(config, "load_in_8bit", false);
  if (four && (type == "nf4" || type == "fp4")) return pack_four_bits(name, w, config);
  return eight && w.dtype() == i8_row && w.dim() == 2 ? pack_eight_bits(name, w) : NamedTensors();
}

json describe_bitsandbytes(DType dtype) {
  const Format& f = *dtype.format();
  const std::string type = f.def->name;
  const bool four = type == "nf4" || type == "fp4";
  if (!four && dtype != i8_row) return nullptr;
  return {{"load_in_4bit", four},
          {"load_in_8bit", !four},
          {"bnb_4bit_quant_type", four ? type : "fp4"},
          {"bnb_4bit_use_double_quant", f.params.doubled},
          {"bnb_4bit_compute_dtype", "float32"},
          {"bnb_4bit_quant_storage", "uint8"},
          {"llm_int8_threshold", 6.0},
          {"llm_int8_skip_modules", {"lm_head"}}};
}

}  // namespace

extern constexpr Packing bitsandbytes_packing = {"bitsandbytes", find_bitsandbytes, pack_bitsandbytes, describe_bitsandbytes};

}  // namespace dyadic::inline v1::io
