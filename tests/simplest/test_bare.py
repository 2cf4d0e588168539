"""The bare calls compute what a transfer needs, and nothing is left out."""

import pytest

from iot2.errors import ParameterError
from iot2.simplest.bare import bare_receiver_calls
from iot2.simplest.groups import GROUPS, load_group


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("split", ["known", "fresh"])
def test_calls_give_points_and_scalars(name: str, split: str) -> None:
    group = load_group(name)
    results = {label: call() for label, call in bare_receiver_calls(name, split)}
    encoded = [value for value in results.values() if isinstance(value, bytes)]
    # x, xG, xG + A, xA as bytes for rbcl; for coincurve the three formats.
    assert len(encoded) == {"ristretto255": 4, "secp256k1": 3}[name]
    points = [value for label, value in results.items() if not label.startswith("x:")]
    for point in points:
        group.decode(point if isinstance(point, bytes) else group.encode(point))


def test_only_secp256k1_parses_a_fresh_key_on_its_own() -> None:
    labels = [label for label, _ in bare_receiver_calls("secp256k1", "fresh")]
    known = [label for label, _ in bare_receiver_calls("secp256k1")]
    assert labels == ["A: parse", *known]
    assert len(bare_receiver_calls("ristretto255", "fresh")) == 4


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ParameterError, match="group must be one of"):
        bare_receiver_calls("p256")
    with pytest.raises(ParameterError, match="split must be known or fresh, got 'warm'"):
        bare_receiver_calls("secp256k1", "warm")
