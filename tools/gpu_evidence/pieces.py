"""The pieces of evidence, the most telling first. Each returns what it found: `passed`, a line of `summary`, and figures."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, NamedTuple

from context import Failed, Skipped, ending, stop
from suite import Suite, names_of

GROUPS = ("pointwise", "rows", "products", "attention", "weights", "optimizer", "calls", "training", "generation")
# A few ops of each kind of kernel, for tools that slow every access down.
SMALL = ("CudaTensor*:op_suite.{}/f32/transposed/cuda*".format("/f32/transposed/cuda*:op_suite.".join(
    "add gelu sum softmax layer_norm matmul linear embedding cross_entropy scaled_dot_product_attention index_select sort cumsum topk "
    "conv2d max_pool2d".split())))


class Piece(NamedTuple):
    seconds: int
    run: Callable


def training(context, out, *words):
    """The command that trains on the device; where that is simulated, on a short text."""
    command = [context.program("dyadic"), "train", "--device", "cuda", "--out", out, *map(str, words)]
    if not context.simulated:
        return command
    text = Path(context.folder, "text.txt")
    text.write_text("the quick brown fox jumps over the lazy dog\n" * 40)
    return [*command, "--data", str(text), "--batch", "1"]


def train(context, out, *words, **more):
    return context.json_of([*training(context, out, *words), "--json"], **more)


def smoke(context):
    """the device is found, its tests of a handful of calls, a few timed calls"""
    words = ("--quick", "--case", "pointwise", "calls")
    document = context.bench(*words, seconds=context.left() / 2)
    pattern = "CudaTensor*:CudaF*" if context.simulated else "Cuda*"
    tests = Suite(context).run(names_of(context, pattern), workers=1)  # some take all memory
    errors = [row for row in document["rows"] if "error" in row]
    return {"passed": tests["passed"] and not errors, "bench": document, "tests": tests,
            "summary": f"{document['device']['name']}; {tests['summary']}; {len(errors)} of {len(document['rows'])} timed cases failed"}


def suite(context):
    """every op, dtype and layout on the device against the same call on the host; gradients"""
    pattern = "op_suite.*/cuda:op_suite.*/cuda_grad"
    if context.simulated:
        pattern = "op_suite.add/*/cuda*:op_suite.softmax/*/cuda*"
    return Suite(context).run(names_of(context, pattern))


def speed(context):
    """figures of `dyadic bench cuda`, each beside a ceiling measured in the same run"""
    groups, errors, rows = {}, {}, 0
    for group in GROUPS:
        if context.left() < 10:
            errors[group] = "there was no time left"
            continue
        try:
            groups[group] = context.measured[group] = context.bench("--case", group, seconds=150)
        except (Failed, json.JSONDecodeError) as error:
            errors[group] = str(error)
            continue
        for row in groups[group]["rows"]:
            rows += 1
            if "error" in row:
                errors[f"{row['case']} ({row['dtype']})"] = row["error"]
    return {"passed": not errors, "groups": groups, "errors": errors, "summary": f"{rows} figures, {len(errors)} failed"}


def determinism(context):
    """calls and training steps 100 times (25 where time is short) on one stream and on two at once: the same bits"""
    rows, errors = [], []
    times = 2 if context.simulated else 100 if context.left() > 180 else 25
    for group in ("calls", "training"):
        try:
            rows += context.bench("--repeat", times, "--case", group, seconds=110)["rows"]
        except Failed as error:
            errors.append(str(error))
    errors += [row["case"] for row in rows if "error" in row]
    compared = sum(row.get("compared", 0) for row in rows)
    return {"passed": bool(rows) and not errors, "rows": rows, "errors": errors,
            "summary": f"{len(rows)} cases, {compared} results compared; different or failed: {', '.join(errors) or 'none'}"}


def memory(context):
    """predicted against measured bytes of training; the pool's slack; what is asked of the driver after the second step"""
    words = ("--preset", "nano", "--steps", 3) if context.simulated else ("--preset", "gpt2s", "--batch", 8, "--steps", 6)
    figures, wrong = {}, []
    for recipe in ("f32", "bf16", "bf16-adam8"):
        document = train(context, f"memory-{recipe}", *words, "--recipe", recipe, seconds=context.left() / 2)
        figures[recipe] = document["bytes"]
        wrong += [f"{recipe} {name}" for name, both in document["bytes"].items() if both["predicted"] != both["measured"]]
    pools = {row["dtype"]: {key: row[key] for key in ("pool_slack", "driver_allocations_after_step_2", "peak_bytes", "reserved_bytes")}
             for row in context.bench("--case", "training", "--quick")["rows"] if "error" not in row}
    good = all(p["driver_allocations_after_step_2"] == 0 and p["pool_slack"] <= 0.05 for p in pools.values())
    return {"passed": not wrong and (good or context.simulated) and bool(pools), "bytes": figures, "pool": pools,
            "summary": f"not as predicted: {', '.join(wrong) or 'none'}; " + ", ".join(
                f"{name}: slack {100 * p['pool_slack']:.1f} %, {p['driver_allocations_after_step_2']} late allocations"
                for name, p in pools.items())}


