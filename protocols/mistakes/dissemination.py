"""Known-wrong ways to spread updates: each a few lines away from the right one, each caught.

The right ones are :class:`~protocols.dissemination.rumor.RumorMongering` and
:class:`~protocols.dissemination.anti_entropy.AntiEntropy` (Demers et al., CSL-89-1).
"""

from __future__ import annotations

from protocols.api import Context, process
from protocols.dissemination.anti_entropy import AntiEntropy
from protocols.dissemination.entries import Entry
from protocols.dissemination.rumor import Heat, RumorMongering


@process(clock=True)
class NeverSetsBack(RumorMongering):
    """Counts all unneeded contacts, not those in a row (§1.4: a needed one sets it back).

    A common misreading of "loses interest after k unnecessary contacts". Rumors die sooner: less
    traffic, and from k = 2 on a residue some 1.3 to 1.5 times the published one.
    """

    def counted(self, heat: Heat) -> int:
        return heat.counter + (not heat.needed)


@process(clock=True)
class CountsNeeded(RumorMongering):
    """Reads the feedback the wrong way round: contacts that *were* needed count.

    A flag with its meaning inverted on one side. The rumor dies among those who could have spread
    it, and who has nobody left to tell goes on for ever.
    """

    def counted(self, heat: Heat) -> int:
        return heat.counter + 1 if heat.needed else 0


@process(clock=True)
class JudgesOnArrival(RumorMongering):
    """Calls a contact unneeded if another one in the same cycle was quicker.

    The paper's contacts of a cycle happen at once. Traffic and residue shift visibly: this is how
    simulations that update sites in place miss the paper's tables.
    """

    def needs(self, rumor: str) -> bool:
        return rumor not in self.known


@process(clock=True)
class DeletesWithoutCertificate(AntiEntropy):
    """Deletes by forgetting (§2: the old copies spread back from the sites that still have them).

    Known from every replicated store that drops tombstones too early: deleted data comes back.
    """

    def erase(self, ctx: Context, key: str) -> None:
        self.store = self.store.delete(key)


@process(clock=True)
class ArrivalWins(AntiEntropy):
    """Takes what arrives last for what was written last.

    An old copy from a site that was away overwrites the new value; two sites may swap their
    values for ever. The bug of "last write wins" by the time of receipt.
    """

    def supersedes(self, new: Entry, held: Entry) -> bool:
        return new != held


@process(clock=True)
class KeepsOwnOnTie(AntiEntropy):
    """Breaks ties between concurrent writes by "mine is as good as yours".

    The order differs from site to site, so that sites differ for ever: what a version without
    the writer's id, or a timestamp without a tie-break, does.
    """

    def supersedes(self, new: Entry, held: Entry) -> bool:
        return new.version > held.version
