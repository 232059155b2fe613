import type { ReactNode } from "react";
import { cn } from "@/lib/class-names.ts";

/** Keys of a keyboard shortcut. */
export function Keys({ keys, inverted = false }: { readonly keys: readonly string[]; readonly inverted?: boolean }): ReactNode {
  return (
    <span className="inline-flex gap-0.5" aria-hidden>
      {keys.map((key) => (
        <kbd
          key={key}
          className={cn(
            "inline-flex h-5 min-w-5 items-center justify-center rounded-md px-1 font-sans text-[0.6875rem] font-medium",
            inverted ? "bg-background/20 text-background" : "border bg-muted text-muted-foreground",
          )}
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}
