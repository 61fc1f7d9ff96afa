#!/usr/bin/env python3
"""Writes src/text/unicode_tables.inc: Unicode as the tokenizers need it, packed into texts of base-64 digits.

Hugging Face's tokenizers 0.23 have four Unicodes: 17 for small letters and numbers, 16 for patterns, 9 for normal forms and the marks that
StripAccents drops, 8 for BERT's accents, punctuation and control characters.
Needs unicodedata2 16, regex (for scripts) and tokenizers 0.23 (for 17, and which characters have a case or are alphabetic), and what dump_unicode.py printed of the two others. A number is written in digits of five bits,
lowest first; a digit's sixth bit says that more follow.
Usage: tools/make_unicode.py UNICODE_8.json UNICODE_9.json > src/text/unicode_tables.inc
"""
import json
import sys

import regex
import unicodedata2 as u
from tokenizers import Regex, normalizers, pre_tokenizers

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
SCRIPTS = "Han Hiragana Katakana Hangul Latin Greek Cyrillic Arabic Hebrew Thai Lao Khmer Myanmar Devanagari Bengali Tamil Telugu".split()
EVERY = range(0x110000)
CHARACTERS = [c for c in EVERY if not 0xD800 <= c < 0xE000]


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
    small = normalizers.Lowercase()
    for c in CHARACTERS:
        low = small.normalize_str(chr(c))
        if len(low) == 1 and low != chr(c):
            d = ord(low) - c
            yield c - last
            yield d * 2 if d >= 0 else -d * 2 - 1
            last = c


def older(path, version):
    """(category, combining class, decomposition) of every code in an older Unicode."""
    data = json.load(open(path))
    assert data["version"] == version, data["version"]
    return [data["known"].get(str(c), ["Cn", 0, ""]) for c in EVERY]


def decompositions(then):
    last = 0
    for c in EVERY:
        parts = then[c][2].split()
        if not parts:
            continue
        compat = parts[0].startswith("<")
        codes = [int(p, 16) for p in parts[compat:]]
        excluded = not compat and u.normalize("NFC", chr(c)) != chr(c)  # no Unicode changes that
        yield c - last
        yield len(codes) * 4 + compat * 2 + excluded
        yield from codes
        last = c


def range_of(codes):
    """Where ranges begin and end, each from the one before."""
    return ([0] if codes[0] else []) + [n for n, _ in runs(codes)]


def script_ranges():
    for name in SCRIPTS:
        is_in = regex.compile(r"\p{Script=%s}" % name)
        found = range_of([u.category(chr(c)) != "Cn" and bool(is_in.match(chr(c))) for c in EVERY])
        yield len(found)
        yield from found


def class_ranges(name):
    cut = pre_tokenizers.Split(Regex(f"[[:{name}:]]"), "removed", invert=True)
    found = {ord(c) for piece, _ in cut.pre_tokenize_str("".join(map(chr, CHARACTERS))) for c in piece}
    return range_of([c in found for c in EVERY])


def emit(name, numbers):
    text = pack(numbers)
    lines = [text[i : i + 124] for i in range(0, len(text), 124)] or [""]
    print(f"constexpr char {name}[] =")
    print("\n".join(f'"{line}"' for line in lines) + ";")


def main():
    assert u.unidata_version == "16.0.0", u.unidata_version
    eight, nine = older(sys.argv[1], "8.0.0"), older(sys.argv[2], "9.0.0")
    print("// Made by tools/make_unicode.py from Unicode 17.0.0, 16.0.0, 9.0.0 and 8.0.0. clang-format off")
    emit("kCategoryRuns", [n for run, cat in runs([u.category(chr(c)) for c in EVERY]) for n in (run, CATEGORIES.index(cat))])
    emit("kLower", lower())
    emit("kDecompositions", decompositions(nine))
    emit("kCombiningRuns", [n for pair in runs([combining for _, combining, _ in nine]) for n in pair])
    emit("kMarks9", range_of([category[0] == "M" for category, _, _ in nine]))
    emit("kAccents8", range_of([category == "Mn" for category, _, _ in eight]))
    emit("kPunctuation8", range_of([category[0] == "P" for category, _, _ in eight]))
    emit("kControls8", range_of([category in ("Cc", "Cf", "Co") for category, _, _ in eight]))
    digits = pre_tokenizers.Digits(individual_digits=False)
    numbers = {c for c in CHARACTERS if len(digits.pre_tokenize_str("a" + chr(c))) == 2}
    emit("kNumbers17", range_of([c in numbers for c in EVERY]))
    for name in ("Alpha", "Lower", "Upper"):
        emit(f"k{name}16", class_ranges(name.lower()))
    emit("kScriptRuns", script_ranges())
    print(f'constexpr const char* kScriptNames[] = {{{", ".join(chr(34) + s + chr(34) for s in SCRIPTS)}}};')


main()
