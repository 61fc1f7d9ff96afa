// What the pickles of torch.save ask for to make tensors: memory by its key, and views of it.
#include <algorithm>

#include "base/log.h"
#include "dyadic/dtype.h"
#include "io/bad_file.h"
#include "io/torch_reader.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

using Kind = Value::Kind;
constexpr int64_t kMostElements = int64_t(1) << 56;

constexpr std::pair<std::string_view, DType> kStorages[] = {
    {"DoubleStorage", f64}, {"FloatStorage", f32},    {"HalfStorage", f16},         {"BFloat16Storage", bf16},
    {"LongStorage", i64},   {"IntStorage", i32},      {"ShortStorage", i16},        {"CharStorage", i8},
    {"ByteStorage", u8},    {"BoolStorage", boolean}, {"ComplexFloatStorage", c64}, {"ComplexDoubleStorage", c128},
    {"UntypedStorage", u8}, {"QInt8Storage", i8},     {"QUInt8Storage", u8},        {"QInt32Storage", i32},
};

bool sizes_of(const Value& v, std::vector<int64_t>& out) {
  if (v.kind() != Kind::tuple && v.kind() != Kind::list) return false;
  if (v.items().size() > kMaxDims) return false;
  for (const Value& n : v.items()) {
    if (n.kind() != Kind::integer || n.integer() < 0) return false;
    out.push_back(n.integer());
  }
  return true;
}

}  // namespace

void TorchReader::wrong(const std::string& why) const { bad(file_->path(), "{}", why); }

Value TorchReader::tensor(TorchView v, bool requires_grad, bool parameter) {
  if (views_.size() == (1u << 30)) wrong("it has more than 2^30 tensors");
  auto n = std::make_shared<Node>();
  n->kind = Kind::tensor;
  n->index = int32_t(views_.size());
  n->requires_grad = requires_grad;
  n->parameter = parameter;
  views_.push_back(std::move(v));
  tensors_.push_back(n);
  return Value(std::move(n));
}

// ("storage", its class, key, device, elements), in the older form with (key, offset, elements) of a part of it or None.
Value TorchReader::persistent(const Value& id) {
  if (id.kind() != Kind::tuple) return {};
  const Value::List& a = id.items();
  const auto is = [&](size_t i, Kind kind) { return i < a.size() && a[i].kind() == kind; };
  if (!is(0, Kind::text)) return {};
  if (a[0].text() == "module" && is(1, Kind::global)) return a[1];  // a class with its source, which is nobody's affair
  if (a[0].text() != "storage" || !is(1, Kind::global) || !is(2, Kind::text) || !is(4, Kind::integer)) return {};
  const std::string &type = a[1].node()->text, &key = a[2].text();
  const auto* known =
      std::ranges::find(kStorages, std::string_view(type).substr(type.rfind('.') + 1), [](auto& s) { return s.first; });
  if (known == std::end(kStorages)) wrong(fmt::format("no dtype here holds what a {} does", quote_name(type)));
  TorchView v;
  v.dtype = known->second, v.whole = true, v.stored = type;
  v.numel = a[4].integer();
  if (v.numel < 0 || v.numel > kMostElements) wrong(fmt::format("memory {} has {} elements", quote_name(key), v.numel));
  const uint64_t bytes = uint64_t(v.numel) * uint64_t(v.dtype.itemsize());
  const auto [at, is_new] = by_key_.emplace(key, int32_t(stored_.size()));
  if (is_new) {
    Stored s{key, bytes, 0, v.dtype.itemsize(), nullptr};  // in zips the entry has the last word
    if (zip_) {
      s.entry = zip_->find(prefix_ + "data/" + key);
      if (!s.entry) wrong(fmt::format("memory {} is not there", quote_name(key)));
      s.begin = s.entry->begin;
      s.bytes = s.entry->size;
    }
    stored_.push_back(std::move(s));
  }
  v.storage = at->second;
  const Stored& s = stored_[size_t(v.storage)];
  if (bytes > s.bytes || s.bytes - bytes >= uint64_t(v.dtype.itemsize()))
    wrong(fmt::format("memory {} has {} bytes, not the {} of {} elements of {}", quote_name(key), s.bytes, bytes, v.numel,
                      v.dtype.name()));
  if (is(5, Kind::tuple)) {
    const Value::List& part = a[5].items();
    if (part.size() != 3 || part[1].kind() != Kind::integer || part[2].kind() != Kind::integer) return {};
    const int64_t begin = part[1].integer(), n = part[2].integer();
    if (begin < 0 || n < 0 || begin > v.numel || n > v.numel - begin)
      wrong(fmt::format("a part of memory {} is outside of it", quote_name(key)));
    v.offset = begin, v.numel = n;
  }
  v.sizes = {v.numel}, v.strides = {1}, v.reach = v.numel;
  return tensor(std::move(v), false, false);
}

