/** Which step of each task is shown. The timeline, the screen and the scrubber are all drawn from this. */
import { create } from "zustand";
import { LIVE, type Selection } from "@/model/scrubber.ts";

interface Selections {
  readonly byTask: Readonly<Record<string, Selection>>;
}

const useSelections = create<Selections>(() => ({ byTask: {} }));

export function useSelection(task: string): Selection {
  return useSelections((state) => state.byTask[task] ?? LIVE);
}

export function select(task: string, selection: Selection): void {
  useSelections.setState((state) => ({ byTask: { ...state.byTask, [task]: selection } }));
}
