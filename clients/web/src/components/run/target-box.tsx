import type { ReactNode } from "react";
import type { Box } from "@/model/actions.ts";

/** The target of an action that waits for approval, within an SVG. Its two colours stand out from any page. */
export function TargetBox({ box, unit }: { readonly box: Box; readonly unit: number }): ReactNode {
  const margin = 4 * unit;
  const place = { x: box.x - margin, y: box.y - margin, width: box.width + 2 * margin, height: box.height + 2 * margin, rx: 5 * unit };
  return (
    <>
      <rect {...place} strokeWidth={5 * unit} className="fill-none stroke-white/90" />
      <rect {...place} strokeWidth={2.5 * unit} className="fill-orange-500/15 stroke-orange-600" />
    </>
  );
}
