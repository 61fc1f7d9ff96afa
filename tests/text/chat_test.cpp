// Chat templates against stored results of Jinja as transformers sets it up (data/make_chats.py), and their bounds.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "dyadic/error.h"
#include "dyadic/tokenizer.h"
#include "tests/test_data.h"
#include "text/jinja.h"

namespace dyadic {
namespace {

using nlohmann::ordered_json;
constexpr const char* kWords =
    R"({"model": {"type": "WordLevel", "vocab": {"<s>": 0, "hi": 1, "<unk>": 2}, "unk_token": "<unk>"},
  "pre_tokenizer": {"type": "WhitespaceSplit"}, "added_tokens": [{"id": 0, "content": "<s>", "special": true}],
  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
                     "special_tokens": {"<s>": {"ids": [0]}}}})";
constexpr const char* kConfig = R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>"})";

TEST(chat, a_text_that_begins_with_the_bos_gets_no_second_one) {
  const Tokenizer t = Tokenizer::from_json(kWords, kConfig);
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(t.encode("<s> hi"), (Ids{0, 0, 1}));
  EXPECT_EQ(t.encode_prompt("<s> hi"), (Ids{0, 1}));
  EXPECT_EQ(t.encode_prompt("<s> <s> hi"), (Ids{0, 0, 1}));
  EXPECT_EQ(t.encode_prompt("hi <s>"), (Ids{0, 1, 0}));
  EXPECT_EQ(t.encode_prompt(""), Ids{0});
}

// A model is good for more than chats.
TEST(chat, a_template_that_is_not_supported_fails_when_it_is_used) {
  const Tokenizer t = Tokenizer::from_json(kWords, kConfig, "{% block a %}{% endblock %}");
  EXPECT_TRUE(t.has_chat_template());
  EXPECT_EQ(t.encode("hi", false), std::vector<int64_t>{1});
  try {
    t.apply_chat_template("[]");
    FAIL();
  } catch (const ValueError& e) { EXPECT_STREQ(e.what(), "chat template, line 1: the block \"block\" is not supported"); }
}

TEST(chat, same_text_as_jinja) {
  std::ifstream f(test_data("text/data/chats.json"));
  const ordered_json data = ordered_json::parse(f);
  ASSERT_GE(data["cases"].size(), 160u);
  int refused = 0;
  for (const auto& c : data["cases"]) {
    const std::string name = c[0].get<std::string>();
    const Tokenizer t = Tokenizer::from_json(kWords, kConfig, data["templates"][name].get<std::string>());
    ChatOptions o;
    const auto& tools = data["tools"][c[2].get<size_t>()];
    if (!tools.is_null()) o.tools = tools.dump();
    o.add_generation_prompt = c[3].get<bool>();
    if (o.add_generation_prompt) o.variables = R"({"enable_thinking": false})";
    o.now = 1700000000;
    const std::string messages = data["messages"][c[1].get<size_t>()].dump();
    if (c[4].is_null()) {
      ++refused;
      EXPECT_THROW(t.apply_chat_template(messages, o), ValueError) << name;
    } else {
      EXPECT_EQ(t.apply_chat_template(messages, o), c[4].get<std::string>()) << name;
    }
  }
  EXPECT_LT(refused, 30);
}

std::string error_of(const std::string& source) {
  try {
    text::jinja::Template(source).render({}, 0, {.steps = 100'000, .bytes = 1 << 20});
  } catch (const ValueError& e) { return e.what(); }
  return "";
}
TEST(chat, names_what_is_wrong_and_where) {
  EXPECT_EQ(error_of("a\n{% include 'x' %}"), "chat template, line 2: the block \"include\" is not supported");
  EXPECT_EQ(error_of("\n\n{{ x | batch(2) }}"), "chat template, line 3: the filter \"batch\" is not supported");
  EXPECT_EQ(error_of("{{ '{}'.format(1) }}"),
            "chat template, line 1: the method \"format\" is not supported, or what it is called of has none");
  EXPECT_EQ(error_of("{{ '%s' % 1 }}"),
            "chat template, line 1: the sign % of a str, which would format it, is not supported; ~ joins texts");
  EXPECT_EQ(error_of("{% with a = 1 %}{% endwith %}"), "chat template, line 1: the block \"with\" is not supported");
  EXPECT_EQ(error_of("{{ x is prime }}"), "chat template, line 1: the test \"prime\" is not supported");
  EXPECT_EQ(error_of("{% if x %}"), "chat template, line 1: \"endif\" is missing");
  EXPECT_EQ(error_of("{{ x.y }}"), "chat template, line 1: \"x\" is not defined");
  EXPECT_EQ(error_of("{{ raise_exception('no') }}"), "chat template, line 1: no");
  EXPECT_EQ(error_of("{{ ''.__class__.__mro__ }}"), "chat template, line 1: \"__class__\" is not defined");
  EXPECT_EQ(error_of("{{ 9223372036854775807 + 1 }}"), "chat template, line 1: an integer becomes too large");
}
TEST(chat, is_bounded) {
  EXPECT_NE(error_of("{% for i in range(1000000) %}{% endfor %}").find("too m"), std::string::npos);
  EXPECT_NE(error_of("{{ 'ab' * 1000000000000 }}").find("too much memory"), std::string::npos);
  EXPECT_NE(
      error_of("{% set n = namespace(s='x') %}{% for i in range(64) %}{% set n.s = n.s + n.s %}{% endfor %}").find("too much"),
      std::string::npos);
  EXPECT_NE(error_of("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").find("deep"), std::string::npos);
  EXPECT_NE(error_of("{{ " + std::string(100000, '(') + "1" + std::string(100000, ')') + "}}").find("deep"), std::string::npos);
  EXPECT_NE(error_of("{{ " + std::string(100000, '-') + "1 }}").find("deep"), std::string::npos);
  std::string sum = "{{ 1";
  for (int i = 0; i < 1000; ++i) sum += "+1";
  EXPECT_NE(error_of(sum + " }}").find("levels"), std::string::npos);
  EXPECT_NE(error_of("{% set n = namespace(l=[]) %}{% for i in range(1000) %}{% set n.l = [n.l] %}{% endfor %}").find("deep"),
            std::string::npos);
  EXPECT_EQ(
      error_of("{% set n = namespace() %}{% set n.me = n %}{% for i in [1] %}{% set n.f = loop.changed(loop) %}{% endfor %}"),
      "");
}

TEST(chat, has_one_bos) {
  const std::string messages = R"([{"content": "hi"}])";
  for (const char* source : {"{{ messages[0].content }}", "{{ bos_token }} {{ messages[0].content }}",
                             "{{ bos_token }}{{ bos_token }}{{ messages[0].content }}"}) {
    const Tokenizer t = Tokenizer::from_json(kWords, kConfig, source);
    EXPECT_EQ(t.encode_chat(messages), (std::vector<int64_t>{0, 1})) << source;
  }
  EXPECT_THROW(Tokenizer::from_json(kWords).apply_chat_template("[]"), ValueError);
  EXPECT_THROW(Tokenizer::from_json(kWords, kConfig, "x").apply_chat_template("{"), ValueError);
}

}  // namespace
}  // namespace dyadic
