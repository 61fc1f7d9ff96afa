// A run that can be killed at any moment: start it again, and it goes on to the very same weights.
//   bin/examples/resume [folder] [steps after which it kills itself]     from the repository's folder
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "digits.h"

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "runs/resume";
  const int64_t steps = 225, die_after = argc > 2 ? std::atoll(argv[2]) : -1;
  dy::manual_seed(0);
  DataLoader loader(load(false), {.batch_size = 32, .shuffle = true, .num_workers = 2});
  DataLoader test_loader(load(true), {.batch_size = 256});
  Net model;
  dy::optim::AdamW optimizer(model.named_parameters(), {.lr = 1e-3});
  dy::optim::OneCycleLR schedule(optimizer, {.max_lr = {3e-3}, .total_steps = steps});
  dy::train::History history({.csv = folder + "/history.csv", .tensorboard = folder + "/tensorboard"});
  dy::train::EarlyStopping stopping({.patience = 3, .maximize = true}, &model);

  dy::train::Checkpoint run(folder, {.keep = 2, .best = "loss", .background = true});
  run.add("model", model).add("optimizer", optimizer).add("schedule", schedule).add("data", loader);
  run.add("history", history).add("stopping", stopping).config(R"({"steps": 225, "lr": 0.001})");
  const auto resumed = run.resume();
  int64_t step = resumed ? resumed->step : 0, taken = 0;
  std::printf(resumed ? "goes on after step %ld\n" : "begins at step %ld\n", long(step));

  while (step < steps && !stopping.stopped()) {
    model.train();
    for (const Value& batch : loader) {
      optimizer.zero_grad();
      dy::Tensor loss = dy::cross_entropy(model(batch[0]), batch[1]);
      loss.backward();
      optimizer.step();
      schedule.step();
      history.log(++step, {{"loss", loss.item()}, {"lr", schedule.get_last_lr()[0]}});
      if (step % 10 == 0) run.save(step, {{"loss", loss.item()}});
      if (++taken == die_after) std::raise(SIGKILL);
      if (step == steps) break;
    }
    const double accuracy = test(model, test_loader);
    std::printf("step %ld: test accuracy %.2f%%\n", long(step), 100 * accuracy);
    history.log(step, {{"accuracy", accuracy}});
    stopping.update(accuracy);
  }
  run.wait();
  double sum = 0;
  for (auto& [name, t] : model.state_dict()) sum += dy::sum(t.to(dy::f64)).item();
  std::printf("the weights' sum is %.17g\n", sum);
}
