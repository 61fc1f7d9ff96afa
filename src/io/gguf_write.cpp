// Writing GGUF: everything that can be refused is, then tensor after tensor is asked for and written.
#include <algorithm>
#include <unordered_set>

#include "base/parallel.h"
#include "dyadic/ops.h"
#include "dyadic/planes.h"
#include "formats/format.h"
#include "io/atomic_file.h"
#include "io/gguf.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr char kWho[] = "save_gguf", kSplit[] = "split.";
constexpr size_t kMaxTensorName = 63, kMaxTensorDims = 4, kMaxPartsRead = 65535;  // what llama.cpp reads

class Bytes {
 public:
  std::string out;
  template <class T> void number(T v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void text(std::string_view v) {
    number(uint64_t(v.size()));
    out += v;
  }
  void element(bool v) { number(uint8_t(v)); }
  void element(const std::string& v) { text(v); }
  template <class T> void element(T v) { number(v); }
  void pad(uint64_t alignment) { out.resize((out.size() + alignment - 1) / alignment * alignment, '\0'); }
};

template <class T> constexpr GgufType type_of() {
  if constexpr (std::is_same_v<T, bool>) return GgufType::boolean;
  if constexpr (std::is_same_v<T, std::string>) return GgufType::string;
  if constexpr (std::is_same_v<T, float>) return GgufType::f32;
  if constexpr (std::is_same_v<T, double>) return GgufType::f64;
  constexpr bool s = std::is_signed_v<T>;
  if constexpr (sizeof(T) == 1) return s ? GgufType::i8 : GgufType::u8;
  if constexpr (sizeof(T) == 2) return s ? GgufType::i16 : GgufType::u16;
  if constexpr (sizeof(T) == 4) return s ? GgufType::i32 : GgufType::u32;
  return s ? GgufType::i64 : GgufType::u64;
}

void put(Bytes& b, const GgufArray& array) {
  std::visit(
      [&](const auto& values) {
        using T = typename std::decay_t<decltype(values)>::value_type;
        b.number(type_of<T>());
        b.number(uint64_t(values.size()));
        for (const auto& v : values) b.element(static_cast<const T&>(v));
      },
      array);
}
void put(Bytes& b, std::string_view key, const GgufValue& value) {
  b.text(key);
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, GgufArray>) {
          b.number(GgufType::array);
          put(b, v);
        } else if constexpr (std::is_same_v<T, std::vector<GgufArray>>) {
          b.number(GgufType::array);
          b.number(GgufType::array);
          b.number(uint64_t(v.size()));
          for (const GgufArray& inner : v) put(b, inner);
        } else {
          b.number(type_of<T>());
          b.element(v);
        }
      },
      value);
}

// What to convert to instead, for a dtype that ggml has no type for.
const char* remedy(DType d) {
  if (d.is_scaled()) return d.bits() > 4 ? "convert it with .to(q8_0)" : "convert it with .to(q4_0)";
  if (d.is_complex()) return "save its real and imaginary parts";
  if (d.is_floating_point() || d.format()->def->kind == Kind::floating) return "convert it with .to(f16)";
  if (d == boolean || d.bits() < 8) return "convert it with .to(i8)";
  return d == u8 ? "convert it with .to(i16)" : d == u16 ? "convert it with .to(i32)" : "convert it with .to(i64)";
}

struct WrittenEntry {
  const TensorInfo* info;
  const GgmlType* type;
  uint64_t bytes, offset = 0;
  size_t number = 0;  // of all
};

class Writer {
  const std::string& path_;
  const GgufMetadata& metadata_;
  uint64_t alignment_ = kGgufAlignment;
  std::vector<std::vector<WrittenEntry>> parts_;
  int64_t tensors_ = 0;
  FunctionRef<Tensor(size_t)> get_;

  template <class... A> [[noreturn]] void refuse(std::string_view name, fmt::format_string<A...> text, A&&... args) const {
    fail<ValueError>("{}: tensor {}: {}", kWho, quote_name(name), fmt::format(text, std::forward<A>(args)...));
  }

