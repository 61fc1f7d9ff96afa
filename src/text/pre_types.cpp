#include "text/pre_types.h"

#include "base/check.h"
#include "text/split_matchers.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

const std::string kContractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const std::string kTail = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)";

}  // namespace

const std::vector<PreType>& pre_types() {
  static const std::vector<PreType> types = [] {
    const std::string letters = kContractions + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|)";
    const std::string o200k_tail = R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    const std::string marks =
        kContractions + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    const std::string gpt2 = kGpt2Pattern;
    return std::vector<PreType>{
        {" llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 ",
         {letters + R"(\p{N}{1,3})" + kTail},
         true,
         true},
        {" dbrx smaug-bpe chatglm-bpe ", {letters + R"(\p{N}{1,3})" + kTail}},
        {" qwen2 deepseek-r1-qwen megrez hunyuan stablelm2 ", {letters + R"(\p{N})" + kTail}},
        {" qwen35 ", {marks}},
        {" gpt-2 default phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jina-v1-en "
         "jina-v2-code roberta-bpe mpt olmo trillion exaone granite-docling exaone4 ",
         {gpt2}},
        {" starcoder refact command-r smollm codeshell exaone minerva-7b ", {R"(\p{N})", gpt2}},
        {" gpt-4o llama4 kanana2 ", {kO200k + R"(\p{N}{1,3})" + o200k_tail}},
        {" tekken ",
         {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N})" +
          o200k_tail},
         true},
        {" deepseek-v3 hunyuan-dense ",
         {R"(\p{N}{1,3})", "[\xe4\xb8\x80-\xe9\xbe\xa5\xe3\x81\x80-\xe3\x82\x9f\xe3\x82\xa0-\xe3\x83\xbf]+",
          R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
        {" gemma4 granite-embed-multi-311m ", {R"([^\n]+|\n+)"}, false, true, true},
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
