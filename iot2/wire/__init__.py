"""The messages of the protocol and their bytes (specification, section 10).

Each is frozen, checks itself when it is made, and has `to_bytes` and
`from_bytes`; bytes that are not exactly one message are a `MessageError`.
"""
