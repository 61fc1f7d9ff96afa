// Which tensors a safetensors file holds: its arrays, those of them that together are scaled tensors (Note [Scaled tensors in
// files]), and names for what it holds under another one. Everything is checked against the header before anything is
// allocated.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "base/json.h"
#include "formats/packed.h"
#include "io/safetensors.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

using nlohmann::json;
constexpr int64_t kMost = int64_t(1) << 56;  // elements

class Reader {
  const std::string& file_;
  const Header& header_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<size_t, Item> scaled_;  // by the first of its entries
  std::vector<bool> plane_;

 public:
  Reader(const std::string& file, const Header& header) : file_(file), header_(header), plane_(header.entries.size()) {
    for (size_t i = 0; i < header.entries.size(); ++i) by_name_[header.entries[i].name] = i;
  }

  Layout read() {
    Layout out;
    if (!header_.metadata.contains(kFormatKey)) {
      out = plain(std::move(out));
      others_ties(out);
      return out;
    }
    if (auto it = header_.metadata.find(kScaledKey); it != header_.metadata.end())
      for (const json all = object(it->second, kScaledKey); auto& [name, what] : all.items()) scaled(name, what);
    out = plain(std::move(out));
    if (auto it = header_.metadata.find(kTiedKey); it != header_.metadata.end()) ties(out, object(it->second, kTiedKey));
    return out;
  }

 private:
  [[noreturn]] void wrong(const std::string& name, const std::string& why) const {
    bad(file_, "tensor {}: {}", quote_name(name), why);
  }

  Layout plain(Layout out) {
    for (size_t i = 0; i < header_.entries.size(); ++i) {
      if (auto it = scaled_.find(i); it != scaled_.end()) out.items.push_back(std::move(it->second));
      if (!plane_[i]) out.items.push_back({header_.entries[i].name, {i}, {}});
    }
    return out;
  }

  json object(const std::string& text, const char* key) const {
    json all = bounded_json(text, 8);
    if (all.is_discarded()) bad(file_, "metadata: {} is not JSON of the expected form", key);
    if (!all.is_object()) bad(file_, "metadata: {} is not an object", key);
    return all;
  }

  void ties(Layout& out, const json& all) const {
    std::unordered_map<std::string_view, size_t> items;
    for (size_t i = 0; i < out.items.size(); ++i) items[out.items[i].name] = i;
    for (auto& [name, kept] : all.items()) {
      if (items.contains(name) || by_name_.contains(name)) wrong(name, fmt::format("{} lists it, but it is there", kTiedKey));
      auto it = kept.is_string() ? items.find(kept.get_ref<const std::string&>()) : items.end();
      if (it == items.end()) wrong(name, fmt::format("what {} says it is tied to is not there", kTiedKey));
      out.ties.push_back({name, it->second});
    }
  }

  // safetensors.torch.save_model leaves the second name out and says {"head.weight": "embed.weight"} among other metadata.
  void others_ties(Layout& out) const {
    std::unordered_map<std::string_view, size_t> items;
    for (size_t i = 0; i < out.items.size(); ++i) items[out.items[i].name] = i;
    for (auto& [name, kept] : header_.metadata) {
      auto it = items.find(kept);
      if (it != items.end() && name.find('.') != name.npos && !items.contains(name)) out.ties.push_back({name, it->second});
    }
  }

  std::vector<int64_t> list(const std::string& name, const json& what, const char* key) const {
    std::vector<int64_t> out;
    auto it = what.find(key);
    if (it == what.end() || !it->is_array()) wrong(name, fmt::format("the list {} is missing in {}", key, kScaledKey));
    for (const json& v : *it) {
      if (!v.is_number_integer() || v > kMost || v < 0) wrong(name, fmt::format("{} holds something that is no size", key));
      out.push_back(v.get<int64_t>());
    }
    if (out.size() > kMaxDims) wrong(name, fmt::format("{}: more than {} dimensions", key, kMaxDims));
    return out;
  }
  int64_t count(const std::string& name, const json& what, const char* key) const {
    auto it = what.find(key);
    if (it == what.end() || !it->is_number_integer() || *it < 0 || *it > kMost)
      wrong(name, fmt::format("{} is missing or no size in {}", key, kScaledKey));
    return it->get<int64_t>();
  }

  void scaled(const std::string& name, const json& what) {
    if (!what.is_object()) wrong(name, fmt::format("its entry of {} is not an object", kScaledKey));
    auto text = what.find("dtype");
    if (text == what.end() || !text->is_string()) wrong(name, fmt::format("dtype is missing in {}", kScaledKey));
    if (by_name_.count(name)) wrong(name, "it is both a plain and a scaled tensor");
    Item item{name, {}, Scaled{}};
    item.scaled->geometry = {count(name, what, "rows"), count(name, what, "cols")};
    const std::vector<int64_t> shape = list(name, what, "shape");
    try {
      item.scaled->dtype = DType::parse(text->get<std::string>());
      if (!item.scaled->dtype.is_blocked()) wrong(name, fmt::format("{} is not a blocked dtype", item.scaled->dtype.name()));
      find_planes(item);
      view(name, *item.scaled, shape, what.contains("permute") ? std::optional(list(name, what, "permute")) : std::nullopt);
    } catch (const BadFile&) { throw; } catch (const OutOfMemoryError&) {
      throw;
    } catch (const Error& e) {  // the dtype's text, sizes its blocks don't allow
      wrong(name, e.what());
    }
    const size_t first = *std::min_element(item.entries.begin(), item.entries.end());
    scaled_.emplace(first, std::move(item));
  }

