"""The licences of what a wheel holds that is not ours: of the shared libraries that auditwheel has put in, which its list of
components names (sboms/auditwheel.cdx.json), and of what the compiler has put into the module.

Debian keeps the licence of a package in /usr/share/doc/PACKAGE/copyright, and the texts it refers to in /usr/share/common-licenses.
"""
import base64
import hashlib
import json
import re
import sys
import zipfile
from importlib import metadata
from pathlib import Path

DOCUMENTS, TEXTS = Path("/usr/share/doc"), Path("/usr/share/common-licenses")
COMPILED_IN = ["libcli11-dev", "libhwy-dev", "liblapack-dev", "nlohmann-json3-dev"]  # static libraries and headers


def of_packages(names):
    """{file name: text} for Debian packages; those without one are named on stderr."""
    out = {}
    for name in names:
        file = DOCUMENTS / name / "copyright"
        if not file.is_file():
            print(f"wheel: no licence of {name} in {file}; add it before this wheel is passed on", file=sys.stderr)
            continue
        out[f"{name}.txt"] = text = file.read_text()
        for common in re.findall(rf"{TEXTS}/([A-Za-z0-9.-]*[A-Za-z0-9])", text):
            if (TEXTS / common).is_file():
                out[f"common/{common}.txt"] = (TEXTS / common).read_text()
    return out


def of_nanobind():
    """Its own, and what stands at the head of the hash table that it carries."""
    files = metadata.files("nanobind")
    (own,) = [f.read_text() for f in files if f.name == "LICENSE"]
    (table,) = [f.read_text() for f in files if f.name == "robin_map.h"]
    return {"nanobind.txt": own, "robin-map.txt": table.partition("*/")[0]}


def components(bill):
    """Names of the Debian packages in a bill of materials (CycloneDX)."""
    return [c["name"] for c in json.loads(bill)["components"] if c["purl"].startswith("pkg:deb/")]


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add(wheel, to):
    """Writes `wheel` to `to` with the licences in dist-info/licenses/third_party, named in METADATA and RECORD."""
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as new:
        (record,) = [n for n in old.namelist() if n.endswith(".dist-info/RECORD")]
        info = record.removesuffix("/RECORD")
        bill = f"{info}/sboms/auditwheel.cdx.json"
        packages = components(old.read(bill)) if bill in old.namelist() else []
        texts = {**of_packages(sorted({*packages, *COMPILED_IN})), **of_nanobind()}
        files = {f"{info}/licenses/third_party/{name}": text.encode() for name, text in texts.items()}
        listed = "".join(f"License-File: third_party/{name}\n" for name in texts)
        files[f"{info}/METADATA"] = old.read(f"{info}/METADATA").replace(b"\nRequires-Python:", b"\n" + listed.encode() + b"Requires-Python:", 1)
        lines = [x for x in old.read(record).decode().splitlines(True) if x.split(",")[0] not in files]
        files[record] = "".join([*lines, *(record_line(*f) for f in files.items())]).encode()
        for item in old.infolist():
            if item.filename not in files and not item.is_dir():
                new.writestr(item, old.read(item))
        for name, data in files.items():
            new.writestr(name, data)
