"""Hypotheses by themselves: sensors, the prior in time, and the mix, against independent oracles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from scipy.special import softmax
from scipy.stats import multivariate_t
from sklearn.linear_model import LogisticRegression

from driftway import ContinuousTransportClassifier
from driftway.adaptation.hypotheses.mix import (
    MEAN_ERROR,
    MixEvidence,
    corrected,
    earned_mix,
    estimated_mix,
    inflation,
)
from driftway.adaptation.hypotheses.sensor_search import MIX_COUNTS, RETURN, search_of
from driftway.adaptation.hypotheses.sensor_state import Map, SensorState
from driftway.adaptation.hypotheses.sensors import SensorFit, Sensors
from driftway.adaptation.hypotheses.time_prior import NU, Prior, Steps
from driftway.adaptation.source.classes import source_classes
from driftway.adaptation.source.view import SourceView, source_views

Array = np.ndarray
CENTRES = np.array([[3.0, 0.0, 0.0, 1.0], [0.0, 3.0, 0.0, 0.0], [0.0, 0.0, 3.0, -1.0]])


def sample(n: int, seed: int, mix: tuple[float, ...] = (1 / 3, 1 / 3, 1 / 3)) -> tuple[Array, Array]:
    """Three classes in four dimensions."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(mix), size=n, p=mix)
    return rng.normal(size=(n, 4)) + CENTRES[y], y


def view(classes: int = 3, n: int = 150, code: bool = False) -> SourceView:
    X, y = sample(n, 0, (1 / classes,) * classes)
    if code:
        X[:, 3] = X[:, 3] > 0
    return source_views(X, y, y, np.ones(n), LogisticRegression(), classes)[0]


SENSORS, BOTH, STILL = (True, False), (True, True), (False, True)


class TestPrior:
    def test_the_cost_is_that_of_a_student_distribution(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(100, 3))
        X = np.linalg.qr(X - X.mean(axis=0))[0]  # uncorrelated to the bit, so that all three dimensions are effective
        source = source_classes(X, np.arange(100) % 2, np.ones(100), 2)
        assert source.dimension == pytest.approx(3.0)
        prior = Prior(source, Steps(0.03, 0.01), 80)
        shift = multivariate_t(np.zeros(3), 0.03 * np.eye(3) + (source.axes * source.spectrum) @ source.axes.T / 80, NU)
        gain = multivariate_t(np.zeros(3), np.diag(0.01 + (source.kurtosis - 1.0) / (4 * 80)), NU)
        zero = np.zeros(3)
        for scale in (0.01, 0.1, 1.0, 10.0):
            delta, eta = scale * rng.normal(size=(2, 3))
            wanted = shift.logpdf(zero) - shift.logpdf(delta)
            assert prior.cost(delta, zero)[0] == pytest.approx(wanted, rel=1e-8)
            both = wanted + 0.5 * (gain.logpdf(zero) - gain.logpdf(eta))  # gains count half
            assert prior.cost(delta, eta)[0] == pytest.approx(both, rel=1e-8)

    def test_gradients_are_finite_differences(self) -> None:
        rng = np.random.default_rng(1)
        prior = Prior(view().classes, Steps(), 60)
        delta, eta = 0.3 * rng.normal(size=(2, 4))
        _, by_delta, by_eta = prior.cost(delta, eta)
        assert check_grad(lambda d: prior.cost(d, eta)[0], lambda _: by_delta, delta) < 1e-5
        assert check_grad(lambda e: prior.cost(delta, e)[0], lambda _: by_eta, eta) < 1e-5

    def test_further_costs_more_and_is_trusted_more(self) -> None:
        rng = np.random.default_rng(2)
        prior = Prior(view().classes, Steps(), 60)
        direction = rng.normal(size=(2, 4))
        scales = np.geomspace(1e-3, 1e3, 25)
        costs = [prior.cost(*(scale * direction))[0] for scale in scales]
        assert (np.diff(costs) > 0).all()
        trusts = np.array([np.concatenate(prior.trust(*(scale * direction))) for scale in scales])
        assert ((trusts > 0) & (trusts < 1)).all()
        assert (np.diff(trusts, axis=0) > 0).all()
        assert (trusts[-1] > 0.999).all()  # all of a jump
        assert not prior.is_jump(*(scales[0] * direction))
        assert prior.is_jump(*(scales[-1] * direction))

    def test_small_batches_are_trusted_less(self) -> None:
        source, innovations = view().classes, np.full((2, 4), 0.1)
        small, large = (np.concatenate(Prior(source, Steps(), size).trust(*innovations)) for size in (20, 200))
        assert (small < large).all()

    def test_the_size_of_steps_is_learned(self) -> None:
        rng = np.random.default_rng(3)
        prior = Prior(view().classes, Steps(), 200)
        fast = slow = Steps()
        for _ in range(15):
            fast = fast.learned(0.5 * rng.normal(size=4), 0.2 * rng.normal(size=4), prior.noise, jump=False)
            slow = slow.learned(0.05 * rng.normal(size=4), 0.02 * rng.normal(size=4), prior.noise, jump=False)
        assert 0.05 < fast.shift < 0.6
        assert slow.shift < 0.01 < 10 * Steps().gain < 1
        assert fast.gain > 5 * slow.gain
        assert fast.seen == 15
        jumped = slow.learned(np.full(4, 9.0), np.zeros(4), prior.noise, jump=True)
        taken = slow.learned(np.full(4, 9.0), np.zeros(4), prior.noise, jump=False)
        assert slow.shift < jumped.shift < taken.shift


