// Writing safetensors.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/sha256.h"
#include "dyadic/ops.h"
#include "formats/packed.h"
#include "io/atomic_file.h"
#include "io/safetensors.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

using nlohmann::json;

struct Array {  // of the file
  std::string name;
  const char* dtype;
  std::vector<int64_t> shape;
  int64_t itemsize;
  Tensor source;
  int64_t plane = -1;  // offset of a plane in the source's storage; -1: the source itself
  uint64_t bytes = 0, begin = 0;
};

// One permutation turns the dense order of a scaled storage into the view.
struct Whole {
  std::vector<int64_t> shape, permute;  // shape in storage order
  bool permuted = false;
};

class Writer {
  const char* who_;
  const std::string& path_;
  std::vector<Array> arrays_;
  json scaled_ = json::object();
  std::string header_;
  size_t seal_at_ = 0;
  uint64_t bytes_ = 0;

  template <class... A> [[noreturn]] void refuse(const std::string& name, fmt::format_string<A...> text, A&&... args) const {
    fail<ValueError>("{}: tensor {}: {}", who_, quote_name(name), fmt::format(text, std::forward<A>(args)...));
  }

 public:
  Writer(const char* who, const std::string& path) : who_(who), path_(path) {}

  void add(const std::string& name, const Tensor& t) {
    if (!t.defined()) refuse(name, "it is undefined; leave it out");
    if (t.is_meta()) refuse(name, "a meta tensor has no values: it is {}; leave it out", describe(t));
    if (name == "__metadata__") refuse(name, "the format keeps this name for itself; choose another");
    if (t.dtype().is_blocked()) return add_scaled(name, t);
    const char* dtype = file_dtype(t.dtype());
    if (!dtype) refuse(name, "the format has no {}; convert it with .to", t.dtype().name());
    arrays_.push_back({name, dtype, t.sizes().vec(), t.dtype().itemsize(), t, -1, uint64_t(t.nbytes()), 0});
  }

  void make_header(Metadata metadata, Seal seal) {
    check_names();
    metadata[kFormatKey] = std::to_string(kFormatVersion);
    if (!scaled_.empty()) metadata[kScaledKey] = scaled_.dump();
    place();
    header_ = "{\"__metadata__\":{";
    for (auto& [key, value] : metadata)
      header_ += literal(key, "a key of the metadata") + ":" + literal(value, "a value of the metadata") + ",";
    if (seal == Seal::sha256) {
      header_ += fmt::format("\"{}\":\"", kSealKey);
      seal_at_ = 8 + header_.size();
      header_ += std::string(kSealDigits, '0') + "\",";
    }
    header_.back() = '}';
    for (const Array& a : arrays_)
      header_ += fmt::format(",{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", literal(a.name, "a name"),
                             a.dtype, fmt::join(a.shape, ","), a.begin, a.begin + a.bytes);
    header_ += "}";
    header_.resize((header_.size() + 7) / 8 * 8, ' ');  // the data starts at a multiple of 8
    DY_CHECK_AS(ValueError, header_.size() <= kMaxHeader, "{}: the header is too long: {} bytes for {} arrays; readers take {}",
                who_, header_.size(), arrays_.size(), kMaxHeader);
  }

  std::string write(Seal seal) {
    AtomicFile file(who_, path_);
    Sha256 sum;
    unsigned char prefix[8];
    for (int i = 0; i < 8; ++i) prefix[i] = static_cast<unsigned char>(uint64_t(header_.size()) >> (8 * i));
    auto put = [&](const void* data, size_t n) {
      file.write(data, n);
      if (seal == Seal::sha256) sum.update(data, n);
    };
    put(prefix, sizeof prefix);
    put(header_.data(), header_.size());
    std::vector<const Array*> order;
    for (const Array& a : arrays_) order.push_back(&a);
    std::sort(order.begin(), order.end(),
              [](const Array* a, const Array* b) { return std::pair(a->begin, a) < std::pair(b->begin, b); });
    for (const Array* a : order) {
      if (a->bytes == 0) continue;
      NoGrad guard;
      Tensor dense = a->plane < 0 ? a->source.contiguous() : a->source;
      const char* data = a->plane < 0 ? dense.impl()->data() : static_cast<const char*>(dense.impl()->storage->data) + a->plane;
      put(data, size_t(a->bytes));
    }
    const std::string digits = seal == Seal::sha256 ? sum.hex() : "";
    if (!digits.empty()) file.write_at(seal_at_, digits.data(), kSealDigits);
    file.commit();
    return digits;
  }

