import type { ReactNode } from "react";
import { cn } from "@/lib/class-names.ts";

interface ScreenBoxProps {
  /** Width to height. */
  readonly ratio: number;
  readonly className?: string;
  readonly children: ReactNode;
}

/** A box in the shape of a screen: as wide as its place, unless that would make it higher than `--screen-height`. */
export function ScreenBox({ ratio, className, children }: ScreenBoxProps): ReactNode {
  return (
    <div
      className={cn("relative mx-auto overflow-hidden bg-screen", className)}
      style={{ aspectRatio: ratio, width: `min(100%, calc(var(--screen-height, 100dvh) * ${ratio}))` }}
    >
      {children}
    </div>
  );
}
