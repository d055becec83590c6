"""Files as streams: tables by DuckDB, libsvm, schemas, and models that keep the schema of their file."""

from __future__ import annotations

import bz2
import copy
import dataclasses
import datetime
import gzip
import io
import lzma
import math
import pickle
import random
import re
import sys

import numpy as np
import pytest
from river import checks, linear_model, preprocessing

import river_okl
from river_okl import checkpoint
from river_okl.checks import UsageError
from river_okl.files import stream as files
from river_okl.files.models import BINARY, MULTICLASS, REGRESSION, Numeric, Schema, TableClassifier, TableRegressor

duckdb = pytest.importorskip("duckdb")
HEADER = ["a", "b", "c", "day", "label"]
NUMBER, STRING = "DOUBLE", "VARCHAR"


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


def read(path, **options):
    return files.read_file(path, files.Reading(**options))


def of_text(tmp_path, text, **options):
    """The stream of a file with this text, and its samples, which are the same again."""
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    stream = read(str(path), **options)
    samples = list(stream.samples)
    assert samples == list(stream.samples) and len(samples) == stream.size
    return stream, samples


# Types ----------------------------------------------------------------------------------------------------------------


def test_types_and_samples_of_a_file(tmp_path):
    """Numbers, strings, dates and times of day; gaps are left out; labels are those of the file."""
    text = "n,i,s,b,d,t,clock,y\n1.5,1,red,yes,2024-01-02,2024-01-02 10:30:00,12:30,no\n,2,,no,,,,yes\nnan,,x,,,,,no\n"
    stream, samples = of_text(tmp_path, text)
    first = {"n": 1.5, "i": 1.0, "s": "red", "b": "yes", "d": datetime.date(2024, 1, 2)}
    first |= {"t": datetime.datetime(2024, 1, 2, 10, 30), "clock": "12:30"}
    assert samples == [(first, False), ({"i": 2.0, "b": "no"}, True), ({"s": "x"}, False)]
    assert type(samples[0][0]["i"]) is float and type(samples[0][0]["d"]) is datetime.date
    assert stream.task == BINARY and stream.binary == ("no", "yes")
    kinds = "numeric columns: 2, string columns: 3; date columns: 2; missing values: 3"
    assert stream.note.startswith(f"target y (no, yes); {kinds}")
    assert stream.schema.columns == {
        **{"n": NUMBER, "i": NUMBER, "s": STRING, "b": STRING, "d": "DATE", "t": "TIMESTAMP", "clock": STRING}
    }


@pytest.mark.parametrize("end", ["parquet", "json", "jsonl", "csv.gz", "csv.zst", "tsv"])
def test_formats(tmp_path, end):
    path = str(tmp_path / f"a.{end}")
    columns = "i / 2 AS x, i % 3 = 0 AS flag, DATE '2024-01-01' + i::INT AS day, 'ab'[i % 2 + 1] AS y"
    options = {"json": "(ARRAY true)", "tsv": "(FORMAT csv, DELIMITER '\t')"}.get(end, "")
    duckdb.sql(f"COPY (SELECT {columns} FROM range(60) t(i)) TO '{path}' {options}")
    stream = read(path)
    samples = list(stream.samples)
    assert samples[3] == ({"x": 1.5, "flag": "true", "day": datetime.date(2024, 1, 4)}, True)
    assert len(samples) == stream.size == 60 and stream.schema.columns["x"] == NUMBER
    with pytest.raises(UsageError, match="no column 'z', which the model"):
        files.read_file(path, schema=dataclasses.replace(stream.schema, columns={"z": NUMBER}))
    again = files.read_file(path, schema=stream.schema)
    assert list(again.samples) == samples


def test_several_files_are_one_stream(tmp_path):
    for i in range(3):
        (tmp_path / f"part-{i}.csv").write_text(f"x,y\n{i},0\n{i},1\n")
    (tmp_path / "part-1.csv").write_text("x,y\n1.5,0\n1,1\n")
    (tmp_path / "odd[1].csv").write_text("x,y\n7,0\n8,1\n")
    assert [x["x"] for x, _ in read(str(tmp_path / "part-*.csv")).samples] == [0, 0, 1.5, 1, 2, 2]
    assert [x["x"] for x, _ in read(str(tmp_path / "odd[1].csv")).samples] == [7, 8]
    (tmp_path / "part-3.csv").write_text("z,y\n1,0\n1,1\n")
    with pytest.raises(UsageError, match=r"part-3\.csv has the columns z, y, other files x, y"):
        read(str(tmp_path / "part-*.csv"))


