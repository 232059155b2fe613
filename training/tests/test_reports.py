"""Reports: the gallery of mistakes, and the model card."""

import numpy

from detector import card, classes, evaluate, gallery
from detector.detections import Detections
from tests.synthetic_screens import draw, kind

BUTTON, ICON = (20, 20, 80, 50), (150, 100, 172, 122)


def seen(tmp_path, *boxes):
    """One screen with a button and an icon, and detections on it."""
    screens = draw(tmp_path, [[("button", BUTTON), ("icon", ICON)]])
    boxes = sorted(boxes, key=lambda one: -one[2])
    found = Detections(
        numpy.array([box for _, box, _ in boxes], numpy.float32).reshape(-1, 4),
        numpy.array([kind(name) for name, _, _ in boxes]),
        numpy.array([score for _, _, score in boxes], numpy.float32),
    )
    return [(screens[0], found)]


def causes(tmp_path, *boxes):
    detected = seen(tmp_path, *boxes)
    judged = evaluate.judge(detected, 0.5)
    return sorted(one.cause for one in gallery.mistakes(0, *detected[0], judged[0], 0.5))


def test_mistakes_have_causes(tmp_path):
    assert causes(tmp_path, ("button", BUTTON, 0.9), ("icon", ICON, 0.9)) == []
    assert causes(tmp_path, ("button", BUTTON, 0.9)) == ["missed: not detected"]
    assert causes(tmp_path, ("button", BUTTON, 0.9), ("icon", ICON, 0.3)) == ["missed: score below the threshold"]
    assert causes(tmp_path, ("button", BUTTON, 0.9), ("icon", (150, 100, 172, 110), 0.9)) == ["false: box does not fit", "missed: box does not fit"]
    assert causes(tmp_path, ("button", BUTTON, 0.9), ("icon", ICON, 0.9), ("link", (20, 20, 80, 44), 0.6)) == ["false: duplicate box"]
    assert causes(tmp_path, ("button", BUTTON, 0.9), ("icon", ICON, 0.9), ("icon", (200, 200, 220, 220), 0.6)) == ["false: no element there"]


def test_the_gallery_shows_each_mistake(tmp_path):
    detected = seen(tmp_path, ("button", BUTTON, 0.9), ("icon", (200, 200, 220, 220), 0.8))
    page = gallery.write(detected, evaluate.judge(detected, 0.5), 0.5, tmp_path / "gallery")
    text = page.read_text()
    assert "missed: not detected (1 of 2)" in text and "false: no element there (1 of 2)" in text
    assert sorted(file.name for file in page.parent.glob("*.png")) == ["00.png", "01.png"]


def test_the_card_holds_what_was_measured(tmp_path):
    detected = seen(tmp_path, ("button", BUTTON, 0.9))
    measured = evaluate.report(evaluate.judge(detected, 0.5), 0.5)
    figures = {"split": "test", "applications": measured} | measured
    one = {"bytes": 7_000_000, "farthest_from_pytorch": {"score": 0.001, "pixels": 0.2}, "farthest_as_computed_here": {"score": 0.931, "pixels": 9.0}, "milliseconds_1_thread": 61.2, "milliseconds_2_threads": 44.4}
    export = {"parameters": 1_880_000, "float": one, "int8": one}
    read = {split: [detected[0][0]] for split in ("train", "validation", "test")}
    text = card.card(figures, export, {"images": 90_000, "finished": False, "screens": {"seed 1": 4_000, "seed 2": 500}}, read)
    for words in ("1,880,000", "90,000 samples", "not been decayed", "| all | 1 | 2 | 0.500 |", "| int8 | 7,000,000 | 61 | 44 | 0.001 | 0.2 | 0.931 |", "- switch: only 0", "- real applications, switch: only 0"):
        assert words in text, words
    assert "$" not in text


def test_the_worst_comes_first_among_weaknesses():
    good = {"elements": 50, "average_precision": 0.95, "recall": 0.95}
    figures = {
        "split": "test",
        "classes": dict.fromkeys(classes.NAMES, good) | {"switch": good | {"average_precision": 0.6}},
        "sizes": {"under 16": {"elements": 50, "recall": 0.4}},
        "groups": {"theme": {"dark": {"elements": 50, "recall": 0.95, "false_positive_rate": 0.3}}},
    }
    assert card.weaknesses(figures) == ["elements of under 16 pixels: recall 0.400", "switch: AP50 0.600", "theme dark: recall 0.950, false positives 0.300"]
