#!/usr/bin/env python3
"""Checks that code compiled for one instruction set cannot be linked into another's, or into the common code.

The linker keeps one copy of a weak symbol, whichever comes first. If std::vector<int>::push_back were compiled into an AVX-512
object, an old machine could run that copy and stop with an illegal instruction. So an object of a per-ISA target (folder
*_sse4.dir, *_avx2.dir, *_avx512.dir) may define a weak or unique symbol only if its name carries that instruction set's namespace.

Nor may code without AVX touch an MMX register: g++ 12 moves halves of vectors by way of them without the instruction that ends
it, and every long double that is computed later in the thread is NaN (-mno-mmx forbids it).

usage: check_isa_symbols.py BUILD_FOLDER
"""
import json
import re
import subprocess
import sys
from pathlib import Path

# Each instruction set's own names: ours, and those of Highway's matching target.
OWN = {
    "sse4": re.compile(r"\bdyadic::sse4::|\bhwy::N_SSE4::"),
    "avx2": re.compile(r"\bdyadic::avx2::|\bhwy::N_AVX2::"),
    "avx512": re.compile(r"\bdyadic::avx512::|\bhwy::N_AVX3"),
}
ALLOWED = {
    "DW.ref.__gxx_personality_v0": "a pointer to the C++ runtime's function: data, the same in every object",
}
WEAK = "WVwvu"


def isa_of(path):
    match = re.search(r"_(sse4|avx2|avx512)\.dir/", path.as_posix())
    return match.group(1) if match else None


def weak_symbols(objects):
    """(object, demangled name) of every weak or unique symbol that the objects define."""
    for begin in range(0, len(objects), 200):  # a command line has its limits
        command = ["nm", "-A", "-C", "--defined-only", *map(str, objects[begin : begin + 200])]
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
            match = re.match(r"(.*?\.o):[0-9a-f]* +(\S) (.*)", line)
            if match and match.group(2) in WEAK:
                yield Path(match.group(1)), match.group(3)


def violations(objects, build):
    seen = set()
    for path, symbol in weak_symbols(objects):
        isa = isa_of(path)
        if OWN[isa].search(symbol) or symbol in ALLOWED or (path, symbol) in seen:
            continue
        seen.add((path, symbol))
        short = symbol if len(symbol) <= 160 else symbol[:157] + "..."
        yield f"{path.relative_to(build)}: {short}"


def mmx_users(program):
    """The functions that touch MMX registers, which share their bits with the x87's."""
    if not program.exists():
        return
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True).stdout
    function = ""
    for line in code.splitlines():
        if line.endswith(">:"):
            function = line.split(" ", 1)[1][1:-2]
        elif "%mm" in line and function:
            name = subprocess.run(["c++filt", function], capture_output=True, text=True, check=True).stdout.strip()
            yield f"{program.name}: {name[:160]} uses MMX registers; compile it with -mno-mmx"
            function = ""


def main():
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "compile_commands.json").exists():
        sys.exit(__doc__.strip().splitlines()[-1])
    build = Path(sys.argv[1])
    # The compile commands, not the files found: those of deleted sources may still lie about.
    commands = json.loads((build / "compile_commands.json").read_text())
    outputs = {build / re.search(r" -o (\S+)", c["command"]).group(1) for c in commands}
    objects = sorted(p for p in outputs if isa_of(p) and p.suffix == ".o" and p.exists())
    if not objects:
        sys.exit(f"isa symbols: {build} holds no per-ISA object; build first")
    found = list(violations(objects, build))
    mmx = list(mmx_users(build / "bin" / "dyadic"))
    for line in found + mmx:
        print(line)
    per_isa = ", ".join(f"{isa} {sum(isa_of(p) == isa for p in objects)}" for isa in OWN)
    if found:
        print(f"isa symbols: {len(found)} weak symbols outside their instruction set's namespace; move what they come from "
              "(a std:: template, an inline function) out of the per-ISA file or make it a template of dyadic::DY_ISA")
    if found or mmx:
        return 1
    print(f"isa symbols: none shared (objects: {per_isa})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
