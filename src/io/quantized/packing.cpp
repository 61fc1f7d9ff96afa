// What the packings share: finding a weight's pieces, checking them, and a file that shows weights in their place.
#include "io/quantized/packing.h"

#include <algorithm>
#include <cstring>

#include "base/json.h"
#include "dyadic/planes.h"
#include "formats/packed.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

const Packing* const kPackings[] = {
    &bitsandbytes_packing,       &gptq_packing, &awq_packing,     &fp8_packing,    &fbgemm_fp8_packing, &mxfp4_packing,
    &compressed_tensors_packing, &mlx_packing,  &torchao_packing, &bitnet_packing, &auto_round_packing};

class UnpackedFile final : public TensorFile {
  std::shared_ptr<const TensorFile> file_;
  std::unique_ptr<const Names> names_;
  std::vector<PackedWeight> weights_;
  std::vector<TensorInfo> tensors_;
  struct Place {
    bool packed;
    size_t number;  // of weights_, or of the file's tensors
  };
  std::vector<Place> places_;
  std::vector<size_t> same_;

 public:
  UnpackedFile(std::shared_ptr<const TensorFile> file, std::unique_ptr<const Names> names, std::vector<PackedWeight> weights)
      : TensorFile(file->path()), file_(std::move(file)), names_(std::move(names)), weights_(std::move(weights)) {
    constexpr size_t kPlain = SIZE_MAX, kPart = SIZE_MAX - 1;
    const std::vector<TensorInfo>& all = file_->tensors();
    std::vector<size_t> role(all.size(), kPlain);
    for (size_t w = 0; w < weights_.size(); ++w)
      for (size_t part : weights_[w].parts) {
        if (role[part] != kPlain) bad(path(), "tensor {}: two weights have it", quote_name(all[part].name));
        role[part] = part == weights_[w].parts[0] ? w : kPart;
      }
    std::vector<size_t> where(all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      where[i] = tensors_.size();
      if (role[i] == kPart) continue;
      const bool packed = role[i] != kPlain;
      const size_t first = file_->same_as(i);
      same_.push_back(!packed && first < i && role[first] == kPlain ? where[first] : tensors_.size());
      tensors_.push_back(packed ? weights_[role[i]].info : all[i]);
      places_.push_back({packed, packed ? role[i] : i});
    }
    std::vector<std::string_view> shown;
    for (const TensorInfo& t : tensors_) shown.push_back(t.name);
    std::ranges::sort(shown);
    if (auto twice = std::ranges::adjacent_find(shown); twice != shown.end())
      bad(path(), "weight {}: it is there twice, packed and plain", quote_name(*twice));
  }
  std::string_view kind() const override { return file_->kind(); }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  std::string metadata() const override { return file_->metadata(); }
  size_t same_as(size_t i) const override { return same_.at(i); }
  Tensor get(size_t i) const override {
    DY_CHECK_AS(IndexError, i < places_.size(), "{}: tensor {} of {}", path(), i, places_.size());
    const Place p = places_[i];
    return p.packed ? weights_[p.number].read() : file_->get(p.number);
  }
  const std::shared_ptr<const TensorFile>& file() const { return file_; }
  BesideWeights beside() const {
    BesideWeights all;
    for (const PackedWeight& w : weights_)
      for (size_t part : w.beside) all[w.info.name].emplace_back(file_->tensors()[part].name, file_->get(part));
    return all;
  }
};

// Codes would be taken for numbers.
void check_scaled(const TensorFile& file, const std::string& method) {
  for (const TensorInfo& t : file.tensors()) {
    const bool codes = t.dtype && (t.dtype.is_integer() || (!t.dtype.is_blocked() && t.dtype.bits() == 8));
    DY_CHECK_AS(ValueError, !codes || !t.name.ends_with("weight"),
                "{}: tensor {}: config.json says that it is quantized by {}, and its scales are not there", file.path(),
                quote_name(t.name), method);
  }
}

