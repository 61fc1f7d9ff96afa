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
    const Form* form;
    size_t from, pair;  // numbers in the file; pair: of a form of two tensors
    int64_t expert = -1;
  };
  std::shared_ptr<const io::GgufFile> file_;
  Dims dims_;
  std::vector<Made> made_;
  std::vector<TensorInfo> tensors_;

 public:
  OwnNames(std::shared_ptr<const io::GgufFile> file, const Config& c)
      : TensorFile(file->path()), file_(std::move(file)), dims_(c) {
    const Architecture& a = architecture_of(*file_);
    const bool last = file_->has_key(kOtherNames);
    const int64_t layers = c.integer("num_hidden_layers", INT64_MAX);
    std::map<std::string, size_t> numbers;
    const auto& all = file_->tensors();
    for (size_t i = 0; i < all.size(); ++i) numbers[all[i].name] = i;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto n = of_gguf(a, all[i].name, last);
      if (!n) {
        if (!all[i].name.starts_with("rope_")) made_.push_back({all[i], nullptr, i, i});
      } else if (!n->second && n->layer < layers) {
        add(*n, i, numbers);
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
    if (m.expert >= 0) {
      const Tensor own = select(t, 0, m.expert);
      return own.dtype().is_blocked() ? own.clone() : own;  // whoever reads codes and scales reads whole storages
    }
    if (!m.form) return t;
    const Tensor first = m.form->ready(t);
    if (m.form->take_both) return m.form->take_both(first, m.form->ready(file_->get(m.pair)), dims_);
    const Tensor exact = m.form->blocks == Form::computed ? remembered(m, first) : Tensor();
    return exact.defined() ? exact : m.form->take(first, dims_);
  }

 private:
  [[noreturn]] void wrong(const TensorInfo& t, const char* why) const {
    io::bad(path(), "tensor {}: {}", io::quote_name(t.name), why);
  }
  // The values that the tensor was made of, if it is still what was made of them.
  Tensor remembered(const Made& m, const Tensor& stored) const {
    const std::string key = kExactKey + m.info.name;
    if (!file_->has_key(key)) return {};
    const Tensor own = file_->numbers(key);
    if (own.dtype() != f32 || own.numel() != stored.numel()) return {};
    const Tensor shaped = own.reshape(m.info.shape);
    return equal(m.form->put(shaped, dims_), stored) ? shaped : Tensor();
  }
  void add(const Named& n, size_t i, const std::map<std::string, size_t>& numbers) {
    Made m{file_->tensors()[i], n.form, i, i};
    m.info.name = n.own;
    if (n.own.find('*') != n.own.npos) return add_experts(std::move(m), n.own);
    if (!n.pair.empty()) {
      const auto at = numbers.find(n.pair);
      if (at == numbers.end()) io::bad(path(), "tensor {} is missing", io::quote_name(n.pair));
      m.pair = at->second;
      if (!file_->tensors()[m.pair].dtype) wrong(file_->tensors()[m.pair], "of a type that is no dtype here");
    }
    if (n.form) {
      const TensorInfo &first = file_->tensors()[m.from], &second = file_->tensors()[m.pair];
      m.info.shape = shape_in_form(path(), first, [&](const Tensor& x) {
        return n.form->take_both ? n.form->take_both(x, zeros(second.shape, f32, meta), dims_) : n.form->take(x, dims_);
      });
      if (m.info.dtype) m.info.dtype = n.form->dtype(m.info.dtype);
      if (n.form->take_both && n.form->dtype(second.dtype) != m.info.dtype) wrong(first, "it and its pair are not of one kind");
    }
    made_.push_back(std::move(m));
  }
  void add_experts(Made m, const std::string& pattern) {
    if (m.info.shape.size() != 3) wrong(file_->tensors()[m.from], "expected [experts, out, in]");
    const int64_t experts = m.info.shape[0];
    m.info.shape.erase(m.info.shape.begin());
    if (experts > 65536) wrong(file_->tensors()[m.from], "more than 65536 experts");
    m.info.bytes /= uint64_t(std::max<int64_t>(experts, 1));
    const size_t star = pattern.find('*');
    for (int64_t e = 0; e < experts; ++e) {
      m.expert = e;
      m.info.name = fmt::format("{}{}{}", pattern.substr(0, star), e, pattern.substr(star + 1));
      made_.push_back(m);
    }
  }
};

}  // namespace

std::shared_ptr<io::TensorFile> weights_of(std::shared_ptr<const io::GgufFile> file, const std::string& config) {
  return std::make_shared<OwnNames>(std::move(file), Config(config));
}

}  // namespace dyadic::inline v1::models
