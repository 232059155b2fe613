import numpy
import pytest
import torch

from detector import classes
from detector.screens import Screen
from icons.states import STATES, UNKNOWN, Elements, States, applies, calibrate_threshold, collect, export, pieces_of, report, table_of, train

BOX = classes.INDEX["checkbox"]
CHECKED = STATES.index("checked")


@pytest.fixture(autouse=True)
def repeatable():
    torch.manual_seed(3)
    torch.set_num_threads(1)


def boxes(count):
    """Empty and filled squares."""
    random = numpy.random.default_rng(1)
    pieces = random.integers(200, 256, (count, 80, 40, 3)).astype(numpy.uint8)
    states = numpy.full((count, len(STATES)), UNKNOWN)
    states[:, CHECKED] = numpy.arange(count) % 2
    pieces[1::2, 10:30, 10:30] = 30
    pieces[1::2, 50:70, 10:30] = 30
    return Elements(pieces, numpy.full(count, BOX), states)


def test_unlabelled_states_are_false_or_unknown():
    states = dict(zip(STATES, table_of({"checked": True})))
    assert states == {"checked": 1, "selected": 0, "disabled": 0, "focused": 0, "expanded": UNKNOWN, "placeholder": 0}


@pytest.mark.parametrize("box, first, second", [((10, 20, 90, 40), 1, 2), ((20, 10, 40, 90), 1, 2), ((0, 0, 100, 20), 1, 2), ((80, 80, 100, 100), 2, 2)])
def test_pieces_show_both_ends_of_a_box(box, first, second):
    pixels = numpy.zeros((100, 100, 3), numpy.uint8)
    x1, y1, x2, y2 = box
    pixels[y1 : y1 + 10, x1 : x1 + 10] = 1
    pixels[y2 - 10 : y2, x2 - 10 : x2] = 2
    if first == second:
        pixels[y1:y2, x1:x2] = 2
    pieces = pieces_of(pixels, numpy.array(box))
    assert pieces.shape == (80, 40, 3)
    assert pieces[:40].max() == first and pieces[40:].max() == second


def test_only_states_with_both_values_are_learnt():
    assert applies(boxes(40))[BOX].tolist() == [name == "checked" for name in STATES]
    assert not applies(boxes(10)).any()


def test_elements_are_taken_from_screens(tmp_path):
    import cv2

    cv2.imwrite(str(tmp_path / "0.png"), numpy.full((60, 60, 3), 90, numpy.uint8))
    box = numpy.array([[10, 10, 30, 30]], numpy.float32)
    screen = Screen(tmp_path / "0.png", box, numpy.array([BOX]), numpy.ones(1), numpy.ones(1, bool), ({"checked": False},), (None,), {})
    found = collect([screen, screen], 1)
    assert found.pieces.shape == (2, 80, 40, 3) and found.states[0].tolist() == table_of({"checked": False})


def test_filled_squares_are_learnt():
    elements, network = boxes(60), States()
    losses = train(network, elements, lambda steps: 1 - steps / 16, 1)
    assert numpy.mean(losses[-3:]) < 0.6 * losses[0]


def test_state_threshold_reaches_the_required_accuracy():
    sure = numpy.array([0.99] * 40 + [0.7, 0.65, 0.6, 0.02, 0.01])
    true = numpy.array([True] * 40 + [False, False, True, False, False])
    assert calibrate_threshold(sure, true) == pytest.approx(0.7), "one wrong of 41 is few enough, two of 42 are not"
    assert calibrate_threshold(sure[:40], true[:40]) == 0.5, "where all is right, everything may be said"
    assert calibrate_threshold(sure[:40], ~true[:40]) == 1
    elements = Elements(numpy.empty((45, 0)), numpy.full(45, BOX), numpy.full((45, len(STATES)), UNKNOWN))
    elements.states[:, CHECKED] = true
    can_have = numpy.zeros((len(classes.NAMES), len(STATES)), bool)
    can_have[BOX, CHECKED] = True
    table = numpy.tile(sure[:, None], (1, len(STATES)))
    figures = report(table, elements, can_have, dict.fromkeys(STATES, 0.9))
    assert figures["checked"] == {"elements": 45, "true": 41, "predicted": round(42 / 45, 4), "accuracy": 1, "predicted_of_positives": round(40 / 41, 4), "accuracy_of_positives": 1}
    assert figures["focused"]["elements"] == 0


def test_onnx_export_matches_pytorch(tmp_path):
    assert export(States(), {}, tmp_path / "states.onnx")["farthest_from_pytorch"] < 1e-4
