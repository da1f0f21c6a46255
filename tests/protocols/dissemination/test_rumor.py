"""Rumor mongering: one test per sentence of Demers et al., CSL-89-1, §1.4."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.api import MS, SECOND, Map
from protocols.client import ok
from protocols.dissemination.partners import FEW, partners
from protocols.dissemination.rumor import (
    Answer,
    CycleDue,
    Exchange,
    Feedback,
    Heat,
    Learned,
    PhaseDrawn,
    Publish,
    Pull,
    Push,
    Refused,
    Removed,
    RumorMongering,
    Status,
    updates_in,
)
from protocols.step import (
    Fire,
    Invoke,
    Observe,
    Receive,
    Recording,
    Reply,
    Send,
    SetTimer,
    Start,
    durable_state,
    recovered,
    step,
)

ALL = ("n1", "n2", "n3")
START_OF_CYCLE_3 = 3 * SECOND
IN_CYCLE_3 = 3 * SECOND + 5 * MS
NEXT = SetTimer(CycleDue(4), SECOND)


def site(**parameters: Any) -> RumorMongering:
    """Site n1, started at time 0."""
    made = RumorMongering(me="n1", members=ALL, **parameters)
    step(made, Start())
    return made


def infective(**parameters: Any) -> RumorMongering:
    """Site n1, which learned the rumor r in cycle 0."""
    made = site(**parameters)
    step(made, Invoke(1, Publish("r")))
    return made


def removed(**parameters: Any) -> RumorMongering:
    """Site n1, which knows the rumor r and has lost interest in it before cycle 3."""
    made = infective(k=1, **parameters)
    step(made, Fire(CycleDue(1)), now_us=SECOND)
    step(made, Receive("n2", Feedback(1, (), ("r",))), now_us=SECOND + 2 * MS)
    step(made, Fire(CycleDue(2)), now_us=2 * SECOND)
    assert made.status("r") is Status.REMOVED
    return made


def cycle(made: RumorMongering, number: int, *told: Feedback) -> tuple[Any, ...]:
    """The site's cycle ``number``: what it does when it begins; then feedback comes in."""
    effects = step(made, Fire(CycleDue(number)), now_us=number * SECOND)
    for feedback in told:
        step(made, Receive("n2", feedback), now_us=number * SECOND + 2 * MS)
    return effects


# -- the three states --------------------------------------------------------------------------


def test_a_site_that_does_not_know_the_rumor_is_susceptible() -> None:
    assert site().status("r") is Status.SUSCEPTIBLE


def test_a_susceptible_site_that_pushes_sets_no_timer() -> None:
    assert step(RumorMongering(me="n1", members=ALL), Start()) == ()


@pytest.mark.parametrize("mode", ["pull", "push-pull"])
def test_a_site_that_pulls_does_so_whatever_it_knows(mode: Any) -> None:
    pulling = RumorMongering(me="n1", members=ALL, mode=mode)
    assert step(pulling, Start()) == (SetTimer(CycleDue(1), SECOND),)


def test_publishing_makes_a_site_infective_from_its_next_cycle_on() -> None:
    made = site()
    effects = step(made, Invoke(7, Publish("r")), now_us=IN_CYCLE_3)
    due = SetTimer(CycleDue(4), SECOND - 5 * MS)
    assert effects == (Observe(Learned("r")), due, Reply(7, ok()))
    assert made.status("r") is Status.INFECTIVE
    assert made.known == Map({"r": 3})


def test_publishing_a_rumor_twice_changes_nothing() -> None:
    made = removed()
    assert step(made, Invoke(8, Publish("r")), now_us=IN_CYCLE_3) == (Reply(8, ok()),)
    assert made.status("r") is Status.REMOVED


def test_a_site_that_recovers_knows_its_rumors_and_no_longer_spreads_them() -> None:
    made = infective()
    again = recovered(made, durable_state(made))
    assert step(again, Start(), now_us=IN_CYCLE_3) == ()
    assert again.status("r") is Status.REMOVED


# -- push --------------------------------------------------------------------------------------


def test_an_infective_site_pushes_its_rumor_to_one_partner_per_cycle() -> None:
    assert cycle(infective(), 1) == (
        Send("n2", Push(("r",), 1)),
        SetTimer(CycleDue(2), SECOND),
    )


def test_all_hot_rumors_travel_in_one_message() -> None:
    made = infective()
    step(made, Invoke(2, Publish("q")), now_us=MS)
    assert cycle(made, 1)[0] == Send("n2", Push(("q", "r"), 1))


