// LoRA adapters in PEFT's folders, and in GGUF files.
#include "dyadic/adapters.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/json.h"
#include "base/log.h"
#include "dyadic/io.h"
#include "dyadic/numbers.h"
#include "io/atomic_file.h"
#include "io/bad_file.h"
#include "models/config.h"
#include "models/gguf/adapter_files.h"
#include "models/lora.h"
#include "text/regex.h"

namespace dyadic::inline v1::models {
namespace {

constexpr const char *kConfigFile = "adapter_config.json", *kWeightsFile = "adapter_model.safetensors";
constexpr std::string_view kPrefix = "base_model.model.";

// The module or parameter that a name in a file is of: without the prefix, or the word for the text part of a larger model.
std::string own_name(std::string name) {
  if (name.starts_with(kPrefix)) name = name.substr(kPrefix.size());
  for (std::string_view base : {".base_layer.", ".modules_to_save."})
    if (const size_t at = name.find(base); at != name.npos) name.replace(at, base.size(), ".");
  for (auto [larger, here] : {std::pair("model.language_model.", "model."), std::pair("language_model.model.", "model.")})
    if (name.starts_with(larger)) name = here + name.substr(std::string_view(larger).size());
  return name;
}

// The value that a pattern of a module's last parts names, as PEFT's rank_pattern and alpha_pattern do; else the common one.
double by_pattern(const json& patterns, const std::string& path, double otherwise) {
  if (!patterns.is_object()) return otherwise;
  for (auto& [pattern, value] : patterns.items())
    if (text::Regex("(.*\\.)?(" + pattern + ")$").match(path, 0) == path.size()) {
      DY_CHECK_AS(ValueError, value.is_number(), "{}: alpha_pattern: \"{}\" is no number", kConfigFile, pattern);
      return value.get<double>();
    }
  return otherwise;
}

void check_known(const json& c) {
  DY_CHECK_AS(ValueError, c.is_object(), "{}: not a JSON object of the expected form", kConfigFile);
  const json kind = c.value("peft_type", json());
  DY_CHECK_AS(ValueError, kind == "LORA", "{}: peft_type is {}, and LORA alone is known here", kConfigFile, dump_json(kind));
  for (const char* key : {"alora_invocation_tokens", "arrow_config", "kasa_config", "layer_replication", "target_parameters",
                          "trainable_token_indices", "use_bdlora", "use_qalora", "velora_config", "monteclora_config"}) {
    const json value = c.value(key, json());
    const bool unused = value.is_null() || value == false || value.empty();
    DY_CHECK_AS(ValueError, unused, "{}: {} is not known here: an adapter with it would compute something else", kConfigFile,
                key);
  }
}

double scale_of(double alpha, int64_t rank, bool stable) { return alpha / (stable ? std::sqrt(double(rank)) : double(rank)); }

}  // namespace

// Makes an adapter and takes it back where something is refused on the way.
struct AdapterMaker {
  CausalLM& model;
  std::shared_ptr<Adapter> adapter;

  AdapterMaker(CausalLM& m, const std::string& config) : model(m) {
    DY_CHECK_AS(ValueError, !m.adapter, "adapter: the model has one: merge() or unload() it first");
    adapter = std::make_shared<Adapter>(m, config);
  }
  AdapterMaker(const AdapterMaker&) = delete;
  ~AdapterMaker() {
    if (adapter) adapter->unload();
  }
  Lora& attach(const std::string& path, nn::Module& module, const LoraShape& shape) {
    try {
      adapter->parts_.push_back({path, Lora::attach(module, shape)});
    } catch (const ValueError& e) { throw ValueError(fmt::format("{} (in {})", e.what(), path)); }
    return *adapter->parts_.back().lora;
  }
  void replace(const std::string& name, const Tensor& before, const Tensor& value) {
    adapter->replaced_.push_back({name, before});
    model.set_parameter(name, value);
  }
  void finish(bool trainable) {
    std::set<std::string> own;
    for (auto& part : adapter->parts_)
      for (auto& [name, slot] : part.lora->tensors()) slot->requires_grad_(trainable), own.insert(part.path + "." + name);
    for (auto& r : adapter->replaced_) {
      own.insert(r.name);
      if (r.before.requires_grad()) adapter->trained_.push_back(r.name);
    }
    for (auto& [name, t] : model.named_parameters())
      if (own.contains(name)) {
        if (t.dtype().is_floating_point() && !t.dtype().is_scaled()) t.requires_grad_(trainable);
      } else if (t.requires_grad()) {
        adapter->trained_.push_back(name), t.requires_grad_(false);
      }
    model.adapter = std::exchange(adapter, nullptr);
    model.train(model.training());
  }
};

namespace {

// What the file has for one module.
struct Found {
  std::map<std::string, size_t> tensors;  // by their names in the module
  int64_t rank = 0;
};

class Reading {
  const io::TensorFile& file_;
  const json& config_;
  AdapterMaker maker_;
  std::map<std::string, nn::Module*> modules_;
  std::map<std::string, Tensor> parameters_;

