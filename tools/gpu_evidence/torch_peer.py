"""torch_peer.py GROUP SIZES: what `dyadic bench cuda` times, in PyTorch, a line of JSON for each row, of the same names. SIZES are those
that it has written. `torch_peer.py version` says which PyTorch there is, and fails where it has no device.

A row has a `mode` where there is more than one way to the same work; whoever compares takes the fastest.
"""
import json
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from torch_bench import PRESETS, Gpt  # noqa: E402

LEAST_SPAN, PATIENCE = 1.0, 300.0  # milliseconds, as in src/cli/bench_cuda.cpp
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64, "tf32": torch.float32}


def timed(run, prepare=None):
    """Median and best milliseconds of a run, by events; short ones many between two."""
    def span(runs):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        if prepare:
            prepare()
        begin.record()
        for _ in range(runs):
            run()
        end.record()
        return begin, end, runs

    def each(s):
        s[1].synchronize()
        return s[0].elapsed_time(s[1]) / s[2]

    each(span(1))
    once = max(each(span(1)), 1e-4)
    runs = 1 if prepare else min(max(int(LEAST_SPAN / once), 1), 200)
    times = sorted(each(s) for s in [span(runs) for _ in range(min(max(int(PATIENCE / (once * runs)), 5), 50))])
    return times[len(times) // 2], times[0]


def row(case, dtype, times, mode="eager"):
    return {"case": case, "dtype": dtype, "ms_median": times[0], "ms_min": times[1], "mode": mode}


def pointwise(s):
    n = s["elements"]
    for name in ("bf16", "f32"):
        x, y = torch.randn(n, dtype=DTYPES[name]), torch.randn(n, dtype=DTYPES[name])
        for case, run in (("add", lambda: x + y), ("gelu", lambda: F.gelu(x)), ("exp", lambda: x.exp()), ("sum", lambda: x.sum()),
                          ("randn", lambda: torch.randn(n, dtype=x.dtype))):
            yield row(case, name, timed(run))
        if name == "f32":
            yield row("f32 to bf16", "bf16", timed(lambda: x.bfloat16()))


def rows(s):
    width = s["row_width"]
    count = max(1, s["elements"] // 4 // width)
    for name in ("bf16", "f32"):
        x, (w, b) = torch.randn(count, width, dtype=DTYPES[name]), torch.randn(2, width, dtype=DTYPES[name])
        for case, run in (("softmax", lambda: torch.softmax(x, -1)), ("layer_norm", lambda: F.layer_norm(x, (width,), w, b)),
                          ("rms_norm", lambda: F.rms_norm(x, (width,), w)), ("sum of rows", lambda: x.sum(-1)),
                          ("sum of columns", lambda: x.sum(0))):
            yield row(case, name, timed(run))


def products(s):
    cases = [(side, name) for side in s["products"] for name in ("bf16", "f16", "f32")]
    cases += [(s["products"][min(1, len(s["products"]) - 1)], "f64"), (s["products"][0], "tf32")]
    for side, name in cases:
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        x, y = torch.randn(side, side, dtype=DTYPES[name]), torch.randn(side, side, dtype=DTYPES[name]).t()
        yield row(f"matmul {side}", name, timed(lambda: x @ y))


def attention(s):
    for length in s["lengths"]:
        q, k, v, g = (torch.randn(s["attention_tokens"] // length, 16, length, 128, dtype=torch.bfloat16) for _ in range(4))
        for causal in (False, True):
            name = f"attention {length}{' causal' if causal else ''}"
            with torch.no_grad():
                yield row(name + ", forward", "bf16", timed(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)))
            leaves, out = [t.detach().requires_grad_() for t in (q, k, v)], []

            def prepare():
                out[:] = [F.scaled_dot_product_attention(*leaves, is_causal=causal)]

            yield row(name + ", backward", "bf16", timed(lambda: torch.autograd.grad(out[0], leaves, g), prepare))


def optimizer(s):
    for n in s["parameters"]:
        p = torch.nn.Parameter(torch.randn(n))
        p.grad = torch.randn(n)
        yield row(f"AdamW of {n}", "f32", timed(torch.optim.AdamW([p], fused=True).step), "fused")


def calls(s):
    x, w, b = torch.randn(4, 4), torch.randn(4, 4), torch.randn(4)
    leaf = torch.randn(4, 4, requires_grad=True)

    def cost(run, at_once=200):
        each = []
        for done in range(-at_once, s["calls"], at_once):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(at_once):
                run()
            if done >= 0:
                each.append((time.perf_counter() - begin) / at_once * 1e3)
        return sorted(each)[len(each) // 2], min(each)

    with torch.no_grad():
        for case, run in (("add", lambda: x + w), ("matmul", lambda: x @ w), ("linear", lambda: F.linear(x, w, b)),
                          ("layer_norm", lambda: F.layer_norm(x, (4,), b, b))):
            yield row(f"call of {case}", "f32", cost(run), "Python")
    yield row("call of add, recorded", "f32", cost(lambda: leaf + w), "Python")


def training_row(s, low, mode):
    vocab, _, layers, heads, width, _ = PRESETS["gpt2s"]
    model = Gpt(vocab, s["gpt_block"], layers, heads, width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    loss_of = torch.compile(model) if mode == "compiled" else model
    x = torch.randint(vocab, (s["gpt_batch"], s["gpt_block"]))

    def step():
        with torch.autocast("cuda", torch.bfloat16, enabled=low):
            loss = loss_of(x, x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()
    return row("training step of gpt2s", "bf16" if low else "f32", timed(step), mode)


def training(s):
    for low, mode in ((True, "eager"), (True, "compiled"), (False, "eager")):
        yield training_row(s, low, mode)
        torch.cuda.empty_cache()


def main(group, sizes="{}"):
    if not torch.cuda.is_available():
        sys.exit("torch_peer: PyTorch has no device here")
    torch.set_default_device("cuda")
    if group == "version":
        print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}))
        return
    measure = {f.__name__: f for f in (pointwise, rows, products, attention, optimizer, calls, training)}[group]
    for one in measure(json.loads(sizes)):
        print(json.dumps(one), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
