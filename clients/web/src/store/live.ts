/** The open live screens, by desktop: whether one is lost, for the title of its window, and statistics, for the diagnostics. */
import { create } from "zustand";
import type { LiveStatistics } from "@/api/live.ts";

interface Live {
  readonly byDesktop: Readonly<Record<string, LiveStatistics>>;
  readonly lost: Readonly<Record<string, boolean>>;
}

export const useLive = create<Live>(() => ({ byDesktop: {}, lost: {} }));

export function reportLive(desktop: string, statistics: LiveStatistics | undefined): void {
  useLive.setState(({ byDesktop }) => {
    const { [desktop]: _, ...others } = byDesktop;
    return { byDesktop: statistics ? { ...others, [desktop]: statistics } : others };
  });
}

export function reportLost(desktop: string, isLost: boolean): void {
  if ((useLive.getState().lost[desktop] ?? false) === isLost) return;
  useLive.setState(({ lost }) => ({ lost: { ...lost, [desktop]: isLost } }));
}
