"""Post-processing by the product's binary: one case computed by hand for each step. Requires no torch.

The cases of each step alone are in the Rust modules of `services/perception/src/parse/detect/`.
"""

import numpy
import pytest

from detector import classes
from detector.postprocess import ModelOutputs, PostProcessor, default_binary

BLANK = numpy.full((480, 1000, 3), 250, numpy.uint8)
GREY = numpy.full((400, 700, 3), 230, numpy.uint8)


def output(*elements):
    """Model output for elements `(class, (x1, y1, x2, y2), score)`."""
    values = numpy.zeros((4 + len(classes.NAMES), len(elements)), numpy.float32)
    for cell, (name, (x1, y1, x2, y2), score) in enumerate(elements):
        values[:4, cell] = [(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1]
        values[4 + classes.INDEX[name], cell] = score
    return values


def found(processor, pixels, *elements, threshold=0.25, **outputs):
    """Returns the detections as elements, with rounded scores."""
    result = processor.detections(pixels, ModelOutputs([output(*elements)], **outputs), threshold)
    rows = zip(result.kinds.tolist(), result.boxes.tolist(), result.scores.tolist())
    return [(classes.NAMES[kind], tuple(box), round(score, 3)) for kind, box, score in rows]


def test_empty_output_gives_no_detections(processor):
    assert found(processor, BLANK) == []


def test_overlapping_boxes_keep_the_most_confident_of_any_class(processor):
    button, same, part = ("button", (10, 10, 30, 30), 0.6), ("link", (11, 10, 31, 30), 0.8), ("icon", (16, 16, 24, 24), 0.7)
    assert found(processor, BLANK, button, same, part) == [same, part]


def test_boxes_are_clipped_to_the_image_and_low_scores_are_dropped(processor):
    outside, unsure = ("button", (2000, 10, 2030, 30), 0.9), ("button", (300, 10, 330, 30), 0.2)
    assert found(processor, BLANK, ("button", (-20, 10, 30, 30), 0.9), outside, unsure) == [("button", (0, 10, 30, 30), 0.9)]


def test_boxes_are_in_image_pixels(processor):
    assert found(processor, BLANK, ("button", (10, 10, 30, 30), 0.9), scale=0.5) == [("button", (20, 20, 60, 60), 0.9)]


def test_large_elements_come_from_the_smaller_scales(processor):
    small, large = ("button", (16, 8, 24, 12), 0.9), ("text_field", (250, 175, 550, 225), 0.8)
    outputs = ModelOutputs([output(small, large)] * 3, large_from=400.0)
    result = processor.detections(numpy.zeros((640, 1280, 3), numpy.uint8), outputs, 0.5)
    # 300 pixels at full size are not large; the 600 at half size are.
    assert result.boxes.tolist() == [[16, 8, 24, 12], [250, 175, 550, 225], [500, 350, 1100, 450]]
    assert [classes.NAMES[kind] for kind in result.kinds] == ["button", "text_field", "text_field"]


def test_slender_box_combines_coarse_length_and_fine_position(processor):
    near = output(("table_row", (500, 200, 920, 220), 0.5))
    # At half size; in image pixels from 300 to 1100 and from 208 to 230.
    half = output(("table_row", (150, 104, 550, 115), 0.3))
    outputs = ModelOutputs([near, half, output()], large_from=400.0)
    result = processor.detections(numpy.zeros((480, 1600, 3), numpy.uint8), outputs, 0.25)
    assert result.boxes.tolist() == [[300, 200, 1100, 220]] and result.scores.tolist() == [0.5]


def test_a_row_is_moved_to_its_text(processor):
    pixels = BLANK.copy()
    pixels[104:113, 40:400:9] = pixels[104:113, 41:400:9] = 20
    # The text is centred at 108.5; so is a row from 96.5 to 120.5. Its ends are snapped to the image borders.
    assert found(processor, pixels, ("table_row", (20, 101, 920, 125), 0.5)) == [("table_row", (0, 97, 1000, 121), 0.5)]


def test_neighbour_in_a_series_doubles_the_score(processor):
    sure, unsure = ("button", (100, 200, 160, 230), 0.6), ("button", (164, 200, 224, 230), 0.15)
    assert found(processor, BLANK, sure, unsure) == [sure, (*unsure[:2], 0.3)]
    assert found(processor, BLANK, sure, ("button", (164, 290, 224, 320), 0.15)) == [sure]


def test_a_caption_between_two_fields_is_removed(processor):
    field, choice = ("text_field", (240, 110, 840, 155), 0.85), ("drop_down", (240, 198, 840, 245), 0.8)
    assert found(processor, BLANK, field, choice, ("text_field", (240, 156, 840, 196), 0.3)) == [field, choice]
    with_gap = ("text_field", (240, 165, 840, 188), 0.3)
    assert found(processor, BLANK, field, choice, with_gap) == [field, choice, with_gap]


def test_a_field_with_controls_in_it_is_a_page(processor):
    page, save, discard = ("text_field", (60, 60, 960, 460), 0.5), ("button", (90, 170, 220, 210), 0.8), ("button", (230, 170, 310, 210), 0.8)
    assert found(processor, BLANK, page, save, discard) == [save, discard]
    # The image borders count as edges.
    assert found(processor, BLANK, page, save) == [save, ("text_field", (0, 0, 1000, 480), 0.5)]


def test_large_boxes_are_snapped_to_edges(processor):
    pixels = GREY.copy()
    pixels[60:260, 100:500] = 120
    assert found(processor, pixels, ("image", (60, 80, 540, 240), 0.9)) == [("image", (100, 60, 500, 260), 0.9)]


@pytest.fixture
def dialog_over_buttons():
    """Buttons behind a dark backdrop, and a bright dialog with a button."""
    pixels = numpy.full((800, 1280, 3), 250, numpy.uint8)
    dialog, answer = (440, 300, 840, 500), (720, 460, 820, 484)
    boxes = [(20 + column * 140, 20 + row * 40, 120 + column * 140, 44 + row * 40) for row in range(18) for column in range(9)]
    boxes = [box for box in boxes if box[2] <= dialog[0] or box[0] >= dialog[2] or box[3] <= dialog[1] or box[1] >= dialog[3]]
    for x1, y1, x2, _ in boxes:
        pixels[y1 + 6 : y1 + 16, x1 + 8 : x2 - 8 : 6] = 20
    pixels //= 2
    pixels[300:500, 440:840] = 250
    for x1, y1, x2 in ((440, 300, 840), (720, 460, 820)):
        pixels[y1 + 6 : y1 + 16, x1 + 8 : x2 - 8 : 6] = 20
    return pixels, [("button", box, 0.8) for box in boxes], ("dialog", dialog, 0.9), ("button", answer, 0.8)


def test_controls_behind_a_backdrop_are_removed(processor, dialog_over_buttons):
    pixels, buttons, dialog, answer = dialog_over_buttons
    assert len(buttons) > 100
    assert found(processor, pixels, *buttons, dialog, answer) == [dialog, answer]
    assert len(found(processor, pixels, *buttons, answer)) == len(buttons) + 1


def test_a_dialog_below_the_threshold_of_the_product_has_no_backdrop(processor, dialog_over_buttons):
    pixels, buttons, (_, box, _), answer = dialog_over_buttons
    assert len(found(processor, pixels, *buttons, ("dialog", box, 0.21), answer, threshold=0.02)) == len(buttons) + 2
    faint = [(*button[:2], 0.1) for button in buttons[6:]]
    assert len(found(processor, pixels, *buttons[:6], *faint, ("dialog", box, 0.9), answer, threshold=0.02)) == 2


def test_a_model_with_a_single_class_detects_controls(processor):
    one_class = output(("button", (10, 10, 30, 30), 0.9))[:5]
    result = processor.detections(BLANK, ModelOutputs([one_class]), 0.5)
    assert [classes.NAMES[kind] for kind in result.kinds] == ["control"]


def test_outputs_that_do_not_fit_are_refused_and_the_process_goes_on(processor):
    with pytest.raises(ValueError, match="needs more than 1 outputs"):
        processor.detections(BLANK, ModelOutputs([output()], large_from=400.0), 0.5)
    with pytest.raises(ValueError, match="has 4 rows"):
        processor.detections(BLANK, ModelOutputs([output()[:4]]), 0.5)
    assert found(processor, BLANK, ("button", (10, 10, 30, 30), 0.9)) == [("button", (10, 10, 30, 30), 0.9)]


def test_a_missing_binary_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("MOTORIUM_DETECT_BOXES", raising=False)
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="make -C training postprocess"):
        default_binary()


def test_a_process_that_ended_is_reported(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nread line\nexit 3\n")
    program.chmod(0o755)
    with PostProcessor(program) as ended, pytest.raises(RuntimeError, match="ended with status 3"):
        ended.detections(BLANK, ModelOutputs([output()]), 0.5)
