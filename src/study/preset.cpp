#include "study/preset.h"

#include "base/json.h"

#include "base/check.h"
#include "presets_list.h"

namespace dyadic::inline v1::study {

std::vector<Setting> settings(TrainSetup& s) {
  constexpr double kMany = 1 << 24, kAny = 1e9;
  models::GptConfig& m = s.model;
  return {
      {"layers", "N", "blocks of the model", &m.layers, 1, 4096},
      {"heads", "N", "attention heads of a block", &m.heads, 1, 65536},
      {"width", "N", "of the model: a multiple of the heads", &m.width, 1, 65536},
      {"block", "N", "tokens that the model sees at once", &m.block, 1, kMany},
      {"vocab", "N", "rows that its embedding has at least; the text's tokens may need more", &m.vocab, 0, kMany},
      {"bias", "true|false", "whether linear layers and norms have biases", &m.bias, 0, 1},
      {"batch", "N", "windows of text in a step", &s.batch, 1, kMany},
      {"steps", "N", "training steps (default: 1000)", &s.steps, 1, kAny},
      {"lr", "X", "learning rate after the warm-up", &s.lr, 0, kAny},
      {"min-lr", "X", "learning rate at the end of the cosine (default: a tenth)", &s.min_lr, 0, kAny},
      {"warmup", "N", "steps of linear warm-up (default: a tenth of the steps, at most 100)", &s.warmup, 0, kAny},
      {"beta1", "X", "AdamW's decay of the mean (default: 0.9)", &s.beta1, 0, 1},
      {"beta2", "X", "AdamW's decay of the mean square (default: 0.99)", &s.beta2, 0, 1},
      {"weight-decay", "X", "of matrices; vectors have none (default: 0.1)", &s.weight_decay, 0, kAny},
      {"clip", "X", "largest norm of all gradients; longer ones are shortened to it (default: 1)", &s.clip, 0, kAny},
  };
}

std::string Setting::text() const {
  return std::visit(
      [](auto* p) -> std::string {
        if constexpr (requires { p->has_value(); })
          return *p ? fmt::format("{}", **p) : "default";
        else
          return fmt::format("{}", *p);
      },
      field);
}

namespace {

template <class T> void read(const nlohmann::json& j, T& out) { out = j.get<T>(); }
template <class T> void read(const nlohmann::json& j, std::optional<T>& out) { out = j.get<T>(); }

Preset parse(const char* name, const char* document) {
  Preset p{name, document, {}, {}};
  p.setup.model.vocab = 0;
  const auto j = parse_json(document, Comments::skipped);
  if (j.contains("tokens")) p.tokens = parse_token_kind(j["tokens"].get<std::string>());
  for (const Setting& s : settings(p.setup))
    if (j.contains(s.name)) std::visit([&](auto* out) { read(j[s.name], *out); }, s.field);
  return p;
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> list;
    for (auto& [name, document] : kPresets) list.push_back(parse(name, document));
    return list;
  }();
  return all;
}

std::string preset_names() {
  std::string names;
  for (const Preset& p : presets()) names += (names.empty() ? "" : ", ") + p.name;
  return names;
}

const Preset& preset(std::string_view name) {
  for (const Preset& p : presets())
    if (p.name == name) return p;
  fail<ValueError>("unknown preset \"{}\"; the known ones are {}", name, preset_names());
}

}  // namespace dyadic::inline v1::study
