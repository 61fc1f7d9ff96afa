// Models from files, and back. Weights go one by one from the file into the module, which has none before: nothing but the
// model and the tensor that is converted is in memory.
#include "dyadic/models.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/json.h"
#include "base/log.h"
#include "dyadic/adapters.h"
#include "dyadic/io.h"
#include "formats/format.h"
#include "io/atomic_file.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"
#include "io/mapped_file.h"
#include "io/quantized/packing.h"
#include "io/quantized/rearranged.h"
#include "models/families/families.h"
#include "models/gguf/beside.h"
#include "models/gguf/files.h"
#include "offload/reader.h"
#include "offload/spill.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {
#include "model_families.inc"

namespace {

constexpr std::string_view kDotWeight = ".weight";

// A parameter's name in files of the same model in other clothes: its body alone, or the text part of a larger one.
std::optional<size_t> place_of(const std::map<std::string, size_t>& names, const std::string& name) {
  std::vector<std::string> forms{name, "language_model." + name};
  for (std::string_view body : {"model.", "transformer."})
    if (name.starts_with(body)) {
      const std::string rest = name.substr(body.size());
      forms.insert(forms.end(), {rest, "model.language_model." + rest});
    }
  // BERT's, in files of its time, and where a body is stored with a head that is not asked for.
  forms.push_back("bert." + name);
  for (size_t i = 0, n = forms.size(); i < n; ++i)
    for (auto [now, then] :
         {std::pair(".LayerNorm.weight", ".LayerNorm.gamma"), std::pair(".LayerNorm.bias", ".LayerNorm.beta")})
      if (forms[i].ends_with(now)) forms.push_back(forms[i].substr(0, forms[i].size() - std::string_view(now).size()) + then);
  for (const std::string& form : forms)
    if (auto it = names.find(form); it != names.end()) return it->second;
  return {};
}

// Where a parameter comes from: a whole tensor of the file, or in a stack of all experts' matrices one expert's.
struct Source {
  size_t tensor;
  int64_t expert = -1, half = -1;  // half: gate is above up in one matrix
  std::vector<int64_t> shape(const std::vector<int64_t>& whole) const {
    if (expert < 0) return whole;
    if (whole.size() != 3 || expert >= whole[0]) return {0};
    return {half < 0 ? whole[1] : whole[1] / 2, whole[2]};
  }
  Tensor part(const Tensor& whole) const {
    if (expert < 0) return whole;
    const Tensor own = select(whole, 0, expert);
    return half < 0 ? own : narrow(own, 0, half * (own.size(0) / 2), own.size(0) / 2);
  }
};
std::optional<Source> source_of(const std::map<std::string, size_t>& names, const std::string& name) {
  if (const auto whole = place_of(names, name)) return Source{*whole};
  static constexpr std::string_view kExperts = ".experts.";
  const size_t at = name.find(kExperts), number = at + kExperts.size(), dot = name.find('.', number);
  if (at == name.npos || dot == name.npos || dot - number > 9) return {};
  const std::string_view matrix = std::string_view(name).substr(dot + 1);
  const bool down = matrix == "down_proj.weight", gate = matrix == "gate_proj.weight";
  if (!down && !gate && matrix != "up_proj.weight") return {};
  const auto stack = place_of(names, name.substr(0, number) + (down ? "down_proj" : "gate_up_proj"));
  if (!stack) return {};
  return Source{*stack, std::stoll(name.substr(number, dot - number)), down ? -1 : int64_t(!gate)};
}

// Tensors that files have besides weights: masks and positions that older versions saved.
bool is_made_anew(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq") || name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

class Loading {
  CausalLM& model_;
  const io::TensorFile& file_;
  const LoadOptions& o_;
  const DType dtype_ = o_.dtype;
  std::map<std::string, size_t> names_;
  std::set<size_t> used_;
  std::shared_ptr<offload::Spill> spill_;
  const io::BesideWeights beside_;

 public:
  Loading(CausalLM& model, const io::TensorFile& file, const LoadOptions& o, io::BesideWeights beside)
      : model_(model), file_(file), o_(o), beside_(std::move(beside)) {
    const auto& all = file.tensors();
    for (size_t i = 0; i < all.size(); ++i) names_[all[i].name] = i;
  }
  void run() {
    std::vector<std::pair<std::string, Source>> found;
    std::vector<std::string> missing;
    const nn::NamedItems<Tensor> parameters = model_.named_parameters();
    const std::set<std::string> turned = turned_weights(model_);
    for (auto& [name, slot] : parameters) {
      const std::optional<Source> from = source_of(names_, name);
      if (!from) {
        missing.push_back(name);
        continue;
      }
      std::vector<int64_t> shape = from->shape(file_.tensors()[from->tensor].shape);
      if (turned.contains(name)) std::ranges::reverse(shape);
      if (!(slot.sizes() == IntList(shape)))
        io::bad(file_.path(), "tensor {}: expected {} by config.json, and it is {}", io::quote_name(name),
                shape_text(slot.sizes()), shape_text(shape));
      found.emplace_back(name, *from), used_.insert(from->tensor);
    }
    if (!missing.empty())
      io::bad(file_.path(), "{} of the model's {} weights are missing: {}{}", missing.size(), parameters.size(),
              io::quote_name(missing[0]), missing.size() > 1 ? ", ..." : "");
    const std::set<std::string> stored = narrow_ones(), linear = linear_ones();
    // In the order of the file's tensors: what is made of several is made once, and let go before the next.
    std::ranges::stable_sort(found, {}, [](auto& f) { return f.second.tensor; });
    nn::NamedTensors state;
    Tensor whole;
    size_t held = SIZE_MAX;
    for (auto& [name, from] : found) {
      const DType to = linear.contains(name) ? o_.linear : dtype_for(file_.tensors()[from.tensor].dtype, stored.contains(name));
      if (o_.device.is_meta()) {
        state.emplace_back(name, blank(parameters.find(name)->sizes(), to));
        continue;
      }
      if (from.tensor != held) whole = Tensor(), whole = file_.get(held = from.tensor);
      Tensor t = from.part(whole);
      if (turned.contains(name)) t = t.t().contiguous();
      const bool on_disk = !o_.device_map.empty() && is_on_disk(o_.device_map, name);
      state.emplace_back(name, on_disk ? left_on_disk(name, t, to) : made(t, to, from.expert >= 0));
    }
    whole = Tensor();
    model_.load_state_dict(state, true, true);
    if (!beside_.empty()) add_beside(found);
    if (!o_.device_map.empty()) {
      for (auto& [name, p] : model_.named_parameters())
        if (is_on_disk(o_.device_map, name)) p.requires_grad_(false);
      offload::Reader::watch(model_);
    }
    report();
  }

 private:
  // The weights that a narrow or scaled dtype is for.
  std::set<std::string> narrow_ones() const {
    std::set<std::string> all;
    if (!dtype_) return all;
    if (dtype_.is_scaled()) {
      for (auto& [name, t] : nn::quantizable(model_, dtype_)) all.insert(name);
      DY_CHECK_AS(ValueError, !all.empty(), "load: nothing in {} gains from {}", file_.path(), dtype_.name());
      return all;
    }
    for (auto& [path, module] : model_.named_modules())
      for (auto& [name, slot] : module->own_parameters())
        if (slot->defined() && slot->dim() >= 2 && module->is_matrix(name)) all.insert(path.empty() ? name : path + "." + name);
    return all;
  }
  std::set<std::string> linear_ones() const {
    std::set<std::string> all;
    if (!o_.linear) return all;
    DY_CHECK_AS(ValueError, o_.linear.is_scaled(), "load: linear is {}, which has no scales; give it as dtype",
                o_.linear.name());
    std::set<std::string> fit;
    for (auto& [name, t] : nn::quantizable(model_, o_.linear)) fit.insert(name);
    for (auto& [path, module] : model_.named_modules()) {
      const auto skipped = [&](const std::string& name) { return path.find(name) != path.npos; };
      if (dynamic_cast<const nn::Linear*>(&*module) && fit.contains(path + ".weight") && std::ranges::none_of(o_.skip, skipped))
        all.insert(path + ".weight");
    }
    DY_CHECK_AS(ValueError, !all.empty(), "load: nothing in {} gains from {}", file_.path(), o_.linear.name());
    return all;
  }
  DType dtype_for(DType is, bool narrow) const {
    const bool whole = dtype_ && dtype_.is_floating_point() && !dtype_.is_blocked() && dtype_.itemsize() >= 2;
    return whole || narrow ? dtype_ : dtype_ ? f32 : is;
  }
  static Tensor blank(IntList shape, DType dtype) {
    const CategoryScope scope(Category::parameter);
    return trainable(empty(shape, dtype, meta));
  }
  static Tensor trainable(Tensor t) {
    set_category(t, Category::parameter);
    if (t.dtype().is_floating_point() && !t.dtype().is_scaled()) t.requires_grad_(true);
    return t;
  }
  static Tensor converted(const Tensor& t, DType to) {
    const NoGrad guard;
    const CategoryScope scope(Category::parameter);
    return t.dtype().is_blocked() && to.is_blocked() ? t.to(f32).to(to) : t.to(to);
  }
  // Parameters are written, which a file that is mapped cannot be; a part of a tensor would keep the other parts.
  static Tensor made(const Tensor& t, DType to, bool part) {
    if (to != t.dtype()) return trainable(converted(t, to));
    if (!part && !t.impl()->storage->read_only) return trainable(t);
    const NoGrad guard;
    const CategoryScope scope(Category::parameter);
    return trainable(t.clone());
  }
  Tensor left_on_disk(const std::string& name, const Tensor& t, DType to) {
    if (to == t.dtype() && io::is_mapped(t) && t.is_contiguous()) return t;
    DY_CHECK_AS(ValueError, !o_.offload_folder.empty(),
                "load: {} goes to disk as {}, and {} has it otherwise: give offload_folder, a place for it", name, to.name(),
                file_.path());
    if (!spill_) spill_ = offload::Spill::make(o_.offload_folder);
    return spill_->put(to == t.dtype() ? t : converted(t, to), false);
  }
  // What its file has beside a weight that is still as it came goes along with its module, as buffers that are no state.
  void add_beside(const std::vector<std::pair<std::string, Source>>& found) {
    const auto modules = model_.named_modules();
    const auto parameters = model_.named_parameters();
    for (auto& [name, from] : found) {
      const std::string& in_file = file_.tensors()[from.tensor].name;
      const auto at = beside_.find(in_file);
      if (at == beside_.end() || !name.ends_with(kDotWeight) || !in_file.ends_with(kDotWeight)) continue;
      const auto module = modules.find(name.substr(0, name.size() - kDotWeight.size()));
      if (!module || !parameters.find(name)->dtype().is_scaled()) continue;
      const std::string before = in_file.substr(0, in_file.size() - kDotWeight.size() + 1);
      for (auto& [full, t] : at->second)
        if (full.starts_with(before) && full.find('.', before.size()) == full.npos)
          (*module)->register_buffer(full.substr(before.size()),
                                     o_.device.is_meta() ? empty(t.sizes(), t.dtype(), meta) : t.clone(), false);
    }
  }
  void report() const {
    size_t others = 0;
    std::string first;
    for (auto& [name, i] : names_)
      if (!used_.contains(i) && !is_made_anew(name) && name != "lm_head.weight" && others++ == 0) first = name;
    if (others)
      warn(fmt::format("{}: {} tensors are no part of the text model and were passed by: {}{}", file_.path(), others,
                       io::quote_name(first), others > 1 ? ", ..." : ""));
  }
};

}  // namespace

std::vector<std::string> families() {
  std::vector<std::string> all;
  for (const Family* f : kFamilies) all.push_back(f->type);
  return all;
}

static std::shared_ptr<CausalLM> make_of(const std::string& text, const Config& c, nn::Options options) {
  for (const Family* f : kFamilies)
    if (c.model_type() == f->type) {
      auto m = f->make(text, c, options);
      m->eval();
      return m;
    }
  throw ValueError(fmt::format("config.json: model_type \"{}\" is none of {}", c.model_type(), fmt::join(families(), ", ")));
}

std::shared_ptr<CausalLM> make(const std::string& text, nn::Options options) { return make_of(text, Config(text), options); }

// The weights that a file holds in pieces, as config.json says.
static std::shared_ptr<io::TensorFile> weights_of(const Config& c, const io::TensorFile& file) {
  const json q = io::quantization_of(c.whole());
  return q.is_null() ? nullptr : io::unpacked({std::shared_ptr<void>(), &file}, q);
}

static std::shared_ptr<CausalLM> from_weights(const std::string& text, const io::TensorFile& file, const LoadOptions& o,
                                              const io::BesideWeights& beside) {
  const Config config(text, file.tensors().size());
  DY_CHECK_AS(ValueError, o.device_map.empty() || o.device == cpu, "load: a device_map is for the cpu and its disk, not for {}",
              o.device.str());
  auto model = make_of(text, config, {o.dtype && !o.dtype.is_scaled() && !o.dtype.is_blocked() ? o.dtype : f32, meta});
  if (!o.device_map.empty()) check_device_map(o.device_map, *model);
  Loading(*model, file, o, beside).run();
  if (o.device != cpu && !o.device.is_meta()) model->to(o.device);
  return model;
}

std::shared_ptr<CausalLM> from_file(const std::string& text, const io::TensorFile& file, const LoadOptions& o) {
  const std::shared_ptr<io::TensorFile> weights = weights_of(Config(text, file.tensors().size()), file);
  const io::TensorFile& all = weights ? *weights : file;
  return from_weights(text, all, o, io::beside_weights(all));
}

// Null for a folder that has a config.json of its own.
static std::shared_ptr<io::GgufFile> gguf_of_model(const std::string& path) {
  return std::filesystem::exists(path + "/config.json") ? nullptr : io::GgufFile::find(path);
}

static std::shared_ptr<CausalLM> from_gguf(const std::shared_ptr<io::GgufFile>& file, const LoadOptions& options) {
  const std::string text = config_of(*file), advice = std::string(kFileKey) + "generation_config.json";
  auto model = from_weights(text, *weights_of(file, text), options, beside_of(*file));
  if (file->has_key(advice)) model->generation_config = file->text(advice);
  return model;
}

std::string config_json(const std::string& path) {
  const auto gguf = gguf_of_model(path);
  return gguf ? config_of(*gguf) : io::read_text(path + "/config.json");
}

Model load(const std::string& folder, const LoadOptions& options) {
  if (const auto gguf = gguf_of_model(folder)) return from_gguf(gguf, options);
  const std::string text = io::read_text(folder + "/config.json");
  auto model = from_file(text, *io::open(folder), options);
  if (const std::string more = folder + "/generation_config.json"; std::filesystem::exists(more))
    model->generation_config = io::read_text(more);
  return model;
}

// What add_beside has put there.
static io::BesideWeights beside_of(CausalLM& model) {
  io::BesideWeights all;
  for (auto& [path, module] : model.named_modules())
    for (auto& [name, slot] : module->own_parameters())
      if (name == "weight" && slot->defined() && slot->dtype().is_scaled())
        for (auto& [own, t] : module->own_buffers()) all[path + ".weight"].emplace_back(path + "." + own, t->detach().cpu());
  return all;
}

// For other tools: they pack the matrices of linear layers but the head, and know ggml's simple blocks as integers.
static io::NamedTensors for_packing(CausalLM& model, const io::NamedTensors& weights) {
  const DType i4s = DType::parse("i4(group=32,scale=f16)"), i8s = DType::parse("i8(group=32,scale=f16)");
  std::set<std::string> linears;
  for (auto& [path, module] : model.named_modules())
    if (module->kind() == std::string_view("Linear") && path != "lm_head") linears.insert(path + ".weight");
  const auto plain = std::ranges::find_if(weights, [](auto& w) { return w.second.dtype().is_floating_point(); });
  const DType dtype = plain == weights.end() ? f32 : plain->second.dtype();  // what the model computes in
  io::NamedTensors all;
  for (auto& [name, t] : weights) {
    Tensor made = t.dtype().is_scaled() && !linears.contains(name) ? t.to(dtype) : t;
    if (made.dtype() == q4_0 || made.dtype() == q8_0) made = io::rearranged(made, made.dtype() == q4_0 ? i4s : i8s);
    all.emplace_back(name, made);
  }
  return all;
}

void CausalLM::save_pretrained(const std::string& folder, uint64_t max_shard_size, const std::string& packing) {
  if (adapter) return adapter->save(folder);
  const NoGrad guard;
  io::NamedTensors weights;
  const std::set<std::string> turned = turned_weights(*this);
  for (auto& [name, p] : named_parameters()) {
    const Tensor t = turned.contains(name) ? p.detach().t() : p.detach();
    weights.emplace_back(name, t.dtype().is_scaled() ? t : t.contiguous());  // codes and scales stay in their order
  }
  json c = parse_json(config), quantization = io::quantization_of(c);
  if (!packing.empty()) {
    weights = for_packing(*this, weights);
    quantization = io::quantization_for(packing, weights);
  }
  const std::shared_ptr<const io::TensorFile> plain = io::in_memory(weights);
  const auto packed = io::packed(plain, quantization, packing.empty() ? beside_of(*this) : io::BesideWeights());
  DY_CHECK_AS(ValueError, packing.empty() || packed, "save_pretrained: {} has no place for all of these weights", packing);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  DY_CHECK(!error, "{}: cannot be made: {}", folder, error.message());
  io::save(folder + "/model.safetensors", packed ? *packed : *plain,
           {.metadata = {{"format", "pt"}}, .max_shard_size = max_shard_size});
  // Other readers take this for the dtype of all; of a scaled one they know nothing.
  DType widest;
  for (auto& [name, t] : weights)
    if (!t.dtype().is_blocked() && (!widest || t.dtype().itemsize() > widest.itemsize())) widest = t.dtype();
  if (!packed || !packing.empty()) io::forget_quantization(c);
  json& words = c.contains("text_config") && c["text_config"].is_object() ? c["text_config"] : c;
  if (!packing.empty()) c["quantization_config"] = quantization;
  if (widest) words[words.contains("torch_dtype") ? "torch_dtype" : "dtype"] = widest.long_name();
  if (!generation_config.empty()) io::write_whole("save_pretrained", folder + "/generation_config.json", generation_config);
  io::write_whole("save_pretrained", folder + "/config.json", dump_json(c, 2) + "\n");
}

}  // namespace dyadic::inline v1::models
