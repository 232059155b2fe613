"""Visible areas behind windows, and matching of frames to windows. Run with `/usr/bin/python3 -m unittest tree_test`."""

import unittest

from unittest import mock

from PIL import Image
from tree import Found, Reader, UnlabelledScreen, once_each
from widgets.words import SHOWS_A_PICTOGRAM, SHOWS_WORDS

BELOW, ABOVE, MENU = (1, (0, 0, 100, 100), False), (2, (60, 0, 200, 50), False), (3, (0, 20, 30, 100), True)


def reader(*windows: tuple[int, tuple[int, int, int, int], bool]) -> Reader:
    return Reader(Image.new("RGB", (200, 100)), list(windows), 1)


class VisibleAreaTest(unittest.TestCase):
    def test_control_is_clipped_to_its_visible_part(self) -> None:
        self.assertEqual(reader(BELOW, ABOVE)._seen((20, 10, 100, 30), 1, False), (0.5, (20, 10, 60, 30)))

    def test_covered_control_has_no_visible_share(self) -> None:
        self.assertEqual(reader(BELOW, ABOVE)._share((70, 10, 90, 30), 1, False), 0)

    def test_an_open_menu_covers_its_own_window_and_is_seen(self) -> None:
        found = reader(BELOW, MENU)
        self.assertEqual(found._share((0, 40, 30, 60), 1, False), 0)
        self.assertEqual(found._share((0, 40, 30, 60), 1, True), 1)

    def test_control_without_size_is_not_visible(self) -> None:
        self.assertEqual(reader(BELOW)._share((10, 10, 10, 30), 1, False), 0)


class Windows(unittest.TestCase):
    def test_frame_is_matched_to_the_best_fitting_window(self) -> None:
        found = reader(BELOW, (2, (0, 0, 110, 100), False))
        self.assertEqual(found._window_of((0, 0, 100, 100), True), 1)

    def test_upper_of_two_equal_windows_is_active(self) -> None:
        found = reader(BELOW, (2, (0, 0, 100, 100), False))
        self.assertEqual([found._window_of((0, 0, 100, 100), active) for active in (True, False)], [2, 1])

    def test_unlabelled_visible_window_rejects_the_screen(self) -> None:
        found = reader(BELOW, ABOVE)
        found.named = {1}
        with self.assertRaises(UnlabelledScreen):
            found._need_windows()
        found.named = {1, 2}
        found._need_windows()

    def test_a_window_that_is_covered_may_be_unknown(self) -> None:
        found = reader(BELOW, (2, (0, 0, 100, 100), False))
        found.named = {2}
        found._need_windows()


class Lists(unittest.TestCase):
    def test_overlapping_lists_reject_the_screen(self) -> None:
        found = reader(BELOW, ABOVE)
        found._need_one_list((0, 0, 100, 80), 1)
        found._need_one_list((0, 80, 100, 100), 1)
        found._need_one_list((0, 0, 100, 80), 2)
        with self.assertRaises(UnlabelledScreen):
            found._need_one_list((0, 2, 100, 80), 1)


class Buttons(unittest.TestCase):
    def test_own_windows_declare_their_button_content(self) -> None:
        self.assertEqual(self.kind("Open", (0, 0, 90, 80), SHOWS_WORDS), "button")
        self.assertEqual(self.kind("", (0, 0, 30, 30), SHOWS_A_PICTOGRAM), "icon")

    def test_square_control_with_a_long_name_is_an_icon(self) -> None:
        self.assertEqual(self.kind("Refresh", (0, 0, 30, 30), "Loads the page again"), "icon")
        self.assertEqual(self.kind("sin", (0, 0, 30, 30), ""), "button")

    def kind(self, name: str, box: tuple[int, int, int, int], description: str) -> str:
        node = mock.Mock()
        node.get_name.return_value, node.get_description.return_value = name, description
        node.get_image_iface.return_value, node.get_child_count.return_value = None, 0
        return reader()._button(node, "push button", box)


class Once(unittest.TestCase):
    def test_duplicate_table_heading_is_kept_once(self) -> None:
        name, again = Found("control", (0, 0, 100, 20), {}), Found("control", (1, 1, 101, 20), {})
        size, row = Found("control", (101, 0, 200, 20), {}), Found("table_row", (0, 0, 100, 20), {})
        self.assertEqual(once_each([name, again, size, row]), [name, size, row])


if __name__ == "__main__":
    unittest.main()