 public:
  Reading(CausalLM& m, const std::string& text, const io::TensorFile& file, const json& config)
      : file_(file), config_(config), maker_(m, text) {
    for (auto& [path, module] : m.named_modules()) modules_[path] = module;
    for (auto& [name, t] : m.named_parameters()) parameters_.emplace(name, t);
  }
  void run(bool trainable) {
    const NoGrad guard;
    std::map<std::string, Found> found;
    for (size_t i = 0; i < file_.tensors().size(); ++i) sort(i, found);
    for (auto& [path, one] : found) attach(path, one);
    maker_.finish(trainable);
  }

 private:
  void sort(size_t i, std::map<std::string, Found>& found) {
    const io::TensorInfo& info = file_.tensors()[i];
    const std::string name = own_name(info.name);
    const size_t at = name.find(".lora_");
    if (at == name.npos) return replace(i, name);
    Found& one = found[name.substr(0, at)];
    std::string part = name.substr(at + 1);
    if (part == "lora_magnitude_vector.weight") part = "lora_magnitude_vector";
    if ((part == "lora_A.weight" || part == "lora_embedding_A") && info.shape.size() == 2) one.rank = info.shape[0];
    one.tensors[part] = i;
  }
  void replace(size_t i, const std::string& name) {
    const auto to = parameters_.find(name);
    if (to == parameters_.end()) no_place(i);
    expect_shape(i, to->second.sizes());
    const DType dtype = to->second.dtype();
    maker_.replace(name, to->second, file_.get(i).to(dtype.is_scaled() || dtype.is_blocked() ? f32 : dtype).clone());
  }
  void attach(const std::string& path, const Found& one) {
    const size_t first = one.tensors.begin()->second;
    const auto module = modules_.find(path);
    if (module == modules_.end()) no_place(first);
    if (one.rank < 1)
      io::bad(file_.path(), "tensor {}: the first factor of two, [rank, in], is missing beside it",
              io::quote_name(file_.tensors()[first].name));
    const double alpha = by_pattern(config_.value("alpha_pattern", json()), path, real_of(config_, "lora_alpha", 8));
    const LoraShape shape{.rank = one.rank,
                          .scale = scale_of(alpha, one.rank, config_.value("use_rslora", json(false)) == true),
                          .dropout = real_of(config_, "lora_dropout", 0),
                          .bias = one.tensors.contains("lora_B.bias"),
                          .magnitude = one.tensors.contains("lora_magnitude_vector")};
    Lora& lora = maker_.attach(path, *module->second, shape);
    for (auto& [name, slot] : lora.tensors()) {
      const auto from = one.tensors.find(name);
      if (from == one.tensors.end())
        io::bad(file_.path(), "tensor {}: {} is missing beside it", io::quote_name(file_.tensors()[first].name), name);
      expect_shape(from->second, slot->sizes());
      slot->detach().copy_(file_.get(from->second));
    }
    if (one.tensors.size() != lora.tensors().size()) no_place(first);
  }
  [[noreturn]] void no_place(size_t i) {
    io::bad(file_.path(), "tensor {}: the model has no place for it", io::quote_name(file_.tensors()[i].name));
  }
  void expect_shape(size_t i, IntList sizes) {
    const io::TensorInfo& info = file_.tensors()[i];
    if (sizes == IntList(info.shape)) return;
    io::bad(file_.path(), "tensor {}: expected [{}], and it is [{}]", io::quote_name(info.name),
            fmt::join(sizes.begin(), sizes.end(), ", "), fmt::join(info.shape, ", "));
  }
};

}  // namespace

Adapter::Adapter(CausalLM& model, std::string config) : model_(model), config(std::move(config)) {}
Adapter::~Adapter() = default;

void Adapter::leave() {
  const auto self = shared_from_this();
  for (Part& part : parts_) part.lora->detach();
  auto parameters = model_.named_parameters();
  for (const std::string& name : trained_)
    if (Tensor* t = parameters.find(name); t && !t->dtype().is_scaled()) t->requires_grad_(true);
  parts_.clear(), replaced_.clear();
  if (model_.adapter == self) model_.adapter.reset();
}

void Adapter::unload() {
  for (auto& [name, before] : replaced_) model_.set_parameter(name, before);
  leave();
}

void Adapter::merge() {
  const NoGrad guard;
  std::vector<std::pair<std::string, Tensor>> merged;
  bool rounded = false;
  const bool tied = !model_.named_children().contains("lm_head");
  for (auto& [path, lora] : parts_) {
    DY_CHECK_AS(ValueError, !tied || !lora->is_embedding(),
                "merge: {} is the output head as well, which the adapter leaves as it is (tie_word_embeddings)", path);
    for (const char* name : {"weight", "bias"}) {
      const Tensor value = name[0] == 'w' ? lora->merged_weight() : lora->merged_bias();
      if (!value.defined()) continue;
      const DType dtype = model_.named_parameters()[path + "." + name].dtype();
      rounded = rounded || dtype.is_scaled();
      Tensor made = value.to(dtype);
      if (!dtype.is_scaled()) made.requires_grad_(false);
      merged.emplace_back(path + "." + name, made);
    }
  }
  if (rounded) warn("merge: weights that are stored in a scaled format are rounded to it again");
  for (auto& [name, value] : merged) model_.set_parameter(name, value);
  leave();
}

void Adapter::set_enabled(bool on) {
  for (Part& part : parts_) part.lora->enabled = on;
}

io::NamedTensors Adapter::tensors() const {
  io::NamedTensors all;
  for (auto& [path, lora] : parts_)
    for (auto& [name, slot] : lora->tensors()) all.emplace_back(std::string(kPrefix) + path + "." + name, slot->detach());
  const auto parameters = model_.named_parameters();
  for (auto& [name, before] : replaced_) all.emplace_back(std::string(kPrefix) + name, parameters.find(name)->detach());
  return all;
}

void Adapter::save(const std::string& folder) const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  DY_CHECK(!error, "{}: cannot be made: {}", folder, error.message());
  io::save(folder + "/" + kWeightsFile, tensors(), {.metadata = {{"format", "pt"}}});
  io::write_whole("save", folder + "/" + kConfigFile, config);
}

