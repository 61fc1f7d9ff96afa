// A module's tensors as llama.cpp reads them from a GGUF file.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/log.h"
#include "base/pattern.h"
#include "dyadic/numbers.h"
#include "io/bad_file.h"
#include "io/gguf.h"
#include "models/gguf/files.h"
#include "models/gguf/names.h"
#include "models/gguf/rows.h"
#include "models/rope.h"

namespace dyadic::inline v1::models {
namespace {

using io::TensorInfo;

// Tensors that the configuration's ways of stretching positions become: divisors, one for each pair that is turned.
io::NamedTensors rope_tensors(const Config& c, const Architecture& a) {
  const json rope = c.rope();
  const int64_t width = c.size("hidden_size"), heads = c.size("num_attention_heads");
  const int64_t head_dim = c.size("head_dim", a.head_dim ? a.head_dim : std::max<int64_t>(width / heads, 1));
  const auto tensor = [](const std::vector<float>& v) { return from_data(v.data(), {int64_t(v.size())}, f32); };
  const std::string type = rope["rope_type"].get<std::string>();
  if (type == "llama3") {
    const std::vector<float> speeds = Rope(rope, head_dim, c.size("max_position_embeddings", 2048)).speeds(1);
    std::vector<float> divisors;
    for (size_t i = 0; i < speeds.size(); ++i)
      divisors.push_back(
          float(1 / std::pow(real_of(rope, "rope_theta"), double(i) / double(speeds.size())) / double(speeds[i])));
    return {{"rope_freqs.weight", tensor(divisors)}};
  }
  if (type != "longrope") return {};
  const Rope checked(rope, head_dim, c.size("max_position_embeddings", 2048));
  return {{"rope_factors_long.weight", tensor(rope["long_factor"].get<std::vector<float>>())},
          {"rope_factors_short.weight", tensor(rope["short_factor"].get<std::vector<float>>())}};
}

// What llama.cpp reads as f32 alone: all of one dimension, biases, what chooses experts, and small tables.
bool is_wide(const TensorInfo& t) {
  const std::string_view name = t.name;
  return t.shape.size() < 2 || name.ends_with(".bias") || name.ends_with("_norm.weight") || name == "position_embd.weight" ||
         name == "token_types.weight" || name.ends_with("ssm_conv1d.weight") || name.find("ffn_gate_inp") != name.npos;
}

constexpr int64_t kNvfp4Block = 64;

class GgufNames final : public io::TensorFile, public io::GgufSource {
  struct Made {
    const Form* form;
    std::vector<size_t> from;  // several: experts
    bool second = false;       // of a form's two
    bool stacked = false;      // experts, `first` of which was found first
    size_t first = 0;
    bool scale = false;  // the scale of the whole alone, of each expert
    Tensor ready = {};   // of the configuration's
  };
  std::shared_ptr<const io::TensorFile> file_;
  io::GgufMetadata keys_;
  Dims dims_;
  std::vector<Made> made_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::string> wide_, renamed_;

