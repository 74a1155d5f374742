"""The judge by itself: evidence in, beliefs out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.adaptation import judge
from driftway.adaptation.judge import Beliefs, Contest, Rivalry, credited, judged, unexplained


@dataclass
class Idea:
    moves: bool
    price: float


@dataclass
class Evidence:
    misfit: float
    energy: float


# Nothing moves and the mix is free; sensors with the source's mix; both.
IDEAS = [Idea(False, 0.0), Idea(True, 0.0), Idea(True, 2.0)]
STILL, SENSORS, BOTH = range(3)
nats = st.floats(0.0, 1e4)


def after(*batches: list[tuple[float, float]], ideas: list[Idea] = IDEAS) -> Beliefs:
    """Beliefs after batches, each with misfit and energy of every idea."""
    beliefs = Beliefs.first(len(ideas))
    for batch in batches:
        beliefs = judged(beliefs, ideas, [Evidence(*each) for each in batch])
    return beliefs


class TestBeliefs:
    @given(st.lists(st.lists(st.tuples(nats, nats), min_size=3, max_size=3), min_size=1, max_size=6))
    def test_they_sum_to_one(self, batches: list[list[tuple[float, float]]]) -> None:
        shares = after(*batches).shares
        assert shares.sum() == pytest.approx(1.0)
        assert (shares >= 0).all()

    @given(st.lists(st.tuples(nats, nats), min_size=2, max_size=2))
    def test_also_where_nothing_may_stay(self, batch: list[tuple[float, float]]) -> None:
        assert after(batch, ideas=IDEAS[1:]).shares.sum() == pytest.approx(1.0)

    def test_a_free_mix_of_many_classes_is_no_reason_to_stand_still(self) -> None:
        """Where the source's mix tells that something moved, a free one of six classes explains the batch by chance."""
        ideas = [Idea(False, -2.0), Idea(False, 0.0), Idea(True, 0.0), Idea(True, 5.0)]
        explained = [(20.0, 20.0), (1.0, 0.4), (0.5, 0.3), (1.0, 0.5)]
        moves = after(explained, ideas=ideas).shares[2]
        assert moves > 0.5
        # With the head start of those who stand still it would be answered by the free mix.
        assert after(explained, ideas=[ideas[0], Idea(False, -2.0), *ideas[2:]]).shares[2] < 0.2

    def test_before_any_batch_they_are_even(self) -> None:
        np.testing.assert_allclose(Beliefs.first(3).shares, 1 / 3)

    def test_a_misfit_of_twenty_nats_decides_between_mixes(self) -> None:
        moved = (0.0, 60.0)
        assert after([moved, (20.0, 0.0), (0.0, 0.0)]).shares[BOTH] > 0.99
        assert after([moved, (0.0, 0.0), (20.0, 0.0)]).shares[SENSORS] > 0.99

    @pytest.mark.parametrize("price", [0.5, 2.0])
    def test_a_free_mix_must_earn_its_price(self, price: float) -> None:
        ideas = [IDEAS[STILL], IDEAS[SENSORS], Idea(True, price)]
        shares = after([(0.0, 60.0), (1.0, 0.0), (1.0, 0.0)], ideas=ideas).shares
        assert shares[SENSORS] / shares[BOTH] == pytest.approx(np.exp(price))

    def test_who_stays_is_believed_where_doubt_is_no_reason_to_move(self) -> None:
        ideas = [Idea(False, -2.0), *IDEAS[1:]]
        shares = after([(1.0, 0.0), (1.0, 0.0), (1.0, 0.0)], ideas=ideas).shares
        assert shares[STILL] / (1.0 - shares[STILL]) == pytest.approx(np.exp(2.0))

    def test_energy_decides_whether_anything_moved(self) -> None:
        assert after([(0.0, 20.0), (0.0, 0.0), (0.0, 0.0)]).shares[STILL] < 0.01
        assert after([(0.0, 0.0), (0.0, 20.0), (0.0, 20.0)]).shares[STILL] > 0.99
        assert after([(0.0, 3.0), (0.0, 3.0), (0.0, 3.0)]).shares[STILL] == pytest.approx(0.5)

    def test_where_all_misfit_nobody_is_sure(self) -> None:
        right = after([(0.0, 60.0), (10.0, 0.0), (0.0, 0.0)]).shares
        wrong = after([(60.0, 60.0), (60.0, 0.0), (50.0, 0.0)]).shares
        assert right[BOTH] > 0.99
        assert wrong[BOTH] / (wrong[BOTH] + wrong[SENSORS]) < 0.6
        dispersed = after([(0.0, 50.0), (0.0, 40.0), (0.0, 40.0)]).shares[STILL]  # ten nats, over ten times the usual
        assert dispersed == pytest.approx(1 / (1 + np.exp(10.0 / (40.0 / judge.USUAL))))

    def test_single_batches_are_averaged_with_the_past(self) -> None:
        usual, odd = [(0.0, 60.0), (0.0, 0.0), (0.0, 0.0)], [(0.0, 60.0), (20.0, 0.0), (0.0, 0.0)]
        found = after(usual, usual, odd)
        np.testing.assert_allclose(found.misfits, [0.0, 0.4 * 20.0, 0.0])
        assert found.heard == 3
        again = after(odd)
        np.testing.assert_allclose(again.misfits, [0.0, 20.0, 0.0])  # the first has no past


