"""What is made of records, and `made`, the list of it: python3 tools/generate ROOT OUT ISA... -- COLUMN...

tables.py     the ops by number: dyadic/op_ids.h, op_columns.h, op_table.inc
functions.py  free functions, methods of Tensor, name_ and name_out: dyadic/functions.inc, ops_nn.h, linalg.h, fft.h; the reference's declarations
handles.py    typed names of every op's arguments: op_args.inc
classes.py    layers, optimizers and schedules
compat.py     namespace torch
families.py   the families of models by their files: model_families.inc
quant.py      methods of quantization as functions
"""
import sys
from pathlib import Path

import classes
import compat
import families
import handles
import quant
import tables
from functions import Functions
from records import op_records


def main():
    root, out = Path(sys.argv[1]), Path(sys.argv[2])
    records = op_records(root)
    functions = Functions(root, records)
    files = functions.files() | {"op_args.inc": handles.text(records), "op_declarations.inc": functions.declarations()}
    columns = sys.argv[3:]  # of kernels: the CPU's, one per instruction set, and the others
    isas, others = columns[: columns.index("--")], columns[columns.index("--") + 1 :]
    files |= tables.files(records, isas, others) | classes.files(root) | families.files(root) | compat.files(root, records, functions)
    files |= quant.files(root)
    for name, text in files.items():  # what did not change keeps its time, and what includes it is not compiled again
        file = out / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    (out / "made").write_text("".join(f"{out / name}\n" for name in files))


main()