 public:
  Writer(const std::string& path, const GgufMetadata& metadata, FunctionRef<Tensor(size_t)> get)
      : path_(path), metadata_(metadata), get_(get) {
    check_keys();
  }

  void plan(const std::vector<TensorInfo>& tensors, uint64_t most) {
    std::unordered_set<std::string_view> names;
    parts_.emplace_back();
    uint64_t size = 0;
    for (const TensorInfo& t : tensors) {
      if (!names.insert(t.name).second) refuse(t.name, "the name is there twice; rename one");
      WrittenEntry e = entry(t);
      const uint64_t padded = (e.bytes + alignment_ - 1) / alignment_ * alignment_;
      if (most && size + padded > most && !parts_.back().empty()) {
        parts_.emplace_back();
        size = 0;
      }
      e.offset = size;
      e.number = size_t(tensors_++);
      size += padded;
      parts_.back().push_back(e);
    }
    DY_CHECK_AS(ValueError, parts_.size() <= kMaxPartsRead, "{}: {} parts; readers take {}: max_bytes is {}", kWho,
                parts_.size(), kMaxPartsRead, most);
  }

  std::string write() {
    if (parts_.size() == 1) {
      AtomicFile file(kWho, path_);
      write(file, 0);
      file.commit();
      return path_;
    }
    const std::string stem = path_.ends_with(".gguf") ? path_.substr(0, path_.size() - 5) : path_;
    const auto name = [&](size_t i) { return gguf_part_path(stem, int64_t(i), int64_t(parts_.size())); };
    std::vector<std::unique_ptr<AtomicFile>> files;
    for (size_t i = 0; i < parts_.size(); ++i) {
      files.push_back(std::make_unique<AtomicFile>(kWho, name(i)));
      write(*files.back(), i);
    }
    for (size_t i = files.size(); i-- > 0;) files[i]->commit();  // the first, which is the one to open, last
    return name(0);
  }

 private:
  void check_keys() {
    std::unordered_set<std::string_view> keys;
    for (const auto& [key, value] : metadata_) {
      DY_CHECK_AS(ValueError, !key.empty() && key.size() <= kMaxGgufName, "{}: a key of {} bytes: {}; 1 to {} are allowed",
                  kWho, key.size(), quote_name(key), kMaxGgufName);
      DY_CHECK_AS(ValueError, keys.insert(key).second, "{}: the key {} is there twice", kWho, quote_name(key));
      if (key != kAlignmentKey) continue;
      const auto* v = std::get_if<uint32_t>(&value);
      DY_CHECK_AS(ValueError, v && std::has_single_bit(*v) && *v >= 8,
                  "{}: key {}: it must be a uint32 and a power of two from 8 on", kWho, quote_name(key));
      alignment_ = *v;
    }
  }

  WrittenEntry entry(const TensorInfo& t) const {
    if (t.name.empty() || t.name.size() > kMaxTensorName)
      refuse(t.name, "a name of {} bytes; llama.cpp reads 1 to {}: rename it", t.name.size(), kMaxTensorName);
    if (!t.dtype) refuse(t.name, "no dtype here holds its {}; leave it out", t.stored.empty() ? "elements" : t.stored);
    const GgmlType* type = find_ggml_type(t.dtype);
    if (!type) refuse(t.name, "ggml has no type for {}; {}", t.dtype.name(), remedy(t.dtype));
    if (t.shape.size() > kMaxTensorDims)
      refuse(t.name, "it has {} dimensions, {}; ggml has {}: reshape it", t.shape.size(), shape_text(t.shape), kMaxTensorDims);
    const int64_t n = checked_numel(kWho, t.shape), row = t.shape.empty() ? 1 : t.shape.back();
    if (row % type->elements)
      refuse(t.name, "rows of {} are whole blocks of {}: it is {}{}; pad it or convert it with .to(f16)", type->name,
             type->elements, t.dtype.name(), shape_text(t.shape));
    return {&t, type, uint64_t(n) / type->elements * type->bytes};
  }

