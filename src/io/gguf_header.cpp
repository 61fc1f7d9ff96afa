// Reading all of a GGUF file but values and data. It comes from strangers: a count is believed only as far as the bytes that
// are left can hold it, and every value is passed over within bounds, so that it can be read later.
#include <algorithm>
#include <limits>
#include <unordered_set>

#include "io/gguf.h"

namespace dyadic::inline v1::io {
namespace {

constexpr uint64_t kLeastKey = 8 + 4 + 1, kLeastTensor = 8 + 4 + 4 + 8;  // bytes

class Parser {
  const std::string& file_;
  std::string_view bytes_;
  GgufCursor at_;
  GgufHeader header_;
  std::unordered_set<std::string_view> names_;

 public:
  Parser(std::string_view bytes, const std::string& file) : file_(file), bytes_(bytes), at_(bytes, file) {}

  GgufHeader parse() {
    if (bytes_.size() < 4 || at_.number<uint32_t>() != kGgufMagic) bad(file_, "header: it does not begin with \"GGUF\"");
    version();
    const auto tensors = at_.number<uint64_t>(), keys = at_.number<uint64_t>();
    if (keys > at_.left() / kLeastKey) at_.wrong("{} keys do not fit into the {} bytes that are left", keys, at_.left());
    for (uint64_t i = 0; i < keys; ++i) key();
    alignment();
    at_.enter("header", {});
    if (tensors > at_.left() / kLeastTensor)
      at_.wrong("{} tensors do not fit into the {} bytes that are left", tensors, at_.left());
    names_.clear();
    for (uint64_t i = 0; i < tensors; ++i) tensor();
    place();
    return std::move(header_);
  }

 private:
  void version() {
    const auto v = header_.version = at_.number<uint32_t>();
    if (v == 2 || v == 3) return;
    const uint32_t swapped = __builtin_bswap32(v);
    if (swapped > 0 && swapped < 16) bad(file_, "header: it is big-endian; only little-endian files are read");
    if (v == 1) bad(file_, "header: version 1, which llama.cpp gave up in 2023; versions 2 and 3 are read: convert it anew");
    bad(file_, "header: version {}; versions 2 and 3 are read", v);
  }

  GgufType type() {
    const auto t = at_.number<uint32_t>();
    if (t > uint32_t(GgufType::f64)) at_.wrong("type {} of a value is not known", t);
    return GgufType(t);
  }

  void key() {
    const std::string_view name = at_.text(kMaxGgufName);
    at_.enter("key", name);
    if (!names_.insert(name).second) at_.wrong("it is there twice");
    GgufKey k{std::string(name), type(), {}, 1, 0};
    k.of = k.type;
    if (k.type == GgufType::array) {
      k.of = type();
      k.count = at_.number<uint64_t>();
    }
    k.offset = at_.at();
    pass(k.of, k.count, k.type == GgufType::array);
    if (k.type == GgufType::boolean && uint8_t(bytes_[k.offset]) > 1)
      at_.wrong("a bool of {}, neither 0 nor 1", uint8_t(bytes_[k.offset]));
    header_.keys.push_back(std::move(k));
  }
  void pass(GgufType of, uint64_t count, bool may_nest) {
    const uint64_t least = gguf_least_bytes(of);
    if (count > at_.left() / least)
      at_.wrong("{} values of type {} do not fit into the {} bytes that are left", count, gguf_type_name(of), at_.left());
    if (of == GgufType::string) {
      for (uint64_t i = 0; i < count; ++i) at_.text();
    } else if (of != GgufType::array) {
      at_.skip(count * least);
    } else {
      if (!may_nest) at_.wrong("arrays nest more than one deep");
      for (uint64_t i = 0; i < count; ++i) {
        const GgufType inner = type();
        pass(inner, at_.number<uint64_t>(), false);
      }
    }
  }

  void alignment() {
    for (const GgufKey& k : header_.keys) {
      if (k.name != kAlignmentKey) continue;
      GgufCursor value(bytes_, file_, k.offset);
      value.enter("key", k.name);
      if (k.type != GgufType::u32) value.wrong("it is a {}, not a uint32", gguf_type_name(k.type));
      const auto v = value.number<uint32_t>();
      if (!std::has_single_bit(v)) value.wrong("{} is not a power of two", v);
      header_.alignment = v;
    }
  }

  void tensor() {
    const std::string_view name = at_.text(kMaxGgufName);
    at_.enter("tensor", name);
    if (!names_.insert(name).second) at_.wrong("the name is there twice");
    GgufTensor t;
    t.name = name;
    const auto dims = at_.number<uint32_t>();
    if (dims > uint32_t(kMaxDims)) at_.wrong("{} dimensions; {} is the most", dims, int(kMaxDims));
    for (uint32_t d = 0; d < dims; ++d) {
      const auto size = at_.number<uint64_t>();
      if (size > uint64_t(std::numeric_limits<int64_t>::max())) at_.wrong("a dimension of {} is too large", size);
      t.shape.push_back(int64_t(size));
    }
    std::reverse(t.shape.begin(), t.shape.end());
    t.type = at_.number<uint32_t>();
    measure(t);
    t.offset = at_.number<uint64_t>();
    if (t.offset % header_.alignment) at_.wrong("its offset {} is not a multiple of {}", t.offset, header_.alignment);
    header_.tensors.push_back(std::move(t));
  }
  // A dimension of size 0 does not excuse the others.
  void measure(GgufTensor& t) {
    int64_t n = 1;
    bool empty = false;
    for (int64_t s : t.shape) {
      empty |= s == 0;
      if (__builtin_mul_overflow(n, std::max<int64_t>(s, 1), &n) || n > int64_t(1) << 56)
        at_.wrong("its shape [{}] is too large", fmt::join(t.shape, ", "));
    }
    const GgmlType* type = find_ggml_type(t.type);
    if (!type || !type->elements) return;
    const int64_t row = t.shape.empty() ? 1 : t.shape.back();
    if (row % type->elements)
      at_.wrong("rows of {} are whole blocks of {}: the last dimension is {}", type->name, type->elements, row);
    t.bytes = empty ? 0 : uint64_t(n) / type->elements * type->bytes;
  }

  void place() {
    const uint64_t mask = header_.alignment - 1, begin = (at_.at() + mask) & ~mask;
    std::vector<const GgufTensor*> order;
    for (GgufTensor& t : header_.tensors) {
      const uint64_t room = bytes_.size() > begin ? bytes_.size() - begin : 0;
      if (t.offset > room || t.bytes > room - t.offset)
        bad(file_, "tensor {}: its {} bytes lie at {} of the data, which has {} from byte {} on", quote_name(t.name), t.bytes,
            t.offset, room, begin);
      t.offset += begin;
      if (t.bytes) order.push_back(&t);
    }
    std::sort(order.begin(), order.end(), [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
    for (size_t i = 1; i < order.size(); ++i) {
      const GgufTensor &a = *order[i - 1], &b = *order[i];
      if (b.offset < a.offset + a.bytes)
        bad(file_, "tensor {}: it begins at byte {}, within tensor {}, which ends at {}", quote_name(b.name), b.offset,
            quote_name(a.name), a.offset + a.bytes);
    }
  }
};

}  // namespace

GgufHeader parse_gguf(std::string_view bytes, const std::string& file) { return Parser(bytes, file).parse(); }

}  // namespace dyadic::inline v1::io
