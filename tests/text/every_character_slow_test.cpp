// Every code point in "a{c}b 1{c}": the hash of all ids is Hugging Face's (data/make_tokenizers.py).
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "dyadic/tokenizer.h"
#include "tests/test_data.h"
#include "text/unicode.h"

namespace dyadic {
namespace {

void check(const char* name, const char* hash) {
  const Tokenizer t = Tokenizer::load(test_data(std::string("text/data/") + name + ".json"));
  Sha256 sum;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c - 0xd800 < 0x800) continue;
    std::string s;
    text::append_utf8(s, c);
    std::string line;
    for (int64_t id : t.encode("a" + s + "b 1" + s, false)) line += (line.empty() ? "" : " ") + std::to_string(id);
    sum.update(line + "\n");
  }
  EXPECT_EQ(sum.hex(), hash) << name;
}
TEST(every_character, gpt2) { check("gpt2", "9e737e9064617198af944d1cc7eea51541d9c2fd78b3f836efc282d86cb8e22f"); }
TEST(every_character, llama3) { check("llama3", "339fd5adbd07a75ff0faed8447a98f562152ce0a3139b096a07d8e293fa9bb0a"); }
TEST(every_character, o200k) { check("o200k", "4191d8f9799d6641a035e3294c64ddbb3debddcbb85f73626e8c0fdc8a26fd73"); }

}  // namespace
}  // namespace dyadic
