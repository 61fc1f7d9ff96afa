// libFuzzer: whatever the bytes are, as a chat template they give text or an Error, in bounded steps.
#include "dyadic/error.h"
#include "text/jinja.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace jinja = dyadic::text::jinja;
  static const jinja::Value messages = jinja::parse_json(
      R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "text", "text": "x"}]}])", "messages");
  try {
    const jinja::Template t({reinterpret_cast<const char*>(data), size});
    t.render({{"messages", messages}, {"bos_token", "<s>"}, {"add_generation_prompt", true}}, 0,
             {.steps = 20000, .bytes = 1 << 20});
  } catch (const dyadic::Error&) {}
  return 0;
}
