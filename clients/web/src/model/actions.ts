/** The points and boxes that an action has on the screen, for the overlays. In frame pixels. */
import type { Action, Target } from "@gen/common/v1/action_pb.ts";
import { EffectVerdict } from "@gen/common/v1/effect_pb.ts";
import type { ActionView, StepView } from "./task.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export type Tone = "good" | "bad" | "unsure" | "neutral" | "active";

export function pointOf(target: Target | undefined): Point | undefined {
  return target?.target.case === "point" ? { x: target.target.value.x, y: target.target.value.y } : undefined;
}

/** Points of a performed action in their order: one for a click, all of a drag. */
export function pointsOf(action: Action | undefined): readonly Point[] {
  const kind = action?.action;
  switch (kind?.case) {
    case "move": return present(pointOf(kind.value.to));
    case "click": case "mouseDown": case "mouseUp": case "scroll": return present(pointOf(kind.value.at));
    case "drag": return kind.value.path.flatMap((target) => present(pointOf(target)));
    // Every kind is named, so that a new one at a point does not compile unseen.
    case "typeText": case "keyChord": case "holdKey": case "wait": case "setClipboard": case "paste": case "openApplication":
    case "openUrl": case "focusWindow": case "goToUrl": case "goBack": case "goForward": case "refresh": case undefined: return [];
  }
}

function present<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value];
}

export function boxOf(box: { x1: number; y1: number; x2: number; y2: number } | undefined): Box | undefined {
  return box ? { x: box.x1, y: box.y1, width: box.x2 - box.x1, height: box.y2 - box.y1 } : undefined;
}

export function toneOfVerdict(verdict: EffectVerdict | undefined): Tone {
  switch (verdict) {
    case EffectVerdict.CONFIRMED: case EffectVerdict.END_REACHED: return "good";
    case EffectVerdict.NO_EFFECT: case EffectVerdict.TEXT_DIFFERS: return "bad";
    case EffectVerdict.CHANGED_ELSEWHERE: case EffectVerdict.UNKNOWN: case EffectVerdict.TARGET_MOVED: return "unsure";
    default: return "neutral";
  }
}

/** The verdict that a step is known by: the worst of its actions. */
export function toneOfStep(step: StepView, running: boolean): Tone {
  if (step.problem) return "bad";
  const tones = step.actions.map((action) => toneOfVerdict(action.effect?.verdict));
  for (const tone of ["bad", "unsure", "good"] as const) {
    if (tones.includes(tone)) return tone;
  }
  return running && step.endedAt === undefined ? "active" : "neutral";
}

export function lastEffect(step: StepView): ActionView | undefined {
  return step.actions.findLast((action) => action.effect !== undefined);
}