def test_a_file_without_values_in_a_column_does_not_decide_its_type(tmp_path):
    for i, cells in enumerate(((",,0", ",,1"), ("1.5,2024-01-02,0", "2,2024-01-03,1"))):
        (tmp_path / f"part-{i}.csv").write_text("\n".join(["x,t,y", *cells]) + "\n")
    assert read(str(tmp_path / "part-*.csv")).schema.columns == {"x": NUMBER, "t": "DATE"}
    (tmp_path / "part-2.csv").write_text("x,t,y\nred,,0\n2,,1\n")
    assert read(str(tmp_path / "part-*.csv")).schema.columns["x"] == STRING


@pytest.mark.parametrize("order", [1, -1])
def test_files_of_another_layout_are_one_stream(tmp_path, order):
    """Whose lines end otherwise, or whose values are quoted only where they must be."""
    rows = ["x,y", '"a, b",0', '"c",1'], ["x,y", "c,1", "d,0"]
    for i, (lines, end) in enumerate(zip(rows[::order], ("\r\n", "\n"), strict=True)):
        (tmp_path / f"part-{i}.csv").write_bytes((end.join(lines) + end).encode())
    found = [(x["x"], y) for x, y in read(str(tmp_path / "part-*.csv")).samples]
    parts = [("a, b", False), ("c", True)], [("c", True), ("d", False)]
    assert found == [*parts[::order][0], *parts[::order][1]]


@pytest.mark.parametrize("separator", ";\t|,")
def test_separators(tmp_path, separator):
    rows = [["fixed acidity", "place, year", "quality"], ["7.4", '"a, 1"', "5"], ["7.8", "b", "6"], ["11.2", "c", "5"]]
    rows[0][1] = '"place, year"'
    stream, samples = of_text(tmp_path, "\n".join(map(separator.join, rows)))
    assert samples[0] == ({"fixed acidity": 7.4, "place, year": "a, 1"}, False)
    assert stream.note == "target quality (5, 6); numeric columns: 1, string columns: 1"


def test_a_file_without_a_header(tmp_path):
    stream, samples = of_text(tmp_path, "5.1,3.5,setosa\n4.9,,setosa\n7,3.2,versicolor\n")
    assert stream.note.startswith("no header; target column2 (setosa, versicolor)")
    assert samples[1] == ({"column0": 4.9}, False)
    new = tmp_path / "new.csv"
    new.write_text("7.5,2\n")
    assert list(files.read_file(str(new), schema=stream.schema).samples) == [({"column0": 7.5, "column1": 2.0}, None)]
    new.write_text("7.5\n")
    with pytest.raises(UsageError, match="has no column 'column1'"):
        files.read_file(str(new), schema=stream.schema)


# The notation of a file -----------------------------------------------------------------------------------------------


def test_dates(tmp_path):
    """With the day first, unless a date says otherwise or the user does; the note tells."""
    day = lambda text, **options: of_text(tmp_path, f"t,y\n{text},1\n5/6/2013,2\n", **options)  # noqa: E731
    stream, samples = day("4/6/2013")
    assert samples[0][0]["t"] == datetime.date(2013, 6, 4) and stream.note.endswith("; dates are %d/%m/%Y")
    assert day("4/13/2013")[1][0][0]["t"] == datetime.date(2013, 4, 13)
    stream, samples = day("4/6/2013", date_format="%m/%d/%Y")
    assert samples[0][0]["t"] == datetime.date(2013, 4, 6)
    new = tmp_path / "new.csv"
    new.write_text("t\n4/6/2013\n")
    known = files.read_file(str(new), schema=stream.schema)
    assert list(known.samples) == [({"t": datetime.date(2013, 4, 6)}, None)], "as in the other file"
    assert stream.schema.sample({"t": "4/6/2013"}) == {"t": datetime.date(2013, 4, 6)}
    assert stream.schema.sample({"t": datetime.date(2013, 6, 4)}) == {"t": datetime.date(2013, 6, 4)}
    zone = of_text(tmp_path, "t,y\n2024-01-01T10:00:00+02:00,1\n2024-01-01T10:00:00Z,2\n")[1]
    assert [x["t"].astimezone(datetime.UTC).hour for x, _ in zone] == [8, 10]


