#!/usr/bin/env python3
"""What `dyadic bench` measures, in PyTorch: one JSON line per row. vs_torch.py runs both in turns.

Only this file needs torch, and nothing else in the project needs this file. Rows carry a `mode` where PyTorch has more than
one way to do the same work; whoever compares takes the fastest.
"""
import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F

from gpt_block import gpt_block

SIZE, SIDE, MATRIX = 1 << 24, 4096, 1024
PATIENCE = 4.0  # seconds per row: some (f16 products) take more than a second each
# vocabulary, block, layers, heads, width, batch: src/study/presets and what src/cli/bench_gpt.cpp makes of them
PRESETS = {"nano": (64, 32, 2, 2, 32, 4), "char": (65, 64, 4, 4, 128, 12), "baby": (256, 256, 6, 6, 384, 8),
           "gpt2s": (50257, 256, 12, 12, 768, 1)}
DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def timed(run, runs=7, warm=1):
    """Best and median seconds of `runs` calls, of at least two within PATIENCE."""
    for _ in range(warm):
        run()
    times, begin = [], time.perf_counter()
    while len(times) < runs and (len(times) < 2 or time.perf_counter() - begin < PATIENCE):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times), sorted(times)[len(times) // 2]


def row(case, dtype, times, mode="eager", items=None):
    """`items`: the row's figure is ns per item of a run, not ms per run."""
    best, median = times
    out = {"case": case, "dtype": dtype, "mode": mode, "ms_min": best * 1e3, "ms_median": median * 1e3}
    if items:
        out["ns"] = best * 1e9 / items
    print(json.dumps(out), flush=True)


Block = gpt_block(torch)


class Gpt(nn.Module):
    """Loss of a decoder with learned positions and a head tied to the embedding."""

    def __init__(self, vocab, block, layers, heads, width):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(block, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, x, targets):
        hidden = self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))
        logits = F.linear(self.norm(self.blocks(hidden)), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def step_times(args, case, model, precision, mode, inputs):
    """Training steps of a model that returns its loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    loss_of = torch.compile(model) if mode == "compiled" else model

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = loss_of(*inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    row(case, precision, timed(step, args.steps, warm=3), mode)


class Digits(nn.Module):
    """The network of examples/digits.py, and its loss."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(512, 10),
        )

    def forward(self, x, targets):
        return F.cross_entropy(self.net(x), targets)


def digits(args):
    for precision in args.precision:
        for mode in args.mode:
            torch.manual_seed(0)
            batch = torch.randn(32, 1, 8, 8), torch.randint(10, (32,))
            step_times(args, "cnn/digits", Digits(), precision, mode, batch)


def gpt(args):
    for preset in args.preset:
        vocab, block, layers, heads, width, batch = PRESETS[preset]
        for precision in args.precision:
            for mode in args.mode:
                torch.manual_seed(0)
                batch_of = torch.randint(vocab, (batch, block)), torch.randint(vocab, (batch, block))
                step_times(args, f"gpt/{preset}", Gpt(vocab, block, layers, heads, width), precision, mode, batch_of)


def floating_ops(dtype):
    d = DTYPES[dtype]
    a, b = torch.rand(SIZE, dtype=d), torch.rand(SIZE, dtype=d)
    m, out = a.view(SIDE, SIDE), torch.empty(SIZE, dtype=d)
    yield "add", "fresh", lambda: a + b
    yield "add", "out=", lambda: torch.add(a, b, out=out)
    yield "exp", "fresh", lambda: torch.exp(a)
    yield "exp", "out=", lambda: torch.exp(a, out=out)
    yield "gelu", "fresh", lambda: F.gelu(a)
    yield "sum", "fresh", lambda: a.sum()
    yield "transpose copy", "fresh", lambda: m.t().contiguous()
    yield "softmax4096", "fresh", lambda: torch.softmax(m, -1)
    yield "layernorm4096", "fresh", lambda: F.layer_norm(m, (SIDE,))
    yield "chain4", "fresh", lambda: torch.tanh(a * b + a).mul_(0.5).add_(1)
    yield "sum dim0", "fresh", lambda: m.sum(0)
    yield "rand", "fresh", lambda: torch.rand(SIZE, dtype=d)
    yield "randn", "fresh", lambda: torch.randn(SIZE, dtype=d)


def narrow_ops():
    a = torch.rand(SIZE)
    low, half, wide = a.bfloat16(), a.half(), a.double()
    yield "f32->bf16", "bf16", lambda: a.bfloat16()
    yield "f32->f16", "f16", lambda: a.half()
    yield "bf16->f32", "f32", lambda: low.float()
    yield "bf16 add", "bf16", lambda: low + low
    yield "fp16 sum", "f16", lambda: half.sum()
    yield "f64->f32", "f32", lambda: wide.float()


def ops(args):
    def wanted(name):
        return not args.case or name in args.case

    with torch.no_grad():
        for dtype in ("f32", "f64"):
            for name, mode, run in floating_ops(dtype):
                if wanted(name):
                    row(name, dtype, timed(run), mode)
        for name, dtype, run in narrow_ops():
            if wanted(name):
                row(name, dtype, timed(run), "fresh")
        for dtype in ("f32", "bf16", "f16", "f64") if wanted("matmul1024") else ():
            a, b = (torch.rand(MATRIX, MATRIX).to(DTYPES[dtype]) for _ in range(2))
            row("matmul1024", dtype, timed(lambda: a @ b, warm=2), "fresh")


def overhead(_):
    a, b, leaf = torch.rand(4), torch.rand(4), torch.rand(4, requires_grad=True)

    def repeat(run, times):
        def loop():
            for _ in range(times):
                run()
        return loop

    def chain():
        x = leaf
        for _ in range(100):
            x = x * 1.01
        x.sum().backward()

    with torch.no_grad():
        row("add", "f32", timed(repeat(lambda: a + b, 20_000), 9), items=20_000)
    row("add_recording", "f32", timed(repeat(lambda: leaf + b, 20_000), 9), items=20_000)
    row("chain100", "f32", timed(repeat(chain, 50), 9), items=5_000)


def optim(args):
    def step_of(make, mode, dtype):
        p = nn.Parameter(torch.randn(args.size) * 0.02)
        p.grad = torch.randn(args.size)
        row("adamw", dtype, timed(make([p]).step, warm=2), mode, items=args.size)

    step_of(lambda p: torch.optim.AdamW(p, fused=True), "fused", "f32")
    try:
        from torchao.optim import AdamW8bit
    except ImportError:
        return  # the row stays without a peer
    step_of(AdamW8bit, "torchao", "dynamic8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int)
    sections = parser.add_subparsers(dest="section", required=True)
    for name in ("gpt", "digits"):
        part = sections.add_parser(name)
        part.add_argument("--precision", nargs="+", choices=("f32", "bf16"), default=["f32"])
        part.add_argument("--mode", nargs="+", choices=("eager", "compiled"), default=["eager"])
        part.add_argument("--steps", type=int, default=100)
        if name == "gpt":
            part.add_argument("--preset", nargs="+", choices=PRESETS, default=["char"])
    sections.add_parser("ops").add_argument("--case", nargs="+")
    sections.add_parser("overhead")
    sections.add_parser("optim").add_argument("--size", type=int, default=50_000_000)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads()}), flush=True)
    {"gpt": gpt, "digits": digits, "ops": ops, "overhead": overhead, "optim": optim}[args.section](args)


if __name__ == "__main__":
    main()
