// A trainer's whole state as one file: a run's checkpoint whose config is the fingerprint.
#include <optional>

#include "base/check.h"
#include "base/json.h"
#include "device/limit.h"
#include "dyadic/train.h"
#include "study/trainer.h"
#include "train/parted.h"
#include "train/parts.h"

namespace dyadic::inline v1::study {
namespace {

// "preset char, steps 100": by its words, so that a difference is one of settings.
std::string config_of(const std::string& fingerprint) {
  auto config = nlohmann::json::object();
  for (size_t begin = 0; begin < fingerprint.size();) {
    const size_t end = std::min(fingerprint.find(", ", begin), fingerprint.size());
    const std::string item = fingerprint.substr(begin, end - begin);
    const size_t space = std::min(item.find(' '), item.size());
    config[item.substr(0, space)] = item.substr(std::min(space + 1, item.size()));
    begin = end + 2;
  }
  return dump_json(config);
}

std::string setting(const std::string& name, const std::string& value) {
  return value.empty() ? "nothing" : name + " " + parse_json(value).get<std::string>();
}

}  // namespace

void Trainer::describe(train::Checkpoint& c, const std::string& fingerprint) {
  if (parallel_)
    train::add_trained(
        c, {"model", train::module_part(model()), train::optimizer_part(*optimizer_, modules_), modules_[0].first + "."},
        *parallel_, model());
  else
    c.add("model", model()).add("optimizer", *optimizer_);
  c.add("scaler", scaler_).add("schedule", *schedule_);
  stream_->add_to(c);
  c.config(config_of(fingerprint));
}

void Trainer::save(const std::string& path, const std::string& fingerprint) {
  train::Checkpoint c("");
  describe(c, fingerprint);
  if (parallel_)
    train::save_at(c, path, done_, parallel_->group(), spread());
  else
    c.save_file(path, done_);
}

void Trainer::load(const std::string& path, const std::string& fingerprint) try {
  std::optional<WithoutLimit> whole;  // states of several planes are in memory before they go to disk
  if (plan_.on_disk) whole.emplace();
  train::Checkpoint c("");
  describe(c, fingerprint);
  done_ = c.load(path).step;
} catch (const train::DifferentRun& e) {
  for (const train::Difference& d : e.differences)
    if (d.part == "config")
      fail<ValueError>(
          "checkpoint {}: of another run: there {}; here {}; repeat the options it was begun with, or pass another folder",
          path, setting(d.name, d.there), setting(d.name, d.here));
  throw;
}

}  // namespace dyadic::inline v1::study