 private:
  std::string literal(const std::string& text, const char* what) const {
    try {
      return json(text).dump();
    } catch (const json::exception&) { fail<ValueError>("{}: {} is not UTF-8: {}", who_, what, quote_name(text)); }
  }
  void check_names() const {
    std::unordered_set<std::string> names;
    for (auto& [name, what] : scaled_.items()) names.insert(name);
    for (const Array& a : arrays_)
      if (!names.insert(a.name).second)
        refuse(a.name, "the name is there twice (planes of scaled tensors are named <name>.<plane>); rename one");
  }
  // Wide elements first, so that each array is aligned to its elements without gaps between them, which the format forbids. The
  // header keeps the caller's order.
  void place() {
    std::vector<Array*> order;
    for (Array& a : arrays_) order.push_back(&a);
    std::sort(order.begin(), order.end(),
              [](const Array* a, const Array* b) { return std::pair(b->itemsize, a) < std::pair(a->itemsize, b); });
    for (Array* a : order) {
      a->begin = bytes_;
      bytes_ += a->bytes;
    }
  }

  Whole whole(const std::string& name, const Tensor& t) const {
    const TensorImpl& i = *t.impl();
    std::vector<int64_t> order, moved;  // dimensions of size 1 stay where they are
    for (int64_t d = 0; d < i.ndim; ++d)
      if (i.sizes[d] != 1) moved.push_back(d);
    std::sort(moved.begin(), moved.end(),
              [&](int64_t a, int64_t b) { return std::pair(i.strides[b], a) < std::pair(i.strides[a], b); });
    auto next = moved.begin();
    for (int64_t d = 0; d < i.ndim; ++d) order.push_back(i.sizes[d] == 1 ? d : *next++);
    Whole w;
    w.permute.resize(i.ndim);
    int64_t expected = 1;
    bool dense = i.offset == 0 && i.numel == i.storage->geometry.numel();
    for (size_t k = order.size(); k-- > 0;) {
      int64_t d = order[k];
      dense &= i.numel == 0 || i.sizes[d] == 1 || i.strides[d] == expected;
      expected *= std::max<int64_t>(i.sizes[d], 1);
      w.permute[size_t(d)] = int64_t(k);
      w.permuted |= d != int64_t(k);
    }
    for (int64_t d : order) w.shape.push_back(i.sizes[d]);
    if (!dense)
      refuse(name,
             "it is a part of a scaled tensor: {} with strides {}, {} of the {} elements of its storage; save the whole, or a "
             "clone() of the part",
             describe(t), shape_text(t.strides()), i.numel, i.storage->geometry.numel());
    return w;
  }

  void add_scaled(const std::string& name, const Tensor& t) {
    const Format& f = *t.dtype().format();
    const Geometry g = t.impl()->storage->geometry;
    Whole w = whole(name, t);
    json what = {{"dtype", f.text}, {"rows", g.rows}, {"cols", g.cols}, {"shape", w.shape}};
    if (w.permuted) what["permute"] = w.permute;
    if (scaled_.contains(name)) refuse(name, "the name is there twice; rename one");
    scaled_[name] = what;
    PlaneList planes = planes_of(f, g);
    for (int k = 0; k < planes.count; ++k) {
      const Plane& p = planes.plane[size_t(k)];
      int64_t item = p.dtype->itemsize();
      arrays_.push_back(
          {name + "." + p.name, file_dtype(DType(p.dtype)), {p.bytes / item}, item, t, p.offset, uint64_t(p.bytes), 0});
    }
  }
};

}  // namespace

std::string write_safetensors_file(const char* who, const std::string& path, const NamedTensors& tensors,
                                   const Metadata& metadata, Seal seal) {
  Writer w(who, path);
  for (auto& [name, t] : tensors) w.add(name, t);
  w.make_header(metadata, seal);
  return w.write(seal);
}

void save_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  for (auto& [key, value] : metadata)
    DY_CHECK_AS(ValueError, !key.starts_with(kReserved),
                "save_safetensors: a reserved key: the metadata has {}; keys that begin with \"{}\" are ours", quote_name(key),
                kReserved);
  write_safetensors_file("save_safetensors", path, tensors, metadata, Seal::none);
}

}  // namespace dyadic::inline v1::io
