// Writing safetensors.
#include <algorithm>
#include <unordered_set>

#include "base/json.h"
#include "base/sha256.h"
#include "dyadic/ops.h"
#include "formats/packed.h"
#include "io/atomic_file.h"
#include "io/file_kinds.h"
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
  size_t item;         // whose elements or plane it is
  int64_t plane = -1;  // offset of a plane in the item's storage; -1: its elements
  uint64_t bytes = 0, begin = 0;
};
// A tensor to be written: there at once, or given when its turn comes.
struct Written {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  Geometry geometry;
};

// One permutation turns the dense order of a scaled storage into the view.
struct Whole {
  std::vector<int64_t> shape, permute;  // shape in storage order
  bool permuted = false;
};

std::vector<int64_t> stored_shape(const TensorInfo& t) {  // in storage order
  std::vector<int64_t> shape;
  for (int64_t d : t.order) shape.push_back(t.shape[size_t(d)]);
  return shape.empty() ? t.shape : shape;
}
Geometry rows_of(const std::vector<int64_t>& shape) {
  const int64_t n = checked_numel("save", shape), cols = shape.empty() ? 1 : shape.back();
  return {cols ? n / cols : 0, cols};
}

class Writer {
  const char* who_;
  const std::string& path_;
  std::vector<Written> items_;
  std::vector<Array> arrays_;  // those of an item follow one another
  json scaled_ = json::object(), tied_ = json::object();
  std::string header_;
  size_t seal_at_ = 0, current_ = 0;
  uint64_t bytes_ = 0;

  template <class... A> [[noreturn]] void refuse(const std::string& name, fmt::format_string<A...> text, A&&... args) const {
    fail<ValueError>("{}: tensor {}: {}", who_, quote_name(name), fmt::format(text, std::forward<A>(args)...));
  }

 public:
  Writer(const char* who, const std::string& path) : who_(who), path_(path) {}

  void add(const std::string& name, const Tensor& t) {
    if (!t.defined()) refuse(name, "it is undefined; leave it out");
    if (t.is_meta()) refuse(name, "a meta tensor has no values: it is {}; leave it out", describe(t));
    const bool blocked = t.dtype().is_blocked();
    const Whole w = blocked ? whole(name, t) : Whole{};
    add({name, t.dtype(), t.sizes().vec(), blocked ? t.impl()->storage->geometry : Geometry{}}, w);
  }
  // Of a tensor that is not there yet: it will be the whole of its storage.
  void add(const TensorInfo& t) {
    if (!t.dtype) refuse(t.name, "no dtype here holds it: it is {}; leave it out", t.stored);
    Whole w{stored_shape(t), std::vector<int64_t>(t.order.size()), !t.order.empty()};
    for (size_t k = 0; k < t.order.size(); ++k) w.permute[size_t(t.order[k])] = int64_t(k);
    add({t.name, t.dtype, t.shape, rows_of(w.shape)}, w);
  }
  void tie(const std::string& name, const std::string& kept) { tied_[name] = kept; }
  void names(std::vector<std::string>& out) const {
    for (const Array& a : arrays_) out.push_back(a.name);
  }

