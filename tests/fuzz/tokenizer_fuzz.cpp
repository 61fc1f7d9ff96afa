// libFuzzer: a text is encoded by small tokenizers of each kind and decoded again; or the bytes are a tokenizer.json. Whatever
// they are, the answer is ids or an Error.
#include "dyadic/error.h"
#include "dyadic/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using dyadic::Tokenizer;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const Tokenizer bytes = Tokenizer::train_bpe({"the theory of the thing, they said: 12 34\n"}, {.vocab_size = 280});
  if (bytes.decode(bytes.encode(text)) != text) __builtin_trap();
  try {
    const Tokenizer t = Tokenizer::from_json(text);
    t.decode(t.encode("Some words, 123 \xf0\x9f\x98\x80 and\r\n\xff."));
  } catch (const dyadic::Error&) {}
  return 0;
}
