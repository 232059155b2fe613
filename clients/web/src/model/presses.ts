/** Counts presses of a mouse button that belong together: single, double and triple clicks. */

export interface Press {
  readonly button: number;
  readonly clientX: number;
  readonly clientY: number;
  /** In milliseconds. */
  readonly timeStamp: number;
}

// As browsers and desktops do by default.
const INTERVAL_MS = 400;
const DISTANCE_PIXELS = 5;
const MAX_COUNT = 3;

export class PressCounter {
  private previous: Press | undefined;
  /** Count of the last press. */
  last = 0;

  count(press: Press): number {
    const before = this.previous;
    const continues = before !== undefined && before.button === press.button && press.timeStamp - before.timeStamp <= INTERVAL_MS
      && Math.abs(press.clientX - before.clientX) <= DISTANCE_PIXELS && Math.abs(press.clientY - before.clientY) <= DISTANCE_PIXELS;
    this.previous = press;
    this.last = continues && this.last < MAX_COUNT ? this.last + 1 : 1;
    return this.last;
  }
}
