// Reading a safetensors header. It comes from strangers: it is parsed as a stream, so that duplicate keys are seen and nesting
// costs no stack, and checked entry by entry.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_set>

#include "io/safetensors.h"

namespace dyadic::inline v1::io {
namespace {

struct Word {
  const char* name;
  DType dtype;
};
constexpr Word kWords[] = {{"F64", f64},
                           {"F32", f32},
                           {"F16", f16},
                           {"BF16", bf16},
                           {"I64", i64},
                           {"I32", i32},
                           {"I16", i16},
                           {"I8", i8},
                           {"U8", u8},
                           {"BOOL", boolean},
                           {"U16", u16},
                           {"U32", u32},
                           {"U64", u64},
                           {"C64", c64},
                           {"F8_E4M3", f8e4m3fn},
                           {"F8_E5M2", f8e5m2},
                           {"F8_E8M0", f8e8m0fnu},
                           {"F8_E4M3FNUZ", f8e4m3fnuz},
                           {"F8_E5M2FNUZ", f8e5m2fnuz},
                           {"F6_E2M3", f6e2m3fn},
                           {"F6_E3M2", f6e3m2fn},
                           {"F4", f4e2m1fn}};

std::string known_words() {
  std::string all;
  for (const Word& w : kWords) all += std::string(" ") + w.name;
  return all;
}

// Events of the JSON parser. Depth 0 is outside, 1 the header, 2 a tensor's object or the metadata, 3 a list.
class Events : public nlohmann::json_sax<nlohmann::json> {
  enum class Field { none, dtype, shape, offsets };
  const std::string& file_;
  Header& header_;
  std::unordered_set<std::string> names_;
  std::string metadata_key_;
  int depth_ = 0;
  bool in_metadata_ = false, had_metadata_ = false, started_ = false;
  Field field_ = Field::none;
  bool has_dtype_ = false, has_shape_ = false;
  std::vector<uint64_t> offsets_;
  bool has_offsets_ = false;

  Entry& entry() { return header_.entries.back(); }
  template <class... A> [[noreturn]] void wrong(fmt::format_string<A...> text, A&&... args) {
    std::string why = fmt::format(text, std::forward<A>(args)...);
    if (depth_ >= 2 && in_metadata_) bad(file_, "metadata: {}", why);
    if (depth_ >= 2 || (depth_ == 1 && !header_.entries.empty() && field_ != Field::none))
      bad(file_, "tensor {}: {}", quote_name(entry().name), why);
    bad(file_, "header: {}", why);
  }
  bool misplaced(const char* what) {
    if (depth_ == 0) wrong("it is {}, not an object", what);
    if (depth_ == 1) wrong("entry {} is {}, not an object", quote_name(in_metadata_ ? "__metadata__" : last_name()), what);
    if (in_metadata_) wrong("the value of {} is {}, not a text", quote_name(metadata_key_), what);
    wrong("{} is {}", field_name(), what);
  }
  std::string last_name() { return header_.entries.empty() ? "" : entry().name; }
  const char* field_name() const {
    return field_ == Field::dtype ? "dtype" : field_ == Field::shape ? "shape" : "data_offsets";
  }

 public:
  Events(const std::string& file, Header& header) : file_(file), header_(header) {}

  bool null() override { return misplaced("null"); }
  bool boolean(bool) override { return misplaced("true or false"); }
  bool number_integer(number_integer_t) override { return misplaced("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return misplaced("not a whole number"); }
  bool binary(binary_t&) override { return misplaced("binary"); }
  bool number_unsigned(number_unsigned_t v) override {
    if (depth_ != 3) return misplaced("a number");
    if (field_ == Field::shape) {
      if (v > uint64_t(std::numeric_limits<int64_t>::max())) wrong("shape: {} is too large", v);
      if (entry().shape.size() == kMaxDims) wrong("shape: more than {} dimensions", kMaxDims);
      entry().shape.push_back(int64_t(v));
    } else {
      if (offsets_.size() == 2) wrong("data_offsets: more than two numbers");
      offsets_.push_back(v);
    }
    return true;
  }
  bool string(string_t& s) override {
    if (depth_ == 2 && in_metadata_) {
      header_.metadata[metadata_key_] = s;
      return true;
    }
    if (depth_ != 2 || field_ != Field::dtype) return misplaced("a text");
    if (!dtype_of_file(s)) wrong("dtype {} is not one this version reads:{}", quote_name(s), known_words());
    entry().dtype = s;
    return true;
  }
  bool start_object(size_t) override {
    if (depth_ >= 2) return misplaced("an object");
    started_ = true;
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (depth_ == 2 && !in_metadata_) {
      if (!has_dtype_) wrong("dtype is missing");
      if (!has_shape_) wrong("shape is missing");
      if (!has_offsets_) wrong("data_offsets is missing");
    }
    --depth_;
    in_metadata_ = false;
    field_ = Field::none;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != 2 || in_metadata_ || field_ == Field::dtype) return misplaced("a list");
    ++depth_;
    return true;
  }
  bool end_array() override {
    if (field_ == Field::offsets) {
      if (offsets_.size() != 2) wrong("data_offsets: {} numbers, not two", offsets_.size());
      entry().begin = offsets_[0];
      entry().end = offsets_[1];
    }
    --depth_;
    return true;
  }
  bool key(string_t& k) override {
    if (depth_ == 1) return start_entry(k);
    if (in_metadata_) {
      if (header_.metadata.count(k)) wrong("the key {} is there twice", quote_name(k));
      metadata_key_ = k;
      return true;
    }
    bool* seen = nullptr;
    if (k == "dtype") field_ = Field::dtype, seen = &has_dtype_;
    if (k == "shape") field_ = Field::shape, seen = &has_shape_;
    if (k == "data_offsets") field_ = Field::offsets, seen = &has_offsets_;
    if (!seen) wrong("unknown field {}", quote_name(k));
    if (*seen) wrong("{} is there twice", field_name());
    return *seen = true;
  }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    bad(file_, "header: not JSON at byte {}", at + 8);
  }

