import { useCallback, useState } from "react";
import { problemOf, type Problem } from "@/api/errors.ts";

export interface Command<Arguments extends unknown[]> {
  readonly run: (...values: Arguments) => void;
  readonly busy: boolean;
  readonly problem: Problem | undefined;
}

interface Progress {
  readonly scope: string | undefined;
  readonly busy: boolean;
  readonly problem?: Problem;
}

/**
 * Runs a call for a control: says whether it is under way, and keeps its failure to be shown beside the control. A control that stays
 * while it comes to stand for another thing names that as `scope`: the call of one says nothing about the other.
 */
export function useCommand<Arguments extends unknown[]>(call: (...values: Arguments) => Promise<void>, scope?: string): Command<Arguments> {
  const [progress, setProgress] = useState<Progress>({ scope, busy: false });
  const run = useCallback(
    (...values: Arguments) => {
      const finish = (problem?: Problem): void =>
        setProgress((now) => (now.scope === scope ? { scope, busy: false, ...(problem && { problem }) } : now));
      setProgress({ scope, busy: true });
      call(...values).then(() => finish(), (error: unknown) => finish(problemOf(error)));
    },
    [call, scope],
  );
  const { busy, problem } = progress.scope === scope ? progress : { busy: false, problem: undefined };
  return { run, busy, problem };
}
