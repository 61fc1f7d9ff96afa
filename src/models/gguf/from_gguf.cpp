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
    std::string name = {};  // info has the module's
  };
  std::shared_ptr<const io::GgufFile> file_;
  Dims dims_;
  std::map<std::string, size_t> numbers_;
  std::map<size_t, size_t> scales_;  // of tensors that are to be multiplied by one number, of experts by one each
  std::vector<Made> made_;
  std::vector<TensorInfo> tensors_;

 public:
  OwnNames(std::shared_ptr<const io::GgufFile> file, const Config& c)
      : TensorFile(file->path()), file_(std::move(file)), dims_(c) {
    const Architecture& a = architecture_of(*file_);
    const bool last = file_->has_key(kOtherNames);
    const int64_t layers = c.integer("num_hidden_layers", INT64_MAX);
    for (size_t i = 0; i < all().size(); ++i) numbers_[all()[i].name] = i;
    for (size_t i = 0; i < all().size(); ++i) find_scale(a, i);
    for (size_t i = 0; i < all().size(); ++i) {
      const auto n = of_gguf(a, all()[i].name, last);
      if (!n) {
        if (!all()[i].name.starts_with("rope_") && !is_of_a_weight(all()[i].name)) made_.push_back({all()[i], nullptr, i, i});
      } else if (!n->second && n->layer < layers) {
        add(*n, i);
      }
    }
    const std::map<std::string_view, std::string_view> names = other_names();
    for (Made& m : made_) {
      const auto other = names.find(m.info.name);
      m.name = other == names.end() ? m.info.name : std::string(other->second);
    }
    // As Hugging Face's tools order a file.
    std::ranges::sort(made_, {}, &Made::name);
    for (const Made& m : made_) {
      if (!tensors_.empty() && tensors_.back().name == m.name) wrong(m.info, "another tensor has the name that it is to have");
      tensors_.push_back(m.info);
      tensors_.back().name = m.name;
    }
  }
  std::string_view kind() const override { return "gguf"; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  Tensor get(size_t i) const override {
    const NoGrad guard;
    const Made& m = made_.at(i);
    if (!m.form) return scaled(m.from, m.expert);
    const Tensor first = m.form->ready(scaled(m.from));
    if (m.form->take_both) return m.form->take_both(first, m.form->ready(scaled(m.pair)), dims_);
    const Tensor exact = m.form->blocks == Form::computed ? remembered(m, first) : Tensor();
    return exact.defined() ? exact : m.form->take(first, dims_);
  }

 private:
  const std::vector<TensorInfo>& all() const { return file_->tensors(); }
  std::map<std::string_view, std::string_view> other_names() const {
    std::map<std::string_view, std::string_view> names;
    if (!file_->has_key(kNamesKey)) return names;
    const std::vector<std::string_view> pairs = file_->strings(kNamesKey);
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) names[pairs[i]] = pairs[i + 1];
    return names;
  }
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

  // NVFP4 in GGUF has no scale of the whole: "x.scale" is beside "x.weight", and "x.input_scale", which is not used here.
  void find_scale(const Architecture& a, size_t i) {
    constexpr std::string_view kWeight = ".weight";
    std::string name = all()[i].name;
    if (!name.ends_with(kWeight)) return;
    name.replace(name.size() - kWeight.size(), kWeight.size(), ".scale");
    const auto at = numbers_.find(name);
    if (at == numbers_.end() || of_gguf(a, name)) return;
    const TensorInfo& scale = all()[at->second];
    const std::vector<int64_t>& shape = all()[i].shape;
    if (scale.dtype != f32 || scale.shape != std::vector<int64_t>{shape.size() == 3 ? shape[0] : 1})
      wrong(scale, "expected one number for each weight");
    scales_[i] = at->second;
  }
  bool is_of_a_weight(std::string_view name) const {
    for (std::string_view ending : {".scale", ".input_scale"})
      if (name.ends_with(ending))
        return numbers_.contains(std::string(name.substr(0, name.size() - ending.size())) + ".weight");
    return false;
  }
  // Of tensor i, or of an expert's part of it.
  DType dtype_of(size_t i, bool part = false) const {
    const TensorInfo& t = all()[i];
    const bool keeps = !t.dtype || !scales_.contains(i) || (t.dtype == nvfp4 && (part || t.shape.size() == 2));
    return keeps ? t.dtype : f32;
  }
  Tensor scaled(size_t i, int64_t expert = -1) const {
    const Tensor t = expert >= 0 ? file_->get_part(i, expert) : file_->get(i);
    const auto at = scales_.find(i);
    if (at == scales_.end()) return t;
    Tensor by = file_->get(at->second);
    if (expert >= 0) by = narrow(by, 0, expert, 1);
    if (dtype_of(i, expert >= 0) == nvfp4) return with_whole_scale(t, whole_scale(t) * by.item<float>());
    return t.to(f32) * (t.dim() == 3 ? by.reshape({-1, 1, 1}) : by);
  }

  void add(const Named& n, size_t i) {
    Made m{all()[i], n.form, i, i};
    m.info.name = n.own;
    if (n.own.find('*') != n.own.npos) return add_experts(std::move(m), n.own);
    m.info.dtype = dtype_of(i);
    if (n.form) set_form(m, n);
    made_.push_back(std::move(m));
  }
  void set_form(Made& m, const Named& n) const {
    if (!n.pair.empty()) {
      const auto at = numbers_.find(n.pair);
      if (at == numbers_.end()) io::bad(path(), "tensor {} is missing", io::quote_name(n.pair));
      m.pair = at->second;
    }
    const TensorInfo &first = all()[m.from], &second = all()[m.pair];
    const DType dtypes[] = {dtype_of(m.from), dtype_of(m.pair)};
    if (!dtypes[0] || !dtypes[1]) wrong(dtypes[0] ? second : first, "of a type that is no dtype here");
    const auto columns = [](const TensorInfo& t) { return t.shape.empty() ? 1 : t.shape.back(); };
    m.info.dtype = n.form->dtype(dtypes[0], columns(first));
    if (m.info.dtype != dtypes[0]) m.info.own = dtypes[0];
    if (n.form->dtype(dtypes[1], columns(second)) != m.info.dtype) wrong(first, "it and its pair are not of one kind");
    set_shape(m.info, path(), first, [&](const Tensor& x) {
      return n.form->take_both ? n.form->take_both(x, zeros(second.shape, f32, meta), dims_) : n.form->take(x, dims_);
    });
  }
  void add_experts(Made m, const std::string& pattern) {
    if (m.info.shape.size() != 3) wrong(all()[m.from], "expected [experts, out, in]");
    const int64_t experts = m.info.shape[0];
    if (experts > 65536) wrong(all()[m.from], "more than 65536 experts");
    m.info.shape.erase(m.info.shape.begin());
    m.info.dtype = dtype_of(m.from, true);
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
