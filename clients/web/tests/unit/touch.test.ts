import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LONG_PRESS_MS, TouchGestures, type Touch, type TouchMeaning } from "../../src/model/touch.ts";

let meant: TouchMeaning[];
let gestures: TouchGestures;

beforeEach(() => {
  vi.useFakeTimers();
  meant = [];
  gestures = new TouchGestures((meaning) => meant.push(meaning));
});
afterEach(() => void vi.useRealTimers());

function touch(clientX: number, clientY: number, id = 1): Touch {
  return { id, clientX, clientY, timeStamp: 0 };
}

/** The meanings so far, in short. */
function short(): string[] {
  return meant.map((meaning) => `${meaning.kind} ${meaning.at.clientX},${meaning.at.clientY}${meaning.kind === "scroll" ? ` by ${meaning.x},${meaning.y}` : ""}`);
}

test("a tap is a click where the finger came down", () => {
  gestures.down(touch(100, 50));
  gestures.move(touch(103, 52));
  gestures.up(touch(103, 52));
  expect(short()).toEqual(["tap 100,50"]);
});

test("a tap that stays is a long press, and no click when the finger is lifted", () => {
  gestures.down(touch(100, 50));
  vi.advanceTimersByTime(LONG_PRESS_MS);
  gestures.move(touch(180, 50));
  gestures.up(touch(180, 50));
  expect(short()).toEqual(["longPress 100,50"]);
});

test("a finger that moves drags from where it came down", () => {
  gestures.down(touch(100, 50));
  gestures.move(touch(120, 50));
  vi.advanceTimersByTime(LONG_PRESS_MS);
  gestures.move(touch(140, 60));
  gestures.up(touch(140, 60));
  expect(short()).toEqual(["press 100,50", "move 120,50", "move 140,60", "release 140,60"]);
});

test("a second finger does not take part in a drag", () => {
  gestures.down(touch(100, 50));
  gestures.move(touch(120, 50));
  gestures.down(touch(300, 300, 2));
  gestures.move(touch(320, 300, 2));
  gestures.up(touch(320, 300, 2));
  gestures.move(touch(140, 50));
  gestures.up(touch(140, 50));
  expect(short()).toEqual(["press 100,50", "move 120,50", "move 140,50", "release 140,50"]);
});

test("two fingers scroll, and press nothing, also not with the finger that stays", () => {
  gestures.down(touch(100, 200));
  gestures.down(touch(160, 200, 2));
  gestures.move(touch(100, 180));
  gestures.move(touch(160, 180, 2));
  gestures.up(touch(160, 180, 2));
  gestures.move(touch(100, 100));
  gestures.up(touch(100, 100));
  vi.advanceTimersByTime(LONG_PRESS_MS);
  expect(short()).toEqual(["scroll 100,180 by 0,-10", "scroll 160,180 by 0,-10"]);
});

test("a touch that the browser takes is no tap, and a drag is released", () => {
  gestures.down(touch(1, 1));
  gestures.cancel(touch(1, 1));
  gestures.down(touch(1, 1));
  gestures.move(touch(31, 1));
  gestures.cancel(touch(31, 1));
  expect(short()).toEqual(["press 1,1", "move 31,1", "release 31,1"]);
});
