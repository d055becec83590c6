"""Tables as streams: CSV, Parquet and JSON files, compressed or not.

Types of columns are DuckDB's, from all rows, and so are errors (query.py); those of columns of text are checked
(texts.py).
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator
from typing import Any

from river_okl._core.store.sample import shown
from river_okl.checks import UsageError
from river_okl.files.models import MULTICLASS, NUMBER, REGRESSION, STRING, TABLE, Schema
from river_okl.files.query import INTEGER, Table, kind_of_type, listed
from river_okl.files.stream import (
    MANY_LABELS,
    Again,
    Reading,
    Sample,
    Source,
    Stream,
    find_task,
    nearest,
    option,
)
from river_okl.files.texts import types_of_texts
from river_okl.labels import MAX_LABELS as MAX_CLASSES

LISTED_LABELS = 10


def read_table(source: Source, reading: Reading, schema: Schema | None) -> Stream:
    """Return the stream of a table; with a schema, of the same columns."""
    if schema is not None:
        return _read_known(Table(source, schema.options), schema)
    options: dict[str, Any] = {"nullstr": ["", *reading.na]}
    options |= {"decimal_separator": reading.decimal} if reading.decimal else {}
    if reading.date_format:
        has_time = re.search("%[HIMSfp]", reading.date_format)
        options["timestampformat" if has_time else "dateformat"] = reading.date_format
    table = Table(source, options)
    if table.reader != "read_csv" and (reading.decimal or reading.date_format):
        raise UsageError(f"{source.name} is no CSV file: --decimal and --date-format are for CSV files")
    return _read_new(table, reading)


# A new table ------------------------------------------------------------------------------------------------------


def _read_new(table: Table, reading: Reading) -> Stream:
    """Return the stream of a table, with its schema."""
    where, names, target = table.source.name, [*table.types], reading.target
    for name in [*([] if target is None else [target]), *reading.drop, *reading.strings]:
        if name not in names:
            raise UsageError(f"{where} has no column {name!r}{nearest(name, names)}; its columns are {listed(names)}")
    target = names[-1] if target is None else target
    if target in reading.drop:
        raise UsageError(f"{target!r} is the target; --drop is for other columns")
    kinds = {name: STRING if name in reading.strings else kind_of_type(kind) for name, kind in table.types.items()}
    columns = {name: kind for name, kind in kinds.items() if name != target and name not in reading.drop}
    if not columns:
        raise UsageError(
            f"{where} has no column besides the target {shown(target)}; fields are separated by , ; | or tabs, and "
            f"every row has as many as the first"
        )
    texts = [name for name in (*columns, target) if table.is_text(kinds[name]) and name not in reading.strings]
    kinds |= types_of_texts(table, {name: kinds[name] for name in texts})
    if kinds[target] not in (NUMBER, STRING):
        raise UsageError(
            f"{where}: the target {shown(target)} is a date: choose another --target, or {option('--string', target)}"
        )
    columns = {name: kinds[name] for name in columns}
    if kinds[target] == NUMBER and INTEGER.fullmatch(table.types[target]):
        kinds[target] = table.types[target]  # labels of any size
    types = {**columns, target: kinds[target]}
    numeric = [name for name, kind in columns.items() if kind == NUMBER]
    size, labelled, *known = table.counts([target, *numeric], types)
    if not size:
        raise UsageError(f"{where} has no rows")
    values = table.targets(target, types)
    task, labels = find_task(f"{where}: the target {shown(target)}", values, reading.task)
    ignored = tuple(name for name in names if name not in types)
    schema = Schema(TABLE, columns, target, task, labels, kinds[target] != STRING, ignored, table.options_to_keep())
    kinds_of = [*columns.values()]
    counts = {
        "date columns": len(columns) - len(numeric) - kinds_of.count(STRING),
        "missing values": len(numeric) * size - sum(known),
        "rows without a target, skipped": size - labelled,
    }
    notes = [
        *(() if table.options.get("header", True) else ("no header",)),
        f"target {target}" + (f" ({', '.join(map(str, labels))})" if 0 < len(labels) <= LISTED_LABELS else ""),
        f"numeric columns: {len(numeric)}, string columns: {kinds_of.count(STRING)}",
        *(f"{what}: {count:,}" for what, count in counts.items() if count),
        *(
            f"dates are {form}"
            for form in (table.options.get("dateformat"), table.options.get("timestampformat"))
            if form
        ),
    ]
    warnings = []
    if table.skipped:
        warnings.append(f"the first {table.skipped:,} lines are skipped: the rows after them have other fields")
    if task == MULTICLASS and len(labels) > MANY_LABELS:
        warnings.append(
            f"the target {shown(target)} has more than {MANY_LABELS:,} labels, which cost memory and are hardly "
            f"learned: choose another --target, or --task regression"
        )
    return Stream(
        where,
        Again(functools.partial(_samples, table, schema, types)),
        task,
        labelled,
        scaled=True,
        note="; ".join(notes),
        warnings=tuple(warnings),
        schema=schema,
    )


# A table with a known schema --------------------------------------------------------------------------------------


def _read_known(table: Table, schema: Schema) -> Stream:
    """Return the stream of a table with the columns of a schema; the target may be missing."""
    where, names = table.source.name, [*table.types]
    if lacking := [name for name in schema.columns if name not in names]:
        raise UsageError(
            f"{where} has no column {shown(lacking[0])}"
            + (f", nor {len(lacking) - 1} more" if len(lacking) > 1 else "")
            + f", which the model was trained on; its columns are {listed(names)}"
        )
    target = schema.target if schema.target in names else None
    types = dict(schema.columns)
    if target is not None:
        kind = table.types[target]
        types[target] = (kind if INTEGER.fullmatch(kind) else kind_of_type(kind)) if schema.numeric else STRING
    size, *known = table.counts([*types], types)
    if not size:
        raise UsageError(f"{where} has no rows")
    labels, labelled = dict.fromkeys(schema.labels), known[-1] if target is not None else 0
    if target is not None:
        try:
            for y in table.targets(target, types):
                found = schema.target_of(y)
                if schema.task == MULTICLASS and len(labels) < MAX_CLASSES:
                    labels[found] = None
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from None
    new = [name for name in names if name not in {*schema.columns, schema.target, *schema.ignored}]
    unknown = [*labels][len(schema.labels) :]
    schema = dataclasses.replace(schema, labels=tuple(labels))
    note = "no target" if target is None else f"target {schema.target}"
    if target is not None and labelled < size:
        note += f"; rows without a target, only predicted: {size - labelled:,}"
    return Stream(
        where,
        Again(functools.partial(_samples, table, schema, types, True)),
        schema.task,
        size,
        scaled=True,
        note=note,
        warnings=(
            *([f"columns that the model does not know are ignored: {listed(new)}"] if new else []),
            *([f"labels that the model does not know are learned: {listed([*map(str, unknown)])}"] if unknown else []),
        ),
        schema=schema,
        labelled=labelled > 0,
    )


def _samples(table: Table, schema: Schema, types: dict[str, str], unlabelled: bool = False) -> Iterator[Sample]:
    """Yield features and target of every row; rows without a target are skipped, or have None if ``unlabelled``."""
    for i, row in enumerate(table.query(table.select("*", types)), start=1):
        x = {name: cell for name, cell in zip(types, row, strict=True) if cell is not None}
        try:
            y = schema.target_of(x.pop(schema.target, None))
        except ValueError as error:
            raise UsageError(f"{table.source.name}, row {i:,}: {error}") from None
        if y is None and not unlabelled:
            continue
        yield x, float(y) if schema.task == REGRESSION and y is not None else y
