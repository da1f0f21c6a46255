"""Random SimPy programs see the same on SimPy and on the engine, however they are run."""

from __future__ import annotations

from random import Random

import simpy
from hypothesis import event, given
from hypothesis import strategies as st

from sim.engine import Engine
from tests.sim.simpy_programs import World, programs, run_to_the_end


def on(env: simpy.Environment, program: list, way: str = "run", size: int = 1) -> list:
    """What a program sees on an environment that is run in one of several ways."""
    world = World(env, program)
    ways = {
        "run": env.run,
        # Each end that was reached leaves an event behind, so that slices alone would never end.
        "until a time": lambda: env.run(until=env.now + size if env.now < 8 else None),
        "until a process": lambda: until_a_process(world, size),
        "by steps": env.step,
        "run_until_us": lambda: env.run_until_us(env.now + size),
        "max_events": lambda: env.run_until_us(env.now + 3, max_events=size),
    }
    return run_to_the_end(world, ways[way])


def until_a_process(world: World, index: int) -> None:
    """Run until a process ends, if it has not, and note its value; then whatever is left."""
    process = world.processes[index % len(world.processes)]
    if process.is_alive:
        try:
            world.note("run", world.env.run(until=process))
        except RuntimeError as error:
            world.note("run", "never" if "not triggered" in str(error) else error)
    else:
        world.env.run()


def crashes(seen: list) -> list:
    return [entry for entry in seen[:-1] if entry[1] == "run" and entry[2][0] == "crash"]


@given(programs)
def test_a_program_sees_the_same_on_both(program: list) -> None:
    expected = on(simpy.Environment(), program)
    event(f"crashes: {min(len(crashes(expected)), 3)}")
    event(f"entries: {len(expected) // 5 * 5}")
    assert on(Engine(), program) == expected


@given(
    programs,
    st.sampled_from(["until a time", "until a process", "by steps"]),
    st.integers(1, 3),
)
def test_and_so_it_does_in_each_way_to_run_it(program: list, way: str, size: int) -> None:
    assert on(Engine(), program, way, size) == on(simpy.Environment(), program, way, size)


@given(programs, st.sampled_from(["run_until_us", "max_events"]), st.integers(1, 3))
def test_bounded_runs_see_what_simpys_run_sees(program: list, way: str, size: int) -> None:
    """But for the clock at the very end, which run_until_us leaves at its own end."""
    *seen, end = on(Engine(), program, way, size)
    *expected, simpys_end = on(simpy.Environment(), program)
    assert seen == expected and end[1:] == simpys_end[1:]


@given(programs)
def test_watching_the_steps_changes_nothing(program: list) -> None:
    engine, times = Engine(), []
    step = engine.step

    def watching() -> None:
        step()
        times.append(engine.now)

    engine.step = watching  # type: ignore[method-assign]
    assert on(engine, program) == on(Engine(), program)
    assert times == sorted(times)


@given(programs, st.integers(0, 2**32))
def test_random_ties_repeat_from_their_seed_and_break_no_promise_of_simpy(
    program: list, seed: int
) -> None:
    """Another order of ties may change what happens; but time goes on, and nothing ends a run but
    a failure of the program's own: one that a process let go, or an event that it broke.
    """
    seen = on(Engine(tie_break=Random(seed)), program)
    assert seen == on(Engine(tie_break=Random(seed)), program)
    times = [entry[0] for entry in seen]
    assert times == sorted(times)
    world = World(Engine(tie_break=Random(seed)), program)
    again = run_to_the_end(world, world.env.run)
    assert len(crashes(again)) <= world.announced
