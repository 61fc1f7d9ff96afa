#!/usr/bin/env python3
"""Prints what the Python that runs it knows of characters, as JSON for make_unicode.py: {code: [category, combining class, decomposition]}.

Python 3.5 has Unicode 8 and 3.6 has Unicode 9; Python 2.7 (of 32-bit characters) has them by the packages unicodedata2 8.0.0 and 9.0.0.post4.
"""
import json

try:
    import unicodedata2 as u
except ImportError:
    import unicodedata as u


def character(c):
    return ("\\U%08x" % c).encode("ascii").decode("unicode-escape")


known = {c: [u.category(character(c)), u.combining(character(c)), u.decomposition(character(c))] for c in range(0x110000) if not 0xD800 <= c < 0xE000}
print(json.dumps({"version": u.unidata_version, "known": {c: x for c, x in known.items() if x[0] != "Cn"}}))
