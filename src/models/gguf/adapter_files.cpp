// LoRA adapters in GGUF: of a weight [out, in] "<its name there>.lora_a" [rank, in] and ".lora_b" [out, rank], which
// adapter.lora.alpha / rank multiplies. In PEFT's files they are lora_A.weight and lora_B.weight of the module.
#include <cmath>

#include "base/json.h"
#include "io/bad_file.h"
#include "io/gguf.h"
#include "models/gguf/adapter_files.h"
#include "models/gguf/files.h"
#include "models/gguf/names.h"

namespace dyadic::inline v1::models {
namespace {

using io::TensorInfo;

constexpr std::string_view kPrefix = "base_model.model.", kWeight = ".weight";
constexpr char kConfigKey[] = "dyadic.file.adapter_config.json";

// A form that moves whole rows moves those of the second factor; one that turns the matrix leaves both as they are.
bool moves_rows(const Form* f) {
  return f == &query_rows || f == &key_rows || f == &state_rows || f == &value_rows || f == &value_numbers;
}

class Factors final : public io::TensorFile, public io::GgufSource {
  struct Made {
    size_t from;
    Tensor (*move)(const Tensor&, const Dims&);  // null: it is the same in both
  };
  std::shared_ptr<const io::TensorFile> file_;
  Dims dims_;
  io::GgufMetadata keys_;
  std::vector<Made> made_;
  std::vector<TensorInfo> tensors_;

 public:
  // Into GGUF, where the source is PEFT's, and back.
  Factors(std::shared_ptr<const io::TensorFile> file, const Config& base, io::GgufMetadata keys, bool into)
      : TensorFile(file->path()), file_(std::move(file)), dims_(base), keys_(std::move(keys)) {
    const Architecture* a = find_architecture_of(base.model_type());
    DY_CHECK_AS(ValueError, a, "GGUF has no architecture here for model_type \"{}\"", base.model_type());
    for (size_t i = 0; i < file_->tensors().size(); ++i) add(*a, i, into);
    std::vector<size_t> order(made_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (!into) std::ranges::sort(order, {}, [&](size_t i) -> const std::string& { return tensors_[i].name; });
    std::vector<Made> made;
    std::vector<TensorInfo> tensors;
    for (size_t i : order) made.push_back(made_[i]), tensors.push_back(tensors_[i]);
    made_ = std::move(made), tensors_ = std::move(tensors);
  }
  std::string_view kind() const override { return file_->kind(); }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  io::GgufMetadata values() const override { return keys_; }
  Tensor get(size_t i) const override {
    const NoGrad guard;
    const Tensor t = file_->get(made_.at(i).from);
    return made_[i].move ? made_[i].move(t, dims_) : t;
  }

 private:
  void add(const Architecture& a, size_t i, bool into) {
    TensorInfo t = file_->tensors()[i];
    std::string_view name = t.name;
    const auto ends = [&](std::string_view ending) {
      if (!name.ends_with(ending)) return false;
      name.remove_suffix(ending.size());
      return true;
    };
    if (into && name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    const bool second = ends(into ? ".lora_B.weight" : ".lora_b"), first = !second && ends(into ? ".lora_A.weight" : ".lora_a");
    const auto n = into ? of_own(a, std::string(name) + std::string(kWeight)) : of_gguf(a, name);
    const Form* form = n ? n->form : nullptr;
    const bool known = (first || second) && n && t.shape.size() == 2 && n->pair.empty() && n->expert < 0 &&
                       n->own.find('*') == n->own.npos && n->own.ends_with(kWeight) && n->gguf != "token_embd.weight" &&
                       (!form || form == &turned || moves_rows(form));
    if (!known) io::bad(path(), "tensor {}: {} has no place for it", io::quote_name(t.name), into ? "GGUF" : "PEFT");
    Made m{i, nullptr};
    if (second && moves_rows(form)) m.move = into ? form->put : form->take;
    if (into)
      t.name = n->gguf + (second ? ".lora_b" : ".lora_a");
    else
      t.name = std::string(kPrefix) + n->own.substr(0, n->own.size() - kWeight.size()) +
               (second ? ".lora_B.weight" : ".lora_A.weight");
    made_.push_back(m), tensors_.push_back(std::move(t));
  }
};

// What llama.cpp multiplies by is this over the rank.
double alpha_of(const json& c) {
  const auto unused = [&](const char* key) {
    const json v = c.value(key, json());
    DY_CHECK_AS(ValueError, v.is_null() || v == false || v.empty(), "adapter_config.json: GGUF has no place for {}", key);
  };
  for (const char* key : {"alpha_pattern", "use_dora", "lora_bias", "modules_to_save"}) unused(key);
  const double alpha = real_of(c, "lora_alpha", 8);
  if (c.value("use_rslora", json(false)) != true) return alpha;
  unused("rank_pattern");
  return alpha * std::sqrt(real_of(c, "r", 8));
}

}  // namespace

bool is_gguf_adapter(const io::GgufFile& file) {
  return file.has_key("general.type") && file.text("general.type") == "adapter";
}

std::shared_ptr<io::TensorFile> adapter_to_gguf(std::shared_ptr<const io::TensorFile> weights,
                                                const std::string& adapter_config, const std::string& base_config) {
  const Config base(base_config);
  const Architecture* a = find_architecture_of(base.model_type());
  io::GgufMetadata keys{{"general.architecture", std::string(a ? a->name : "")},
                        {"general.type", std::string("adapter")},
                        {"adapter.type", std::string("lora")},
                        {"adapter.lora.alpha", float(alpha_of(bounded_json(adapter_config)))},
                        {"general.quantization_version", uint32_t(2)},
                        {kConfigKey, adapter_config}};
  return std::make_shared<Factors>(std::move(weights), base, std::move(keys), true);
}

std::shared_ptr<io::TensorFile> adapter_from_gguf(std::shared_ptr<const io::GgufFile> file, const std::string& base_config) {
  const Config base(base_config);
  const Architecture &a = architecture_of(*file), *own = find_architecture_of(base.model_type());
  if (own != &a)
    io::bad(file->path(), "it is an adapter of a {}, and the model is a {}", a.name, own ? own->name : base.model_type());
  if (file->text("adapter.type") != "lora")
    io::bad(file->path(), "adapter.type {} is not lora", io::quote_name(file->text("adapter.type")));
  return std::make_shared<Factors>(std::move(file), base, io::GgufMetadata(), false);
}

std::string adapter_config_of(const io::GgufFile& file) {
  if (file.has_key(kConfigKey)) return file.text(kConfigKey);
  int64_t rank = 0;
  json targets = json::array();
  for (const TensorInfo& t : file.tensors()) {
    const auto n =
        t.name.ends_with(".lora_a") ? of_gguf(architecture_of(file), t.name.substr(0, t.name.size() - 7)) : std::nullopt;
    if (!n || t.shape.size() != 2) continue;
    rank = t.shape[0];
    const std::string module = n->own.substr(0, n->own.rfind('.'));
    if (const json last = module.substr(module.rfind('.') + 1); std::ranges::find(targets, last) == targets.end())
      targets.push_back(last);
  }
  const json c{{"peft_type", "LORA"},
               {"task_type", "CAUSAL_LM"},
               {"base_model_name_or_path", nullptr},
               {"r", rank},
               {"lora_alpha", file.number("adapter.lora.alpha")},
               {"lora_dropout", 0.0},
               {"target_modules", targets},
               {"bias", "none"},
               {"inference_mode", true}};
  return dump_json(c, 2) + "\n";
}

}  // namespace dyadic::inline v1::models
