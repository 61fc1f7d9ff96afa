// A module's tensors as llama.cpp reads them from a GGUF file.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/log.h"
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
  if (std::string_view(a.name) == "gpt2") return {};
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

class GgufNames final : public io::TensorFile, public io::GgufSource {
  struct Made {
    Stored stored;
    std::vector<size_t> from;
    bool second = false;
    Tensor ready;  // of the configuration's
  };
  std::shared_ptr<const io::TensorFile> file_;
  io::GgufMetadata keys_;
  int64_t heads_ = 1, kv_heads_ = 1;
  std::vector<Made> made_;
  std::vector<TensorInfo> tensors_;

 public:
  GgufNames(std::shared_ptr<const io::TensorFile> file, const Config& c, io::GgufMetadata keys)
      : TensorFile(file->path()), file_(std::move(file)), keys_(std::move(keys)) {
    const Architecture& a = *find_architecture_of(c.model_type());
    if (std::string_view(a.name) != "gpt2")
      heads_ = c.size("num_attention_heads"), kv_heads_ = c.size("num_key_value_heads", heads_);
    const bool tied = c.flag("tie_word_embeddings", a.tied);
    std::map<std::string, size_t> experts;
    size_t others = 0;
    std::string first;
    const auto& all = file_->tensors();
    for (size_t i = 0; i < all.size(); ++i) {
      const auto n = of_own(a, all[i].name);
      if (!n) {
        if (others++ == 0) first = all[i].name;
      } else if (file_->same_as(i) == i && !(tied && n->own == "lm_head.weight")) {
        add(*n, i, experts);
      }
    }
    if (others)
      warn(fmt::format("{}: {} tensors are no part of the text model and were passed by: {}{}", path(), others,
                       io::quote_name(first), others > 1 ? ", ..." : ""));
    check_experts(experts);
    for (auto& [name, t] : rope_tensors(c, a)) {
      made_.push_back({Stored::plain, {}, false, t});
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
    Tensor t = stored(m);
    const DType dtype = tensors_[i].dtype;
    return t.dtype() == dtype ? t : t.to(dtype);
  }

 private:
  Tensor stored(const Made& m) const {
    const Tensor t = file_->get(m.from[0]);
    switch (m.stored) {
      case Stored::query_rows:
        return interleave_halves(t, heads_);
      case Stored::key_rows:
        return interleave_halves(t, kv_heads_);
      case Stored::shifted:
        return t.to(f32) + 1;
      case Stored::turned:
        return t.transpose(-1, -2).contiguous();
      case Stored::experts: {
        std::vector<Tensor> all;
        for (size_t i : m.from) all.push_back(file_->get(i));
        return stack_rows(all);
      }
      case Stored::even_odd:
        return every_second(t.dim() > 2 ? t.transpose(1, 2).contiguous() : t, 1, m.second);
      case Stored::row:
      case Stored::plain:
        break;
    }
    return t;
  }
  [[noreturn]] void wrong(const TensorInfo& t, const char* why) const {
    io::bad(path(), "tensor {}: {}", io::quote_name(t.name), why);
  }

  void add(const Named& n, size_t i, std::map<std::string, size_t>& experts) {
    TensorInfo t = file_->tensors()[i];
    if (n.expert >= 0) return add_expert(n, i, experts);
    Made m{n.entry->stored, {i}};
    const bool weight = n.gguf.ends_with(".weight");
    switch (m.stored) {
      case Stored::turned:
        if (!weight) {
          m.stored = Stored::plain;
          break;
        }
        if (t.shape.size() < 2) wrong(t, "expected a matrix");
        std::swap(t.shape[t.shape.size() - 1], t.shape[t.shape.size() - 2]);
        break;
      case Stored::query_rows:
      case Stored::key_rows:
        if (t.shape.empty() || t.shape[0] % (2 * (m.stored == Stored::query_rows ? heads_ : kv_heads_)))
          wrong(t, "its rows are no multiple of the heads' halves");
        break;
      case Stored::even_odd:
        if (t.shape.size() < 2 || t.shape.back() % 2) wrong(t, "expected gate and up in turns");
        if (t.shape.size() == 3) std::swap(t.shape[1], t.shape[2]);
        t.shape[1] /= 2;
        break;
      default:
        break;
    }
    put(n, t, m);
    if (m.stored != Stored::even_odd) return;
    m.second = true;
    Named other = n;
    const std::string_view own = n.entry->gguf;
    other.gguf.replace(other.gguf.find(own), own.size(), n.entry->pair);
    put(other, t, m);
  }
  void put(const Named& n, TensorInfo t, Made m) {
    t.name = n.gguf;
    // What llama.cpp reads as f32 alone: all of one dimension, biases, and what chooses experts.
    const bool scalar = t.dtype && t.dtype.is_floating_point() && !t.dtype.is_blocked();
    const bool small = t.shape.size() < 2 || n.gguf.ends_with(".bias") || n.gguf.ends_with("_norm.weight") ||
                       n.gguf.find("ffn_gate_inp") != n.gguf.npos || n.gguf == "position_embd.weight";
    if ((scalar && small) || m.stored == Stored::shifted) t.dtype = f32;
    t.stored = t.dtype ? t.dtype.name() : t.stored;
    made_.push_back(std::move(m));
    tensors_.push_back(std::move(t));
  }
  void add_expert(const Named& n, size_t i, std::map<std::string, size_t>& experts) {
    const TensorInfo& t = file_->tensors()[i];
    const auto [at, fresh] = experts.emplace(n.gguf, made_.size());
    if (fresh) {
      TensorInfo all = t;
      all.shape.insert(all.shape.begin(), 0);
      put(n, all, {Stored::experts, {}});
    }
    TensorInfo& all = tensors_[at->second];
    Made& m = made_[at->second];
    if (!std::equal(t.shape.begin(), t.shape.end(), all.shape.begin() + 1, all.shape.end()) || t.dtype != all.dtype)
      wrong(t, "it is of another shape or dtype than the first expert's");
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

std::shared_ptr<io::TensorFile> gguf_of(std::shared_ptr<const io::TensorFile> weights, const std::string& config,
                                        io::GgufMetadata keys) {
  return std::make_shared<GgufNames>(std::move(weights), Config(config), std::move(keys));
}

}  // namespace dyadic::inline v1::models
