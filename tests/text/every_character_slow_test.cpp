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
TEST(every_character, albert) { check("albert", "aecc5d00dbbdace5fcc12399c24d96741e244b875aeef69c26ef7641b90b1621"); }
TEST(every_character, bert) { check("bert", "a54769bd98364d844d3d586c842c1d5031fc9d9fc53be12ad833c7f5b642593c"); }
TEST(every_character, bert_cased) { check("bert_cased", "5f02c5347cd6e71b8b12b40030873d3a98ed5354e069a030b44d3a655b926eb1"); }
TEST(every_character, clip) { check("clip", "c467d26de1cbbd7f5788a9173aa6ef6dd076918c879d764413e4fe51ee9268a3"); }
TEST(every_character, deepseek) { check("deepseek", "be1e9c2ac6a62935ad7c15b8ac0793aa45d4a8b1421801c8d4ac6ee9669a9467"); }
TEST(every_character, gemma) { check("gemma", "12e489094b7fc537c7fc61b6fe769e83f0e364300fe0d34aed6b26e5b1cbf423"); }
TEST(every_character, gpt2) { check("gpt2", "9e737e9064617198af944d1cc7eea51541d9c2fd78b3f836efc282d86cb8e22f"); }
TEST(every_character, llama2) { check("llama2", "e62f290f595a70c3209b4f80d258d7b3e8ff4f6dd7aed95f24c56a67d8a9181f"); }
TEST(every_character, llama3) { check("llama3", "339fd5adbd07a75ff0faed8447a98f562152ce0a3139b096a07d8e293fa9bb0a"); }
TEST(every_character, mistral) { check("mistral", "0d499d218653c1791a5f8b7ba2fb5e1cb5253e086c667ce0ec43c0121bd5dc1a"); }
TEST(every_character, o200k) { check("o200k", "4191d8f9799d6641a035e3294c64ddbb3debddcbb85f73626e8c0fdc8a26fd73"); }
TEST(every_character, qwen2) { check("qwen2", "b1833771bc892ce3a32dac207b73c9cb76899b1e1b783fca97823f6f34753267"); }
TEST(every_character, roberta) { check("roberta", "ffcf6c685c2949157b0bc85ec195fc3603a7b93b97edc0239536fd3a5e1b4692"); }
TEST(every_character, starcoder) { check("starcoder", "467ec73bc403b91993b966915d2b0bf3473eec8d22fe87df575ba4e329260c51"); }
TEST(every_character, t5) { check("t5", "51dd03a5eaa7dd655adffa091f5a0495e16a1c86bd2b99f0ed3309367dbbea7d"); }
TEST(every_character, words) { check("words", "fd22cfbb101f16be105c77f1e1fc253afb6ee37b07e71e83db6ed13f2d5238f8"); }

}  // namespace
}  // namespace dyadic
