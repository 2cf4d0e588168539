"""The steps of the protocol as pure functions: numbers and bytes in, numbers and bytes out.

Randomness is an argument. State, one-use rules and message formats are above.
"""
