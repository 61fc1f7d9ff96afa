// A trainer's whole state as one file: weights and optimizer states by name, and a JSON document of everything else.
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "dyadic/io.h"
#include "study/trainer.h"

namespace dyadic::inline v1::study {
namespace {

// The first item of two comma-separated texts that differs, for the message.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  size_t i = 0, from = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) {
    if (a[i] == ',') from = i + 2;
    ++i;
  }
  auto item = [&](const std::string& s) {
    return from < s.size() ? s.substr(from, s.find(',', from) - from) : std::string("nothing");
  };
  return {item(a), item(b)};
}

}  // namespace

void Trainer::save(const std::string& path, const std::string& fingerprint) const {
  GeneratorState random = generator_state();
  nlohmann::ordered_json j;
  j["version"] = 1;
  j["fingerprint"] = fingerprint;
  j["step"] = done_;  // also the position in the data and in the schedule
  j["optimizer_step"] = optimizer_->steps();
  j["scaler"] = {{"scale", scaler_.get_scale()}, {"growth", scaler_.growth_tracker()}, {"skipped", scaler_.skipped()}};
  j["updates"] = {{"nonzero", optimizer_->updates().nonzero}, {"lost", optimizer_->updates().lost}};
  j["generator"] = {{"seed", random.seed}, {"calls", random.calls}};
  io::Checkpoint c;
  c.json = j.dump();
  c.set("model", model_->state_dict());
  c.set("optimizer", optimizer_->state_dict());
  c.save(path);
}

void Trainer::load(const std::string& path, const std::string& fingerprint) {
  io::Checkpoint c = io::Checkpoint::load(path);
  auto j = nlohmann::json::parse(c.json, nullptr, false);
  bool good = j.is_object() && j.contains("version") && j["version"].is_number_integer() && j.contains("fingerprint") &&
              j["fingerprint"].is_string();
  DY_CHECK_AS(ValueError, good, "checkpoint {}: not a training run's; delete it or pass another folder", path);
  DY_CHECK_AS(ValueError, j["version"] == 1, "checkpoint {}: of version {}, newer than this program's 1; update dyadic", path,
              j["version"].dump());
  std::string theirs = j["fingerprint"].get<std::string>();
  if (theirs != fingerprint) {
    auto [there, here] = first_difference(theirs, fingerprint);
    fail<ValueError>(
        "checkpoint {}: of another run: there {}; here {}; repeat the options it was begun with, or pass another folder", path,
        there, here);
  }
  try {
    model_->load_state_dict(c.get("model"));
    // Before the first step there are no states.
    optimizer_->load_state_dict(c.has("optimizer") ? c.get("optimizer") : nn::NamedTensors{},
                                j.at("optimizer_step").get<int64_t>());
    optimizer_->set_updates({j.at("updates").at("nonzero").get<int64_t>(), j.at("updates").at("lost").get<int64_t>()});
    scaler_.load_state(j.at("scaler").at("scale").get<double>(), j.at("scaler").at("growth").get<int64_t>(),
                       j.at("scaler").at("skipped").get<int64_t>());
    set_generator_state({j.at("generator").at("seed").get<uint64_t>(), j.at("generator").at("calls").get<uint64_t>()});
    done_ = j.at("step").get<int64_t>();
  } catch (const nlohmann::json::exception& e) {
    fail<ValueError>("checkpoint {}: its document is incomplete ({}); delete it or pass another folder", path, e.what());
  }
}

}  // namespace dyadic::inline v1::study
