#!/usr/bin/env python3
"""Ops of Dyadic beside PyTorch's, row by row: one text per row, run as it stands by both, in turns, as ratios.

A text is Python over x and y (random, [2048, 2048]), small operands named in SETUP, `torch` and `F`: the one thing that differs
between the two processes is which package these names are. `./dev bench --vs-torch rows` runs this in an environment that
has both. Inputs are made anew for each row, results are fresh, gradients are not recorded unless the row says backward.
"""
import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

FLOATS = "f32 f64 bf16"
TYPES = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16", "i64": "int64", "i32": "int32", "u8": "uint8",
         "bool": "bool", "c64": "complex64", "c128": "complex128"}
# What x and y hold; the dtypes a row is run in; its texts.
UNARY = {
    "normal": "abs neg square sign floor round trunc frac relu sigmoid tanh sin cos tan exp exp2 expm1 atan sinh cosh asinh erf "
              "erfc sinc F.gelu F.silu F.softplus F.elu F.selu F.mish F.hardswish F.hardsigmoid F.logsigmoid F.leaky_relu "
              "F.softsign F.relu6 F.hardtanh F.tanhshrink isnan isinf isfinite signbit logical_not nan_to_num i0 clone",
    "positive": "sqrt rsqrt reciprocal log log2 log10 log1p lgamma digamma",
    "unit": "asin acos atanh logit erfinv",
}
ROWS = [
    *((FLOATS, fill, f"{name if '.' in name else 'torch.' + name}(x)") for fill, names in UNARY.items() for name in names.split()),
    *((FLOATS, "normal", text) for text in """
x + y; x * y; x / y; x - y; x + 1; x * 2; 1 / x; x + row; x * column; torch.maximum(x, y); torch.fmod(x, y); torch.remainder(x, y)
torch.atan2(x, y); torch.hypot(x, y); torch.copysign(x, y); torch.lerp(x, y, 0.3); torch.addcmul(x, y, y); torch.addcdiv(x, y, y)
x > y; x == y; x.clamp(-1, 1); x ** 2; x ** 3; torch.where(x > 0, x, y); x.masked_fill(x > 0, 0); torch.logaddexp(x, y)
x.sum(); x.sum(0); x.sum(1); x.mean(); x.mean(0); x.mean(1); x.prod(1); x.max(); x.min(); x.amax(0); x.amax(1); x.max(0); x.max(1)
x.argmax(); x.argmax(0); x.argmax(1); x.std(); x.var(0); x.var(1); torch.var_mean(x, 1); x.logsumexp(0); x.logsumexp(1)
x.norm(); x.norm(dim=0); x.norm(dim=1); x.norm(1, 1); torch.aminmax(x); x.nansum(); torch.count_nonzero(x); x.any(); (x > 0).any(1)
(x > 9).all(0); (x > 0).sum(); x.median(); x.median(1); x.quantile(0.3) if x.dtype != torch.bfloat16 else 0; x.nanmean(1)
x.cumsum(0); x.cumsum(1); x.cumprod(1); x.cummax(1); x.logcumsumexp(1); x.flatten().cumsum(0); x.diff()
x.sort(); x.sort(0); x.argsort(); x.topk(10); x.topk(500); x.kthvalue(100); x[0].sort(); x.flatten()[:1000000].sort()
torch.searchsorted(sorted_, x); torch.bucketize(x, sorted_); x.flatten()[:1000000].unique(); torch.isin(x, row)
x.t().contiguous(); x.permute(1, 0).reshape(-1); cube.permute(2, 0, 1).contiguous(); cube.transpose(0, 1).contiguous(); x.flip(0); x.flip(1)
x.roll(7, 1); x.roll(7, 0); torch.cat([x, y]); torch.cat([x, y], 1); torch.stack([x, y]); torch.stack([x, y], -1); x.repeat(2, 2)
x.repeat_interleave(2, 0); x.repeat_interleave(2, 1); torch.tril(x); torch.triu(x); F.pad(x, (3, 3, 3, 3)); x[:, ::2].contiguous(); x.rot90()
F.pad(images, (2, 2, 2, 2), mode="reflect"); x.unfold(0, 64, 32).contiguous(); x.diagonal().contiguous(); x.expand(2, -1, -1).contiguous()
x[index]; x[:, index]; x[index, index]; x[x > 0]; x.masked_select(x > 0); torch.nonzero(x > 0); x.gather(1, places); x.gather(0, places)
x.index_select(0, index); x.index_select(1, index); x.take_along_dim(places, 1); x.take(places); F.embedding(index, x); x.index_fill(0, index, 0)
x.scatter(1, places, y); x.scatter_add(1, places, y); x.scatter_add(0, places, y); x.index_add(0, index, y); x.index_copy(0, index, y)
x.index_put((index, index), row); x.clone().masked_scatter_(x > 0, y); x.scatter_reduce(1, places, y, "amax")
F.softmax(x, 0); F.softmax(x, 1); F.log_softmax(x, 0); F.log_softmax(x, 1); F.softmax(small, 1); F.layer_norm(x, (2048,)); F.layer_norm(x, (2048,), row, row)
F.rms_norm(x, (2048,)) if hasattr(F, "rms_norm") else 0; F.normalize(x, dim=1); F.batch_norm(images, None, None, training=True); F.group_norm(images, 8); F.instance_norm(images)
F.cross_entropy(x, index); F.nll_loss(x, index); F.mse_loss(x, y); F.l1_loss(x, y); F.smooth_l1_loss(x, y); F.huber_loss(x, y); F.kl_div(x, y)
F.binary_cross_entropy_with_logits(x, (y > 0).to(x.dtype)); F.cosine_similarity(x, y); F.pairwise_distance(x, y); torch.cdist(x[:512, :64], y[:512, :64])
F.gaussian_nll_loss(x, y, y.abs()); F.triplet_margin_loss(x, y, x); F.dropout(x, 0.5); F.nll_loss(small, places[:, 0] % 32); F.cross_entropy(small, places[:, 0] % 32)
F.max_pool2d(images, 2); F.avg_pool2d(images, 2); F.adaptive_avg_pool2d(images, 4); F.max_pool2d(images, 3, 2, 1); F.interpolate(images, scale_factor=2)
F.interpolate(images, scale_factor=2, mode="bilinear"); F.pixel_shuffle(images, 2); F.unfold(images, 3); F.glu(x); F.one_hot(index); F.scaled_dot_product_attention(heads, heads, heads)
torch.rand(2048, 2048, dtype=dtype); torch.randn(2048, 2048, dtype=dtype); torch.empty_like(x).exponential_(); torch.bernoulli(x.abs().clamp(0, 1)); torch.zeros(2048, 2048, dtype=dtype)
torch.arange(4194304, dtype=dtype); torch.linspace(0, 1, 4194304, dtype=dtype); torch.full((2048, 2048), 3, dtype=dtype); x.mv(row); x @ y[:, :64]
""".replace("\n", ";").split(";")),
    *(("f32 f64", "normal", text) for text in """
torch.histc(x); torch.multinomial(x.abs(), 5); torch.poisson(x.abs()); torch.cov(x[:512]); torch.outer(row, row); torch.kron(x[:64, :64], y[:32, :32])
torch.cross(x[:, :3], y[:, :3], dim=1); torch.linalg.vector_norm(x, 3); torch.trapezoid(x); torch.cartesian_prod(row[:1000], row[:1000]); torch.heaviside(x, y)
torch.special.i1(x); torch.special.ndtr(x); torch.special.entr(x.abs()); torch.special.xlogy(x, y.abs()); torch.nextafter(x, y); torch.ldexp(x, y); torch.frexp(x)
torch.fft.fft(x); torch.fft.rfft(x); torch.fft.fft2(x); torch.fft.irfft(torch.fft.rfft(x)); torch.stft(x.flatten()[:400000], 400, return_complex=True)
torch.einsum("ij,ij->i", x, y); torch.einsum("bij,bjk->bik", cube[:, :, :64], cube[:, :, :64].transpose(1, 2)); torch.bmm(cube, cube.transpose(1, 2)); x @ y
torch.linalg.svd(square); torch.linalg.eigh(square @ square.t()); torch.linalg.qr(square); torch.linalg.inv(square); torch.linalg.solve(square, square); torch.linalg.cholesky(square @ square.t() + eye)
torch.linalg.det(square); torch.linalg.eig(square); torch.linalg.lstsq(square, square); torch.linalg.matrix_exp(square / 100); torch.linalg.pinv(square); torch.linalg.lu_factor(square)
""".replace("\n", ";").split(";")),
    *(("i64 i32 u8", "integers", text) for text in """
x + y; x * y; x // 3; x % 7; x & y; x | 3; x << 1; x == y; x.sum(); x.sum(0); x.sum(1); x.max(); x.amax(1); x.sort(); x.argmax(1); x.cumsum(1); x.float(); torch.where(x > 5, x, y)
x.unique(); x.flatten().bincount(); x.t().contiguous(); x.clamp(3, 50); torch.gcd(x, y); x.bool(); torch.maximum(x, y); x.to(torch.int16); x.abs(); x.eq(3).sum()
torch.randint(0, 100, (2048, 2048), dtype=dtype)
""".replace("\n", ";").split(";")),
    *(("c64 c128", "normal", text) for text in """
x + y; x * y; x / y; x.abs(); x.angle(); x.conj().resolve_conj(); x.exp(); x.sum(); x.real.contiguous(); x @ y; torch.fft.fft(x); x.sqrt(); x.log(); x.sin(); torch.complex(x.real, x.imag)
""".replace("\n", ";").split(";")),
    *(("f32", "normal", text) for text in """
x.double(); x.half(); x.bfloat16(); x.long(); x.int(); x.bool(); x.to(torch.uint8); x.double().float(); x.bfloat16().float(); x.half().float(); x.double().bfloat16(); torch.randperm(1000000); torch.tril_indices(1000, 1000)
""".replace("\n", ";").split(";")),
    *(("f32 bf16", "leaf", text) for text in """
F.softmax(x, 1).backward(y); F.log_softmax(x, 1).backward(y); F.layer_norm(x, (2048,), row, row).backward(y); F.gelu(x).backward(y); x.tanh().backward(y); x.sigmoid().backward(y); (x * y).backward(y)
(x + row).backward(y); x.sum(1).sum().backward(); x.cumsum(1).backward(y); x.sort()[0].backward(y); x[index].backward(y); x.gather(1, places).backward(y); F.cross_entropy(x, index).backward()
F.mse_loss(x, y).backward(); F.silu(x).backward(y); x.std(1).sum().backward(); x.max(1)[0].sum().backward(); x.logsumexp(1).sum().backward(); x.norm(dim=1).sum().backward(); F.embedding(index, x).backward(y)
F.max_pool2d(x.view(32, 32, 64, 64), 2).sum().backward(); F.batch_norm(x.view(32, 32, 64, 64), None, None, training=True).backward(y.view(32, 32, 64, 64)); F.binary_cross_entropy_with_logits(x, y.abs().clamp(0, 1)).backward()
F.interpolate(x.view(32, 32, 64, 64), scale_factor=2, mode="bilinear").sum().backward(); x.prod(1).sum().backward(); x.var(0).sum().backward(); F.dropout(x, 0.5).backward(y); torch.where(x > 0, x, y).backward(y)
""".replace("\n", ";").split(";")),
]
SETUP = """
row, column = x.detach()[0].clone(), x.detach()[:, :1].clone()
index = torch.randperm(2048)
places = torch.randint(0, 2048, (2048, 2048))
if dtype.is_floating_point:
    small, cube, images = x.detach()[:, :32].clone(), x.detach().view(64, 256, 256), x.detach().view(32, 32, 64, 64)
    heads, square, eye = x.detach().view(8, 8, 1024, 64), x.detach()[:512, :512].clone(), torch.eye(512, dtype=dtype)
    sorted_ = row.sort()[0]
"""
FILLS = {
    "normal": "x, y = (torch.randn(2048, 2048, dtype=dtype if dtype.is_complex else torch.float32).to(dtype) for _ in range(2))",
    "positive": "x, y = (torch.rand(2048, 2048).add(0.01).mul(5).to(dtype) for _ in range(2))",
    "unit": "x, y = (torch.rand(2048, 2048).clamp(0.01, 0.99).to(dtype) for _ in range(2))",
    "integers": "x, y = (torch.randint(1, 100, (2048, 2048), dtype=dtype) for _ in range(2))",
    "leaf": "x, y = (torch.randn(2048, 2048).to(dtype).requires_grad_(r) for r in (True, False))",
}