 public:
  GgufNames(std::shared_ptr<const io::TensorFile> file, const Config& c, io::GgufMetadata keys)
      : TensorFile(file->path()), file_(std::move(file)), keys_(std::move(keys)), dims_(c) {
    const Architecture& a = *find_architecture_of(c.model_type());
    const bool tied = c.flag("tie_word_embeddings", a.tied);
    const int64_t layers = c.integer("num_hidden_layers", INT64_MAX);
    std::map<std::string, size_t> experts;
    size_t others = 0;
    bool last = false;
    std::string first;
    const auto& all = file_->tensors();
    for (size_t i = 0; i < all.size(); ++i) {
      const auto n = of_own(a, all[i].name);
      if (!n || n->layer >= layers) {  // the latter guess several tokens ahead
        if (others++ == 0) first = all[i].name;
      } else if (file_->same_as(i) == i && !(tied && n->own == "lm_head.weight")) {
        last |= n->last;
        if (const std::string own = n->whole_name(); own != all[i].name) renamed_.insert(renamed_.end(), {own, all[i].name});
        add(*n, i, experts);
      }
    }
    if (last) keys_.emplace_back(kOtherNames, true);
    if (!renamed_.empty()) keys_.emplace_back(kNamesKey, io::GgufArray(renamed_));
    if (!wide_.empty() && c.half()) keys_.emplace_back(kWideKey, io::GgufArray(wide_));
    if (others)
      warn(fmt::format("{}: {} tensors are no part of the text model and were passed by: {}{}", path(), others,
                       io::quote_name(first), others > 1 ? ", ..." : ""));
    check_experts(experts);
    take_scales_out();
    for (auto& [name, t] : a.made ? a.made(c) : a.decoder ? rope_tensors(c, a) : io::NamedTensors()) {
      made_.push_back({.form = nullptr, .ready = t});
      tensors_.push_back({name, f32, "F32", t.sizes().vec(), uint64_t(t.nbytes())});
    }
  }
  std::string_view kind() const override { return file_->kind(); }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  io::GgufMetadata values() const override { return keys_; }
  Tensor get(size_t i) const override {
    const NoGrad guard;
    const Made& m = made_.at(i);
    if (m.ready.defined()) return m.ready;
    if (m.scale) return scales(m, tensors_[i].shape[0]);
    const DType dtype = tensors_[i].dtype;
    std::vector<Tensor> all;
    for (size_t from : m.from) {
      Tensor t = file_->get(from);
      if (m.form) t = (m.second ? m.form->put_second : m.form->put)(m.form->ready(t), dims_);
      if (t.dtype() != dtype) t = t.to(dtype);
      all.push_back(dtype == nvfp4 ? with_whole_scale(t, 1) : t);
    }
    return m.stacked ? stack_rows(all) : all[0];
  }

 private:
  // NVFP4 in GGUF has no scale of the whole: llama.cpp multiplies by a tensor beside it.
  void take_scales_out() {
    size_t decoded = 0;
    for (size_t i = 0, n = made_.size(); i < n; ++i) {
      if (tensors_[i].dtype != nvfp4) continue;
      if (tensors_[i].shape.back() % kNvfp4Block) {
        tensors_[i].own = nvfp4, tensors_[i].dtype = f32, ++decoded;
        continue;
      }
      const int64_t each = tensors_[i].shape.size() == 3 ? tensors_[i].shape[0] : 1;
      std::string name = tensors_[i].name;
      name.replace(name.rfind(".weight"), name.npos, ".scale");
      made_.push_back({.form = nullptr, .from = made_[i].from, .scale = true});
      tensors_.push_back({name, f32, "F32", {each}, uint64_t(4 * each)});
    }
    if (decoded)
      warn(fmt::format("{}: {} tensors of NVFP4 become f32: GGUF has it in rows of whole blocks of {}", path(), decoded,
                       kNvfp4Block));
  }
  Tensor scales(const Made& m, int64_t n) const {
    std::vector<float> all;
    for (size_t from : m.from) all.push_back(whole_scale(file_->get(from)));
    all.resize(size_t(n), all[0]);  // a stack has one
    return from_data(all.data(), {n}, f32);
  }
  [[noreturn]] void wrong(const TensorInfo& t, const char* why) const {
    io::bad(path(), "tensor {}: {}", io::quote_name(t.name), why);
  }

