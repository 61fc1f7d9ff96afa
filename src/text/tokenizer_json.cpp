// Reading tokenizer.json and tokenizer_config.json.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "dyadic/gguf.h"
#include "io/bad_file.h"
#include "text/jinja.h"
#include "text/tokenizer_state.h"
#include "text/unicode.h"

namespace dyadic::inline v1 {
namespace text {
namespace {

Json read_json(std::string_view text) {
  try {
    return parse_json(text);
  } catch (const Json::parse_error& e) { fail<ValueError>("not JSON at byte {}", e.byte); } catch (const Json::exception&) {
    fail<ValueError>("not JSON: a number out of range");
  }
}

void read_added(const Json& j, TokenizerState& s) {
  auto list = j.find("added_tokens");
  if (list == j.end()) return;
  DY_CHECK_AS(ValueError, list->is_array(), "added_tokens is not a list");
  const uint64_t limit = (s.model->vocabulary().size() + list->size()) * 4 + 4096;
  for (const Json& e : *list) {
    AddedToken t;
    t.content = text_field(e, "content");
    const Json& id = member(e, "id");
    DY_CHECK_AS(ValueError, id.is_number_unsigned() && id.get<uint64_t>() < limit,
                "added token \"{}\": its id is no number below {}", valid_utf8(t.content), limit);
    t.id = id.get<int64_t>();
    t.special = flag(e, "special", false);
    t.normalized = flag(e, "normalized", !t.special);
    t.left = flag(e, "lstrip", false);
    t.right = flag(e, "rstrip", false);
    t.word = flag(e, "single_word", false);
    s.add(std::move(t));
  }
}

Ids ids_of_special(const Json& processor, const std::string& name) {
  const Json& ids = member(member(member(processor, "special_tokens"), name.c_str()), "ids");
  Ids out;
  for (const Json& id : ids) {
    DY_CHECK_AS(ValueError, id.is_number_unsigned(), "post_processor: special token \"{}\": an id is no number",
                valid_utf8(name));
    out.push_back(id.get<int64_t>());
  }
  return out;
}
int64_t type_of_part(const Json& part) {
  const Json& type = part.contains("type_id") ? part["type_id"] : Json(0u);
  DY_CHECK_AS(ValueError, type.is_number_unsigned(), "post_processor: a type_id is no number");
  return type.get<int64_t>();
}
std::vector<FramePart> template_parts(const Json& j, const char* name) {
  std::vector<FramePart> parts;
  const Json& list = member(j, name);
  DY_CHECK_AS(ValueError, list.is_array(), "post_processor: {} is not a list", name);
  for (const Json& part : list) {
    if (part.is_object() && part.contains("Sequence")) {
      const Json& sequence = part["Sequence"];
      const int text = sequence.is_object() && sequence.contains("id") && sequence["id"] == "B" ? 1 : 0;
      const auto same = [&](const FramePart& p) { return p.text == text; };
      DY_CHECK_AS(ValueError, std::ranges::none_of(parts, same), "post_processor: {} has the text twice", name);
      parts.push_back({.text = text, .type = type_of_part(sequence)});
      continue;
    }
    const Json& token = member(part, "SpecialToken");
    parts.push_back({.ids = ids_of_special(j, text_field(token, "id")), .type = type_of_part(token)});
  }
  return parts;
}
Frame template_frame(const Json& j) {
  Frame f{.single = template_parts(j, "single")};
  if (j.contains("pair") && !j["pair"].is_null()) f.pair = template_parts(j, "pair");
  Ids* to = &f.before;
  for (const FramePart& p : f.single) {
    DY_CHECK_AS(ValueError, p.text < 1, "post_processor: single has a second text");
    if (p.text == 0) to = &f.after;
    to->insert(to->end(), p.ids.begin(), p.ids.end());
  }
  DY_CHECK_AS(ValueError, to == &f.after, "post_processor: single does not have the text");
  for (int text : {0, 1})
    DY_CHECK_AS(ValueError, f.pair.empty() || std::ranges::any_of(f.pair, [&](const FramePart& p) { return p.text == text; }),
                "post_processor: pair does not have both texts");
  return f;
}
int64_t id_of_pair(const Json& j, const char* name) {
  const Json& pair = member(j, name);
  DY_CHECK_AS(ValueError, pair.is_array() && pair.size() == 2 && pair[1].is_number_unsigned(),
              "post_processor: {} is not a token and its id", name);
  return pair[1].get<int64_t>();
}

}  // namespace

Frame plain_frame(Ids before, Ids after, bool again) {
  Frame f{.single = {{.ids = before}, {.text = 0}, {.ids = after}}};
  f.pair = f.single;
  if (again) f.pair.push_back({.ids = before, .type = 1});
  f.pair.push_back({.text = 1, .type = 1}), f.pair.push_back({.ids = after, .type = 1});
  f.before = std::move(before), f.after = std::move(after);
  return f;
}

Frame make_frame(const Json& j, int depth) {
  if (j.is_null()) return {};
  DY_CHECK_AS(ValueError, depth < kDeepestStage, "post_processor: sequences nested more than {} deep", kDeepestStage);
  const std::string type = type_of_stage(j, "post_processor");
  if (type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return template_frame(j);
  if (type == "BertProcessing") return plain_frame({id_of_pair(j, "cls")}, {id_of_pair(j, "sep")}, false);
  if (type == "RobertaProcessing") {
    const int64_t cls = id_of_pair(j, "cls"), sep = id_of_pair(j, "sep");
    Frame f = plain_frame({cls}, {sep}, false);
    f.pair = {{.ids = {cls}}, {.text = 0}, {.ids = {sep, sep}}, {.text = 1}, {.ids = {sep}}};
    return f;
  }
  if (type == "Sequence") {
    Frame f;
    for (const Json& part : member(j, "processors")) {
      Frame inner = make_frame(part, depth + 1);
      f.several = f.several || inner.several || (!f.single.empty() && !inner.single.empty());
      if (!inner.single.empty()) f.single = std::move(inner.single), f.pair = std::move(inner.pair);
      f.before.insert(f.before.begin(), inner.before.begin(), inner.before.end());
      f.after.insert(f.after.end(), inner.after.begin(), inner.after.end());
    }
    if (f.several) {  // one around the other
      const Frame all = plain_frame(f.before, f.after, false);
      f.single = all.single;
    }
    return f;
  }
  fail<ValueError>("post_processor {} is not supported", valid_utf8(type));
}

std::shared_ptr<TokenizerState> read_tokenizer(std::string_view text) {
  const Json j = read_json(text);
  DY_CHECK_AS(ValueError, j.is_object(), "it is not an object");
  const Json none;
  const auto stage = [&](const char* name) -> const Json& {
    auto at = j.find(name);
    return at == j.end() ? none : *at;
  };
  auto s = std::make_shared<TokenizerState>();
  s->normalizer = make_normalizer(stage("normalizer"));
  s->pre_tokenizer = make_pre_tokenizer(stage("pre_tokenizer"));
  s->model = make_model(stage("model"));
  s->decoder = make_decoder(stage("decoder"));
  s->frame = make_frame(stage("post_processor"));
  read_added(j, *s);
  for (const auto* parts : {&s->frame.single, &s->frame.pair})
    for (const FramePart& p : *parts)
      for (int64_t id : p.ids) DY_CHECK_AS(ValueError, s->token(id), "post_processor: {} is the id of no token", id);
  s->json = text;
  return s;
}

void read_config(TokenizerState& s, std::string_view config, std::string_view chat_template) {
  std::string source(chat_template);
  if (!config.empty()) {
    const Json j = read_json(config);
    DY_CHECK_AS(ValueError, j.is_object(), "it is not an object");
    for (const char* name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
      auto at = j.find(name);
      if (at == j.end()) continue;
      if (at->is_string()) s.special_texts[name] = at->get<std::string>();
      if (at->is_object()) s.special_texts[name] = text_field(*at, "content");
    }
    auto at = j.find("chat_template");
    if (source.empty() && at != j.end()) {
      if (at->is_string()) source = at->get<std::string>();
      if (at->is_array())  // several by name
        for (const Json& e : *at)
          if (source.empty() || text_field(e, "name") == "default") source = text_field(e, "template");
    }
  }
  if (!source.empty()) s.chat_template = std::make_shared<const jinja::Template>(jinja::Template::untried(source));
}

std::shared_ptr<TokenizerState> tokenizer_state(std::string_view json, std::string_view config,
                                                std::string_view chat_template) {
  auto s = read_tokenizer(json);
  if (!config.empty()) s->beside["tokenizer_config.json"] = config;
  if (!chat_template.empty()) s->beside["chat_template.jinja"] = chat_template;
  read_config(*s, config, chat_template);
  return s;
}

}  // namespace text

Tokenizer Tokenizer::from_json(std::string_view tokenizer, std::string_view config, std::string_view chat_template) {
  return Tokenizer(text::tokenizer_state(tokenizer, config, chat_template));
}

Tokenizer Tokenizer::load(const std::string& path) {
  struct stat info{};
  const bool folder = ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  const std::string file = folder ? path + "/tokenizer.json" : path;
  std::string at = file;  // what an error is about
  const auto there = [&](const char* name) { return ::access((path + "/" + name).c_str(), F_OK) == 0; };
  const auto read = [&](const char* name) {
    if (!folder || !there(name)) return std::string();
    at = path + "/" + name;
    return io::read_text(at);
  };
  try {
    if (!folder || !there("tokenizer.json"))
      if (const auto gguf = io::GgufFile::find(path)) {
        at = gguf->path();
        return Tokenizer(text::read_gguf(gguf));
      }
    const std::string text = io::read_text(file);
    auto state = text::read_tokenizer(text);
    const std::string map = read("special_tokens_map.json"), jinja = read("chat_template.jinja"),
                      config = read("tokenizer_config.json");
    text::read_config(*state, config, jinja);
    const std::pair<const char*, const std::string*> beside[] = {
        {"special_tokens_map.json", &map}, {"chat_template.jinja", &jinja}, {"tokenizer_config.json", &config}};
    for (auto [name, content] : beside)
      if (!content->empty()) state->beside[name] = *content;
    return Tokenizer(std::move(state));
  } catch (const io::BadFile&) { throw; } catch (const ValueError& e) {
    io::bad(at, "{}", e.what());
  }
}

}  // namespace dyadic::inline v1