  // Nothing will be allocated that the file does not fill.
  void find_planes(Item& item) {
    const std::string& name = item.name;
    const auto [rows, cols] = item.scaled->geometry;
    int64_t numel;
    if (__builtin_mul_overflow(std::max<int64_t>(rows, 1), std::max<int64_t>(cols, 1), &numel) || numel > kMost)
      wrong(name, "rows times cols is too large");
    // make_tensor's own geometry has no rows where a row is empty.
    if (cols == 0 && rows != 0) wrong(name, "rows of no elements");
    const DType d = item.scaled->dtype;
    const PlaneList planes = planes_of(*d.format(), {rows, cols});
    for (int k = 0; k < planes.count; ++k) {
      const Plane& p = planes.plane[size_t(k)];
      auto it = by_name_.find(name + "." + p.name);
      if (it == by_name_.end()) wrong(name, fmt::format("its {} are missing", p.name));
      const Entry& e = header_.entries[it->second];
      const int64_t n = p.bytes / p.dtype->itemsize();
      if (dtype_of_file(e.dtype).format() != p.dtype || e.shape.size() != 1 || e.shape[0] != n)
        wrong(name, fmt::format("its {} are {} [{}]; {} [{}, {}] has {} [{}]", p.name, e.dtype, fmt::join(e.shape, ", "),
                                d.name(), rows, cols, file_dtype(DType(p.dtype)), n));
      if (plane_[it->second]) wrong(name, fmt::format("its {} belong to another tensor too", p.name));
      plane_[it->second] = true;
      item.entries.push_back(it->second);
    }
  }

  void view(const std::string& name, Scaled& s, const std::vector<int64_t>& shape,
            const std::optional<std::vector<int64_t>>& permute) const {
    int64_t n = 1;
    std::vector<int64_t> strides(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
      strides[d] = n;
      if (__builtin_mul_overflow(n, std::max<int64_t>(shape[d], 1), &n) || n > kMost) wrong(name, "shape: too large");
    }
    for (int64_t size : shape) n = size ? n : 0;
    if (n != s.geometry.numel())
      wrong(name, fmt::format("shape [{}] does not make {} elements", fmt::join(shape, ", "), s.geometry.numel()));
    s.shape = shape;
    s.strides = strides;
    if (!permute) return;
    std::vector<bool> used(shape.size());
    const auto refuse = [&] { wrong(name, fmt::format("permute [{}] is no permutation", fmt::join(*permute, ", "))); };
    if (permute->size() != shape.size()) refuse();
    for (size_t k = 0; k < permute->size(); ++k) {
      const auto d = size_t((*permute)[k]);
      if (d >= shape.size() || used[d]) refuse();
      used[d] = true;
      s.shape[k] = shape[d];
      s.strides[k] = strides[d];
    }
    s.permuted = true;
  }
};

}  // namespace

Layout layout_of(const Header& header, const std::string& file) { return Reader(file, header).read(); }

Tensor storage_of(const Scaled& s) {
  Tensor t = make_tensor({s.geometry.rows, s.geometry.cols}, s.dtype, cpu);
  const int64_t bytes = planes_of(*s.dtype.format(), s.geometry).buffer_bytes;
  if (bytes > 0) std::memset(t.impl()->storage->data, 0, size_t(bytes));  // gaps between planes too: same bits always
  return t;
}

Tensor seen_as_saved(const Scaled& s, const Tensor& storage) { return make_view(storage, s.shape, s.strides, 0); }

void check_version(const Header& h, const std::string& file) {
  auto it = h.metadata.find(kFormatKey);
  if (it == h.metadata.end()) return;
  const std::string& v = it->second;
  int version = 0;
  auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), version);
  if (error != std::errc() || end != v.data() + v.size() || version < 1)
    bad(file, "metadata: {} is {}, not a version", kFormatKey, quote_name(v));
  if (version > kFormatVersion)
    fail<ValueError>("{}: written by a newer version: its format is {}, this one reads up to {}; update Dyadic", file, version,
                     kFormatVersion);
}

void check_bool(std::string_view name, std::string_view data, const std::string& file) {
  for (size_t i = 0; i < data.size(); ++i)
    if (static_cast<unsigned char>(data[i]) > 1)
      bad(file, "tensor {}: BOOL byte {} is {}, neither 0 nor 1", quote_name(name), i, static_cast<unsigned char>(data[i]));
}

}  // namespace dyadic::inline v1::io
