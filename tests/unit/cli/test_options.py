"""Options that several commands share, and values that are typed as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from tests.command_line import mentions, refusal
from typer.testing import CliRunner

from flexibo.cli import _options as options
from flexibo.cli._options import (
    ExecutionOptions,
    StudyOptions,
    SystemOptions,
    given_options,
    parsed_cost,
    parsed_names,
    parsed_resources,
    parsed_seconds,
    parsed_share,
)
from flexibo.errors import InvalidValueError
from flexibo.systems.base import System


class TestTexts:
    @pytest.mark.parametrize(
        ("given", "names"),
        [([], []), (["", " , "], []), (["a,b", "a", " c  d,"], ["a", "b", "c", "d"])],
    )
    def test_names_are_parted_by_commas_and_spaces_and_come_once(self, given: list[str], names: list[str]) -> None:
        assert parsed_names(given) == names

    @pytest.mark.parametrize("text", ["soon", "", "-1", "0", "0s", "nan", "inf", "1e400", "5 minutes", "s", "h1"])
    def test_a_duration_is_a_number_above_zero_with_a_unit_or_none(self, text: str) -> None:
        with pytest.raises(InvalidValueError, match=f"^--idle .*{text!r}.*30m"):
            parsed_seconds(text, "--idle")

    @pytest.mark.parametrize("text", ["5", "100%", "1", "-1%", "nan", "few", "%"])
    def test_a_share_is_below_one(self, text: str) -> None:
        with pytest.raises(InvalidValueError, match=f"^--share .*'{text}'.*5%"):
            parsed_share(text, "--share")

    def test_a_share_of_nothing_may_be_missed(self) -> None:
        assert [parsed_share(text, "--share") for text in ("0", "0%", "99.9%")] == [0.0, 0.0, 0.999]

    def test_a_cost_is_a_number_or_a_duration_and_may_be_zero(self) -> None:
        assert [parsed_cost(text, "--cost") for text in ("0", "4.5", "3s", "2 m", "0h")] == [0.0, 4.5, 3.0, 120.0, 0.0]

    @pytest.mark.parametrize("text", ["-1", "-1s", "nan", "inf", "much", "", "3 dollars"])
    def test_a_cost_of_another_kind_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidValueError, match=f"^--cost .*{text!r}"):
            parsed_cost(text, "--cost")

    def test_resources_are_amounts_and_the_last_of_a_name_counts(self) -> None:
        assert dict(parsed_resources(["GPU,jetson=0.5", "GPU=2"])) == {"GPU": 2.0, "jetson": 0.5}
        assert dict(parsed_resources([])) == {}

    @pytest.mark.parametrize("text", ["GPU=many", "GPU=", "GPU=0", "GPU=-1", "GPU=nan", "=1"])
    def test_resources_of_no_amount_or_no_name_are_refused(self, text: str) -> None:
        with pytest.raises(InvalidValueError, match="--resources"):
            parsed_resources([text])


class TestGroups:
    @pytest.mark.parametrize(
        ("group", "field"),
        [
            (StudyOptions, "budget"),
            (StudyOptions, "lease"),
            (StudyOptions, "certified_error"),
            (ExecutionOptions, "idle"),
            (SystemOptions, "longest"),
        ],
    )
    def test_a_wrong_text_is_refused_at_once(self, group: Callable[..., object], field: str) -> None:
        with pytest.raises(InvalidValueError, match=f"--{field.replace('_', '-')} .*'soon'"):
            group(**{field: "soon"})

    def test_what_was_not_typed_is_left_to_the_file_or_the_storage(self) -> None:
        nothing = StudyOptions()
        assert (nothing.budget_seconds, nothing.lease_seconds, nothing.stop_rules) == (None, None, {})
        typed = StudyOptions(budget="2m", lease="5s", certified_error="5%")
        assert (typed.budget_seconds, typed.lease_seconds) == (120.0, 5.0)
        assert typed.stop_rules == {"certified_error": 0.05}

    def test_training_data_is_a_folder_that_exists(self, tmp_path: Path) -> None:
        assert SystemOptions(data=tmp_path).data_folder() == tmp_path
        with pytest.raises(InvalidValueError, match=r"none.*--data"):
            SystemOptions(data=tmp_path / "none").data_folder()
        (tmp_path / "file").touch()
        with pytest.raises(InvalidValueError, match=r"file.*--data"):
            SystemOptions(data=tmp_path / "file").data_folder()

    def test_missing_training_data_says_what_else_can_be_done(self) -> None:
        ways = {(True, False): False, (True, True): True, (False, False): False}
        for (trains, is_recorded), replay in ways.items():
            with pytest.raises(InvalidValueError, match=r"--data FOLDER.*FLEXIBO_DATA") as caught:
                SystemOptions().data_folder(trains=trains, is_recorded=is_recorded)
            assert mentions(caught.value, "--recorded") == replay
            assert mentions(caught.value, "shape") == (not trains)

    def test_a_group_has_what_was_typed_or_set_in_the_environment(self) -> None:
        found: list[object] = []
        app = typer.Typer()

        @app.command()
        def command(
            context: typer.Context,
            storage: options.StorageURL = "",
            seed: options.Seed = 7,
            only: options.Only = None,
            executor: options.Executor = "inline",
        ) -> None:
            found.extend([given_options(StudyOptions, context), given_options(ExecutionOptions, context)])

        def given(*words: str, **variables: str) -> list[object]:
            found.clear()
            assert CliRunner().invoke(app, words, env=variables).exit_code == 0
            return list(found)

        assert given() == [StudyOptions(), ExecutionOptions()]
        assert given("--seed", "7", "--only", "a,b", "--only", "c") == [
            StudyOptions(seed=7),
            ExecutionOptions(only=("a", "b", "c")),
        ]
        assert given(FLEXIBO_STORAGE="sqlite:///e.db")[0] == StudyOptions(storage="sqlite:///e.db")
        typed = StudyOptions(storage="sqlite:///t.db", is_storage_typed=True)
        assert given("--storage", "sqlite:///t.db", FLEXIBO_STORAGE="sqlite:///e.db")[0] == typed


class TestBlankValues:
    @pytest.mark.parametrize(
        ("command", "flag", "blank"),
        [
            (("run", "study.yaml"), "--budget", ""),
            (("run", "study.yaml"), "--certified-error", " "),
            (("run", "study.yaml"), "--lease", ""),
            (("resume",), "--budget", " "),
            (("resume",), "--idle", ""),
        ],
    )
    def test_an_option_that_is_typed_without_its_number_is_refused(
        self, folder: Path, command: tuple[str, ...], flag: str, blank: str
    ) -> None:
        assert mentions(refusal(*command, flag, blank), flag, "empty")
        assert not (folder / "toy.db").exists()

    def test_an_option_of_systems_that_is_typed_without_its_number_is_refused(self, toy: System) -> None:
        assert mentions(refusal("run", "toy", "--recorded", "--longest", ""), "--longest", "empty")
