/** Sums over the model calls of a run. Pure. */
import { durationMilliseconds, type ModelCall } from "./task.ts";

export interface UsageSum {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  /** Cost in US dollars of the calls that tell theirs. */
  readonly cost: number;
  /** False if a call did not tell its cost, so that the sum is too low. */
  readonly isCostComplete: boolean;
  /** Time spent waiting for responses, in milliseconds. */
  readonly waited: number;
}

export function usageOf(modelCalls: readonly ModelCall[]): UsageSum {
  let [calls, inputTokens, outputTokens, cachedTokens, micros, waited] = [0, 0, 0, 0, 0, 0];
  let isCostComplete = true;
  for (const { usage } of modelCalls) {
    if (!usage) continue;
    calls += usage.calls;
    inputTokens += Number(usage.inputTokens ?? 0n);
    outputTokens += Number(usage.outputTokens ?? 0n);
    cachedTokens += Number(usage.cachedTokens ?? 0n);
    micros += Number(usage.costMicrosUsd ?? 0n);
    waited += durationMilliseconds(usage.inferenceTime);
    if (usage.calls > 0 && usage.costMicrosUsd === undefined) isCostComplete = false;
  }
  return { calls, inputTokens, outputTokens, cachedTokens, cost: micros / 1e6, isCostComplete, waited };
}
