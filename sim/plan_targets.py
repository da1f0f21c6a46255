"""Whom a fault hits, as it is written in a plan: `n1`, `[n1, n2]`, `leader`, `{rack: r1}`, `all`.

Also the two longer forms that are made of targets: the parts of a partition and the two ends of a
link. Every form is read by a `parse_...` function that raises FieldError, and written back by the
`write_...` function beside it; the public way in is :mod:`sim.plan`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from sim.faults import Hold, Link, Partition, Target, Targets
from sim.fields import FieldError, FieldErrors, Fields, parse_whole, unknown_name

__all__ = ["ALL", "Setting"]

ALL = Target("all")
_DOMAINS = ("rack", "zone", "region")
_KEYS = ("role", *_DOMAINS, "random")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TARGET = "a node, a role, all, {role: leader}, {rack: r1}, {zone: z1}, {region: r1} or {random: 2}"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a plan may name: the nodes, roles and failure domains of a scenario, and its length.

    ``roles`` None: any word that doesn't look like a node is taken for a role. ``duration_us``
    None: a fault may begin at any time.
    """

    nodes: tuple[str, ...]
    roles: tuple[str, ...] | None = None
    racks: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    duration_us: int | None = None

    def domain(self, kind: str) -> tuple[str, ...]:
        """The racks, zones or regions that exist."""
        return {"rack": self.racks, "zone": self.zones, "region": self.regions}[kind]

    def has_domain(self, kind: str, name: str) -> bool:
        """Whether there is such a rack, zone or region; ``region/zone`` names one zone."""
        known = self.domain(kind)
        *outer, inner = name.split("/")
        around = (*self.zones, *self.regions)
        return name in known or (inner in known and all(part in around for part in outer))

    def may_be_role(self, name: str) -> bool:
        """Whether ``name`` can be a role: never the name of a node, nor ``all``."""
        if name == "all" or name in self.nodes or not _WORD.fullmatch(name):
            return False
        if self.roles is not None:
            return name in self.roles
        return not any(_pattern(name) == _pattern(node) != node for node in self.nodes)


def _pattern(name: str) -> str:
    """``n#`` of ``n12``: a word of the same pattern as a node is a mistyped node, not a role."""
    return re.sub(r"\d+", "#", name)


# -- targets --------------------------------------------------------------------------------------


def parse_targets(value: object, setting: Setting) -> Targets:
    """One target or a list of them; FieldError (with all mistakes) otherwise."""
    if not isinstance(value, (list, tuple)):
        return (parse_target(value, setting),)
    if not value:
        raise FieldError(value, f"at least one target: {_TARGET}")
    found = _each(value, lambda one: parse_target(one, setting))
    for index, target in enumerate(found):
        if target in found[:index]:
            raise FieldError(value[index], "each target once", path=(index,))
    return tuple(found)


def parse_target(value: object, setting: Setting) -> Target:
    """One target; FieldError names what may stand there."""
    if isinstance(value, str):
        return _parse_word(value, setting)
    if not isinstance(value, Mapping):
        raise FieldError(value, _TARGET)
    if len(value) != 1:
        raise FieldError(dict(value), f"exactly one of {', '.join(_KEYS)}")
    ((key, name),) = value.items()
    if key not in _KEYS:
        raise unknown_name(key, _KEYS, "a kind of target")
    try:
        return _parse_keyed(key, name, setting)
    except FieldError as error:
        raise error.under(key) from None


def _parse_word(word: str, setting: Setting) -> Target:
    if word == "all":
        return ALL
    if word in setting.nodes:
        return Target("node", word)
    if setting.may_be_role(word):
        return Target("role", word)
    known = (*setting.nodes, *(setting.roles or ()), "all")
    what = "a node, a role or all" if setting.roles else "a node or all"
    raise unknown_name(word, known, what)


def _parse_keyed(key: str, name: object, setting: Setting) -> Target:
    if key == "random":
        return Target("random", count=parse_whole(name, least=1, most=len(setting.nodes)))
    if not isinstance(name, str):
        raise FieldError(name, f"the name of a {key}")
    if key == "role":
        return _parse_role(name, setting)
    if not setting.has_domain(key, name):
        raise unknown_name(name, setting.domain(key), f"a {key} of the topology")
    return Target(cast(Literal["rack", "zone", "region"], key), name)


def _parse_role(name: str, setting: Setting) -> Target:
    if setting.may_be_role(name):
        return Target("role", name)
    if setting.roles is None or name in setting.roles:
        raise FieldError(name, "a role, whose name is a word and not that of a node")
    raise unknown_name(name, setting.roles, "a role")


def write_targets(targets: Targets) -> object:
    """The shortest form of ``targets`` that `parse_targets` reads."""
    values = [_write_target(target) for target in targets]
    return values[0] if len(values) == 1 else values


