#!/usr/bin/env python3
"""Whether what a study recommends holds for other seeds: each seed's recipe and format, judged by every other seed's figures.

    tools/held_out_seeds.py FOLDER [--seeds 6] [--program build/release/bin/dyadic] [options of dyadic study]

Each seed is `dyadic study --seed N` with the options, in FOLDER/seed-N; those that are there are not made again. Ends with 1 where a
recommendation loses more than the tolerance on another seed.
"""

import argparse
import json
import pathlib
import subprocess
import sys


def report(folder, program, seed, options):
    out = folder / f"seed-{seed}"
    if not (out / "report.json").exists() or not json.loads((out / "report.json").read_text())["complete"]:
        resume = ["--resume"] if out.exists() else []
        subprocess.run([program, "study", "--seed", str(seed), "--out", str(out), *resume, *options], check=True, stdout=subprocess.DEVNULL)
    return json.loads((out / "report.json").read_text())


def losses(report, kind):
    """Of each row the share of f32's loss that it loses; None where it was stopped."""
    f32 = report[kind][0]["val_loss"]
    return {row["name"]: None if row["val_loss"] is None else row["val_loss"] / f32 - 1 for row in report[kind]}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--seeds", type=int, default=6)
    arguments.add_argument("--program", default="build/release/bin/dyadic")
    given, options = arguments.parse_known_args()
    reports = [report(given.folder, given.program, seed, options) for seed in range(given.seeds)]
    tolerance = reports[0]["options"]["tolerance"]
    beyond = pairs = 0
    for kind, key in (("recipes", "recipe"), ("formats", "uniform")):
        lost = [losses(r, kind) for r in reports]
        for seed, r in enumerate(reports):
            name = r["recommendation"][key]
            others = [lost[other][name] for other in range(given.seeds) if other != seed]
            bad = [x for x in others if x is None or x > tolerance]
            pairs, beyond = pairs + len(others), beyond + len(bad)
            shown = " ".join("stopped" if x is None else f"{x:+.2%}" for x in others)
            print(f"seed {seed} recommends {name}: on the others {shown}{f'; {len(bad)} beyond {tolerance:.2%}' if bad else ''}")
    print(f"{beyond} of {pairs} are beyond the tolerance of {tolerance:.2%}")
    return beyond > 0


if __name__ == "__main__":
    sys.exit(main())
