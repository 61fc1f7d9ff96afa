"""The ops by number: enum class Op, and tables of their records and kernels in its order.

All of it comes from the op files' names: ops/<family>/<op>.cpp holds the record of <op>, ops::<op>_op::record, and, where it has one, its
kernel, ops::<op>_op::cpu, and a plain one, ::reference; a pointwise one <op>_op of every column. A missing record is a link error.
"""


def table(type, name, entries):
    return f"constinit const {type}* const {name}[] = {{\n{''.join(f'    &{e},{chr(10)}' for e in entries)}}};\n"


def ids(records):
    return ("// The ops, by the names of their files.\n#pragma once\n#include <cstdint>\nnamespace dyadic::inline v1 {\nenum class Op : uint16_t {\n"
            + "".join(f"  {r.op}_,\n" for r in records) + f"}};\ninline constexpr int kOps = {len(records)};\n}}\n")


def texts(name, values):
    return f"constexpr const char* {name}[] = {{\n{''.join(f'    {chr(34)}{v}{chr(34)},{chr(10)}' for v in values)}}};\n"


def tables(records, columns):
    """A column per instruction set, and that of plain kernels; the first one's files carry the records."""
    pointwise = [r for r in records if r.family == "pointwise"]
    text = ""
    for column in columns:
        declared = "".join(f"extern const PointwiseRecord<kRecords> {r.op}_op;\n" for r in pointwise)
        text += f"namespace dyadic::{column} {{\ninline constexpr bool kRecords = {str(column == columns[0]).lower()};\n{declared}}}\n"
    text += "namespace dyadic::inline v1 {\nnamespace ops {\n"
    text += "".join(f"namespace {r.op}_op {{ extern const OpDef record; [[gnu::weak]] extern const Kernel cpu, reference; }}\n" for r in records if r not in pointwise)
    text += "}\nnamespace {\n"
    text += table("OpDef", "k_records", [f"dyadic::{columns[0]}::{r.op}_op.def" if r in pointwise else f"ops::{r.op}_op::record" for r in records])
    for column in columns:
        own = "reference" if column == "reference" else "cpu"
        text += table("Kernel", f"k_{column}", [f"dyadic::{column}::{r.op}_op.kernel" if r in pointwise else f"ops::{r.op}_op::{own}" for r in records])
    return text + texts("kNames", [r.op for r in records]) + texts("kFamilies", [r.family for r in records]) + "}\n}\n"


def files(records, columns):
    return {"dyadic/op_ids.h": ids(records), "op_table.inc": tables(records, columns)}
