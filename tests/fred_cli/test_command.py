"""Tests of fred_cli.command: sections of options, and an example in each help text."""

import shlex

import click
import pytest

from fred_cli.command import SECTIONS, Command
from tests.fred_cli.walk import commands

COMMANDS = dict(commands())


@pytest.mark.parametrize("words", COMMANDS)
def test_help_ends_with_an_example_of_the_command(words: str) -> None:
    context = COMMANDS[words]
    command = context.command
    assert isinstance(command, Command)
    assert context.get_help().endswith(f"Example:\n  {command.example}")
    given = shlex.split(command.example)
    count = len(words.split())
    assert given[: count + 1] == ["fred", *words.split()]
    command.make_context(words, given[count + 1 :], parent=context.parent)


def test_long_lists_of_options_are_in_sections() -> None:
    help_text = COMMANDS["estimate"].get_help()
    places = [help_text.find(f"\n{title}:\n") for title in SECTIONS]
    places = [place for place in places if place >= 0]
    assert len(places) == 6
    assert places == sorted(places)
    topology = help_text[places[0] : places[1]]
    assert "--topology " in topology and "--workload " not in topology
    assert "Topology:" not in COMMANDS["presets"].get_help()


@pytest.mark.parametrize("words", COMMANDS)
def test_sections_hold_all_options_of_a_command(words: str) -> None:
    help_text = COMMANDS[words].get_help()
    if any(f"\n{title}:\n" in help_text for title in SECTIONS):
        assert "\nOptions:\n" not in help_text


def test_every_name_of_a_section_is_a_parameter() -> None:
    parameters = {
        one.name
        for context in COMMANDS.values()
        for one in context.command.get_params(context)
        if isinstance(one, click.Option)
    }
    assert {name for names in SECTIONS.values() for name in names.split()} <= parameters


def test_no_option_is_lost() -> None:
    for words, context in COMMANDS.items():
        help_text = context.get_help()
        for one in context.command.get_params(context):
            if isinstance(one, click.Option) and not one.hidden:
                assert one.opts[-1] in help_text, words
