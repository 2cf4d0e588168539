import pytest

from iot2.errors import DataError, ParameterError
from iot2.reproduce.parameters import (
    Parameter,
    check_parameters,
    checked_values,
    inspect_parameters,
)

CELL = """\
platform: str = "local"  # a name
bits: list[int] = [
    1024,
    2048,
]
share: float = 0.5
iterations: int = 100
quick: bool = False  # few iterations
"""


def test_what_is_declared_is_found(write_notebook):
    found = inspect_parameters(write_notebook("n", parameters=CELL))
    assert [(each.name, each.kind, each.default) for each in found.values()] == [
        ("platform", str, "local"),
        ("bits", list[int], [1024, 2048]),
        ("share", float, 0.5),
        ("iterations", int, 100),
        ("quick", bool, False),
    ]
    assert found["quick"].help == "few iterations"


@pytest.mark.parametrize(
    ("cell", "complaint"),
    [
        ("bits = [1024]", "annotation"),
        ("bits: tuple[int] = (1,)", "annotation"),
        ("bits: list[int] = sorted([1])", "literal"),
        ("bits: list[int] = ['a']", "a list, each a whole number"),
        ("a: int = 1; b: int = 2", "Unable to parse"),
    ],
)
def test_parameters_are_annotated_literals(write_notebook, cell, complaint):
    with pytest.raises(DataError, match=complaint):
        inspect_parameters(write_notebook("n", parameters=cell))


def test_a_file_that_is_no_notebook_is_refused(tmp_path):
    path = tmp_path / "n.ipynb"
    path.write_text("{}")
    with pytest.raises(DataError, match=r"n\.ipynb: expected a notebook"):
        inspect_parameters(path)


def test_words_become_values(write_notebook):
    declared = inspect_parameters(write_notebook("n", parameters=CELL))
    given = {"platform": ["7"], "bits": ["3072"], "share": ["1"], "quick": ["yes"]}
    values = checked_values("n", declared, given)
    assert values == {"platform": "7", "bits": [3072], "share": 1.0, "quick": True}
    assert isinstance(values["share"], float)


def test_no_words_empty_a_list_and_nothing_else(write_notebook):
    declared = inspect_parameters(write_notebook("n", parameters=CELL))
    assert checked_values("n", declared, {"bits": []}) == {"bits": []}
    with pytest.raises(ParameterError, match="platform: expected text, came 'nothing'"):
        checked_values("n", declared, {"platform": []})


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("bits", ["1024", "x"], "bits: expected a list, each a whole number, came '1024 x'"),
        ("iterations", ["1.5"], "iterations: expected a whole number, came '1.5'"),
        ("iterations", ["1", "2"], "iterations: expected a whole number, came '1 2'"),
        ("share", ["half"], "share: expected a number, came 'half'"),
        ("quick", ["2"], "quick: expected true or false, came '2'"),
    ],
)
def test_a_mistyped_value_is_refused(write_notebook, name, words, expected):
    declared = inspect_parameters(write_notebook("n", parameters=CELL))
    with pytest.raises(ParameterError, match=expected):
        checked_values("n", declared, {name: words})


def test_an_unknown_name_is_refused_with_the_nearest_one():
    declared = {"platform": Parameter("platform", str, "", "")}
    with pytest.raises(ParameterError) as caught:
        checked_values("1_benchmark", declared, {"plaform": ["x"]})
    assert str(caught.value) == (
        "unknown parameter 'plaform' of 1_benchmark, expected platform; did you mean platform?"
    )


DECLARED = {"bits": list[int], "share": float, "quick": bool}
GIVEN = {"bits": [1024], "share": 0.5, "quick": False}


class TestInsideANotebook:
    def test_what_is_right_passes(self):
        surroundings = {"_": 1, "In": [""], "Out": {}, "iot2": pytest}
        check_parameters({**GIVEN, **surroundings}, **DECLARED)
        check_parameters({**GIVEN, "share": 1}, **DECLARED)

    def test_a_misspelt_one_is_refused(self):
        with pytest.raises(ParameterError, match=r"unknown parameter 'bit', .* did you mean bits"):
            check_parameters({**GIVEN, "bit": [1024]}, **DECLARED)

    def test_a_missing_one_is_refused(self):
        with pytest.raises(ParameterError, match="quick: expected true or false, came nothing"):
            check_parameters({"bits": [1024], "share": 0.5}, **DECLARED)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("bits", 1024),
            ("bits", ["1024"]),
            ("bits", [True]),
            ("bits", (1024,)),
            ("share", "0.5"),
            ("share", True),
            ("quick", 0),
            ("quick", None),
        ],
    )
    def test_one_of_another_type_is_refused(self, name, value):
        with pytest.raises(ParameterError, match=f"parameter {name}: expected"):
            check_parameters({**GIVEN, name: value}, **DECLARED)
