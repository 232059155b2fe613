/**
 * The scrubber below the screen: one knot per step and a last one for *live* (or for the end of a finished task). Pure, so
 * that the timeline, the screenshot and the scrubber can only agree: all three are drawn from one `Selection`.
 */

/** The shown step by its number, or the live screen (the end, for a finished task). */
export type Selection = { readonly kind: "live" } | { readonly kind: "step"; readonly number: number };

export const LIVE: Selection = { kind: "live" };

/** Position of a selection: 0 … stepCount − 1 for steps, stepCount for live. A step that is not there counts as live. */
export function positionOf(selection: Selection, stepNumbers: readonly number[]): number {
  if (selection.kind === "live") return stepNumbers.length;
  const index = stepNumbers.indexOf(selection.number);
  return index < 0 ? stepNumbers.length : index;
}

export function selectionAt(position: number, stepNumbers: readonly number[]): Selection {
  const clamped = Math.max(0, Math.min(stepNumbers.length, Math.round(position)));
  const number = stepNumbers[clamped];
  return number === undefined ? LIVE : { kind: "step", number };
}

/** The position for a pointer at the fraction `share` (0 … 1) of the track. */
export function positionAtShare(share: number, stepCount: number): number {
  if (stepCount === 0) return 0;
  return Math.max(0, Math.min(stepCount, Math.round(share * stepCount)));
}

/** The place of a position on the track, from 0 to 1. With nothing but *live*, that is at the end. */
export function shareOf(position: number, stepCount: number): number {
  return stepCount === 0 ? 1 : position / stepCount;
}

/** The position after a key, or undefined for a key that the scrubber does not use. */
export function positionAfterKey(key: string, position: number, stepCount: number): number | undefined {
  // A tenth of the run, and at least two steps, so that PageUp differs from an arrow key.
  const page = Math.max(2, Math.round(stepCount / 10));
  switch (key) {
    case "ArrowLeft": case "ArrowDown": return Math.max(0, position - 1);
    case "ArrowRight": case "ArrowUp": return Math.min(stepCount, position + 1);
    case "PageDown": return Math.max(0, position - page);
    case "PageUp": return Math.min(stepCount, position + page);
    case "Home": return 0;
    case "End": return stepCount;
    default: return undefined;
  }
}

/** Radius of a knot in pixels: as large as the space between two allows, so that 500 of them still are 500. */
export function knotRadius(width: number, stepCount: number): number {
  if (stepCount === 0) return 4;
  return Math.max(0.75, Math.min(4, width / stepCount / 3));
}
