#include "quant/codes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "base/check.h"
#include "base/parallel.h"
#include "dyadic/ops.h"
#include "dyadic/planes.h"
#include "formats/packed.h"

namespace dyadic::inline v1::quant {
namespace {

bool get_bit(const uint8_t* p, uint32_t i) { return p[i / 8] >> (i % 8) & 1; }
void set_bit(uint8_t* p, uint32_t i, bool on) { p[i / 8] = uint8_t((p[i / 8] & ~(1u << (i % 8))) | unsigned(on) << (i % 8)); }
void set_code(const CodeMap& m, uint8_t* p, int64_t e, uint32_t code) {
  for (int b = 0; b < m.bits; ++b) set_bit(p, m.bit[size_t(e * m.bits + b)], code >> b & 1);
}

// One period of a format, encoded; its bytes can be changed and decoded again.
class Probe {
  const Format& f_;
  Geometry g_;
  PlaneList planes_;
  std::vector<float> storage_;  // as floats: aligned

 public:
  Probe(const Format& f, int64_t period, int seed) : f_(f), g_{1, period}, planes_(planes_of(f, g_)) {
    storage_.resize(size_t(planes_.buffer_bytes) / 4 + 4);
    std::vector<float> x(static_cast<size_t>(period));
    // Nothing is zero, both signs occur in every few elements, and the largest is the format's, so that its scale is 1.
    for (int64_t i = 0; i < period; ++i)
      x[size_t(i)] = float((i + seed) % 2 ? -1 : 1) * (0.3f + 0.6f * float((i * 7 + seed * 5) % 11) / 11);
    x[size_t(seed) % x.size()] = 1;
    for (float& v : x) v *= float(f.def->max > 0 ? f.def->max : 1);
    encode_scaled(f, x.data(), storage_.data(), g_);
  }
  uint8_t* codes() { return reinterpret_cast<uint8_t*>(storage_.data()) + planes_.plane[0].offset; }
  int64_t bytes() const { return planes_.plane[0].bytes; }
  std::vector<float> values() const {
    std::vector<float> out(static_cast<size_t>(g_.cols));
    decode_elements(f_, storage_.data(), g_, 0, g_.cols, out.data());
    return out;
  }
};

// Which elements each bit of the first plane changes, over several codes and scales.
std::vector<std::set<int64_t>> changes(const Format& f, int64_t period) {
  std::vector<std::set<int64_t>> all;
  for (int seed = 0; seed < 3; ++seed) {
    Probe p(f, period, seed);
    const std::vector<float> before = p.values();
    all.resize(size_t(p.bytes()) * 8);
    for (uint32_t i = 0; i < all.size(); ++i) {
      set_bit(p.codes(), i, !get_bit(p.codes(), i));
      const std::vector<float> after = p.values();
      for (size_t e = 0; e < after.size(); ++e)
        if (std::memcmp(&before[e], &after[e], 4) != 0) all[i].insert(int64_t(e));
      set_bit(p.codes(), i, !get_bit(p.codes(), i));
    }
  }
  return all;
}

// Whether the format's encoder writes a code: two's complement has one more than symmetric integers use.
bool is_written(const Format& f, uint32_t code) {
  if (!f.def->encode1 || !f.def->decode1) return true;
  const double v = f.def->decode1(f, code);
  return f.def->decode1(f, f.def->encode1(f, v)) == v;
}

bool find_bits(const Format& f, CodeMap& m) {
  const std::vector<std::set<int64_t>> changed = changes(f, m.period);
  std::vector<std::vector<uint32_t>> own(size_t(m.period));
  for (uint32_t i = 0; i < changed.size(); ++i) {
    if (changed[i].empty()) return false;  // something that is not read here, and may depend on the codes
    if (changed[i].size() == 1) own[size_t(*changed[i].begin())].push_back(i);
  }
  m.bits = int(own[0].size());
  if (m.bits < 1 || m.bits > 8) return false;
  for (auto& bits : own) {
    if (int(bits.size()) != m.bits) return false;
    m.bit.insert(m.bit.end(), bits.begin(), bits.end());
  }
  return true;
}

// The values of all elements at every code, and from them the levels, if they are the same for all elements.
bool find_levels(const Format& f, CodeMap& m) {
  Probe p(f, m.period, 1);
  m.bytes = p.bytes();
  std::vector<std::vector<float>> value;
  for (uint32_t code = 0; code < 1u << m.bits; ++code) {
    for (int64_t e = 0; e < m.period; ++e) set_code(m, p.codes(), e, code);
    value.push_back(p.values());
  }
  std::vector<uint32_t> codes;
  for (uint32_t code = 0; code < value.size(); ++code)
    if (std::isfinite(value[code][0]) && is_written(f, code)) codes.push_back(code);
  std::stable_sort(codes.begin(), codes.end(), [&](uint32_t a, uint32_t b) { return value[a][0] < value[b][0]; });
  codes.erase(std::unique(codes.begin(), codes.end(), [&](uint32_t a, uint32_t b) { return value[a][0] == value[b][0]; }),
              codes.end());
  if (codes.size() < 2) return false;
  const auto at = [&](uint32_t code, size_t e) {
    const float low = value[codes.front()][e], high = value[codes.back()][e];
    return (value[code][e] - low) / (high - low);
  };
  m.code = codes;
  m.uniform = true;
  for (size_t i = 0; i < codes.size(); ++i) {
    m.level.push_back(at(codes[i], 0));
    m.uniform &= std::abs(m.level[i] - float(i) / float(codes.size() - 1)) < 1e-4f;
    for (size_t e = 0; e < size_t(m.period); ++e)
      if (!(std::abs(at(codes[i], e) - m.level[i]) < 1e-3f)) return false;
  }
  return true;
}

std::unique_ptr<CodeMap> find(const Format& f) {
  if (!f.is_scaled() || !f.can_encode()) return nullptr;
  auto m = std::make_unique<CodeMap>();
  m->period = f.row_step() > 1 ? f.row_step() : 8;
  return find_bits(f, *m) && find_levels(f, *m) ? std::move(m) : nullptr;
}

const CodeMap& checked_map(const Tensor& stored) {
  const CodeMap* m = code_map(stored.dtype());
  DY_CHECK_AS(ValueError, m, "{}", why_no_codes(stored.dtype()));
  return *m;
}

// Calls f(bytes, element of the period, number of the element) for every element, periods apart in threads.
template <class F> void each_code(const CodeMap& m, const Tensor& stored, F f) {
  const int64_t rows = stored.size(0), cols = stored.size(1);
  auto* base = planes(stored)[0].second.data_ptr();
  // Flat formats run on through rows; the others begin each row anew, ggml's with whole periods.
  const bool flat = stored.dtype().format()->params.granularity == Granularity::flat;
  const int64_t runs = flat ? 1 : rows, length = flat ? rows * cols : cols;
  const int64_t pitch = (length * m.bytes + m.period - 1) / m.period, periods = (length + m.period - 1) / m.period;
  parallel_for(runs * periods, 4096 / m.period + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t run = i / periods, first = i % periods * m.period, count = std::min(m.period, length - first);
      uint8_t* bytes = static_cast<uint8_t*>(base) + run * pitch + i % periods * m.bytes;
      for (int64_t e = 0; e < count; ++e) f(bytes, e, run * length + first + e);
    }
  });
}

