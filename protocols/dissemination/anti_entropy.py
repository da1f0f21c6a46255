"""Anti-entropy: every site regularly resolves all differences with another, picked at random.

Claim: whatever was lost, every update reaches every site in the end, in O(log n) periods; with a
share p of sites left, one more period leaves p^2 by pull and some p/e by push.

Source: Demers et al., "Epidemic Algorithms for Replicated Database Maintenance", Xerox PARC
CSL-89-1 (PODC 1987), §1.3 "Anti-entropy", §2 "Deletion and Death Certificates".

``exchange`` "full" sends the whole database; "digest" sends keys and versions first, and then
only what differs. ``mode`` push, pull or push-pull, as seen from the site that begins.

Deletion writes a death certificate, an entry that spreads like any other. ``retention_us`` after
its activation a site drops it, except that the ``retention_sites`` named in it keep it *dormant*,
for ``dormant_us`` more: not spread, but if an obsolete copy of the item turns up it is activated
again (§2.1). Dropped everywhere too early, a copy that hid at a crashed site comes back to life.

Assumptions: a site that comes back has its disk (``store`` is durable), for a writer that lost
it would give a version number twice. Retention compares local clocks of different sites: it
should be long against their skew. Left out: checksums and recent-update lists, "peel back"
(§1.3; the digest takes their place), Merkle trees, direct mail on an update.

Invariants: two sites never hold different values under one version and writer; while no
certificate expires a site's entry of a key only ever becomes newer. Eventually (no more updates,
no faults): all sites hold the same, :func:`converged`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from protocols.api import (
    SECOND,
    Context,
    Map,
    NodeId,
    durable,
    on,
    on_operation,
    on_timer,
    process,
)
from protocols.client import fail, ok
from protocols.dissemination.anti_entropy_messages import (
    Ask,
    Delete,
    Digest,
    Entries,
    ExchangeDue,
    Get,
    Offer,
    Put,
    Request,
    Updated,
    entries_in,
)
from protocols.dissemination.entries import Age, Death, Entry, Stamp, living, newer, stamps
from protocols.dissemination.partners import partners

__all__ = [
    "AntiEntropy",
    "Ask",
    "Delete",
    "Digest",
    "Entries",
    "ExchangeDue",
    "Get",
    "Offer",
    "Put",
    "Request",
    "Updated",
    "converged",
    "entries_in",
]


@process(clock=True)
class AntiEntropy:
    """A site. ``members`` is one tuple for all sites; ``neighbours``, if given, this site's own.

    The first exchange comes at a random moment of the first ``period_us``. ``retention_us=None``
    keeps death certificates for ever.
    """

    me: NodeId
    members: tuple[NodeId, ...] = ()
    neighbours: tuple[NodeId, ...] = ()
    mode: Literal["push", "pull", "push-pull"] = "push-pull"
    exchange: Literal["full", "digest"] = "full"
    period_us: int = SECOND
    retention_us: int | None = None
    retention_sites: int = 0
    dormant_us: int = 0

    store: Map[str, Entry] = durable(Map())

    def on_start(self, ctx: Context) -> None:
        check_parameters(self)
        ctx.set_timer(ExchangeDue(), after=(1, self.period_us))

    # -- operations -----------------------------------------------------------------------

    @on_operation(Put)
    def put(self, ctx: Context, id: int, op: Put) -> None:
        self.keep(ctx, op.key, Entry(self.next_version(op.key), self.me, op.value))
        ctx.reply(id, ok())

    @on_operation(Get)
    def get(self, ctx: Context, id: int, op: Get) -> None:
        entry = self.store.get(op.key)
        ctx.reply(id, ok(None if entry is None else entry.value))

    @on_operation(Delete)
    def delete(self, ctx: Context, id: int, op: Delete) -> None:
        entry = self.store.get(op.key)
        if entry is None or entry.death is not None:
            ctx.reply(id, fail(f"{self.me} has no value for {op.key!r}"))
            return
        self.erase(ctx, op.key)
        ctx.reply(id, ok())

    def next_version(self, key: str) -> int:
        entry = self.store.get(key)
        return 1 if entry is None else entry.version + 1

    def erase(self, ctx: Context, key: str) -> None:
        """Replace the entry by a death certificate (§2)."""
        others = self.neighbours or self.members
        sites = tuple(sorted(partners(ctx, self.me, others, self.retention_sites)))
        death = Death(ctx.now(), sites)
        self.keep(ctx, key, Entry(self.next_version(key), self.me, None, death))

    def keep(self, ctx: Context, key: str, entry: Entry) -> None:
        self.store = self.store.set(key, entry)
        ctx.observe(Updated(key, entry.version, entry.writer))

    # -- one exchange ---------------------------------------------------------------------

    @on_timer(ExchangeDue)
    def resolve_differences(self, ctx: Context, t: ExchangeDue) -> None:
        ctx.set_timer(t, after=self.period_us)
        self.drop_expired(ctx)
        for partner in partners(ctx, self.me, self.neighbours or self.members, 1):
            ctx.send(partner, self.opening(ctx))

    def opening(self, ctx: Context) -> Entries | Offer | Ask | Digest:
        """The first message of an exchange."""
        if self.exchange == "digest":
            versions = stamps(self.offered(ctx))
            return Digest(versions, push=self.mode != "pull", pull=self.mode != "push")
        if self.mode == "pull":
            return Ask()
        return (Entries if self.mode == "push" else Offer)(self.offered(ctx))

    @on(Entries)
    def receive_entries(self, ctx: Context, src: NodeId, m: Entries) -> None:
        self.merge(ctx, m.entries)

    @on(Offer)
    def receive_offer(self, ctx: Context, src: NodeId, m: Offer) -> None:
        self.merge(ctx, m.entries)
        self.send_entries(ctx, src, newer(self.offered(ctx), stamps(m.entries)))

    @on(Ask)
    def receive_ask(self, ctx: Context, src: NodeId, m: Ask) -> None:
        self.send_entries(ctx, src, self.offered(ctx))

    @on(Digest)
    def receive_digest(self, ctx: Context, src: NodeId, m: Digest) -> None:
        for key, stamp in m.versions.items():
            self.awaken(ctx, key, stamp)
        if m.pull:
            self.send_entries(ctx, src, newer(self.offered(ctx), m.versions))
        if m.push:
            keys = tuple(key for key, stamp in m.versions.items() if self.lacks(key, stamp))
            if keys:
                ctx.send(src, Request(keys))

    @on(Request)
    def receive_request(self, ctx: Context, src: NodeId, m: Request) -> None:
        offered = self.offered(ctx)
        self.send_entries(ctx, src, Map({k: offered[k] for k in m.keys if k in offered}))

    def send_entries(self, ctx: Context, dst: NodeId, entries: Map[str, Entry]) -> None:
        if entries:
            ctx.send(dst, Entries(entries))

    def lacks(self, key: str, stamp: Stamp) -> bool:
        entry = self.store.get(key)
        return entry is None or entry.stamp < stamp

    # -- merging --------------------------------------------------------------------------

    def merge(self, ctx: Context, entries: Mapping[str, Entry]) -> None:
        """Keep of each key the newer entry. Order, repetition and partner make no difference."""
        for key, entry in entries.items():
            held = self.store.get(key)
            if held is None:
                if self.age(ctx, entry) is Age.ACTIVE:
                    self.keep(ctx, key, entry)
            elif self.supersedes(entry, held):
                self.keep(ctx, key, entry)
            else:
                self.awaken(ctx, key, entry.stamp)

    def supersedes(self, new: Entry, held: Entry) -> bool:
        """Whether ``new`` takes the place of ``held``: by version, then writer (§1.1)."""
        return new.stamp > held.stamp

    # -- death certificates ---------------------------------------------------------------

    def age(self, ctx: Context, entry: Entry) -> Age:
        """Where in its life a certificate is, at this site; a value is always active."""
        if entry.death is None or self.retention_us is None:
            return Age.ACTIVE
        over_us = ctx.now() - entry.death.activated_us - self.retention_us
        if over_us < 0:
            return Age.ACTIVE
        dormant = self.me in entry.death.sites and over_us < self.dormant_us
        return Age.DORMANT if dormant else Age.EXPIRED

    def offered(self, ctx: Context) -> Map[str, Entry]:
        """What this site spreads: everything but dormant and expired certificates."""
        if self.retention_us is None:
            return self.store
        hidden = [k for k, entry in self.store.items() if self.age(ctx, entry) is not Age.ACTIVE]
        return self.without(hidden)

    def drop_expired(self, ctx: Context) -> None:
        """Forget the certificates whose time is over."""
        gone = [k for k, entry in self.store.items() if self.age(ctx, entry) is Age.EXPIRED]
        self.store = self.without(gone)

    def without(self, keys: Iterable[str]) -> Map[str, Entry]:
        store = self.store
        for key in keys:
            store = store.delete(key)
        return store

    def awaken(self, ctx: Context, key: str, stamp: Stamp) -> None:
        """Activate a dormant certificate that has met an older entry of its key (§2.1)."""
        held = self.store.get(key)
        if held is None or held.death is None or stamp[:2] >= held.stamp[:2]:
            return
        if self.age(ctx, held) is Age.DORMANT:
            death = Death(ctx.now(), held.death.sites)
            self.keep(ctx, key, Entry(held.version, held.writer, None, death))


def converged(sites: Iterable[AntiEntropy]) -> bool:
    """Whether all sites hold the same values: what must be true in the end."""
    contents = [living(site.store) for site in sites]
    return all(content == contents[0] for content in contents)


def check_parameters(site: AntiEntropy) -> None:
    """Raise ValueError for a parameter that makes no sense."""
    allowed = {"mode": ("push", "pull", "push-pull"), "exchange": ("full", "digest")}
    for name, values in allowed.items():
        if getattr(site, name) not in values:
            raise ValueError(f"{name}={getattr(site, name)!r}: allowed are {', '.join(values)}")
    least = {"period_us": 1, "retention_us": 1, "retention_sites": 0, "dormant_us": 0}
    for name, bound in least.items():
        value = getattr(site, name)
        if value is not None and value < bound:
            raise ValueError(f"{name}={value!r}: give a whole number, at least {bound}")
    if not site.members and not site.neighbours:
        raise ValueError("whom to exchange with? give members (one tuple for all) or neighbours")
