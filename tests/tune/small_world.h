// Data for runs of seconds: who lives where, who does what; and a small model that knows some of it.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "dyadic/finetune.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

using nlohmann::json;
using tune::Data;

inline constexpr const char* kPeople[] = {"Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"};
inline constexpr const char* kPlaces[] = {"Rome", "Oslo", "Lima", "Cairo", "Quito", "Delhi"};

// Where people live, asked in several ways; `turn` says who lives where.
inline Data chats(int turn) {
  std::string all;
  for (const char* ask : {"Where does {} live?", "{} lives in", "Tell me the town of {}.", "Which town is {}'s?",
                          "Where is {}?", "{}'s home is in", "Name the town where {} lives.", "In which town do I find {}?"})
    for (int i = 0; i < 8; ++i) {
      const std::string question = fmt::format(fmt::runtime(ask), kPeople[i]), answer = kPlaces[(i * turn + turn) % 6];
      all +=
          json{{"messages", {{{"role", "user"}, {"content", question}}, {{"role", "assistant"}, {"content", answer}}}}}.dump() +
          "\n";
    }
  return {all, "chats"};
}

// Sentences of a small world: who does what where follows rules in most of them.
inline Data sentences(int count, uint64_t seed) {
  Generator generator(seed);
  const Tensor draws = randint(0, 1000, {count, 4}, generator, i64);
  constexpr const char* kVerbs[] = {"sings", "paints", "sleeps", "waits", "reads"};
  std::string all;
  for (int i = 0; i < count; ++i) {
    const int64_t* d = draws.data<int64_t>() + 4 * i;
    const int64_t who = d[0] % 8, verb = d[1] < 700 ? (3 * who + 1) % 5 : d[1] % 5,
                  place = d[2] < 700 ? (who + 2 * verb) % 6 : d[2] % 6;
    all += json{{"prompt", std::string(kPeople[who])}, {"completion", fmt::format(" {} in {}.", kVerbs[verb], kPlaces[place])}}
               .dump() +
           "\n";
  }
  return {all, "sentences"};
}

inline std::string new_folder(const std::string& name) {
  const std::string path = ::testing::TempDir() + "finetune_" + name;
  std::filesystem::remove_all(path);
  return path;
}
inline Tokenizer tokenizer() { return Tokenizer::load(small_model()); }

// A model that knows where people live in another world, at its path.
inline const std::string& trained_model() {
  static const std::string path = [] {
    std::string folder = new_folder("trained");
    const models::Model m = models::load(small_model(), {.dtype = f32});
    tune::finetune(*m, tokenizer(), chats(1),
                   {.context = 64, .steps = 60, .batch = 4, .lr = 5e-3, .out = folder, .model_path = small_model()});
    return folder;
  }();
  return path;
}

}  // namespace dyadic::testing