def test_the_day_comes_first_with_two_digits_too(tmp_path):
    for text, more, format in (
        *(("28/12/24", "27/12/24", "%d/%m/%y"), ("12/28/24", "12/27/24", "%m/%d/%y"), ("4-6-13", "5-6-13", "%d-%m-%y")),
        ("24/03/05", "24/03/06", "%y/%m/%d"),  # of one year rather than one day
    ):
        stream, samples = of_text(tmp_path, f"t,y\n{text},1\n{more},2\n")
        assert stream.note.endswith(f"; dates are {format}"), text
        assert samples[0][0]["t"] == datetime.datetime.strptime(text, format).date()


def test_times_in_other_formats_need_one(tmp_path):
    for text, format in (
        *(("05.03.2024 13:05", "%d.%m.%Y %H:%M"), ("3/15/2024 1:05 PM", "%m/%d/%Y %I:%M %p")),
        *(("15-03-2024 13:05", "%d-%m-%Y %H:%M"), ("13/2/24 10:30", "%d/%m/%y %H:%M")),
    ):
        rows = f"t,y\n{text},1\n{text},2\n"
        with pytest.raises(
            UsageError, match=f"'t' has dates such as '{text}': --date-format '{format}', or --string t$"
        ):
            of_text(tmp_path, rows)
        stream, samples = of_text(tmp_path, rows, date_format=format)
        when = datetime.datetime.strptime(text, format)
        assert samples[0][0] == {"t": when} == stream.schema.sample({"t": text})
    for texts in (("1-1-2024 1:05 X", "2-2-2024 1:05 X"), ("2024-01-02 10:00:00 CET", "2024-01-02 11:00:00 oops")):
        columns = of_text(tmp_path, "t,y\n" + "".join(f"{text},{i}\n" for i, text in enumerate(texts)))[
            0
        ].schema.columns
        assert columns == {"t": STRING}, "nothing of the text is lost"
    rows = [[f"{i % 12 + 1}/{i % 28 + 1}/2024" if i != 50 else "unknown", i % 2] for i in range(200)]
    path = written(tmp_path, ["t", "y"], rows)
    with pytest.raises(UsageError, match=r"'t' has dates such as '1/1/2024': --date-format %m/%d/%Y, or --string t$"):
        read(path)
    with pytest.raises(
        UsageError, match="'t' has dates, except for 'unknown' in line 52: if it is a gap, --na unknown"
    ):
        read(path, date_format="%m/%d/%Y")
    assert read(path, date_format="%m/%d/%Y", na=("unknown",)).schema.columns == {"t": "DATE"}
    rows = [[f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}", f"{i % 28 + 1}.{i % 12 + 1}.2024", i % 2] for i in range(200)]
    with pytest.raises(UsageError, match=r"'d' has dates such as '1\.1\.2024': --date-format %d\.%m\.%Y, or"):
        read(written(tmp_path, ["t", "d", "y"], rows))
    stream = read(written(tmp_path, ["t", "d", "y"], rows), date_format="%d.%m.%Y")
    assert list(stream.samples)[30][0] == {"t": datetime.datetime(2024, 7, 3), "d": datetime.date(2024, 7, 3)}


def test_dates_with_and_without_a_time(tmp_path):
    stream, samples = of_text(tmp_path, "d,t,y\n2024-01-02,5/3/2024 13:05:00,1\n2024-01-03,6/3/2024 13:05:00,2\n")
    assert stream.schema.columns == {"d": "DATE", "t": "TIMESTAMP"} and samples[0][0]["t"].day == 5
    assert stream.schema.sample({"d": "2024-01-02", "t": "5/3/2024 13:05:00"}) == samples[0][0]
    stream, samples = of_text(tmp_path, "t,y\n2024-01-02,1\n2024-01-02 10:30:00,2\n")
    assert [x["t"] for x, _ in samples] == [datetime.datetime(2024, 1, 2), datetime.datetime(2024, 1, 2, 10, 30)]
    assert stream.schema.sample({"t": "2024-01-02"}) == samples[0][0]


@pytest.mark.parametrize("zone", ["+05:00", "+05", "Z"])
def test_rows_as_text_have_the_hours_of_the_file(tmp_path, zone):
    """Which is in UTC."""
    texts = [f"2024-01-{day:02} {hour:02}:30:00{zone}" for day, hour in ((2, 3), (4, 23))]
    stream, samples = of_text(tmp_path, "t,y\n" + "".join(f"{text},{i}\n" for i, text in enumerate(texts)))
    encode = river_okl.Dates().transform_one
    for text, (x, _) in zip(texts, samples, strict=True):
        as_value = {"t": datetime.datetime.fromisoformat(text)}
        assert encode(stream.schema.sample({"t": text})) == encode(stream.schema.sample(as_value)) == encode(x)
    for texts, format in (
        *(([" 2024-01-02", "2024-01-03 "], None), (["2024/01/02 10:00", "2024-1-2 1:00"], None)),
        (["28.12.2024 10:30 ", "27.12.2024 10:35"], "%d.%m.%Y %H:%M"),
    ):
        text = "t,y\n" + "".join(f"{each},{i}\n" for i, each in enumerate(texts))
        stream, samples = of_text(tmp_path, text, date_format=format)
        assert [stream.schema.sample({"t": each}) for each in texts] == [x for x, _ in samples]
        day = np.datetime64(samples[0][0]["t"], "ns")
        assert encode(stream.schema.sample({"t": day})) == encode(samples[0][0])
    last = datetime.datetime.max.replace(tzinfo=datetime.timezone(-datetime.timedelta(hours=5)))
    assert stream.schema.sample({"t": last}) == {"t": last}, "which is not in UTC's years"
    dates = of_text(tmp_path, "t,y\n2024-01-02,1\n2024-01-03,2\n")[0].schema
    assert dates.sample({"t": datetime.datetime(2024, 1, 2, 5)}) == {"t": datetime.date(2024, 1, 2)}


def test_german_files(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("größe;y\n1,5;ä\n2,25;b\n".encode("cp1252"))
    with pytest.raises(UsageError, match=r"(?s)not utf-8 encoded.*encoding="):
        read(str(path))
    with pytest.raises(UsageError, match="column 'größe' has numbers with commas: --decimal ',' if"):
        read(str(path), encoding="cp1252")
    for encoding in ("cp1252", "latin-1"):
        stream = read(str(path), encoding=encoding, decimal=",")
        assert [x["größe"] for x, _ in stream.samples] == [1.5, 2.25] and stream.binary == ("b", "ä")
    for separator in ";\t|":
        rows = [separator.join(row) for row in (("a", "b", "y"), ("1,5", "2,5", "3,5"), ("2,5", "+3,5", "4,5"))]
        assert of_text(tmp_path, "\n".join(rows), decimal=",")[1][1] == ({"a": 2.5, "b": 3.5}, 4.5)
    assert of_text(tmp_path, 'a,y\n"1,5",1\n"2,5",2\n', decimal=",")[1][0] == ({"a": 1.5}, False)
    assert of_text(tmp_path, 'g,x,y\na|b,"1,5",1\nc|d,"2,5",2\n', decimal=",")[1][0] == ({"g": "a|b", "x": 1.5}, False)
    path.write_bytes("größe;y\n1;a\n2;b\n".encode("utf-16"))
    assert [x["größe"] for x, _ in read(str(path), encoding="utf-16").samples] == [1.0, 2.0]
    with pytest.raises(UsageError, match="--encoding utf-7000: no such encoding"):
        read(str(path), encoding="utf-7000")
    path.write_bytes(b"a,y\n1,\x81\n")
    with pytest.raises(UsageError, match="is not in cp1252"):
        read(str(path), encoding="cp1252")


PACKS = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize(
    "text", ["a;b\n" + "1;0\n2;1\n" * 30, "0 1:1\n1 1:2\n" * 30, '[{"a": 1, "b": 0}, {"a": 2, "b": 1}]']
)
@pytest.mark.parametrize("pack", PACKS)
def test_standard_input(tmp_path, monkeypatch, pack, text):
    """Compressed or not; a compressed file is known by its first bytes, whatever its name."""
    packed = PACKS[pack](text.encode())
    (tmp_path / "data").write_bytes(packed)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    if pack == "gz" and text.startswith("["):
        return  # of JSON DuckDB goes by the name
    stream = read("-")
    assert stream.name == "standard input" and list(stream.samples) == list(read(str(tmp_path / "data")).samples)
    assert [y for _, y in stream.samples][:2] == [False, True]


# One bad cell ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("column", "kind"), [("a", "numbers"), ("day", "dates")])
def test_a_column_of_numbers_or_dates_with_a_few_strings_is_an_error(tmp_path, column, kind):
    rows, i = [[*row[:3], f"2013-01-{n % 28 + 1:02}", row[4]] for n, row in enumerate(rows_of())], HEADER.index(column)
    for at, cell in ((1500, "missing"), (1700, "missing"), (1800, "oops")):
        rows[at][i] = cell
    path = written(tmp_path, HEADER, rows)
    with pytest.raises(UsageError) as error:
        read(path)
    advice = f"if it is a gap, --na missing, or --string {column}"
    exceptions = f"except for 'missing' in line 1502 and 2 more: {advice}"
    assert str(error.value) == f"{path}, column {column!r} has {kind}, {exceptions}"
    stream = read(path, na=("missing", "oops"))
    assert stream.schema.columns[column] != STRING and len(list(stream.samples)) == 3000
    assert read(path, strings=(column,)).schema.columns[column] == STRING


def test_a_bad_cell_of_a_parquet_file_has_a_row(tmp_path):
    path = str(tmp_path / "a.parquet")
    duckdb.sql(f"COPY (SELECT if(i = 7, 'oops', i::VARCHAR) AS x, i % 2 AS y FROM range(60) t(i)) TO '{path}'")
    with pytest.raises(UsageError, match=r"column 'x' has numbers, except for 'oops' in row 8: --string x$"):
        read(path)
    with pytest.raises(UsageError, match="is no CSV file: --decimal and --date-format are for CSV files"):
        read(path, decimal=",")


def test_gaps_of_a_parquet_file(tmp_path):
    path = str(tmp_path / "a.parquet")
    cells = "if(i % 5 = 0, -999, i) AS x, if(i % 2 = 0, 'NA', 'b') AS s, i % 2 AS y"
    duckdb.sql(f"COPY (SELECT {cells} FROM range(60) t(i)) TO '{path}'")
    stream = read(path, na=("-999", "NA"))
    samples = list(stream.samples)
    assert [x for x, _ in samples[:4]] == [{}, {"x": 1.0, "s": "b"}, {"x": 2.0}, {"x": 3.0, "s": "b"}]
    assert list(files.read_file(path, schema=stream.schema).samples) == samples
    assert stream.schema.sample({"x": -999, "s": "NA"}) == {}


def test_a_target_of_numbers_with_a_few_strings_is_an_error(tmp_path):
    rows = [[i, i / 7] for i in range(100)]
    rows[40][1] = "oops"
    path = written(tmp_path, ["x", "y"], rows)
    with pytest.raises(UsageError, match=r"'y' has numbers, except for 'oops' in line 42: .* --na oops"):
        read(path)
    stream = read(path, na=("oops",))
    assert stream.task == REGRESSION and stream.size == 99
    assert read(path, strings=("y",)).task == MULTICLASS


def test_a_column_of_text_with_some_numbers_is_text(tmp_path):
    rows = [[str(i % 50) if i % 3 else f"A {i % 50}", f"{i % 7:02}", i % 2] for i in range(300)]
    assert read(written(tmp_path, ["ticket", "code", "y"], rows)).schema.columns == {"ticket": STRING, "code": STRING}


def test_numbers_with_blanks_and_plus_signs_are_numbers(tmp_path):
    stream, samples = of_text(tmp_path, "a,b,code,y\n0.5 ,+1.5,007,0.86 \n 2,-3e2,012,1\n")
    assert samples[0] == ({"a": 0.5, "b": 1.5, "code": "007"}, 0.86) and stream.task == REGRESSION
    assert stream.schema.sample({"a": "0.5 ", "b": "+1.5", "code": "007"}) == samples[0][0]
    assert of_text(tmp_path, "x,y\n1,+1\n2,-1\n")[0].binary == (-1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n" + "1,2\n" * 5000 + "5,6,7\n" + "1,2\n" * 50, r"Line: 5002.*Expected Number of Columns: 2 Found: 3"),
        ("a,b\n" + "1,2\n" * 40000 + "5\n", r"Line: 40002.*Expected Number of Columns: 2 Found: 1"),
        ("a,b\n1,2\n2,1,4\n3,4\n", "has no column besides the target 'a,b'"),
        ("", "has no rows|has no column besides"),
        ("a,b\n", "has no rows"),
        ("a,b\n1,\n2,\n", "the target 'b' is missing in every row"),
        ("a,b\n1,2\n2,\n", "the target 'b' is 2 in every row"),
        ("a,b\n" + "0x01,2\n0x02,3\n" * 9, r'Could not convert string "0x01" to .DOUBLE.: --string a$'),
        ('a,b\n"?, no",2\n' + "1,2\n2,3\n" * 9, r"except for '\?, no' in line 2: --string a$"),
        ("a,b\n1,2024-01-01\n2,2024-01-02\n", "the target 'b' is a date: choose another --target, or --string b"),
    ],
)
def test_files_that_are_rejected(tmp_path, text, message):
    """With DuckDB's own errors, without our query."""
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=f"(?s){message}") as error:
        read(str(path))
    assert "SELECT" not in str(error.value) and str(path) in str(error.value)


