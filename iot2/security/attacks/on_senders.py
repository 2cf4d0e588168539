"""Attacks of a hostile receiver, or of someone between, on the sender's messages."""

from __future__ import annotations

from typing import Final

from iot2.security.attacks.entry import BOTH, SPELLING, Attack

REPLAY: Final = (
    Attack(
        "replay an index with another query",
        BOTH,
        "an index is answered once",
        "refused",
        (
            "test_replay.py::test_an_index_replayed_with_another_query",
            "test_replay.py::test_a_six_message_index_replayed_with_another_query",
        ),
    ),
    Attack(
        "replay a query with other messages",
        "the XOR of two messages that were not chosen",
        "an index is answered once",
        "refused",
        (
            "test_replay.py::test_a_query_replayed_with_other_messages",
            "test_replay.py::test_a_six_message_query_replayed_with_other_messages",
        ),
    ),
    Attack(
        "replay a query after the sender's restart",
        "the XOR of two messages that were not chosen",
        "a sender that does not persist draws a new sid",
        "refused",
        ("test_replay.py::test_a_query_replayed_after_a_restart",),
    ),
    Attack(
        "put one index twice into a batch",
        BOTH,
        "a batch is checked whole; two entries with one index refuse it",
        "refused",
        (
            "test_replay.py::test_two_entries_of_a_batch_with_one_index",
            "test_replay.py::test_two_identical_entries_are_refused_too",
        ),
    ),
    Attack(
        "put one bad query among good ones",
        "indexes spent without an answer",
        "a batch is checked whole before any of it is answered",
        "refused",
        ("test_replay.py::test_one_bad_entry_leaves_the_whole_batch_unanswered",),
    ),
    Attack(
        "query before the offer (six messages)",
        BOTH,
        "a query is answered for an offered index alone",
        "refused",
        ("test_replay.py::test_a_six_message_query_before_its_offer",),
    ),
    Attack(
        "bring a query of another session",
        "an index of this session, spent",
        "the sid is compared before any state is looked at",
        "refused",
        ("test_replay.py::test_a_query_of_another_session",),
    ),
)

QUERIES: Final = (
    Attack("y = 0", BOTH, "0 < y < N, and y a unit", "refused", ("test_queries.py::test_y_zero",)),
    Attack(
        "y = N, zero in another spelling",
        BOTH,
        "a value that is not below N is malformed, never reduced",
        "refused",
        ("test_queries.py::test_y_equal_to_N",),
    ),
    Attack(
        "y >= N",
        SPELLING,
        "a value that is not below N is malformed, never reduced",
        "refused",
        ("test_queries.py::test_y_above_N",),
    ),
    Attack(
        "y of a wrong length",
        SPELLING,
        "exactly n bytes",
        "refused",
        ("test_queries.py::test_y_of_a_wrong_length",),
    ),
    Attack(
        "y sharing a factor with N",
        "an answer under two roots instead of four, outside the sender's proof of privacy",
        "y must be a unit, seen from y mod p and y mod q",
        "refused",
        ("test_queries.py::test_y_sharing_a_factor_with_N",),
    ),
    Attack(
        "y a non-square, of either Jacobi symbol",
        "a residuosity oracle: the assumption itself",
        "implicit rejection under a secret seed: every unit is answered alike",
        "harmless",
        (
            "test_queries.py::test_y_a_non_square_shown_by_a_refusal",
            "test_queries.py::test_y_a_non_square_shown_by_keys_that_anyone_can_make",
        ),
    ),
    Attack(
        "y = r^2 for a chosen r, of either Jacobi symbol",
        "a residuosity oracle for r: does it open under r or under N - r?",
        "keys come from |root|, and the root is the principal one",
        "harmless",
        (
            "test_queries.py::test_y_the_square_of_a_chosen_r_as_a_residuosity_oracle",
            "test_queries.py::test_y_the_square_of_a_chosen_r_opens_by_its_public_symbol_alone",
        ),
    ),
    Attack(
        "N - y",
        "two queries under one key",
        "s^2 = y is checked: minus a square is no square",
        "harmless",
        ("test_queries.py::test_minus_y",),
    ),
    Attack(
        "open every ciphertext with the root that is known",
        BOTH,
        "c_j is under s / rho_j, and z_j is not 1",
        "harmless",
        ("test_queries.py::test_no_root_opens_two_messages",),
    ),
    Attack(
        "a query of one variant to a session of the other",
        "one square that serves in both variants",
        "kinds are part of the message, and each variant has its own tags",
        "refused",
        ("test_queries.py::test_a_query_of_one_variant_to_a_session_of_the_other",),
    ),
)

MESSAGES: Final = (
    Attack(
        "unequal or empty messages",
        "an index spent without an answer",
        "the messages are checked before anything is spent",
        "refused",
        ("test_messages.py::test_unequal_or_empty_messages",),
    ),
    Attack(
        "cut a message at any byte",
        "a message that is shorter than it was, and nobody notices",
        "lengths are exact; a residue has n bytes",
        "refused",
        (
            "test_messages.py::test_messages_cut_at_every_byte",
            "test_messages.py::test_a_residue_cut_or_appended_to",
        ),
    ),
    Attack(
        "append bytes to a message",
        SPELLING,
        "trailing bytes are an error",
        "refused",
        ("test_messages.py::test_messages_with_bytes_appended",),
    ),
    Attack(
        "a message of another version or kind",
        "one message taken for another",
        "version and kind are compared first",
        "refused",
        ("test_messages.py::test_another_version_or_kind",),
    ),
)