class TestClasses:
    def test_how_well_they_are_told_apart_is_the_variance_that_the_best_rule_explains(self) -> None:
        rng, y = np.random.default_rng(0), np.repeat([0, 1], 2000)
        for distance in (0.5, 2.0, 5.0):
            X = rng.normal(size=(4000, 1)) + distance * y[:, None]
            found = source_classes(X, y, np.ones(4000), 2).apart
            proba = 1.0 / (1.0 + np.exp(-distance * (X[:, 0] - 0.5 * distance)))
            assert found == pytest.approx(np.var(proba) / 0.25, abs=0.02)


class TestMix:
    def test_it_is_where_a_direct_optimisation_ends(self) -> None:
        rng = np.random.default_rng(0)
        shares = np.array([0.5, 0.3, 0.2])
        logits = 2.0 * rng.normal(size=(120, 3)) + [0.0, 0.0, 2.0]
        proba, prior = softmax(logits, axis=1), np.array([0.2, 0.3, 0.5])
        for counts in (0.0, 10.0, 200.0):

            def loss(u: Array, counts: float = counts) -> float:
                mix = softmax(u)
                return float(-np.log(proba @ (mix / shares)).sum() - counts * prior @ np.log(mix))

            best = minimize(loss, np.zeros(3), method="BFGS")
            found = estimated_mix(proba, shares, prior, counts)
            assert found.sum() == pytest.approx(1.0)
            np.testing.assert_allclose(found, softmax(best.x), atol=2e-3)

    def test_probabilities_are_corrected_by_bayes_rule(self) -> None:
        rng = np.random.default_rng(1)
        density = rng.uniform(size=(10, 3))
        shares, mix = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.1, 0.3])
        learned, wanted = ((density * w) / (density @ w)[:, None] for w in (shares, mix))
        np.testing.assert_allclose(corrected(learned, mix, shares), wanted)

    def test_a_mix_without_evidence_is_the_sources(self) -> None:
        shares = np.array([0.4, 0.6])
        np.testing.assert_allclose(earned_mix(np.tile(shares, (50, 1)), shares, shares, 1.0, 1000).answered, shares)
        sure = np.eye(2)[np.repeat([0, 1], [90, 10])] * 0.98 + 0.01
        found = earned_mix(sure, shares, np.array([0.9, 0.1]), 1.0, 1000).answered
        assert found[0] > 0.83
        doubtful = earned_mix(sure, shares, np.array([0.9, 0.1]), 10.0, 1000).answered
        assert shares[0] < doubtful[0] < found[0]
        of_a_small_source = earned_mix(sure, shares, np.array([0.9, 0.1]), 1.0, 50).answered
        assert shares[0] < of_a_small_source[0] < found[0]

    def test_a_mix_by_chance_is_rarely_answered_for(self) -> None:
        rng, shares, kept = np.random.default_rng(0), np.array([0.5, 0.5]), []
        for _ in range(200):
            z = rng.normal(size=100) + np.where(rng.uniform(size=100) < 0.5, 1.0, -1.0)
            proba = np.stack([1.0 / (1.0 + np.exp(-2.0 * z)), 1.0 / (1.0 + np.exp(2.0 * z))], axis=1)
            kept.append(not np.allclose(earned_mix(proba, shares, shares, 1.0, 10**6).answered, shares))
        assert np.mean(kept) < 0.05

    def test_a_mean_that_is_slightly_off_is_no_mix_where_classes_overlap(self) -> None:
        rng, shares = np.random.default_rng(0), np.array([0.5, 0.5])
        first = 0.52 + 0.05 * rng.normal(size=400)  # a fifth of a deviation, but ten times what chance explains
        overlapping = np.stack([first, 1.0 - first], axis=1)
        assert estimated_mix(overlapping, shares, shares, 0.0)[0] > 0.9
        np.testing.assert_allclose(earned_mix(overlapping, shares, np.array([0.9, 0.1]), 1.0, 1000).answered, shares)
        apart = np.eye(2)[np.repeat([0, 1], [320, 80])] * 0.98 + 0.01
        assert earned_mix(apart, shares, shares, 1.0, 1000).answered[0] > 0.65

    def test_weak_evidence_counts_when_it_lasts(self) -> None:
        rng, shares = np.random.default_rng(2), np.array([0.5, 0.5])

        def batch(share: float) -> Array:
            z = rng.normal(size=60) + np.where(rng.uniform(size=60) < share, 1.0, -1.0)
            return np.stack([1.0 / (1.0 + np.exp(-2.0 * z)), 1.0 / (1.0 + np.exp(2.0 * z))], axis=1)

        def answered(share: float, lasting: bool) -> Array:
            found = []
            for _ in range(60):
                past = MixEvidence()
                for _ in range(12):
                    earned = earned_mix(batch(share), shares, shares, 1.0, 10**6, past)
                    past = earned.evidence if lasting else past
                found.append(earned.answered[0] - 0.5)
            return np.array(found)

        # A change that lasts is followed further than each of its batches would show; without one, answers stay.
        assert answered(0.66, True).mean() > 1.5 * answered(0.66, False).mean()
        assert np.abs(answered(0.5, True)).mean() < 0.01

    def test_one_batch_alone_does_not_count_as_lasting(self) -> None:
        once = MixEvidence().after(5.0)
        assert (once.ratio, once.batches) == (5.0, 1)
        assert once.by_chance(1) == pytest.approx(1.0 + np.sqrt(2.0))
        for _ in range(200):
            once = once.after(1.0)
        assert once.ratio == pytest.approx(1.0)
        # The mean of χ² over its degrees of freedom has a variance of 2 over their number.
        assert once.by_chance(4) == pytest.approx(1.0 + np.sqrt(2.0 / (4 * 19)))

    def test_what_errors_of_the_mean_explain_is_that_of_a_gaussian_model(self) -> None:
        rng = np.random.default_rng(3)
        proba = softmax(2.0 * rng.normal(size=(80, 3)), axis=1)
        change = np.array([0.3, -0.5, 0.2])
        covariance = np.cov(proba.T, bias=True)
        moved = (covariance @ change)[:2]  # two of three shares are free
        by_chance = moved @ np.linalg.solve(covariance[:2, :2] / 80, moved)
        error = MEAN_ERROR**2 * (np.eye(3) - 1 / 3)[:2, :2]
        with_errors = moved @ np.linalg.solve(covariance[:2, :2] / 80 + error, moved)
        assert inflation(proba, change) == pytest.approx(by_chance / with_errors)
        assert inflation(np.tile(proba[:1], (80, 1)), change) == 1.0


