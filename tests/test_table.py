"""`datasets.Table`: files as streams."""

from __future__ import annotations

import copy
import datetime
import gzip
import pickle
import sys

import pytest
from river import evaluate, metrics

from river_okl import Dates, OKLClassifier, OKLRegressor, datasets

duckdb = pytest.importorskip("duckdb", reason="Table reads files with DuckDB")
BINARY, MULTICLASS, REGRESSION = "Binary classification", "Multi-class classification", "Regression"


@pytest.fixture
def table(tmp_path):
    """The table of a CSV file with a text, or with lists of cells."""

    def table(content, target="y", **options):
        path = tmp_path / "a.csv"
        path.write_text(content if isinstance(content, str) else lines(content), encoding="utf-8")
        return datasets.Table(path, target, **options)

    return table


@pytest.fixture
def complaint(table, tmp_path):
    """The error of such a table, without the path, with which it begins."""

    def complaint(content, target="y", **options):
        with pytest.raises(ValueError) as error:
            table(content, target, **options)
        path, text = str(tmp_path / "a.csv"), str(error.value)
        assert text.startswith(path) and "SELECT" not in text
        return text.removeprefix(path).removeprefix(": ").strip()

    return complaint


def lines(rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def features(table):
    return [x for x, _ in table]


def labels(table):
    return [y for _, y in table]


# Formats --------------------------------------------------------------------------------------------------------------

COLUMNS = (
    "i / 2 AS x, i % 3 = 0 AS flag, DATE '2024-01-01' + i::INT AS day, "
    "TIMESTAMP '2024-01-01 10:00:00' + to_hours(i::INT) AS time, if(i % 2 = 0, NULL, 'a') AS s, 'no' || i % 2 AS y"
)


@pytest.mark.parametrize("end", ["csv", "csv.gz", "tsv", "parquet", "json", "jsonl", "json.gz"])
def test_the_same_rows_in_any_format(tmp_path, end):
    path = tmp_path / f"a.{end}"
    options = {"json": "(ARRAY true)", "tsv": "(FORMAT csv, DELIMITER '\t')"}.get(end, "")
    duckdb.sql(f"COPY (SELECT {COLUMNS} FROM range(60) t(i)) TO '{path}' {options}")
    table = datasets.Table(path, "y")
    assert (table.task, table.n_samples, table.n_features, table.n_classes) == (BINARY, 60, 5, 2)
    rows = list(table)
    x = {"x": 1.5, "flag": 1.0, "day": datetime.date(2024, 1, 4), "time": datetime.datetime(2024, 1, 1, 13), "s": "a"}
    assert rows[3] == (x, "no1") and rows[0][0]["s"] is None
    assert [x["x"] for x, _ in rows] == [i / 2 for i in range(60)]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_detected(table, separator):
    rows = [["fixed acidity", '"place, year"', "y"], ["7.4", '"a, 1"', "5"], ["7.8", "b", "6"]]
    found = list(table("".join(separator.join(row) + "\n" for row in rows)))
    assert found == [
        ({"fixed acidity": 7.4, "place, year": "a, 1"}, 5),
        ({"fixed acidity": 7.8, "place, year": "b"}, 6),
    ]


def test_a_file_without_a_header_has_columns_by_number(table):
    found = list(table("5.1,3.5,setosa\n4.9,,setosa\n7,3.2,versicolor\n", "column2"))
    assert found[1] == ({"column0": 4.9, "column1": None}, "setosa")


@pytest.fixture
def parts(tmp_path):
    """Writes files part-00.csv, part-01.csv, ... with these rows under x,y."""

    def parts(*contents):
        for i, rows in enumerate(contents):
            (tmp_path / f"part-{i:02}.csv").write_text("x,y\n" + lines(rows))
        return tmp_path / "part-*.csv"

    return parts


def test_several_files_are_one_stream(parts, tmp_path):
    pattern = parts([[0, 0], [0.5, 1]], [[1, 0]], [[2, 1], [3, 0]])
    for path in (pattern, str(pattern)):
        table = datasets.Table(path, "y")
        assert [x["x"] for x in features(table)] == [0.0, 0.5, 1.0, 2.0, 3.0] and table.n_samples == 5
    chosen = datasets.Table((tmp_path / "part-02.csv", str(tmp_path / "part-00.csv")), "y")
    assert list(chosen) == [({"x": 2.0}, 1), ({"x": 3.0}, 0), ({"x": 0.0}, 0), ({"x": 0.5}, 1)]


@pytest.mark.parametrize("last", [[14.5, 1], [14, 0.5]])
def test_the_last_of_many_files_counts_for_the_types(parts, last):
    table = datasets.Table(parts(*([[i, i % 2]] for i in range(14)), [last]), "y")
    assert table.n_samples == 15 and list(table)[-1] == ({"x": last[0]}, last[1])


def test_a_file_whose_cells_are_all_empty_does_not_decide_the_type(parts):
    assert features(datasets.Table(parts([["", 0], ["", 1]], [[1.5, 0]]), "y")) == [{"x": None}] * 2 + [{"x": 1.5}]


def test_a_column_that_several_files_do_not_have_is_named(parts):
    with pytest.raises(ValueError, match="has no column 'z'; its columns are x, y"):
        datasets.Table(parts([[1, 0]], [[2, 1]]), "z")


def test_files_with_other_columns_are_an_error(parts, tmp_path):
    (tmp_path / "part-99.csv").write_text("z,y\n1,0\n")
    with pytest.raises(ValueError, match=r'part-99\.csv.*\n.*"x" is missing'):
        datasets.Table(parts([[1, 0], [2, 1]]), "y")


def test_all_rows_decide_on_the_types_of_a_json_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("\n".join(['{"x": 1, "y": 2}'] * 25_000 + ['{"x": 1.75, "y": 2.5}']))
    assert list(datasets.Table(path, "y"))[-1] == ({"x": 1.75}, 2.5)


def test_all_parquet_files_decide_on_names_and_types(tmp_path):
    for name, rows in ("a", "(1, 10), (2, 11)"), ("b", "(1.5, 15.49)"):
        duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) t(x, y)) TO '{tmp_path / name}.parquet'")
    duckdb.sql(f"COPY (SELECT 3 AS z, 7 AS y) TO '{tmp_path / 'c'}.parquet'")
    table = datasets.Table(tmp_path / "*.parquet", "y")
    assert table.task == REGRESSION and list(table)[2:] == [
        ({"x": 1.5, "z": None}, 15.49),
        ({"x": None, "z": 3.0}, 7.0),
    ]


