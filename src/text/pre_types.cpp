#include "text/pre_types.h"

#include "base/check.h"
#include "text/split_matchers.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

const std::string kContractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const std::string kLetters = R"([^\r\n\p{L}\p{N}]?\p{L}+|)";
const std::string kSignRuns = R"( ?[^\s\p{L}\p{N}]+[\r\n]*|)", kPathSignRuns = R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|)";
const std::string kSpace = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kRest = "|" + kSignRuns + kSpace, kPathRest = "|" + kPathSignRuns + kSpace;

// Words that begin with capitals, or are all of them, and what may follow them.
std::string cased(const std::string& upper, const std::string& lower, const std::string& end) {
  const std::string before = R"([^\r\n\p{L}\p{N}]?)";
  return before + "[" + upper + "]*[" + lower + "]+" + end + "|" + before + "[" + upper + "]+[" + lower + "]*" + end + "|";
}
const std::string kUpperCase = R"(\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M})", kLowerCase = R"(\p{Ll}\p{Lm}\p{Lo}\p{M})";

const std::string kChinese = "[\xe4\xb8\x80-\xe9\xbe\xa5\xe3\x81\x80-\xe3\x82\x9f\xe3\x82\xa0-\xe3\x83\xbf]+";
const std::string kDeepseek =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)";
// DeepSeek's first models name the letters that have a case one range after the other, as some version of Unicode had them.
const std::string kCasedLetters =
    R"(\s?[A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF\u0370-\u0373\u0376\u0377)"
    R"(\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5)"
    R"(\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D)"
    R"(\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4)"
    R"(\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D)"
    R"(\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4)"
    R"(\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06)"
    R"(\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2})"
    R"(\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
const std::string kAsianBlocks = R"([\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+)";
const std::string kNotEnding = R"( ?[^(\s|.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C)]+)";
const std::string kTriples = R"(\p{N}{1,3})", kDigit = R"(\p{N})";

}  // namespace

const std::vector<PreType>& pre_types() {
  static const std::vector<PreType> types = [] {
    const std::string gpt2 = kGpt2Pattern;
    const std::string llama3 = kContractions + "|" + kLetters + kTriples + kRest;
    const std::string qwen2 = kContractions + "|" + kLetters + kDigit + kRest;
    const std::string o200k = cased(kUpperCase, kLowerCase, kContractions + "?") + kTriples + kPathRest;
    const auto without_han = [](const std::string& s) { return s + R"(&&[^\p{Han}])"; };
    return std::vector<PreType>{
        {.names = " llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano ",
         .patterns = {llama3},
         .ignore_merges = true,
         .add_bos = true},
        {" dbrx smaug-bpe chatglm-bpe glm4 ", {llama3}},
        {" qwen2 deepseek-r1-qwen megrez hunyuan stablelm2 kormo f2llmv2 solar-open grok-2 ", {qwen2}},
        {" qwen35 ", {kContractions + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" + kSpace}},
        {" gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jina-v1-en "
         "jina-v2-code roberta-bpe mpt olmo jais trillion granite-docling exaone4 ",
         {gpt2}},
        {" starcoder refact command-r smollm codeshell exaone minerva-7b mellum2 ", {kDigit, gpt2}},
        {" gpt-4o llama4 kanana2 talkie minimax-m2 ", {o200k}},
        {.names = " granite-embed-multi-97m ", .patterns = {o200k}, .ignore_merges = true},
        {" tiny_aya cohere2moe ", {R"(\d{1,3}(?=(?:\d{3})*\b))", o200k}},
        {.names = " tekken ",
         .patterns = {cased(kUpperCase, kLowerCase, "") + kDigit + kPathRest},
         .ignore_merges = true,
         .add_bos = true},
        {" deepseek-v3 hunyuan-dense joyai-llm hy_v4 ", {kTriples, kChinese, kDeepseek + R"([\r\n]*|)" + kSpace}},
        {" spark2_5 ", {kTriples, kChinese, kDeepseek + R"(|[\r\n]|\s+(?!\S)|\s+)", kDigit}},
        {" deepseek-llm ",
         {R"([\r\n])", kCasedLetters, R"(\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+)", R"(\s+$)",
          kAsianBlocks, R"(\p{N}+)"}},
        {" deepseek-coder ", {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kAsianBlocks, kDigit}},
        {" falcon ", {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, "[0-9][0-9][0-9]"}},
        {" default ", {R"([\p{P}\$\+<=>\^~\|]+)", gpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
        {" bloom poro-chat gpt3-finnish ", {kNotEnding}},
        {" viking ", {kNotEnding, kDigit}},
        {.names = " chameleon ",
         .patterns = {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", R"(([\t\n]|    |  ))", kDigit,
                      R"([\p{P}!-/:-@\[-`{-~])", gpt2},
         .add_bos = true},
        {" superbpe ", {R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"}},
        {" bailingmoe bailingmoe2 llada-moe ",
         {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"}},
        {" seed-coder ", {kContractions + "|" + kLetters + R"(\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|)" + kSpace}},
        {" ufakzeka ", {kLetters + kDigit + kRest}},
        {" laguna ", {R"([^\n]+|[\n]+)", qwen2}},
        {.names = " minicpm5 ",
         .patterns = {kTriples, kContractions + "|" + kLetters + R"(\p{N}+)" + kRest},
         .ignore_merges = true},
        {" exaone-moe ",
         {kContractions +
          R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"}},
        {" jais-2 ",
         {kContractions + "|" + kLetters + kTriples + "|" + kSignRuns +
          R"(\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}},
        {" kimi-k2 ",
         {R"([\p{Han}]+|)" + cased(without_han(kUpperCase), without_han(kLowerCase), kContractions + "?") + kTriples + kRest}},
        {" afmoe ",
         {R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))",
          R"([\u4E00-\u9FFF\u3400-\u4DBF\uF900-\uFAFF\u3040-\u309F\u30A0-\u30FF\uFF65-\uFF9F\u2F00-\u2FDF\u0E40-\u0E7F\u0E80-\u0EFF)"
          R"(\u1780-\u17FF\u1000-\u109F\uAA60-\uAA7F\uA9E0-\uA9FF\uAC00-\uD7AF\u1100-\u11FF]+)",
          kDeepseek + R"([\r\n]*|)" + kSpace}},
        {.names = " youtu ",
         .patterns =
             {R"([\uAC00-\uD7A3\u3131-\u318E]+|[\uFF01\u2026\u201C\u201D\u2018\u2019\u2014\uFF1A\uFF1B\uFF0C\u3001-\u303F\uFE30-\uFE4F]+|[\u3105-\u312F]+|[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+)",
              cased(kUpperCase, kLowerCase, kContractions + "?") + kDigit + kPathRest},
         .ignore_merges = true},
        {.names = " gemma4 granite-embed-multi-311m ",
         .patterns = {R"([^\n]+|\n+)"},
         .add_bos = true,
         .characters = true,
         .blanks = true},
        {.names = " sarvam-moe ", .patterns = {R"([^\n]+|\n+)"}, .characters = true, .blanks = true},
        {.names = " whitespace ", .patterns = {R"(\S+)"}, .characters = true},
    };
  }();
  return types;
}

const PreType& pre_type(std::string_view name) {
  const std::string wanted = " " + std::string(name.empty() ? "default" : name) + " ";
  for (const PreType& t : pre_types())
    if (t.names.find(wanted) != t.names.npos) return t;
  fail<ValueError>("vocabulary: the pre-tokenizer \"{}\" is not known", valid_utf8(std::string(name.substr(0, 80))));
}

}  // namespace dyadic::inline v1::text
