// What the files of the tape share.
#pragma once
#include "corridor/tape.h"

namespace dyadic::inline v1::tape {

Tensor alias(const Tensor& t);                         // the same view without its history
void attach(Node* node, const Tensor& t, int output);  // takes over one reference to the node
void save(Saved& s, const Tensor& t);                  // counted on the storage: a temporary becomes an activation
void drop_saved(Saved& s);                             // and with the last save of a storage, what it counts as
// `result` made of `t` by an op without further arguments, which is recorded whether or not recording is on.
Tensor recorded(Op id, const Tensor& t, const Tensor& result);
void pack_saved(Node& n);  // by t_pack

}  // namespace dyadic::inline v1::tape
