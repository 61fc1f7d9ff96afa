// A trainer's whole state as one file: a run's checkpoint whose config is the fingerprint.
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "dyadic/train.h"
#include "study/trainer.h"

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
  return config.dump();
}

std::string setting(const std::string& name, const std::string& value) {
  return value.empty() ? "nothing" : name + " " + nlohmann::json::parse(value).get<std::string>();
}

}  // namespace

void Trainer::describe(train::Checkpoint& c, const std::string& fingerprint) {
  c.add("model", *model_).add("optimizer", *optimizer_).add("scaler", scaler_).add("schedule", *schedule_);
  stream_->add_to(c);
  c.config(config_of(fingerprint));
}

void Trainer::save(const std::string& path, const std::string& fingerprint) const {
  train::Checkpoint c("");
  const_cast<Trainer*>(this)->describe(c, fingerprint);  // saving only reads
  c.save_file(path, done_);
}

void Trainer::collect() {
  if (parallel_) parallel_->collect(*optimizer_);
}
void Trainer::keep_own() {
  if (parallel_) parallel_->keep_own(*optimizer_);
}

void Trainer::load(const std::string& path, const std::string& fingerprint) try {
  std::optional<distributed::Gathered> all;
  if (parallel_) all.emplace(*parallel_);
  train::Checkpoint c("");
  describe(c, fingerprint);
  done_ = c.load(path).step;
  keep_own();
} catch (const train::DifferentRun& e) {
  for (const train::Difference& d : e.differences)
    if (d.part == "config")
      fail<ValueError>(
          "checkpoint {}: of another run: there {}; here {}; repeat the options it was begun with, or pass another folder",
          path, setting(d.name, d.there), setting(d.name, d.here));
  throw;
}

}  // namespace dyadic::inline v1::study