def test_skipped_lines_are_mentioned(tmp_path):
    text = "Report of 2024\n\na,b\n" + "".join(f"{i},{i % 2}\n" for i in range(60))
    stream, samples = of_text(tmp_path, text)
    assert len(samples) == 60 and stream.warnings[0].startswith("the first 2 lines are skipped")


def test_a_file_that_is_damaged(tmp_path):
    path = tmp_path / "a.csv"
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        path.write_bytes(pack(b"".join(b"%d,%d\n" % (i * i, i % 2) for i in range(9000)))[:-2000])
        with pytest.raises(UsageError, match=re.escape(str(path))):
            read(str(path))


# The target -----------------------------------------------------------------------------------------------------------


def test_the_task_follows_from_the_target(tmp_path):
    rows = "".join(f"{i},{i % 2},{i % 3},{i / 7},{'abc'[i % 3]}\n" for i in range(30))
    path = tmp_path / "a.csv"
    path.write_text("many,two,three,fraction,letter\n" + rows)
    for target, task, last in (
        *(("many", REGRESSION, 29.0), ("fraction", REGRESSION, 29 / 7), ("two", BINARY, True)),
        *(("three", MULTICLASS, 2), ("letter", MULTICLASS, "c")),
    ):
        stream = read(str(path), target=target)
        samples = list(stream.samples)
        assert stream.task == task and target not in samples[0][0] and len(samples[0][0]) == 4
        assert samples[-1][1] == last and type(samples[-1][1]) is type(last)
    assert {type(y) for _, y in read(str(path), target="two", task="regression").samples} == {float}
    assert read(str(path), target="many", task="classification").task == MULTICLASS
    with pytest.raises(UsageError, match="a number with a fraction: use --task regression"):
        read(str(path), target="fraction", task="classification")
    with pytest.raises(UsageError, match="'a': a regression needs numbers"):
        read(str(path), target="letter", task="regression")


