/** The step of each task that is shown. The timeline, the screen and the scrubber are all drawn from this. */
import { create } from "zustand";
import { LIVE, type Selection } from "@/model/scrubber.ts";

interface Selections {
  readonly byTask: Readonly<Record<string, Selection>>;
  /** Tasks whose run is shown below their answer or question. */
  readonly shownRuns: Readonly<Record<string, boolean>>;
}

const useSelections = create<Selections>(() => ({ byTask: {}, shownRuns: {} }));

export function useIsRunShown(task: string): boolean {
  return useSelections((state) => state.shownRuns[task] ?? false);
}

export function showRun(task: string, shown: boolean): void {
  useSelections.setState((state) => ({ shownRuns: { ...state.shownRuns, [task]: shown } }));
}

export function useSelection(task: string): Selection {
  return useSelections((state) => state.byTask[task] ?? LIVE);
}

export function select(task: string, selection: Selection): void {
  useSelections.setState((state) => ({ byTask: { ...state.byTask, [task]: selection } }));
}