  void make_header(Metadata metadata, Seal seal) {
    check_names();
    metadata[kFormatKey] = std::to_string(kFormatVersion);
    if (!scaled_.empty()) metadata[kScaledKey] = dump_json(scaled_);
    if (!tied_.empty()) metadata[kTiedKey] = dumped(tied_);
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

  // Under a seal the bytes go out in their order; else a tensor at a time, each to its places.
  std::string write(Seal seal, FunctionRef<Tensor(size_t item)> get) {
    AtomicFile file(who_, path_);
    Sha256 sum;
    unsigned char prefix[8];
    for (int i = 0; i < 8; ++i) prefix[i] = static_cast<unsigned char>(uint64_t(header_.size()) >> (8 * i));
    const auto put = [&](uint64_t at, const void* data, size_t n) {
      file.write_at(at, data, n);
      if (seal == Seal::sha256) sum.update(data, n);
    };
    put(0, prefix, sizeof prefix);
    put(8, header_.data(), header_.size());
    std::vector<const Array*> order;
    for (const Array& a : arrays_) order.push_back(&a);
    if (seal == Seal::sha256)
      std::sort(order.begin(), order.end(),
                [](const Array* a, const Array* b) { return std::pair(a->begin, a) < std::pair(b->begin, b); });
    NoGrad guard;
    Tensor t;
    for (const Array* a : order) {
      if (a->bytes == 0) continue;
      if (!t.defined() || a->item != current_) t = given(current_ = a->item, get(a->item)).cpu();
      const char* data = a->plane < 0 ? t.impl()->data() : static_cast<const char*>(t.impl()->storage->data) + a->plane;
      put(8 + header_.size() + a->begin, data, size_t(a->bytes));
    }
    const std::string digits = seal == Seal::sha256 ? sum.hex() : "";
    if (!digits.empty()) file.write_at(seal_at_, digits.data(), kSealDigits);
    file.commit();
    return digits;
  }

 private:
  std::string literal(const std::string& text, const char* what) const {
    try {
      return dump_json(json(text));
    } catch (const json::exception&) { fail<ValueError>("{}: {} is not UTF-8: {}", who_, what, quote_name(text)); }
  }
  std::string dumped(const json& names) const {
    try {
      return dump_json(names);
    } catch (const json::exception&) { fail<ValueError>("{}: a name is not UTF-8", who_); }
  }
  // What was promised, dense.
  Tensor given(size_t item, const Tensor& t) const {
    const Written& w = items_[item];
    if (t.dtype() != w.dtype || t.sizes().vec() != w.shape)
      refuse(w.name, "it is {}, and was announced as {}{}", describe(t), w.dtype.name(), shape_text(w.shape));
    if (!w.dtype.is_blocked()) return t.contiguous();
    const Geometry g = t.impl()->storage->geometry;
    if (g.rows != w.geometry.rows || g.cols != w.geometry.cols)
      refuse(w.name, "its blocks are those of [{}, {}], and not of {}{}; save a clone()", g.rows, g.cols, w.dtype.name(),
             shape_text(w.shape));
    return t;
  }
  void check_names() const {
    std::unordered_set<std::string> names;
    for (auto& [name, kept] : tied_.items()) names.insert(name);
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
    std::vector<int64_t> order = storage_order(t.sizes(), t.strides());
    for (int64_t d = 0; order.size() < i.ndim; ++d) order.push_back(d);
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

  void add(Written t, const Whole& w) {
    const std::string name = t.name;
    const DType d = t.dtype;
    if (name == "__metadata__") refuse(name, "the format keeps this name for itself; choose another");
    const char* word = file_dtype(d);
    const size_t item = items_.size();
    items_.push_back(std::move(t));
    const Written& whole = items_.back();
    if (!d.is_blocked()) {
      if (!word) refuse(name, "the format has no {}; convert it with .to", d.name());
      const int64_t bytes = checked_numel(who_, whole.shape) * d.itemsize();
      arrays_.push_back({name, word, whole.shape, d.itemsize(), item, -1, uint64_t(bytes), 0});
      return;
    }
    const PlaneList planes = planes_of(*d.format(), whole.geometry);
    // Packed elements are the format's own where they fill whole bytes.
    if (word && !w.permuted && whole.geometry.numel() * int64_t(d.bits()) % 8 == 0) {
      arrays_.push_back({name, word, whole.shape, 1, item, planes.plane[0].offset, uint64_t(planes.plane[0].bytes), 0});
      return;
    }
    json what = {{"dtype", d.format()->text}, {"rows", whole.geometry.rows}, {"cols", whole.geometry.cols}, {"shape", w.shape}};
    if (w.permuted) what["permute"] = w.permute;
    if (scaled_.contains(name)) refuse(name, "the name is there twice; rename one");
    scaled_[name] = what;
    for (int k = 0; k < planes.count; ++k) {
      const Plane& p = planes.plane[size_t(k)];
      const int64_t size = p.dtype->itemsize();
      arrays_.push_back(
          {name + "." + p.name, file_dtype(DType(p.dtype)), {p.bytes / size}, size, item, p.offset, uint64_t(p.bytes), 0});
    }
  }
};

}  // namespace

std::string write_safetensors_file(const char* who, const std::string& path, const NamedTensors& tensors,
                                   const Metadata& metadata, Seal seal) {
  Writer w(who, path);
  for (auto& [name, t] : tensors) w.add(name, t);
  w.make_header(metadata, seal);
  return w.write(seal, [&](size_t i) { return tensors[i].second; });
}

void write_safetensors_part(const std::string& path, const TensorFile& source, std::span<const size_t> which,
                            const Metadata& metadata, std::vector<std::string>* arrays) {
  Writer w("save", path);
  // How the blocks of a scaled tensor lie is known of these without reading it twice.
  const bool at_hand = source.kind() == "memory" || source.kind() == "safetensors";
  std::vector<size_t> written;
  for (size_t i : which) {
    const TensorInfo& t = source.tensors()[i];
    if (const size_t kept = source.same_as(i); kept != i) {
      w.tie(t.name, source.tensors()[kept].name);
      continue;
    }
    if (at_hand && (t.dtype.is_blocked() || !t.dtype))
      w.add(t.name, source.get(i));
    else
      w.add(t);
    written.push_back(i);
  }
  w.make_header(metadata, Seal::none);
  if (arrays) w.names(*arrays);
  w.write(Seal::none, [&](size_t item) { return source.get(written[item]); });
}

uint64_t stored_bytes(const TensorInfo& t) {
  const int64_t n = checked_numel("save", t.shape);
  if (!t.dtype) return 0;
  return t.dtype.is_blocked() ? uint64_t(planes_of(*t.dtype.format(), rows_of(stored_shape(t))).bytes)
                              : uint64_t(n * t.dtype.itemsize());
}

void save_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  for (auto& [key, value] : metadata)
    DY_CHECK_AS(ValueError, !key.starts_with(kReserved),
                "save_safetensors: a reserved key: the metadata has {}; keys that begin with \"{}\" are ours", quote_name(key),
                kReserved);
  write_safetensors_file("save_safetensors", path, tensors, metadata, Seal::none);
}

}  // namespace dyadic::inline v1::io
