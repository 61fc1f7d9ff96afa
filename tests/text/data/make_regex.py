#!/usr/bin/env python3
"""What patterns of tokenizers 0.23.3 (Oniguruma's) match, stored as regex.json: classes of characters, and look-behind.

Of a class: how many code points are in it, and FNV-1a's 64 bits over them. Of a pattern: the lengths of the pieces that it
cuts a text into, in characters. Usage: pip install tokenizers; make_regex.py
"""
import json
import pathlib

from tokenizers import Regex, pre_tokenizers

EVERY = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
POSIX = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()
CLASSES = [f"[[:{n}:]]" for n in POSIX] + [rf"\p{{{n}}}" for n in POSIX] + [
    "[[:^alpha:]]", "[^[:punct:]]", "[[:alpha:]&&[^[:lower:]]]", r"\P{Alpha}", r"\p{^Alnum}", r"\w", r"\W", r"[\w]", r"[^\w]", r"\s", r"\S", r"\d",
    r"\D", r"\h", r"\H", r"\p{Alphabetic}", r"\p{Lowercase}", r"\p{Uppercase}", r"\p{White_Space}", r"\p{Any}", r"\p{lu}", r"\p{HAN}", r"(?i)\p{Lu}",
    "[:alpha:]", "[[:alpha]]"]  # fmt: skip
TEXT = "ab aab b cbcd acd foox bcde ade bx :alph] a:a SSd ßd ssd c\n x1,234.5 don't it's 1234567 été\u0301 漢字かな\nend"
PATTERNS = [
    "(?<=a)b", "(?<!a)b", "(?<=a|bc)d", "(?<!a|bc)d", "(?<=a+)b", "(?<!a+)b", "(?<=(a))b", "(?<=a{1,3}b)c", "(?<name>a)b", "(?<=(?<=a)b)c",
    r"(?<=^|\s)x", r"(?<=\bfoo)x", "(?<=(?i:SS))d", "(?i)(?<=ss)d", "(?<=(?:a|bc)d)e", "(?<!(?:a|bc)d)e", "(?<!(?<=a)b)c", "(?<=a(?>b|c))d",
    r"(?<=\s+)b", r"(?<=\p{Han})\p{Han}", r"(?<=\d)(?=(?:\d{3})+\b)", r"(?<![\p{L}\p{M}])[\p{L}\p{M}]+", "[[:alpha:]]+'(?<=n')t", r"\b\w+\b(?<!a)",
    r"(?<=\A|\n)[^\n]", r"(?<!\A)\z", "(?<=)c", "(?<!)c", "(?<=a.{0,4}d)[^d]", r"(?:(?<=a)b|(?<=b)c|[[:punct:]])+",
    "", "b*", r"(?=\d)", r"(?<=\d)(?=\d)", r"\b", r"\A", r"\z", "b*?"]  # fmt: skip


def fnv(text):
    h = 0xCBF29CE484222325
    for c in text:
        for byte in ord(c).to_bytes(3, "little"):
            h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


def members(pattern):
    cut = pre_tokenizers.Split(Regex(pattern), "removed", invert=True).pre_tokenize_str(EVERY)
    text = "".join(sorted(c for piece, _ in cut for c in piece))
    return [len(text), f"{fnv(text):016x}"]


def pieces(pattern):
    return [end - begin for _, (begin, end) in pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(TEXT)]


data = {"text": TEXT, "classes": {p: members(p) for p in CLASSES}, "patterns": {p: pieces(p) for p in PATTERNS}}
(pathlib.Path(__file__).parent / "regex.json").write_text(json.dumps(data).replace("], ", "],\n") + "\n")
