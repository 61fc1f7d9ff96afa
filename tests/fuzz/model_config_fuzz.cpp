// A config.json: a model of any family, of shapes alone, or an Error. The file of weights has none that a model asks for.
#include "dyadic/models.h"
#include "tests/fuzz/fuzz.h"

namespace {

class NoWeights : public dyadic::io::TensorFile {
  std::vector<dyadic::io::TensorInfo> tensors_{256};  // as many modules may be made

 public:
  NoWeights() : TensorFile("nothing") {}
  std::string_view kind() const override { return "none"; }
  const std::vector<dyadic::io::TensorInfo>& tensors() const override { return tensors_; }
  dyadic::Tensor get(size_t) const override { throw dyadic::ValueError("nothing: it has no tensors"); }
};

}  // namespace

DY_FUZZ(model_config, "models/data") {
  try {
    dyadic::models::from_file(std::string(reinterpret_cast<const char*>(data), size), NoWeights(), {.dtype = dyadic::f32});
  } catch (const dyadic::Error&) {}
}
