"""A run that can be killed at any moment: start it again, and it goes on to the very same weights.

usage: resume.py [folder] [steps after which it kills itself]
"""
import os
import signal
import sys

import dyadic as dy
from digits import Net, load, test
from dyadic.nn import functional as F
from dyadic.train import Checkpoint, EarlyStopping, History
from dyadic.utils.data import DataLoader


def main(folder="runs/resume", die_after=-1, steps=225):
    dy.manual_seed(0)
    train_set, test_set = load()
    loader = DataLoader(train_set, batch_size=32, shuffle=True, num_workers=2)
    test_loader = DataLoader(test_set, batch_size=256)
    model = Net()
    optimizer = dy.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = dy.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
    history = History(csv=f"{folder}/history.csv", tensorboard=f"{folder}/tensorboard")
    stopping = EarlyStopping(patience=3, mode="max", restore_best=model)

    run = Checkpoint(folder, keep=2, best="loss", background=True, config={"steps": steps, "lr": 0.001})
    run.add("model", model).add("optimizer", optimizer).add("schedule", schedule).add("data", loader)
    run.add("history", history).add("stopping", stopping)
    resumed = run.resume()
    step, taken = resumed.step if resumed else 0, 0
    print(f"goes on after step {step}" if resumed else "begins at step 0", flush=True)

    while step < steps and not stopping.stopped:
        model.train()
        for images, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            schedule.step()
            step, taken = step + 1, taken + 1
            history.log(step, loss=loss, lr=schedule.get_last_lr()[0])
            if step % 10 == 0:
                run.save(step, loss=loss)
            if taken == die_after:
                os.kill(os.getpid(), signal.SIGKILL)
            if step == steps:
                break
        accuracy = test(model, test_loader)
        print(f"step {step}: test accuracy {accuracy:.2%}")
        history.log(step, accuracy=accuracy)
        stopping.update(accuracy)
    run.wait()
    print("the weights' sum is", sum(t.double().sum().item() for t in model.state_dict().values()))


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
