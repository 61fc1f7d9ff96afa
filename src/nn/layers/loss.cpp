#include "nn/layers/layers.h"

namespace dyadic::inline v1::nn {
namespace {

constexpr LayerDef kLossLayers[] = {
    {"MSELoss(str reduction='mean')", "(input - target)^2.", "mse_loss"},
    {"L1Loss(str reduction='mean')", "|input - target|.", "l1_loss"},
    {"SmoothL1Loss(str reduction='mean', float beta=1.0)", "Quadratic below beta, linear beyond.", "smooth_l1_loss"},
    {"HuberLoss(str reduction='mean', float delta=1.0)", "Quadratic up to delta, linear beyond.", "huber_loss"},
    {"BCELoss(Tensor? weight=None, str reduction='mean')", "Binary cross entropy of probabilities.", "binary_cross_entropy"},
    {"BCEWithLogitsLoss(Tensor? weight=None, str reduction='mean', Tensor? pos_weight=None)", "Binary cross entropy of logits.",
     "binary_cross_entropy_with_logits"},
    {"NLLLoss(Tensor? weight=None, int ignore_index=-100, str reduction='mean')", "-log-probability of the target class.",
     "nll_loss"},
    {"CrossEntropyLoss(Tensor? weight=None, int ignore_index=-100, str reduction='mean', float label_smoothing=0.0)",
     "Cross entropy of logits with class numbers or probabilities, in nats.", "cross_entropy"},
    {"CTCLoss(int blank=0, str reduction='mean', bool zero_infinity=False)",
     "Sequences without alignment: (log_probs, targets, input_lengths, target_lengths).", "ctc_loss"},
    {"KLDivLoss(str reduction='mean', bool log_target=False)", "target (log(target) - input).", "kl_div"},
    {"PoissonNLLLoss(bool log_input=True, bool full=False, float eps=1e-08, str reduction='mean')",
     "Negative log-likelihood of counts.", "poisson_nll_loss"},
    {"GaussianNLLLoss(bool full=False, float eps=1e-06, str reduction='mean')",
     "Negative log-likelihood of (input, target, var).", "gaussian_nll_loss"},
    {"HingeEmbeddingLoss(float margin=1.0, str reduction='mean')", "Distances kept small for target 1, beyond margin for -1.",
     "hinge_embedding_loss"},
    {"MarginRankingLoss(float margin=0, str reduction='mean')", "max(0, margin - target (input1 - input2)).",
     "margin_ranking_loss"},
    {"SoftMarginLoss(str reduction='mean')", "log(1 + exp(-target input)).", "soft_margin_loss"},
    {"MultiMarginLoss(int p=1, float margin=1.0, Tensor? weight=None, str reduction='mean')",
     "Margins of the target class over all others.", "multi_margin_loss"},
    {"MultiLabelMarginLoss(str reduction='mean')", "Margins of several labels over all other classes.",
     "multilabel_margin_loss"},
    {"MultiLabelSoftMarginLoss(Tensor? weight=None, str reduction='mean')", "The mean binary cross entropy over classes.",
     "multilabel_soft_margin_loss"},
    {"CosineEmbeddingLoss(float margin=0.0, str reduction='mean')", "Cosines towards 1 or below margin.",
     "cosine_embedding_loss"},
    {"TripletMarginLoss(float margin=1.0, float p=2.0, float eps=1e-06, bool swap=False, str reduction='mean')",
     "(anchor, positive, negative): near and far by margin.", "triplet_margin_loss"},
};

}  // namespace

std::span<const LayerDef> loss_layers() { return kLossLayers; }

}  // namespace dyadic::inline v1::nn
