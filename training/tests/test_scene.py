import json

import numpy

from detector import classes
from detector.scene import counts, is_same
from detector.screens import Screen


def screen(*elements):
    """A screen with elements `(kind, box, text, state)`."""
    kinds = numpy.array([classes.INDEX[kind] for kind, *_ in elements])
    boxes = numpy.array([box for _, box, *_ in elements], numpy.float32)
    visible, acts = numpy.ones(len(elements), numpy.float32), numpy.ones(len(elements), bool)
    states, texts = (tuple(one[at] for one in elements) for at in (3, 2))
    return Screen(None, boxes, kinds, visible, acts, states, texts, {"size": [200, 100]})


def found(kind, box, content="", **state):
    x1, y1, x2, y2 = box
    return {"kind": kind, "bbox": [x1 / 200, y1 / 100, x2 / 200, y2 / 100], "content": content, "interactable": True, "state": state}


def test_correct_attributes_are_counted_among_found_elements():
    true = screen(
        ("button", (0, 0, 50, 20), "Save", {"focused": False}),
        ("checkbox", (60, 0, 80, 20), "", {"checked": True}),
        ("link", (0, 50, 50, 70), None, {}),
        ("tab", (100, 50, 150, 70), "Mail", {}),
    )
    predicted = [
        found("button", (1, 1, 50, 20), "SAVE!", focused=False),
        found("radio", (60, 0, 80, 20), "", checked=False),
        found("link", (0, 50, 50, 70), "anything"),
        found("icon", (170, 80, 190, 99)),
    ]
    counted = counts(true, predicted)
    assert json.loads(json.dumps(counted)) == {
        "elements": 4, "acting": 4, "false_positives": 1, "found": 3, "offered": 3, "class_correct": 2,
        "labelled": 1, "label_correct": 1, "states_predicted": 2, "states_correct": 1,
    }  # fmt: skip


def test_no_predictions_count_as_none_found():
    counted = counts(screen(("button", (0, 0, 50, 20), "Save", {})), [])
    assert counted["elements"] == 1
    assert not counted["found"]


def test_labels_may_differ_by_one_letter():
    assert is_same("Preferences…", "preferences")
    assert is_same("Bookmarks bar", "Bookmarks ber")
    assert not is_same("Save", "Save as")
    assert not is_same("", "Save")
