import { expect, test } from "vitest";
import { knotRadius, LIVE, positionAfterKey, positionAtShare, positionOf, selectionAt, shareOf } from "@/model/scrubber.ts";

const steps = [1, 2, 4];

test.each([
  [LIVE, 3],
  [{ kind: "step", number: 1 }, 0],
  [{ kind: "step", number: 4 }, 2],
  [{ kind: "step", number: 9 }, 3],
] as const)("%o is at position %i, and back", (selection, position) => {
  expect(positionOf(selection, steps)).toBe(position);
  expect(positionOf(selectionAt(position, steps), steps)).toBe(position);
});

test("a chosen step stays chosen when more steps arrive, and live stays live", () => {
  const chosen = selectionAt(1, steps);
  expect(positionOf(chosen, [...steps, 5, 6])).toBe(1);
  expect(positionOf(LIVE, [...steps, 5, 6])).toBe(5);
});

test.each([[-0.2, 0], [0, 0], [0.16, 0], [0.17, 1], [0.5, 2], [0.99, 3], [1.4, 3]])("the share %f of the track is position %i", (share, position) => {
  expect(positionAtShare(share, 3)).toBe(position);
});

test("the track of a task without steps is all live", () => {
  expect(positionAtShare(0.1, 0)).toBe(0);
  expect(shareOf(0, 0)).toBe(1);
});

test.each([
  ["ArrowLeft", 3, 2], ["ArrowLeft", 0, 0], ["ArrowRight", 2, 3], ["ArrowRight", 3, 3],
  ["Home", 2, 0], ["End", 0, 3], ["PageUp", 0, 2], ["PageDown", 3, 1], ["x", 1, undefined],
] as const)("%s at %i leads to %s", (key, from, to) => {
  expect(positionAfterKey(key, from, 3)).toBe(to);
});

test("every knot is visible, and 500 of them do not overlap", () => {
  expect(knotRadius(800, 5)).toBe(4);
  expect(knotRadius(800, 500) * 2).toBeLessThan(800 / 500);
});
