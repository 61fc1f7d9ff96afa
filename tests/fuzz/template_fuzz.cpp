// A chat template: text or an Error, in bounded steps.
#include "dyadic/error.h"
#include "tests/fuzz/fuzz.h"
#include "text/jinja.h"

DY_FUZZ(template, "text/data") {
  namespace jinja = dyadic::text::jinja;
  static const jinja::Value messages = jinja::parse_json(
      R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "text", "text": "x"}]}])", "messages");
  try {
    const jinja::Template t({reinterpret_cast<const char*>(data), size});
    t.render({{"messages", messages}, {"bos_token", "<s>"}, {"add_generation_prompt", true}}, 0,
             {.steps = 20000, .bytes = 1 << 20});
  } catch (const dyadic::Error&) {}
}
