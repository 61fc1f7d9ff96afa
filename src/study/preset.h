// Settings of a run, by name: what presets (files shipped inside the program), --config files and options of the command line
// hold. A new setting is one line of settings().
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "study/text_subject.h"
#include "study/vocabulary.h"

namespace dyadic::inline v1::study {

struct Setting {
  const char *name, *shown, *doc;
  std::variant<int64_t*, double*, bool*, std::optional<int64_t>*, std::optional<double>*> field;
  double least, most;
  std::string text() const;  // of the value; "default" for an optional one without
};
std::vector<Setting> settings(TrainSetup& setup);

struct Preset {
  std::string name, document;  // JSON with comments: settings, and "tokens"
  TokenKind tokens = TokenKind::bytes;
  TrainSetup setup;  // model.vocab: rows that its embedding has at least
};
std::span<const Preset> presets();
const Preset& preset(std::string_view name);  // ValueError listing the known ones
std::string preset_names();                   // "nano, char, ..."

}  // namespace dyadic::inline v1::study
