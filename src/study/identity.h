// What makes two runs the same study: settings by name, kept in report.json and compared by --resume.
#pragma once
#include <string>

#include "dyadic/data.h"
#include "dyadic/study.h"

namespace dyadic::inline v1::study {

// What was asked of any subject. Tolerance and what is minimized only judge a study, and modules are looked into afterwards.
void add_options(Identity& identity, const Options& options, const std::vector<Recipe>& recipes);
std::string joined(const Identity& identity);  // in one line, as checkpoints keep it
// "its clip is 1, here it is 0.01": of the first setting that differs; "" of none.
std::string difference(const Identity& theirs, const Identity& mine);
RecipeFields fields_of(const Recipe& recipe);
std::string text(const RecipeFields& fields);

// SHA-256 over the tensors of batches. What is no tensor counts for nothing.
class Digest {
  struct State;
  std::shared_ptr<State> state_;

 public:
  Digest();
  void add(const data::Value& batch);
  std::string hex() const;  // empty: there was none
};

}  // namespace dyadic::inline v1::study
