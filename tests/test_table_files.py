"""CSV files have no types: their text becomes numbers and dates where that is what it spells."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from shaff.data.sources.files import Source, read_source, with_types
from shaff.errors import InputError
from shaff.fitting.notes.reading import sentence


@pytest.fixture
def read(tmp_path):
    """Read columns, given as lists of text, from a CSV file."""

    def read(separator=",", order=None, **columns):
        quoted = [[f'"{cell}"' for cell in row] for row in zip(*columns.values(), strict=True)]
        lines = [separator.join(row) for row in [list(columns), *quoted]]
        path = tmp_path / "a.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        raw = read_source(Source((path,)))
        # Notes name their column: what is said about each.
        said = {}
        for name in columns:
            part = with_types(replace(raw, frame=raw.frame.select(name)), order=order)
            if part.remarks:
                said[name] = sentence(part.remarks[0]).removeprefix(f"Column {name!r} ")
        frame = with_types(raw, order=order).frame
        return {name: frame[name].to_list() for name in columns}, said

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


def test_money_percentages_and_accounts(read):
    columns, said = read(
        price=["$1,234.50", "$7", "-$3"],
        rate=["43.7%", "5 %", "0"],
        euro=["1.234,50 €", "7,00 €", "12 €"],
        books=["(1,200)", "300", "(5)"],
    )
    assert columns == {
        "price": [1234.5, 7.0, -3.0],
        "rate": [43.7, 5.0, 0.0],
        "euro": [1234.5, 7.0, 12.0],
        "books": [-1200.0, 300.0, -5.0],
    }
    assert said == {
        "price": "holds amounts in $ with commas between thousands.",
        "rate": "holds percentages.",
        "euro": "holds amounts in € with decimal commas.",
        "books": "holds numbers with commas between thousands.",
    }


def test_amounts_that_do_not_compare_stay_text(read):
    mixed = ["$1", "2 €", "£3"]
    scales = ["5%", "0.2", "7%", "0.1"]
    assert read(a=mixed)[0]["a"] == mixed
    assert read(a=scales)[0]["a"] == scales


@pytest.mark.parametrize(
    ("cells", "first", "how"),
    [
        (["31/01/2021", "01/02/2021"], date(2021, 1, 31), "day"),
        (["01/31/2021", "02/01/2021"], date(2021, 1, 31), "month"),
        (["1/31/21", "2/1/21"], date(2021, 1, 31), "month"),
        (["1/31/2021 2:30 PM", "2/1/2021 12:05 AM"], datetime(2021, 1, 31, 14, 30), "month"),
    ],
)
def test_the_column_tells_day_from_month(read, cells, first, how):
    columns, said = read(a=cells)
    assert columns["a"][0] == first
    assert columns["a"][1].month == 2
    assert said["a"] == f"holds dates with the {how} first."


def test_dates_that_may_be_either_must_be_named(read):
    cells = ["01/02/2021", "03/04/2021"]
    with pytest.raises(
        InputError, match=r"such as '01/02/2021'.*--dates day-first or --dates month"
    ):
        read(a=cells)
    assert read(a=cells, order="day")[0]["a"] == [date(2021, 2, 1), date(2021, 4, 3)]
    assert read(a=cells, order="month")[0]["a"] == [date(2021, 1, 2), date(2021, 3, 4)]
    assert read(a=["01/01/2021", "02/02/2021"])[0]["a"] == [date(2021, 1, 1), date(2021, 2, 2)]
