import type { ReactNode } from "react";
import { cn } from "@/lib/class-names.ts";
import type { Tone } from "@/model/actions.ts";

const TONES: Record<Tone, string> = {
  good: "bg-success-soft text-success",
  bad: "bg-danger-soft text-destructive",
  unsure: "bg-warning-soft text-warning",
  neutral: "bg-muted text-muted-foreground",
  active: "bg-accent text-accent-foreground",
};

interface BadgeProps {
  readonly tone?: Tone;
  readonly children: ReactNode;
  readonly className?: string;
}

export function Badge({ tone = "neutral", children, className }: BadgeProps): ReactNode {
  return (
    <span
      className={cn(
        "inline-flex h-5.5 shrink-0 items-center gap-1.5 rounded-full px-2 text-xs font-medium whitespace-nowrap [&_svg]:size-3.5",
        TONES[tone],
        className,
      )}
    >
      {children}
    </span>
  );
}