def test_fanout_calls_that_many_distinct_partners() -> None:
    sends = cycle(infective(fanout=2), 1)[:2]
    assert sends == (Send("n2", Push(("r",), 1)), Send("n3", Push(("r",), 1)))


def test_with_neighbours_only_they_are_called() -> None:
    assert cycle(infective(neighbours=("n9",), fanout=2), 1)[0] == Send("n9", Push(("r",), 1))


def test_a_removed_site_neither_pushes_nor_keeps_its_timer() -> None:
    assert cycle(removed(), 3) == ()


def test_a_susceptible_site_that_hears_a_rumor_becomes_infective() -> None:
    made = site()
    effects = step(made, Receive("n2", Push(("r",), 3)), now_us=IN_CYCLE_3)
    assert effects == (
        Observe(Learned("r")),
        SetTimer(CycleDue(4), SECOND - 5 * MS),
        Send("n2", Feedback(3, needed=("r",), known=())),
    )
    assert made.status("r") is Status.INFECTIVE


def test_two_pushes_to_one_susceptible_site_in_one_cycle_are_both_needed() -> None:
    made = site()
    step(made, Receive("n2", Push(("r",), 3)), now_us=IN_CYCLE_3)
    effects = step(made, Receive("n3", Push(("r",), 3)), now_us=IN_CYCLE_3 + MS)
    assert effects == (Send("n3", Feedback(3, needed=("r",), known=())),)


def test_a_push_in_a_later_cycle_is_not_needed() -> None:
    made = infective()
    effects = step(made, Receive("n3", Push(("r",), 1)), now_us=SECOND + MS)
    assert effects == (Send("n3", Feedback(1, needed=(), known=("r",))),)


def test_a_removed_site_that_hears_the_rumor_again_stays_removed() -> None:
    made = removed()
    effects = step(made, Receive("n3", Push(("r",), 3)), now_us=IN_CYCLE_3)
    assert effects == (Send("n3", Feedback(3, needed=(), known=("r",))),)
    assert made.status("r") is Status.REMOVED


def test_who_learns_in_a_cycle_that_has_just_begun_starts_in_the_next() -> None:
    made = infective()  # it has a timer for cycle 1
    step(made, Receive("n2", Push(("q",), 1)), now_us=SECOND)  # arrives first, at the same time
    assert cycle(made, 1)[0] == Send("n2", Push(("r",), 1))
    assert cycle(made, 2)[0] == Send("n2", Push(("q", "r"), 2))


# -- losing interest: feedback or blind, counter or coin ------------------------------------------


NEEDED = Feedback(1, ("r",), ())
UNNEEDED = Feedback(1, (), ("r",))


def at(number: int, feedback: Feedback) -> Feedback:
    return Feedback(number, feedback.needed, feedback.known)


def test_counter_interest_is_lost_after_k_unneeded_contacts() -> None:
    made = infective(k=2)
    cycle(made, 1, at(1, UNNEEDED))
    cycle(made, 2, at(2, UNNEEDED))
    assert cycle(made, 3) == (Observe(Removed("r")),)
    assert made.status("r") is Status.REMOVED


def test_counter_a_needed_contact_sets_it_back_to_zero() -> None:
    made = infective(k=2)
    for number, feedback in enumerate((UNNEEDED, NEEDED, UNNEEDED), 1):
        cycle(made, number, at(number, feedback))
    assert cycle(made, 4)[0] == Send("n2", Push(("r",), 4))
    assert made.hot == Map({"r": Heat(1)})


def test_counter_if_any_contact_of_the_cycle_was_needed_it_is_set_back() -> None:
    made = infective(k=2, fanout=2)
    cycle(made, 1, at(1, UNNEEDED), at(1, UNNEEDED))
    cycle(made, 2, at(2, NEEDED), at(2, UNNEEDED))
    cycle(made, 3)
    assert made.hot == Map({"r": Heat(0)})


def test_counter_several_unneeded_contacts_of_one_cycle_count_as_one() -> None:
    made = infective(k=2, fanout=2)
    cycle(made, 1, at(1, UNNEEDED), at(1, UNNEEDED))
    cycle(made, 2)
    assert made.hot == Map({"r": Heat(1)})


