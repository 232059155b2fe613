/**
 * From touches to the mouse of a desktop: a tap is a click, a tap that stays is a click of the right button, a finger that moves drags, and
 * two fingers scroll. Nothing is pressed before it is clear which of them is meant.
 */

/** A touch, in CSS pixels of the page. */
export interface Touch {
  readonly id: number;
  readonly clientX: number;
  readonly clientY: number;
  /** In milliseconds. */
  readonly timeStamp: number;
}

export interface PagePoint {
  readonly clientX: number;
  readonly clientY: number;
}

/** Meaning of the touches. `scroll` has pixels by which the content follows the fingers. */
export type TouchMeaning =
  | { readonly kind: "tap"; readonly at: Touch }
  | { readonly kind: "longPress" | "press" | "move" | "release"; readonly at: PagePoint }
  | { readonly kind: "scroll"; readonly at: PagePoint; readonly x: number; readonly y: number };

// As phones do by default.
export const LONG_PRESS_MS = 500;
// A finger that rests moves by a few pixels.
const SLACK_PIXELS = 10;

type State =
  | { readonly kind: "none" | "scrolling" | "spent" }
  | { readonly kind: "waiting" | "dragging"; readonly start: Touch };

export class TouchGestures {
  private readonly touches = new Map<number, Touch>();
  private state: State = { kind: "none" };
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly mean: (meaning: TouchMeaning) => void) {}

  down(touch: Touch): void {
    // A drag is of one finger.
    if (this.state.kind === "dragging") return;
    this.touches.set(touch.id, touch);
    if (this.touches.size === 1) {
      this.state = { kind: "waiting", start: touch };
      this.timer = setTimeout(() => {
        this.state = { kind: "spent" };
        this.mean({ kind: "longPress", at: touch });
      }, LONG_PRESS_MS);
    } else if (this.touches.size === 2 && this.state.kind === "waiting") {
      clearTimeout(this.timer);
      this.state = { kind: "scrolling" };
    }
  }

  move(touch: Touch): void {
    const before = this.touches.get(touch.id);
    if (before === undefined) return;
    if (this.state.kind === "waiting") {
      const { start } = this.state;
      if (Math.hypot(touch.clientX - start.clientX, touch.clientY - start.clientY) <= SLACK_PIXELS) return;
      clearTimeout(this.timer);
      this.state = { kind: "dragging", start };
      this.mean({ kind: "press", at: start });
    }
    this.touches.set(touch.id, touch);
    if (this.state.kind === "dragging") this.mean({ kind: "move", at: touch });
    // Both fingers move: each counts for half of the way.
    if (this.state.kind === "scrolling") {
      this.mean({ kind: "scroll", at: touch, x: (touch.clientX - before.clientX) / 2, y: (touch.clientY - before.clientY) / 2 });
    }
  }

  up(touch: Touch): void {
    if (!this.touches.delete(touch.id)) return;
    clearTimeout(this.timer);
    const { state } = this;
    if (state.kind === "waiting") this.mean({ kind: "tap", at: state.start });
    if (state.kind === "dragging") this.mean({ kind: "release", at: touch });
    // What the other finger does until it is lifted means nothing.
    this.state = { kind: this.touches.size > 0 ? "spent" : "none" };
  }

  /** The browser has taken the touch. What was pressed is released. */
  cancel(touch: Touch): void {
    if (this.state.kind === "waiting") this.state = { kind: "spent" };
    this.up(touch);
  }
}
