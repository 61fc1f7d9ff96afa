#include "dyadic/averaged_model.h"

#include "base/check.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::optim {
namespace {

void same_names(const nn::NamedTensors& averages, const nn::NamedTensors& model) {
  DY_CHECK_AS(ValueError, averages.size() == model.size(), "AveragedModel: the modules differ: {} tensors and {}",
              averages.size(), model.size());
  for (size_t i = 0; i < model.size(); ++i)
    DY_CHECK_AS(ValueError, averages[i].first == model[i].first && averages[i].second.sizes() == model[i].second.sizes(),
                "AveragedModel: the modules differ: {} is {}, {} is {}", averages[i].first, describe(averages[i].second),
                model[i].first, describe(model[i].second));
}

}  // namespace

AveragedModel::AveragedModel(nn::Module& module, const nn::Module& model, AveragedModelOptions options)
    : module_(module), options_(options), n_averaged_(full({}, 0, i64)) {
  DY_CHECK_AS(ValueError, !options.decay || (*options.decay >= 0 && *options.decay <= 1),
              "AveragedModel: decay is {}; it is between 0 and 1", options.decay.value_or(0));
  add_buffer("n_averaged", n_averaged_);
  add("module", module);
  module.load_state_dict(model.state_dict());
  for (Tensor& t : module.parameters()) t.requires_grad_(false);
}

void AveragedModel::update_parameters(const nn::Module& model) {
  NoGrad guard;
  const int64_t seen = n_averaged();
  const double weight = options_.decay ? 1 - *options_.decay : 1.0 / double(seen + 1);
  auto average = [&](const nn::NamedTensors& averages, const nn::NamedTensors& now, bool copies) {
    same_names(averages, now);
    for (size_t i = 0; i < now.size(); ++i) {
      const Tensor kept = averages[i].second.detach(), given = now[i].second.detach();
      if (copies || seen == 0 || !kept.dtype().is_floating_point())
        kept.copy_(given);
      else
        kept.copy_(lerp(kept, given.to(kept.dtype()), weight));
    }
  };
  average(module_.named_parameters(), model.named_parameters(), false);
  average(module_.named_buffers(), model.named_buffers(), !options_.use_buffers);
  n_averaged_.fill_(double(seen + 1));
}

}  // namespace dyadic::inline v1::optim
