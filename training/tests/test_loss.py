import torch

from detector.loss import GroundTruth, assign, candidates
from detector.network import STRIDES, middles_of

SIZE = (128, 128)
MIDDLES = torch.cat([middles_of(128 // stride, 128 // stride, stride) for stride in STRIDES])


def truth(*boxes, image_indices=None):
    count = len(boxes)
    return GroundTruth(torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4), torch.zeros(count, dtype=torch.long), torch.tensor(image_indices or [0] * count, dtype=torch.long))


def answers(boxes, scores=0.0):
    """Model output that predicts this box in every cell."""
    cells = len(MIDDLES)
    return torch.full((cells, 2), scores), torch.tensor(boxes, dtype=torch.float32).expand(cells, 4)


def test_candidates_lie_in_the_box_and_near_its_middle():
    cells, valid = candidates(truth((16, 16, 112, 64)), SIZE)
    middles = MIDDLES[cells[0][valid[0]]]
    assert len(middles) > 20
    assert ((middles >= torch.tensor([16.0, 16.0])) & (middles <= torch.tensor([112.0, 64.0]))).all()
    of_the_finest = cells[0][valid[0]] < 256
    assert (middles[of_the_finest] - torch.tensor([64.0, 40.0])).abs().max() <= 8 * 2.5


def test_element_smaller_than_a_cell_has_a_candidate():
    cells, valid = candidates(truth((9, 9, 14, 13), (0, 0, 3, 3), (125, 125, 128, 128)), SIZE)
    assert valid.any(1).all()
    assert (cells[valid] < 256).all(), "coarser strides do not tell such things apart"


def test_long_bar_has_candidates_in_the_coarsest_stride():
    cells, valid = candidates(truth((110, 0, 118, 128), (40, 40, 48, 60)), SIZE)
    bar, stub = (cells[one][valid[one]] for one in (0, 1))
    assert (bar >= 256 + 64).any(), "the coarsest stride"
    assert (stub < 256 + 64).all(), "as thin, but not long"


def test_best_fitting_cells_get_the_full_target():
    found = assign(*answers((40, 40, 72, 72)), truth((40, 40, 72, 72)), SIZE)
    assert 1 <= len(found.cells) <= 10
    assert torch.allclose(found.targets, torch.ones(len(found.targets)), atol=1e-5)


def test_a_badly_fitting_box_is_a_smaller_target():
    found = assign(*answers((40, 40, 72, 56)), truth((40, 40, 72, 72)), SIZE)
    assert torch.allclose(found.targets, torch.full_like(found.targets, 0.5), atol=1e-5)


def test_a_cell_answers_for_one_element_only():
    nested = truth((32, 32, 96, 96), (48, 48, 80, 80))
    found = assign(*answers((48, 48, 80, 80)), nested, SIZE)
    assert len(found.cells.unique()) == len(found.cells)
    assert set(found.elements.tolist()) >= {1}


def test_images_of_a_batch_do_not_mix():
    logits, boxes = answers((40, 40, 72, 72))
    found = assign(logits.repeat(2, 1), boxes.repeat(2, 1), truth((40, 40, 72, 72), (40, 40, 72, 72), image_indices=[0, 1]), SIZE)
    image_of = found.cells // len(MIDDLES)
    assert torch.equal(image_of, found.elements)


def test_assignment_without_elements_is_empty():
    found = assign(*answers((0, 0, 8, 8)), truth(), SIZE)
    assert len(found.cells) == 0
