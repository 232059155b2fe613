/** The time of a run by stage: those of the steps, joined to the four that a person asks about. Pure. */
import type { StepView } from "./task.ts";

export const PHASES = ["see", "decide", "act", "settle"] as const;
export type Phase = (typeof PHASES)[number];

const PHASE_OF_STAGE: Readonly<Record<string, Phase>> = {
  observe: "see",
  extract: "see",
  decide: "decide",
  resolve: "act",
  pointer: "act",
  act: "act",
  call: "act",
  settle: "settle",
};

export type Latency = Readonly<Record<Phase, number>>;

export function latencyOf(step: StepView): Latency {
  const sums: Record<Phase, number> = { see: 0, decide: 0, act: 0, settle: 0 };
  for (const { stage, milliseconds } of step.timings) {
    // A stage that was added to the contract later counts as acting.
    sums[PHASE_OF_STAGE[stage] ?? "act"] += milliseconds;
  }
  return sums;
}

export function totalOf(latency: Latency): number {
  return PHASES.reduce((sum, phase) => sum + latency[phase], 0);
}

export function sumOf(latencies: readonly Latency[]): Latency {
  const sums: Record<Phase, number> = { see: 0, decide: 0, act: 0, settle: 0 };
  for (const latency of latencies) {
    for (const phase of PHASES) sums[phase] += latency[phase];
  }
  return sums;
}
