import { expect, test } from "vitest";
import { Button } from "@gen/common/v1/action_pb.ts";
import { clickOrDrag, modifiersOf } from "@/model/modified-press.ts";

const HELD = { ctrlKey: false, altKey: false, shiftKey: false, metaKey: false };

test("keys that are held are named as the desktop names them", () => {
  expect(modifiersOf(HELD)).toEqual([]);
  expect(modifiersOf({ ...HELD, ctrlKey: true, shiftKey: true })).toEqual(["ctrl", "shift"]);
  expect(modifiersOf({ ...HELD, metaKey: true })).toEqual(["ctrl"]);
});

test("a press that trembles is a click, one that moves is a drag, both with the keys", () => {
  const click = clickOrDrag([[10, 10], [12, 9]], Button.LEFT, 1, ["ctrl"]);
  expect(click).toMatchObject({ case: "click", value: { count: 1, modifiers: ["ctrl"], at: { target: { value: { x: 10, y: 10 } } } } });
  const drag = clickOrDrag([[10, 10], [40, 10], [90, 20]], Button.LEFT, 1, ["shift"]);
  expect(drag).toMatchObject({ case: "drag", value: { modifiers: ["shift"], path: [{}, {}, { target: { value: { x: 90, y: 20 } } }] } });
});