static void load_gguf_adapter(CausalLM& model, const std::shared_ptr<io::GgufFile>& file, const LoadAdapterOptions& options) {
  const std::string text = adapter_config_of(*file);
  const json config = bounded_json(text);
  check_known(config);
  Reading(model, text, *adapter_from_gguf(file, model.config), config).run(options.is_trainable);
}

void load_adapter(CausalLM& model, const std::string& path, const LoadAdapterOptions& options) {
  if (!std::filesystem::is_directory(path))
    if (const auto file = io::GgufFile::find(path)) return load_gguf_adapter(model, file, options);
  const std::string text = io::read_text(path + "/" + kConfigFile);
  const json config = bounded_json(text);
  check_known(config);
  Reading(model, text, *io::open(path + "/" + kWeightsFile), config).run(options.is_trainable);
}

static bool is_target(const LoraConfig& o, const std::string& path, nn::Module& m) {
  for (const std::string& target : o.target_modules) {
    if (target == "all-linear" && Lora::fits(m) && !m.as<nn::Embedding>() && path != "lm_head") return true;
    if (path == target || path.ends_with("." + target)) return true;
  }
  return false;
}

void add_adapter(CausalLM& model, const LoraConfig& o) {
  DY_CHECK_AS(ValueError, o.lora_dropout >= 0 && o.lora_dropout < 1, "add_adapter: lora_dropout is {}, not in [0, 1)",
              o.lora_dropout);
  std::vector<std::pair<std::string, nn::Module*>> targets;
  for (auto& [path, module] : model.named_modules())
    if (is_target(o, path, *module)) targets.emplace_back(path, module);
  DY_CHECK_AS(ValueError, !targets.empty(), "add_adapter: no module is called {}", fmt::join(o.target_modules, " or "));
  const bool turned = std::ranges::any_of(targets, [](auto& t) { return t.second->template as<TurnedLinear>() != nullptr; });
  const json config{{"peft_type", "LORA"},
                    {"task_type", "CAUSAL_LM"},
                    {"base_model_name_or_path", o.base_model_name_or_path.empty() ? json() : json(o.base_model_name_or_path)},
                    {"r", o.r},
                    {"lora_alpha", o.lora_alpha},
                    {"lora_dropout", o.lora_dropout},
                    {"target_modules", o.target_modules},
                    {"use_rslora", o.use_rslora},
                    {"use_dora", o.use_dora},
                    {"bias", "none"},
                    {"fan_in_fan_out", turned},
                    {"inference_mode", true},
                    {"modules_to_save", nullptr}};
  AdapterMaker maker(model, dump_json(config, 2) + "\n");
  const LoraShape shape{o.r, scale_of(o.lora_alpha, o.r, o.use_rslora), o.lora_dropout, false, o.use_dora};
  for (auto& [path, module] : targets) maker.attach(path, *module, shape).initialize();
  maker.finish(true);
}

}  // namespace dyadic::inline v1::models
