/** Statistics of the open live screens, for the diagnostics. */
import { create } from "zustand";
import type { LiveStatistics } from "@/api/live.ts";

export const useLive = create<{ readonly byDesktop: Readonly<Record<string, LiveStatistics>> }>(() => ({ byDesktop: {} }));

export function reportLive(desktop: string, statistics: LiveStatistics | undefined): void {
  useLive.setState(({ byDesktop }) => {
    const { [desktop]: _, ...others } = byDesktop;
    return { byDesktop: statistics ? { ...others, [desktop]: statistics } : others };
  });
}
