"""Cells, columns and schemas of CSV files, and models that keep the schema of their file."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import math
import pickle
import random

import pytest
from river import checks, linear_model, preprocessing

import river_okl
from river_okl import checkpoint, files
from river_okl.tables.cells import DAY_FIRST, MONTH_FIRST, NUMBERS, STRINGS, Cells, read_date
from river_okl.tables.models import Numeric, TableClassifier, TableRegressor
from river_okl.tables.schema import Schema


def written(tmp_path, header, rows, separator=","):
    path = tmp_path / "a.csv"
    path.write_text("\n".join(separator.join(map(str, row)) for row in (header, *rows)) + "\n", encoding="utf-8")
    return str(path)


def rows_of(n=3000, seed=1):
    """A number and a string that decide together, a number, a date and a label."""
    rng = random.Random(seed)
    for _ in range(n):
        a, b, c = rng.gauss(0, 1), rng.gauss(5, 2), rng.choice(["red", "blue"])
        day = f"{rng.randint(1, 12)}/{rng.randint(1, 28)}/2013"
        yield [f"{a:.4f}", f"{b:.3f}", c, day, "yes" if (a > 0) == (c == "red") else "no"]


HEADER = ["a", "b", "c", "day", "label"]


def read(path, **options):
    return files.read_file(path, files.Reading(**options))


# Cells ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *("", "NA", "n.a.", "N/A", "#N/A", "#DIV/0!", "#VALUE!", "<NA>"),
        *("NaN", "-nan", "NULL", "None", "\\N", ".", "-", "NaT", " ? "),
    ],
)
def test_what_programs_write_for_a_gap_is_a_gap(text):
    cells = Cells()
    assert cells.number(text) is None and cells.date(text, True) is None
    assert cells.reader(NUMBERS)("1.5") == 1.5


def test_gaps_among_strings_are_fewer():
    string = Cells().string
    assert string("#N/A") is string("<NA>") is string("") is None
    assert [string("None"), string("-"), string(" n.a. ")] == ["None", "-", "n.a."]


def test_the_users_gaps():
    cells = Cells(na=("missing", "-999"))
    assert cells.number("Missing") is cells.number("-999") is cells.number("-999.0") is None
    assert cells.string("missing") is None and cells.string("-999") is None
    assert cells.number("-998") == -998.0
    assert Cells(na=("inf",)).number("inf") is None


def test_decimal_commas():
    cells = Cells(decimal=",")
    numbers = {"1,5": 1.5, "1.234": 1234.0, "1.234.567,25": 1234567.25, "7": 7.0, "-0,5": -0.5, "1,5e3": 1500.0}
    assert {text: cells.number(text) for text in numbers} == numbers
    for text in ("1.5", "1.23", "0.123", "1_0", "x"):
        with pytest.raises(ValueError, match="is not a number"):
            cells.number(text)
    assert Cells().number("1,234.5") == 1234.5


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("1 234", 1234), ("1'234'567", 1234567), ("1\u00a0234.5", 1234.5), ("1\u202f234", 1234)),
        *(("\u22121,234", -1234), ("\u22121.5", -1.5)),
    ],
)
def test_numbers_as_printed(text, value):
    assert Cells().number(text) == value


@pytest.mark.parametrize(
    "text", ["1 23", "1,234'567", "12 34 567", "0 123", "1,,234", "\u2212", "\u2212\u22121", "1_000", "0x1f"]
)
def test_texts_that_are_no_numbers(text):
    with pytest.raises(ValueError, match="is not a number"):
        Cells().number(text)


DATE, NOON = datetime.date(2012, 10, 26), datetime.datetime(2012, 10, 26, 12, 30)
UTC = NOON.replace(tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, DATE) for text in ("2012-10-26", "2012/10/26", "26 October 2012", "26-Oct-2012", "26-Oct-12")),
        *((text, DATE) for text in ("October 26, 2012", "Oct 26 2012", "Friday, 26th October 2012")),
        *((text, DATE) for text in ("26.10.2012", "26/10/12", "26.10.12")),
        *((text, DATE.replace(day=1)) for text in ("2012-10", "Oct 2012")),
        *((text, NOON) for text in ("26/10/2012 12:30", "26/10/2012 12:30 pm", "26.10.2012 12:30:00.000")),
        *((text, UTC) for text in ("26 Oct 2012 12:30:00 GMT", "2012-10-26 12:30:00+00:00", "2012-10-26 12:30:00+00")),
        *((text, None) for text in ("10/26/2012 12:30 AM", "31/4/2012", "26/10/2012 24:30", "26/10/2012 13:30 pm")),
        *((text, None) for text in ("Report 2012", "123456789", "12:30", "1.2.13")),  # the last is a version
    ],
)
def test_dates_with_the_day_first(text, value):
    found = read_date(text, True)
    assert found == value and type(found) is type(value)


def test_dates_with_the_month_first():
    assert read_date("4/6/2013", False) == datetime.date(2013, 4, 6)
    assert read_date("4/6/2013", True) == datetime.date(2013, 6, 4)
    assert read_date("10/26/2012 12:30 AM", False) == datetime.datetime(2012, 10, 26, 0, 30)
    assert read_date("4.6.2013", False) == datetime.date(2013, 6, 4), "with points the day is first"
    with pytest.raises(ValueError, match=r"'4/6/2013' may have the day or the month first"):
        Cells().reader("dates")("4/6/2013")
    assert Cells().reader("dates")("4.6.2013") == Cells().reader("dates")("2013-06-04") == datetime.date(2013, 6, 4)
    assert read_date("1/1/68", True).year == 2068 and read_date("1/1/70", True).year == 1970


# Columns --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["n.a.", "#N/A", "#DIV/0!", "<NA>", "."])
def test_one_gap_leaves_a_column_of_numbers(tmp_path, cell):
    rows = list(rows_of())
    rows[1500][0] = cell
    stream = read(written(tmp_path, HEADER, rows))
    assert stream.schema.columns["a"] == NUMBERS and "missing values: 1" in stream.note
    assert list(stream.samples)[1500][0].keys() == {"b", "c", "day"}


@pytest.mark.parametrize(("column", "kind"), [("a", "numbers"), ("day", "dates")])
def test_a_column_of_numbers_or_dates_with_a_few_strings_is_an_error(tmp_path, column, kind):
    rows, i = list(rows_of()), HEADER.index(column)
    for at, cell in ((1500, "missing"), (1700, "missing"), (1800, "oops")):
        rows[at][i] = cell
    path = written(tmp_path, HEADER, rows)
    with pytest.raises(files.UsageError) as error:
        read(path)
    advice = f"if it is a gap, --na missing, or --string {column}"
    exceptions = f"except for 'missing' in line 1502 and 2 more: {advice}"
    assert str(error.value) == f"{path}, column {column!r} has {kind}, {exceptions}"
    stream = read(path, na=("missing", "oops"))
    assert stream.schema.columns[column] != STRINGS and len(list(stream.samples)) == 3000
    assert read(path, strings=(column,)).schema.columns[column] == STRINGS


def test_a_target_of_numbers_with_a_few_strings_is_an_error(tmp_path):
    rows = [[i, i / 7] for i in range(100)]
    rows[30][1], rows[40][1] = "n.a.", "oops"
    path = written(tmp_path, ["x", "y"], rows)
    with pytest.raises(files.UsageError, match=r"'y' has numbers, except for 'oops' in line 42: .* --na oops"):
        read(path)
    with pytest.raises(files.UsageError, match=r"'oops' in line 42: a regression needs numbers.*--na oops"):
        read(path, task="regression")
    stream = read(path, na=("oops",))
    assert stream.task == files.REGRESSION and stream.size == 98
    assert read(path, strings=("y",)).task == files.MULTICLASS
    assert read(path, task="classification").task == files.MULTICLASS, "as was said"


def test_a_target_of_dates_is_an_error(tmp_path):
    path = written(tmp_path, ["x", "day"], [[i, f"2013-01-{i + 1:02}"] for i in range(28)])
    with pytest.raises(files.UsageError, match="the target 'day' is a date: choose another --target"):
        read(path)
    rows = [[i % 9, ["2013-01-01", "2013-01-02", "none"][i % 3]] for i in range(60)]
    stream = read(written(tmp_path, ["x", "y"], rows), task="classification")
    assert stream.size == len(list(stream.samples)) == 60


def test_mixed_columns_are_strings_with_a_warning(tmp_path):
    rows = [[str(i % 50) if i % 3 else f"A {i % 50}", i % 2] for i in range(300)]
    stream = read(written(tmp_path, ["ticket", "y"], rows))
    assert stream.schema.columns == {"ticket": STRINGS}
    assert stream.warnings == ("column 'ticket' has 200 numbers and 100 other cells: all are read as strings",)


@pytest.mark.parametrize(
    ("cell", "warning"),
    [
        ("0{:04}", "has numbers such as 00001: if they are codes, --string x"),
        ("202401{:02}", "has numbers that look like dates without dashes, and are read as numbers"),
        *((cell, None) for cell in ("10.0.{}.1", "0.{}", "2024{:04}", "v{}")),
        *(
            (cell, f"has values such as {cell.format(1)!r}, which are read as strings")
            for cell in (
                *("{:02}:30", "{:.1f} %", "{} kg", "${}.50", "-${}", "({}.5)"),
                *("24-02-{:02}", "2024-02-{:02} 10:00 EST", "{:02}FEB2024"),
            )
        ),
    ],
)
def test_values_that_are_something_else_are_mentioned(tmp_path, cell, warning):
    rows = [[cell.format(i % 20 + 1), i % 2] for i in range(200)]
    expected = () if warning is None else (f"column 'x' {warning}",)
    assert read(written(tmp_path, ["x", "y"], rows)).warnings == expected


def test_labels_with_leading_zeros_may_be_codes(tmp_path):
    path = written(tmp_path, ["x", "y"], [[i, f"0{i % 2 + 1}"] for i in range(40)])
    assert read(path).binary == (1, 2)
    assert read(path).warnings == ("column 'y' has numbers such as 01: if they are codes, --string y",)
    assert read(path, strings=("y",)).binary == ("01", "02") and read(path, strings=("y",)).warnings == ()


@pytest.mark.parametrize(("gap", "warns"), [(-999, True), (9999, True), (-7, False), (99, False)])
def test_numbers_that_stand_for_gaps_are_mentioned(tmp_path, gap, warns):
    rng = random.Random(1)
    rows = [[gap if i % 5 == 0 else round(rng.uniform(0, 100), 2), i % 2] for i in range(1000)]
    path = written(tmp_path, ["x", "y"], rows)
    expected = (f"column 'x' is {gap} in 200 rows, far from all other values: if that is a gap, --na {gap}",)
    assert read(path).warnings == (expected if warns else ())
    assert "missing values: 200" in read(path, na=(str(gap),)).note and read(path, na=(str(gap),)).warnings == ()


def test_the_order_of_dates_follows_from_the_column(tmp_path):
    def column(*cells, **options):
        return read(written(tmp_path, ["t", "y"], [[cell, i % 2] for i, cell in enumerate(cells)]), **options)

    assert column("4/6/2013", "13/6/2013").schema.columns == {"t": DAY_FIRST}
    assert column("4/6/2013", "4/13/2013", day_first=True).schema.columns == {"t": MONTH_FIRST}
    assert next(iter(column("4.6.2013", "5.6.2013").samples))[0]["t"] == datetime.date(2013, 6, 4)
    assert column("4-6-2013", "5-6-2013").schema.columns == {"t": MONTH_FIRST}
    assert column("4/4/2013", "5/5/2013").warnings == ()
    unclear = column("4/6/2013", "5/6/2013")
    assert unclear.schema.columns == {"t": MONTH_FIRST}
    assert unclear.warnings == ("in column 't' 4/6/2013 is read as 06 April 2013: if not, --day-first",)
    assert next(iter(column("4/6/2013", "5/6/2013", day_first=True).samples))[0]["t"] == datetime.date(2013, 6, 4)
    both = r"day first \(13/6/2013 in line 2\) and with the month first \(6/13/2013 in line 3\)"
    with pytest.raises(files.UsageError, match=both):
        column("13/6/2013", "6/13/2013")


def test_a_target_is_warned_of_like_a_column(tmp_path):
    def warnings(cells, **options):
        return read(written(tmp_path, ["x", "y"], [[i % 9, cell] for i, cell in enumerate(cells)]), **options).warnings

    assert "'1.5 %'" in warnings([f"{i}.5 %" for i in range(1, 60)])[0]
    assert "numbers and" in warnings([f"{i}.5" if i % 4 else "sold out" for i in range(60)])[0]
    assert "far from all other" in warnings([-999 if i % 9 == 0 else i / 7 for i in range(100)])[0]
    assert warnings([i / 7 for i in range(100)]) == ()


def test_large_integers_are_no_labels(tmp_path):
    path = written(tmp_path, ["x", "y"], [[i, 12345678901234567 + i % 5] for i in range(60)])
    with pytest.raises(files.UsageError, match="integers of more than 15 digits: --string y"):
        read(path)
    assert len(read(path, strings=("y",)).schema.labels) == 5


def test_cells_of_many_lines_are_mentioned(tmp_path):
    path = written(tmp_path, ["x", "y"], [[i % 7, '"a' if i in (10, 40) else "ab"[i % 2]] for i in range(60)])
    (warning, *_) = read(path).warnings
    assert "a cell of 31 lines that ends in line 42: a quotation mark may be unclosed" in warning


def test_separators_and_decimal_commas(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{i},5;{i},25;{i % 2}\n" for i in range(60)))
    assert read(str(path), decimal=",").schema.columns == {"1": NUMBERS, "2": NUMBERS}
    with pytest.raises(files.UsageError, match="decimal commas"):
        read(str(path))
    path.write_text("x;y\n1,5;0\n2,5;1\n")
    schema = read(str(path), decimal=",").schema
    assert [x for x, _ in known(tmp_path, "x\n1,5\n2,5\n", schema).samples] == [{"x": 1.5}, {"x": 2.5}]


def test_headers_of_years_and_of_frames(tmp_path):
    rows = [["ABC"[i % 3], i / 7, i / 3, i / 2, i % 5] for i in range(30)]
    assert read(written(tmp_path, ["country", 2019, 2020, 2021, 2022], rows)).schema.target == "2022"
    frame = [[i, ["red", "blue"][i % 2], ["yes", "no"][i % 3 > 0]] for i in range(30)]
    assert read(written(tmp_path, ["", "colour", "ripe"], frame)).schema.target == "ripe"


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\ufeffa,y\n1,0\n2,1\n", encoding="utf-8")
    for encoding in (None, "utf-8", "UTF8"):
        assert read(str(path), encoding=encoding).schema.columns == {"a": NUMBERS}


def test_labels_that_look_like_mistakes_are_mentioned(tmp_path):
    rows = [[i, ("yes", "no", "N/A", "Yes")[i % 4]] for i in range(40)]
    stream = read(written(tmp_path, ["x", "y"], rows))
    assert stream.note.startswith("target y (N/A, Yes, no, yes)")
    assert stream.warnings == (
        "the target 'y' has the label 'N/A': if that is a gap, --na N/A",
        "the labels 'yes' and 'Yes' of the target 'y' differ in case only",
    )
    assert read(written(tmp_path, ["x", "y"], rows), na=("n/a",)).size == 30


# Files ----------------------------------------------------------------------------------------------------------------


def test_german_files(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("größe;y\n1,5;ä\n1.002,25;b\n".encode("cp1252"))
    with pytest.raises(files.UsageError, match=r"not in UTF-8.*--encoding cp1252"):
        read(str(path))
    stream = read(str(path), encoding="cp1252", decimal=",")
    assert [x["größe"] for x, _ in stream.samples] == [1.5, 1002.25] and stream.binary == ("b", "ä")
    path.write_text("größe;y\n1,5;ä\n2;b\n", encoding="utf-8")
    with pytest.raises(files.UsageError, match=r"column 'größe' have decimal commas \(1,5 in line 2\): --decimal ','"):
        read(str(path))
    path.write_bytes("größe;y\n1;a\n2;b\n".encode("utf-16"))
    assert [x["größe"] for x, _ in read(str(path)).samples] == [1.0, 2.0], "it says so itself"
    for encoding in ("utf-7000", "rot13", "hex"):
        with pytest.raises(files.UsageError, match=f"--encoding {encoding}: no such encoding"):
            read(str(path), encoding=encoding)
    path.write_text("größe;y\n1;a\n2;b\n", encoding="utf-8")
    with pytest.raises(files.UsageError, match=r"a\.csv is not in utf-16"):
        read(str(path), encoding="utf-16")


@pytest.mark.parametrize(
    ("cells", "decimal", "message"),
    [
        (["1.234,56", "12,50", "999,99"], ".", r"decimal commas \(1\.234,56 in line 2\): --decimal ','"),
        *(([cell, "2"], ".", "decimal commas") for cell in ("1\u00a0234,5", "1,5e3")),
        (["52.52", "48.1"], ",", r"decimal points \(52\.52 in line 2\): leave out --decimal, or --string x"),
    ],
)
def test_numbers_with_the_other_decimal_mark(tmp_path, cells, decimal, message):
    path = written(tmp_path, ["x", "y"], [[cell, i % 2] for i, cell in enumerate(cells)], ";")
    with pytest.raises(files.UsageError, match=message):
        read(path, decimal=decimal)


def test_blank_lines_and_headers_without_names(tmp_path):
    rows = [[i, i / 2, "ab"[i % 2]] for i in range(9)]
    assert read(written(tmp_path, ["x", "z", "y"], [*rows, ["   "]])).size == 9
    with pytest.raises(files.UsageError, match="may be a header or a sample, ',,b': write a header"):
        read(written(tmp_path, ["", "", "b"], rows))
    with pytest.raises(files.UsageError, match="a header or a sample, 'red,no': write a header"):
        read(written(tmp_path, ["red", "no"], [[("blue", "red")[i % 2], ("yes", "no")[i % 3 > 0]] for i in range(9)]))
    assert read(written(tmp_path, ["", "z", "y"], rows)).schema.columns.keys() == {"", "z"}


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'{"a": 1, "b": 2}\n{"a": 2, "b": 1}\n', "JSON"),
        (b'[\n{"a": 1, "b": 2},\n{"a": 2, "b": 1}\n]', "JSON"),
        (b'[{"a": 1,\n "b": 2}]', "JSON"),
        (b"1 |f a:1 b:2\n-1 |f a:2 c\n", "in the format of Vowpal Wabbit"),
        (b"1 |f a:1 |g b\n-1 |f a:2 |g c d\n", "in the format of Vowpal Wabbit"),
        (b"1 2.0 'tag | a b c\n-1 |x d\n", "in the format of Vowpal Wabbit"),
        (b"@relation a\n@attribute b numeric\n", "ARFF"),
        (b"<table><tr>\n", "XML or HTML"),
        (b"PK\x03\x04 ...", "an Excel file or a zip archive"),
        (b"PAR1 ...", "a Parquet file"),
        (b"\x89OKL\r\n\x1a\n", "a model, which --load reads"),
    ],
)
def test_files_of_other_formats_are_named(tmp_path, data, what):
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(files.UsageError, match=f"is {what}: --data takes CSV and libsvm files"):
        read(str(path))


@pytest.mark.parametrize(
    "text",
    [
        *("x | y | z\n1 | 2 | 3\n2 | 2 | 1\n", "4|2|3\n2|2|1\n", "[a],[b]\n1,0\n2,1\n", "4 | 2\n0 | 1\n"),
        "id | full name | y\n1 | red big | 0\n2 | red | 1\n",
        *("id|full name|y\n1|red big|0\n2|blue 2|1\n", "id|full name\n1|red big\n2|blue small\n"),
        *("1|2024-01-01 10:00|0\n2|2024-01-01 10:00|1\n", "5\t12:30\n7\t12:05\n"),
        "2024-01-01 12:30:00,0\n2024-01-02 12:30:00,1\n",
    ],
)
def test_files_that_only_look_like_other_formats(tmp_path, text):
    path = tmp_path / "a"
    path.write_text(text)
    stream = read(str(path))
    assert stream.size == 2 and stream.schema.format == "csv"


# Schemas --------------------------------------------------------------------------------------------------------------


def known(tmp_path, text, schema):
    path = tmp_path / "new.csv"
    path.write_text(text)
    return files.read_file(str(path), schema=schema)


@pytest.fixture
def schema(tmp_path):
    path = written(tmp_path, [*HEADER, "id"], [[*row, i] for i, row in enumerate(rows_of(50))])
    return read(path, target="label", drop=("id",)).schema


def test_a_file_is_read_with_the_schema_of_another(tmp_path, schema):
    stream = known(tmp_path, "c,id,extra,day,b,a\nred,7,x,4/6/2013,n.a.,1\n", schema)
    assert list(stream.samples) == [({"a": 1.0, "c": "red", "day": datetime.date(2013, 4, 6)}, None)]
    assert not stream.labelled and stream.note == "no target"
    assert stream.warnings == ("columns that the model does not know are ignored: extra",)
    stream = known(tmp_path, "a,b,c,day,label\n1,2,5,4/6/2013,yes\n2,2,red,,\n", schema)
    assert [y for _, y in stream.samples] == [True, None] and stream.labelled and stream.size == 2
    assert next(iter(stream.samples))[0]["c"] == "5", "a string, as in the other file"
    assert stream.note == "target label; rows without a target, only predicted: 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A,b,c,day\n1,2,x,4/6/2013\n", "no column 'a', which the model was trained on; its first row is A, b, c, day"),
        ("c,day\nx,4/6/2013\n", "has no column 'a', nor 1 more"),
        ("a,b,c,day\nx,2,x,4/6/2013\n", "line 2, column 'a' has numbers: 'x' is not a number"),
        ("a,b,c,day\n1,2,x,soon\n", "line 2, column 'day' has dates, month first: 'soon' is not a date"),
        ("a,b,c,day\n1,2,x,13/6/2013\n", "line 2, column 'day' has dates, month first: '13/6/2013' is not a date"),
        ("a,b,c,day\n1,2,x,4/6/2013\n1,inf,x,4/6/2013\n", "line 3, column 'b' has numbers: 'inf' is not finite"),
        ("a,b,c,day,label\n1,2,x,4/6/2013,maybe\n", "line 2: the target 'label' is 'maybe': the labels are no and yes"),
        ("a,b,c,day\n", "has a header and no rows"),
        ("a,a,b,c,day\n1,1,2,x,4/6/2013\n", "has 2 columns 'a': rename them"),
        ("1 1:2 2:3\n", "is a libsvm file, unlike that of the model"),
    ],
)
def test_a_file_that_does_not_fit_a_schema(tmp_path, schema, text, message):
    with pytest.raises(files.UsageError) as error:
        known(tmp_path, text, schema)
    assert message in str(error.value)


def test_a_file_without_a_header_and_its_schema(tmp_path):
    schema = read(written(tmp_path, [1.5, "x", 0], [[2.5, "y", 1], [3, "z", 0]])).schema
    assert list(known(tmp_path, "7.5,w\n", schema).samples) == [({"1": 7.5, "2": "w"}, None)]
    schema = read(written(tmp_path, [1, 2, 0], [[7, 5, 1], [3, 6, 0]])).schema
    assert [x for x, _ in known(tmp_path, "1,2\n2,1\n", schema).samples] == [{"1": 1.0, "2": 2.0}, {"1": 2.0, "2": 1.0}]
    assert list(known(tmp_path, "1,2,1\n", schema).samples) == [({"1": 1.0, "2": 2.0}, True)]
    with pytest.raises(files.UsageError, match="has 1 fields in a row, and that of the model had 3"):
        known(tmp_path, "7\n8\n", schema)
    rows = [[i * 1.5, i, "x", i % 5] for i in range(60)]
    schema = read(written(tmp_path, rows[0], rows[1:]), target="1", drop=("4",)).schema
    assert next(iter(known(tmp_path, "6,x,17\n2,x,1\n", schema).samples)) == ({"2": 6.0, "3": "x"}, None)


@pytest.mark.parametrize(
    "change",
    [
        *({"format": "json"}, {"columns": {"a": "words"}}, {"labels": ("a",)}, {"na": ["x"]}),
        *({"decimal": ";"}, {"task": "x"}, {"more": 1}),
    ],
)
def test_schemas_of_no_file(schema, change):
    fields = dataclasses.asdict(schema)
    assert Schema(**fields) == schema
    with pytest.raises((TypeError, ValueError)):
        Schema(**{**fields, **change})
    model = of_table(schema, river_okl.RBPClassifier(seed=1))
    model.schema = {**fields, **change}
    with pytest.raises(checkpoint.CheckpointError):
        checkpoint.dumps(model)


# Models ---------------------------------------------------------------------------------------------------------------


OKL, NUMERIC = river_okl.Dates() | river_okl.OKLClassifier(), Numeric() | river_okl.AhpatronClassifier()


def of_table(schema, model=OKL):
    return TableClassifier(model.clone(), dataclasses.asdict(schema))


@pytest.mark.parametrize("model", [OKL, NUMERIC], ids=["okl", "numeric"])
def test_rows_as_text_and_as_values_are_the_same(schema, model):
    text, values = of_table(schema, model), of_table(schema, model)
    for row in rows_of(300):
        *cells, y = row
        x = dict(zip(HEADER[:4], cells, strict=True))
        month, day, year = map(int, cells[3].split("/"))
        plain = {"a": float(cells[0]), "b": float(cells[1]), "c": cells[2], "day": datetime.date(year, month, day)}
        assert text.predict_proba_one(x) == values.predict_proba_one(plain)
        text.learn_one(x, y)
        values.learn_one({**plain, "label": y, "id": 3}, y)
    assert text.predict_proba_one(x).keys() == {"yes", "no"} and text.predict_one(x) in ("yes", "no")
    copies = [pickle.loads(pickle.dumps(text)), copy.deepcopy(text), checkpoint.loads(checkpoint.dumps(text))]
    for other in copies:
        assert other.predict_proba_one(x) == text.predict_proba_one(x) and other.schema == text.schema
    assert checkpoint.dumps(copies[2]) == checkpoint.dumps(text)
    assert text.clone().predict_one(x) is None


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ({"a": "large"}, ValueError, "column 'a' has numbers: 'large' is not a number"),
        ({"day": "soon"}, ValueError, "column 'day' has dates, month first: 'soon' is not a date"),
        ({"day": 3}, TypeError, "column 'day' has dates, month first: 3 is not a date"),
        ({"c": 5}, TypeError, "column 'c' has strings: 5 is not a string"),
        ({"a": 1e9, "b": math.inf}, ValueError, "column 'b' has numbers: inf is not a finite number"),
        ({"a": datetime.date(2024, 2, 29)}, TypeError, "column 'a' has numbers: .* is not a finite number"),
        ({"A": "1"}, ValueError, "'A' is no column of the file .* these are a, b, c, day"),
    ],
)
def test_rows_that_do_not_fit_the_schema(schema, row, error, message):
    model = of_table(schema)
    model.learn_one({"a": "1", "c": "x"}, "no")
    before = checkpoint.dumps(model)
    for call in (model.predict_one, model.predict_proba_one, lambda x: model.learn_one(x, "yes")):
        with pytest.raises(error, match=message):
            call(row)
    for y, what in (("maybe", "the labels are no and yes"), ("", "is missing"), (True, "the labels are strings")):
        with pytest.raises(ValueError, match=what):
            model.learn_one({"a": "1"}, y)
    assert checkpoint.dumps(model) == before


def test_regressors_of_a_table(tmp_path):
    rows = [[i / 7, i / 3] for i in range(60)]
    schema = dataclasses.asdict(read(written(tmp_path, ["x", "y"], rows)).schema)
    model = TableRegressor(preprocessing.TargetStandardScaler(river_okl.BPARegressor()), schema)
    for x, y in rows:
        model.learn_one({"x": str(x)}, str(y))
    assert math.isfinite(model.predict_one({"x": 3.0}))
    again = checkpoint.loads(checkpoint.dumps(model))
    assert again.predict_one({"x": "3"}) == model.predict_one({"x": 3.0})
    with pytest.raises(ValueError, match="the target 'y' is inf: a regression needs finite numbers"):
        model.learn_one({"x": 3.0}, math.inf)
    with pytest.raises(AttributeError, match="predict_interval_one"):
        model.predict_interval_one({"x": 3.0})
    model = TableRegressor(river_okl.Dates() | river_okl.OKLRegressor(), schema)
    model.learn_one({"x": "3"}, "1", key=5)
    low, high = model.predict_interval_one({"x": 3.0}, 0.5, key=6)
    assert low < 1.0 < high


def test_labels_that_are_numbers(tmp_path):
    for n, task in ((2, files.BINARY), (3, files.MULTICLASS)):
        rows = [[i % 7, i % n + 1] for i in range(60)]
        schema = read(written(tmp_path, ["x", "y"], rows)).schema
        model = of_table(schema, Numeric() | river_okl.RBPClassifier(seed=1))
        for x, y in rows:
            model.learn_one({"x": str(x)}, str(y) if x % 2 else y)
        assert schema.task == task
        for y in ("7", 7) if n == 2 else ():
            with pytest.raises(ValueError, match="the labels are 1 and 2"):
                model.learn_one({"x": 3}, y)
        assert model.predict_one({"x": 3}) in range(1, n + 1) and type(model.predict_one({"x": 3})) is int
        assert model.predict_proba_one({"x": 3}).keys() == set(range(1, n + 1))


def test_the_users_gaps_are_gaps_as_numbers_too(tmp_path):
    rows = [[-999 if i % 5 == 0 else i % 7, i % 2] for i in range(60)]
    schema = read(written(tmp_path, ["x", "y"], rows), na=("-999",)).schema
    assert schema.sample({"x": -999}) == schema.sample({"x": "-999"}) == schema.sample({"x": math.nan}) == {}
    assert schema.target_of(-999) is schema.target_of("-999") is None


def test_labels_that_are_strings_are_no_numbers(tmp_path):
    schema = read(written(tmp_path, ["x", "y"], [[i, i % 3] for i in range(60)]), strings=("y",)).schema
    assert schema.labels == ("0", "1", "2") and schema.target_of("1") == "1"
    with pytest.raises(ValueError, match="the labels are strings"):
        schema.target_of(1)


def test_new_labels_of_a_known_file_are_mentioned(tmp_path):
    schema = read(written(tmp_path, ["x", "y"], [[i, "abc"[i % 3]] for i in range(60)])).schema
    stream = known(tmp_path, "x,y\n1,B\n2,a\n3,\n", schema)
    assert stream.warnings == ("labels that the model does not know are learned: B",)
    assert stream.schema.labels == ("a", "b", "c", "B")
    assert known(tmp_path, "x,y\n1,B\n", stream.schema).warnings == ()
    schema = Schema("libsvm", {}, "label", files.MULTICLASS, (1, 2, 3))
    assert known(tmp_path, "4 1:2\n1 1:3\n", schema).schema.labels == (1, 2, 3, 4)


def test_river_checks_of_numeric():
    for check in checks.yield_checks(Numeric()):
        check(Numeric())


def test_numeric_in_a_pipeline_of_river():
    model, noon = Numeric() | linear_model.LogisticRegression(), datetime.datetime(2024, 2, 29, 12)
    for i in range(50):
        model.learn_one({"a": float(i), "c": "xy"[i % 2], "t": noon, "g": None}, bool(i % 2))
    assert model.predict_one({"a": 25.0, "c": "y", "t": noon}) is True
    assert model["Numeric"].transform_one({"c": "x"}) == {"c=x": 1.0}
    before = dict(model["Numeric"].scaler.means)
    for value in ([1], math.inf, 10**400):
        with pytest.raises((TypeError, ValueError), match="feature 'b' is"):
            model.learn_one({"a": 1e9, "b": value}, True)
    assert model["Numeric"].scaler.means == before


def test_merged_numeric():
    start = Numeric() | river_okl.RBPClassifier(budget=10, seed=1)
    shards = [copy.deepcopy(start) for _ in range(2)]
    for i in range(60):
        shards[i % 2].learn_one({"a": float(i), "c": "xy"[i % 2]}, i > 30)
    merged = river_okl.merge(shards, start=start)
    assert merged["Numeric"].scaler.counts["a"] == 60
    assert merged["Numeric"].scaler.means["a"] == pytest.approx(29.5)


def test_rows_of_the_csv_module(schema):
    """As a user has them: every value a text."""
    model, rows = of_table(schema), [dict(zip(HEADER, row, strict=True)) for row in rows_of(1500, seed=3)]
    for row in rows:
        model.learn_one(row, row["label"])
    assert sum(model.predict_one(row) == row["label"] for row in rows) > 0.95 * len(rows)
