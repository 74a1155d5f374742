"""The report in a real browser: the slider moves the cloud, the curves are there, nothing is asked of anybody.

Needs Chromium from the system's packages (`apt-get install chromium`), and is skipped without it.
"""

from __future__ import annotations

import re
import shutil
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from driftway import AdaptationWarning, ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.report import Projection, take_snapshot, write_report

pytest.importorskip("plotly")
playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "</script><img src=x onerror=alert(1)> & \"'"
WIDTHS = {"desk": (1280, 900), "phone": (390, 844)}

if BROWSER is None:
    pytest.skip(
        "the report is not tested in a browser, for there is none: install Chromium from the system's packages "
        "(apt-get install chromium)",
        allow_module_level=True,
    )


def turned(count, degrees, seed):
    points, labels = make_moons(count, noise=0.05, random_state=seed)
    angle = np.deg2rad(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), labels


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Reports of labelled moons with hostile names, of unlabelled points with four features, and of a regression."""
    folder = tmp_path_factory.mktemp("reports")
    X, y = turned(100, 0, 0)
    names = np.array([HOSTILE, "other"])
    model, unadapted = ContinuousTransportClassifier().fit(X, names[y]), KNeighborsClassifier(1).fit(X, names[y])
    shots, projection = [], Projection.fit(X)
    for step in range(1, 8):
        batch, truth = turned(40, 18 * step, step)
        batch += 30.0 * (step == 7)  # which is unusual
        truth[:3] = truth[:3] if step > 1 else 1 - truth[:3]  # which is what the classifier gets wrong
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AdaptationWarning)
            model.partial_fit(batch)
        assert bool(caught) == (step == 7)
        shots.append(take_snapshot(model, f"{HOSTILE} {step}", batch, projection, names[truth], baseline=unadapted))
    write_report(folder / "moons.html", shots, estimator=model, title=HOSTILE)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    model = ContinuousTransportClassifier().fit(X + 4.0 * np.eye(4)[y], y)
    batch = rng.normal(size=(30, 4)) + 4.0 * np.eye(4)[y[:30]]
    shots = [take_snapshot(model.partial_fit(batch), k, batch, Projection.fit(X)) for k in range(2)]
    write_report(folder / "unlabelled.html", shots, estimator=model)

    X = rng.normal(size=(60, 1))
    values = ContinuousTransportRegressor().fit(X, X[:, 0])
    shots = [take_snapshot(values.partial_fit(X + k), k, X + k, Projection.fit(X), X[:, 0]) for k in range(3)]
    write_report(folder / "values.html", shots, estimator=values)
    return folder


@pytest.fixture(scope="module")
def visits(chromium, pages):
    """Opens every report once per width, and keeps what the browser complained of and asked for."""
    opened, said, asked = {}, [], []

    def visit(name, width):
        if (name, width) not in opened:
            size = dict(zip(("width", "height"), WIDTHS[width], strict=True))
            page = chromium.new_context(viewport=size, color_scheme="dark").new_page()
            page.set_default_timeout(300_000)  # milliseconds: only a page that hangs fails, however busy the machine is
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
            page.on("request", lambda request: asked.append(request.url))
            page.goto((pages / name).as_uri())
            page.wait_for_selector("body[data-ready]")
            opened[name, width] = page
        return opened[name, width]

    return visit, opened, said, asked, pages


@pytest.fixture
def open_page(visits):
    """A report at its last step, which draws without a complaint and without a request."""
    visit, opened, said, asked, pages = visits

    def at_the_end(name, width="desk"):
        page = visit(name, width)
        page.locator("#slider").press("End")
        return page

    yield at_the_end
    assert said == []
    assert asked == [(pages / name).as_uri() for name, _ in opened]


def trace(page, place, number, key):
    return page.evaluate(
        "([place, number, key]) => document.getElementById(place).data[number][key]", [place, number, key]
    )


def marked(page):
    """The step that the curves mark, if all agree."""
    lines = page.evaluate("[...document.querySelectorAll('#curves .plot')].map((plot) => plot.layout.shapes.at(-1).x0)")
    assert len(set(lines)) == 1
    return lines[0]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_slider_moves_the_cloud_and_the_mark(open_page, width):
    page = open_page("moons.html", width)
    slider = page.locator("#slider")
    assert page.locator("#moment").text_content().startswith("step 7 of 7")
    last = trace(page, "cloud", 0, "x"), trace(page, "cloud", 1, "x")
    slider.press("Home")
    assert page.locator("#moment").text_content().startswith("step 1 of 7")
    first = trace(page, "cloud", 0, "x"), trace(page, "cloud", 1, "x")
    assert len(first[0]) == 100
    assert len(first[1]) == 40
    assert first[0] != last[0]
    assert first[1] != last[1]
    assert marked(page) == 1
    slider.press("ArrowRight")
    assert slider.input_value() == "1"
    assert marked(page) == 2
    slider.fill("4")
    assert page.locator("#moment").text_content() == f"step 5 of 7 · {HOSTILE} 5"
    assert slider.get_attribute("aria-valuetext") == f"step 5 of 7 · {HOSTILE} 5"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["moons.html", "unlabelled.html", "values.html"])
def test_it_fits_the_width_and_every_picture_is_drawn(open_page, name, width):
    page = open_page(name, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width][0]
    for plot in page.locator(".plot").all():
        box = plot.locator("svg.main-svg").first.bounding_box()
        assert box["width"] > 250
        assert box["x"] + box["width"] <= WIDTHS[width][0]
    assert page.locator("#cloud .scatterlayer path.point").count() > 60


def test_the_curves_of_a_labelled_stream(open_page):
    page = open_page("moons.html")
    titles = [text.split("\n")[0] for text in page.locator("#curves figcaption").all_inner_texts()]
    assert titles == [
        "Accuracy and confidence",
        "Drift signal",
        "Distance from the source",
        "Transport cost",
        "Class proportions",
        "Convergence",
        "Believed track",
    ]
    names = page.evaluate("document.querySelector('#curves .plot').data.map((trace) => trace.name)")
    assert names == ["accuracy", "without adaptation", "confidence"]
    drawn = page.evaluate("document.querySelectorAll('#curves .plot')[0].querySelectorAll('.lines path').length")
    assert drawn == 3
    assert page.evaluate("document.querySelectorAll('#curves .plot')[5].data[0].x.length") == 7


def test_without_labels_confidence_and_signal_are_shown(open_page):
    page = open_page("unlabelled.html")
    titles = [text.split("\n")[0] for text in page.locator("#curves figcaption").all_inner_texts()]
    assert titles[0] == "Confidence"
    assert "accuracy" not in page.locator("#facts").inner_text()
    assert page.evaluate("document.getElementById('cloud').layout.xaxis.title.text").startswith("first principal axis")


def test_a_regression_has_a_scale_of_values(open_page):
    page = open_page("values.html")
    assert page.locator("#cloud .cbaxis").count() == 1
    assert page.locator("#curves figcaption").all_inner_texts()[0].startswith("R²")
    assert trace(page, "cloud", 0, "y") == trace(page, "cloud", 0, "marker")["color"]  # height is the value


def test_it_plays_to_the_end_and_pauses(open_page):
    page = open_page("moons.html")
    button, slider = page.locator("#play"), page.locator("#slider")
    slider.fill("5")
    button.click()
    assert button.get_attribute("aria-label") == "Pause"
    expect(slider).to_have_value("6")
    expect(button).to_have_attribute("aria-label", "Play")
    button.press("Enter")  # from the end it begins again
    expect(slider).to_have_value("1")
    button.press("Enter")
    expect(button).to_have_attribute("aria-label", "Play")


def test_curves_and_warnings_lead_to_their_step(open_page):
    page = open_page("moons.html")
    plot = page.locator("#curves .plot .nsewdrag").nth(1)
    box = plot.bounding_box()
    plot.click(position={"x": box["width"] * 2.5 / 7, "y": box["height"] / 2})
    assert marked(page) == 3
    assert not page.locator("#unsafe").is_visible()
    page.locator(".warnings button").click()
    assert marked(page) == 7
    assert "standard deviations further" in page.locator("#unsafe").inner_text()


def test_what_users_named_is_shown_as_it_is_named(open_page):
    page = open_page("moons.html")
    assert page.locator("h1").text_content() == HOSTILE
    assert page.title() == HOSTILE
    assert f"●{HOSTILE[:39]}…◆other" in page.locator("#legend").text_content()
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("#mix .xtick text").first.text_content() == HOSTILE[:13] + "…"


def test_wrong_predictions_are_ringed(open_page):
    page = open_page("moons.html")
    page.locator("#slider").press("Home")
    for axis in "xy":
        assert trace(page, "cloud", 2, axis)[:3] == trace(page, "cloud", 1, axis)[:3]
    told = trace(page, "cloud", 1, "text")[0]
    assert re.fullmatch(r"row 1 of the batch<br>predicted (.*) \(confidence [01][.0-9]*\)<br>true (?!\1).*", told)


def test_colours_follow_the_mode_at_once(open_page):
    page = open_page("moons.html")
    number = page.locator("#cloud .xtick text").first
    expect(number).to_have_css("fill", "rgb(232, 235, 240)")
    page.emulate_media(color_scheme="light")
    expect(number).to_have_css("fill", "rgb(27, 31, 39)")
    page.emulate_media(color_scheme="dark")
    expect(number).to_have_css("fill", "rgb(232, 235, 240)")
