// dyadic.Tokenizer.
#include "dyadic/tokenizer.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "base/check.h"
#include "data.h"
#include "text/unicode.h"

namespace dyadic::inline v1::python {
namespace {

using Path = std::filesystem::path;

// UnicodeEncodeError names a lone surrogate and its place.
std::string utf8_of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!data) throw nb::python_error();
  return {data, size_t(size)};
}
std::string as_json(nb::handle value) {
  using namespace nb::literals;
  return utf8_of(nb::module_::import_("json").attr("dumps")(value, "ensure_ascii"_a = false));
}
ChatOptions chat_options(nb::handle tools, bool add_generation_prompt, const std::optional<nb::str>& chat_template,
                         const nb::kwargs& variables) {
  ChatOptions o;
  if (chat_template) o.chat_template = utf8_of(*chat_template);
  if (!tools.is_none()) o.tools = as_json(tools);
  o.add_generation_prompt = add_generation_prompt;
  if (variables.size()) o.variables = as_json(variables);
  return o;
}

}  // namespace

void add_tokenizer(nb::module_& m) {
  nb::class_<Tokenizer>(m, "Tokenizer",
                        "Text to token ids and back: Tokenizer.load(PATH) of a tokenizer.json or a model's folder.")
      .def_static(
          "load",
          [](const Path& path) {
            Unlocked unlocked;
            return Tokenizer::load(path.native());
          },
          nb::arg("path"), "A tokenizer.json, or a folder with one and perhaps tokenizer_config.json, chat_template.jinja.")
      .def_static(
          "train_bpe",
          [](const std::vector<std::string>& texts, int64_t vocab_size, int64_t min_frequency,
             const std::vector<std::string>& special_tokens) {
            Unlocked unlocked;
            return Tokenizer::train_bpe(texts, {vocab_size, min_frequency, special_tokens, {}});
          },
          nb::arg("texts"), nb::arg("vocab_size") = 8192, nb::arg("min_frequency") = 2,
          nb::arg("special_tokens") = std::vector<std::string>(), "A byte-level BPE learned from texts.")
      .def(
          "save", [](const Tokenizer& t, const Path& path) { t.save(path.native()); }, nb::arg("path"),
          "Writes a tokenizer.json.")
      .def(
          "save_pretrained", [](const Tokenizer& t, const Path& folder) { t.save_pretrained(folder.native()); },
          nb::arg("folder"), "Writes tokenizer.json and what stood beside it into a folder.")
      .def(
          "encode",
          [](const Tokenizer& t, nb::str given, bool add_special_tokens) {
            const std::string text = utf8_of(given);
            Unlocked unlocked;
            return t.encode(text, add_special_tokens);
          },
          nb::arg("text"), nb::arg("add_special_tokens") = true, "The ids of a text.")
      .def(
          "encode",
          [](const Tokenizer& t, nb::bytes text, bool add_special_tokens) {
            const std::string_view bytes(text.c_str(), text.size());
            Unlocked unlocked;
            return t.encode(bytes, add_special_tokens);
          },
          nb::arg("text"), nb::arg("add_special_tokens") = true,
          "Of any bytes: those that are no UTF-8 come back from decode_bytes where the vocabulary has bytes.")
      .def(
          "_encode_full",
          [](const Tokenizer& t, nb::str first, const std::optional<nb::str>& second, bool add_special_tokens,
             std::optional<int64_t> max_length, const std::string& truncation) {
            const std::string text = utf8_of(first), pair = second ? utf8_of(*second) : std::string();
            EncodeOptions o{.add_special_tokens = add_special_tokens, .max_length = max_length};
            if (truncation == "only_first") o.truncation = Truncation::only_first;
            if (truncation == "only_second") o.truncation = Truncation::only_second;
            Encoding e;
            {
              Unlocked unlocked;
              e = t.encode_full(text, second ? std::optional<std::string_view>(pair) : std::nullopt, o);
            }
            std::vector<int64_t> special(e.special.begin(), e.special.end());
            return std::tuple(std::move(e.ids), std::move(e.type_ids), std::move(special));
          },
          nb::arg("text"), nb::arg("pair").none(), nb::arg("add_special_tokens"), nb::arg("max_length").none(),
          nb::arg("truncation"), "Ids, types and which of them frame a text.")
      .def(
          "encode_prompt",
          [](const Tokenizer& t, nb::str given) {
            const std::string text = utf8_of(given);
            Unlocked unlocked;
            return t.encode_prompt(text);
          },
          nb::arg("text"), "The ids to go on from: a text that begins with the BOS itself, as chats do, gets no second one.")
      .def(
          "decode",
          [](const Tokenizer& t, const std::vector<int64_t>& ids, bool skip_special_tokens) {
            return text::valid_utf8(t.decode(ids, skip_special_tokens));
          },
          nb::arg("ids"), nb::arg("skip_special_tokens") = false, "The text of ids; bytes that are no UTF-8 become U+FFFD.")
      .def(
          "decode_bytes",
          [](const Tokenizer& t, const std::vector<int64_t>& ids, bool skip_special_tokens) {
            const std::string bytes = t.decode(ids, skip_special_tokens);
            return nb::bytes(bytes.data(), bytes.size());
          },
          nb::arg("ids"), nb::arg("skip_special_tokens") = false,
          "The bytes of ids, UTF-8 or not: of a part of a character, too.")
      .def(
          "apply_chat_template",
          [](const Tokenizer& t, nb::object messages, nb::object tools, bool add_generation_prompt, bool tokenize,
             const std::optional<nb::str>& chat_template, const nb::kwargs& variables) -> nb::object {
            const ChatOptions o = chat_options(tools, add_generation_prompt, chat_template, variables);
            const std::string json = as_json(messages);
            if (tokenize) return nb::cast(t.encode_chat(json, o));
            return nb::cast(text::valid_utf8(t.apply_chat_template(json, o)));
          },
          nb::arg("messages"), nb::arg("tools") = nb::none(), nb::arg("add_generation_prompt") = false,
          nb::arg("tokenize") = false, nb::arg("chat_template").none() = nb::none(), nb::arg("variables"),
          "A chat as text by the model's template, or the one that is given; with tokenize=True as ids.")
      .def("__copy__", [](const Tokenizer& t) { return t; })
      .def(
          "__deepcopy__", [](const Tokenizer& t, nb::handle) { return t; }, nb::arg("memo"))  // it never changes
      .def("__getstate__",
           [](const Tokenizer& t) {
             const auto files = t.files();
             const auto of = [&](const char* name) {
               const auto at = files.find(name);
               return at == files.end() ? nb::bytes("", 0) : nb::bytes(at->second.data(), at->second.size());
             };
             return nb::make_tuple(of("tokenizer.json"), of("tokenizer_config.json"), of("chat_template.jinja"));
           })
      .def("__setstate__",
           [](Tokenizer& t, const std::tuple<nb::bytes, nb::bytes, nb::bytes>& state) {
             const auto view = [](const nb::bytes& b) { return std::string_view(b.c_str(), b.size()); };
             const auto& [json, config, chat] = state;
             new (&t) Tokenizer(Tokenizer::from_json(view(json), view(config), view(chat)));
           })
      .def("__repr__", [](const Tokenizer& t) { return fmt::format("Tokenizer(vocab_size={})", t.vocab_size()); })
      .def("token_to_id", &Tokenizer::token_to_id, nb::arg("token"))
      .def("id_to_token", &Tokenizer::id_to_token, nb::arg("id"))
      .def_prop_ro("vocab_size", &Tokenizer::vocab_size)
      .def_prop_ro("bos_token_id", &Tokenizer::bos_id)
      .def_prop_ro("eos_token_id", &Tokenizer::eos_id);
}

}  // namespace dyadic::inline v1::python