def test_labels_of_any_size_and_spelling(tmp_path):
    assert of_text(tmp_path, "x,y\n1,12345678901234567\n2,12345678901234568\n")[0].binary == (
        12345678901234567,
        12345678901234568,
    )
    stream, samples = of_text(tmp_path, "x,y\n" + "1,12345678901234567\n2,12345678901234568\n" * 2)
    assert list(files.read_file(str(tmp_path / "a.csv"), schema=stream.schema).samples) == samples
    assert [stream.schema.target_of(y) for y in ("12345678901234567", 12345678901234568)] == [False, True]
    assert of_text(tmp_path, "x,y\n1,01\n2,02\n")[0].binary == ("01", "02")
    assert of_text(tmp_path, "x,y\n1,1.0\n2,2.0\n")[0].binary == (1, 2)
    stream = of_text(tmp_path, "x,y\n" + "".join(f"{i % 9},user {i % 1500}\n" for i in range(2000)))[0]
    assert stream.warnings[0].startswith("the target 'y' has more than 1,000 labels")


def test_rows_without_a_target_are_skipped_and_counted(tmp_path):
    stream, samples = of_text(tmp_path, "a,y\n1,2\n2,\n3,NaN\n5,3\n6,-\n", na=("-",))
    assert samples == [({"a": 1.0}, False), ({"a": 5.0}, True)]
    assert stream.note.endswith("; rows without a target, skipped: 3")