class TestUnexplained:
    def test_thirty_nats_at_first(self) -> None:
        first = Beliefs.first(2)
        assert unexplained(first, [Evidence(31.0, 0.0), Evidence(20.0, 11.0)])
        assert not unexplained(first, [Evidence(31.0, 0.0), Evidence(20.0, 9.0)])

    def test_five_times_what_is_usual_later(self) -> None:
        usual = after([(5.0, 5.0)] * 3)
        assert not unexplained(usual, [Evidence(49.0, 0.0)])
        assert unexplained(usual, [Evidence(51.0, 0.0)])


USEFUL = Contest(expected=1.0, own_expected=0.7, chance=0.1, left=10.0, own_left=10.0, moves=True, freedom=2, size=100)
AS_GOOD = replace(USEFUL, own_expected=1.2, left=1.0, own_left=1.0)
WORSE = replace(AS_GOOD, own_expected=1.6)
# Others expected better, but this is about what chance explains.
UNSURPRISED = replace(WORSE, chance=1.0)


def heard(rivalry: Rivalry, contest: Contest, times: int) -> Rivalry:
    for _ in range(times):
        rivalry = rivalry.heard(contest)
    return rivalry


class TestRivalry:
    def test_it_overrules_where_others_leave_nats_and_it_expected_better(self) -> None:
        assert not Rivalry().heard(USEFUL).overrules  # all expect the source at first
        assert heard(Rivalry(), USEFUL, 3).overrules
        assert not heard(Rivalry(), replace(USEFUL, left=1.0, own_left=1.0), 20).overrules
        assert not heard(Rivalry(), replace(USEFUL, own_expected=0.95), 20).overrules

    def test_it_stays_on_where_it_would_not_have_come_on_and_goes_off_where_it_is_worse(self) -> None:
        on = heard(Rivalry(), USEFUL, 10)
        assert on.overrules
        assert not heard(Rivalry(), AS_GOOD, 30).overrules
        kept = heard(on, AS_GOOD, 30)
        assert kept.overrules
        off = heard(kept, WORSE, 30)
        assert not off.overrules
        assert not heard(off, AS_GOOD, 30).overrules

    def test_it_stays_on_while_batches_are_no_surprise(self) -> None:
        on = heard(Rivalry(), replace(USEFUL, chance=0.7), 10)
        assert heard(on, UNSURPRISED, 40).overrules
        assert not heard(on, WORSE, 40).overrules

    def test_it_needs_no_misfit_where_it_is_clearly_better_and_determined(self) -> None:
        clearly = replace(USEFUL, own_expected=0.4, chance=0.2, left=1.0, own_left=1.0)
        assert heard(Rivalry(), clearly, 10).overrules
        assert not heard(Rivalry(), replace(clearly, chance=0.1), 10).overrules  # all expect badly
        assert not heard(Rivalry(), replace(clearly, size=5), 10).overrules

    def test_it_overrules_at_once_what_it_alone_explains(self) -> None:
        alone = replace(USEFUL, left=30.0, own_left=1.0)
        assert Rivalry().heard(alone).overrules
        assert not Rivalry().heard(replace(alone, own_left=26.0)).overrules  # its freedom buys as much
        assert not Rivalry().heard(replace(alone, size=5)).overrules

    def test_who_does_not_move_does_not_overrule(self) -> None:
        assert not heard(Rivalry(), replace(USEFUL, moves=False), 20).overrules
        on = heard(Rivalry(), USEFUL, 10)
        assert not on.heard(replace(USEFUL, moves=False)).overrules

    def test_a_single_batch_says_no_more_than_a_factor_of_e(self) -> None:
        lucky = replace(USEFUL, own_expected=1e-12)
        assert lucky.better == judge.MOST
        assert replace(USEFUL, own_expected=1e12).better == -judge.MOST
        assert np.isfinite(replace(USEFUL, own_expected=0.0, expected=0.0).better)

    def test_it_rests_where_others_explain_and_a_batch_cannot_determine_it(self) -> None:
        idle = heard(Rivalry(), AS_GOOD, judge.WATCHED)
        assert idle.rests(freedom=90, size=100)
        assert not idle.rests(freedom=2, size=100)
        assert not heard(Rivalry(), AS_GOOD, judge.WATCHED - 1).rests(90, 100)
        waking = idle
        for _ in range(10):
            waking = waking.unheard(left=20.0)
        assert not waking.rests(90, 100)
        assert waking.batches == judge.WATCHED + 10


def test_a_view_that_leaves_more_unexplained_loses_its_credit() -> None:
    explained, usual, unexplained_by_all = (after([(nats, 0.0)] * 3) for nats in (0.5, judge.USUAL_MISFIT, 30.0))
    np.testing.assert_array_equal(credited([explained]), [1.0])
    np.testing.assert_array_equal(credited([unexplained_by_all]), [1.0])
    np.testing.assert_array_equal(credited([explained, usual]), [1.0, 1.0])
    np.testing.assert_allclose(credited([unexplained_by_all, explained]), [np.exp(judge.USUAL_MISFIT - 29.5), 1.0])
    # Where all views misfit, nats tell little: misfits of 200 and 260 differ less than those of 0.5 and 30 do.
    bad, worse = (after([(nats, 0.0)] * 3) for nats in (200.0, 260.0))
    assert credited([worse, bad])[0] > 0.5
    by_one = after([(30.0, 0.0), (0.5, 0.0), (30.0, 0.0)])
    np.testing.assert_array_equal(credited([by_one, explained]), [1.0, 1.0])
