"""Attacks of a hostile sender, or of someone between, on the receiver's choices."""

from __future__ import annotations

from typing import Final

from iot2.security.attacks.entry import CHOICE, SPELLING, Attack

_PROOF_RULE: Final = "the proof, checked before anything else uses the key"

KEYS: Final = (
    Attack("z = 0", CHOICE, "0 < z_j < N", "refused", ("test_keys.py::test_z_zero",)),
    Attack(
        "z = 1, or two equal z",
        "both messages, from a sender with such a key",
        "a key with them is not made; a receiver has nothing to fear from it",
        "refused",
        ("test_keys.py::test_z_one", "test_keys.py::test_two_equal_z"),
    ),
    Attack("z >= N", SPELLING, "0 < z_j < N", "refused", ("test_keys.py::test_z_not_below_N",)),
    Attack(
        "z a non-square",
        CHOICE,
        _PROOF_RULE,
        "refused",
        (
            "test_keys.py::test_z_no_square",
            "test_keys.py::test_z_no_square_of_symbol_one",
        ),
    ),
    Attack(
        "z sharing a factor with N",
        CHOICE,
        "gcd of all s_i and z_j with N is 1",
        "refused",
        ("test_keys.py::test_z_sharing_a_factor_with_N",),
    ),
    Attack(
        "z a square but no fourth power, primes = 1 (mod 4)",
        CHOICE,
        "the proof is of a fourth power, not of a square",
        "refused",
        (
            "test_keys.py::test_z_a_square_that_is_no_fourth_power",
            "test_keys.py::test_z_a_square_that_is_no_fourth_power_mod_65",
            "test_laws.py::test_a_square_mod_65_that_is_no_fourth_power_shows_the_choice_of_every_unit",
        ),
    ),
    Attack(
        "N even",
        "nothing by the law of y; no honest sender has one",
        "N must be odd",
        "refused",
        ("test_keys.py::test_N_even",),
    ),
    Attack(
        "N prime, or a perfect square",
        CHOICE,
        "the proof holds for every N; a sender makes no such key",
        "refused",
        (
            "test_keys.py::test_N_prime_or_a_perfect_square",
            "test_keys.py::test_a_sender_takes_no_prime_and_no_perfect_square",
        ),
    ),
    Attack(
        "N too small",
        "both messages, by factoring N",
        "supported sizes alone, unless the caller says insecure",
        "refused",
        ("test_keys.py::test_N_too_small",),
    ),
    Attack(
        "N of an unsupported size",
        "weak keys, or hours of a small device's time",
        "supported sizes alone, unless the caller says insecure",
        "refused",
        (
            "test_keys.py::test_N_of_an_unsupported_size",
            "test_keys.py::test_N_not_of_the_length_stated",
        ),
    ),
    Attack(
        "another key than the trusted one",
        CHOICE,
        "the fingerprint, of N and every z_j, is compared",
        "refused",
        (
            "test_keys.py::test_another_key_than_the_trusted_one",
            "test_keys.py::test_a_fingerprint_that_leaves_out_z",
        ),
    ),
)

PROOFS: Final = (
    Attack(
        "a proof with one response changed",
        CHOICE,
        "the hash over all commitments gives the challenge again",
        "refused",
        (
            "test_proof.py::test_a_proof_with_one_response_changed",
            "test_proof.py::test_the_proof_as_it_is_passes",
        ),
    ),
    Attack(
        "a proof with one response s_i replaced by N - s_i",
        SPELLING,
        "0 < s_i < N/2",
        "refused",
        ("test_proof.py::test_a_proof_with_one_response_negated",),
    ),
    Attack(
        "a proof with one bit changed",
        CHOICE,
        "the hash over all commitments gives the challenge again",
        "refused",
        ("test_proof.py::test_a_proof_with_one_bit_changed",),
    ),
    Attack(
        "s_i = 0: commitments that do not depend on the challenge",
        CHOICE,
        "0 < s_i < N/2, and a unit",
        "refused",
        ("test_proof.py::test_a_response_of_zero",),
    ),
    Attack(
        "s_i sharing a factor with N: a proof modulo the other factor",
        CHOICE,
        "gcd of all s_i and z_j with N is 1",
        "refused",
        ("test_proof.py::test_responses_sharing_a_factor_with_N",),
    ),
    Attack(
        "a proof for another key",
        CHOICE,
        "N and every z_j are hashed into the challenge",
        "refused",
        (
            "test_proof.py::test_a_proof_for_another_key",
            "test_proof.py::test_a_proof_with_one_bad_z_among_good_ones",
        ),
    ),
    Attack(
        "too few responses, or too short a challenge",
        CHOICE,
        "128 responses and 16 (c - 1) bytes of challenge",
        "refused",
        (
            "test_proof.py::test_too_few_responses",
            "test_proof.py::test_a_challenge_that_is_too_short",
        ),
    ),
    Attack(
        "grind the bits of the proof",
        CHOICE,
        "128 rounds: 2^128 tries on average",
        "refused",
        (
            "test_proof.py::test_grinding_of_proof_bits",
            "test_proof.py::test_a_commitment_chosen_after_the_challenge",
        ),
    ),
)