# libsvm ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", PACKS)
def test_libsvm(tmp_path, pack):
    path = tmp_path / "a"
    path.write_bytes(PACKS[pack](b"-1 3:0.5 7:2 # comment\n\n+1 1:1e-3\n1.0 2:1\n-1\n"))
    stream = read(str(path))
    assert stream.task == BINARY and not stream.scaled and stream.size == 4
    assert list(stream.samples) == [({3: 0.5, 7: 2.0}, False), ({1: 1e-3}, True), ({2: 1.0}, True), ({}, False)]
    with pytest.raises(
        UsageError, match="is a libsvm file, with the target first in each line; --target is for tables"
    ):
        read(str(path), target="a")
    path.write_bytes(b"1 1:5 2:0\n-1 1:7 2:1e6\n")
    assert read(str(path)).scaled, "as no zeros are left out"
    assert read(str(path), task="regression").task == REGRESSION


@pytest.mark.parametrize("text", ["5\t12:30\n7\t12:05\n", "1|2024-01-01 10:00|0\n2|2024-01-01 10:00|1\n", "1,2\n3,4\n"])
def test_files_that_only_look_like_libsvm(tmp_path, text):
    path = tmp_path / "a"
    path.write_text(text)
    assert read(str(path)).schema.format == "table"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2\nx 1:2\n", "line 2: the label 'x' is not a number"),
        ("1 1:2\ninf 1:2\n", "line 2: the label 'inf' is not finite"),
        ("-1\n1 1:2\n0 1:x\n", "line 3: '1:x' is not a feature, a colon and a number"),
        ("1 1:2\n0 1:inf\n", "line 2: the value of feature 1 is inf"),
        ("1 1:2\n0 1:2 1:3\n", "line 2: a feature is given twice"),
        ("1 1:2\n1 1:3\n", "the target is 1 in every row"),
    ],
)
def test_bad_libsvm(tmp_path, text, message):
    path = tmp_path / "a"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read(str(path))


