// Tensor::str. The layout is PyTorch's; the reading is not: elements are fetched one by one straight from the storage, so that
// printing the edges of a huge tensor costs its edges, a scaled tensor is never decoded whole or cut at a block, and nothing
// shows up in the ledger or the counters.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "corridor/call.h"
#include "dyadic/print.h"
#include "formats/packed.h"
#include "ops/print.h"
#include "tensor/batched.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1 {
namespace {

std::mutex g_mutex;
std::atomic<const char*> g_package{"dyadic"};
PrintOptions g_options;

// Values of one kind, as text of one width.
class NumberStyle {
  PrintOptions options_;
  bool real_, boolean_, whole_ = true, scientific_ = false;
  size_t width_ = 1;

 public:
  NumberStyle(const PrintOptions& o, bool real, bool boolean) : options_(o), real_(real), boolean_(boolean) {}

  // Chooses notation and width by the values that will be shown.
  void fit(const std::vector<double>& reals, const std::vector<int64_t>& integers) {
    for (int64_t v : integers) width_ = std::max(width_, text(v).size());
    double low = INFINITY, high = 0;
    for (double v : reals) {
      if (!std::isfinite(v) || v == 0) continue;
      low = std::min(low, std::abs(v));
      high = std::max(high, std::abs(v));
      whole_ &= v == std::ceil(v);
    }
    if (high == 0) return;
    scientific_ = options_.sci_mode.value_or(high / low > 1000 || high > 1e8 || low < 1e-4);
    for (double v : reals)
      if (std::isfinite(v) && v != 0) width_ = std::max(width_, text(v).size());
  }
  size_t width() const { return width_; }

  std::string text(double v) const {
    if (std::isnan(v)) return "nan";  // whatever its sign
    if (scientific_) return fmt::format("{:.{}e}", v, options_.precision);
    if (!whole_) return fmt::format("{:.{}f}", v, options_.precision);
    return fmt::format("{:.0f}{}", v, std::isfinite(v) ? "." : "");
  }
  std::string text(uint64_t v) const { return fmt::format("{}", v); }
  std::string text(int64_t v) const { return boolean_ ? v ? "True" : "False" : fmt::format("{}", v); }
  template <class T> std::string padded(T v) const {
    std::string s = text(v);
    return s.size() < width_ ? std::string(width_ - s.size(), ' ') + s : s;
  }
  bool real() const { return real_; }
};

class Printer {
  const TensorImpl& t_;
  PrintOptions options_;
  bool cut_;                       // only the edges are shown
  NumberStyle style_, imaginary_;  // complex numbers: one for each part

 public:
  Printer(const TensorImpl& t, const PrintOptions& o)
      : t_(t),
        options_(o),
        cut_(t.numel > o.threshold),
        style_(o, format().def->kind >= Kind::floating, format().def->kind == Kind::boolean),
        imaginary_(o, true, false) {
    settle(*t.storage);
    note_read(t);
  }

  std::string str(size_t indent) {
    Values v;
    gather(0, t_.offset, v);
    style_.fit(v.reals, v.integers);
    imaginary_.fit(v.imaginary, {});
    return block(0, t_.offset, indent);
  }

 private:
  struct Values {
    std::vector<double> reals, imaginary;
    std::vector<int64_t> integers;
  };
  const Format& format() const { return *t_.dtype.format(); }

  std::pair<double, double> pair(int64_t at) const {
    double v[2];
    convert(format(), static_cast<const char*>(t_.storage->data) + at * format().itemsize(), *c128.format(), v, 1);
    return {v[0], v[1]};
  }
  template <class T> T value(int64_t at) const {  // at: element of the storage
    const Format& f = format();
    if (f.is_blocked()) {  // f32 or i32
      float real = 0;
      int32_t whole = 0;
      const bool is_real = f.compute() == Compute::f32;
      decode_elements(f, t_.storage->data, t_.storage->geometry, at, at + 1, is_real ? static_cast<void*>(&real) : &whole);
      return is_real ? T(real) : T(whole);
    }
    T v{};
    const DType to = std::is_same_v<T, double> ? f64 : std::is_same_v<T, uint64_t> ? u64 : i64;
    convert(f, static_cast<const char*>(t_.storage->data) + at * f.itemsize(), *to.format(), &v, 1);
    return v;
  }

  bool shortened(int d) const { return cut_ && t_.sizes[d] > 2 * options_.edgeitems; }
  // Calls f(i) for the entries of dimension d that are shown, gap() where some are left out.
  template <class F, class G> void entries(int d, F f, G gap) const {
    int64_t n = t_.sizes[d], edge = shortened(d) ? options_.edgeitems : n;
    for (int64_t i = 0; i < edge; ++i) f(i);
    if (edge == n) return;
    gap();
    for (int64_t i = n - edge; i < n; ++i) f(i);
  }
  void gather(int d, int64_t at, Values& v) const {
    if (d < t_.ndim) {
      entries(d, [&](int64_t i) { gather(d + 1, at + i * t_.strides[d], v); }, [] {});
    } else if (t_.dtype.is_complex()) {
      const auto [re, im] = pair(at);
      v.reals.push_back(re);
      v.imaginary.push_back(im);
    } else if (style_.real()) {
      v.reals.push_back(value<double>(at));
    } else {
      v.integers.push_back(value<int64_t>(at));
    }
  }
  std::string number(int64_t at) const {
    if (t_.dtype.is_complex()) {
      const auto [re, im] = pair(at);
      std::string imaginary = imaginary_.padded(im);
      imaginary.erase(0, imaginary.find_first_not_of(' '));
      return style_.padded(re) + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
    }
    if (t_.dtype == u64) return style_.padded(value<uint64_t>(at));
    return style_.real() ? style_.padded(value<double>(at)) : style_.padded(value<int64_t>(at));
  }