def test_a_contact_without_an_answer_counts_for_nothing() -> None:
    made = infective(k=1)
    cycle(made, 1)
    cycle(made, 2)
    assert made.hot == Map({"r": Heat(0)})


def test_feedback_that_comes_after_its_cycle_counts_for_nothing() -> None:
    made = infective(k=1)
    cycle(made, 1)
    cycle(made, 2, at(1, UNNEEDED))
    assert cycle(made, 3)[0] == Send("n2", Push(("r",), 3))


def test_rumors_have_counters_of_their_own() -> None:
    made = infective(k=1)
    step(made, Invoke(2, Publish("q")), now_us=MS)
    cycle(made, 1, Feedback(1, needed=("q",), known=("r",)))
    assert cycle(made, 2)[:2] == (Observe(Removed("r")), Send("n2", Push(("q",), 2)))


def test_blind_every_contact_counts_and_no_feedback_is_given() -> None:
    made = infective(k=2, removal="blind")
    assert cycle(made, 1)[0] == Send("n2", Push(("r",), 1))
    assert cycle(made, 2)[0] == Send("n2", Push(("r",), 2))
    assert cycle(made, 3) == (Observe(Removed("r")),)
    assert step(made, Receive("n3", Push(("r",), 3)), now_us=IN_CYCLE_3) == ()


@pytest.mark.parametrize(("drawn", "status"), [(0, Status.REMOVED), (3, Status.INFECTIVE)])
def test_coin_interest_is_lost_with_chance_one_in_k(drawn: int, status: Status) -> None:
    offered: list[Any] = []

    def choose(options: Any) -> Any:
        offered.append(options)
        return options[drawn]

    made = infective(k=4, counting="coin")
    cycle(made, 1, at(1, UNNEEDED))
    step(made, Receive("n3", Push((), 2)), now_us=2 * SECOND, choose=choose)  # closes cycle 1
    assert offered == [range(4)]
    assert made.status("r") is status


def test_coin_with_feedback_is_not_tossed_after_a_needed_contact() -> None:
    made = infective(k=1, counting="coin")
    cycle(made, 1, at(1, NEEDED))
    cycle(made, 2)
    assert made.status("r") is Status.INFECTIVE


def test_coin_blind_is_tossed_in_every_cycle() -> None:
    made = infective(k=1, counting="coin", removal="blind")
    cycle(made, 1)
    assert cycle(made, 2) == (Observe(Removed("r")),)


@pytest.mark.parametrize("removal", ["feedback", "blind"])
def test_without_k_interest_is_never_lost_and_no_feedback_given(removal: Any) -> None:
    made = infective(k=None, removal=removal)
    for number in range(1, 9):
        assert cycle(made, number)[0] == Send("n2", Push(("r",), number))
    assert step(made, Receive("n3", Push(("r",), 8)), now_us=8 * SECOND + MS) == ()
    assert made.hot == Map({"r": Heat()})


# -- pull and push-pull --------------------------------------------------------------------------


def test_pull_every_site_asks_one_partner_per_cycle() -> None:
    assert cycle(site(mode="pull"), 3) == (Send("n2", Pull(3)), NEXT)


def test_pull_an_infective_site_answers_with_its_hot_rumors() -> None:
    made = infective(mode="pull")
    effects = step(made, Receive("n2", Pull(3)), now_us=IN_CYCLE_3)
    assert effects == (Send("n2", Answer(("r",), 3)),)


def test_pull_what_was_learned_in_this_cycle_is_not_given_yet() -> None:
    made = site(mode="pull")
    step(made, Receive("n2", Answer(("r",), 3)), now_us=IN_CYCLE_3)
    assert step(made, Receive("n3", Pull(3)), now_us=IN_CYCLE_3 + MS) == ()


@pytest.mark.parametrize("make", [site, removed])
def test_pull_a_site_without_hot_rumors_does_not_answer(make: Any) -> None:
    assert step(make(mode="pull"), Receive("n2", Pull(3)), now_us=IN_CYCLE_3) == ()


def test_pull_the_puller_tells_whether_it_needed_the_answer() -> None:
    made = site(mode="pull")
    effects = step(made, Receive("n2", Answer(("r",), 3)), now_us=IN_CYCLE_3)
    assert effects[0] == Observe(Learned("r"))
    assert effects[-1] == Send("n2", Feedback(3, needed=("r",), known=()))


