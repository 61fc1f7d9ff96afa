"""Runs pieces of evidence one after the other (tools/gpu_evidence.sh run) and keeps evidence.json and evidence.log up to date: what is
cut off leaves what it had.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from pathlib import Path

from context import Context, Failed, Skipped
from pieces import PIECES

LEAST = 15  # seconds: a piece is not begun with fewer


def first_line(*command):
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout.strip()
        return out.splitlines()[-1] if out else None
    except (OSError, subprocess.TimeoutExpired):
        return None


def machine():
    """Who measured: the card as its driver describes it, clocks as they are found."""
    asked = ("name", "driver_version", "memory.total", "clocks.sm", "clocks.max.sm", "clocks.mem", "power.limit", "temperature.gpu")
    card = first_line("nvidia-smi", f"--query-gpu={','.join(asked)}", "--format=csv,noheader,nounits")
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {"card": dict(zip(asked, map(str.strip, card.split(",")))) if card else None,
            "nvcc": first_line("nvcc", "--version"), "cpu": models[0] if models else "", "cores": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "python": platform.python_version()}


def write(path, document):
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document, indent=1) + "\n")
    partial.rename(path)


def run_piece(name, piece, context, seconds):
    context.begin(name, seconds)
    begin = time.monotonic()
    try:
        result = piece.run(context)
    except Skipped as reason:
        result = {"passed": None, "skipped": str(reason)}
    except Failed as error:
        result = {"passed": False, "error": str(error)}
    except Exception as error:  # a piece that breaks is a finding; the next one runs
        context.note(traceback.format_exc())
        result = {"passed": False, "error": f"{type(error).__name__}: {error}"}
    return {**result, "seconds": round(time.monotonic() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(prog="tools/gpu_evidence.sh run")
    parser.add_argument("pieces", nargs="*", metavar="PIECE")
    parser.add_argument("--within", type=int, default=540, metavar="SECONDS")
    parser.add_argument("--package", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        for name, piece in PIECES.items():
            print(f"{name:12} at most {piece.seconds:3} s  {piece.run.__doc__.splitlines()[0]}")
        return 0
    unknown = [name for name in args.pieces if name not in PIECES]
    if unknown:
        sys.exit(f"gpu_evidence: run: unknown piece {unknown[0]}; the known ones are {', '.join(PIECES)}")
    end = time.monotonic() + args.within
    document = {**json.loads((args.package / "info.json").read_text()), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "machine": machine(), "failed": [], "pieces": {}}
    context = Context(args.package, args.out / "evidence.log")
    broken = ""
    for name in args.pieces or PIECES:
        left = int(end - time.monotonic())
        if broken:
            result = {"passed": None, "skipped": f"the device does not work: {broken}"}
        elif left < LEAST:
            result = {"passed": None, "skipped": "there was no time left"}
        else:
            result = run_piece(name, PIECES[name], context, min(left, PIECES[name].seconds))
            if name == "smoke":
                broken = result.get("error", "")
        document["pieces"][name] = result
        if result["passed"] is False:
            document["failed"].append(name)
        write(args.out / "evidence.json", document)
        verdict = {True: "passed", False: "FAILED", None: "skipped"}[result["passed"]]
        said = result.get("error") or result.get("skipped") or result["summary"]
        print(f"{name:12} {verdict}  {result.get('seconds', 0):5} s  {said}", flush=True)
    return 1 if document["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
