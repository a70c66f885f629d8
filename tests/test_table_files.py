"""CSV files have no types: their text becomes numbers and dates where that is what it spells."""

from datetime import UTC, date, datetime

import pytest

from shaff.data.files import read_file


@pytest.fixture
def read(tmp_path):
    """Read columns, given as lists of text, from a CSV file."""

    def read(separator=",", **columns):
        quoted = [[f'"{cell}"' for cell in row] for row in zip(*columns.values(), strict=True)]
        lines = [separator.join(row) for row in [list(columns), *quoted]]
        path = tmp_path / "a.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        table = read_file(path, 1000, 0)
        return {name: table.frame[name].to_list() for name in columns}, table.said

    return read


def test_plain_columns_need_no_word(read):
    columns, said = read(
        number=["1", " 2.5 ", "-1e3", ""], flag=["true", "False", "", "TRUE"], text=list("abca")
    )
    assert columns["number"] == [1.0, 2.5, -1000.0, None]
    assert columns["flag"] == [True, False, None, True]
    assert columns["text"] == list("abca")
    assert said == {}


@pytest.mark.parametrize("word", ["?", "-", "n/a", "NA", "."])
def test_words_for_missing_values_in_numbers(read, word):
    columns, said = read(a=["1", word, word, word, "4.5"])
    assert columns["a"] == [1.0, None, None, None, 4.5]
    expected = {} if word == "NA" else {"a": f"holds numbers but for '{word}': read as missing."}
    assert said == expected


def test_few_words_among_many_numbers_are_missing(read):
    numbers = [str(i) for i in range(40)]
    columns, said = read(a=[*numbers, "broken", "lost"], b=[*numbers[2:], *"wxyz"])
    assert columns["a"] == [*map(float, range(40)), None, None]
    assert said["a"] == "holds numbers but for 'broken', 'lost': read as missing."
    assert columns["b"][-1] == "z"  # four different words: not numbers
    half, _ = read(a=["1", "2", "low", "low"])
    assert half["a"] == ["1", "2", "low", "low"]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas(read, separator):
    columns, said = read(separator, a=["1,5", "2", "-0,25"], b=["1.234,50", "1.234", "7,1"])
    assert columns == {"a": [1.5, 2.0, -0.25], "b": [1234.5, 1234.0, 7.1]}
    assert set(said.values()) == {"holds numbers with decimal commas."}


def test_points_stay_points_where_commas_may_be_decimal(read):
    columns, said = read(";", a=["1.234", "2.345"])
    assert columns == {"a": [1.234, 2.345]}
    assert said == {}


def test_commas_between_thousands(read):
    columns, said = read(a=["1,234.50", "999", "-12,345,678"])
    assert columns == {"a": [1234.5, 999.0, -12345678.0]}
    assert said == {"a": "holds numbers with commas between thousands."}


def test_codes_with_leading_zeros_stay_text(read):
    columns, said = read(zip=["02139", "10115", "80331"], month=["01", "02", "12"])
    assert columns["zip"] == ["02139", "10115", "80331"]
    assert columns["month"] == [1.0, 2.0, 12.0]
    assert said == {"zip": "holds codes with leading zeros: read as categories."}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2020-01-31", "", "1999-12-01"], [date(2020, 1, 31), None, date(1999, 12, 1)]),
        (["31.01.2020", "?", "1.12.1999"], [date(2020, 1, 31), None, date(1999, 12, 1)]),
        (["2020-01-31 10:30"], [datetime(2020, 1, 31, 10, 30)]),
        (["2020-01-31T10:30:05.5"], [datetime(2020, 1, 31, 10, 30, 5, 500_000)]),
        (["2020-01-31T10:30:05Z"], [datetime(2020, 1, 31, 10, 30, 5, tzinfo=UTC)]),
        (["2020-01-31 10:30+02:00"], [datetime(2020, 1, 31, 8, 30, tzinfo=UTC)]),
        (["2020-13-31", "2020-01-31"], ["2020-13-31", "2020-01-31"]),
        (["5-10", "10-20"], ["5-10", "10-20"]),
    ],
)
def test_dates(read, cells, expected):
    assert read(a=cells)[0]["a"] == expected
