// Tokens: bytes and characters.
#include "study/vocabulary.h"

#include <gtest/gtest.h>

#include "dyadic/error.h"

namespace dyadic::study {
namespace {

template <class F> std::string message(F&& f) {
  try {
    f();
  } catch (const ValueError& e) { return e.what(); }
  return "no error";
}

TEST(Vocabulary, Bytes) {
  const Vocabulary v;
  EXPECT_EQ(v.size(), 256);
  EXPECT_EQ(v.encode("a\xff"), (std::vector<int64_t>{97, 255}));
  EXPECT_EQ(v.decode(std::vector<int64_t>{97, 255, 256, -1}), "a\xff\uFFFD\uFFFD");
  EXPECT_EQ(Vocabulary::parse(v.save()).kind(), TokenKind::bytes);
}

TEST(Vocabulary, Characters) {
  const Vocabulary v({U'\n', U'a', U'é', U'中', U'😀'});
  EXPECT_EQ(v.size(), 5);
  const std::string text = "a😀é\n中";
  EXPECT_EQ(v.encode(text), (std::vector<int64_t>{1, 4, 2, 0, 3}));
  EXPECT_EQ(v.decode(v.encode(text)), text);
  const Vocabulary back = Vocabulary::parse(v.save());
  EXPECT_EQ(back.encode(text), v.encode(text));
  EXPECT_EQ(message([&] { v.encode("ab"); }),
            "encode: a character has no token: 'b' (U+0062) at byte 1 did not occur in the training text; leave it out");
  EXPECT_EQ(message([&] { v.encode("a\xc3"); }),
            "encode: the text is not UTF-8: broken at byte 1; use a model trained on bytes");
}

TEST(Vocabulary, DamagedSave) {
  for (const char* bad : {"", "char", "chars:ba", "chars:aa", "chars:a\xff"}) {
    EXPECT_EQ(message([&] { Vocabulary::parse(bad); }).find("vocabulary: the saved text is damaged: "), 0u) << bad;
  }
  EXPECT_EQ(message([] { parse_token_kind("words"); }), "tokens: unknown kind: \"words\"; use bytes or chars");
}

TEST(Utf8, EveryCodePointAndNothingElse) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    std::string s;
    append_utf8(s, c);
    size_t at = 0;
    char32_t back = 0;
    const bool surrogate = c >= 0xD800 && c < 0xE000;
    ASSERT_EQ(next_code_point(s, at, back), !surrogate) << uint32_t(c);
    if (!surrogate) {
      ASSERT_EQ(back, c);
      ASSERT_EQ(at, s.size());
      size_t cut = 0;
      ASSERT_FALSE(next_code_point(std::string_view(s).substr(0, s.size() - 1), cut, back));
      ASSERT_EQ(cut, 0u);
    }
  }
  for (const char* bad : {"\x80", "\xc0\xaf", "\xc1\x81", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                          "\xf8\x88\x80\x80\x80", "\xc3("}) {
    size_t at = 0;
    char32_t c = 0;
    EXPECT_FALSE(next_code_point(bad, at, c));
  }
}

}  // namespace
}  // namespace dyadic::study
