"""Protocols, written once: immutable values, handlers named after the paper, and nothing else.

The contract is in :mod:`protocols.api` (what a protocol author imports),
:mod:`protocols.step` (what a runtime imports), :mod:`protocols.values` (times, logs, maps)
and :mod:`protocols.client` (operations and their outcomes).
"""
