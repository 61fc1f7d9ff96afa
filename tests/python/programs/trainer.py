"""A trainer of the kind that libraries have: it looks at signatures, moves nested batches by pytrees, samples anew each epoch, keeps an average of
the weights, calls hooks, logs, and saves and loads what it is made of."""
import copy
import inspect
import io
import json
import logging
import pickle
import weakref
from collections import namedtuple
from typing import Any, Dict, Optional

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils._pytree import tree_map
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, Sampler, SequentialSampler
from torch.utils.hooks import RemovableHandle

Output = namedtuple("Output", ["loss", "logits"])


class Points(Dataset):
    def __init__(self, n: int):
        t = torch.arange(n, dtype=torch.float32)
        self.x, self.y = torch.stack([torch.sin(t), torch.cos(t * 0.5)], 1), (t % 3 == 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"inputs": (self.x[i], {"scale": torch.tensor(1.0)}), "labels": self.y[i]}


class Backwards(Sampler):
    def __init__(self, data_source, generator: Optional[torch.Generator] = None):
        self.data_source, self.generator = data_source, generator

    def __len__(self):
        return len(self.data_source)

    def __iter__(self):
        return iter(range(len(self.data_source) - 1, -1, -1))


class Net(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, width), nn.BatchNorm1d(width), nn.ReLU(inplace=True), nn.Linear(width, 2))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long), persistent=False)
        self.body[0].register_forward_hook(self._count)
        for i, p in enumerate(self.parameters()):
            with torch.no_grad():
                p.copy_(torch.cos(torch.arange(p.numel(), dtype=p.dtype) + i).view(p.shape) * 0.5)

    def _count(self, module, args, output):
        self.steps += 1

    def forward(self, inputs: Any, labels: Optional[Tensor] = None) -> Output:
        x, options = inputs
        logits = self.body(x * options["scale"].unsqueeze(-1))
        return Output(None if labels is None else nn.functional.cross_entropy(logits, labels), logits)


class Average:
    def __init__(self, parameters, decay):
        parameters = list(parameters)
        self.decay, self.shadow = decay, [p.detach().clone() for p in parameters]
        self.refs = [weakref.ref(p) for p in parameters]

    def update(self):
        with torch.no_grad():
            for s, ref in zip(self.shadow, self.refs):
                s.sub_((s - ref()) * (1 - self.decay))


class Trainer:
    def __init__(self, model: nn.Module, data: Dataset, optimizer: Optimizer, schedule: Optional[LRScheduler] = None):
        self.model, self.data, self.optimizer, self.schedule = model, data, optimizer, schedule
        self.columns = [name for name in inspect.signature(model.forward).parameters if name in data[0]]
        self.accepts_none = "set_to_none" in inspect.signature(optimizer.zero_grad).parameters
        self.average, self.log = Average(model.parameters(), 0.9), []

    def loader(self, sampler) -> DataLoader:
        return DataLoader(self.data, batch_sampler=BatchSampler(sampler, 4, drop_last=True))

    def prepare(self, batch: Dict[str, Any]) -> Dict[str, Any]:
        move = lambda t: t.to(device=torch.device("cpu"), non_blocking=True) if isinstance(t, Tensor) else t  # noqa: E731
        return tree_map(move, {name: batch[name] for name in self.columns})

    def train(self, epochs: int):
        self.model.train()
        for epoch in range(epochs):
            for batch in self.loader(Backwards(self.data) if epoch % 2 else SequentialSampler(self.data)):
                output = self.model(**self.prepare(batch))
                output.loss.backward()
                nn.utils.clip_grad_value_(self.model.parameters(), 0.5)
                self.optimizer.step()
                self.optimizer.zero_grad(**({"set_to_none": True} if self.accepts_none else {}))
                self.average.update()
            if self.schedule is not None:
                self.schedule.step()
            self.log.append({"epoch": epoch, "loss": round(output.loss.item(), 4), "lr": self.optimizer.param_groups[0]["lr"]})

    @torch.no_grad()
    def evaluate(self) -> float:
        self.model.eval()
        right = [(self.model(**b).logits.argmax(-1) == b["labels"]).float().mean() for b in map(self.prepare, self.loader(SequentialSampler(self.data)))]
        return round(torch.stack(right).mean().item(), 4)


def main():
    logging.basicConfig(level=logging.INFO)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    trainer = Trainer(model, Points(24), optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5))
    print(trainer.columns, trainer.accepts_none, type(trainer.data), isinstance(optimizer, Optimizer))
    trainer.train(4)
    print(json.dumps(trainer.log))
    print(trainer.evaluate(), int(model.steps), [round(s.sum().item(), 4) for s in trainer.average.shadow])
    twin = copy.deepcopy(model)
    twin(trainer.prepare(next(iter(trainer.loader(SequentialSampler(trainer.data)))))["inputs"])
    print(int(model.steps), int(twin.steps), sorted(model.state_dict()) == sorted(twin.state_dict()))
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "log": trainer.log}, buffer)
    buffer.seek(0)
    state = torch.load(buffer, weights_only=True)
    print(model.load_state_dict(state["model"], strict=True), state["log"] == trainer.log, state["optimizer"]["param_groups"][0]["momentum"])
    data = pickle.loads(pickle.dumps(trainer.data))
    print(type(data).__name__, len(data), torch.equal(data.x, trainer.data.x))
    sampler = RandomSampler(data, replacement=True, num_samples=5, generator=torch.Generator().manual_seed(1))
    print(sampler.data_source is data, sampler.replacement, sampler.num_samples, len(list(sampler)))
    seen = []
    handle = model.register_forward_pre_hook(lambda module, args, kwargs: seen.append(sorted(kwargs)), with_kwargs=True)
    model(**trainer.prepare(next(iter(trainer.loader(sampler)))))
    print(seen, isinstance(handle, RemovableHandle), torch.div(7, 2, rounding_mode="floor"), torch.device("cpu") == None)  # noqa: E711
    handle.remove()


if __name__ == "__main__":
    main()