def test_pull_the_counter_is_set_back_if_any_puller_needed_it() -> None:
    made = infective(mode="pull", k=2)
    step(made, Receive("n2", Pull(1)), now_us=SECOND + MS)
    step(made, Receive("n2", at(1, UNNEEDED)), now_us=SECOND + 3 * MS)
    cycle(made, 2, at(2, UNNEEDED), at(2, NEEDED), at(2, UNNEEDED))
    cycle(made, 3)
    assert made.hot == Map({"r": Heat(0)})


def test_pull_the_counter_is_closed_before_an_early_puller_is_answered() -> None:
    made = infective(mode="pull", k=1)
    cycle(made, 1, at(1, UNNEEDED))
    # n2's clock is a little ahead: its pull of cycle 2 comes before the site's own timer.
    effects = step(made, Receive("n2", Pull(2)), now_us=2 * SECOND)
    assert effects == (Observe(Removed("r")),)


def test_pull_blind_a_cycle_with_answers_counts() -> None:
    made = infective(mode="pull", k=1, removal="blind")
    cycle(made, 1)
    step(made, Receive("n2", Pull(1)), now_us=SECOND + MS)
    assert cycle(made, 2)[0] == Observe(Removed("r"))


def test_push_pull_a_contact_is_made_even_with_nothing_to_tell() -> None:
    assert cycle(site(mode="push-pull"), 3) == (Send("n2", Exchange((), 3)), NEXT)


def test_push_pull_both_sites_tell_each_other() -> None:
    made = infective(mode="push-pull")
    effects = step(made, Receive("n2", Exchange(("q",), 1)), now_us=SECOND + MS)
    assert effects == (
        Observe(Learned("q")),
        SetTimer(CycleDue(2), SECOND - MS),
        Send("n2", Feedback(1, needed=("q",), known=())),
        Send("n2", Answer(("r",), 1)),
    )


def test_push_pull_a_rumor_is_not_told_to_whom_it_was_heard_from() -> None:
    made = infective(mode="push-pull")
    effects = step(made, Receive("n2", Exchange(("r",), 1)), now_us=SECOND + MS)
    assert effects == (Send("n2", Feedback(1, needed=(), known=("r",))),)


# -- connection limit and hunting ------------------------------------------------------------------


def test_connection_limit_further_connections_of_a_cycle_are_refused() -> None:
    made = site(connection_limit=1)
    step(made, Receive("n2", Push(("r",), 3)), now_us=IN_CYCLE_3)
    effects = step(made, Receive("n3", Push(("q",), 3)), now_us=IN_CYCLE_3 + MS)
    assert effects == (Send("n3", Refused(3)),)
    assert made.status("q") is Status.SUSCEPTIBLE


@pytest.mark.parametrize("call", [Push(("q",), 4), Pull(4), Exchange((), 4)])
def test_connection_limit_counts_anew_in_the_next_cycle(call: Any) -> None:
    made = site(connection_limit=1, mode="push-pull")
    step(made, Receive("n2", Push(("r",), 3)), now_us=IN_CYCLE_3)
    assert Send("n3", Refused(4)) not in step(made, Receive("n3", call), now_us=4 * SECOND)
    assert step(made, Receive("n2", call), now_us=4 * SECOND) == (Send("n2", Refused(4)),)


def test_connection_limit_an_answer_needs_no_connection_of_its_own() -> None:
    made = site(connection_limit=1, mode="pull")
    step(made, Receive("n2", Pull(3)), now_us=IN_CYCLE_3)
    step(made, Receive("n3", Answer(("r",), 3)), now_us=IN_CYCLE_3)
    assert made.status("r") is Status.INFECTIVE


def test_hunt_limit_a_refused_site_tries_that_many_alternatives() -> None:
    made = infective(hunt_limit=1)
    cycle(made, 1)
    refused = Receive("n2", Refused(1))
    assert step(made, refused, now_us=SECOND + 2 * MS) == (Send("n2", Push(("r",), 1)),)
    assert step(made, refused, now_us=SECOND + 4 * MS) == ()


def test_a_refused_contact_counts_for_nothing() -> None:
    made = infective(k=1)
    cycle(made, 1)
    step(made, Receive("n2", Refused(1)), now_us=SECOND + 2 * MS)
    assert cycle(made, 2)[0] == Send("n2", Push(("r",), 2))


def test_a_refusal_of_an_earlier_cycle_starts_no_hunt() -> None:
    made = infective(hunt_limit=1)
    cycle(made, 1)
    assert step(made, Receive("n2", Refused(1)), now_us=2 * SECOND) == ()


