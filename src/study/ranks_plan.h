// A run on several ranks before there are any: what each spread takes of memory, wire and time, and how far it goes.
#pragma once
#include <functional>

#include "study/subject.h"

namespace dyadic::inline v1::study {

struct RanksRequest {
  int64_t ranks = 2;
  double link = 1.25e9;    // bytes a second that a rank sends
  double latency = 20e-6;  // seconds that a message takes beside them
  double scale = 1;        // measured over predicted time of computing
  int64_t limit = 0;       // bytes of memory of each rank; 0: none
  int64_t batch = 8, shards = 8;
};

// Of the rank that has most, in a step.
struct RanksCandidate {
  distributed::Spread spread = distributed::Spread::none;
  int64_t ranks = 1, batch = 0;
  Bytes bytes;                      // predicted, as a run measures it
  int64_t sent = 0;                 // bytes to other ranks
  int64_t messages = 0;             // to other ranks
  double compute = 0, network = 0;  // seconds; one after the other
  bool fits = true;
  double seconds() const { return compute + network; }
};

struct RanksPlan {
  RanksRequest request;
  std::vector<RanksCandidate> spreads;  // every one, on the ranks asked for
  int chosen = -1;                      // the fastest that fits; -1: none
  std::vector<RanksCandidate> growth;   // that one on 8 to 1024 ranks, of which each has one shard
  int64_t limited_from = 0;             // ranks of `growth` from which on the network takes longer than computing; 0: none
  std::string text(int width, bool color) const;
};

// `subject_of`: the subject whose batches are so large.
using SubjectOf = std::function<std::unique_ptr<Subject>(int64_t batch)>;
RanksPlan plan_ranks(const SubjectOf& subject_of, const Recipe& recipe, Plan plan, const RanksRequest& request);
// Seconds that a step takes on one rank, its batch whole, as predicted.
double predicted_seconds(Subject& subject, const Recipe& recipe, Plan plan);

}  // namespace dyadic::inline v1::study
