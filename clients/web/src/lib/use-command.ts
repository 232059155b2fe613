import { useCallback, useState } from "react";
import { problemOf, type Problem } from "@/api/errors.ts";

export interface Command<Arguments extends unknown[]> {
  readonly run: (...values: Arguments) => void;
  readonly busy: boolean;
  readonly problem: Problem | undefined;
}

/** Runs a call for a control: says whether it is under way, and keeps its failure to be shown beside the control. */
export function useCommand<Arguments extends unknown[]>(call: (...values: Arguments) => Promise<void>): Command<Arguments> {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const run = useCallback(
    (...values: Arguments) => {
      setBusy(true);
      setProblem(undefined);
      call(...values)
        .catch((error: unknown) => setProblem(problemOf(error)))
        .finally(() => setBusy(false));
    },
    [call],
  );
  return { run, busy, problem };
}
