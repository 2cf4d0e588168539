"""Senders and receivers: the steps of the protocol with their state and one-use rules."""