def test_the_last_suffix_decides_how_a_file_is_read(tmp_path):
    path = tmp_path / "trips.json.csv"
    path.write_text("x,y\n1,0\n2,1\n")
    assert datasets.Table(path, "y").n_samples == 2


# Types ----------------------------------------------------------------------------------------------------------------


def test_types_of_columns(table):
    text = (
        "n,i,s,b,d,t,clock,y\n"
        "1.5,1,red,true,2024-01-02,2024-01-02 10:30:00,12:30:00,no\n"
        ",2,,false,,,,yes\n"
        "nan,,x,,,,,no\n"
    )
    rows = list(table(text))
    first = {"n": 1.5, "i": 1.0, "s": "red", "b": 1.0, "d": datetime.date(2024, 1, 2)}
    first |= {"t": datetime.datetime(2024, 1, 2, 10, 30), "clock": "12:30:00"}
    gaps = dict.fromkeys(first)
    assert [x for x, _ in rows] == [first, gaps | {"i": 2.0, "b": 0.0}, gaps | {"s": "x"}]
    kinds = {"n": float, "i": float, "s": str, "b": float, "d": datetime.date, "t": datetime.datetime, "clock": str}
    assert {name: type(value) for name, value in rows[0][0].items()} == kinds


def test_times_with_a_zone_keep_it(table):
    rows = features(table("t,y\n2024-01-01T10:00:00+02:00,1\n2024-01-01T10:00:00Z,2\n"))
    assert [x["t"] for x in rows] == [datetime.datetime(2024, 1, 1, hour, tzinfo=datetime.UTC) for hour in (8, 10)]


def test_types_of_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    cells = {
        "1.25::DECIMAL(5, 2)": 1.25,
        "7::UTINYINT": 7.0,
        "'nan'::FLOAT": None,
        "NULL::VARCHAR": None,
        "TIMESTAMP_NS '2024-01-01 10:00:00'": datetime.datetime(2024, 1, 1, 10),
        "TIME '10:00'": "10:00:00",
        "[1, 2]": "[1, 2]",
    }
    named = ", ".join(f"{cell} AS c{i}" for i, cell in enumerate(cells))
    duckdb.sql(f"COPY (SELECT {named}, i::DECIMAL(5, 2) AS y FROM range(2) t(i)) TO '{path}'")
    rows = list(datasets.Table(path, "y"))
    assert [*rows[0][0].values()] == [*cells.values()]
    assert [y for _, y in rows] == [0, 1] and type(rows[0][1]) is int