const Packing* packing_of(const json& config) {
  const std::string method = config.is_object() ? quantization_method(config) : "";
  const auto it = std::ranges::find_if(kPackings, [&](const Packing* p) { return method == p->method; });
  return it == std::end(kPackings) ? nullptr : *it;
}

// What a packing makes of weights. Shapes are known once they are made, so that each is made twice; at most one's tensors stay.
class WrittenFile final : public TensorFile {
  std::shared_ptr<const TensorFile> weights_;
  const Packing& packing_;
  const json config_;
  const BesideWeights beside_;
  std::vector<TensorInfo> tensors_;
  struct Place {
    size_t weight, part;  // SIZE_MAX: the weight as it is
  };
  std::vector<Place> places_;
  mutable size_t held_ = SIZE_MAX;
  mutable NamedTensors parts_;  // of weight held_

 public:
  bool whole = true, any = false;  // there is a place for all; it has weights with scales

  WrittenFile(std::shared_ptr<const TensorFile> weights, const Packing& packing, json config, const BesideWeights& beside)
      : TensorFile(weights->path()),
        weights_(std::move(weights)),
        packing_(packing),
        config_(std::move(config)),
        beside_(beside) {
    for (size_t i = 0; i < weights_->tensors().size() && whole; ++i) {
      const TensorInfo& t = weights_->tensors()[i];
      if (!t.dtype || !t.dtype.is_scaled()) {
        tensors_.push_back(t), places_.push_back({i, SIZE_MAX});
        continue;
      }
      const NamedTensors& parts = parts_of(i);
      any = true, whole = !parts.empty();
      for (size_t k = 0; k < parts.size(); ++k) {
        const auto& [name, part] = parts[k];
        tensors_.push_back({name, part.dtype(), part.dtype().name(), part.sizes().vec(), uint64_t(part.nbytes())});
        places_.push_back({i, k});
      }
    }
  }
  std::string_view kind() const override { return weights_->kind(); }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  std::string metadata() const override { return weights_->metadata(); }
  size_t same_as(size_t i) const override {
    const size_t w = places_[i].weight, first = weights_->same_as(w);
    if (first == w || places_[i].part != SIZE_MAX) return i;
    for (size_t k = 0; k < i; ++k)
      if (places_[k].weight == first) return k;
    return i;
  }
  Tensor get(size_t i) const override {
    const Place p = places_.at(i);
    return p.part == SIZE_MAX ? weights_->get(p.weight) : parts_of(p.weight)[p.part].second;
  }

 private:
  const NamedTensors& parts_of(size_t i) const {
    if (held_ == i) return parts_;
    const std::string& name = weights_->tensors()[i].name;
    const auto at = beside_.find(name);
    const NamedTensors& beside = at == beside_.end() ? NamedTensors() : at->second;
    parts_ = packing_.pack(name, weights_->get(i), config_, beside);
    for (const auto& own : beside)  // those that packing did not take for its own
      if (!parts_.empty() && std::ranges::none_of(parts_, [&](auto& part) { return part.first == own.first; }))
        parts_.push_back(own);
    held_ = i;
    return parts_;
  }
};

}  // namespace

