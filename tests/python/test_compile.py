"""torch.compile: the bits of eager code, whatever Python does on the way."""
import copy
import gc
import pickle
import threading

import numpy as np
import pytest

import dyadic as torch
from dyadic import nn


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.detach().numpy().tobytes() == b.detach().numpy().tobytes()


def chain(x, y):
    return torch.relu((x * y + x) * 0.5 - y) ** 2 + x


def test_a_function():
    x, y = torch.randn(90, 60), torch.randn(60)
    fast = torch.compile(chain)
    assert fast.__name__ == "chain" and fast.__wrapped__ is chain
    for _ in range(3):
        assert same(fast(x, y), chain(x, y))
    text = torch.compiler.explain(fast)
    assert "3 runs" in text and "mul add mul sub relu" in text
    with pytest.raises(ValueError, match="not compiled"):
        torch.compiler.explain(chain)


def test_what_python_reads_and_writes_on_the_way():
    def program(x):
        t = x * 2
        seen = [t[0, 0].item(), float(t.sum()), str(t), t.tolist(), t.numpy().copy()]
        shared = x.numpy()
        u = x * 3
        shared[0, 0] = 100
        v = t + 1
        x += 1
        t[3] = v[2]
        del u
        w = x * t
        return seen, t, v, w, x

    inputs = torch.randn(80, 60)
    fast = torch.compile(program)
    for _ in range(3):
        seen, *eager = program(inputs.clone())
        got, *results = fast(inputs.clone())
        assert got[:4] == seen[:4] and np.array_equal(got[4], seen[4]) and all(map(same, results, eager))


def test_memory_that_numpy_writes():
    array = np.ones(6000, np.float32)
    x = torch.from_numpy(array)

    @torch.compile
    def program():
        y = x * 2
        array[:] = 5
        return y + 1

    assert program()[0] == 3 and program()[0] == 11 and "mul: memory that others may write" in torch.compiler.explain(program)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(32, 64), nn.Linear(64, 32), nn.LayerNorm(64)

    def forward(self, x):
        h = self.norm(self.up(x))
        return self.down(nn.functional.dropout(h * torch.sigmoid(h * 1.702), 0.1, self.training)) + x


def trained(compiled):
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    if compiled == "method":
        model.compile()
    elif compiled == "model":
        model = torch.compile(model)

    def step(x):
        optimizer.zero_grad()
        loss = ((model(x) - 1) ** 2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    run = torch.compile(step) if compiled == "step" else step
    losses = [run(torch.randn(80, 32)).item() for _ in range(8)]
    return losses, [p.detach() for p in model.parameters()], torch.rand(3)


def test_training():
    losses, weights, drawn = trained(None)
    for how in ("step", "model", "method"):
        got = trained(how)
        assert got[0] == losses and all(map(same, got[1], weights)) and same(got[2], drawn)


def test_modules_stay_what_they_are():
    model = torch.compile(Model())
    x = torch.randn(64, 32)
    expected = model.eval()(x)
    assert isinstance(model, Model) and list(model.state_dict()) == list(Model().state_dict())
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert same(other(x), expected) and "1 runs" in torch.compiler.explain(other)


def test_errors_and_threads():
    x = torch.randn(6000)

    @torch.compile
    def fails(n):
        kept.append(x * 2 + n)
        if n == 1:
            raise KeyError("one")
        return kept[-1] * 2

    kept = []
    with pytest.raises(KeyError):
        fails(1)
    assert same(kept[0], x * 2 + 1) and same(fails(2), (x * 2 + 2) * 2)
    wrong = []

    def work():
        for n in range(2, 40):
            if not same(fails(n), (x * 2 + n) * 2):
                wrong.append(n)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    gc.collect()