def far_state(source: SourceView, seed: int = 0) -> SensorState:
    """A state in the middle of a stream."""
    rng, d = np.random.default_rng(seed), len(source.classes.centre)
    start = Sensors(source, *BOTH).start()
    return replace(start, map=Map(0.2 * rng.normal(size=d), 0.5 * rng.normal(size=d)), misfits=(1.0, 9.0, 12.0))


class TestObjective:
    @pytest.mark.parametrize("classes", [2, 3])
    @pytest.mark.parametrize("kind", ["usual", "dead", "code", "both"])
    def test_its_gradient_is_a_finite_difference(self, classes: int, kind: str) -> None:
        source = view(classes, code=kind in ("code", "both"))
        batch = source.inverse(source(sample(70, 5, (1 / classes,) * classes)[0]) * 1.3 + 0.4)
        if kind in ("dead", "both"):
            batch[:, 1] = 7.0
        if kind in ("code", "both"):
            batch[:, 3] = np.arange(70) % 5 == 0
        state = far_state(source)
        task = search_of(source.classes, *BOTH, state, source(batch))
        np.testing.assert_array_equal(task.alive, [True, kind not in ("dead", "both"), True, True])
        np.testing.assert_array_equal(task.moving, task.alive & ([True] * 3 + [kind not in ("code", "both")]))
        rng = np.random.default_rng(1)
        for _ in range(3):
            mix, trust = rng.dirichlet(np.full(classes, 5.0)), tuple(rng.uniform(0.1, 0.9, size=(2, 4)))
            value, gradient, _ = task.objective(mix, state.map, trust)
            step = 1e-6
            numeric = [
                (
                    task.objective(mix + step * e, state.map, trust)[0]
                    - task.objective(mix - step * e, state.map, trust)[0]
                )
                / (2 * step)
                for e in np.eye(classes)
            ]
            np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4 * abs(value))