std::shared_ptr<TensorFile> unpacked(std::shared_ptr<const TensorFile> file, const json& config) {
  if (is_unpacked(*file)) return nullptr;
  check_packing(file->path(), config);
  const std::string method = quantization_method(config);
  auto names = std::make_unique<const Names>(*file);
  std::vector<PackedWeight> weights = packing_of(config)->find(*names, config);
  if (weights.empty()) return check_scaled(*file, method), nullptr;
  const auto made = std::make_shared<UnpackedFile>(std::move(file), std::move(names), std::move(weights));
  check_scaled(*made, method);
  return made;
}
bool is_unpacked(const TensorFile& file) { return dynamic_cast<const UnpackedFile*>(&file); }
void check_packing(const std::string& path, const json& config) {
  if (packing_of(config)) return;
  const std::string method = config.is_object() ? quantization_method(config) : "";
  std::vector<std::string> known;
  for (const Packing* p : kPackings) known.push_back(p->method);
  throw ValueError(
      fmt::format("{}: config.json says that the weights are quantized by {}; what is read is {}, and plain weights", path,
                  method.empty() ? "a method without a name" : quote_name(method), fmt::join(known, ", ")));
}
BesideWeights beside_weights(const TensorFile& weights) {
  const auto* file = dynamic_cast<const UnpackedFile*>(&weights);
  return file ? file->beside() : BesideWeights();
}
std::shared_ptr<const TensorFile> packed(std::shared_ptr<const TensorFile> weights, const json& config,
                                         const BesideWeights& beside) {
  if (const auto* file = dynamic_cast<const UnpackedFile*>(weights.get())) return file->file();
  const Packing* p = packing_of(config);
  if (!p || !p->pack) return nullptr;
  auto made = std::make_shared<WrittenFile>(std::move(weights), *p, config, beside);
  return made->any && made->whole ? made : nullptr;
}

json quantization_for(const std::string& method, const NamedTensors& weights) {
  std::vector<std::string> known;
  for (const Packing* p : kPackings)
    if (p->describe) known.push_back(p->method);
  DY_CHECK_AS(ValueError, std::ranges::count(known, method), "packing {} is none of {}", quote_name(method),
              fmt::join(known, ", "));
  DType dtype;
  for (auto& [name, t] : weights) {
    if (!t.dtype().is_scaled()) continue;
    DY_CHECK_AS(ValueError, !dtype || dtype == t.dtype(), "packing {}: weights are of {} and of {}; it has one for all", method,
                dtype.name(), t.dtype().name());
    dtype = t.dtype();
  }
  DY_CHECK_AS(ValueError, dtype, "packing {}: no weight has scales; quantize the model first", method);
  json made = packing_of({{"quant_method", method}})->describe(dtype);
  DY_CHECK_AS(ValueError, !made.is_null(), "packing {}: it has no place for {}", method, dtype.name());
  made["quant_method"] = method;
  return made;
}
static constexpr const char* kQuantizationKeys[] = {"quantization_config", "quantization"};

json quantization_of(const json& config) {
  if (!config.is_object()) return nullptr;
  for (const char* key : kQuantizationKeys)
    if (config.contains(key) && !config[key].is_null()) return config[key];
  return config.contains("text_config") ? quantization_of(config["text_config"]) : nullptr;
}

void forget_quantization(json& config) {
  if (!config.is_object()) return;
  for (const char* key : kQuantizationKeys) config.erase(key);
  if (config.contains("text_config")) forget_quantization(config["text_config"]);
}

Names::Names(const TensorFile& file) : file(file) {
  for (size_t i = 0; i < file.tensors().size(); ++i) numbers[file.tensors()[i].name] = i;
}
std::vector<std::string> Names::before(std::string_view ending) const {
  std::vector<std::string> stems;
  for (const TensorInfo& t : file.tensors())
    if (t.name.ends_with(ending)) stems.push_back(t.name.substr(0, t.name.size() - ending.size()));
  return stems;
}

void Names::add_part(PackedWeight& weight, std::string_view ending) const {
  constexpr std::string_view kWeight = ".weight";
  if (!weight.info.name.ends_with(kWeight)) return;
  const std::string module = weight.info.name.substr(0, weight.info.name.size() - kWeight.size());
  if (const auto it = numbers.find(module + std::string(ending)); it != numbers.end())
    weight.parts.push_back(it->second), weight.beside.push_back(it->second);
}

