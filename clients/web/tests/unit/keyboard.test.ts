import { expect, test } from "vitest";
import { isCopyChord, meaningOf, type KeyPress } from "@/model/keyboard.ts";
import { PressCounter } from "@/model/presses.ts";

const press = (key: string, held: Partial<KeyPress> = {}): KeyPress =>
  ({ key, ctrlKey: false, altKey: false, metaKey: false, shiftKey: false, altGraph: false, composing: false, ...held });

test.each<[string, Partial<KeyPress>, string]>([
  ["a", {}, "text"], ["A", { shiftKey: true }, "text"], ["中", {}, "text"], [" ", {}, "text"], ["Process", {}, "text"], ["Dead", {}, "text"],
  ["Enter", { composing: true }, "text"], ["@", { ctrlKey: true, altKey: true, altGraph: true }, "text"],
  ["v", { ctrlKey: true }, "paste"], ["v", { metaKey: true }, "paste"], ["Escape", { shiftKey: true }, "leave"],
  ["Shift", { shiftKey: true }, "none"], ["Control", { ctrlKey: true }, "none"], ["AudioVolumeUp", {}, "none"],
])("%s with %o is %s", (key, held, kind) => {
  expect(meaningOf(press(key, held)).kind).toBe(kind);
});

test.each<[string, Partial<KeyPress>, string]>([
  ["Enter", {}, "enter"], ["ArrowLeft", { shiftKey: true }, "shift+left"], ["c", { ctrlKey: true }, "ctrl+c"], ["C", { metaKey: true }, "ctrl+c"],
  ["Tab", { altKey: true }, "alt+tab"], ["F5", {}, "f5"], ["Escape", {}, "escape"], [" ", { ctrlKey: true }, "ctrl+space"],
  ["V", { ctrlKey: true, altKey: true }, "ctrl+alt+v"], ["S", { ctrlKey: true, shiftKey: true }, "ctrl+shift+s"],
])("%s with %o presses %s", (key, held, chord) => {
  const meaning = meaningOf(press(key, held));
  expect(meaning.kind === "chord" && meaning.keys.join("+")).toBe(chord);
});

test("only what copies in common applications is a chord that copies", () => {
  const copies = (chord: string): boolean => isCopyChord(chord.split("+"));
  expect(["ctrl+c", "ctrl+x", "ctrl+insert", "ctrl+shift+c"].filter(copies)).toHaveLength(4);
  expect(["c", "ctrl+a", "ctrl+alt+c", "alt+c", "shift+insert", "ctrl+v", "ctrl+left"].filter(copies)).toEqual([]);
});

test("presses at one place shortly after each other are a double and a triple click", () => {
  const presses = new PressCounter();
  const at = (timeStamp: number, clientX = 10, button = 0) => presses.count({ timeStamp, clientX, clientY: 10, button });
  expect([at(0), at(300), at(600), at(700)]).toEqual([1, 2, 3, 1]);
  expect([at(2_000), at(2_500)]).toEqual([1, 1]);
  expect([at(5_000), at(5_100, 30)]).toEqual([1, 1]);
  expect([at(8_000), at(8_100, 10, 2)]).toEqual([1, 1]);
});
