"""What `make dist` finds wrong with a distribution, and what is said once or agrees."""

from __future__ import annotations

import re
import tomllib
from email.message import Message
from pathlib import Path

import pytest
import yaml

import driftway
from tests.distribution import building, contents

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
KNOWN = {"README.md", "src/driftway/__init__.py", "src/driftway/py.typed"}
SDIST = set(KNOWN)
WHEEL = {"driftway/__init__.py", "driftway/py.typed", "driftway-1.dist-info/licenses/LICENSE"}


def metadata(*without: str) -> Message:
    about = Message()
    for field in contents.FIELDS:
        if field not in without:
            about[field] = "something"
    return about


def test_a_whole_distribution_has_no_fault() -> None:
    assert contents.faults(SDIST, WHEEL, KNOWN, metadata()) == []


@pytest.mark.parametrize(
    ("sdist", "wheel", "lacking", "fault"),
    [
        (SDIST - {"README.md"}, WHEEL, (), "the source distribution lacks README.md"),
        (SDIST | {"notes.txt"}, WHEEL, (), "the source distribution has notes.txt, which git does not know"),
        (SDIST, WHEEL - {"driftway/py.typed"}, (), "the wheel lacks driftway/py.typed"),
        (SDIST, WHEEL | {"tests/x.py"}, (), "the wheel has tests/x.py, which is not part of the package"),
        (SDIST, WHEEL - {"driftway-1.dist-info/licenses/LICENSE"}, (), "the wheel lacks the licence"),
        (SDIST, WHEEL, ("Author",), "the metadata lack Author"),
    ],
)
def test_a_fault_is_told(sdist: set[str], wheel: set[str], lacking: tuple[str, ...], fault: str) -> None:
    assert contents.faults(sdist, wheel, KNOWN, metadata(*lacking)) == [fault]


def test_one_changed_byte_is_another_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def built(number: int) -> tuple[Path, Path]:
        folder = tmp_path / str(number)
        folder.mkdir()
        pair = folder / "it.tar.gz", folder / "it.whl"
        pair[0].write_bytes(b"the same")
        pair[1].write_bytes(b"wheel %d" % number)
        return pair

    monkeypatch.setattr(building, "unpacked", lambda *_: tmp_path)
    monkeypatch.setattr(building, "build", lambda *_: built(2))
    (told,) = building.differences(built(1))
    assert told.startswith("it.whl: built twice, it has two digests")


def test_the_newest_version_of_the_changelog_is_the_package_s() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert newest == driftway.__version__


def test_the_recipe_needs_what_the_package_needs() -> None:
    text = (ROOT / "recipe" / "meta.yaml").read_text()
    needs = yaml.safe_load(re.sub(r"\{%.*?%\}\n?", "", text))["requirements"]["run"]
    assert {name.replace(" ", "") for name in needs} == {
        f"python{PROJECT['requires-python']}",
        *PROJECT["dependencies"],
    }


def test_classifiers_begin_with_the_oldest_python() -> None:
    versions = [line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert f">={versions[0]}" == PROJECT["requires-python"]
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())
    assert workflow["jobs"]["tests"]["strategy"]["matrix"]["python"] == versions
