// Language models in GGUF files: as a module's configuration and weights, and made of these.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "dyadic/convert.h"
#include "dyadic/gguf.h"
#include "models/config.h"
#include "models/gguf/architectures.h"

namespace dyadic::inline v1::models {

// Small files of a model's folder that a GGUF file carries under keys of this beginning, as they were.
inline constexpr char kFileKey[] = "dyadic.file.", kTokenizerJson[] = "tokenizer.huggingface.json";
// Keys that the way back needs: values of a tensor that is stored as another one, which does not give them again to the last
// bit; that tensors which have two names have the second one; the names of tensors that the file had under others (BERT's
// "bert.", a larger model's "language_model."), after the module's; and which are f32 in a model of 16 bits, for GGUF has all
// of one dimension in f32.
inline constexpr char kExactKey[] = "dyadic.exact.", kOtherNames[] = "dyadic.other_names", kNamesKey[] = "dyadic.names",
                      kWideKey[] = "dyadic.f32";

const Architecture& architecture_of(const io::GgufFile& file);  // ValueError where it names none that is known

// config.json: the file's own where it carries one, else what its keys and tensors say.
std::string config_of(const io::GgufFile& file);
// Its tensors under the module's names, as the module has them: scaled formats stay what they are.
std::shared_ptr<io::TensorFile> weights_of(std::shared_ptr<const io::GgufFile> file, const std::string& config);

// The other way: keys, and tensors under GGUF's names in the form that llama.cpp reads. The file's keys() are the model's.
// ValueError where GGUF has no architecture for the family.
io::GgufMetadata keys_of(const std::string& config);
int64_t vocabulary_of(const io::TensorFile& weights, const std::string& config);  // how many tokens have an embedding
// Of weights in dtypes that ggml does not have their names in GGUF, with these dtypes.
std::map<std::string, DType> without_ggml_type(const io::TensorFile& weights, const std::string& config);
// Rules of names, where these fit the model's own, by their names in GGUF.
io::ConvertOptions by_gguf_names(io::ConvertOptions options, const io::TensorFile& weights, const std::string& config);
std::string config_in_gguf(const std::string& config);  // without the head that is left behind
std::shared_ptr<io::TensorFile> gguf_of(std::shared_ptr<const io::TensorFile> weights, const std::string& config,
                                        io::GgufMetadata keys);

}  // namespace dyadic::inline v1::models
