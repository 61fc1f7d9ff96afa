// io::convert: a source whose tensors are converted as they are asked for, written like any other, and read again.
#include "dyadic/convert.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/json.h"
#include "base/pattern.h"
#include "dyadic/device.h"
#include "dyadic/ops.h"
#include "dyadic/planes.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"
#include "io/gguf.h"
#include "io/quantized/rearranged.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

// A number that other bytes, or the same in another order, hardly have.
uint64_t fingerprint(const char* data, size_t bytes, uint64_t seed) {
  uint64_t h = seed ^ bytes;
  for (; bytes >= 8; data += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    h = std::rotl((h ^ word) * 0x9e3779b97f4a7c15, 29);
  }
  for (; bytes > 0; ++data, --bytes) h = std::rotl((h ^ static_cast<unsigned char>(*data)) * 0x9e3779b97f4a7c15, 29);
  return h;
}
uint64_t fingerprint(const Tensor& t) {
  if (t.numel() == 0) return 0;
  if (!t.dtype().is_blocked()) {
    const Tensor dense = t.contiguous();
    return fingerprint(dense.impl()->data(), size_t(dense.nbytes()), 0);
  }
  uint64_t h = 0;
  const std::vector<int64_t> order = storage_order(t.sizes(), t.strides());
  for (const auto& [name, plane] : planes(order.empty() ? t : t.permute(order)))
    h = fingerprint(plane.impl()->data(), size_t(plane.nbytes()), h);
  return h;
}

class ConvertedFile final : public TensorFile {
  const TensorFile& source_;
  const ConvertOptions& o_;
  std::vector<TensorInfo> tensors_;
  mutable size_t done_ = 0;

 public:
  mutable std::vector<Converted> report;
  mutable std::vector<uint64_t> prints;

  ConvertedFile(const TensorFile& source, const ConvertOptions& o)
      : TensorFile(source.path()), source_(source), o_(o), prints(source.tensors().size()) {
    for (const TensorInfo& t : source.tensors()) {
      Converted c{t.name, t.own ? t.own : t.dtype, t.dtype, "", {}};
      const DType wanted = target(t);
      if (wanted && wanted != t.dtype) {
        try {
          make_tensor(t.shape, wanted, meta);  // its blocks may not fit
          DY_CHECK_AS(ValueError, wanted.format()->can_encode(), "{} is only decoded", wanted.name());
          c.to = wanted;
        } catch (const Error& e) { c.kept = e.what(); }
      }
      const auto other = std::ranges::find(o_.instead, t.name, [](auto& item) -> auto& { return item.first; });
      if (other != o_.instead.end() && (!wanted || !c.kept.empty())) {
        c.to = DType::parse(other->second);
        if (c.kept.empty()) c.kept = why_nearest_ggml(c.from, c.to);
      }
      tensors_.push_back(t);
      tensors_.back().dtype = c.to;
      tensors_.back().own = {};
      if (c.to != t.dtype) tensors_.back().stored = c.to.name(), tensors_.back().order = {};
      report.push_back(std::move(c));
    }
    for (size_t i = 0; i < tensors_.size(); ++i)  // one storage has one dtype, under the first of its names
      report[i].to = tensors_[i].dtype = tensors_[source.same_as(i)].dtype;
  }
  std::string_view kind() const override { return "converted"; }
  const TensorFile& origin() const override { return source_.origin(); }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  size_t same_as(size_t i) const override { return source_.same_as(i); }
  Tensor get(size_t i) const override {
    if (o_.progress) o_.progress(o_.context, done_++, tensors_.size());
    const Tensor before = source_.get(i);
    const DType to = tensors_[i].dtype;
    if (to == before.dtype()) {
      prints[i] = fingerprint(before);
      return before;
    }
    NoGrad guard;
    Tensor after = before.dtype().is_blocked() ? rearranged(before, to) : Tensor();
    if (!after.defined()) after = before.to(to);
    report[i].difference = compare(before, after);
    prints[i] = fingerprint(after);
    return after;
  }

 private:
  DType target(const TensorInfo& t) const {
    for (const auto* rules : {&o_.map, &o_.otherwise})
      for (const auto& [pattern, format] : *rules)
        if (matches(pattern, t.name)) return format == "keep" ? DType() : DType::parse(format);
    if (!o_.format || !t.dtype) return {};
    const bool number = t.dtype.is_scaled() || t.dtype.format()->def->kind == Kind::floating;
    return number && (!o_.format.is_scaled() || t.shape.size() >= 2) ? o_.format : DType();
  }
};

// What the file says beside tensors, as texts; sizes and tied names are said anew.
void add_metadata(Metadata& to, const TensorFile& source) {
  const auto all = bounded_json(source.metadata());
  if (!all.is_object()) return;
  for (auto& [key, value] : all.items()) {
    const bool scalar = value.is_string() || value.is_number() || value.is_boolean();
    if (!scalar || key == "total_size" || key.starts_with("dyadic.") || source.has(key)) continue;
    to.emplace(key, value.is_string() ? value.get<std::string>() : dump_json(value));
  }
}

}  // namespace

void check_rules(const TensorFile& source, const ConvertOptions& options) {
  for (const auto& [pattern, format] : options.map) {
    if (format != "keep") DType::parse(format);
    const auto fits = [&](const TensorInfo& t) { return matches(pattern, t.name); };
    DY_CHECK_AS(ValueError, std::ranges::any_of(source.tensors(), fits),
                "convert: no tensor of what is written is called {}; names are such as {}", quote_name(pattern),
                source.tensors().empty() ? "none" : quote_name(source.tensors()[0].name));
  }
}

std::vector<Converted> convert(const TensorFile& source, const std::string& path, const ConvertOptions& options) {
  check_rules(source, options);
  const ConvertedFile converted(source, options);
  SaveOptions save_options = options.save;
  add_metadata(save_options.metadata, source);
  const std::string written = save(path, converted, save_options);
  empty_cache();  // what is read again does not lie beside memory that is kept for the next tensor
  const std::shared_ptr<TensorFile> back = open(written);
  for (size_t i = 0; i < converted.tensors().size(); ++i) {
    Converted& c = converted.report[i];
    const size_t first = source.same_as(i);
    if (first != i) {
      c.difference = converted.report[first].difference;
      continue;
    }
    const Tensor t = back->tensors().size() == 1 ? back->get(size_t(0)) : back->get(c.name);  // .npy has no names
    if (t.dtype() == c.to) {
      DY_CHECK(t.sizes() == IntList(converted.tensors()[i].shape) && fingerprint(t) == converted.prints[i],
               "{}: tensor {} is not what was written there; check the disk", written, quote_name(c.name));
      continue;
    }
    c.to = t.dtype();  // the kind has another word for it
    c.difference = compare(source.get(i), t);
  }
  return converted.report;
}

}  // namespace dyadic::inline v1::io
