/** The outcome of a step, in words for the timeline. Pure. */
import { EffectVerdict } from "@gen/common/v1/effect_pb.ts";
import { lastEffect } from "./actions.ts";
import type { StepView } from "./task.ts";

/** A verdict is said in the words of the page; anything else in those of the server. */
export type StepOutcome = { readonly verdict: EffectVerdict } | { readonly text: string } | undefined;

/**
 * Verdicts whose explanation counts pixels, which say nothing to a person: a confirmed effect needs no words beside its tick.
 * The explanation itself is in the run details.
 */
const COUNTED: ReadonlySet<EffectVerdict> = new Set([EffectVerdict.CONFIRMED, EffectVerdict.CHANGED_ELSEWHERE]);
const COUNT = /^\d|\d+ 个像素/;

export function outcomeOf(step: StepView): StepOutcome {
  // A line that was corrected ends with the outcome of the step.
  if (step.outcome === "" || step.progress.includes(step.outcome)) return undefined;
  const effect = lastEffect(step)?.effect;
  if (!effect || effect.explanation !== step.outcome || !COUNTED.has(effect.verdict) || !COUNT.test(step.outcome)) return { text: step.outcome };
  return effect.verdict === EffectVerdict.CONFIRMED ? undefined : { verdict: effect.verdict };
}
