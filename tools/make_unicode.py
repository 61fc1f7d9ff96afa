#!/usr/bin/env python3
"""Writes src/text/unicode_tables.inc: Unicode 16 as the tokenizers need it, packed into texts of base-64 digits.

Needs unicodedata2 16 and regex (for scripts). A number is written in digits of five bits, lowest first; a digit's sixth bit says that more follow.
Usage: tools/make_unicode.py > src/text/unicode_tables.inc
"""
import regex
import unicodedata2 as u

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
SCRIPTS = "Han Hiragana Katakana Hangul Latin Greek Cyrillic Arabic Hebrew Thai Lao Khmer Myanmar Devanagari Bengali Tamil Telugu".split()
EVERY = range(0x110000)


def pack(numbers):
    out = []
    for n in numbers:
        while n >= 32:
            out.append(DIGITS[n % 32 + 32])
            n //= 32
        out.append(DIGITS[n])
    return "".join(out)


def runs(values):
    begin = 0
    for at in range(1, len(values) + 1):
        if at == len(values) or values[at] != values[begin]:
            yield at - begin, values[begin]
            begin = at


def lower():
    last = 0
    for c in EVERY:
        low = chr(c).lower() if u.category(chr(c))[0] in "LSN" else chr(c)
        if len(low) == 1 and low != chr(c) and u.category(low) != "Cn":
            d = ord(low) - c
            yield c - last
            yield d * 2 if d >= 0 else -d * 2 - 1
            last = c


def decompositions():
    last = 0
    for c in EVERY:
        parts = u.decomposition(chr(c)).split()
        if not parts:
            continue
        compat = parts[0].startswith("<")
        codes = [int(p, 16) for p in parts[compat:]]
        excluded = not compat and u.normalize("NFC", chr(c)) != chr(c)
        yield c - last
        yield len(codes) * 4 + compat * 2 + excluded
        yield from codes
        last = c


def script_ranges():
    for name in SCRIPTS:
        is_in = regex.compile(r"\p{Script=%s}" % name)
        found = [n for n, _ in runs([u.category(chr(c)) != "Cn" and bool(is_in.match(chr(c))) for c in EVERY])]
        yield len(found)
        yield from found


def emit(name, numbers):
    text = pack(numbers)
    lines = [text[i : i + 124] for i in range(0, len(text), 124)] or [""]
    print(f"constexpr char {name}[] =")
    print("\n".join(f'"{line}"' for line in lines) + ";")


def main():
    assert u.unidata_version == "16.0.0", u.unidata_version
    print("// Made by tools/make_unicode.py from Unicode 16.0.0. clang-format off")
    emit("kCategoryRuns", [n for run, cat in runs([u.category(chr(c)) for c in EVERY]) for n in (run, CATEGORIES.index(cat))])
    emit("kLower", lower())
    emit("kDecompositions", decompositions())
    emit("kCombiningRuns", [n for pair in runs([u.combining(chr(c)) for c in EVERY]) for n in pair])
    emit("kScriptRuns", script_ranges())
    print(f'constexpr const char* kScriptNames[] = {{{", ".join(chr(34) + s + chr(34) for s in SCRIPTS)}}};')


main()
