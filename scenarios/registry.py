"""The protocols that a scenario can run: the bundled ones by name, any other by module:Class.

    protocol: heartbeat
    protocol: mypackage.mymodule:MyProcess      # importable from the current folder

How parameters are read is told in :mod:`scenarios.parameters`, whose functions are offered here.
"""

from __future__ import annotations

from enum import Enum
from typing import get_args

from protocols.spec import spec_of
from scenarios.parameters import (
    AUTOMATIC,
    bind,
    make_process,
    parameter_names,
    parameters_schema,
    parse_parameters,
)
from scenarios.protocol_class import Protocol, hints_of
from sim.fields import FieldError, unknown_name

__all__ = [
    "AUTOMATIC",
    "PROTOCOLS",
    "Protocol",
    "bind",
    "make_process",
    "parameter_names",
    "parameters_schema",
    "parse_parameters",
    "resolve",
    "roles",
]

PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "heartbeat",
            "protocols.detectors.heartbeat:PushHeartbeat",
            "push-style heartbeats, judged by any number of estimators side by side",
            "Chandra, Toueg, JACM 43(2), 1996",
        ),
        Protocol(
            "ping-ack",
            "protocols.detectors.ping_ack:PingAck",
            "asks each peer, and suspects who does not answer several times in a row",
            "Das, Gupta, Motivala, DSN 2002, §3.1",
        ),
        Protocol(
            "rumor",
            "protocols.dissemination.rumor:RumorMongering",
            "rumor mongering: updates are hot until the others know them already",
            "Demers et al., PODC 1987, §1.4",
        ),
        Protocol(
            "anti-entropy",
            "protocols.dissemination.anti_entropy:AntiEntropy",
            "sites regularly resolve all differences with a random partner",
            "Demers et al., PODC 1987, §1.3",
        ),
        Protocol(
            "raft",
            "protocols.consensus.raft.server:RaftServer",
            "a replicated log and state machine; the dissertation's features as options",
            "Ongaro, Ousterhout, USENIX ATC 2014; Ongaro, dissertation, Stanford 2014",
        ),
    )
}
"""The bundled protocols by their names in scenario files."""


def resolve(protocol: object) -> Protocol:
    """The protocol of a scenario: a name of `PROTOCOLS` or ``package.module:Class``.

    FieldError for a name that is neither, a module that cannot be imported (from the current
    folder as well) and a class that is missing or no process.
    """
    if not isinstance(protocol, str):
        raise FieldError(protocol, f"a protocol: {', '.join(PROTOCOLS)} or package.module:Class")
    if protocol in PROTOCOLS:
        return PROTOCOLS[protocol]
    module, colon, name = protocol.partition(":")
    if not colon:
        what = "a protocol (or package.module:Class)"
        raise unknown_name(protocol, PROTOCOLS, what)
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise FieldError(protocol, "package.module:Class")
    found = Protocol(protocol, protocol)
    found_doc = (found.cls.__doc__ or "").strip().partition("\n")[0]
    return Protocol(protocol, protocol, found_doc)


def roles(protocol: str) -> tuple[str, ...]:
    """What a node can be by its field ``role``, as faults name it; () if there is no such field."""
    cls = resolve(protocol).cls
    if "role" not in spec_of(cls).fields:
        return ()
    hint = hints_of(cls).get("role")
    for option in (hint, *get_args(hint)):
        if isinstance(option, type) and issubclass(option, Enum):
            return tuple(member.name.lower() for member in option)
    return ()