def test_a_line_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST", 10_000)
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(b"1 1:1\n" + b"1 " + b"2:1 " * 10_000))
    with pytest.raises(UsageError, match="line 2: more than 10,000 characters"):
        read(str(path))


# Schemas --------------------------------------------------------------------------------------------------------------


def known(tmp_path, text, schema):
    path = tmp_path / "new.csv"
    path.write_text(text)
    return files.read_file(str(path), schema=schema)


@pytest.fixture
def schema(tmp_path):
    path = written(tmp_path, [*HEADER, "id"], [[*row, i] for i, row in enumerate(rows_of(50))])
    return read(path, target="label", drop=("id",), na=("n.a.",)).schema


def test_a_file_is_read_with_the_schema_of_another(tmp_path, schema):
    assert schema.columns == {"a": NUMBER, "b": NUMBER, "c": STRING, "day": "DATE"}
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
        (
            "A1,b,c,day\n1,2,x,4/6/2013\n",
            "no column 'a', which the model was trained on; its columns are A1, b, c, day",
        ),
        ("c,day\nx,4/6/2013\n", "has no column 'a', nor 1 more"),
        ("a,b,c,day\n1,2,x,4/6/2013\nx,2,x,4/6/2013\n", "Line: 3.*Could not convert string \"x\" to 'DOUBLE'"),
        ("a,b,c,day\n1,2,x,soon\n", "Line: 2.*'soon'|soon"),
        ("a,b,c,day\n1,2,x,13/6/2013\n", "13/6/2013"),
        ("a,b,c,day,label\n1,2,x,4/6/2013,maybe\n", "the target 'label' is 'maybe': the labels are no and yes"),
        ("a,b,c,day\n", "has no rows"),
        ("1 1:2 2:3\n", "is a libsvm file, unlike that of the model"),
    ],
)
def test_a_file_that_does_not_fit_a_schema(tmp_path, schema, text, message):
    with pytest.raises(UsageError, match=f"(?s){message}"):
        known(tmp_path, text, schema)


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
    for other in (pickle.loads(pickle.dumps(text)), checkpoint.loads(checkpoint.dumps(text))):
        assert other.predict_proba_one(x) == text.predict_proba_one(x) and other.schema == text.schema
    assert text.clone().predict_one(x) is None


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ({"a": "large"}, ValueError, "column 'a' has the type DOUBLE: 'large' is not a number"),
        ({"day": "soon"}, ValueError, "column 'day' has the type DATE: 'soon' is not a date"),
        ({"day": 3}, ValueError, "column 'day' has the type DATE: 3 is not a date"),
        ({"c": 5}, ValueError, "column 'c' has the type VARCHAR: 5 is not a string"),
        ({"a": 1e9, "b": math.inf}, ValueError, "column 'b' has the type DOUBLE: inf is not a finite number"),
        ({"a": datetime.date(2024, 2, 29)}, TypeError, "column 'a' has the type DOUBLE: .* is not a finite number"),
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
    with pytest.raises(TypeError, match="has no intervals"):
        model.predict_interval_one({"x": 3.0})
    model = TableRegressor(river_okl.Dates() | river_okl.OKLRegressor(), schema)
    model.learn_one({"x": "3"}, "1", key=5)
    low, high = model.predict_interval_one({"x": 3.0}, 0.5, key=6)
    assert low < 1.0 < high