@pytest.mark.parametrize("end", ["parquet", "json"])
def test_strings_of_a_typed_file_are_strings(tmp_path, end):
    """Whatever they look like: such files say what is a number."""
    path = tmp_path / f"a.{end}"
    cells = "if(i = 7, 'none', (10000 + i)::VARCHAR) AS a, (10000 + i)::VARCHAR AS b, (i % 2)::VARCHAR AS y"
    duckdb.sql(f"COPY (SELECT {cells} FROM range(20) t(i)) TO '{path}'")
    rows = list(datasets.Table(path, "y"))
    assert rows[7] == ({"a": "none", "b": "10007"}, "1") and rows[8] == ({"a": "10008", "b": "10008"}, "0")


def test_values_of_several_types_in_json_are_texts(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"a": 1, "y": "b"}, {"a": "two", "y": 3}, {"y": "b"}, {"a": null, "y": null}]')
    assert list(datasets.Table(path, "y")) == [({"a": "1"}, "b"), ({"a": "two"}, "3"), ({"a": None}, "b")]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2", "1"], [1, 2, 1]),
        (["1.0", "2.0", "1"], [1, 2, 1]),
        (["true", "false", "true"], [True, False, True]),
        (["ham", "spam", "ham"], ["ham", "spam", "ham"]),
        (["12345678901234567", "12345678901234568", "-1"], [12345678901234567, 12345678901234568, -1]),
    ],
)
def test_labels_have_their_type(table, cells, expected):
    found = labels(table([["x", "y"], *([i, cell] for i, cell in enumerate(cells))]))
    assert found == expected and [*map(type, found)] == [*map(type, expected)]


# Task and sizes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "task", "n_classes"),
    [
        ([i % 2 for i in range(60)], BINARY, 2),
        (["ab"[i % 2] for i in range(60)], BINARY, 2),
        ([i % 3 for i in range(60)], MULTICLASS, 3),
        ([i % 20 for i in range(60)], MULTICLASS, 20),
        ([f"user {i}" for i in range(60)], MULTICLASS, 60),
        ([i % 21 for i in range(60)], REGRESSION, None),
        ([0.5 * (i % 2) for i in range(60)], REGRESSION, None),
    ],
    ids=["two numbers", "two texts", "three", "exactly 20", "many texts", "more than 20 numbers", "fractions"],
)
def test_the_task_follows_from_the_target(table, cells, task, n_classes):
    found = table([["x", "y"], *([i, cell] for i, cell in enumerate(cells))])
    assert (found.task, found.n_classes, found.n_samples, found.n_features) == (task, n_classes, 60, 1)
    assert labels(found) == cells and type(labels(found)[0]) is (float if task == REGRESSION else type(cells[0]))


def test_rows_without_a_target_are_not_samples(table):
    found = table("a,b,y\n1,1,2\n2,1,\n3,1,NaN\n5,1,3\n6,1,-\n", na="-")
    assert list(found) == [({"a": 1.0, "b": 1.0}, 2), ({"a": 5.0, "b": 1.0}, 3)]
    assert (found.n_samples, found.n_features, found.task) == (2, 2, BINARY)


def test_rows_come_in_order_and_again(table):
    found = table([["i", "s", "y"], *([i, f"text {i}", i % 7] for i in range(5000))])
    rows = list(found)
    assert rows == [({"i": float(i), "s": f"text {i}"}, i % 7) for i in range(5000)] == list(found)
    assert list(found.take(3)) == rows[:3]
    one, two = iter(found), iter(found)
    assert [next(one), next(one), next(two)] == [rows[0], rows[1], rows[0]]


def test_repr_describes_the_table(table):
    shown = repr(table("x,y\n1,a\n2,b\n3,c\n"))
    for word in ("Table", MULTICLASS, "Samples  3", "Features  1", "Classes  3"):
        assert word in shown


@pytest.mark.parametrize(
    "transport", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))], ids=["copy", "pickle"]
)
def test_a_table_can_be_copied(table, transport):
    """As River's data sets can, such as to another process."""
    found = table("x,y\n1,a\n2,b\n")
    assert list(transport(found)) == list(found)


# Options --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("na", ["?", ("?", "none")])
def test_na_are_gaps_in_every_column(table, na):
    found = features(table("a,s,y\n1,?,0\n?,b,1\n,,0\n", na=na))
    assert found == [{"a": 1.0, "s": None}, {"a": None, "s": "b"}, {"a": None, "s": None}]


