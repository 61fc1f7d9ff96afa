#!/usr/bin/env python3
"""Ordinary models, eager beside compiled: a whole step of each (forward, backward, optimizer) as it is, compiled, and compiled with
mode="reduce-overhead", in turns within the same minutes; medians, and eager's time over compiled's. Before that each of the three
takes the same steps from the same seed, and every bit of losses and weights is compared.

`./dev bench --models` runs this; models.py has the models.
"""
import argparse
import json
import math
import statistics
import sys
import time

import dyadic as torch
from models import MODELS

MODES = ("eager", "default", "reduce-overhead")


def compiled(step, mode):
    return step if mode == "eager" else torch.compile(step, mode=mode)


def bits(value):
    if isinstance(value, tuple):
        return b"".join(map(bits, value))
    return value.detach().numpy().tobytes()


def bits_of_steps(make, mode, steps):
    torch.manual_seed(0)
    step, batch, weights = make()
    step = compiled(step, mode)
    torch.manual_seed(1)
    losses = [bits(step(*batch)) for _ in range(steps)]
    return losses, bits(tuple(weights)), bits(torch.get_rng_state())


def seconds(step, batch, repeats, clock=time.perf_counter):
    begin = clock()
    for _ in range(repeats):
        step(*batch)
    return (clock() - begin) / repeats


def measure(name, args):
    make = MODELS[name]
    wanted = bits_of_steps(make, "eager", args.steps)
    same = all(bits_of_steps(make, mode, args.steps) == wanted for mode in MODES[1:])
    runs = {}
    for mode in MODES:
        torch.manual_seed(0)
        step, batch, _ = make()
        runs[mode] = compiled(step, mode), batch
        for _ in range(5):
            runs[mode][0](*batch)
    repeats = max(1, round(args.turn / 1e3 / max(seconds(*runs["eager"], 3), 1e-6)))
    times = {mode: [] for mode in MODES}
    clock = time.process_time if args.cpu else time.perf_counter
    for turn in range(args.turns):
        for mode in MODES if turn % 2 else reversed(MODES):
            times[mode].append(seconds(*runs[mode], repeats, clock))
    row = {"case": name, "same_bits": same, **{mode: statistics.median(t) * 1e6 for mode, t in times.items()}}
    for mode in MODES[1:]:  # of neighbours in time
        row[f"{mode}_ratio"] = statistics.median(e / c for e, c in zip(times["eager"], times[mode]))
    if args.explain:
        print(name, *(torch.compiler.explain(runs[mode][0]) for mode in MODES[1:]), sep="\n", file=sys.stderr)
    return row


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def report(rows, threads):
    lines = [f"{'us a step':22}{'eager':>10}{'compiled':>10}{'reduced':>10}{'':4}{'compiled':>9}{'reduced':>9}"]
    for r in rows:
        lines.append(f"{r['case']:22}{r['eager']:10.0f}{r['default']:10.0f}{r['reduce-overhead']:10.0f}{'':4}{r['default_ratio']:9.2f}"
                     f"{r['reduce-overhead_ratio']:9.2f}{'' if r['same_bits'] else '  OTHER BITS'}")
    for mode in MODES[1:]:
        ratios = [r[mode + "_ratio"] for r in rows]
        lines.append(f"{mode}: {geometric(ratios):.2f} times as fast as eager in the geometric mean of {len(rows)}, at least {min(ratios):.2f}")
    return "\n".join([*lines, f"{threads} threads"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="+", choices=MODELS, metavar="CASE", default=list(MODELS), help=", ".join(MODELS))
    parser.add_argument("--turns", type=int, default=15, help="of each way")
    parser.add_argument("--turn", type=float, default=30, help="milliseconds of eager steps in a turn")
    parser.add_argument("--steps", type=int, default=6, help="whose bits are compared")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cpu", action="store_true", help="time of all threads, as where others use the machine; best with one")
    parser.add_argument("--explain", action="store_true", help="on standard error, what became of each compiled step")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    rows = []
    for name in args.case:
        rows.append(measure(name, args))
        print(f"{name}: {rows[-1]['default_ratio']:.2f} {rows[-1]['reduce-overhead_ratio']:.2f}", file=sys.stderr, flush=True)
    document = {"threads": torch.get_num_threads(), "rows": rows}
    print(json.dumps(document, indent=1) if args.json else report(rows, document["threads"]))
    return 0 if all(r["same_bits"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
