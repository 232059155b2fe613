/**
 * Clicks and drags of the mouse with keys held. The desktop gets each as one action, which holds the keys around it: a key that was
 * pressed by itself could stay down when the connection breaks.
 */
import { pointAt, type Input } from "@/api/operate.ts";
import type { Button } from "@gen/common/v1/action_pb.ts";

// A hand trembles by a few pixels during a click.
const CLICK_PIXELS = 4;

/** Names of the keys that are held. The command key of a Mac does what Ctrl does on the desktop. */
export function modifiersOf(event: { readonly ctrlKey: boolean; readonly altKey: boolean; readonly shiftKey: boolean; readonly metaKey: boolean }): string[] {
  return [...(event.ctrlKey || event.metaKey ? ["ctrl"] : []), ...(event.altKey ? ["alt"] : []), ...(event.shiftKey ? ["shift"] : [])];
}

export function clickOrDrag(path: readonly (readonly [number, number])[], button: Button, count: number, modifiers: readonly string[]): Input {
  const [x, y] = path[0]!;
  const hasMoved = path.some((point) => Math.abs(point[0] - x) > CLICK_PIXELS || Math.abs(point[1] - y) > CLICK_PIXELS);
  if (!hasMoved) return { case: "click", value: { at: pointAt(x, y), button, count: Math.max(1, count), modifiers: [...modifiers] } };
  return { case: "drag", value: { path: path.map((point) => pointAt(...point)), button, modifiers: [...modifiers] } };
}
