"""Evaluation data is never used in training. Run with `python3 -m unittest splits_test`."""

import unittest

from catalogue import APPLICATIONS, FONTS, ICONS, STYLES, THEMES
from collect import EVALUATED, brightness, surroundings

SPLITS = ("train", "validation", "test")


class Splits(unittest.TestCase):
    def test_each_application_is_in_one_split(self) -> None:
        splits: dict[str, set[str]] = {}
        for one in APPLICATIONS:
            splits.setdefault(one.command[0], set()).add(one.split)
        self.assertEqual({name: where for name, where in splits.items() if len(where) > 1}, {})

    def test_appearance_settings_are_in_one_split_only(self) -> None:
        for table in (THEMES, STYLES, ICONS, FONTS):
            everything = [name for split in SPLITS for name in table[split]]
            self.assertEqual(len(everything), len(set(everything)), everything)

    def test_surroundings_of_a_visit_belong_to_its_split(self) -> None:
        for one in APPLICATIONS:
            for turn in range(20):
                around = surroundings(one, f"test/{turn}")
                self.assertIn(around["theme"], THEMES[one.split])
                self.assertIn(around["icons"], ICONS[one.split])
                if one.split != "train":
                    self.assertIn(around["size"], EVALUATED)

    def test_themes_are_classified_by_brightness(self) -> None:
        found = {look: brightness(look) for look in ("Windows", "BlackMATE", "kvantum/KvAdaptaDark", "HighContrastInverse")}
        self.assertEqual(list(found.values()), ["light", "dark", "dark", "contrast"])

    def test_the_same_seed_gives_the_same_surroundings(self) -> None:
        self.assertEqual(surroundings(APPLICATIONS[0], "again"), surroundings(APPLICATIONS[0], "again"))


if __name__ == "__main__":
    unittest.main()
