/**
 * A run as a file replays it: everything that the page draws of a task, in plain JSON, with artifacts named by a number. Pure.
 *
 * It is a contract of its own: a file that was exported stays as it is, whatever the page becomes.
 */
import { boxOf, pointsOf, toneOfStep, type Box, type Point, type Tone } from "./actions.ts";
import { latencyOf, type Latency } from "./latency.ts";
import { outcomeOf } from "./outcome.ts";
import { screenAfter, TaskState, type StepView, type TaskView } from "./task.ts";
import { usageOf } from "./usage.ts";
import type { EffectVerdict } from "@gen/common/v1/effect_pb.ts";

export interface ReplayAction {
  readonly intent: string;
  readonly target: string;
  readonly box?: Box;
  readonly tone: Tone;
}

export interface ReplayStep {
  readonly number: number;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly progress: string;
  readonly outcome: string;
  readonly thought: string;
  readonly decidedBy: string;
  readonly tone: Tone;
  readonly verdict: string;
  readonly window: string;
  readonly width: number;
  readonly height: number;
  /** Indices into the images. Absent if there was no screenshot. */
  readonly before?: number;
  readonly after?: number;
  readonly path: readonly Point[];
  readonly changed: readonly Box[];
  readonly actions: readonly ReplayAction[];
  readonly latency: Latency;
}

export interface Replay {
  readonly version: 1;
  readonly task: string;
  readonly goal: string;
  readonly state: "succeeded" | "failed" | "cancelled" | "unfinished";
  readonly createdAt: number;
  readonly endedAt?: number;
  readonly files: readonly string[];
  readonly messages: readonly { readonly from: "user" | "agent"; readonly text: string; readonly step: number }[];
  readonly steps: readonly ReplayStep[];
  readonly answer: string;
  readonly failure: string;
  readonly results: readonly string[];
  readonly extractions: readonly { readonly step: number; readonly json: string }[];
  readonly usage: { readonly calls: number; readonly tokens: number; readonly cost?: number };
}

/** The replay of a task, and the artifacts that its image numbers stand for. */
export function replayOf(task: TaskView, words: (verdict: EffectVerdict) => string): { readonly replay: Replay; readonly artifacts: readonly string[] } {
  const artifacts: string[] = [];
  const numbers = new Map<string, number>();
  const numberOf = (artifact: string): number => {
    const known = numbers.get(artifact);
    if (known !== undefined) return known;
    numbers.set(artifact, artifacts.length);
    artifacts.push(artifact);
    return artifacts.length - 1;
  };
  const usage = usageOf(task.modelCalls);
  const replay: Replay = {
    version: 1,
    task: task.name,
    goal: task.goal,
    state: STATES[task.state] ?? "unfinished",
    createdAt: task.createdAt,
    ...(task.endedAt === undefined ? {} : { endedAt: task.endedAt }),
    files: task.attachments.map((file) => file.name),
    messages: task.messages.map(({ kind, text, step }) => ({ from: kind === "question" ? "agent" : "user", text, step })),
    steps: task.steps.map((step, index) => stepOf(step, screenAfter(task, index), numberOf, words)),
    answer: task.answer,
    failure: task.failure?.message ?? task.cancelReason,
    results: task.results.map((file) => file.name),
    extractions: task.extractions.map(({ step, json }) => ({ step, json })),
    usage: { calls: usage.calls, tokens: usage.inputTokens + usage.outputTokens, ...(usage.isCostComplete ? { cost: usage.cost } : {}) },
  };
  return { replay, artifacts };
}

const STATES: Partial<Record<TaskState, Replay["state"]>> = {
  [TaskState.SUCCEEDED]: "succeeded",
  [TaskState.FAILED]: "failed",
  [TaskState.CANCELLED]: "cancelled",
};

function stepOf(
  step: StepView, after: string | undefined, numberOf: (artifact: string) => number, words: (verdict: EffectVerdict) => string,
): ReplayStep {
  const { screen } = step;
  const outcome = outcomeOf(step);
  const effect = step.actions.findLast((action) => action.effect)?.effect;
  const path = step.actions.flatMap((action) => pointsOf(action.performed));
  return {
    number: step.number,
    startedAt: step.startedAt,
    ...(step.endedAt === undefined ? {} : { endedAt: step.endedAt }),
    progress: step.progress,
    outcome: step.problem || (outcome === undefined ? "" : "text" in outcome ? outcome.text : words(outcome.verdict)),
    thought: step.thought,
    decidedBy: step.model || step.backend,
    tone: toneOfStep(step, false),
    verdict: effect ? words(effect.verdict) : "",
    window: screen?.title ?? "",
    width: screen?.width ?? 0,
    height: screen?.height ?? 0,
    ...(screen ? { before: numberOf(screen.image) } : {}),
    ...(after === undefined ? {} : { after: numberOf(after) }),
    path: screen?.cursor && path.length > 0 ? [{ x: screen.cursor.x, y: screen.cursor.y }, ...path] : path,
    changed: step.actions.flatMap((action) => (action.effect?.change?.regions ?? []).flatMap((region) => boxOf(region.bounds) ?? [])),
    actions: step.actions.map((action) => {
      const box = boxOf(action.target);
      return {
        intent: action.planned?.intent ?? "",
        target: action.targetLabel,
        tone: toneOfStep({ ...step, problem: "", actions: [action] }, false),
        ...(box ? { box } : {}),
      };
    }),
    latency: latencyOf(step),
  };
}
