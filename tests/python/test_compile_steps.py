"""torch.compile(mode="reduce-overhead"): whole steps that run again without their program, and what makes the program run."""
import gc
import math
import random
import re
import subprocess
import sys
import time

import pytest

import dyadic as torch
from dyadic import nn


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.detach().numpy().tobytes() == b.detach().numpy().tobytes()


def whole(f, **kwargs):
    return torch.compile(f, mode="reduce-overhead", **kwargs)


def replays(compiled):
    return int(re.search(r"whole steps: (\d+)", torch.compiler.explain(compiled))[1])


class Block(nn.Module):
    def __init__(self, width, heads=2, p=0.1):
        super().__init__()
        self.norm, self.mix, self.heads, self.p = nn.LayerNorm(width), nn.Linear(width, 3 * width), heads, p
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.mix(self.norm(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        h = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + nn.functional.dropout(self.out(h.transpose(1, 2).reshape(b, t, c)), self.p, self.training)


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(11, 16), nn.Embedding(8, 16)
        self.blocks = nn.ModuleList([Block(16), Block(16)])
        self.head = nn.Linear(16, 11)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
@pytest.mark.parametrize("low", [False, True])
def test_training_a_gpt(kind, low):
    def run(compiled):
        torch.manual_seed(1)
        model = Gpt()
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.05)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)

        def step(x, y):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=low):
                loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            return loss, {"norm": norm}

        one = whole(step) if compiled else step
        seen = []
        for _ in range(20):
            data = torch.randint(0, 11, (4, 9))
            loss, more = one(data[:, :-1], data[:, 1:])
            seen += [loss, more["norm"], *(p.grad.clone() for p in model.parameters())]
            schedule.step()
        if compiled:
            assert replays(one) >= 15, torch.compiler.explain(one)
        return seen + [p.detach() for p in model.parameters()] + [torch.rand(3)]

    assert all(map(same, run(True), run(False)))


def test_results_are_new_tensors():
    x = torch.randn(100)
    step = whole(lambda t: (t * 2, [t + 1, None, 3, "four"]))
    held = [step(x + k) for k in range(6)]
    assert replays(step) >= 3
    for k, (double, (more, none, three, four)) in enumerate(held):
        assert same(double, (x + k) * 2) and same(more, x + k + 1) and none is None and three == 3 and four == "four"


flag = True
nothing = None
settings = {"scale": 2.0}


class Holder:
    factor = 1.0

    def __init__(self):
        self.scale = 2.0
        self.items = [1.0]


def changes():
    """(a program, what changes what it reads): no recording sees them, so they are looked at before each step."""
    holder, model = Holder(), nn.Linear(6, 6)
    number = 2.0

    def closed(x):
        return x * number

    def change_closed():
        nonlocal number
        number += 1

    def change_flag():
        global flag
        flag = not flag

    def through(f):
        return lambda x: f(x) + 0

    def late(x):
        return x * holder.late

    model.alpha = 1.5
    holder.late = 1.0
    bias = None

    def change_none():
        nonlocal bias
        bias = 1.0 if bias is None else None

    def change_nothing():
        global nothing
        nothing = 1.0 if nothing is None else None

    yield (lambda x: x if bias is None else x + bias), change_none
    yield (lambda x: x if nothing is None else x + nothing), change_nothing
    yield closed, change_closed
    yield (lambda x: x * 2 if flag else x * 3), change_flag
    yield (lambda x: x * settings["scale"]), lambda: settings.update(scale=settings["scale"] + 1)
    yield (lambda x: x * holder.scale), lambda: setattr(holder, "scale", holder.scale + 1)
    yield (lambda x: x * holder.items[0]), lambda: holder.items.__setitem__(0, holder.items[0] + 1)
    yield (lambda x: x * sum(holder.items)), lambda: holder.items.append(1.0)
    yield through(closed), change_closed
    yield late, lambda: setattr(holder, "late", holder.late + 1)
    yield (lambda x: model(x) * model.alpha), lambda: setattr(model, "alpha", model.alpha + 1)
    yield (lambda x: model(x)), lambda: setattr(model, "weight", nn.Parameter(model.weight * 2))
    yield (lambda x: model(x)), lambda: setattr(model.weight, "data", model.weight.detach() * 2)
    yield (lambda x: model(x)), lambda: model.register_forward_hook(lambda m, args, out: out * 2)
    yield (lambda x: model(x)), lambda: setattr(model, "forward", lambda x: x * 2)
    yield (lambda x: nn.functional.dropout(x, 0.5, model.training)), lambda: model.train(not model.training)


@pytest.mark.parametrize("which", range(16))
def test_what_changes_is_noticed(which):
    program, change = list(changes())[which]
    step = whole(program)
    for k in range(16):
        if k % 4 == 3:
            change()
        x = torch.randn(3, 6)
        torch.manual_seed(k)
        expected = program(x)
        torch.manual_seed(k)
        with torch.no_grad():
            assert same(step(x), expected), k
    text = torch.compiler.explain(step)
    assert replays(step) >= 1 or "hooks" in text, text