  std::string row(int64_t at, size_t indent) const {
    int d = t_.ndim - 1;
    auto line = options_.linewidth - int64_t(indent);
    const size_t width = style_.width() + (t_.dtype.is_complex() ? imaginary_.width() + 1 : 0);
    int64_t per_line = std::max<int64_t>(1, line / int64_t(width + 2)), n = 0;
    std::string out = "[";
    auto add = [&](const std::string& s) {
      if (n > 0) out += n % per_line ? ", " : ",\n" + std::string(indent + 1, ' ');
      out += s;
      ++n;
    };
    entries(d, [&](int64_t i) { add(number(at + i * t_.strides[d])); }, [&] { add(options_.edgeitems ? " ..." : "..."); });
    return out + "]";
  }
  std::string block(int d, int64_t at, size_t indent) const {
    if (d == t_.ndim) return number(at);
    if (d == t_.ndim - 1) return row(at, indent);
    std::string between = "," + std::string(size_t(t_.ndim - 1 - d), '\n') + std::string(indent + 1, ' ');
    std::string out = "[";
    auto add = [&](const std::string& s) { out += (out.size() > 1 ? between : "") + s; };
    entries(d, [&](int64_t i) { add(block(d + 1, at + i * t_.strides[d], indent + 1)); }, [&] { add("..."); });
    return out + "]";
  }
};

}  // namespace

std::string size_text(IntList s) {  // as Python writes a tuple
  return fmt::format("size=({}{})", fmt::join(s.begin(), s.end(), ", "), s.size() == 1 ? "," : "");
}
std::string dtype_text(DType d) {
  return d.is_scaled() ? "dtype=" + d.name() : fmt::format("dtype={}.{}", printed_package(), d.long_name());
}
void set_printed_package(const char* name) { g_package = name; }
const char* printed_package() { return g_package; }

std::string elements_text(const Tensor& t, size_t indent) {
  return t.numel() == 0 ? "[]" : Printer(*t.impl(), printoptions()).str(indent);
}

std::vector<std::string> gradient_text(const Tensor& t) {
  if (t.impl()->node) return {"grad_fn=<" + t.grad_fn() + ">"};
  if (t.requires_grad()) return {"requires_grad=True"};
  return {};
}

std::string with_suffixes(std::string s, const std::vector<std::string>& suffixes, size_t indent, bool new_line) {
  const auto linewidth = size_t(printoptions().linewidth);
  size_t newline = s.rfind('\n');
  size_t used = s.size() + 2 - (newline == s.npos ? 0 : newline + 1);
  for (const std::string& suffix : suffixes) {
    if (new_line || used + suffix.size() + 2 > linewidth) {
      s += ",\n" + std::string(indent, ' ') + suffix;
      used = indent + suffix.size();
    } else {
      s += ", " + suffix;
      used += suffix.size() + 2;
    }
    new_line = false;
  }
  return s + ")";
}

void set_printoptions(const PrintOptions& o) {
  DY_CHECK_AS(
      ValueError, o.precision >= 0 && o.precision <= 60 && o.threshold >= 0 && o.edgeitems >= 0 && o.linewidth >= 0,
      "set_printoptions: out of range: precision is {} (0 to 60), threshold {}, edgeitems {}, linewidth {} (all at least 0)",
      o.precision, o.threshold, o.edgeitems, o.linewidth);
  std::lock_guard lock(g_mutex);
  g_options = o;
}
PrintOptions printoptions() {
  std::lock_guard lock(g_mutex);
  return g_options;
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << t.str(); }
std::ostream& operator<<(std::ostream& out, IntList sizes) { return out << shape_text(sizes); }
std::ostream& operator<<(std::ostream& out, DType t) { return out << t.name(); }
std::ostream& operator<<(std::ostream& out, Device d) { return out << d.name(); }

// Of vmap, as PyTorch shows it.
static std::string batched_text(const Tensor& t) {
  int depth = 0;
  for (const BatchLevel* level = entries_of(t)->level.get(); level; level = level->active ? level->outer : nullptr) ++depth;
  std::string inside = whole_of(t).str();
  for (size_t at = 0; (at = inside.find('\n', at)) != inside.npos; at += 5) inside.insert(at + 1, 4, ' ');
  return fmt::format("BatchedTensor(lvl={}, bdim=0, value=\n    {}\n)", depth, inside);
}

std::string Tensor::str() const {
  if (!defined()) return "tensor(undefined)";
  if (entries_of(*this)) return batched_text(*this);
  const TensorImpl& t = *p_;
  constexpr std::string_view kOpen = "tensor(";
  const bool usual = t.dtype == default_dtype(),
             shown = t.dtype.is_scaled() ||
                     !(usual || t.dtype == i64 || t.dtype == boolean || t.dtype == default_dtype().to_complex());
  std::string body;
  std::vector<std::string> suffixes;
  if (is_meta()) {
    body = "...";
    suffixes = {"device='meta'", size_text(t.shape())};
    if (!usual) suffixes.push_back(dtype_text(t.dtype));
  } else if (t.numel == 0) {
    body = "[]";
    if (t.ndim != 1) suffixes.push_back(size_text(t.shape()));
    if (!usual) suffixes.push_back(dtype_text(t.dtype));
  } else {
    body = elements_text(device().is_cpu() ? *this : detach().cpu(), kOpen.size());
    if (device().is_cuda()) suffixes.push_back(fmt::format("device='{}'", device().name()));
    if (shown) suffixes.push_back(dtype_text(t.dtype));
  }
  for (std::string& text : gradient_text(*this)) suffixes.push_back(std::move(text));
  return with_suffixes(std::string(kOpen) + body, suffixes, kOpen.size());
}

}  // namespace dyadic::inline v1
