"""The ops by number: enum class Op, and tables of their records and kernels in its order.

All of it comes from the op files' names. ops/<family>/<op>.cpp holds the record of <op>, ops::<op>_op::record, and, where it has one, the
kernel of the CPU's columns, ops::<op>_op::cpu, and what vmap is to know of it, ops::<op>_op::batching; <op>.<column>.cpp that of another column, ops::<op>_op::<column>. A pointwise op is compiled
for every column as <op>_op.
"""


def table(type, name, entries):
    lines = "".join(f"    {'&' + e if e else 'nullptr'},\n" for e in entries)
    return f"constinit const {type}* const {name}[] = {{\n{lines}}};\n"


def ids(records):
    return ("// The ops, by the names of their files.\n#pragma once\n#include <cstdint>\nnamespace dyadic::inline v1 {\nenum class Op : uint16_t {\n"
            + "".join(f"  {r.op}_,\n" for r in records) + f"}};\ninline constexpr int kOps = {len(records)};\n}}\n")


def texts(name, values):
    return f"constexpr const char* {name}[] = {{\n{''.join(f'    {chr(34)}{v}{chr(34)},{chr(10)}' for v in values)}}};\n"


def column_enum(columns):
    return ("// The columns of kernels.\n#pragma once\nnamespace dyadic::inline v1 {\nenum class Column { " + ", ".join(columns)
            + f" }};\ninline constexpr int kColumns = {len(columns)};\n}}\n")


def kernel_name(record, column, isas):
    """Of an op that is not pointwise; None where the column has none."""
    own = "cpu" if column in isas else column
    there = record.has_kernel if column in isas else record.file.with_name(f"{record.op}.{column}.cpp").exists()
    return f"ops::{record.op}_op::{own}" if there else None


def tables(records, isas, others):
    """A column per instruction set, of which not all may be built, then the others; the last one's files carry the pointwise ops' records."""
    columns = isas + others
    pointwise = [r for r in records if r.family == "pointwise"]
    text = ""
    for column in columns:
        extern = "DY_OF_AN_ISA" if column in isas else "extern"
        declared = "".join(f"{extern} const PointwiseRecord<kRecords> {r.op}_op;\n" for r in pointwise)
        text += f"namespace dyadic::{column} {{\ninline constexpr bool kRecords = {str(column == columns[-1]).lower()};\n{declared}}}\n"
    text += "namespace dyadic::inline v1 {\nnamespace ops {\n"
    for r in records:
        if r not in pointwise:
            kernels = "".join(f"extern const Kernel {name.rsplit('::', 1)[1]}; " for name in dict.fromkeys(kernel_name(r, c, isas) for c in columns) if name)
            kernels += "extern const Batching batching; " if r.has_batching else ""
            text += f"namespace {r.op}_op {{ extern const OpDef record; {kernels}}}\n"
    text += "}\nnamespace {\n"
    text += table("OpDef", "k_records", [f"dyadic::{columns[-1]}::{r.op}_op.def" if r in pointwise else f"ops::{r.op}_op::record" for r in records])
    for column in columns:
        text += table("Kernel", f"k_{column}", [f"dyadic::{column}::{r.op}_op.kernel" if r in pointwise else kernel_name(r, column, isas) for r in records])
    text += table("Batching", "kBatching", [f"ops::{r.op}_op::batching" if r.has_batching else None for r in records])
    text += "constinit const Kernel* const* const kTables[] = {" + ", ".join(f"k_{c}" for c in columns) + "};\n"
    return text + texts("kNames", [r.op for r in records]) + texts("kFamilies", [r.family for r in records]) + "}\n}\n"


def files(records, isas, others):
    return {"dyadic/op_ids.h": ids(records), "op_columns.h": column_enum(isas + others), "op_table.inc": tables(records, isas, others)}