def test_flags_as_arguments():
    step = whole(lambda x, on=True, *, how="plus": (x * 2 if on else x * 3) + (1 if how == "plus" else -1))
    for k in range(24):
        x, on, how = torch.randn(10), k % 2 == 0, "plus" if k % 3 else "minus"
        assert same(step(x, on, how=how), (x * 2 if on else x * 3) + (1 if how == "plus" else -1))
    assert replays(step) >= 8


def side_effects():
    seen, holder = [], Holder()
    count = 0

    def counts(x):
        nonlocal count
        count += 1
        return x * 2

    def keeps(x):
        seen.append(x.shape)
        return x * 2

    def attribute(x):
        holder.scale += 1
        return x * 2

    def prints(x):
        print("x")
        return x * 2

    def clock(x):
        time.perf_counter()
        return x * 2

    def draws(x):
        return x * random.random()

    def reads(x):
        return x * 2 if x.sum() > 0 else x * 3

    def other(x):
        return math.floor(2.5) * x * random.choice([1, 2])

    return [counts, keeps, attribute, prints, clock, draws, reads, other]


@pytest.mark.parametrize("which", range(8))
def test_what_a_program_does_beside_runs_it(which, capsys):
    program = side_effects()[which]
    step = whole(program)
    for _ in range(6):
        step(torch.ones(5))
    assert replays(step) == 0
    reasons = ["changes what it reads: a variable", "changes what it reads: a list", "changes what it reads: an object's attributes"]
    reasons += ["it calls print", "it calls perf_counter", "it calls Random.random", "a value is read on the way: bool[] of gt", "it calls"]
    assert reasons[which] in torch.compiler.explain(step)
    if program.__name__ == "prints":
        assert capsys.readouterr().out == "x\n" * 6
    if program.__name__ == "reads":
        assert re.search(r"test_compile_steps.py:\d+", torch.compiler.explain(step))


def test_fullgraph_names_the_line():
    def program(x):
        y = x * 2
        return y + y.sum().item()

    for mode in ("default", "reduce-overhead"):
        step = torch.compile(program, fullgraph=True, mode=mode)
        line = program.__code__.co_firstlineno + 2
        with pytest.raises(RuntimeError, match=rf"a value is read on the way: f32\[\].*test_compile_steps.py:{line}"):
            step(torch.ones(5000))
    assert same(torch.compile(lambda x: x * 2, fullgraph=True)(torch.ones(4)), torch.full((4,), 2.0))


def test_check_compares_bits():
    model = nn.Linear(4, 4)
    optimizer = torch.optim.Adam(model.parameters())

    def program(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    step = whole(program, check=True)
    for _ in range(6):
        step(torch.randn(3, 4))
    assert "runs of it were checked" in torch.compiler.explain(step)


def test_a_module_and_its_modes():
    model = whole(Gpt())
    plain = Gpt()
    plain.load_state_dict(model.state_dict())
    for k in range(30):
        for m in (model, plain):
            m.train(k % 6 < 3)
        ids = torch.randint(0, 11, (2, 8))
        torch.manual_seed(k)
        with torch.no_grad():
            expected = plain(ids)
            torch.manual_seed(k)
            assert same(model(ids), expected)
    assert replays(model) >= 5, torch.compiler.explain(model)


def test_accumulation():
    def run(compiled):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Dropout(0.2), nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def part(x):
            loss = model(x).square().mean() / 4
            loss.backward()
            return loss

        def finish():
            optimizer.step()
            optimizer.zero_grad()

        one, last = (whole(part), whole(finish)) if compiled else (part, finish)
        losses = []
        for _ in range(10):
            losses += [one(torch.randn(5, 6)) for _ in range(4)]
            last()
        if compiled:
            assert replays(one) >= 20 and replays(last) >= 6, torch.compiler.explain(one) + torch.compiler.explain(last)
        return losses + [p.detach() for p in model.parameters()]

    assert all(map(same, run(True), run(False)))


def test_what_ends_does_not_run_again():
    def make():
        model = nn.Linear(3, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()

        return whole(step), model, optimizer

    step, model, optimizer = make()
    for _ in range(4):
        step(torch.ones(2, 3))
    assert replays(step) >= 1
    optimizer.add_param_group({"params": [nn.Parameter(torch.ones(2))]})
    before = replays(step)
    step(torch.ones(2, 3))
    assert replays(step) == before
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    weight = model.weight.detach().clone()
    for _ in range(4):
        step(torch.ones(2, 3))
    assert same(model.weight, weight) and replays(step) > before
    del step, model, optimizer
    gc.collect()


def test_the_first_refusal_of_a_process():
    """What a refusal asks of Python is not seen by the hook that refuses."""
    program = """
import dyadic as torch
@torch.compile(mode="reduce-overhead", fullgraph=True)
def f(x):
    return x * 2 if x.sum() > 0 else x
try:
    f(torch.ones(3))
except RuntimeError as e:
    print(e)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and "a value is read on the way" in done.stdout, done.stderr
