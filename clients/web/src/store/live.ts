/** The open live screens, by source: what has become of each, for the title of its window, and statistics, for the diagnostics. */
import { create } from "zustand";
import type { LiveStatistics } from "@/api/live.ts";

/** `hidden`: not shown to this user, or not now. It is no fault of the connection. */
export type Trouble = "lost" | "hidden";

interface Live {
  readonly bySource: Readonly<Record<string, LiveStatistics>>;
  readonly troubles: Readonly<Record<string, Trouble | undefined>>;
}

export const useLive = create<Live>(() => ({ bySource: {}, troubles: {} }));

export function reportLive(source: string, statistics: LiveStatistics | undefined): void {
  useLive.setState(({ bySource }) => {
    const { [source]: _, ...others } = bySource;
    return { bySource: statistics ? { ...others, [source]: statistics } : others };
  });
}

export function reportTrouble(source: string, trouble: Trouble | undefined): void {
  if (useLive.getState().troubles[source] === trouble) return;
  useLive.setState(({ troubles }) => {
    const { [source]: _, ...others } = troubles;
    return { troubles: trouble ? { ...others, [source]: trouble } : others };
  });
}
