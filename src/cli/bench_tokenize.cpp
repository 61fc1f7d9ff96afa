// Text to tokens: a made text of a megabyte, and of each kind of tokenizer one made of its words.
#include <cmath>

#include "base/json.h"
#include "base/random.h"
#include "cli/bench.h"
#include "dyadic/tokenizer.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr size_t kBytes = 1'000'000, kWords = 20'000;
using Document = nlohmann::json;  // tokens are looked up by name
constexpr std::string_view kBlankSign = "\u2581";

// Words of one to four syllables, the k-th as frequent as 1 / k.
std::string made_text() {
  constexpr std::string_view kSyllables[] = {"ka", "lo",  "ten", "ri", "mas", "e",   "qu", "ith",
                                             "on", "ber", "ul",  "sa", "th",  "ing", "de", "xo"};
  int64_t drawn = 0;
  const auto draw = [&] {
    double u = 0;
    random_kernel().uniform_f64(1, 0x746f6b65, uint64_t(drawn++), 1, &u);
    return u;
  };
  std::vector<std::string> words(kWords);
  for (std::string& w : words)
    for (double more = 0; more < 0.65 && w.size() < 16; more = draw())
      w += kSyllables[size_t(draw() * double(std::size(kSyllables)))];
  std::string text;
  for (int64_t n = 1; text.size() < kBytes; ++n) {
    text += words[size_t(std::pow(double(kWords), draw())) - 1];
    text += n % 97 == 0 ? ".\n" : n % 11 == 0 ? ", " : n % 53 == 0 ? fmt::format(" {} ", n) : " ";
  }
  text.resize(kBytes);
  return text;
}

std::string with_blank_signs(std::string token) {  // of byte-level BPE's own sign
  constexpr std::string_view kOwn = "\u0120";
  for (size_t i = 0; (i = token.find(kOwn, i)) != token.npos; i += kBlankSign.size()) token.replace(i, kOwn.size(), kBlankSign);
  return token;
}

using Tokenizers = std::vector<std::pair<const char*, Tokenizer>>;
Tokenizers made_tokenizers(const std::string& text) {
  const Tokenizer bytes = Tokenizer::train_bpe({text}, {.vocab_size = 16'000});
  StoredVocabulary v = bytes.stored_vocabulary();
  Tokenizers all = {{"byte-level BPE", bytes}};
  v.pre = "llama-bpe";
  all.emplace_back("byte-level BPE, llama's", Tokenizer::from_vocabulary(v));
  Document ids = Document::object(), merges = Document::array(), pieces = Document::array(), words = {{"[UNK]", 0}};
  std::vector<std::string> tokens;
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    const std::string token = with_blank_signs(v.tokens[i]);
    tokens.push_back(token);
    ids[token] = i;
    pieces.push_back({token, -std::log(double(i + 2))});
    const bool begins = token.starts_with(kBlankSign);
    const std::string word = begins ? token.substr(kBlankSign.size()) : "##" + token;
    if (!word.empty()) words.emplace(word, words.size());
    if (!begins) words.emplace(token, words.size());
  }
  for (const std::string& m : v.merges) merges.push_back(with_blank_signs(m));
  const Document metaspace = {
      {"type", "Metaspace"}, {"replacement", kBlankSign}, {"prepend_scheme", "always"}, {"split", true}};
  const auto of = [](const Document& model, const Document& normalizer, const Document& pre_tokenizer) {
    return Tokenizer::from_json(
        dump_json(Document{{"model", model}, {"normalizer", normalizer}, {"pre_tokenizer", pre_tokenizer}}));
  };
  const Document blanks = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kBlankSign}};
  all.emplace_back("BPE of characters, gemma's",
                   of({{"type", "BPE"}, {"vocab", ids}, {"merges", merges}, {"unk_token", tokens[0]}}, blanks, nullptr));
  all.emplace_back("Unigram", of({{"type", "Unigram"}, {"vocab", pieces}, {"unk_id", 0}}, nullptr, metaspace));
  all.emplace_back("WordPiece", of({{"type", "WordPiece"}, {"vocab", words}, {"unk_token", "[UNK]"}},
                                   {{"type", "BertNormalizer"}, {"lowercase", true}}, {{"type", "BertPreTokenizer"}}));
  StoredVocabulary scored;
  scored.model = "llama", scored.tokens = tokens;
  for (size_t i = 0; i < tokens.size(); ++i) scored.scores.push_back(-float(i));
  all.emplace_back("SPM by scores, of GGUF", Tokenizer::from_vocabulary(scored));
  return all;
}

}  // namespace

std::vector<Row> tokenizing_rows(int runs) {
  const std::string text = made_text();
  std::vector<Row> rows;
  for (const auto& [name, tokenizer] : made_tokenizers(text)) {
    Row row;
    row.name = fmt::format("tokenize, {}", name);
    row.time = time_runs(1, runs, [&, &t = tokenizer] { t.encode(text); });
    row.rate = double(text.size()) / 1e6 / row.time.min;
    row.unit = "MB/s";
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace dyadic::inline v1::cli
