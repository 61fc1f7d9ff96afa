// Where the batches of a study of one's own come from.
#pragma once
#include <memory>
#include <utility>

#include "base/parallel.h"
#include "dyadic/study.h"
#include "dyadic/train.h"

namespace dyadic::inline v1::study {

class Stream {  // the batches of one run, in order
 public:
  virtual ~Stream();
  virtual data::Value next(int64_t step) = 0;
  virtual void add_to(train::Checkpoint& /*run*/) {}  // what of its position does not follow from the step
};

class Source {
 public:
  virtual ~Source();
  virtual std::unique_ptr<Stream> stream() = 0;                       // from the first batch on
  virtual std::unique_ptr<Stream> alone() { return stream(); }        // without workers
  virtual void each(FunctionRef<bool(const data::Value&)> body) = 0;  // once through; false ends it
  virtual int64_t size() = 0;                                         // batches of once through; 0: not known
  virtual int64_t last_rows() { return 0; }                           // of a shorter last batch
  struct Ahead {
    int64_t batches = 0, workers = 0;
  };
  virtual Ahead ahead() { return {}; }  // how many batches others than the caller have ready, at most
  virtual std::pair<std::shared_ptr<Source>, std::shared_ptr<Source>> split() = 0;  // a tenth held back; ValueError
};

}  // namespace dyadic::inline v1::study
