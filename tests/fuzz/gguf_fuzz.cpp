// GGUF files, parsed and opened: keys and tensors or a ValueError, and so for all in them, and for the model and the tokenizer
// that they may be.
#include "dyadic/models.h"
#include "dyadic/ops.h"
#include "dyadic/tokenizer.h"
#include "io/gguf.h"
#include "models/gguf/files.h"
#include "tests/fuzz/fuzz.h"
#include "text/gguf_vocabulary.h"

template <class F> static void tolerate(F f) {
  try {
    f();
  } catch (const dyadic::Error&) {}
}

DY_FUZZ(gguf, "io/data") {
  try {
    dyadic::io::parse_gguf({reinterpret_cast<const char*>(data), size}, "input");
  } catch (const dyadic::ValueError&) { return; }
  const dyadic::testing::MemoryFile memory(data, size);
  tolerate([&] {
    const auto file = dyadic::io::GgufFile::open(memory.path());
    tolerate([&] { file->metadata(); });
    for (const dyadic::io::GgufKey& k : file->keys()) {
      tolerate([&] { file->value(k.name); });
      tolerate([&] { file->strings(k.name); });
      tolerate([&] { file->numbers(k.name); });
    }
    for (size_t i = 0; i < file->tensors().size(); ++i) tolerate([&] { file->get(i).to(dyadic::f32); });
    tolerate([&] {
      const auto model = dyadic::models::weights_of(file, dyadic::models::config_of(*file));
      for (size_t i = 0; i < model->tensors().size(); ++i) tolerate([&] { model->get(i).to(dyadic::f32); });
    });
    tolerate([&] { dyadic::models::load(memory.path()); });
    tolerate([&] { dyadic::Tokenizer::load(memory.path()).encode("Once upon a time"); });
    tolerate([&] { dyadic::text::files_of(dyadic::text::vocabulary_of(*file)); });
  });
}
