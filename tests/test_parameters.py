"""Parameters of estimators are declared once: signatures, docstrings, checks and options say the same."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any, get_args, get_type_hints

import pytest

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.adaptation import DomainTransportClassifier, DomainTransportRegressor
from driftway.adaptation.parameters import CLASSIFIER
from driftway.adaptation.resolution import settings_of
from driftway.arrays.parameters import OneOf, Parameter, Real, documented
from driftway.pot import SinkhornL1l2Transport, SinkhornTransport, TimeSmoothTransport

HERE = (
    *(ContinuousTransportClassifier, ContinuousTransportRegressor, DomainTransportClassifier, DomainTransportRegressor),
    *(SinkhornTransport, SinkhornL1l2Transport, TimeSmoothTransport),
)
ELSEWHERE = {
    "driftway.river": ("ContinuousTransportClassifier", "ContinuousTransportRegressor"),
    "driftway.skada": ("ContinuousTransportAdapter",),
}
CLASSES = [pytest.param(cls, id=f"{cls.__module__}.{cls.__name__}") for cls in HERE]
CLASSES += [
    pytest.param((module, name), id=f"{module}.{name}") for module, names in ELSEWHERE.items() for name in names
]


@pytest.fixture
def cls(request: pytest.FixtureRequest) -> type:
    """The class, if the library that it is an adapter to is installed."""
    if isinstance(request.param, type):
        return request.param
    module, name = request.param
    pytest.importorskip(module.removeprefix("driftway."))
    return getattr(import_module(module), name)


def section(doc: str) -> str:
    """The lines between the heading Parameters and the next one."""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", doc, re.M | re.S)
    assert found
    return found[1]


def entries(doc: str) -> list[tuple[str, str, str]]:
    """Names, types with defaults, and texts, as a docstring has them."""
    found: list[tuple[str, str, str]] = []
    for line in section(doc).splitlines():
        if line.startswith(" "):
            name, kind, text = found.pop()
            found.append((name, kind, f"{text} {line.strip()}".strip()))
        else:
            name, _, kind = line.partition(" : ")
            found.append((name, kind, ""))
    return found


@pytest.mark.parametrize("cls", CLASSES, indirect=True)
def test_the_signature_is_the_declaration(cls: type) -> None:
    written = inspect.signature(cls).parameters.values()
    assert [(each.name, each.default) for each in written] == [(each.name, each.default) for each in cls._parameters]


@pytest.mark.parametrize("cls", CLASSES, indirect=True)
def test_the_docstring_lists_what_is_declared(cls: type) -> None:
    doc = inspect.getdoc(cls) or ""
    assert [name for name, _, _ in entries(doc)] == [each.name for each in cls._parameters]
    for (_, kind, text), each in zip(entries(doc), cls._parameters, strict=True):
        default = f'"{each.default}"' if isinstance(each.default, str) else getattr(each.default, "__name__", None)
        assert kind == f"{each.accepts.words}, default={default or repr(each.default)}"
        assert text == f"{each.meaning} {each.details}".strip()
    assert "{" not in section(doc)
    assert max(map(len, doc.splitlines())) <= 120


@pytest.mark.parametrize("cls", CLASSES, indirect=True)
def test_a_parameter_has_a_meaning_and_a_default_that_it_accepts(cls: type) -> None:
    for each in cls._parameters:
        assert each.meaning.endswith(".")
        each.check(each.default)


@pytest.mark.parametrize("each", CLASSIFIER, ids=lambda each: each.name)
def test_every_name_that_is_declared_stands_for_something(each: Parameter) -> None:
    if not isinstance(each.accepts, OneOf):
        return
    together = {"map": {"motion": None}, "motion": {"map": "affine"}}.get(each.name, {})
    for name in (*each.accepts.names, *([None] if each.accepts.none else [])):
        given = {} if name == "auto" else together
        settings_of(ContinuousTransportClassifier(**given, **{each.name: name}), heaps=None)
    with pytest.raises(ValueError, match=f"{each.name} must be one of .*got 'nothing'"):
        settings_of(ContinuousTransportClassifier(**{each.name: "nothing"}), heaps=None)


def test_what_is_no_name_and_has_not_the_methods_is_refused() -> None:
    for value in (3, object, object()):
        with pytest.raises(TypeError, match=r"map must be one of 'auto', .* or an object, got"):
            settings_of(ContinuousTransportClassifier(map=value), heaps=None)


def test_words_of_a_constraint() -> None:
    assert OneOf(("a",)).words == '"a"'
    assert OneOf(("a", "b"), none=True).words == '"a", "b" or None'
    assert OneOf(("a",), protocol=int).words == '"a" or a `int`'
    assert (Real().words, Real(zero=True).words) == ("float > 0", "float ≥ 0")


def test_without_docstrings_there_is_nothing_to_fill_in() -> None:
    """As under python -OO."""
    bare = type("Bare", (), {"_parameters": CLASSIFIER})
    assert documented(bare).__doc__ is None


class TestOptions:
    """The command line offers what the library has."""

    @pytest.fixture(autouse=True)
    def _typer(self) -> None:
        pytest.importorskip("typer")

    def of_adapt(self) -> dict[str, tuple[Any, Any, Any]]:
        """The options of `driftway adapt` by name: types, what Typer is told, defaults."""
        from driftway.cli.adapt import adapt

        hints, defaults = get_type_hints(adapt, include_extras=True), inspect.signature(adapt).parameters
        annotated = {name: get_args(hint) for name, hint in hints.items() if hasattr(hint, "__metadata__")}
        return {name: (kind, option, defaults[name].default) for name, (kind, option) in annotated.items()}

    def test_every_parameter_is_an_option_or_left_out_for_a_reason(self) -> None:
        from driftway.cli.estimators import LEFT_OUT, SWITCHES

        names, options = {each.name for each in CLASSIFIER}, self.of_adapt()
        own = {"estimator"}  # which takes names of usual estimators, and --neighbours
        assert LEFT_OUT.keys() | SWITCHES.keys() | own < names
        assert not LEFT_OUT.keys() & options.keys()
        assert all(LEFT_OUT.values())
        for name, (switch, value) in SWITCHES.items():
            declared = next(each for each in CLASSIFIER if each.name == name)
            assert options[switch][2] is False
            assert declared.check(value) != declared.default
        same = names - LEFT_OUT.keys() - SWITCHES.keys()
        assert same <= options.keys()
        method = {name for name, (_, option, _) in options.items() if option.rich_help_panel in ("Method", "Transport")}
        assert method - same == {"regression", "neighbours", *(switch for switch, _ in SWITCHES.values())}

    def test_an_option_has_the_declared_default_choices_and_meaning(self) -> None:
        from driftway.cli.estimators import LEFT_OUT, SWITCHES

        options = self.of_adapt()
        for each in CLASSIFIER:
            if each.name in {*LEFT_OUT, *SWITCHES, "estimator"}:
                continue
            kind, option, default = options[each.name]
            assert default == each.default
            assert option.help.replace("--", "") == each.meaning.replace("`", "")
            if isinstance(each.accepts, OneOf):
                assert get_args(kind) == (*each.accepts.names, *["none"] * each.accepts.none)

    def test_defaults_of_the_command_are_those_of_the_library(self) -> None:
        from driftway.cli.estimators import LEFT_OUT, settings_of

        options = {name: default for name, (_, _, default) in self.of_adapt().items()}
        settings = settings_of(options)
        assert settings == {each.name: each.default for each in CLASSIFIER if each.name not in LEFT_OUT}
        changed = settings_of(
            options | {"renew": True, "absolute_epsilon": True, "motion": "none", "scale": "none", "metric": "none"}
        )
        assert changed == settings | {
            "source": "renewed",
            "relative_epsilon": False,
            "motion": None,
            "scale": None,
            "metric": "none",
        }
