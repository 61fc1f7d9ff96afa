"""torch.compile(mode="reduce-overhead") of a whole training step: schedules, clipping, a GradScaler and accumulation inside of it."""
import math
import re

import pytest

import dyadic as torch
from dyadic import nn

STEPS = 20


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.detach().numpy().tobytes() == b.detach().numpy().tobytes()


def replays(compiled):
    return int(re.search(r"whole steps: (\d+)", torch.compiler.explain(compiled))[1])


class Warmup(torch.optim.lr_scheduler.LRScheduler):
    def get_lr(self):
        return [base * min(1.0, (self.last_epoch + 1) / 8) for base in self.base_lrs]


def half_life(epoch):
    return 0.5 ** (epoch / 5)


def schedules(optimizer):
    all = torch.optim.lr_scheduler
    return {
        "none": lambda: None,
        "step": lambda: all.StepLR(optimizer, 3, 0.5),
        "cosine": lambda: all.CosineAnnealingLR(optimizer, 12),
        "one cycle": lambda: all.OneCycleLR(optimizer, 0.1, 30),
        "lambda": lambda: all.LambdaLR(optimizer, [lambda epoch: 0.9**epoch]),
        "function": lambda: all.LambdaLR(optimizer, half_life),
        "own": lambda: Warmup(optimizer),
        "sequence": lambda: all.SequentialLR(optimizer, [all.LinearLR(optimizer, total_iters=4), all.ExponentialLR(optimizer, 0.9)], [5]),
    }