def rows():
    """(number, dtype, fill, text) of all rows."""
    every = [(dtype, fill, text.strip()) for dtypes, fill, text in ROWS if text.strip() for dtype in dtypes.split()]
    return [(i, *row) for i, row in enumerate(every)]


def serve(package, threads):
    """Times the rows whose numbers come on standard input: one line of milliseconds, or why not, each."""
    torch = importlib.import_module(package)
    if threads:
        torch.set_num_threads(threads)
    functional, table = importlib.import_module(package + ".nn.functional"), rows()
    print(torch.__version__, flush=True)
    for line in sys.stdin:
        _, dtype, fill, text = table[int(line)]
        names = {"torch": torch, "F": functional, "dtype": getattr(torch, TYPES[dtype])}
        try:
            torch.manual_seed(0)
            exec(FILLS[fill] + SETUP, names)
            code = compile(text, "row", "eval")
            if fill != "leaf":
                with torch.no_grad():
                    answer = {"ms": best(lambda: eval(code, names))}
            else:
                answer = {"ms": best(lambda: eval(code, names))}
        except Exception as error:  # a row that one of the two can't do is a row of the report
            answer = {"why": f"{type(error).__name__}: {error}".splitlines()[0][:90]}
        names.clear()
        print(json.dumps(answer), flush=True)