 private:
  bool start_entry(const std::string& name) {
    in_metadata_ = name == "__metadata__";
    if (in_metadata_) {
      if (std::exchange(had_metadata_, true)) wrong("__metadata__ is there twice");
      return true;
    }
    if (!names_.insert(name).second) bad(file_, "tensor {}: the name is there twice", quote_name(name));
    header_.entries.push_back({name, {}, {}, 0, 0});
    offsets_.clear();
    has_dtype_ = has_shape_ = has_offsets_ = false;
    return true;
  }
};

// Bytes of the data by shape and dtype, overflow refused. A dimension of size 0 does not excuse the others.
uint64_t bytes_of(const Entry& e, const std::string& file) {
  int64_t extent = 1;
  bool empty = false;
  for (int64_t s : e.shape) {
    empty |= s == 0;
    if (__builtin_mul_overflow(extent, std::max<int64_t>(s, 1), &extent) || extent > int64_t(1) << 56)
      bad(file, "tensor {}: shape: too large, [{}]", quote_name(e.name), fmt::join(e.shape, ", "));
  }
  const DType d = dtype_of_file(e.dtype);
  const uint64_t bits = empty ? 0 : uint64_t(extent) * uint64_t(d.is_blocked() ? int64_t(d.bits()) : 8 * d.itemsize());
  if (bits % 8)
    bad(file, "tensor {}: {} [{}] is {} bits, no whole bytes", quote_name(e.name), e.dtype, fmt::join(e.shape, ", "), bits);
  return bits / 8;
}

void check_offsets(const Header& h, uint64_t data_bytes, const std::string& file) {
  std::vector<const Entry*> order;
  for (const Entry& e : h.entries) {
    if (e.begin > e.end || e.end > data_bytes)
      bad(file, "tensor {}: data_offsets [{}, {}] lie outside of the {} bytes of data", quote_name(e.name), e.begin, e.end,
          data_bytes);
    uint64_t want = bytes_of(e, file);
    if (e.end - e.begin != want)
      bad(file, "tensor {}: {} [{}] takes {} bytes, data_offsets [{}, {}] hold {}", quote_name(e.name), e.dtype,
          fmt::join(e.shape, ", "), want, e.begin, e.end, e.end - e.begin);
    order.push_back(&e);
  }
  std::sort(order.begin(), order.end(),
            [](const Entry* a, const Entry* b) { return std::tie(a->begin, a->end, a) < std::tie(b->begin, b->end, b); });
  uint64_t at = 0;
  for (const Entry* e : order) {
    if (e->begin < at)
      bad(file, "tensor {}: data_offsets [{}, {}] overlap another tensor's, which end at {}", quote_name(e->name), e->begin,
          e->end, at);
    if (e->begin > at) bad(file, "tensor {}: bytes {} to {} before it belong to no tensor", quote_name(e->name), at, e->begin);
    at = e->end;
  }
  if (at != data_bytes) bad(file, "data: the last {} of {} bytes belong to no tensor", data_bytes - at, data_bytes);
}

}  // namespace

std::string quote_name(std::string_view name) {
  constexpr size_t kMost = 120;
  std::string out = "\"";
  for (char c : name.substr(0, kMost)) {
    auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (u < 0x20 || u == 0x7f)
      out += fmt::format("\\x{:02x}", unsigned(u));
    else
      out += c;
  }
  return out + (name.size() > kMost ? "...\"" : "\"");
}

const char* file_dtype(DType d) {
  for (const Word& w : kWords)
    if (w.dtype == d) return w.name;
  return nullptr;
}
DType dtype_of_file(std::string_view name) {
  for (const Word& w : kWords)
    if (w.name == name) return w.dtype;
  return {};
}

uint64_t header_length(const unsigned char (&prefix)[8], uint64_t size, const std::string& file) {
  if (prefix[0] == 'P' && prefix[1] == 'K')
    bad(file,
        "a zip archive, as PyTorch's torch.save writes; this reads safetensors: convert it in Python, "
        "dyadic.save(dyadic.load(path), path)");
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | prefix[i];
  if (length > kMaxHeader) bad(file, "header: {} bytes long; the limit is {}", length, kMaxHeader);
  if (length > size - 8) bad(file, "header: {} bytes long, the file has {} behind its length", length, size - 8);
  return length;
}

Header parse_header(std::string_view text, uint64_t data_bytes, const std::string& file) {
  if (text.empty() || text[0] != '{') bad(file, "header: it does not begin with an opening brace");
  // The parser takes a NUL for the end of its input.
  if (size_t nul = text.find('\0'); nul != text.npos) bad(file, "header: not JSON at byte {}", nul + 8);
  Header h;
  Events events(file, h);
  nlohmann::json::sax_parse(text, &events);
  check_offsets(h, data_bytes, file);
  return h;
}

}  // namespace dyadic::inline v1::io
