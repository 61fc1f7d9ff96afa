// The update rules (rules.h), each in one pass over memory (fused.h).
#include "optim/rules.h"

#include "optim/fused.h"

namespace dyadic::DY_ISA {

extern const RuleTable rule_table = {
    .sgd = rule<0, kSgd>(),
    .sgd_momentum = rule<1, kMomentum>(),
    .adagrad = rule<1, kAdagrad>(),
    .rmsprop = rule<1, kRmsprop<false, false>>(),
    .rmsprop_momentum = rule<2, kRmsprop<false, true>>(),
    .rmsprop_centered = rule<2, kRmsprop<true, false>>(),
    .rmsprop_centered_momentum = rule<3, kRmsprop<true, true>>(),
    .adam = rule<2, kAdam<false>>(),
    .adam_amsgrad = rule<3, kAdam<true>>(),
    .adamax = rule<2, kAdamax>(),
    .nadam = rule<2, kNadam>(),
    .radam = rule<2, kRadam>(),
    .adadelta = rule<2, kAdadelta>(),
    .lion = rule<1, kLion>(),
    .rprop = rule<2, kRprop>(),
    .asgd = rule<1, kAsgd>(),
    .schedule_free = rule<2, kScheduleFree>(),
    .lamb_measure = rule<2, kLambMeasure, Writes::states>(),
    .lamb_apply = rule<2, kLambApply, Writes::param>(),
    .gradient_measure = rule<0, kGradient, Writes::states>(),
};

}  // namespace dyadic::DY_ISA