def best(run, patience=0.12, least=3):
    """The best milliseconds of one run, over as many as fit into `patience` seconds and at least `least`."""
    run()
    begin, least_time, count = time.perf_counter(), float("inf"), 0
    while count < least or time.perf_counter() - begin < patience and count < 1000:
        start = time.perf_counter()
        run()
        least_time = min(least_time, time.perf_counter() - start)
        count += 1
    return least_time * 1e3


class Peer:
    """A process that times rows with one of the two packages."""

    def __init__(self, package, threads, path):
        command = [sys.executable, __file__, "--serve", package] + (["--threads", str(threads)] if threads else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "PYTHONPATH": str(path)})
        self.version = self.process.stdout.readline().strip()

    def time(self, number):
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"rows: the process of row {number} ended: {rows()[number]}")
        time.sleep(0.005)  # until its threads have stopped to spin
        return json.loads(line)


def compare(args):
    ours, theirs = Peer("dyadic", args.threads, args.package), Peer("torch", args.threads, "")
    found = []
    for number, dtype, _, text in rows():
        if args.dtype and dtype not in args.dtype or args.match and not any(m in text for m in args.match):
            continue
        row = {"text": text, "dtype": dtype}
        for _ in range(args.rounds):
            for name, peer in (("dyadic", ours), ("torch", theirs)):
                answer = peer.time(number)
                if "why" in answer:
                    row[name + "_why"] = answer["why"]
                elif answer["ms"] < row.get(name, float("inf")):
                    row[name] = answer["ms"]
        row["ratio"] = row["torch"] / row["dyadic"] if "torch" in row and "dyadic" in row else None
        found.append(row)
        print(f"\r\033[K{len(found)} {text[:60]}" if sys.stderr.isatty() else f"{dtype:5} {row['ratio'] or 0:7.2f}  {text}",
              end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)
    return {"torch": theirs.version, "dyadic": ours.version, "rounds": args.rounds, "rows": found}