def _write_target(target: Target) -> object:
    if target.kind == "random":
        return {"random": target.count}
    if target.kind in _DOMAINS:
        return {target.kind: target.name}
    return "all" if target.kind == "all" else target.name


def _each(values: Iterable[object], parse: Any) -> list[Any]:
    """Parse every value of a list, gathering the mistakes of all."""
    found: list[Any] = []
    errors: list[FieldError] = []
    for index, value in enumerate(values):
        try:
            found.append(parse(value))
        except FieldError as error:
            errors.append(error.under(index))
    if errors:
        raise FieldErrors(errors)
    return found


# -- partitions -----------------------------------------------------------------------------------

BARE_SHAPES = ("ring", "halves", "bridge")
KEYED_SHAPES = ("isolate", "majority", "minority", "bridge")
_PARTITION = (
    "groups such as [[n1, n2], [n3, n4, n5]], {from: n1, to: [n2, n3]}, {isolate: leader}, "
    "{majority: n1}, {minority: n1}, {bridge: n3}, or one of ring, halves, bridge"
)
Parts = dict[str, Any]


def parse_partition(value: object, setting: Setting) -> Parts:
    """``shape`` and ``groups`` of a Partition; FieldError otherwise."""
    if isinstance(value, (list, tuple)):
        return {"shape": "groups", "groups": _parse_groups(value, setting)}
    if isinstance(value, Mapping):
        return _parse_shape(value, setting)
    if isinstance(value, str) and value in BARE_SHAPES:
        return {"shape": value}
    hint = f"write {{{value}: n1}}" if value in KEYED_SHAPES else ""
    raise FieldError(value, _PARTITION, hint=hint)


def _parse_groups(value: list[object] | tuple[object, ...], setting: Setting) -> tuple[Any, ...]:
    if not value or not all(isinstance(group, (list, tuple)) for group in value):
        hint = "each group is a list; one group stands against all other nodes: [[n1, n2]]"
        raise FieldError(value, "groups such as [[n1, n2], [n3, n4, n5]]", hint=hint)
    groups = tuple(_each(value, lambda group: parse_targets(group, setting)))
    for index, group in enumerate(groups):
        before = [target for other in groups[:index] for target in other]
        if twice := [target for target in group if target in before]:
            given = _write_target(twice[0])
            raise FieldError(given, "each target in one group only", path=(index,))
    return groups


def _parse_shape(value: Mapping[object, object], setting: Setting) -> Parts:
    if "from" in value or "to" in value:
        ends = parse_ends(value, setting)
        return {"shape": "one_way", "groups": (ends["src"], ends["dst"])}
    if len(value) != 1:
        raise FieldError(dict(value), _PARTITION)
    ((shape, centre),) = value.items()
    if shape not in KEYED_SHAPES:
        raise unknown_name(shape, ("from", "to", *KEYED_SHAPES), "a shape of partition")
    try:
        targets = parse_targets(centre, setting)
        if shape != "isolate" and not _is_one(targets):
            raise FieldError(centre, "one node: n1, leader or {random: 1}")
    except FieldError as error:
        raise error.under(shape) from None
    return {"shape": shape, "groups": (targets,)}


def _is_one(targets: Targets) -> bool:
    single = len(targets) == 1 and targets[0].count == 1
    return single and targets[0].kind in ("node", "role", "random")


def write_partition(fault: Partition) -> object:
    """The value beside ``partition:`` that `parse_partition` reads."""
    groups = [write_targets(group) for group in fault.groups]
    if fault.shape == "groups":
        return [group if isinstance(group, list) else [group] for group in groups]
    if fault.shape == "one_way":
        return dict(zip(("from", "to"), groups, strict=False))
    return {fault.shape: groups[0]} if groups else fault.shape


# -- the two ends of a link -----------------------------------------------------------------------


def parse_ends(value: object, setting: Setting) -> Parts:
    """``src`` and ``dst``: {from: n1, to: n2}, or targets for all links to and from them."""
    if not isinstance(value, Mapping) or not ("from" in value or "to" in value):
        return {"src": parse_targets(value, setting), "dst": (ALL,)}
    fields = Fields(value, ("from", "to"), "the two ends")

    def parse(one: object) -> Targets:
        return parse_targets(one, setting)

    src = fields.need("from", parse, _TARGET)
    dst = fields.need("to", parse, _TARGET)
    fields.done()
    return {"src": src, "dst": dst}


def write_ends(fault: Link | Hold) -> object:
    """The value beside ``link:`` or ``hold:`` that `parse_ends` reads."""
    src = write_targets(fault.src)
    return src if fault.dst == (ALL,) else {"from": src, "to": write_targets(fault.dst)}
