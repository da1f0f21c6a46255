"""What the output of an interaction test says about the servers, and whether ours agree.

The output is a protocol of steps that differ from ours in many ways; what counts is the state in
which they leave the servers. ``Expectations`` keeps, of each server, what the output said last;
where output is switched off (``log-level none``), nothing is known any more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from protocols.api import NodeId
from protocols.clients.messages import Request
from protocols.consensus.raft.configuration import Configuration
from protocols.consensus.raft.entries import Entry
from tests.protocols.consensus.raft.datadriven import Block

_HEADING = re.compile(r"> (\d+) ")
_ROLE = re.compile(r"INFO (\d+) became (follower|pre-candidate|candidate|leader) at term (\d+)")
_CAST = re.compile(r"INFO (\d+) \[.*\] cast MsgVote for (\d+) ")
_CONFIGURATION = re.compile(r"INFO (\d+) switched to configuration (.*)")
_READY = re.compile(r"Lead:(\d+) State:State(\w+)")
_HARD = re.compile(r"HardState Term:(\d+)(?: Vote:(\d+))? Commit:(\d+)")
_SNAPSHOT = re.compile(r"Snapshot Index:(\d+) Term:(\d+)")
_ENTRY = re.compile(r"(\d+)/(\d+) Entry(\w+)(?: (.*))?")
_STATUS = re.compile(r"(\d+): State(\w+) match=(\d+) next=(\d+)")
_STATE = re.compile(r"(\d+): State(\w+) \((Voter|Non-Voter)\) Term:(\d+) Lead:(\d+)")


class Expectations:
    """What is known of the servers: facts by node and field."""

    def __init__(self) -> None:
        self.known: dict[NodeId, dict[str, str]] = {}

    def __len__(self) -> int:
        return sum(len(facts) for facts in self.known.values())

    def learn(self, block: Block) -> None:
        """Read the output of a directive that did something."""
        if block.expected == ("ok",):
            if block.command in ("stabilize", "process-ready", "deliver-msgs", "campaign"):
                self.known.clear()
            return
        node, appending = "".join(block.words[:1]), False
        for line in block.expected:
            text = line.strip()
            if heading := _HEADING.match(line):
                node = heading[1]
            if text.endswith(":") or text.startswith(("Ready", "Messages", "INFO")):
                appending = text == "Entries:"
            elif appending and (entry := _ENTRY.fullmatch(text)):
                self.note(node, "last", f"{entry[1]}/{entry[2]}")
            self.learn_state(node, text)

    def learn_state(self, node: NodeId, text: str) -> None:
        """A line of output that tells the state of a server."""
        if found := _ROLE.match(text):
            self.note(found[1], "role", found[2].replace("-", ""))
            self.note(found[1], "term", found[3])
            if found[2] == "leader":
                self.note(found[1], "leader", found[1])
        elif found := _CAST.match(text):
            self.note(found[1], "vote", found[2])
        elif found := _CONFIGURATION.match(text):
            self.note(found[1], "configuration", found[2])
        elif found := _READY.fullmatch(text):
            self.note(node, "leader", found[1])
            self.note(node, "role", found[2].lower())
        elif found := _HARD.fullmatch(text):
            self.note(node, "term", found[1])
            self.note(node, "vote", found[2] or "0")
            self.note(node, "commit", found[3])
        elif found := _SNAPSHOT.match(text):
            self.note(node, "last", f"{found[2]}/{found[1]}")

    def note(self, node: NodeId, field: str, value: str) -> None:
        self.known.setdefault(node, {})[field] = value

    def differences(self, nodes: Mapping[NodeId, Any]) -> Iterator[str]:
        """Where our servers are in another state."""
        for node, facts in self.known.items():
            ours = state(nodes[node])
            for field, value in facts.items():
                if ours[field] != value:
                    yield f"{node}: {field} {value}, ours {ours[field]}"


def state(made: Any) -> dict[str, str]:
    """Our server in their words."""
    return {
        "role": made.role.name.replace("_", "").lower(),
        "term": str(made.current_term),
        "vote": made.voted_for or "0",
        "leader": made.leader or "0",
        "commit": str(made.commit_index),
        "last": f"{made.last_term}/{made.last_index}",
        "configuration": printed(made.configuration),
    }


def printed(configuration: Configuration) -> str:
    """``voters=(1 2)&&(1) learners=(3) autoleave``."""
    text = f"voters=({' '.join(configuration.voters)})"
    if configuration.joint:
        text += f"&&({' '.join(configuration.voters_outgoing)})"
    for name in ("learners", "learners_next"):
        if nodes := getattr(configuration, name):
            text += f" {name}=({' '.join(nodes)})"
    return text + " autoleave" * configuration.auto_leave


# -- questions: directives that only ask ------------------------------------------------------


def ask(block: Block, nodes: Mapping[NodeId, Any]) -> Iterator[str]:
    """Where our servers answer otherwise."""
    questions: dict[str, Callable[..., list[tuple[str, str]]]] = {
        "status": status,
        "raft-state": raft_state,
        "raft-log": raft_log,
    }
    for theirs, ours in questions[block.command](block, nodes):
        if theirs != ours:
            yield f"{block.command}: {theirs}, ours {ours}"


def status(block: Block, nodes: Mapping[NodeId, Any]) -> list[tuple[str, str]]:
    """What the leader knows of the others (of itself: its last index)."""
    leader, pairs = nodes[block.words[0]], []
    for line in block.expected:
        found = _STATUS.match(line)
        assert found, f"{block.where}: {line!r}"
        node, kind, match, following = found.groups()
        if node == leader.me:
            known = f"Replicate {leader.match_index[node]} {leader.last_index + 1}"
        else:
            progress = leader.progress[node].name.title()
            known = f"{progress} {leader.match_index[node]} {leader.next_index[node]}"
        pairs.append((f"{node}: {kind} {match} {following}", f"{node}: {known}"))
    return pairs


def raft_state(block: Block, nodes: Mapping[NodeId, Any]) -> list[tuple[str, str]]:
    """Role, vote, term and leader of every server."""
    pairs = []
    for line in block.expected:
        found = _STATE.fullmatch(line)
        assert found, f"{block.where}: {line!r}"
        made = nodes[found[1]]
        voter = "Voter" if made.configuration.is_voter(made.me) else "Non-Voter"
        ours = f"{made.role.name.title()} {voter} {made.current_term} {made.leader or '0'}"
        pairs.append((" ".join(found.groups()), f"{made.me} {ours}"))
    return pairs


def raft_log(block: Block, nodes: Mapping[NodeId, Any]) -> list[tuple[str, str]]:
    """Every entry of a server's log."""
    made = nodes[block.words[0]]
    ours = "; ".join(f"{e.term}/{i} {text(e)}" for i, e in enumerate(made.log, made.log.first))
    theirs = []
    for line in block.expected:
        found = _ENTRY.fullmatch(line)
        assert found, f"{block.where}: {line!r}"
        what = found[4].strip('"') if found[3] == "Normal" else "change"
        theirs.append(f"{found[1]}/{found[2]} {what}")
    return [("; ".join(theirs), ours)]


def text(entry: Entry) -> str:
    """What an entry says: nothing, if it is a no-op."""
    if isinstance(entry.command, Request):
        return str(entry.command.command.value)
    return "change" if isinstance(entry.command, Configuration) else ""