Tensor with_codes(const CodeMap& m, const Tensor& stored, uint32_t code) {
  const Tensor t = stored.clone();
  each_code(m, t, [&](uint8_t* bytes, int64_t e, int64_t) { set_code(m, bytes, e, code); });
  return t.to(f32);
}

size_t nearest_level(const CodeMap& m, float x) {
  const size_t n = m.level.size();
  if (m.uniform) return size_t(std::nearbyint(std::clamp(x, 0.0f, 1.0f) * float(n - 1)));
  const size_t above = size_t(std::lower_bound(m.level.begin(), m.level.end(), x) - m.level.begin());
  if (above == 0) return 0;
  if (above == n) return n - 1;
  return x - m.level[above - 1] <= m.level[above] - x ? above - 1 : above;
}

// A plane as [rows, runs, bytes of a run].
Tensor in_runs(const Tensor& plane, int64_t rows, int64_t runs) { return view_as(plane, u8).view({rows, runs, -1}); }

}  // namespace

const CodeMap* code_map(DType format) {
  static std::mutex mutex;
  static std::map<const Format*, std::unique_ptr<CodeMap>> all;
  const std::lock_guard lock(mutex);
  const auto [it, is_new] = all.try_emplace(format.format());
  if (is_new && format) it->second = find(*format.format());
  return it->second.get();
}
std::string why_no_codes(DType format) {
  if (!format.is_scaled()) return fmt::format("{} has no scales: its codes are what rounding gives", format.name());
  if (const Format& f = *format.format(); !f.can_encode())
    return fmt::format("{} cannot be encoded here: its codes come from files; use {}", format.name(), f.def->instead);
  return fmt::format("{} does not keep each element's code in bits of its own", format.name());
}

