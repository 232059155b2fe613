/** The target of an approval within the screenshot that its approver is shown. Pure. */
import type { PixelBox } from "@gen/common/v1/geometry_pb.ts";
import { boxOf, type Box } from "./actions.ts";

// The server shows this much around a target (`evidence_area` of services/task/src/approval_context/area.rs).
const MARGIN_X = 240;
const MARGIN_Y = 120;

/**
 * Box of the target in the screenshot, in its pixels. The screenshot begins at the margin around the target, or at the edge of the
 * screen; without a place to click, it has the whole screen.
 */
export function targetInEvidence(target: PixelBox | undefined, width: number, height: number): Box | undefined {
  const box = boxOf(target);
  if (!box || width === 0 || height === 0) return undefined;
  const whole = width > box.width + 2 * MARGIN_X || height > box.height + 2 * MARGIN_Y;
  const left = whole ? 0 : Math.max(0, box.x - MARGIN_X);
  const top = whole ? 0 : Math.max(0, box.y - MARGIN_Y);
  const inside = { ...box, x: box.x - left, y: box.y - top };
  const fits = inside.x >= 0 && inside.y >= 0 && inside.x + inside.width <= width && inside.y + inside.height <= height;
  // A box that is wrong would be worse than none.
  return fits ? inside : undefined;
}
