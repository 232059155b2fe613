import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useText } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { Button } from "./button.tsx";
import { useFullscreen } from "@/lib/use-fullscreen.ts";

interface DialogProps {
  readonly open: boolean;
  onOpenChange(open: boolean): void;
  readonly title: string;
  readonly description?: string;
  readonly children: ReactNode;
  readonly className?: string;
}

export function Dialog({ open, onOpenChange, title, description, children, className }: DialogProps): ReactNode {
  const container = useFullscreen();
  const t = useText();
  return (
    <Base.Root open={open} onOpenChange={onOpenChange}>
      <Base.Portal container={container}>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/40 backdrop-blur-[2px] transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0 dark:bg-black/60" />
        <Base.Popup
          className={cn(
            "fixed top-1/2 left-1/2 z-50 flex max-h-[min(88dvh,52rem)] w-[min(94vw,40rem)] -translate-1/2 flex-col overflow-hidden rounded-2xl border bg-popover text-popover-foreground shadow-raised transition-[opacity,scale] duration-150 data-ending-style:scale-98 data-ending-style:opacity-0 data-starting-style:scale-98 data-starting-style:opacity-0",
            className,
          )}
        >
          <div className="flex items-start gap-4 border-b px-5 py-4">
            <div className="min-w-0 flex-1">
              <Base.Title className="text-base font-semibold">{title}</Base.Title>
              {description !== undefined && (
                <Base.Description className="mt-0.5 text-sm text-pretty text-muted-foreground">{description}</Base.Description>
              )}
            </div>
            <Base.Close render={<Button variant="ghost" size="iconSmall" aria-label={t("close")} />}>
              <X />
            </Base.Close>
          </div>
          <div className="min-h-0 flex-1 overflow-y-auto p-5">{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
