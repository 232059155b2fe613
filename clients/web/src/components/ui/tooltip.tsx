import { Tooltip as Base } from "@base-ui/react/tooltip";
import type { ReactElement, ReactNode } from "react";
import { Keys } from "./keys.tsx";
import { useFullscreen } from "@/lib/use-fullscreen.ts";

interface TooltipProps {
  readonly label: string;
  readonly keys?: readonly string[];
  readonly children: ReactElement;
  readonly side?: "top" | "bottom" | "right";
}

export function Tooltip({ label, keys, children, side = "top" }: TooltipProps): ReactNode {
  const container = useFullscreen();
  return (
    <Base.Root>
      <Base.Trigger render={children} delay={400} />
      <Base.Portal container={container}>
        <Base.Positioner side={side} sideOffset={7} className="z-60">
          <Base.Popup className="flex items-center gap-2 rounded-lg bg-foreground px-2.5 py-1.5 text-xs font-medium text-background shadow-raised transition-opacity duration-100 data-ending-style:opacity-0 data-starting-style:opacity-0">
            {label}
            {keys !== undefined && <Keys keys={keys} inverted />}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

export const TooltipProvider = Base.Provider;
