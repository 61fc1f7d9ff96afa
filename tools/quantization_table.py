#!/usr/bin/env python3
"""A table of methods and bits, for the model that tools/make_text_model.py describes.

    tools/quantization_table.py FOLDER [--program build/release/bin/dyadic] [--only TEXT]

Each row is `dyadic quantize`, with FOLDER/calibration.txt where the method reads data, and then `dyadic eval --base` on FOLDER/test.txt. Rows that FOLDER/table.jsonl
has are not made again. The token embedding, which is the last layer's matrix too, has 6 bits in every row below 6, as in GGUF files.
"""

import argparse
import json
import math
import pathlib
import shutil
import subprocess
import sys
import time

# Format (or budget) and method. No rotations: a head that is the embedding cannot have them.
WHOLE = [("bf16", ""), ("q8_0", "rtn"), ("i8(row)", "rtn"), ("q6_K", "rtn")]  # one format for all weights
FIVE = [("q5_K", "rtn")]
FOUR = [(f, m) for f in ("i4(group=128)", "q4_K", "nf4") for m in ("rtn", "imatrix", "awq", "autoround", "gptq")
        if (f, m) != ("nf4", "imatrix")]
FOUR += [("q4_0", "rtn"), ("q4_0", "gptq"), ("i4(group=64,zero)", "rtn"), ("i4(group=64,zero)", "hqq"), ("i4(group=64,zero)", "gptq"),
         ("i4(group=32,scale=f16)", "gptq"), ("mxfp4", "rtn"), ("nvfp4", "rtn")]
THREE = [(f, m) for f in ("i3(group=64)", "q3_K") for m in ("rtn", "imatrix", "awq", "autoround", "gptq")]
TWO = [(f, m) for f in ("i2(group=32,scale=f16)", "q2_K") for m in ("rtn", "imatrix", "autoround", "gptq")]
TWO += [("e8p", "rtn"), ("e8p", "ldlq"), ("aqlm", "aqlm"), ("tq2_0", "rtn")]
BUDGETS = [(f"{bits}bpw", "gptq") for bits in ("4.75", "3.75", "3.25")]
ROWS = WHOLE + FIVE + FOUR + THREE + TWO + BUDGETS

WINDOW = "256"  # the context of training

COLUMNS = ("format", "method", "MB", "bits", "perplexity", "rise, %", "KL mean", "KL 99 %", "same top, %", "seconds")


def arguments_of(format, method):
    chosen = ["--size", format] if format.endswith("bpw") else ["--format", format]
    kept = [] if (format, method) in WHOLE else ["--map", "model.embed_tokens.weight=q6_K"]
    return [*chosen, "--method", method, *kept]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def measured(program, folder, format, method):
    """One row's figures. What has no method is only stored in the format."""
    base, out = folder / "model", folder / "quantized"
    shutil.rmtree(out, ignore_errors=True)
    evaluation = [program, "eval", "--window", WINDOW, "--data", folder / "test.txt", "--base", base, "--json"]
    if not method:
        return {**run([*evaluation, base, "--format", format]), "bytes": None, "seconds": 0}
    data = [] if method in ("rtn", "hqq") else ["--calibration", folder / "calibration.txt"]
    began = time.monotonic()
    run([program, "quantize", base, *data, "--out", out, "--json", *arguments_of(format, method)])
    seconds = time.monotonic() - began
    size = sum(f.stat().st_size for f in out.glob("*.safetensors"))
    return {**run([*evaluation, out]), "bytes": size, "seconds": seconds}


def markdown(rows, parameters):
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for r in rows:
        size = ("", "") if not r["bytes"] else (f"{r['bytes'] / 1e6:.2f}", f"{8 * r['bytes'] / parameters:.2f}")
        rise, error = 100 * math.expm1(r["nll_change"]), 100 * r["nll_change_stderr"]
        lines.append(
            f"| `{r['format']}` | {r['method']} | {size[0]} | {size[1]} | {r['perplexity']:.3f} | {rise:+.2f} ± {error:.2f} "
            f"| {r['kl_mean']:.5f} ± {r['kl_stderr']:.5f} | {r['kl_p99']:.3f} | {100 * r['same_top']:.2f} ± {100 * r['same_top_stderr']:.2f} "
            f"| {r['seconds']:.0f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "build/release/bin/dyadic")
    parser.add_argument("--only", default="", help="rows whose format and method have this text")
    args = parser.parse_args()
    stored = args.folder / "table.jsonl"
    known = {(r["format"], r["method"]): r for r in map(json.loads, stored.read_text().splitlines())} if stored.exists() else {}
    wanted = [row for row in ROWS if args.only in " ".join(row)]
    for i, (format, method) in enumerate(wanted):
        if (format, method) in known:
            continue
        print(f"{i + 1} of {len(wanted)}: {format} {method}", file=sys.stderr)
        try:
            known[format, method] = {"format": format, "method": method, **measured(args.program, args.folder, format, method)}
        except RuntimeError as e:
            print(f"{format} {method}: {e}", file=sys.stderr)
            continue
        with stored.open("a") as f:
            f.write(json.dumps(known[format, method]) + "\n")
    parameters = run([args.program, "inspect", args.folder / "model", "--json"])["parameters"]
    print(markdown([known[row] for row in wanted if row in known], parameters))


if __name__ == "__main__":
    main()