@pytest.mark.parametrize(("string", "y"), [("zip", 7), (("zip", "y"), "7")])
def test_string_columns_hold_strings(table, string, y):
    """The target, too."""
    assert list(table("zip,y\n01234,7\n", string=string)) == [({"zip": "01234"}, y)]


@pytest.mark.parametrize(
    ("text", "options", "value"),
    [
        ("x##y\n7##1\n", {"delim": "##"}, 7.0),
        ("x;y\n1,5;1\n", {"decimal_separator": ","}, 1.5),
        ('x,y\n"1,5",1\n', {"decimal_separator": ","}, 1.5),
        ("x,y\n4/6/2013,1\n", {"dateformat": "%m/%d/%Y"}, datetime.date(2013, 4, 6)),
        ("x,y\n4/6/2013,1\n", {"dateformat": "%d/%m/%Y"}, datetime.date(2013, 6, 4)),
        ("x,y\n4.6.2013 9:30,1\n", {"timestampformat": "%d.%m.%Y %H:%M"}, datetime.datetime(2013, 6, 4, 9, 30)),
        ("x,y\n007,1\n", {"types": {"x": "DOUBLE"}}, 7.0),
        ("Report of 2024\n\nx,y\n7,1\n", {"skip": 2}, 7.0),
    ],
)
def test_other_options_are_those_of_duckdb(table, text, options, value):
    assert list(table(text, **options)) == [({"x": value}, 1)]


def test_string_and_types_go_together(table):
    found = table("a,b,y\n1,1,0\n2,2,1\n", types={"a": "VARCHAR"}, string="b")
    assert features(found) == [{"a": "1", "b": "1"}, {"a": "2", "b": "2"}]


def test_options_of_other_readers(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"day": "4/6/2013", "y": 1}\n')
    table = datasets.Table(path, "y", dateformat="%m/%d/%Y")
    assert features(table) == [{"day": datetime.date(2013, 4, 6)}]


# A column with a few other texts --------------------------------------------------------------------------------------


def spoiled(cells, texts):
    """Rows with another column and a target, and texts in place of some cells."""
    cells = [*cells]
    for i, text in texts.items():
        cells[i] = text
    return [["v", "s", "y"], *([cell, "b", i % 2] for i, cell in enumerate(cells))]


NUMBERS = [i / 4 for i in range(100)]
DATES = [f"2013-01-{i % 28 + 1:02}" for i in range(100)]
TEXTS = {40: "oops", 50: "missing", 60: "missing", 99: "it's"}


@pytest.mark.parametrize(("cells", "kind"), [(NUMBERS, "numbers"), (DATES, "dates")], ids=["numbers", "dates"])
def test_a_few_texts_in_a_column_are_an_error_with_a_remedy(table, complaint, cells, kind):
    rows = spoiled(cells, TEXTS)
    said = complaint(rows)
    na = ["missing", "oops", "it's"]
    others = "'missing' (2 times), 'oops' (1 times), \"it's\" (1 times)"
    assert said == (
        f"column 'v' has {kind}, except for {others}, first in line 42: "
        f"give na={na} if they are gaps, or string=['v'] if all are strings"
    )
    gaps = [x["v"] for x in features(table(rows, na=na))]
    whole = [x["v"] for x in features(table(spoiled(cells, {})))]
    assert gaps == [None if i in TEXTS else value for i, value in enumerate(whole)] and type(whole[0]) is not str
    assert [x["v"] for x in features(table(rows, string=["v"]))] == [str(row[0]) for row in rows[1:]]


def test_dates_in_another_notation_are_dates_too(complaint, table):
    rows = spoiled([f"{i % 12 + 1}/{i % 28 + 1}/2024" for i in range(100)], {40: "unknown"})
    for options in ({}, {"dateformat": "%m/%d/%Y"}):
        assert complaint(rows, **options).startswith("column 'v' has dates, except for 'unknown' (1 times)")
    assert features(table(rows, dateformat="%m/%d/%Y", na="unknown"))[0]["v"] == datetime.date(2024, 1, 1)


def test_the_target_is_checked_as_well(table, complaint):
    rows = [["x", "y"], *([i, "oops" if i == 40 else i / 7] for i in range(100))]
    assert complaint(rows).startswith("column 'y' has numbers, except for 'oops' (1 times), first in line 42: give na=")
    assert (table(rows, na="oops").task, table(rows, na="oops").n_samples) == (REGRESSION, 99)
    assert table(rows, string="y").task == MULTICLASS