# -- time ----------------------------------------------------------------------------------------


def test_random_phase_cycles_are_counted_from_a_random_moment() -> None:
    made = RumorMongering(me="n1", members=ALL, phase="random")
    assert step(made, Start()) == (SetTimer(PhaseDrawn(), (0, SECOND - 1)),)
    assert step(made, Fire(PhaseDrawn()), now_us=300 * MS) == ()
    effects = step(made, Invoke(1, Publish("r")), now_us=3 * SECOND)
    assert SetTimer(CycleDue(3), 300 * MS) in effects  # cycle 3 begins at 3.3 s
    assert cycle_at(made, 3, 3_300 * MS)[0] == Send("n2", Push(("r",), 3))


def cycle_at(made: RumorMongering, number: int, now_us: int) -> tuple[Any, ...]:
    return step(made, Fire(CycleDue(number)), now_us=now_us)


def test_random_phase_a_rumor_heard_before_the_phase_is_drawn_waits_for_it() -> None:
    made = RumorMongering(me="n1", members=ALL, phase="random")
    step(made, Start())
    assert not timers(step(made, Invoke(1, Publish("r")), now_us=100 * MS))
    assert timers(step(made, Fire(PhaseDrawn()), now_us=300 * MS)) == [
        SetTimer(CycleDue(1), SECOND)
    ]


def timers(effects: tuple[Any, ...]) -> list[SetTimer]:
    return [effect for effect in effects if isinstance(effect, SetTimer)]


def test_a_timer_that_fires_a_microsecond_early_begins_its_cycle_all_the_same() -> None:
    made = infective()
    assert cycle_at(made, 3, START_OF_CYCLE_3 - 1) == (
        Send("n2", Push(("r",), 3)),
        SetTimer(CycleDue(4), SECOND + 1),
    )


def test_after_a_pause_the_cycles_missed_are_skipped() -> None:
    effects = cycle_at(infective(), 1, 50 * SECOND + 1)
    assert effects == (Send("n2", Push(("r",), 50)), SetTimer(CycleDue(51), SECOND - 1))


def test_a_clock_set_back_does_not_silence_a_site() -> None:
    made = infective()
    cycle(made, 100)
    assert cycle_at(made, 101, 5 * SECOND) == (
        Send("n2", Push(("r",), 101)),
        SetTimer(CycleDue(102), 2 * SECOND),
    )


# -- partners, parameters, traffic -----------------------------------------------------------------


def test_partners_among_few_are_drawn_from_the_others_without_repetition() -> None:
    offered: list[Any] = []

    def choose(options: Any) -> Any:
        offered.append(options)
        return options[0]

    assert partners(Recording(choose=choose), "n2", ALL, 5) == ("n1", "n3")
    assert offered == [("n1", "n3"), ("n3",)]


def test_partners_among_many_are_drawn_again_when_it_is_the_site_itself() -> None:
    members = tuple(f"n{i}" for i in range(FEW + 1))
    draws = iter(["n5", "n7", "n7", "n5", "n9"])

    def choose(options: Any) -> Any:
        assert options is members  # the shared tuple, not a copy per site
        return next(draws)

    assert partners(Recording(choose=choose), "n5", members, 2) == ("n7", "n9")


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"mode": "shout"}, r"mode='shout': allowed are push, pull, push-pull"),
        ({"removal": "deaf"}, r"removal='deaf': allowed are feedback, blind"),
        ({"counting": "dice"}, r"counting='dice': allowed are counter, coin"),
        ({"phase": "late"}, r"phase='late': allowed are aligned, random"),
        ({"k": 0}, r"k=0: give a whole number, at least 1"),
        ({"fanout": 0}, r"fanout=0: give a whole number, at least 1"),
        ({"period_us": 0}, r"period_us=0: give"),
        ({"connection_limit": 0}, r"connection_limit=0: give"),
        ({"hunt_limit": -1}, r"hunt_limit=-1: give a whole number, at least 0"),
        ({"members": ()}, r"give members \(one tuple for all\) or neighbours"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        step(RumorMongering(**{"me": "n1", "members": ALL, **parameters}), Start())


def test_traffic_counts_the_updates_carried() -> None:
    messages = [Push(("q", "r"), 1), Exchange((), 1), Answer(("r",), 1), Pull(1), Refused(1)]
    assert [updates_in(m) for m in messages] == [2, 0, 1, 0, 0]