def train(wrap, threads=1, kind="AdamW", schedule="none", clip=None, norm_type=2.0, value=None, scale=None, unscale=False, parts=1, rate=float):
    """Everything that a step has to do with, after each of twenty, and the step."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Dropout(0.1), nn.Linear(24, 5))
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=rate(0.01))
    scaler = torch.amp.GradScaler("cpu", init_scale=scale or 1.0, growth_interval=3, enabled=scale is not None)
    rates = schedules(optimizer)[schedule]()

    def step(x, y):
        optimizer.zero_grad()
        total = torch.zeros(())
        for part, targets in zip(x.chunk(parts), y.chunk(parts)):
            with torch.autocast("cpu", torch.float16, enabled=scale is not None):
                loss = nn.functional.cross_entropy(model(part), targets) / parts
            scaler.scale(loss).backward()
            total += loss.detach()
        norm = None
        if unscale:
            scaler.unscale_(optimizer)
        if clip is not None:
            norm = nn.utils.clip_grad_norm_(model.parameters(), clip, norm_type)
        if value is not None:
            nn.utils.clip_grad_value_(model.parameters(), value)
        scaler.step(optimizer)
        scaler.update()
        if rates is not None:
            rates.step()
        return total, norm

    one = wrap(step)
    seen, numbers = [], []
    for k in range(STEPS):
        loss, norm = one(torch.randn(16, 12), torch.randint(0, 5, (16,)))
        seen += [loss, *([norm] if clip is not None else []), *(p.grad.clone() for p in model.parameters())]
        seen += [p.detach().clone() for p in model.parameters()]
        numbers.append((scaler.get_scale(), scaler.state_dict(), float(optimizer.param_groups[0]["lr"]), optimizer.steps))
        numbers.append(rates and (rates.get_last_lr(), rates.last_epoch))
    for state in optimizer.state_dict()["state"].values():
        seen += [v for v in state.values() if isinstance(v, torch.Tensor)]
    torch.set_num_threads(before)
    return [*seen, torch.rand(3)], numbers, one


def expect_replays(**recipe):
    for threads in (1, 2, 3):
        eager, numbers, _ = train(lambda f: f, threads, **recipe)
        tensors, others, one = train(lambda f: torch.compile(f, mode="reduce-overhead"), threads, **recipe)
        assert replays(one) == STEPS - 3, torch.compiler.explain(one)
        assert len(tensors) == len(eager) and all(map(same, tensors, eager))
        assert others == numbers
    tensors, others, one = train(lambda f: torch.compile(f, mode="reduce-overhead", check=True), **recipe)
    assert f"{STEPS - 3} runs of it were checked" in torch.compiler.explain(one), torch.compiler.explain(one)
    assert others == numbers and all(map(same, tensors, eager))
    return numbers


@pytest.mark.parametrize("schedule", [name for name in schedules(None) if name != "none"])
def test_schedules_step_inside(schedule):
    rates = [n[2] for n in expect_replays(schedule=schedule, kind="SGD")[::2]]
    assert len(set(rates)) > 3


def test_a_rate_that_is_a_tensor():
    expect_replays(schedule="step", rate=torch.tensor)


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0, 0.0, math.inf])
def test_clipping(norm_type):
    expect_replays(clip=0.05, norm_type=norm_type)


def test_clipping_of_values():
    expect_replays(value=0.01, kind="SGD")


@pytest.mark.parametrize("unscale", [False, True])
def test_a_scaler_skips_and_grows(unscale):
    numbers = expect_replays(scale=2.0**18, unscale=unscale, clip=0.5 if unscale else None, schedule="cosine")
    scales = [n[0] for n in numbers[::2]]
    moves = [b / a for a, b in zip(scales, scales[1:])]
    assert moves[2:].count(0.5) >= 1 and moves.count(2.0) >= 1
    assert numbers[-2][3] + numbers[-2][1]["skipped"] == STEPS


def test_accumulation_inside():
    expect_replays(parts=4)
    expect_replays(parts=2, scale=2.0**18, unscale=True, clip=0.1, schedule="step")


def asked():
    """(why the program runs, what it asks for on the way)"""
    yield "a GradScaler is asked for its numbers", lambda loss, scaler, rates, optimizer: loss * scaler.get_scale()
    yield "a schedule is asked for its numbers", lambda loss, scaler, rates, optimizer: loss * rates.get_last_lr()[0]
    yield "a schedule is asked for its numbers", lambda loss, scaler, rates, optimizer: loss * rates.gamma
    yield "asked for the number of its steps", lambda loss, scaler, rates, optimizer: loss * optimizer.steps
    yield "an option of an optimizer that the program sets", lambda loss, scaler, rates, optimizer: optimizer.set_lr(0.5)


@pytest.mark.parametrize("which", range(5))
def test_numbers_that_are_asked_for(which):
    why, ask = list(asked())[which]
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler, rates = torch.amp.GradScaler("cpu", init_scale=8.0), torch.optim.lr_scheduler.StepLR(optimizer, 100)

    @torch.compile(mode="reduce-overhead")
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return ask(loss.detach(), scaler, rates, optimizer)

    for _ in range(6):
        step(torch.randn(2, 3))
    text = torch.compiler.explain(step)
    assert replays(step) == 0 and why in text, text


def test_a_rate_that_the_program_reads():
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    @torch.compile(mode="reduce-overhead")
    def step(x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        return x * optimizer.param_groups[0]["lr"]

    for k in range(16):
        if k % 4 == 3:
            optimizer.param_groups[0]["lr"] /= 2
        x = torch.randn(2, 3)
        rate = optimizer.param_groups[0]["lr"]
        assert same(step(x), x * rate), k
    assert replays(step) >= 2, torch.compiler.explain(step)


def test_another_optimizer_under_a_scaler():
    class Plain:
        def __init__(self, params):
            self.param_groups = [{"params": list(params)}]

        def step(self):
            with torch.no_grad():
                for p in self.param_groups[0]["params"]:
                    p.sub_(p.grad * 0.1)

    model = nn.Linear(3, 3)
    optimizer, scaler = Plain(model.parameters()), torch.amp.GradScaler("cpu", init_scale=8.0)

    @torch.compile(mode="reduce-overhead")
    def step(x):
        model.zero_grad()
        scaler.scale(model(x).square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()

    for _ in range(5):
        step(torch.randn(2, 3))
    assert replays(step) == 0 and "a GradScaler with another's optimizer" in torch.compiler.explain(step), torch.compiler.explain(step)
