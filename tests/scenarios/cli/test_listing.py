"""``list``, ``show``, ``validate``, ``schema``, ``completion``, and the help of every command."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from scenarios._version import __version__
from scenarios.cli import group, main
from scenarios.loader import LIBRARY, library, load
from tests.interpreters import ROOT
from tests.scenarios.cli.conftest import TINY, Splitbrain

BAD = sorted((ROOT / "tests" / "scenarios" / "bad").glob("*.yaml"))


def test_list_names_every_scenario(splitbrain: Splitbrain) -> None:
    done = splitbrain("list")
    assert done.exit_code == 0
    rows = [line.split()[0] for line in done.stdout.splitlines()[1:]]
    assert rows == library()


def test_list_as_json(splitbrain: Splitbrain) -> None:
    done = splitbrain("list", "--json")
    found = json.loads(done.stdout)
    assert (done.stderr, [one["name"] for one in found]) == ("", library())
    first = load(found[0]["name"])
    assert found[0]["title"] == first.title
    assert found[0]["duration_us"] == first.duration_us


@pytest.mark.parametrize("name", library())
def test_show_tells_of_each_scenario(splitbrain: Splitbrain, name: str) -> None:
    scenario = load(name)
    done = splitbrain("show", name)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{name}: {scenario.title}\n")
    assert all(check.id in done.stdout for check in scenario.checks)
    found = json.loads(splitbrain("show", name, "--json").stdout)
    assert (found["schema"], found["scenario"]) == ("splitbrain.scenario/1", dict(scenario.raw))
    assert len(found["faults"]) == len(scenario.faults)


def test_show_prints_the_file_as_it_is(splitbrain: Splitbrain) -> None:
    done = splitbrain("show", "rumor-push", "--source")
    assert done.stdout == (LIBRARY / "rumor-push.yaml").read_text()
    assert splitbrain("show", "rumor-push", "--source", "--json").exit_code == 2


def test_valid_files_exit_with_0(splitbrain: Splitbrain, tiny: Path) -> None:
    done = splitbrain("validate", tiny, "rumor-push")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"{tiny}: valid (tiny, 3 nodes, 6s)"


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_invalid_files_exit_with_2_and_name_the_place(splitbrain: Splitbrain, path: Path) -> None:
    done = splitbrain("validate", path)
    assert done.exit_code == 2
    assert done.stdout.startswith(f"{path}: invalid (")
    assert done.stderr.startswith(str(path))


def test_validate_as_json(splitbrain: Splitbrain, folder: Path, tiny: Path) -> None:
    (folder / "bad.yaml").write_text(TINY.replace("nodes: 3", "nodes: [n1, n1]"))
    done = splitbrain("validate", tiny, "bad.yaml", "nowhere.yaml", "--json")
    good, bad, absent = json.loads(done.stdout)
    assert (done.exit_code, done.stderr) == (2, "")
    assert (good["valid"], good["name"], good["problems"]) == (True, "tiny", [])
    assert (bad["valid"], absent["valid"]) == (False, False)
    assert bad["problems"][0]["line"] == 5
    assert bad["problems"][0]["field"].startswith("nodes")


def test_the_schema_is_one(splitbrain: Splitbrain) -> None:
    schema = json.loads(splitbrain("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(load("rumor-push").raw, schema)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(
    splitbrain: Splitbrain, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    done = splitbrain("completion", shell)
    assert done.exit_code == 0
    assert "_SPLITBRAIN_COMPLETE" in done.stdout and "splitbrain" in done.stdout
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    assert splitbrain("completion").stdout == done.stdout


def test_completion_of_an_unknown_shell(
    splitbrain: Splitbrain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    done = splitbrain("completion")
    assert done.exit_code == 2
    assert "tcsh" in done.stderr and "bash, zsh, fish" in done.stderr


@pytest.mark.parametrize(
    ("words", "last", "offered"),
    [
        ("splitbrain", "re", ["replay", "reproduce"]),
        ("splitbrain run", "rumor-push", ["rumor-push", "rumor-push-pull"]),
        ("splitbrain run rumor-push", "--see", ["--seed", "--seeds"]),
    ],
)
def test_a_shell_is_offered_commands_scenarios_and_options(
    splitbrain: Splitbrain, words: str, last: str, offered: list[str]
) -> None:
    env = {
        "_SPLITBRAIN_COMPLETE": "bash_complete",
        "COMP_WORDS": f"{words} {last}",
        "COMP_CWORD": str(len(words.split())),
    }
    done = splitbrain(prog_name="splitbrain", env=env)
    assert done.stdout.split() == [f"plain,{word}" for word in offered]


# -- help ---------------------------------------------------------------------------------------


def test_the_version(splitbrain: Splitbrain) -> None:
    assert splitbrain("--version").stdout == f"splitbrain {__version__}\n"


def test_the_help_lists_every_command_in_one_line(splitbrain: Splitbrain) -> None:
    done = splitbrain("--help")
    assert done.exit_code == 0
    for name, lazy in group.COMMANDS.items():
        assert any(line.split() == [name, *lazy.text.split()] for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", group.COMMANDS)
def test_every_command_has_help(splitbrain: Splitbrain, name: str) -> None:
    for flag in ("--help", "-h"):
        done = splitbrain(name, flag)
        assert done.exit_code == 0
        assert done.stdout.startswith("Usage: ")
    ours = name not in ("plot", "sweep", "reproduce", "new")
    assert not ours or "Examples:" in done.stdout


def test_new_protocol_has_help(splitbrain: Splitbrain) -> None:
    assert "Examples:" in splitbrain("new", "protocol", "--help").stdout


def test_an_unknown_command_is_named_with_what_there_is(splitbrain: Splitbrain) -> None:
    done = splitbrain("rnu")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "there is no command 'rnu'; there are: list, show" in done.stderr
    assert "did you mean 'run'?" in done.stderr


def test_no_command_at_all_shows_the_help(splitbrain: Splitbrain) -> None:
    done = splitbrain()
    assert done.exit_code == 2
    assert "Usage:" in done.output


def test_an_embedded_call_behaves_as_click_does() -> None:
    with pytest.raises(Exception, match="there is no command"):
        main.main(["rnu"], standalone_mode=False)