size_t Pieces::take(std::string_view ending, std::initializer_list<DType> dtypes) {
  const auto it = names_.numbers.find(stem_ + std::string(ending));
  if (it == names_.numbers.end()) refuse("{} is missing", quote_name(stem_ + std::string(ending)));
  const TensorInfo& t = info(it->second);
  if (!std::ranges::count(dtypes, t.dtype)) {
    std::vector<std::string> names;
    for (DType d : dtypes) names.push_back(d.name());
    refuse("{}: expected {}, and it is {}", quote_name(t.name), fmt::join(names, " or "), t.stored);
  }
  parts_.push_back(it->second);
  return it->second;
}
void Pieces::check_shape(size_t number, std::vector<int64_t> shape) const {
  const std::vector<int64_t>& is = info(number).shape;
  bool same = is.size() == shape.size();
  for (size_t d = 0; same && d < is.size(); ++d) same = shape[d] < 0 || shape[d] == is[d];
  std::vector<std::string> sizes;
  for (int64_t n : shape) sizes.push_back(n < 0 ? "n" : std::to_string(n));
  if (!same) refuse("{}: expected [{}], and it is {}", quote_name(info(number).name), fmt::join(sizes, ", "), shape_text(is));
}
void Pieces::check_count(size_t number, int64_t elements) const {
  const std::vector<int64_t>& is = info(number).shape;
  if (checked_numel("tensor", is) != elements)
    refuse("{}: expected {} elements, and it is {}", quote_name(info(number).name), elements, shape_text(is));
}
PackedWeight Pieces::weight(const std::string& ending, DType dtype, std::vector<int64_t> shape,
                            std::function<Tensor()> read) const {
  uint64_t bytes = 0;
  for (size_t part : parts_) bytes += info(part).bytes;
  return {{stem_ + ending, dtype, dtype.name(), std::move(shape), bytes}, parts_, std::move(read)};
}

Filling::Filling(IntList shape, DType dtype) : tensor(make_tensor(shape, dtype, cpu)) {
  const Storage& s = *tensor.impl()->storage;
  list_ = planes_of(*dtype.format(), s.geometry);
  for (int k = 0; k < list_.count; ++k) {  // what lies behind each plane
    const Plane& p = list_.plane[size_t(k)];
    const int64_t end = p.offset + p.bytes, next = k + 1 < list_.count ? list_.plane[size_t(k) + 1].offset : list_.buffer_bytes;
    std::memset(static_cast<char*>(s.data) + end, 0, size_t(next - end));
  }
}
void* Filling::plane(std::string_view name) const {
  for (int k = 0; k < list_.count; ++k)
    if (name == list_.plane[size_t(k)].name)
      return static_cast<char*>(tensor.impl()->storage->data) + list_.plane[size_t(k)].offset;
  fail("{} has no plane {}", tensor.dtype().name(), name);
}

Tensor plane_of(const Tensor& t, std::string_view name) {
  for (auto& [plane, data] : planes(t))
    if (plane == name) return data;
  return {};
}
std::string beside(const std::string& weight, std::string_view name) {
  return weight.substr(0, weight.size() - std::string_view("weight").size()) + std::string(name);
}

bool is_integer_in(const json& v, int64_t least, int64_t most) {
  const bool fits = v.is_number_integer() && (!v.is_number_unsigned() || v.get<uint64_t>() <= uint64_t(INT64_MAX));
  return fits && v.get<int64_t>() >= least && v.get<int64_t>() <= most;
}
int64_t integer_of(const json& config, const char* key, int64_t otherwise, int64_t least, int64_t most) {
  if (!config.contains(key) || config[key].is_null()) return otherwise;
  const json& v = config[key];
  DY_CHECK_AS(ValueError, is_integer_in(v, least, most), "config.json: quantization_config: {} is {}", key,
              v.is_structured() ? "no number" : dump_json(v, -1, NotUtf8::replaced).substr(0, 40));
  return v.get<int64_t>();
}
std::string word_of(const json& config, const char* key, const std::string& otherwise) {
  return config.contains(key) && config[key].is_string() ? config[key].get<std::string>() : otherwise;
}
bool flag_of(const json& config, const char* key, bool otherwise) {
  return config.contains(key) && config[key].is_boolean() ? config[key].get<bool>() : otherwise;
}

}  // namespace dyadic::inline v1::io
