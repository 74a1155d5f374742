"""Tables: read to the last bit, refused in one line that names the place, written as a whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.files import Columns, TableError, read_table, write_table
from driftway.files.atomic import replacing

WANTED = Columns(None, "kind", "name")
NUMBERS = [0.1, -1e-300, 1.7976931348623157e308, 5e-324, 1 / 3, -0.0]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "npz"])
class TestEveryFormat:
    @pytest.fixture(autouse=True)
    def _needs(self, ending: str) -> None:
        if ending == "parquet":
            pytest.importorskip("pyarrow")

    def test_what_is_written_is_read_to_the_last_bit(self, ending: str, tmp_path: Path) -> None:
        columns = {
            "name": ["é, 1", 'say "no"', "007", "", "x", "z"],
            "a": NUMBERS,
            "kind": [0, 1, 1, 0, 1, 0],
            "b": list(range(6)),
        }
        path = tmp_path / f"table.{ending}"
        write_table(path, columns)
        table = read_table(path, WANTED)
        assert table.names == ("a", "b")
        np.testing.assert_array_equal(table.X, np.column_stack([NUMBERS, range(6)]))
        assert np.signbit(table.X[5, 0])
        assert table.X.flags.c_contiguous
        assert table.labels == [0, 1, 1, 0, 1, 0]
        assert [value or "" for value in table.ids or []] == columns["name"]
        assert [file.name for file in tmp_path.iterdir()] == [path.name]

    def test_features_are_found_by_name(self, ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"table.{ending}"
        write_table(path, {"b": [1.0, 2.0], "kind": ["u", "v"], "a": [3.0, 4.0], "more": ["x", "y"]})
        table = read_table(path, Columns(("a", "b"), "kind"))
        np.testing.assert_array_equal(table.X, [[3.0, 1.0], [4.0, 2.0]])
        assert (table.labels, table.ids) == (["u", "v"], None)
        assert read_table(path, Columns(("b",), "other", None, frozenset())).labels is None

    def test_text_among_numbers_is_named(self, ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"table.{ending}"
        write_table(path, {"a": [1.0, 2.0], "b": ["red", "2"]})
        place = "line 2" if ending in ("csv", "tsv") else "row 1"
        with pytest.raises(TableError, match=rf"table.{ending}: {place}, column 'b': 'red' is not a number"):
            read_table(path, Columns())

    def test_numbers_are_finite(self, ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"table.{ending}"
        write_table(path, {"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, np.inf]})
        place = "line 4" if ending in ("csv", "tsv") else "row 3"
        with pytest.raises(TableError, match=rf"{place}, column 'b': inf is not a finite number"):
            read_table(path, Columns())

    def test_missing_numbers_and_categories(self, ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"table.{ending}"
        write_table(path, {"a": [1.0, None, 3.0], "colour": ["red", "NA", "blue"], "b": [1.0, 2.0, np.nan]})
        table = read_table(path, Columns())
        assert table.categories == {"colour"}
        assert table.X.dtype == object
        assert table.X[:, 1].tolist() == ["red", None, "blue"]
        np.testing.assert_array_equal(table.X[:, [0, 2]].astype(float), [[1.0, 1.0], [np.nan, 2.0], [3.0, np.nan]])
        plain = read_table(path, Columns(("b", "a")))
        assert (plain.X.dtype, plain.categories) == (np.float64, set())
        np.testing.assert_array_equal(plain.X, [[1.0, 1.0], [2.0, np.nan], [np.nan, 3.0]])

    def test_what_the_source_says_holds_for_batches(self, ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"table.{ending}"
        write_table(path, {"a": [1.0, 2.0], "size": ["38", "XL"]})
        table = read_table(path, Columns(categories=frozenset({"size"})))
        assert table.X[:, 1].tolist() == ["38", "XL"]
        place = "line 3" if ending in ("csv", "tsv") else "row 2"
        with pytest.raises(TableError, match=rf"{place}, column 'size': 'XL' is not a number"):
            read_table(path, Columns(categories=frozenset()))

    def test_missing_columns_are_named(self, ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"table.{ending}"
        write_table(path, {"alpha": [1.0, 2.0], "kind": [0, 1]})
        with pytest.raises(TableError, match="no column 'alpah'; the most similar one is 'alpha'"):
            read_table(path, Columns(("alpah",)))
        with pytest.raises(TableError, match="no column 'zzz'; its columns are 'alpha', 'kind'"):
            read_table(path, Columns(None, "zzz"))
        with pytest.raises(TableError, match="there are no features: all columns are label or id"):
            read_table(path, Columns(None, "kind", "alpha"))

    def test_one_point_is_too_few(self, ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"table.{ending}"
        write_table(path, {"a": [1.0, 1.0], "b": [2.0, 2.0]})
        with pytest.raises(TableError, match="two different rows are needed, but there are 2 equal ones"):
            read_table(path, Columns())

    def test_empty_and_cut_files(self, ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"table.{ending}"
        write_table(path, {"a": np.arange(50.0), "b": np.arange(50.0)})
        whole = path.read_bytes()
        write(path, b"")
        with pytest.raises(TableError, match=r"the file is empty"):
            read_table(path, Columns())
        write(path, whole[: len(whole) * 2 // 3] if ending in ("parquet", "npz") else whole[:-6])
        with pytest.raises(TableError, match=r"not a valid|1 field, but the header has 2"):
            read_table(path, Columns())

    def test_a_header_alone_has_no_rows(self, ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"table.{ending}"
        write_table(path, {"a": [], "b": []})
        with pytest.raises(TableError, match=r"no rows|is not a number"):
            read_table(path, Columns())


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_whole_numbers_of_64_bits_survive(ending: str, tmp_path: Path) -> None:
    """On both sides of 2⁶³, where NumPy would make fractions of them."""
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    ids = [3, 2**63 + 1, 2**64 - 1, 2**53 + 1]
    columns = {"name": np.array(ids, np.uint64), "a": [1.0, 2.0, 3.0, 4.0], "b": [0.5, 1, 2, 3], "kind": [0, 1, 0, 1]}
    write_table(tmp_path / f"table.{ending}", columns)
    table = read_table(tmp_path / f"table.{ending}", WANTED)
    assert [int(value) for value in table.ids or []] == ids
    np.testing.assert_array_equal(table.X[:, 1], [0.5, 1.0, 2.0, 3.0])


class TestCsv:
    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("a,b\n1,2\n3\n", "line 3: 1 field, but the header has 2"),
            ("a,b\n1,2\n3,4,5\n", "line 3: 3 fields, but the header has 2"),
            ('a,b\n"1\n",2\n4,5,6\n', "line 4: 3 fields, but the header has 2"),
            ('a,b\n1,2\n3,"4\n', "line 3: unexpected end of data"),
            ("a,b\n1,2\n3,?\n", r"line 3, column 'b': '\?' is not a number"),
            ("a,b\n1,?\n3,4\n", r"line 2, column 'b': '\?' is not a number, but '4' is; a column holds numbers or"),
            ("a,b\n1,2\n3,1_000\n", "line 3, column 'b': '1_000' is not a number"),
            ("a,a\n1,2\n", "column 'a': several columns have this name"),
            (",a\n0,2\n", "column 1 has no name .pandas writes its index so, .*; give it one"),
            ("a,\n0,2\n", "column 2 has no name; give it one"),
            ("c:d\n1:2\n", "no column 'b'; its columns are 'c:d'"),
            ("a;b\n1,5;2\n1;2.5\n", "line 3, column 'b': '2.5' is not a number with a comma before its decimals"),
            ("a;b\n1.000,5;2\n1;2,5\n", "line 2, column 'a': '1.000,5' is not a number with a comma"),
            ("a,b\n1,2\n3,\u00e9\n".encode("latin-1"), r"line 3: not UTF-8 \(byte 0xe9\)"),
            ("a,b\n1,2\n".encode("utf-16"), r"line 1: not UTF-8 \(byte 0xff\)"),
            ("\n\n", "the file is empty"),
            ("a,b\n\n", "there are no rows"),
        ],
    )
    def test_what_is_malformed_is_named(self, text: str | bytes, complaint: str, tmp_path: Path) -> None:
        path = write(tmp_path / "t.csv", text)
        with pytest.raises(TableError, match=complaint) as caught:
            read_table(path, Columns(("b",) if "no column" in complaint else None))
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_what_people_write_is_read(self, tmp_path: Path) -> None:
        text = '\ufeffa, b, kind\r\n1, 2, "x,y"\r\n\r\n3e0, +4, z\r\n\r\n'
        table = read_table(write(tmp_path / "t.csv", text), Columns(None, "kind"))
        np.testing.assert_array_equal(table.X, [[1.0, 2.0], [3.0, 4.0]])
        assert table.labels == ["x,y", "z"]
        assert [table.place(row) for row in (0, 1)] == ["line 2", "line 4"]

    @pytest.mark.parametrize("char", [";", "\t", "|", ",", ":"])
    @pytest.mark.parametrize("ending", ["csv", "tsv"])
    def test_another_separator(self, char: str, ending: str, tmp_path: Path) -> None:
        path = write(tmp_path / f"t.{ending}", f"\n a{char}b\n1{char}2\n3{char}4\n")
        np.testing.assert_array_equal(read_table(path, Columns(), separator=char).X, [[1.0, 2.0], [3.0, 4.0]])
        if char != ":":  # the others are found
            np.testing.assert_array_equal(read_table(path, Columns()).X, [[1.0, 2.0], [3.0, 4.0]])
        if char in ";\t|":
            with pytest.raises(
                TableError, match=r"no column 'b'; its only column is .*, so the separator is another one"
            ):
                read_table(path, Columns(("b",)), separator=",")

    def test_a_separator_within_names_does_not_count(self, tmp_path: Path) -> None:
        table = read_table(write(tmp_path / "t.csv", "a;b;c,d\n1,2\n3,4\n"), Columns())
        assert table.names == ("a;b;c", "d")

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    @pytest.mark.parametrize("first", ["-1,5", '"-1,5"', "-1,5e0", "-01,50"])
    def test_decimal_commas_where_the_comma_does_not_separate(self, first: str, end: str, tmp_path: Path) -> None:
        rows = ["id;a;b;mm", f"1,2 x;2;{first};,25", "2;1e3;+7;007,5", ""]
        table = read_table(write(tmp_path / "t.csv", end.join(rows)), Columns(None, "mm", "id"))
        np.testing.assert_array_equal(table.X, [[2.0, -1.5], [1000.0, 7.0]])
        assert (table.labels, table.ids) == ([",25", "007,5"], ["1,2 x", "2"])
        labels = read_table(write(tmp_path / "t.csv", end.join([*rows[:2], "2;1e3;+7;7,5"])), Columns(None, "mm", "id"))
        assert labels.labels == [0.25, 7.5]

    def test_a_comma_in_a_text_makes_no_decimal_commas(self, tmp_path: Path) -> None:
        table = read_table(write(tmp_path / "t.csv", "id;a\nx1,2;1.5\n1,2 cm;2.5\n"), Columns(None, None, "id"))
        assert table.X[:, 0].tolist() == [1.5, 2.5]

    @pytest.mark.parametrize(
        ("texts", "labels"),
        [
            (["1", "-2", ""], [1, -2, None]),
            (["1.0", "2"], [1.0, 2.0]),
            (["01", "2"], ["01", "2"]),
            (["1", "two"], ["1", "two"]),
            (["1_0", "2"], ["1_0", "2"]),
            (["nan", "2.5"], [None, 2.5]),
        ],
    )
    def test_labels_are_numbers_only_if_written_so(
        self, texts: list[str], labels: list[object], tmp_path: Path
    ) -> None:
        rows = "".join(f"{k},{text}\n" for k, text in enumerate(texts))
        table = read_table(write(tmp_path / "t.csv", "a,kind\n" + rows), Columns(None, "kind"))
        assert table.labels == labels
        assert [type(label) for label in table.labels or []] == [type(label) for label in labels]

    @given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30, unique=True))
    def test_every_number_survives(self, tmp_path_factory: pytest.TempPathFactory, numbers: list[float]) -> None:
        path = tmp_path_factory.mktemp("numbers") / "t.csv"
        write_table(path, {"a": numbers})
        np.testing.assert_array_equal(read_table(path, Columns()).X[:, 0], numbers)


class TestOtherFormats:
    def test_matrices_of_npz_are_columns(self, tmp_path: Path) -> None:
        X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
        np.savez(tmp_path / "t.npz", X=X, y=y)
        table = read_table(tmp_path / "t.npz", Columns(None, "y"))
        assert table.names == ("X0", "X1")
        np.testing.assert_array_equal(table.X, X)
        assert table.labels == ["a", "b", "a"]

    @pytest.mark.parametrize(
        ("arrays", "complaint"),
        [
            ({"X": np.zeros((3, 2)), "y": np.zeros(2)}, "must have the same number of rows, got 'X' 3, 'y' 2"),
            ({"X": np.zeros((2, 2, 2))}, "array 'X' must have 1 or 2 dimensions, got 3"),
            ({"X": np.zeros((2, 1)), "X0": np.ones(2)}, "column 'X0': several columns have this name"),
            ({"X": np.array([None, 1], dtype=object)}, "not a valid NPZ file of numbers and strings"),
            ({"X": np.array([1j, 2j])}, "row 1, column 'X': 1j is not a number"),
        ],
    )
    def test_npz_that_is_no_table(self, arrays: dict[str, np.ndarray], complaint: str, tmp_path: Path) -> None:
        np.savez(tmp_path / "t.npz", **arrays)
        with pytest.raises(TableError, match=complaint):
            read_table(tmp_path / "t.npz", Columns())

    def test_parquet_of_data_frames(self, tmp_path: Path) -> None:
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        frame = pandas.DataFrame({"a": [1, 2, 3], "kind": pandas.Categorical(["u", "v", "u"])}, index=[7, 8, 9])
        frame.to_parquet(tmp_path / "t.parquet")
        table = read_table(tmp_path / "t.parquet", Columns(None, "kind"))
        assert table.names == ("a",)  # and not the index
        assert table.labels == ["u", "v", "u"]
        frame["a"] = pandas.array([1, None, 3], dtype="Int64")
        frame.to_parquet(tmp_path / "t.parquet")
        np.testing.assert_array_equal(read_table(tmp_path / "t.parquet", Columns(None, "kind")).X, [[1], [np.nan], [3]])

    def test_no_such_file_and_no_such_format(self, tmp_path: Path) -> None:
        with pytest.raises(TableError, match=r"t.csv: there is no such file"):
            read_table(tmp_path / "t.csv", Columns())
        with pytest.raises(TableError, match=r"unknown extension '.xlsx'; it must be one of .csv"):
            read_table(tmp_path / "t.xlsx", Columns())
        (tmp_path / "d.csv").mkdir()
        with pytest.raises(TableError, match=r"d.csv: cannot be read \(Is a directory\)"):
            read_table(tmp_path / "d.csv", Columns())


def cut_short(path: Path) -> None:
    with replacing(path) as part:
        part.write_text("half")
        raise RuntimeError


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "old")
    with pytest.raises(RuntimeError):
        cut_short(path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]
