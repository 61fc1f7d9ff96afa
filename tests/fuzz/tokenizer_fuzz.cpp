// A text encoded and decoded again, and a tokenizer.json: ids or an Error.
#include "dyadic/error.h"
#include "dyadic/tokenizer.h"
#include "tests/fuzz/fuzz.h"

DY_FUZZ(tokenizer, "text/data") {
  using dyadic::Tokenizer;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const Tokenizer bytes = Tokenizer::train_bpe({"the theory of the thing, they said: 12 34\n"}, {.vocab_size = 280});
  if (bytes.decode(bytes.encode(text)) != text) __builtin_trap();
  try {
    const Tokenizer t = Tokenizer::from_json(text);
    t.decode(t.encode("Some words, 123 \xf0\x9f\x98\x80 and\r\n\xff."));
  } catch (const dyadic::Error&) {}
}