Affine affine_of(const Tensor& stored) {
  const CodeMap& m = checked_map(stored);
  Affine a;
  a.offset = with_codes(m, stored, m.code.front());
  a.scale = sub(with_codes(m, stored, m.code.back()), a.offset);
  return a;
}

void choose_codes(const Tensor& stored, const Tensor& wanted) {
  const CodeMap& m = checked_map(stored);
  const Affine a = affine_of(stored);
  const Tensor x = wanted.to(f32).contiguous();
  const float *scale = a.scale.data<float>(), *offset = a.offset.data<float>(), *w = x.data<float>();
  each_code(m, stored, [&](uint8_t* bytes, int64_t e, int64_t i) {
    const float s = scale[i], level = (w[i] - offset[i]) / s;
    if (s != 0 && std::isfinite(s) && std::isfinite(level)) set_code(m, bytes, e, m.code[nearest_level(m, level)]);
  });
}

int64_t own_columns(DType format, int64_t rows, int64_t cols) {
  const Format& f = *format.format();
  if (!f.is_scaled() || rows == 0 || cols == 0) return 0;
  const int64_t width = f.params.block > 0 ? f.params.block : cols;
  if (cols % width != 0 || width * f.def->bits % 8 != 0) return 0;
  const PlaneList one = planes_of(f, {1, width}), all = planes_of(f, {rows, cols});
  for (int p = 0; p < all.count; ++p)
    if (all.plane[size_t(p)].bytes != one.plane[size_t(p)].bytes * rows * (cols / width)) return 0;
  return width;
}

Tensor join_columns(const std::vector<Tensor>& pieces) {
  const int64_t rows = pieces[0].size(0), width = pieces[0].size(1), runs = int64_t(pieces.size());
  const Tensor all = empty({rows, width * runs}, pieces[0].dtype());
  const auto to = planes(all);
  for (int64_t i = 0; i < runs; ++i) {
    const auto from = planes(pieces[size_t(i)]);
    for (size_t p = 0; p < to.size(); ++p)
      select(in_runs(to[p].second, rows, runs), 1, i).copy_(select(in_runs(from[p].second, rows, 1), 1, 0));
  }
  return all;
}

Tensor merge_runs(const Tensor& a, const Tensor& b, const Tensor& take) {
  const Tensor out = a.clone();
  const int64_t rows = take.size(0), runs = take.size(1);
  const auto to = planes(out), from = planes(b);
  for (size_t p = 0; p < to.size(); ++p) {
    const Tensor mine = in_runs(to[p].second, rows, runs);
    mine.copy_(where(unsqueeze(take, 2), in_runs(from[p].second, rows, runs), mine));
  }
  return out;
}

}  // namespace dyadic::inline v1::quant
