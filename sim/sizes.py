"""How many bytes a message takes on the wire, for bandwidth."""

from __future__ import annotations

from protocols import canonical

HEADER_BYTES = 42
"""Ethernet, IPv4 and UDP headers."""


def message_size(message: object) -> int:
    """Header plus payload: ``message.size_bytes`` if the class has it, else its encoded length."""
    payload = getattr(message, "size_bytes", None)
    if not isinstance(payload, int):
        payload = len(canonical.encode(message))
    return HEADER_BYTES + payload