class TestSensors:
    def test_known_gains_and_offsets_are_recovered(self) -> None:
        source = view()
        gain, offset = np.array([1.5, 0.7, 1.0, 2.0]), np.array([0.8, -0.5, 0.0, 2.0])
        hypothesis = Sensors(source, *SENSORS)
        state = hypothesis.start()
        for _ in range(3):  # the source's own points, so that chance has no say
            fit = hypothesis.fit(state, source.inverse(source.classes.points * gain + offset))
            state = fit.state
        np.testing.assert_allclose(fit.map.gain, gain, rtol=0.02)
        np.testing.assert_allclose(fit.map.offset, offset, atol=0.02)
        assert fit.misfit + fit.energy < 5.0
        X, y = sample(300, 9)
        moved = source.inverse(source(X) * gain + offset)
        assert np.mean(fit.posteriors(moved).argmax(axis=1) == y) > 0.9
        np.testing.assert_allclose(source.inverse(source.classes.points * fit.map.gain + fit.map.offset), fit.images())

    def test_a_mix_is_recovered_with_the_map(self) -> None:
        source, mix = view(), (0.7, 0.05, 0.25)
        X, y = sample(400, 1, mix)
        batch = source.inverse(source(X) * [1.2, 0.8, 1.1, 1.0] + [0.3, 0.5, -0.3, 0.1])
        fits = {kind: Sensors(source, *kind).fit(Sensors(source, *kind).start(), batch) for kind in (SENSORS, BOTH)}
        np.testing.assert_allclose(fits[BOTH].mix, np.bincount(y) / 400, atol=0.1)
        assert fits[BOTH].misfit + 5 < fits[SENSORS].misfit
        np.testing.assert_array_equal(fits[SENSORS].mix, source.classes.shares)
        accuracy = {kind: np.mean(fit.posteriors(batch).argmax(axis=1) == y) for kind, fit in fits.items()}
        assert accuracy[BOTH] > 0.9
        np.testing.assert_allclose(fits[BOTH].of_batch(), fits[BOTH].posteriors(batch))

    def test_a_class_that_leaves_is_not_made_up_for_by_the_map(self) -> None:
        def draw(seed: int, shares: list[float], step: int = 0) -> Array:
            rng = np.random.default_rng(seed)
            y = rng.choice(2, size=100, p=shares)[:, None]
            together, own = rng.normal(size=(100, 1)), rng.normal(size=(100, 6))
            return 3.0 * y + np.where(y == 0, 0.35, 1.05) * (together + own) + 0.2 * step

        X, y = np.concatenate([draw(1, [1.0, 0.0]), draw(2, [0.0, 1.0])]), np.repeat([0, 1], 100)
        source = source_views(X, y, y, np.ones(200), LogisticRegression(), 2)[0]
        moving, found = Sensors(source, *BOTH), []
        for stream in (0, 20, 40):
            state = moving.start()
            for step, shares in enumerate([[0.5, 0.5]] * 2 + [[0.0, 1.0]] * 6):
                fit = moving.fit(state, draw(stream + 3 + step, shares, step + 1))
                state = fit.state
                found += [fit.mix[0]] if step > 1 else []
        # 0.10 if mixes only change little by little, 0.07 if all that do not are drawn to the source's by half.
        assert np.mean(found) < 0.05

    def test_a_mix_goes_back_or_stays_or_is_any_other(self) -> None:
        source = view()
        last, batch = np.array([0.01, 0.49, 0.5]), sample(200, 1)[0]
        task = search_of(source.classes, True, True, replace(far_state(source), mix=last), source(batch))
        mixes = {"last": last, "usual": task.usual, "gone": [1e-4, 1e-4, 0.9998]}
        prices = {name: task.mix_prior(np.array(mix))[0] for name, mix in mixes.items()}
        assert max(prices["last"], prices["usual"]) < 1.0
        overlapping = replace(task, source=replace(source.classes, apart=0.0))
        assert overlapping.mix_prior(last)[0] > prices["last"] + 0.5  # there the last mix is hardly known
        most = RETURN + np.log(200)  # half of log m for each of two free shares
        near = [MIX_COUNTS * each @ np.log(each / mixes["gone"]) for each in (last, task.usual)]
        assert prices["gone"] == pytest.approx(-np.log(np.exp(-most) + np.exp(-np.array(near)).sum()), abs=0.01)
        assert most - 0.1 < prices["gone"] < most

    def test_who_stands_still_has_no_map_and_any_mix(self) -> None:
        source = view()
        X, y = sample(300, 1, (0.1, 0.8, 0.1))
        fit = Sensors(source, *STILL).fit(Sensors(source, *STILL).start(), X)
        np.testing.assert_array_equal(fit.map.log_gain, 0.0)
        np.testing.assert_allclose(fit.map.offset, 0.0, atol=1e-12)
        np.testing.assert_allclose(fit.mix, np.bincount(y) / 300, atol=0.1)

    def test_a_dead_feature_is_left_out(self) -> None:
        source, hypothesis = view(), Sensors(view(), *BOTH)
        state = hypothesis.fit(hypothesis.start(), sample(200, 1)[0] + [0, 0, 0.5, 0]).state
        X, y = sample(200, 2)
        X[:, 3] = 40.0
        fit = hypothesis.fit(state, X)
        np.testing.assert_array_equal(fit.alive, [True, True, True, False])
        other = X.copy()
        other[:, 3] = -7.0
        np.testing.assert_array_equal(fit.posteriors(X), fit.posteriors(other))
        np.testing.assert_allclose(fit.back(source(X))[:, 3], source.classes.moments(fit.mix)[0][3])
        assert fit.state.map.offset[3] == state.map.offset[3]  # where it was when it was last seen
        assert fit.state.map.log_gain[3] == state.map.log_gain[3]
        assert np.mean(fit.posteriors(X).argmax(axis=1) == y) > 0.85

    def test_a_code_is_not_moved(self) -> None:
        source = view(code=True)
        hypothesis = Sensors(source, *BOTH)
        X, _ = sample(200, 1)
        X[:, 3] = np.arange(200) % 10 == 0
        fit = hypothesis.fit(hypothesis.start(), X + np.array([1.0, 0.0, 0.0, 0.0]))
        assert (fit.map.log_gain[3], fit.map.offset[3]) == (0.0, pytest.approx(0.0, abs=1e-12))
        assert abs(fit.map.offset[0]) > 0.3

    def test_a_return_is_found_by_its_anchor(self) -> None:
        source, hypothesis = view(), Sensors(view(), *SENSORS)
        here, there = np.array([0.6, -0.6, 0.4, 0.5]), np.array([9.0, -7.0, 8.0, 6.0])
        state = hypothesis.start()
        for step in range(1, 11):
            state = hypothesis.fit(state, source.inverse(source(sample(150, step)[0]) + here * step / 10)).state
        assert not state.before_jumps
        settled = state
        away = hypothesis.fit(state, source.inverse(source(sample(150, 7)[0]) + there))
        np.testing.assert_allclose(away.map.offset, there, atol=0.35)
        assert away.state.before_jumps[0] is settled.map
        for offset, anchor in ((here, "before a jump"), (np.zeros(4), "source"), (there, "last")):
            batch = source(source.inverse(source(sample(150, 8)[0]) + offset))
            best = search_of(hypothesis.source, *BOTH, away.state, batch).best()
            assert best.anchor.name == anchor
            np.testing.assert_allclose(best.map.offset, offset, atol=0.35)

    def test_what_it_expects_is_the_moved_source_in_the_mix(self) -> None:
        source, state = view(), far_state(view())
        state = replace(state, mix=np.array([0.2, 0.5, 0.3]))
        expected = Sensors(source, *BOTH).expect(state)
        np.testing.assert_allclose(np.bincount(source.classes.groups, expected.masses), state.mix)
        np.testing.assert_allclose(source(expected.points), source.classes.points * state.map.gain + state.map.offset)

    def test_states_and_fits_are_the_same_after_a_trip_through_arrays(self) -> None:
        source = view()
        hypothesis = Sensors(source, *BOTH)
        fit = hypothesis.fit(far_state(source), sample(100, 3)[0] + 30.0)
        again = SensorState.of(fit.state.arrays(), features=4, groups=len(source.classes.shares))
        for name, array in again.arrays().items():
            np.testing.assert_array_equal(array, fit.state.arrays()[name])
        assert again.overdispersion == fit.state.overdispersion
        restored: SensorFit = hypothesis.restored(again, fit.arrays())
        X = sample(50, 4)[0]
        np.testing.assert_array_equal(restored.posteriors(X), fit.posteriors(X))

    @pytest.mark.parametrize("size", [2, 3, 5])
    def test_tiny_and_odd_batches_give_finite_answers(self, size: int) -> None:
        source = view()
        for kind in (STILL, SENSORS, BOTH):
            hypothesis = Sensors(source, *kind)
            for batch in (sample(size, 1)[0], np.repeat(sample(1, 2)[0], size, axis=0), 1e12 * sample(size, 3)[0]):
                fit = hypothesis.fit(hypothesis.start(), batch)
                assert np.isfinite(fit.posteriors(batch)).all()
                assert np.isfinite([fit.misfit, fit.energy]).all()
                assert all(np.isfinite(array).all() for array in fit.state.arrays().values())