  void add(const Named& n, size_t i, std::map<std::string, size_t>& experts) {
    const TensorInfo& t = file_->tensors()[i];
    if (n.expert >= 0) return add_expert(n, i, experts);
    put(n.gguf, t, {.form = n.form, .from = {i}});
    if (!n.pair.empty()) put(n.pair, t, {.form = n.form, .from = {i}, .second = true});
    if (n.form && n.form->blocks == Form::computed) remember(n, i);
    if (t.dtype == f32) wide_.push_back(t.name);
  }
  // What is computed is not always undone to the last bit: then the values as they were go along.
  void remember(const Named& n, size_t i) {
    const NoGrad guard;
    const Tensor own = n.form->ready(file_->get(i));
    if (const Tensor back = n.form->take(n.form->put(own, dims_), dims_); !equal(back, own)) {
      const Tensor all = own.contiguous();
      keys_.emplace_back(kExactKey + n.own,
                         io::GgufArray(std::vector<float>(all.data<float>(), all.data<float>() + all.numel())));
    }
  }
  void put(const std::string& name, TensorInfo t, Made m) {
    t.order = {};
    const TensorInfo own = t;
    if (m.form && t.dtype) t.dtype = m.form->dtype(t.dtype, t.shape.empty() ? 1 : t.shape.back());
    if (m.form)
      set_shape(t, path(), own, [&](const Tensor& x) { return (m.second ? m.form->put_second : m.form->put)(x, dims_); });
    t.name = name;
    if (t.dtype && t.dtype.is_floating_point() && !t.dtype.is_blocked() && is_wide(t)) t.dtype = f32;
    if (!t.own && t.dtype != own.dtype) t.own = own.dtype;
    t.stored = t.dtype ? t.dtype.name() : t.stored;
    made_.push_back(std::move(m));
    tensors_.push_back(std::move(t));
  }
  void add_expert(const Named& n, size_t i, std::map<std::string, size_t>& experts) {
    const TensorInfo& t = file_->tensors()[i];
    const auto [at, fresh] = experts.emplace(n.gguf, made_.size());
    if (fresh) {
      TensorInfo all = t;
      if (all.dtype && !rows_move(all.dtype, all.shape.empty() ? 1 : all.shape.back())) all.own = all.dtype, all.dtype = f32;
      all.shape.insert(all.shape.begin(), 0);
      put(n.gguf, all, {.form = nullptr, .stacked = true});
    }
    TensorInfo& all = tensors_[at->second];
    Made& m = made_[at->second];
    const TensorInfo& first = m.from.empty() ? t : file_->tensors()[m.first];
    if (t.shape != first.shape || t.dtype != first.dtype) wrong(t, "it is of another shape or dtype than the first expert's");
    if (m.from.empty()) m.first = i;
    if (n.expert >= 65536) wrong(t, "more than 65536 experts");
    if (size_t(n.expert) >= m.from.size()) m.from.resize(size_t(n.expert) + 1, SIZE_MAX);
    m.from[size_t(n.expert)] = i;
    all.shape[0] = int64_t(m.from.size());
  }
  void check_experts(const std::map<std::string, size_t>& experts) const {
    for (auto& [name, number] : experts)
      for (size_t i : made_[number].from)
        if (i == SIZE_MAX) wrong(tensors_[number], "some of its experts are missing");
  }
};

}  // namespace

io::ConvertOptions by_gguf_names(io::ConvertOptions options, const io::TensorFile& weights, const std::string& config) {
  const Architecture& a = *find_architecture_of(Config(config).model_type());
  decltype(options.map) rules;
  for (const auto& rule : options.map) {
    rules.push_back(rule);
    for (const TensorInfo& t : weights.tensors())
      if (const auto n = matches(rule.first, t.name) ? of_own(a, t.name) : std::nullopt) {
        if (rules.back() == rule) rules.pop_back();
        rules.emplace_back(n->gguf, rule.second);
        if (!n->pair.empty()) rules.emplace_back(n->pair, rule.second);
      }
  }
  options.map = std::move(rules);
  return options;
}

std::map<std::string, DType> without_ggml_type(const io::TensorFile& weights, const std::string& config) {
  const Architecture& a = *find_architecture_of(Config(config).model_type());
  std::map<std::string, DType> all;
  for (const TensorInfo& t : weights.tensors())
    if (t.dtype && t.dtype.is_scaled() && !t.shape.empty() && io::nearest_ggml_dtype(t.dtype, t.shape.back()) != t.dtype)
      if (const auto n = of_own(a, t.name)) {
        all[n->gguf] = t.dtype;
        if (!n->pair.empty()) all[n->pair] = t.dtype;
      }
  return all;
}

int64_t vocabulary_of(const io::TensorFile& weights, const std::string& config) {
  const Architecture& a = *find_architecture_of(Config(config).model_type());
  for (const TensorInfo& t : weights.tensors())
    if (const auto n = of_own(a, t.name); n && n->gguf == "token_embd.weight" && !t.shape.empty()) return t.shape[0];
  io::bad(weights.path(), "the tokens' embedding is missing");
}

std::shared_ptr<io::TensorFile> gguf_of(std::shared_ptr<const io::TensorFile> weights, const std::string& config,
                                        io::GgufMetadata keys) {
  return std::make_shared<GgufNames>(std::move(weights), Config(config), std::move(keys));
}

}  // namespace dyadic::inline v1::models
