// A GGUF file's tensors as a module has them.
#include <algorithm>
#include <map>

#include "io/bad_file.h"
#include "models/gguf/files.h"
#include "models/gguf/names.h"
#include "models/gguf/rows.h"

namespace dyadic::inline v1::models {
namespace {

using io::TensorInfo;

class OwnNames final : public io::TensorFile {
  struct Made {
    TensorInfo info;
    Stored stored;
    size_t from, pair;  // numbers in the file; pair: of even_odd
    int64_t expert = -1;
  };
  std::shared_ptr<const io::GgufFile> file_;
  int64_t heads_ = 1, kv_heads_ = 1;
  std::vector<Made> made_;
  std::vector<TensorInfo> tensors_;

 public:
  OwnNames(std::shared_ptr<const io::GgufFile> file, const Config& c) : TensorFile(file->path()), file_(std::move(file)) {
    const Architecture& a = architecture_of(*file_);
    const bool gpt2 = std::string_view(a.name) == "gpt2";
    if (!gpt2) heads_ = c.size("num_attention_heads"), kv_heads_ = c.size("num_key_value_heads", heads_);
    std::map<std::string, size_t> numbers;
    const auto& all = file_->tensors();
    for (size_t i = 0; i < all.size(); ++i) numbers[all[i].name] = i;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto n = of_gguf(a, all[i].name);
      if (!n) {
        if (!all[i].name.starts_with("rope_")) add({all[i], Stored::plain, i, i});
      } else if (!n->second) {
        add_known(*n, i, numbers);
      }
    }
    // As Hugging Face's tools order a file.
    std::ranges::sort(made_, {}, [](const Made& m) -> const std::string& { return m.info.name; });
    for (const Made& m : made_) tensors_.push_back(m.info);
  }
  std::string_view kind() const override { return "gguf"; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  Tensor get(size_t i) const override {
    const NoGrad guard;
    const Made& m = made_.at(i);
    const Tensor t = file_->get(m.from);
    switch (m.stored) {
      case Stored::query_rows:
        return part_halves(t, heads_);
      case Stored::key_rows:
        return part_halves(t, kv_heads_);
      case Stored::shifted:
        return t.to(f32) - 1;
      case Stored::turned:
        return t.transpose(-1, -2);
      case Stored::row:
        return t.reshape({1, -1});
      case Stored::experts:
        return select(t, 0, m.expert);
      case Stored::even_odd: {
        const Tensor both = in_turns(t, file_->get(m.pair), 1);
        return both.dim() > 2 ? both.transpose(1, 2) : both;
      }
      case Stored::plain:
        break;
    }
    return t;
  }

 private:
  void add(Made m) { made_.push_back(std::move(m)); }
  [[noreturn]] void wrong(const TensorInfo& t, const char* why) const {
    io::bad(path(), "tensor {}: {}", io::quote_name(t.name), why);
  }
  void add_known(const Named& n, size_t i, const std::map<std::string, size_t>& numbers) {
    const TensorInfo& t = file_->tensors()[i];
    Made m{t, n.entry->stored, i, i};
    std::vector<int64_t>& shape = m.info.shape;
    m.info.name = n.own;
    switch (m.stored) {
      case Stored::query_rows:
      case Stored::key_rows:
        if (shape.empty() || shape[0] % (2 * (m.stored == Stored::query_rows ? heads_ : kv_heads_)))
          wrong(t, "its rows are no multiple of the heads' halves");
        break;
      case Stored::shifted:
        m.info.dtype = f32;
        break;
      case Stored::turned:
        if (n.gguf.ends_with(".bias")) {
          m.stored = Stored::plain;
          break;
        }
        if (shape.size() < 2) wrong(t, "expected a matrix");
        std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
        break;
      case Stored::row:
        if (shape.size() == 1) shape.insert(shape.begin(), 1);
        if (shape.size() != 2 || shape[0] != 1) wrong(t, "expected one row");
        break;
      case Stored::even_odd:
        add_pair(m, n, numbers);
        break;
      case Stored::experts:
        if (shape.size() != 3) wrong(t, "expected [experts, out, in]");
        return add_experts(m, n.own);
      case Stored::plain:
        break;
    }
    add(std::move(m));
  }
  void add_pair(Made& m, const Named& n, const std::map<std::string, size_t>& numbers) const {
    const std::string other = n.gguf.substr(0, n.gguf.find(n.entry->gguf)) + n.entry->pair +
                              n.gguf.substr(n.gguf.find(n.entry->gguf) + std::string_view(n.entry->gguf).size());
    const TensorInfo& t = file_->tensors()[m.from];
    auto at = numbers.find(other);
    if (at == numbers.end()) io::bad(path(), "tensor {} is missing", io::quote_name(other));
    const TensorInfo& pair = file_->tensors()[at->second];
    if (pair.shape != t.shape || pair.dtype != t.dtype || t.shape.size() < 2) wrong(t, "it and its pair are not of one kind");
    m.pair = at->second;
    m.info.shape[1] *= 2;
    if (m.info.shape.size() == 3) std::swap(m.info.shape[1], m.info.shape[2]);
  }
  void add_experts(Made m, const std::string& pattern) {
    const int64_t experts = m.info.shape[0];
    m.info.shape.erase(m.info.shape.begin());
    if (experts > 65536) wrong(file_->tensors()[m.from], "more than 65536 experts");
    m.info.bytes /= uint64_t(std::max<int64_t>(experts, 1));
    const size_t star = pattern.find('*');
    for (int64_t e = 0; e < experts; ++e) {
      m.expert = e;
      m.info.name = fmt::format("{}{}{}", pattern.substr(0, star), e, pattern.substr(star + 1));
      add(m);
    }
  }
};

}  // namespace

std::shared_ptr<io::TensorFile> weights_of(std::shared_ptr<const io::GgufFile> file, const std::string& config) {
  return std::make_shared<OwnNames>(std::move(file), Config(config));
}

}  // namespace dyadic::inline v1::models
