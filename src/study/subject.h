// What a study needs of the thing it studies: how the model is made and trained, where its batches come from, what its loss is.
// The built-in text model is one subject (text_subject.h), a module and data of one's own are another (own_subject.h); trainer,
// evaluation and study know no third thing.
#pragma once
#include <memory>
#include <string>

#include "base/parallel.h"
#include "dyadic/data_parallel.h"
#include "dyadic/io.h"
#include "dyadic/lr_scheduler.h"
#include "dyadic/study.h"
#include "plan/recording.h"
#include "study/judged.h"
#include "study/source.h"

namespace dyadic::inline v1::study {

struct Plan {  // of one run of training
  int64_t steps = 1000;
  uint64_t seed = 0;  // of the initial weights and the batches
  double clip = 1;    // largest norm of all gradients; longer ones are shortened to it
  Device device = cpu;
  int64_t shards = 0;  // that each batch is cut into, over all ranks; 0: it stays whole, on one
  distributed::Spread spread = distributed::Spread::none;
  DType wire = {};  // that shards' gradients travel in
  // How it fits into memory.
  std::shared_ptr<const planning::Choice> again;  // calls of forward that backward makes again; null: none
  int64_t accumulate = 1;                         // pieces of a batch, one after the other, whose gradients are added
  bool on_disk = false;                           // parameters and states lie in a file in the folder
  std::string offload_folder;                     // empty: nothing may be moved there
};

class Subject : public Judged {
 public:
  // Training. `make` is called when the default generator has been seeded with the plan's seed; weights are stored as the
  // recipe says.
  virtual std::shared_ptr<nn::Module> make(const Recipe& recipe, Device device) = 0;
  virtual std::unique_ptr<optim::Optimizer> optimizer(const nn::Module& model, const Recipe& recipe, const Plan& plan) = 0;
  virtual std::unique_ptr<optim::Schedule> schedule(optim::Optimizer& optimizer, const Plan& plan) = 0;
  virtual std::unique_ptr<Stream> stream(const Plan& plan) = 0;
  virtual data::Value blank() = 0;  // a batch on meta, for the dry run
  // The shorter last one of an epoch, which may take more workspace, if so many steps come to it.
  virtual data::Value short_blank(int64_t /*steps*/) { return {}; }
  virtual int64_t bytes_ahead() const { return 0; }        // of batches that others have ready while one is trained on
  virtual std::string other_memory() const { return {}; }  // what training's memory depends on beside the first batch
  virtual Tensor mean_loss(nn::Module& model, const data::Value& batch) = 0;
  virtual int64_t items() const = 0;             // of a batch: what has a loss of its own
  virtual int64_t evaluation_steps() const = 0;  // as many batches of training hold as much as the evaluation

  // Reports. The identity says what makes two studies the same, beside options that all subjects have.
  virtual void describe(StudyResult& result) const = 0;
  virtual void add_notes(StudyResult& /*result*/) const {}  // what was found on the way
  virtual Identity identity(const StudyResult& result) const = 0;
  // The trained model into a folder, as model.safetensors and what else belongs to it.
  virtual void save(const nn::Module& model, const std::string& folder, const io::Metadata& metadata) const;
  virtual void load(nn::Module& model, const std::string& folder) const;
};

}  // namespace dyadic::inline v1::study