class TestWithout:
    """What a batch tells of whether a class is there."""

    @staticmethod
    def _nats(apart: float) -> list[float]:
        rng = np.random.default_rng(0)
        y = np.arange(300) % 2
        X = rng.normal(size=(300, 3)) + apart * y[:, None] * [1.0, 0.0, 0.0]
        (source,) = source_views(X, y, y, np.full(300, 1 / 300), LogisticRegression(), 2)[:1]
        fit = Sensors(source, True, True).fit(Sensors(source, True, True).start(), X[:100] + 0.1)
        return [fit.without(group) for group in range(2)]

    def test_classes_that_overlap_may_have_left(self) -> None:
        assert min(self._nats(0.5)) < 2.0

    def test_classes_apart_are_seen_to_be_there(self) -> None:
        assert min(self._nats(5.0)) > 10.0

    def test_an_answer_without_a_batch_cannot_say(self) -> None:
        assert Sensors(view(), True, True).answering().without(0) == np.inf


@pytest.mark.parametrize(("classes", "price"), [(2, -1.0), (3, 0.5), (6, 5.0)])
def test_a_free_mix_costs_more_for_every_class_beyond_two(classes: int, price: float) -> None:
    y = np.arange(100) % classes
    X = np.random.default_rng(0).normal(size=(100, 3)) + y[:, None]
    model = ContinuousTransportClassifier(LogisticRegression()).fit(X, y)
    prices = [each.price for each in model._tracker.panels[0].hypotheses]
    # Standing still with the source's mix and a free one, moving with the source's mix and a free one.
    assert prices == [-2.0, min(price, 2.0) - 2.0, 0.0, price]
