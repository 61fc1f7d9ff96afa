// Lines of chats, completions and texts to train on: samples or a ValueError.
#include "dyadic/error.h"
#include "dyadic/finetune.h"
#include "tests/fuzz/fuzz.h"

DY_FUZZ(samples, "tune/data") {
  namespace dy = dyadic;
  // Of words, written here, so that the program needs no file.
  static const dy::Tokenizer tokenizer = dy::Tokenizer::from_json(
      R"({"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
          "model": {"type": "WordLevel", "vocab": {"user": 0, "assistant": 1, "Hi": 2, ":": 3, "?": 4}, "unk_token": "?"}})",
      "{}",
      "{% for m in messages %}{{ m.role + ' : ' + m.content + ' ' }}{% endfor %}{% if add_generation_prompt %}assistant : {% "
      "endif %}");
  try {
    dy::tune::read_samples({reinterpret_cast<const char*>(data), size}, "data", tokenizer, {.context = 16});
  } catch (const dy::ValueError&) {}
}
