"""All systems of the paper at the size tiny: trained and run, from data in the paper's own formats, without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.slow]

from tests.command_line import write_mnist  # noqa: E402
from tests.unit.systems.data.review_files import write_archive  # noqa: E402
from tests.unit.systems.data.test_cifar import write_batches  # noqa: E402
from tests.unit.systems.data.test_speech import write_digits  # noqa: E402
from tests.unit.systems.data.test_squad import article, asked, document, write_squad  # noqa: E402
from tests.unit.systems.fake_runner import short_readings  # noqa: E402

from flexibo import Study  # noqa: E402
from flexibo.systems.build import TINY_SECONDS, SystemRequest, build_runner  # noqa: E402
from flexibo.systems.catalogue import SYSTEMS  # noqa: E402
from flexibo.systems.dnn import ERROR, ESTIMATE, dnn_system  # noqa: E402


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_mnist(folder)
    write_batches(folder)
    write_digits(folder)
    write_archive(folder)
    write_squad(folder, document(article(asked("Where?", "France"), asked("Why?"))))
    return folder


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_is_measured_at_the_size_tiny(name: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short_readings(monkeypatch)
    runner = build_runner(
        SystemRequest(
            name, data, platform="linux-cpu", estimate_watts=10, size="tiny", models=None, budget_seconds=3600
        )
    )
    assert runner.longest_seconds == TINY_SECONDS
    system = dnn_system(runner)
    study = Study(system.space, system.objectives, seed=0, stop={"max_evaluations": 2})
    study.run(system.functions, progress=False)
    assert [objective.name for objective in study.objectives] == [ERROR, ESTIMATE]
    assert [study.history.count(j) for j in range(2)] == [1, 1]


def test_no_option_of_a_tiny_image_network_is_large(data: Path) -> None:
    for name in SYSTEMS:
        runner = build_runner(
            SystemRequest(name, data, platform="linux-cpu", estimate_watts=10, size="tiny", models=None)
        )
        for option, values in runner.system.options.items():
            assert len(values) >= 2
            assert max(values) <= (3 if option.startswith("filter_size") else 128)
        assert max(runner.platform.options(runner.system.traits).get("batch", (1,))) <= 16
