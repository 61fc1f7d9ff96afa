// The stages of a tokenizer: text is normalized, cut into pieces, each piece becomes tokens, ids are framed by special tokens;
// and back: tokens to text. Each stage is made from its object in tokenizer.json.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace dyadic::inline v1::text {

using Json = nlohmann::json;
using Ids = std::vector<int64_t>;

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(std::string& text) const = 0;
};

struct Piece {
  std::string_view text;
  bool at_start;  // nothing of the whole text stands before it
};
// Pieces of a text, or of texts made on the way.
struct Pieces {
  std::vector<Piece> list;
  std::deque<std::string> made;
  bool byte_level = false;  // the model is to see each byte as the character that stands for it
  std::string_view keep(std::string text) { return made.emplace_back(std::move(text)); }
};
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const Vocabulary& vocabulary() const = 0;
  virtual void encode(std::string_view piece, bool byte_level, Ids& ids) const = 0;
  // Where a piece may be cut behind `from`: its parts become the tokens that it becomes whole.
  virtual size_t end_of_part(std::string_view piece, size_t /*from*/, bool /*byte_level*/) const { return piece.size(); }
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

struct FramePart {
  int text = -1;  // 0, 1: the first or the second text; -1: ids
  Ids ids = {};
  int64_t type = 0;
};
// What stands around a text, and around two.
struct Frame {
  Ids before = {}, after = {};
  std::vector<FramePart> single = {}, pair = {};  // empty: the texts alone, the second of type 1
  bool several = false;                           // more than one step frames the text: of two texts nothing is known
};
// [before] A [after], and of two [before] A [after] B [after], with `again` a second [before] too; what belongs to B has
// type 1.
Frame plain_frame(Ids before, Ids after, bool again);

std::unique_ptr<Normalizer> make_normalizer(const Json& json, int depth = 0);  // null for null
std::unique_ptr<Normalizer> make_precompiled(std::string charsmap);
std::string from_base64(std::string_view text);
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Json& json, bool last = true, int depth = 0);
std::unique_ptr<Model> make_model(const Json& json);
std::unique_ptr<Decoder> make_decoder(const Json& json, int depth = 0);
Frame make_frame(const Json& post_processor, int depth = 0);

struct BpeParts {
  Vocabulary vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;
  std::optional<std::string> unknown;
  std::string prefix, suffix;
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
  bool whole_line_ends = false;  // a run of \n that is a token becomes it, whatever the merges
};
std::unique_ptr<Model> make_bpe(BpeParts parts);
struct UnigramParts {
  std::vector<std::pair<std::string, double>> pieces;
  std::optional<int64_t> unknown;
  bool byte_fallback = false;
  std::vector<bool> unusable;  // pieces that no text becomes; empty: none
};
std::unique_ptr<Model> make_unigram(UnigramParts parts);

// Byte-level BPE writes each byte as a character of its own.
const std::array<std::string, 256>& byte_characters();
std::string bytes_to_characters(std::string_view bytes);
bool characters_to_bytes(std::string_view characters, std::string& out);  // false: some character stands for no byte
int parse_byte_token(std::string_view token);                             // "<0x0A>": 10; -1: it is none

constexpr int kDeepestStage = 16;

// How the stages read tokenizer.json: ValueError naming the field.
bool flag(const Json& j, const char* name, bool otherwise);
std::string text_field(const Json& j, const char* name);
std::string type_of_stage(const Json& j, const char* what);
const Json& member(const Json& j, const char* name);

}  // namespace dyadic::inline v1::text