// (memory, offset, sizes, strides, ...); dtype: where the memory has none.
Value TorchReader::strided(const Value::List& a, DType dtype) {
  const Node* memory = a.size() >= 4 ? a[0].node() : nullptr;
  if (!memory || memory->kind != Kind::tensor || !view(*memory).whole || a[1].kind() != Kind::integer) return {};
  const TorchView& from = view(*memory);
  TorchView v;
  if (!sizes_of(a[2], v.sizes) || !sizes_of(a[3], v.strides) || v.sizes.size() != v.strides.size()) return {};
  v.storage = from.storage, v.dtype = dtype ? dtype : from.dtype;
  v.stored = dtype ? "torch." + dtype.long_name() : from.stored;
  int64_t last = 0;
  bool fits = a[1].integer() >= 0;
  v.numel = 1;
  for (size_t d = 0; d < v.sizes.size(); ++d) {
    int64_t step = 0;
    fits = fits && !__builtin_mul_overflow(std::max<int64_t>(v.sizes[d] - 1, 0), v.strides[d], &step) &&
           !__builtin_add_overflow(last, step, &last) &&
           !__builtin_mul_overflow(v.numel, std::max<int64_t>(v.sizes[d], 1), &v.numel) && v.numel <= kMostElements;
  }
  const int64_t there = from.numel * from.dtype.itemsize() / v.dtype.itemsize();
  if (std::ranges::find(v.sizes, 0) != v.sizes.end()) v.numel = last = 0;
  v.reach = v.numel ? last + 1 : 0;
  if (fits && dtype) fits = from.offset * from.dtype.itemsize() % v.dtype.itemsize() == 0;
  if (!fits || (v.numel && (a[1].integer() > there || v.reach > there - a[1].integer())))
    wrong(fmt::format("a tensor reaches beyond its memory: {} {} with strides {} from element {} of {} in memory {}",
                      v.dtype.name(), shape_text(v.sizes), shape_text(v.strides), a[1].integer(), there,
                      quote_name(stored_[size_t(v.storage)].key)));
  v.offset = v.numel ? from.offset * from.dtype.itemsize() / v.dtype.itemsize() + a[1].integer() : 0;
  const bool grad = a.size() > 4 && a[4].kind() == Kind::boolean && a[4].boolean();
  const size_t extra = dtype ? 7 : 6;
  if (a.size() > extra && a[extra].kind() == Kind::dict)
    for (auto& [name, on] : a[extra].entries())
      if (on.kind() == Kind::boolean && on.boolean()) {
        const std::string bit = name.kind() == Kind::text ? name.text() : "";
        if (bit != "conj" && bit != "neg") wrong(fmt::format("a tensor whose {} bit is set", quote_name(bit)));
        (bit == "conj" ? v.conj : v.neg) = true;
      }
  if (grad && !v.dtype.is_floating_point() && !v.dtype.is_complex()) return {};
  return tensor(std::move(v), grad, false);
}

// Of a dtype that none here is: complex32 widened to c64, pairs of float4 as the bytes that they are.
Value TorchReader::foreign(const Value::List& a) {
  const std::string& name = a[6].node()->text;
  Value made;
  if (name == kFloat4Pairs) {
    made = strided(a, u8);
    warn(fmt::format("{}: a tensor of torch.{} is read as its bytes, uint8", file_->path(), name));
  } else if (std::vector<int64_t> sizes, strides;
             a[1].kind() == Kind::integer && sizes_of(a[2], sizes) && sizes_of(a[3], strides)) {
    constexpr int64_t kMost = int64_t(1) << 60;
    if (a[1].integer() > kMost || std::ranges::any_of(strides, [](int64_t s) { return s > kMost; })) return {};
    Value::List halves = a, in_sizes, in_strides;
    for (const int64_t n : sizes) in_sizes.push_back(n);
    for (const int64_t n : strides) in_strides.push_back(2 * n);
    in_sizes.push_back(2), in_strides.push_back(1);
    halves[1] = a[1].integer() * 2, halves[2] = Value::tuple(in_sizes), halves[3] = Value::tuple(in_strides);
    made = strided(halves, f16);
    if (made.node()) views_[size_t(made.node()->index)].pairs = true;
  }
  if (made.node()) views_[size_t(made.node()->index)].stored = "torch." + name;
  return made;
}

Value TorchReader::call(const std::string& name, const Value& args) {
  const Value::List& a = args.items();
  if (name == "torch._utils._rebuild_tensor" || name == "torch._utils._rebuild_tensor_v2") return strided(a, {});
  if (name == "torch._utils._rebuild_qtensor") return quantized(a);
  if (name == "torch._utils._rebuild_tensor_v3") {
    if (a.size() < 7 || a[6].kind() != Kind::dtype) return {};
    return a[6].node()->dtype ? strided(a, a[6].node()->dtype) : foreign(a);
  }
  if (name.starts_with("torch._utils._rebuild_parameter")) {
    const Node* data = a.size() >= 2 ? a[0].node() : nullptr;
    if (!data || data->kind != Kind::tensor || a[1].kind() != Kind::boolean) return {};
    const DType d = view(*data).dtype;
    if (a[1].boolean() && !d.is_floating_point() && !d.is_complex()) return {};
    return tensor(view(*data), a[1].boolean(), true);
  }
  if (name == "torch._tensor._rebuild_from_type_v2") {  // a subclass's: its values alone, its attributes are its own affair
    if (a.size() < 3 || a[0].kind() != Kind::global || a[2].kind() != Kind::tuple || a[0].node()->text == name) return {};
    return call(a[0].node()->text, a[2]);
  }
  return {};
}

}  // namespace dyadic::inline v1::io
