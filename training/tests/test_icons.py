import numpy
import pytest
import torch

from icons import samples
from icons.meanings import MEANINGS, is_something_else, meaning_of
from icons.network import Names
from icons.sets import OTHER, Icons, pictogram
from icons.train import Batches, Training, calibrate_threshold, export, report, temperature_of

CROSS = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24" height="24" fill="none" stroke="currentColor" stroke-width="2"><path d="M18 6 6 18M6 6l12 12"/></svg>'
PLUS = CROSS.replace("M18 6 6 18M6 6l12 12", "M12 4v16M4 12h16")
MENU = CROSS.replace("M18 6 6 18M6 6l12 12", "M4 6h16M4 12h16M4 18h16")


@pytest.fixture(autouse=True)
def repeatable():
    torch.manual_seed(3)
    torch.set_num_threads(1)


@pytest.mark.parametrize(
    "name, meaning",
    [
        ("x", "close"),
        ("search-24", "search"),
        ("close-circle-line", "close"),
        ("magnifying-glass", "search"),
        ("account_circle_outlined", "user"),
        ("gear-six", "settings"),
        ("delete-bin-6-fill", "delete"),
        ("circle-question", "help"),
        ("file-search", None),
        ("circle", None),
    ],
)
def test_icon_names_map_to_meanings(name, meaning):
    found = meaning_of(name)
    assert (MEANINGS[found] if found is not None else None) == meaning


def test_only_icons_without_shared_words_are_something_else():
    assert is_something_else("trumpet-outline")
    assert not is_something_else("file-search")


def test_pictogram_is_rendered_at_its_lines():
    alpha = pictogram(PLUS)[..., 3]
    assert alpha.shape == (64, 64)
    assert alpha[32, 32] == 255 and alpha[10, 10] == 0 and alpha[32, 14] == 255
    assert pictogram("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'/>") is None
    assert pictogram("no picture") is None


def test_icon_crop_is_square_and_inside_the_screen():
    screen = numpy.zeros((50, 50, 3), numpy.uint8)
    screen[10:30, 10:20] = 255
    part = samples.shown(screen, numpy.array([10, 10, 20, 30]))
    assert part.shape == (40, 40, 3)
    assert part[20, 20].max() == 255 and part[20, 2].max() == 0
    assert samples.shown(screen, numpy.array([40, 40, 50, 50])).shape == (40, 40, 3)


def few() -> Icons:
    icons = numpy.stack([pictogram(svg) for svg in (CROSS, PLUS, MENU)])
    meanings = numpy.array([MEANINGS.index("close"), MEANINGS.index("add"), OTHER])
    return Icons(icons, meanings, numpy.array(["drawn"] * 3), numpy.array(["train"] * 3))


def test_drawn_icons_vary_but_stay_visible():
    random = numpy.random.default_rng(1)
    looks = [samples.drawn(random, few().pixels[0]) for _ in range(20)]
    assert all(look.shape == (40, 40, 3) and look.std() > 1 for look in looks)


def test_three_icons_are_learnt():
    training = Training(seed=1)
    batches = Batches(few(), 1)
    losses = []
    for number in range(30):
        batch, target = batches[number]
        losses.append(training.step(batch[:48], target[:48], left=1.0))
    assert numpy.mean(losses[-5:]) < 0.5 * numpy.mean(losses[:3])


def test_batches_are_the_same_every_time():
    one, other = Batches(few(), 1)[3], Batches(few(), 1)[3]
    assert torch.equal(one[0], other[0]) and torch.equal(one[1], other[1])


def sure_of(*columns):
    """Probabilities of icons, each with one dominant output."""
    table = torch.full((len(columns), len(MEANINGS) + 1), 1e-4)
    for row, (column, probability) in enumerate(columns):
        table[row, column] = probability
    return table


def test_naming_threshold_reaches_the_required_accuracy():
    other = len(MEANINGS)
    probabilities = sure_of(*[(0, 0.9)] * 9, (1, 0.8), (2, 0.5), (2, 0.4))
    target = torch.tensor([0] * 9 + [0, 3, other])
    threshold = calibrate_threshold(probabilities, target)
    assert threshold == pytest.approx(0.8)
    figures = report(probabilities, target, threshold)
    assert figures["icons"] == 11 and figures["others"] == 1
    assert figures["top_1"] == pytest.approx(9 / 11, abs=1e-3)
    assert figures["named"] == pytest.approx(10 / 11, abs=1e-3) and figures["name_accuracy"] == 0.9
    assert figures["rejected_others"] == 1


def test_overconfident_logits_get_a_higher_temperature():
    random = torch.Generator().manual_seed(1)
    target = torch.randint(0, 3, (300,), generator=random)
    logits = torch.nn.functional.one_hot(target, 3).float() * 20
    logits[:100] = logits[:100].roll(1, 1)
    assert temperature_of(logits, target) > 2


def test_onnx_export_matches_pytorch(tmp_path):
    figures = export(Names(len(MEANINGS)), 1.3, 0.7, tmp_path / "icons.onnx")
    assert figures["farthest_from_pytorch"] < 1e-4