def killed_while_training(context, command, checkpoint):
    """Begins a run and kills it once it has written a checkpoint; False when it was too quick for that."""
    process = subprocess.Popen(command, env=context.environment(), cwd=context.folder, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
    while process.poll() is None and context.left() > 1:
        if checkpoint.exists() and checkpoint.stat().st_mtime_ns > before:
            stop(process)
            return process.returncode == -signal.SIGKILL
        time.sleep(0.002)
    stop(process)
    return False


def resume(context):
    """a run repeated, and killed and resumed: the same weights"""
    preset, steps, every = ("nano", 4, 1) if context.simulated else ("char", 400, 25)
    words = ["--preset", preset, "--steps", steps, "--checkpoint-every", every, "--recipe", "bf16"]
    whole = [train(context, f"whole-{i}", *words)["weights_sha256"] for i in range(2)]
    kills, checkpoint = 0, Path(context.folder, "broken", "checkpoint.safetensors")
    for again in ([], ["--resume"], ["--resume"]):
        kills += killed_while_training(context, training(context, "broken", *words, *again), checkpoint)
    resumed = train(context, "broken", *words, "--resume")["weights_sha256"]
    same = {whole[0], whole[1], resumed}
    return {"passed": len(same) == 1 and kills > 0, "whole": whole, "resumed": resumed, "kills": kills,
            "summary": f"killed {kills} times; {'the same weights' if len(same) == 1 else 'other weights'}"}


def formats(context):
    """every code of every format, decoded and encoded on the device against the host"""
    return Suite(context).run(names_of(context, "Cuda*Format*:Cuda*Code*"), workers=4)


def failures(context):
    """allocations that fail, no device, memory that others hold: one line each, and the process goes on where it can"""
    tests = Suite(context).run(names_of(context, "Cuda*Fail*"), workers=1)
    lines = {}

    def says(name, command, **env):
        code, _, err = context.run([context.program("dyadic"), *command], 60, env=context.environment(**env), ok=(1,))
        lines[name] = {"exit_code": code, "lines": err.strip().splitlines()}

    says("no plug-in", ["bench", "cuda"], DYADIC_CUDA="/nowhere/libdyadic_cuda.so")
    says("no device", ["bench", "cuda"], CUDA_VISIBLE_DEVICES="", DYADIC_SIM_DEVICES="0")
    if not context.simulated:
        large = ["--preset", "gpt2s", "--batch", "2048", "--steps", "2", "--out", "large"]
        says("a batch that does not fit", ["train", "--device", "cuda", *large])
    single = all(v["exit_code"] == 1 and len(v["lines"]) == 1 for v in lines.values())
    return {"passed": tests["passed"] and single, "tests": tests, "lines": lines,
            "summary": f"{tests['summary']}; {'one line each' if single else 'not one line each'}"}


def torch(context):
    """the same calls in the PyTorch that is there, beside ours of this run, as ratios"""
    peer = [sys.executable, Path(__file__).with_name("torch_peer.py")]
    code, version, _ = context.run([*peer, "version"], 60, env=dict(os.environ))
    if code:
        raise Skipped("python3 has no PyTorch with a device")
    groups, errors = {}, {}
    for group in ("training", "attention", "products", "rows", "pointwise", "optimizer", "calls"):
        if context.left() < 20:
            errors[group] = "there was no time left"
            continue
        try:
            ours = context.measured.get(group) or context.bench("--case", group, seconds=90)
            code, lines, _ = context.run([*peer, group, json.dumps(ours["sizes"])], 120, env=dict(os.environ))
        except (Failed, json.JSONDecodeError) as error:
            errors[group] = str(error)
            continue
        if code != 0:
            errors[group] = f"PyTorch's part {ending(code)}"
        groups[group] = beside([json.loads(line) for line in lines.splitlines()], ours["rows"])
    count = sum(len(g) for g in groups.values())
    slower = [row for g in groups.values() for row in g if row["ratio"] and row["ratio"] < 1]
    return {"passed": not errors and count > 0, "version": json.loads(version), "groups": groups, "errors": errors,
            "summary": f"{count} calls in both; slower here: {len(slower)}"}


def beside(theirs, ours):
    """Rows of both, by case and dtype; ratio: their time by ours, so that above 1 ours is the faster one."""
    best = {(row["case"], row["dtype"]): row["ms_median"] for row in ours if "error" not in row}
    peers = {}
    for row in theirs:
        key = row["case"], row["dtype"]
        if "ms_median" in row and row["ms_median"] < peers.get(key, (float("inf"),))[0]:
            peers[key] = row["ms_median"], row["mode"]
    return [{"case": case, "dtype": dtype, "ms": ms, "torch_ms": peers.get((case, dtype), (None,))[0],
             "torch_mode": peers.get((case, dtype), (None, None))[1],
             "ratio": peers[case, dtype][0] / ms if (case, dtype) in peers and ms else None} for (case, dtype), ms in best.items()]


def sanitizer(context):
    """compute-sanitizer's memcheck, racecheck and synccheck on a small set of tests"""
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if not tool or context.simulated:
        raise Skipped("there is no compute-sanitizer" if not tool else "the device is simulated")
    names, found = names_of(context, SMALL), {}
    tools = ("memcheck", "racecheck", "synccheck")
    for i, name in enumerate(tools):
        part = Suite(context, [tool, "--tool", name, "--error-exitcode", "99", "--print-limit", "20"])
        part.end = time.monotonic() + context.left() / (len(tools) - i) - 2
        found[name] = part.run(names, workers=4)
    return {"passed": all(f["passed"] for f in found.values()), "tools": found,
            "summary": "; ".join(f"{name}: {f['summary']}" for name, f in found.items())}


PIECES = {
    "smoke": Piece(90, smoke),
    "suite": Piece(240, suite),
    "speed": Piece(240, speed),
    "determinism": Piece(220, determinism),
    "memory": Piece(120, memory),
    "resume": Piece(90, resume),
    "formats": Piece(90, formats),
    "torch": Piece(420, torch),
    "failures": Piece(120, failures),
    "sanitizer": Piece(420, sanitizer),
}