  std::string header(size_t part) const {
    Bytes keys;
    uint64_t count = 0;
    const auto add = [&](std::string_view key, const GgufValue& value) {
      put(keys, key, value);
      ++count;
    };
    for (const auto& [key, value] : metadata_)
      if (!key.starts_with(kSplit) && (part == 0 || key == kAlignmentKey)) add(key, value);
    if (parts_.size() > 1) {
      add("split.no", uint16_t(part));
      add("split.count", uint16_t(parts_.size()));
      add("split.tensors.count", int32_t(tensors_));
    }
    Bytes b;
    b.number(kGgufMagic);
    b.number(kGgufVersion);
    b.number(uint64_t(parts_[part].size()));
    b.number(count);
    b.out += keys.out;
    for (const WrittenEntry& e : parts_[part]) {
      b.text(e.info->name);
      b.number(uint32_t(e.info->shape.size()));
      for (auto d = e.info->shape.rbegin(); d != e.info->shape.rend(); ++d) b.number(uint64_t(*d));
      b.number(e.type->number);
      b.number(e.offset);
    }
    b.pad(alignment_);
    return std::move(b.out);
  }

  void write(AtomicFile& file, size_t part) const {
    const std::string head = header(part);
    file.write(head.data(), head.size());
    const std::string zeros(size_t(std::min<uint64_t>(alignment_, 4096)), '\0');
    for (const WrittenEntry& e : parts_[part]) {
      data(file, e);
      for (uint64_t gap = (alignment_ - e.bytes % alignment_) % alignment_; gap > 0;) {
        const uint64_t n = std::min<uint64_t>(gap, zeros.size());
        file.write(zeros.data(), n);
        gap -= n;
      }
    }
  }

  void data(AtomicFile& file, const WrittenEntry& e) const {
    const TensorInfo& s = *e.info;
    const Tensor t = get_(e.number).to(cpu);
    if (!t.defined() || t.dtype() != s.dtype || t.sizes() != IntList(s.shape))
      refuse(s.name, "{}{} was announced, {} came", s.dtype.name(), shape_text(s.shape), t.defined() ? describe(t) : "nothing");
    if (t.is_meta()) refuse(s.name, "a meta tensor has no values: it is {}; leave it out", describe(t));
    if (e.bytes == 0) return;
    NoGrad guard;
    if (!t.dtype().is_blocked()) {
      const Tensor dense = t.contiguous();
      return file.write(dense.impl()->data(), size_t(e.bytes));
    }
    const TensorImpl& i = *t.impl();
    if (!t.is_contiguous() || i.numel != i.storage->geometry.numel() || i.storage->geometry.cols % e.type->elements)
      refuse(s.name, "it is a part of a scaled tensor, or one with its dimensions in another order: {}; save a clone()",
             describe(t));
    if (e.type->number != kNvfp4) return file.write(i.data(), size_t(e.bytes));
    const std::string blocks = write_nvfp4(t, [&](const std::string& why) { refuse(s.name, "{}", why); });
    file.write(blocks.data(), blocks.size());
  }
};

}  // namespace

std::string save_gguf(const std::string& path, const std::vector<TensorInfo>& tensors, GgufGet call, void* get,
                      const GgufMetadata& metadata, const GgufOptions& options) {
  DY_CHECK_AS(ValueError, options.max_bytes >= 0, "{}: max_bytes is {}; 0 is no limit", kWho, options.max_bytes);
  const auto number = [&](size_t i) { return call(get, i); };
  Writer w(path, metadata, number);
  w.plan(tensors, uint64_t(options.max_bytes));
  return w.write();
}

std::string save_gguf(const std::string& path, const NamedTensors& tensors, const GgufMetadata& metadata,
                      const GgufOptions& options) {
  std::vector<TensorInfo> infos;
  for (const auto& [name, t] : tensors) {
    DY_CHECK_AS(ValueError, t.defined(), "{}: tensor {}: it is undefined; leave it out", kWho, quote_name(name));
    infos.push_back({name, t.dtype(), "", t.sizes().vec()});
  }
  return save_gguf(path, infos, [&](size_t i) { return tensors[i].second; }, metadata, options);
}

}  // namespace dyadic::inline v1::io