RECEIVERS: Final = (
    Attack(
        "a reply before its query",
        "a transfer spoiled before it was asked for",
        "a reply opens a tuple whose query was sent",
        "refused",
        ("test_receivers.py::test_a_reply_before_its_query",),
    ),
    Attack(
        "a second reply",
        "a message of the sender's liking, after the transfer",
        "a tuple is opened once, and its key erased",
        "refused",
        (
            "test_receivers.py::test_a_second_reply",
            "test_receivers.py::test_a_second_reply_in_a_batch",
        ),
    ),
    Attack(
        "a reply for another index",
        "one transfer's message in the place of another's",
        "the index is part of every key; an index that is not open is refused",
        "refused",
        ("test_receivers.py::test_a_reply_for_another_index",),
    ),
    Attack(
        "a reply of another session",
        "a tuple spent by a stranger",
        "the sid is compared before any state is looked at",
        "refused",
        (
            "test_receivers.py::test_a_reply_of_another_session",
            "test_messages.py::test_a_reply_of_another_session_does_not_parse_into_ours",
            "test_receivers.py::test_a_six_message_reply_before_its_query_again_or_of_another_session",
        ),
    ),
    Attack(
        "a reply with another number of ciphertexts",
        "bytes of a message that the sender did not offer",
        "a reply carries c ciphertexts; the tuple that was tried is discarded",
        "refused",
        ("test_receivers.py::test_a_reply_with_another_number_of_ciphertexts",),
    ),
    Attack(
        "make the receiver use a tuple twice",
        "both choices: the quotient of y and y z",
        "a tuple is marked used and its residues dropped before y leaves",
        "refused",
        (
            "test_receivers.py::test_a_tuple_used_twice",
            "test_receivers.py::test_a_tuple_used_by_a_batch_and_again",
        ),
    ),
    Attack(
        "restore a receiver from a copy of its state",
        "both choices: the quotient of y and y z",
        "a party's state is neither copied nor stored",
        "refused",
        ("test_receivers.py::test_a_receiver_restored_from_a_copy",),
    ),
    Attack(
        "a second, different offer (six messages)",
        CHOICE,
        "an offer is taken once for each index",
        "refused",
        ("test_receivers.py::test_a_second_offer_for_an_index",),
    ),
    Attack(
        "an offer z_i = 0 or z_i >= N (six messages)",
        CHOICE,
        "0 < z_i < N",
        "refused",
        ("test_receivers.py::test_an_offer_out_of_range",),
    ),
    Attack(
        "four digests none of which fits (six messages)",
        "a message that nobody sent",
        "no digest, no message; the tuple is discarded",
        "refused",
        ("test_receivers.py::test_four_digests_none_of_which_fits",),
    ),
    Attack(
        "a hostile z_i, a non-square (six messages)",
        CHOICE,
        "none: that variant trusts its sender. The compact one has the proof",
        "limit",
        (
            "test_receivers.py::test_a_hostile_offer_shows_the_choice_in_the_six_message_variant_alone",
        ),
    ),
    Attack(
        "wrong digests in one pair (six messages)",
        "the choice, by whether the receiver aborts",
        "none: that variant trusts its sender. The compact one never aborts",
        "limit",
        ("test_receivers.py::test_wrong_digests_show_the_choice_in_the_six_message_variant_alone",),
    ),
)

LAWS: Final = (
    Attack(
        "tell the choices apart by the law of y",
        CHOICE,
        "one law for both if and only if z is a fourth power, counted exactly",
        "harmless",
        (
            "test_laws.py::test_the_law_of_y_is_the_same_for_both_choices_iff_z_is_a_fourth_power",
            "test_laws.py::test_the_same_by_convolved_counts",
            "test_laws.py::test_squares_would_do_on_honest_moduli_alone",
            "test_laws.py::test_a_receiver_that_sent_squares_would_be_hidden_by_squares",
        ),
    ),
    Attack(
        "tell the choices apart by y and the root that opens it",
        CHOICE,
        "(y, both opening roots) has one law too",
        "harmless",
        ("test_laws.py::test_both_opening_roots_hide_the_choice_too",),
    ),
    Attack(
        "tell the choices apart by the law of y (six messages)",
        CHOICE,
        "one law for both if and only if z_i is a square",
        "harmless",
        (
            "test_laws.py::"
            "test_an_offer_of_the_six_message_variant_hides_the_choice_iff_it_is_a_square",
        ),
    ),
)