def report(document):
    lines = [f"{'ratio':>7}  {'dyadic':>9}  {'PyTorch':>9}     {'dtype':5} row"]
    known = sorted((r for r in document["rows"] if r["ratio"]), key=lambda r: r["ratio"])
    for r in known:
        lines.append(f"{r['ratio']:7.2f}  {r['dyadic']:9.3f}  {r['torch']:9.3f} ms  {r['dtype']:5} {r['text']}")
    for r in document["rows"]:
        if not r["ratio"]:
            lines.append(f"{'-':>7}  {'; '.join(f'{k}: {r[k]}' for k in ('dyadic_why', 'torch_why') if k in r)}  {r['dtype']:5} {r['text']}")
    ratios = [r["ratio"] for r in known]
    if ratios:
        lines.append(f"{len(ratios)} rows: {sum(r >= 1 for r in ratios)} at least as fast, {sum(r < 0.9 for r in ratios)} below 0.9; "
                     f"median {ratios[len(ratios) // 2]:.2f} times as fast; best of {document['rounds']} rounds in turns")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--match", nargs="+", help="rows whose text holds one of these")
    parser.add_argument("--dtype", nargs="+", choices=TYPES, help="default: all")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true")
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--package", type=Path, default=root / "build" / "release" / "python", help="where dyadic is imported from")
    parser.add_argument("--serve", choices=("dyadic", "torch"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(args.serve, args.threads)
    document = compare(args)
    print(json.dumps(document, indent=1) if args.json else report(document))


if __name__ == "__main__":
    main()