@pytest.mark.parametrize(
    ("before", "options"),
    [("", {}), ("# exported today\n\n", {"skip": 2})],
    ids=["at once", "after other lines"],
)
@pytest.mark.parametrize("header", ["v,y\n", ""], ids=["header", "none"])
def test_the_line_is_that_of_the_file(complaint, before, options, header):
    text = before + header + lines([["oops" if i == 40 else i, i % 2] for i in range(100)])
    said = complaint(text, "y" if header else "column1", **options)
    assert f"first in line {1 + text.splitlines().index('oops,0')}:" in said


def test_options_apply_to_the_check(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(
        lines([["größe", "y"], *(["oops" if i == 40 else i, "äb"[i % 2]] for i in range(100))]).encode("latin-1")
    )
    with pytest.raises(ValueError, match=r"column 'größe' has numbers, except for 'oops' .* first in line 42:"):
        datasets.Table(path, "y", encoding="latin-1")
    assert labels(datasets.Table(path, "y", encoding="latin-1", na="oops"))[:2] == ["ä", "b"]


def test_texts_in_several_files_are_an_error_with_a_remedy(parts, tmp_path):
    rows = [[i, i % 2] for i in range(50)]
    pattern = parts(rows, [*rows[:7], ["oops", 1]])
    for path in (pattern, [tmp_path / "part-00.csv", tmp_path / "part-01.csv"]):
        with pytest.raises(
            ValueError, match=r"column 'x' has numbers, except for 'oops' \(1 times\), first in row 58:"
        ):
            datasets.Table(path, "y")
        assert features(datasets.Table(path, "y", na="oops"))[-1] == {"x": None}


def test_a_long_list_of_texts_is_cut(complaint):
    said = complaint(spoiled(range(300), {10 * i: f"bad{i}" for i in range(25)}))
    assert "'bad19' (1 times) and 5 more, first in line 2:" in said and "bad20" not in said


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_an_error_with_a_remedy(table, complaint, separator):
    text = "".join(separator.join(row) + "\n" for row in (["x", "y"], ["1,5", "a"], ["-2,25", "b"]))
    assert complaint(text) == "column 'x' has numbers with commas: give decimal_separator=',', or string=['x']"
    assert features(table(text, decimal_separator=",")) == [{"x": 1.5}, {"x": -2.25}]
    assert features(table(text, string="x")) == [{"x": "1,5"}, {"x": "-2,25"}]


def test_codes_with_leading_zeros_are_numbers_or_strings_as_declared(table, complaint):
    text = "x,y\n007,a\n012,b\n"
    assert complaint(text) == "column 'x' has numbers: give types={'x': 'DOUBLE'}, or string=['x']"
    assert features(table(text, types={"x": "DOUBLE"})) == [{"x": 7.0}, {"x": 12.0}]
    assert features(table(text, string=["x"])) == [{"x": "007"}, {"x": "012"}]


def test_a_column_of_text_with_some_numbers_is_text(table):
    """From four fifths of numbers other texts are errors."""
    for other, n in ((20, 79), (1, 3)):
        cells = [*("A" for _ in range(other + 1)), *range(n)]
        assert {type(x["v"]) for x in features(table([["v", "y"], *([cell, 1] for cell in cells)]))} == {str}


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ['a "b"', "it's {0}", "größe; x", "row"])
def test_any_name_of_a_column(table, complaint, name):
    quoted = '"' + name.replace('"', '""') + '"'
    rows = [[quoted, "y"], *(["oops" if i == 40 else i, f"l{i % 2}"] for i in range(100))]
    assert f"column {name!r} has numbers, except for 'oops' (1 times), first in line 42" in complaint(rows)
    assert features(table(rows, na="oops"))[1] == {name: 1.0}
    assert features(table(rows, string=name))[1] == {name: "1"}
    swapped = [reversed(row) for row in rows]
    assert labels(table(swapped, name, na="oops"))[:2] == [0.0, 1.0]


def test_any_name_of_a_file(tmp_path):
    for name in ('it\'s a "file".csv', "odd[1].csv"):
        path = tmp_path / name
        path.write_text(lines([["x", "y"], *(["oops" if i == 40 else i, i % 2] for i in range(100))]))
        with pytest.raises(ValueError, match=r"first in line 42"):
            datasets.Table(path, "y")
        assert datasets.Table(path, "y", na="oops").n_samples == 100


# Errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ("a,y\n", "the target 'y' is missing in every row"),
        ("a,y\n1,\n2,\n", "the target 'y' is missing in every row"),
        ("a,b\n1,2\n2,3\n", "has no column 'y'; its columns are a, b"),
        ("Y,b\n1,2\n2,3\n", "has no column 'y'; its columns are Y, b"),
        (lines([[f"x{i}" for i in range(40)], range(40)]), "x18, x19, ..."),
        ("a,y\n1,2024-01-01\n2,2024-01-02\n", "the target 'y' is a date; choose another column"),
        ("a,y\n1,2024-01-01 10:00:00\n2,2024-01-02 10:00:00\n", "the target 'y' is a date; choose another column"),
        ("y\n1\n2\n", "has no column besides the target 'y'"),
    ],
)
def test_files_without_samples(complaint, text, expected):
    said = complaint(text)
    assert said.endswith(expected) and "\n" not in said


@pytest.mark.parametrize(("n", "separator"), [(5, ";"), (5000, ",")])
@pytest.mark.parametrize("cells", [["1"], ["1", "2", "3"]], ids=["too few", "too many"])
def test_a_line_with_other_cells_is_named(complaint, n, separator, cells):
    rows = [["a", "y"], *[["1", "2"]] * n, cells, *[["1", "2"]] * 10]
    said = complaint("".join(separator.join(row) + "\n" for row in rows))
    assert f"Line: {n + 2}\n" in said and f"Expected Number of Columns: 2 Found: {len(cells)}" in said


def test_a_missing_file_is_named(table, tmp_path):
    table("x,y\n1,2\n")
    for path in (tmp_path / "b.csv", tmp_path / "b-*.csv", [tmp_path / "a.csv", tmp_path / "b.csv"]):
        with pytest.raises(ValueError, match=r"No files found.*b(-\*)?\.csv"):
            datasets.Table(path, "y")
    with pytest.raises(ValueError, match="path is an empty list"):
        datasets.Table([], "y")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"delimitter": ";"}, 'Invalid named parameter "delimitter"'),
        ({"string": "z"}, '"z" do not exist'),
    ],
)
def test_unknown_options_are_named(complaint, options, expected):
    assert expected in complaint("x,y\n1,2\n", **options)


@pytest.mark.parametrize(
    ("end", "options"), [("parquet", {"na": "?"}), ("json", {"string": "a"}), ("jsonl.gz", {"na": "?"})]
)
def test_na_and_string_are_for_csv_files(tmp_path, end, options):
    with pytest.raises(ValueError, match="has gaps and types of its own; na and string are for CSV files"):
        datasets.Table(tmp_path / f"a.{end}", "y", **options)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.parquet", b"nothing"), ("a.json", b'{"a": 1'), ("a.csv.gz", gzip.compress(b"x,y\n1,2\n", mtime=0)[:-12])],
)
def test_damaged_files(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError) as error:
        datasets.Table(path, "y")
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_empty_files(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=f"{name} is empty"):
        datasets.Table(tmp_path / name, "y")


def test_without_duckdb_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match="Table needs DuckDB: pip install duckdb"):
        datasets.Table("a.csv", "y")


# Models ---------------------------------------------------------------------------------------------------------------


PRICES = [3 * (7 * i % 40) / 10 + 5 * (i % 3 == 0) for i in range(400)]
SOLD = ["late" if price > 7 else "early" for price in PRICES]


@pytest.mark.parametrize(
    ("y", "task", "model", "metric", "expected"),
    [
        (PRICES, REGRESSION, OKLRegressor(), metrics.R2(), 0.6),
        (SOLD, BINARY, OKLClassifier(), metrics.Accuracy(), 0.8),
    ],
    ids=["regression", "classification"],
)
def test_river_evaluates_models_on_strings_dates_and_gaps(table, y, task, model, metric, expected):
    """The target depends on a number and a string, both with gaps."""
    cells = ([7 * i % 40 / 10 if i % 11 else "", ("red", "blue", "")[i % 3], DATES[i % 100]] for i in range(400))
    found = table([["size", "colour", "day", "y"], *([*x, label] for x, label in zip(cells, y, strict=True))])
    assert found.task == task
    assert features(found)[11] == {"size": None, "colour": None, "day": datetime.date(2013, 1, 12)}
    assert evaluate.progressive_val_score(found, Dates() | model, metric).get() > expected
