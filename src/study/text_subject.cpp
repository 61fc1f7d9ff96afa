#include "study/text_subject.h"

#include <algorithm>

#include "base/check.h"
#include "dyadic/ops.h"
#include "study/model_file.h"
#include "study/warmup.h"

namespace dyadic::inline v1::study {
namespace {

class TextStream : public Stream {
  TextBatches batches_;
  int64_t batch_, block_;

 public:
  TextStream(const Corpus& corpus, int64_t block, int64_t batch, uint64_t seed)
      : batches_(corpus, block, batch, seed), batch_(batch), block_(block) {}
  data::Value next(int64_t step) override {
    auto [x, y] = batch_tensors(batches_, step, batch_, block_);
    return data::Value::List{x, y};
  }
};

// Windows of one length; a shorter last one is a batch of its own.
data::Value batch_of(const Corpus& corpus, std::span<const Window> windows) {
  const CategoryScope scope(Category::data);
  const int64_t n = int64_t(windows.size()), T = windows[0].length;
  const Tensor x = empty({n, T}, i64), y = empty({n, T}, i64);
  for (int64_t i = 0; i < n; ++i) {
    corpus.copy(windows[size_t(i)].begin, T, x.data<int64_t>() + i * T);
    corpus.copy(windows[size_t(i)].begin + 1, T, y.data<int64_t>() + i * T);
  }
  return data::Value::List{x, y};
}

}  // namespace

std::pair<Tensor, Tensor> batch_tensors(const TextBatches& batches, int64_t step, int64_t batch, int64_t block) {
  CategoryScope scope(Category::data);
  Tensor x = empty({batch, block}, i64), y = empty({batch, block}, i64);
  batches.fill(step, x.data<int64_t>(), y.data<int64_t>());
  return {x, y};
}

std::shared_ptr<nn::Module> TextSubject::make(const Recipe& recipe, Device device) {
  return std::make_shared<models::Gpt>(setup_.model, nn::Options{recipe.parameters, device});
}

// Matrices decay, vectors (biases, norms) do not: nanoGPT's rule.
std::unique_ptr<optim::Optimizer> TextSubject::optimizer(const nn::Module& model, const Recipe& r, const Plan& plan) {
  optim::AdamWOptions o;
  o.lr = setup_.lr;
  o.betas = {setup_.beta1, setup_.beta2};
  o.weight_decay = setup_.weight_decay;
  o.state = r.states;
  o.stochastic_rounding = r.rounding == "stochastic";
  o.seed = plan.seed ^ 0x5eed;
  optim::ParamGroup matrices{{}, o}, vectors{{}, o};
  vectors.options.set("weight_decay", 0.0);
  for (auto& entry : model.named_parameters()) (entry.second.dim() >= 2 ? matrices : vectors).params.push_back(entry);
  return std::make_unique<optim::AdamW>(std::vector<optim::ParamGroup>{matrices, vectors}, optim::AdamWOptions{},
                                        std::vector<std::string>{"tok.weight", "pos.weight"});
}

std::unique_ptr<optim::Schedule> TextSubject::schedule(optim::Optimizer& optimizer, const Plan& plan) {
  return std::make_unique<Warmup>(optimizer, warmup_cosine(setup_.lr, setup_.min_lr, setup_.warmup, plan.steps));
}

std::unique_ptr<Stream> TextSubject::stream(const Plan& plan) {
  return std::make_unique<TextStream>(corpus_, setup_.model.block, setup_.batch, plan.seed);
}

data::Value TextSubject::blank() {
  CategoryScope scope(Category::data);
  return data::Value::List{empty({setup_.batch, setup_.model.block}, i64, meta),
                           empty({setup_.batch, setup_.model.block}, i64, meta)};
}

Tensor TextSubject::mean_loss(nn::Module& model, const data::Value& batch) {
  return static_cast<models::Gpt&>(model).loss(batch[0], batch[1]);
}

void TextSubject::evaluation(int64_t size, FunctionRef<bool(const data::Value&)> each) {
  const std::vector<Window> windows = validation_windows(corpus_, setup_.model.block);
  for (size_t at = 0; at < windows.size();) {
    size_t n = 1;  // also of size 0
    while (n < size_t(size * setup_.batch) && at + n < windows.size() && windows[at + n].length == windows[at].length) ++n;
    if (!each(batch_of(corpus_, {windows.data() + at, n}))) return;
    at += n;
  }
}

Tensor TextSubject::losses(nn::Module& model, const data::Value& batch, Tensor* logits) {
  const Tensor rows = model(batch[0]).view({-1, setup_.model.vocab}).to(f32);
  if (logits) *logits = rows;
  return cross_entropy(rows, batch[1].tensor().view({-1}), "none");
}

void TextSubject::describe(StudyResult& s) const {
  const models::GptConfig& m = setup_.model;
  const models::Gpt shape(m, {f32, meta});
  s.corpus = corpus_.info();
  s.model = {preset_, "", m.layers, m.heads, m.width, m.block, setup_.batch, m.vocab, shape.num_parameters(), kUnknown};
}

Identity TextSubject::identity(const StudyResult& s) const {
  const ModelInfo& m = s.model;
  Identity all{{"preset", m.preset}};
  for (auto [name, size] : {std::pair{"layers", m.layers},
                            {"heads", m.heads},
                            {"width", m.width},
                            {"block", m.block},
                            {"batch", m.batch},
                            {"vocabulary", m.vocabulary}})
    all.emplace_back(name, std::to_string(size));
  all.emplace_back("tokens", s.corpus.tokens);
  all.emplace_back("corpus", s.corpus.sha256);
  return all;
}

void TextSubject::save(const nn::Module& model, const std::string& folder, const io::Metadata& metadata) const {
  io::Metadata all = metadata;
  all["preset"] = preset_;
  save_model(folder, dynamic_cast<const models::Gpt&>(model), corpus_.vocabulary(), all);
}
void TextSubject::load(nn::Module& model, const std::string& folder) const {
  model.load_state_dict(weights_of(model, *io::open(folder + "/model.safetensors")));
}

}  // namespace dyadic::inline v1::study