def test_labels_that_are_numbers(tmp_path):
    for n, task in ((2, BINARY), (3, MULTICLASS)):
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
    for gap, values in (
        ("999999", (999999.3, 999998.9, 5)),
        ("9999999", (9999999, 9999998, 1)),
        ("-9.50", (-9.5, -9.51)),
    ):
        rows = [[values[i % len(values)], i % 7] for i in range(60)]
        stream = read(written(tmp_path, ["x", "y"], rows), na=(gap,), target="y")
        kept = [{"x": value} if value != float(gap) else {} for value, _ in rows]
        assert [x for x, _ in stream.samples] == kept == [stream.schema.sample({"x": value}) for value, _ in rows]
        assert kept == [stream.schema.sample({"x": str(value)}) for value, _ in rows]


def test_new_labels_of_a_known_file_are_mentioned(tmp_path):
    schema = read(written(tmp_path, ["x", "y"], [[i, "abc"[i % 3]] for i in range(60)])).schema
    stream = known(tmp_path, "x,y\n1,B\n2,a\n3,\n", schema)
    assert stream.warnings == ("labels that the model does not know are learned: B",)
    assert stream.schema.labels == ("a", "b", "c", "B")
    assert known(tmp_path, "x,y\n1,B\n", stream.schema).warnings == ()
    schema = Schema("libsvm", {}, "label", MULTICLASS, (1, 2, 3))
    assert known(tmp_path, "4 1:2\n1 1:3\n", schema).schema.labels == (1, 2, 3, 4)


def test_a_feature_is_not_lost_to_the_name_of_another():
    assert Numeric(scale=False).transform_one({"a": "b", "a=c": 7.0}) == {"a=b": 1.0, "a=c": 7.0}
    for x in ({"a": "b", "a=b": 7.0}, {"a": "b=c", "a=b": "c"}):
        with pytest.raises(ValueError, match=r"is '.*': rename the other feature 'a=b"):
            Numeric(scale=False).transform_one(x)


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
