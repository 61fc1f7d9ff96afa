// A module, batches and a loss of one's own as the subject of a study.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "study/example.h"
#include "study/subject.h"

namespace dyadic::inline v1::study {

class OwnSubject : public Subject {
 public:
  // Makes the model once and takes one batch, to find out what the loss gives; ValueError where it is no number per sample.
  OwnSubject(MakeModel make, const Batches& batches, Loss loss, const StudyOptions& options);
  // For dry runs alone, on batches like this one. Without a loss it is the mean of what the model makes of the batch, or of its
  // first part. in_f32: of what a study would train.
  OwnSubject(MakeModel make, const data::Value& example, const Loss& loss, const StudyOptions& options, bool in_f32 = false);

  std::shared_ptr<nn::Module> make(const Recipe& recipe, Device device) override;
  std::unique_ptr<optim::Optimizer> optimizer(const nn::Module& model, const Recipe& recipe, const Plan& plan) override;
  std::unique_ptr<optim::Schedule> schedule(optim::Optimizer& optimizer, const Plan& plan) override;
  std::unique_ptr<Stream> stream(const Plan&) override;
  data::Value blank() override;
  data::Value short_blank(int64_t steps) override;
  int64_t bytes_ahead() const override { return example_.ahead(); }
  std::string other_memory() const override;
  Tensor mean_loss(nn::Module& model, const data::Value& batch) override;
  int64_t items() const override { return items_; }
  void evaluation(int64_t, FunctionRef<bool(const data::Value&)> each) override { evaluation_->each(each); }
  int64_t evaluation_steps() const override { return std::max<int64_t>(evaluation_->size(), 1); }
  Tensor losses(nn::Module& model, const data::Value& batch, Tensor* logits) override;
  Tensor metric(nn::Module& model, const data::Value& batch) override;
  int64_t window() const override { return window_; }
  void describe(StudyResult& result) const override;
  void add_notes(StudyResult& result) const override;
  Identity identity(const StudyResult& result) const override;
  const std::string& kind() const { return kind_; }

 private:
  void begin(nn::Module& model, Device device) const;
  void note(const std::string& text);
  void compare_weights(const nn::Module& model, GeneratorState seeded);
  MakeModel make_;
  Loss loss_;
  const StudyOptions& options_;
  const bool in_f32_ = true;  // a recipe's dtypes are those it says, whatever the model was made in
  std::shared_ptr<Source> training_, evaluation_;
  const data::Value* first_ = nullptr;  // the first batch, while there is no example yet
  Example example_;
  Identity found_;                                              // what tells data, loss and metric apart
  std::weak_ptr<nn::Module> last_;                              // that make_ gave
  std::map<std::pair<uint64_t, uint64_t>, std::string> begun_;  // weights' digests, by what the generator stood at
  std::vector<std::string> notes_;
  std::string kind_, unlike_;  // unlike_: a batch that is not as the first one
  int64_t parameters_ = 0, items_ = 1, window_ = 1;
};

}  // namespace dyadic::inline v1::study
