"""The table of the families of models: every `extern const Family name{...}` of src/models/families, in the order of files and of their lines."""
import re


def files(root):
    names = [name for file in sorted((root / "src/models/families").glob("*.cpp")) for name in re.findall(r"^extern const Family (\w+)\{", file.read_text(), re.M)]
    declared, table = ", ".join(names), ", ".join("&" + name for name in names)
    return {"model_families.inc": f"extern const Family {declared};\nconstexpr const Family* kFamilies[] = {{{table}}};\n"}
