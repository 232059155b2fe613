import numpy
import pytest

from detector import classes, metrics
from detector.detections import Detections
from detector.screens import Screen
from tests.synthetic_screens import kind


def screen(*elements):
    boxes = numpy.array([box for _, box in elements], numpy.float32).reshape(-1, 4)
    kinds = numpy.array([kind(name) for name, _ in elements], numpy.int64)
    about = {"size": [1280, 800], "kit": "drawn", "theme": "light", "scale": 1, "language": "en"}
    return Screen(None, boxes, kinds, numpy.ones(len(elements), numpy.float32), numpy.array(classes.INTERACTABLE)[kinds], ({},) * len(elements), (None,) * len(elements), about)


def found(*boxes):
    boxes = sorted(boxes, key=lambda one: -one[2])
    return Detections(
        numpy.array([box for _, box, _ in boxes], numpy.float32).reshape(-1, 4),
        numpy.array([kind(name) for name, _, _ in boxes], numpy.int64),
        numpy.array([score for _, _, score in boxes], numpy.float32),
    )


FIELD, CROSS, FAR = (0, 0, 200, 40), (90, 10, 110, 30), (400, 400, 440, 420)


def general(true, seen, confidence_threshold=0.5):
    return metrics.general([metrics.judge(screen(*true), found(*seen), confidence_threshold)], confidence_threshold)


def test_all_found():
    result = general([("button", FIELD), ("icon", FAR)], [("button", FIELD, 0.9), ("icon", FAR, 0.8)])
    assert (result.recall, result.click_accuracy, result.clickable, result.false_positive_rate, result.class_accuracy) == (1, 1, 1, 0, 1)


def test_one_missed_one_false_positive_and_one_of_another_class():
    result = general([("button", FIELD), ("icon", FAR)], [("link", FIELD, 0.9), ("button", (600, 0, 700, 30), 0.8), ("icon", FAR, 0.4)])
    assert (result.elements, result.recall, result.false_positive_rate, result.class_accuracy) == (2, 0.5, 0.5, 0)


def test_a_second_box_for_the_same_is_a_false_positive():
    result = general([("button", FIELD)], [("button", FIELD, 0.9), ("button", (0, 0, 200, 30), 0.8)])
    assert (result.recall, result.false_positive_rate) == (1, 0.5)


def test_images_and_dialogs_are_not_interactable():
    result = general([("image", FIELD), ("button", FAR)], [("button", FAR, 0.9), ("dialog", (0, 0, 800, 600), 0.9)])
    assert (result.elements, result.recall, result.false_positive_rate) == (1, 1, 0)


def test_click_on_a_nested_element_is_wrong():
    nested = [("text_field", FIELD), ("icon", CROSS)]
    assert general(nested, [("text_field", FIELD, 0.9), ("icon", CROSS, 0.8)]).click_accuracy == 0.5
    # Detected slightly to the left, the centre is on the field itself.
    assert general(nested, [("text_field", (0, 0, 150, 40), 0.9), ("icon", CROSS, 0.8)]).click_accuracy == 1


def test_a_pictogram_found_in_place_of_its_button_still_takes_a_click_there():
    result = general([("button", FIELD), ("icon", FAR)], [("icon", CROSS, 0.9)])
    assert (result.recall, result.reached, result.false_positive_rate) == (0, 0.5, 1)
    nested = general([("text_field", FIELD), ("icon", CROSS)], [("text_field", FIELD, 0.9)])
    assert (nested.recall, nested.reached) == (0.5, 0.5), "the click goes to the pictogram"
    assert general([("button", FIELD)], [("button", FIELD, 0.4)]).reached == 0


def test_overlapping_dialog_is_not_a_nested_element():
    true = [("list_item", (0, 0, 300, 30)), ("dialog", (100, 0, 200, 200))]
    assert general(true, [("list_item", (0, 0, 300, 30), 0.9)]).click_accuracy == 1


def test_the_area_under_the_curve():
    # Right, wrong, right of three: precision 1 up to a third, then 2/3 up to two thirds.
    scores, right = numpy.array([0.9, 0.8, 0.7]), numpy.array([True, False, True])
    assert metrics.average_precision(scores, right, 3) == pytest.approx((1 + 2 / 3) / 3)
    assert metrics.average_precision(numpy.empty(0), numpy.empty(0, bool), 3) == 0
    assert numpy.isnan(metrics.average_precision(scores, right, 0))


def test_class_metrics_use_only_boxes_of_that_class():
    judged = [metrics.judge(screen(("button", FIELD), ("link", FAR)), found(("button", FIELD, 0.9), ("button", FAR, 0.8)), 0.5)]
    buttons = metrics.of_class(judged, kind("button"), 0.5)
    assert (buttons.elements, buttons.recall, buttons.precision, buttons.average_precision) == (1, 1, 0.5, 1)
    links = metrics.of_class(judged, kind("link"), 0.5)
    assert (links.elements, links.recall, links.average_precision) == (1, 0, 0)


def test_recall_by_the_shorter_side():
    judged = [metrics.judge(screen(("button", FIELD), ("checkbox", (300, 300, 313, 313))), found(("button", FIELD, 0.9)), 0.5)]
    by_size = metrics.recall_by_size(judged)
    assert by_size["under 16"] == (1, 0) and by_size["32 to 95"] == (1, 1)


def test_the_threshold_balances_missed_and_false_positives():
    true = [("button", FIELD), ("icon", FAR)]
    seen = [("button", FIELD, 0.9), ("icon", FAR, 0.6), ("icon", (600, 0, 620, 20), 0.3), ("icon", (700, 0, 720, 20), 0.2)]
    assert metrics.best_threshold([metrics.judge(screen(*true), found(*seen), 0.0)]) == pytest.approx(0.6)


def test_empty_screens_are_judged():
    judged = metrics.judge(screen(), found(("button", FIELD, 0.9)), 0.5)
    assert metrics.general([judged], 0.5).false_positive_rate == 1
    assert metrics.general([metrics.judge(screen(("button", FIELD)), found(), 0.5)], 0.5).recall == 0


def test_every_class_has_a_name_of_its_own():
    assert len(set(classes.NAMES)) == len(classes.NAMES) == len(classes.INTERACTABLE)
