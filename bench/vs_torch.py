#!/usr/bin/env python3
"""Dyadic beside PyTorch: the same work in both, in turns (ours, theirs, ours, theirs ...), the best time of each, as ratios.

Speeds of a shared machine move within minutes, so only a ratio from one interleaved run means something. `./dev bench
--vs-torch` runs this in an environment of its own that has torch. Results of ours are fresh tensors; PyTorch's count with
out= where that is faster.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = ("train", "gpt", "ops", "overhead", "optim")


def say(text):
    print(text, file=sys.stderr, flush=True)


def output_of(command, **environment):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, **environment})
    if done.returncode:
        sys.exit(f"vs_torch: failed with exit code {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout


class Figures:
    """The best figure of each (case, dtype): ms of one run, or ns per item where the case is counted so."""

    def __init__(self):
        self.best, self.how, self.unit = {}, {}, {}

    def add(self, case, dtype, value, unit, how):
        key = (case, dtype)
        if value < self.best.get(key, float("inf")):
            self.best[key], self.how[key] = value, how
        self.unit[key] = unit


def run_ours(args, words, figures, machine):
    threads = ["--threads", args.threads] if args.threads else []
    document = json.loads(output_of([args.dyadic, "bench", *words, *threads, "--json"]))
    for row in document["rows"]:
        ns = row["unit"] == "ns"
        figures.add(row["case"], row["dtype"], row["rate" if ns else "ms_min"], "ns" if ns else "ms", "dyadic")
    for key, value in document["machine"].items():
        machine[key] = max(machine.get(key, value), value)  # peaks: the best of all probes


def run_torch(args, words, figures, machine):
    threads = ["--threads", args.threads] if args.threads else []
    lines = output_of([sys.executable, ROOT / "bench" / "torch_bench.py", *threads, *words]).splitlines()
    machine["torch"] = json.loads(lines[0])["torch"]
    for row in map(json.loads, lines[1:]):
        ns = row.get("ns")
        for case in (row["case"], row["case"] + FROM_PYTHON) if words[0] == "overhead" else (row["case"],):
            figures.add(case, row["dtype"], ns or row["ms_min"], "ns" if ns else "ms", row["mode"])


FROM_PYTHON = ", Python"
# PyTorch's script, with Dyadic in the place of its module.
AS_TORCH = f"""
import runpy, sys, dyadic
sys.path.insert(0, {str(ROOT / "bench")!r})
sys.modules["torch"] = dyadic
runpy.run_path({str(ROOT / "bench" / "torch_bench.py")!r}, run_name="__main__")
"""


def run_ours_from_python(args, words, figures):
    lines = output_of([sys.executable, "-c", AS_TORCH, *words], PYTHONPATH=str(args.package)).splitlines()
    for row in map(json.loads, lines[1:]):
        figures.add(row["case"] + FROM_PYTHON, row["dtype"], row["ns"], "ns", "dyadic")


def jobs(args):
    """(our words, torch's words): what is run in turns. Small ones, so that both see the same minute."""
    def modes(case):  # compiling gpt2s takes longer than all the rest together
        return ["--mode", "eager"] if case == "gpt2s" or args.eager else ["--mode", "eager", "compiled"]

    for section in ("train", "gpt"):
        for case in args.preset if section in args.sections else ():
            for precision in args.precision:
                steps = ["--steps", 8] if case == "gpt2s" else []
                same = ["--precision", precision, *steps]
                theirs = ["digits"] if case == "digits" else ["gpt", "--preset", case]
                if section == "train":  # ours with batches from a loader, theirs always the same batch
                    yield ["train", "--case", case, *same], [*theirs, *same, *modes(case)]
                elif case != "digits":
                    yield ["gpt", "--preset", case, *same], [*theirs, *same, *modes(case)]
    cases = ["--case", *args.case] if args.case else []
    for section, options in (("ops", cases), ("overhead", []), ("optim", ["--size", args.size])):
        if section in args.sections:
            yield [section, *options], [section, *options]


def table(rows, machine, rounds):
    head = ("case", "dtype", "dyadic", "PyTorch", "", "its mode", "times faster")
    cells = [head]
    for r in rows:
        known = r["torch"] is not None
        cells.append((r["case"], r["dtype"], f"{r['dyadic']:.4g}", f"{r['torch']:.4g}" if known else "-", r["unit"],
                      r["torch_mode"] or "-", f"{r['ratio']:.2f}" if known else "-"))
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    right = (2, 3, 6)
    lines = ["  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip()
             for row in cells]
    lines.insert(1, "-" * len(lines[0]))
    note = (f"best of {rounds} interleaved rounds; PyTorch {machine['torch']}, {machine['threads']} threads, {machine['isa']}; "
            f"call overhead is ours from C++ and PyTorch's from Python, where the row doesn't say that both are from Python")
    return "\n".join(lines + ["", note])


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench --vs-torch", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="section",
                        help=f"of {', '.join(SECTIONS)}; default: all but gpt, which is train's models on one batch")
    parser.add_argument("--preset", nargs="+", default=["char", "baby", "gpt2s", "digits"],
                        help="models of train and gpt (digits: of train)")
    parser.add_argument("--precision", nargs="+", default=["f32", "bf16"])
    parser.add_argument("--eager", action="store_true", help="leave torch.compile out")
    parser.add_argument("--case", nargs="+", help="rows of ops, by name; default: all")
    parser.add_argument("--size", type=int, default=50_000_000, help="parameters of optim")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--dyadic", type=Path, default=ROOT / "build" / "release" / "bin" / "dyadic", help="the program")
    parser.add_argument("--package", type=Path, default=ROOT / "build" / "release" / "python", help="where dyadic is imported from")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    unknown = [s for s in args.sections if s not in SECTIONS]
    if unknown:
        parser.error(f"unknown section {unknown[0]}; the known ones are {', '.join(SECTIONS)}")
    if args.rounds < 1:
        parser.error("--rounds is at least 1")
    if not args.dyadic.exists():
        sys.exit(f"vs_torch: {args.dyadic} is not there; ./dev build makes it")
    args.sections = args.sections or [s for s in SECTIONS if s != "gpt"]
    return args


def main():
    args = arguments()
    ours, theirs, machine = Figures(), Figures(), {}
    for our_words, torch_words in jobs(args):
        for turn in range(args.rounds):
            say(f"{' '.join(map(str, our_words))}: round {turn + 1} of {args.rounds}")
            run_ours(args, our_words, ours, machine)
            if our_words[0] == "overhead":
                run_ours_from_python(args, our_words, ours)
            run_torch(args, torch_words, theirs, machine)
    rows = []
    for key, value in ours.best.items():
        other = theirs.best.get(key)
        rows.append({"case": key[0], "dtype": key[1], "unit": ours.unit[key], "dyadic": value, "torch": other,
                     "torch_mode": theirs.how.get(key), "ratio": other / value if other else None})
    print(json.dumps({"machine": machine, "rounds": args.rounds, "rows": rows}, indent=1) if args.json
          else table(rows, machine, args.rounds))


if __name__ == "__main__":
    main()
