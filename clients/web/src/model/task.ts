/**
 * The state of a task as the page draws it, computed from the task's events and from nothing else.
 *
 * `foldEvent` is pure: it returns a new view and leaves the old one unchanged, so that components can compare by identity.
 * It does not know of the network, of languages or of the place where something is drawn. An event that was applied before
 * (its sequence number is not above the last one) changes nothing, so a repeated delivery is harmless.
 */
import type { Action } from "@gen/common/v1/action_pb.ts";
import { ActionResult } from "@gen/common/v1/action_pb.ts";
import type { PlannedAction, Usage, ValueSource } from "@gen/common/v1/decision_pb.ts";
import type { Effect } from "@gen/common/v1/effect_pb.ts";
import type { PixelBox, PixelPoint } from "@gen/common/v1/geometry_pb.ts";
import type { Event } from "@gen/orchestrator/v1/event_pb.ts";
import type { Approval, Artifact, DesktopWait, Failure, UserRequest } from "@gen/orchestrator/v1/task_pb.ts";
import { Task_State as TaskState, UserRequest_Kind as RequestKind } from "@gen/orchestrator/v1/task_pb.ts";
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";

export { TaskState, RequestKind };

export interface FileEntry {
  readonly name: string;
  readonly artifact?: string;
  readonly sizeBytes?: number;
  readonly error?: string;
}

/** One attempt-merged action of a step. Retries of the same action replace its point and effect and count up. */
export interface ActionView {
  readonly id: string;
  readonly planned?: PlannedAction;
  readonly performed?: Action;
  readonly target?: PixelBox;
  readonly targetLabel: string;
  readonly result: ActionResult;
  readonly detail: string;
  readonly pointer?: PixelPoint;
  readonly effect?: Effect;
  readonly screenshot?: string;
  readonly retries: number;
  readonly corrections: number;
}

export interface ScreenView {
  readonly image: string;
  readonly width: number;
  readonly height: number;
  readonly cursor?: PixelPoint;
  readonly title: string;
  readonly url: string;
}

export interface StageTime {
  readonly stage: string;
  readonly milliseconds: number;
}

export interface StepView {
  readonly number: number;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly screen?: ScreenView;
  readonly elementCount: number;
  readonly scene?: string;
  readonly annotated?: string;
  readonly thought: string;
  readonly progress: string;
  readonly progressSequence: bigint;
  readonly backend: string;
  readonly model: string;
  readonly outcome: string;
  readonly problem: string;
  readonly actions: readonly ActionView[];
  readonly calls: readonly CallView[];
  readonly timings: readonly StageTime[];
  /** True if the step arrived after a lost connection was restored, although it had happened before. */
  readonly missed: boolean;
}

export interface CallView {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly result?: string;
  readonly error?: string;
}

/** The purpose of a model call. `skipped`: its result was not used, and another backend decided. */
export type ModelCallPurpose = "decide" | "skipped" | "extract" | "pointer" | "summary";

/** A use of a backend: what it cost, what the model was sent, and what its provider answered. */
export interface ModelCall {
  readonly sequence: bigint;
  readonly step: number;
  readonly purpose: ModelCallPurpose;
  readonly backend: string;
  readonly model: string;
  /** Explanation of a call whose result was not used. */
  readonly note: string;
  readonly usage?: Usage;
  /** Artifact with the requests that the responses answer, a JSON array. */
  readonly requests?: string;
  /** Artifact with the responses of the model's provider, a JSON array. */
  readonly responses?: string;
  /** Artifact with the screenshot as the model received it. */
  readonly image?: string;
}

/** A message of either side between the goal and the answer. */
export interface Message {
  readonly sequence: bigint;
  readonly at: number;
  readonly text: string;
  readonly files: readonly string[];
  /** Step that was current when the message arrived. */
  readonly step: number;
  /** The task asks, the user answers, acknowledges a manual action, writes without being asked, or hands the desktop back. */
  readonly kind: "question" | "answer" | "message" | "handBack";
}

export type NoticeKind =
  | "recovered" | "backend" | "transient" | "loop" | "injection" | "hook" | "paused" | "resumed"
  | "takenOver" | "handedBack" | "human" | "attachment" | "released";

export interface Notice {
  readonly sequence: bigint;
  readonly at: number;
  readonly step: number;
  readonly kind: NoticeKind;
  readonly text: string;
  readonly serious: boolean;
  /** The backend that was skipped. */
  readonly backend?: string;
}

export interface Extraction {
  readonly step: number;
  readonly json: string;
  readonly sources: readonly ValueSource[];
}

export interface TaskView {
  readonly name: string;
  readonly session: string;
  readonly goal: string;
  readonly creator: string;
  readonly state: TaskState;
  readonly lastSequence: bigint;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly maxSteps: number;
  readonly attachments: readonly FileEntry[];
  readonly desktop: string;
  readonly desktopReleased: boolean;
  readonly wait?: DesktopWait;
  readonly steps: readonly StepView[];
  readonly messages: readonly Message[];
  readonly notices: readonly Notice[];
  readonly request?: UserRequest;
  readonly approval?: Approval;
  readonly approvals: readonly Approval[];
  readonly takenOverBy?: string;
  readonly pausedReason: string;
  readonly stopping: boolean;
  readonly answer: string;
  readonly failure?: Failure;
  readonly cancelReason: string;
  readonly results: readonly FileEntry[];
  readonly extractions: readonly Extraction[];
  readonly unmet: readonly string[];
  readonly modelCalls: readonly ModelCall[];
  readonly endScreen?: string;
}

export function emptyTask(name: string): TaskView {
  return {
    name,
    session: "",
    goal: "", creator: "",
    state: TaskState.UNSPECIFIED,
    lastSequence: 0n,
    createdAt: 0,
    maxSteps: 0,
    attachments: [],
    desktop: "",
    desktopReleased: false,
    steps: [],
    messages: [],
    notices: [],
    approvals: [],
    pausedReason: "",
    stopping: false,
    answer: "",
    cancelReason: "",
    results: [],
    extractions: [],
    unmet: [],
    modelCalls: [],
  };
}

export function milliseconds(time: Timestamp | undefined): number {
  return time ? Number(time.seconds) * 1000 + time.nanos / 1e6 : 0;
}

export function durationMilliseconds(duration: Duration | undefined): number {
  return duration ? Number(duration.seconds) * 1000 + duration.nanos / 1e6 : 0;
}

export function hasEnded(task: TaskView): boolean {
  return task.state === TaskState.SUCCEEDED || task.state === TaskState.FAILED || task.state === TaskState.CANCELLED;
}

/** The newest line of progress, or an empty string before the first one. */
export function newestLine(task: TaskView): string {
  for (let index = task.steps.length - 1; index >= 0; index--) {
    const line = task.steps[index]?.progress;
    if (line) return line;
  }
  return "";
}

/** True while the planner decides: the newest step has been observed, and nothing of it is known yet. */
export function isThinking(task: TaskView): boolean {
  const last = task.steps.at(-1);
  return task.state === TaskState.RUNNING && !task.stopping && last !== undefined && last.endedAt === undefined
    && last.screen !== undefined && last.backend === "" && last.progress === "" && last.actions.length === 0;
}

/** Artifact with the screen after a step: its last action's own screenshot, the next observation, or the end screen. */
export function screenAfter(task: TaskView, index: number): string | undefined {
  const next = task.steps[index + 1]?.screen?.image;
  if (next) return next;
  return index === task.steps.length - 1 ? task.endScreen : undefined;
}

export interface FoldOptions {
  /** Events before this time (milliseconds) were missed while the connection was lost. */
  readonly missedBefore?: number;
}

export function foldEvent(task: TaskView, event: Event, options: FoldOptions = {}): TaskView {
  if (event.sequence <= task.lastSequence) return task;
  const at = milliseconds(event.time);
  const common: TaskView = {
    ...task,
    lastSequence: event.sequence,
    state: event.state === TaskState.UNSPECIFIED ? stateAfter(task, event) : event.state,
  };
  const missed = options.missedBefore !== undefined && at < options.missedBefore;
  return settle(applyKind(common, event, at, missed), at, task.state);
}

/** Events stored before `Event.state` existed carry none; the few kinds that change the state say so themselves. */
function stateAfter(task: TaskView, event: Event): TaskState {
  switch (event.kind.case) {
    case "created": return TaskState.PENDING;
    case "started": case "recovered": case "resumed": case "handedBack": return TaskState.RUNNING;
    case "userAcknowledged": case "approvalResolved": return TaskState.RUNNING;
    case "paused": return TaskState.PAUSED;
    case "userAsked": case "approvalRequested": case "takenOver": return TaskState.AWAITING_USER;
    case "succeeded": return TaskState.SUCCEEDED;
    case "failed": return TaskState.FAILED;
    case "cancelled": return TaskState.CANCELLED;
    default: return task.state;
  }
}

/**
 * Removes what no longer holds when a state was left: a request after it was answered, the reason of a pause after it. Not
 * before the state was entered, because a request is recorded ahead of the event that makes the task wait.
 */
function settle(task: TaskView, at: number, before: TaskState): TaskView {
  const left = (state: TaskState): boolean => hasEnded(task) || (before === state && task.state !== state);
  const answered = left(TaskState.AWAITING_USER);
  const pending = task.state === TaskState.PENDING;
  return {
    ...task,
    request: answered ? undefined : task.request,
    approval: answered ? undefined : task.approval,
    wait: pending ? task.wait : undefined,
    takenOverBy: answered ? undefined : task.takenOverBy,
    pausedReason: left(TaskState.PAUSED) ? "" : task.pausedReason,
    endedAt: hasEnded(task) ? (task.endedAt ?? at) : undefined,
    stopping: hasEnded(task) ? false : task.stopping,
  };
}

function applyKind(task: TaskView, event: Event, at: number, missed: boolean): TaskView {
  const kind = event.kind;
  const step = (change: (step: StepView) => StepView): TaskView => changeStep(task, event.step, at, missed, change);
  const note = (noticeKind: NoticeKind, text: string, serious = false, more: Pick<Notice, "backend"> = {}): TaskView => ({
    ...task,
    notices: [...task.notices, { sequence: event.sequence, at, step: event.step, kind: noticeKind, text, serious, ...more }],
  });
  const called = (
    view: TaskView, purpose: ModelCallPurpose,
    value: { readonly usage?: Usage; readonly requests?: Artifact; readonly responses?: Artifact },
    more: Partial<Pick<ModelCall, "backend" | "model" | "note" | "image">> = {},
  ): TaskView => {
    const { usage, requests, responses } = value;
    // A backend without a model uses nothing, and there is nothing to show of it.
    if (!responses && (usage?.calls ?? 0) === 0) return view;
    const call: ModelCall = {
      sequence: event.sequence, step: event.step, purpose, backend: "", model: "", note: "", ...more,
      ...(usage ? { usage } : {}),
      ...(requests ? { requests: requests.name } : {}),
      ...(responses ? { responses: responses.name } : {}),
    };
    return { ...view, modelCalls: [...view.modelCalls, call] };
  };
  switch (kind.case) {
    case "created": {
      const created = kind.value.task;
      return {
        ...task,
        session: created?.session ?? "",
        goal: created?.goal ?? "",
        creator: created?.creator ?? "",
        createdAt: at,
        maxSteps: created?.limits?.maxSteps ?? 0,
        attachments: (created?.attachments ?? []).map((file) => ({ name: file.name })),
      };
    }
    case "started": return { ...task, startedAt: task.startedAt ?? at };
    case "recovered": return note("recovered", "", kind.value.unknownActions.length > 0);
    case "desktopAcquired": return { ...task, desktop: kind.value.desktop, desktopReleased: false };
    case "liveFrame": return { ...task, desktop: kind.value.desktop || task.desktop };
    case "desktopAwaited": return { ...task, wait: kind.value.wait };
    case "desktopReleased": return { ...note("released", kind.value.desktop), desktopReleased: true };
    case "attachmentPut": {
      const put = kind.value;
      const entry: FileEntry = {
        name: put.name,
        sizeBytes: Number(put.sizeBytes),
        ...(put.image ? { artifact: put.image.name } : {}),
        ...(put.error || put.imageError ? { error: put.error || put.imageError } : {}),
      };
      const rest = task.attachments.filter((file) => file.name !== put.name);
      return { ...(put.error ? note("attachment", `${put.name}: ${put.error}`, true) : task), attachments: [...rest, entry] };
    }

    case "observed": {
      const observed = kind.value;
      const window = observed.frame?.windows.find((candidate) => candidate.active);
      const screen = observed.image && observed.frame?.size
        ? {
            image: observed.image.name,
            width: observed.frame.size.width,
            height: observed.frame.size.height,
            title: window?.title ?? "",
            url: observed.currentUrl,
            ...(observed.frame.cursor?.position ? { cursor: observed.frame.cursor.position } : {}),
          }
        : undefined;
      return step((current) => ({
        ...current,
        elementCount: observed.elementCount,
        ...(screen ? { screen } : {}),
        ...(observed.scene ? { scene: observed.scene.name } : {}),
      }));
    }
    case "decided": {
      const { decision, annotatedImage, requests, responses } = kind.value;
      const { backend = "", model = "", thought = "", usage } = decision ?? {};
      const decided = step((current) => ({
        ...current, thought, backend, model, ...(annotatedImage ? { annotated: annotatedImage.name } : {}),
      }));
      const exchange = { ...(usage ? { usage } : {}), ...(requests ? { requests } : {}), ...(responses ? { responses } : {}) };
      return called(decided, "decide", exchange, {
        backend, model, ...(annotatedImage ? { image: annotatedImage.name } : {}),
      });
    }
    case "progressAdded":
      return step((current) => ({ ...current, progress: kind.value.text, progressSequence: event.sequence }));
    case "progressCorrected":
      return {
        ...task,
        steps: task.steps.map((current) =>
          current.progressSequence === kind.value.sequence ? { ...current, progress: kind.value.text } : current),
      };
    case "backendSkipped": {
      const { backend, message, reason } = kind.value;
      return called(note("backend", message || reason, false, { backend }), "skipped", kind.value, { backend, note: message || reason });
    }

    case "actionIntended": {
      const intended = kind.value;
      return step((current) => ({ ...current, actions: withIntended(current.actions, intended) }));
    }
    case "actionPerformed": {
      const { actionId, outcome } = kind.value;
      return step((current) => changeAction(current, actionId, (action) => ({
        ...action,
        result: outcome?.result ?? ActionResult.UNSPECIFIED,
        detail: outcome?.detail ?? "",
        ...(outcome?.pointer ? { pointer: outcome.pointer } : {}),
      })));
    }
    case "effectJudged": {
      const { actionId, effect, screenshot } = kind.value;
      return step((current) => changeAction(current, actionId, (action) => ({
        ...action,
        ...(effect ? { effect } : {}),
        ...(screenshot ? { screenshot: screenshot.name } : {}),
      })));
    }
    case "actionRetried": {
      const { actionId, attempts } = kind.value;
      return step((current) => changeAction(current, actionId, (action) => ({ ...action, retries: attempts })));
    }
    case "pointerChecked": {
      const { actionId, corrections, pointer } = kind.value;
      const checked = step((current) => changeAction(current, actionId, (action) => ({
        ...action,
        corrections,
        ...(pointer ? { pointer } : {}),
      })));
      return called(checked, "pointer", kind.value);
    }
    case "stepFinished": {
      const finished = kind.value;
      return step((current) => ({
        ...current,
        endedAt: at,
        outcome: finished.outcome,
        progress: current.progress || continuedProgress(task, current),
        timings: finished.timings.map((timing) => ({
          stage: timing.stage,
          milliseconds: durationMilliseconds(timing.elapsed),
        })),
      }));
    }
    case "targetNotResolved": return step((current) => ({ ...current, problem: kind.value.message }));

    case "functionCalled": {
      const call = kind.value.call;
      if (!call) return task;
      return step((current) => ({
        ...current,
        calls: [...current.calls, { id: call.callId, name: call.name, arguments: call.argumentsJson }],
      }));
    }
    case "functionReturned": {
      const result = kind.value.result;
      if (!result) return task;
      const outcome = result.outcome.case === "error"
        ? { error: result.outcome.value }
        : { result: result.outcome.value ?? "" };
      return step((current) => ({
        ...current,
        calls: current.calls.map((call) => (call.id === result.callId ? { ...call, ...outcome } : call)),
      }));
    }
    case "extracted": {
      const { json, sources } = kind.value;
      return called({ ...task, extractions: [...task.extractions, { step: event.step, json, sources }] }, "extract", kind.value);
    }

    case "userAsked": {
      const request = kind.value.request;
      const asked = { ...task, request };
      const inWords = request?.kind === RequestKind.QUESTION || request?.kind === RequestKind.MANUAL_ACTION;
      return inWords ? withMessage(asked, event, at, request.message, [], "question") : asked;
    }
    case "userAcknowledged":
      return withMessage(task, event, at, kind.value.message, kind.value.attachments, "answer");
    case "messageReceived":
      return withMessage(task, event, at, kind.value.text, kind.value.attachments, "message");
    case "approvalRequested": return { ...task, approval: kind.value.approval };
    case "approvalResolved": {
      const approval = kind.value.approval;
      return { ...task, approval: undefined, approvals: approval ? [...task.approvals, approval] : task.approvals };
    }
    case "takenOver": return { ...note("takenOver", kind.value.user), takenOverBy: kind.value.user };
    case "humanActed": return note("human", kind.value.description);
    case "handedBack": {
      const { message } = kind.value;
      const handed = { ...note("handedBack", message), takenOverBy: undefined };
      return message === "" ? handed : withMessage(handed, event, at, message, [], "handBack");
    }
    case "paused": return { ...note("paused", kind.value.reason), pausedReason: kind.value.reason };
    case "resumed": return note("resumed", "");
    case "cancelRequested": return { ...task, stopping: true, cancelReason: kind.value.reason };

    case "loopDetected": return note("loop", kind.value.message);
    case "injectionSuspected":
      return note("injection", kind.value.suspectedInjections.map((suspected) => suspected.quote).join(" · "), true);
    case "completionChecked": return { ...task, unmet: kind.value.unmetExpectations };
    case "resultFetched": {
      const fetched = kind.value;
      return { ...task, results: [...task.results, resultFile(fetched.name, fetched.artifact, fetched.error)] };
    }
    case "transientFailure": return note("transient", kind.value.message || kind.value.reason);
    case "hookIntervened": return note("hook", `${kind.value.hook}: ${kind.value.message}`, kind.value.denied);
    case "summarized": return called({ ...task, answer: kind.value.text }, "summary", kind.value);
    case "endScreenCaptured": return kind.value.image ? { ...task, endScreen: kind.value.image.name } : task;

    case "succeeded": return { ...task, answer: kind.value.answer || task.answer };
    case "failed": return { ...task, failure: kind.value.failure };
    case "cancelled": return { ...task, cancelReason: kind.value.reason || task.cancelReason };
    default: return task;
  }
}

function resultFile(name: string, artifact: Artifact | undefined, error: string): FileEntry {
  return {
    name: name || artifact?.fileName || "",
    ...(artifact ? { artifact: artifact.name, sizeBytes: Number(artifact.sizeBytes) } : {}),
    ...(error ? { error } : {}),
  };
}

function withMessage(
  task: TaskView, event: Event, at: number, text: string, files: readonly { name: string }[], messageKind: Message["kind"],
): TaskView {
  const message: Message = {
    sequence: event.sequence,
    at,
    text,
    files: files.map((file) => file.name),
    step: event.step,
    kind: messageKind,
  };
  return { ...task, messages: [...task.messages, message] };
}

/** A step without a line of its own that only waits goes on with what the step before it does, such as waiting for a text. */
function continuedProgress(task: TaskView, step: StepView): string {
  const waits = step.actions.length > 0 && step.actions.every(({ performed }) => performed?.action.case === "wait");
  return waits ? task.steps.findLast(({ number }) => number < step.number)?.progress ?? "" : "";
}

function emptyStep(number: number, at: number, missed: boolean): StepView {
  return {
    number, startedAt: at, elementCount: 0, thought: "", progress: "", progressSequence: 0n, backend: "", model: "",
    outcome: "", problem: "", actions: [], calls: [], timings: [], missed,
  };
}

function changeStep(task: TaskView, number: number, at: number, missed: boolean, change: (step: StepView) => StepView): TaskView {
  // Step 0 is outside of any step: nothing to draw it in.
  if (number === 0) return task;
  // Nearly always the last one; an older step is only changed by a late effect.
  let index = task.steps.length - 1;
  while (index >= 0 && (task.steps[index]?.number ?? 0) > number) index--;
  const found = task.steps[index];
  const steps = task.steps.slice();
  if (found?.number === number) {
    steps[index] = change(found);
  } else {
    steps.splice(index + 1, 0, change(emptyStep(number, at, missed)));
  }
  return { ...task, steps };
}

function withIntended(
  actions: readonly ActionView[],
  intended: { actionId: string; retryOf: string; planned?: PlannedAction; action?: Action; target?: PixelBox; targetLabel: string },
): readonly ActionView[] {
  const former = intended.retryOf ? actions.find((action) => action.id === intended.retryOf) : undefined;
  const view: ActionView = {
    id: intended.actionId,
    targetLabel: intended.targetLabel,
    result: ActionResult.UNSPECIFIED,
    detail: "",
    retries: former ? Math.max(former.retries, 1) : 0,
    corrections: 0,
    ...(intended.planned ? { planned: intended.planned } : {}),
    ...(intended.action ? { performed: intended.action } : {}),
    ...(intended.target ? { target: intended.target } : {}),
  };
  return former ? actions.map((action) => (action === former ? view : action)) : [...actions, view];
}

function changeAction(step: StepView, id: string, change: (action: ActionView) => ActionView): StepView {
  return { ...step, actions: step.actions.map((action) => (action.id === id ? change(action) : action)) };
}

/**
 * The notices that people have to know of: what changes how the task goes on, and a failure that is being tried again as long as
 * nothing has happened since.
 */
export function noticesForPeople(task: TaskView): readonly Notice[] {
  return task.notices.filter((notice) => {
    switch (notice.kind) {
      case "recovered": case "loop": return true;
      // The last backend that gave up is the one that decided: its failure says why, and no other was used.
      case "backend": return task.steps.find((step) => step.number === notice.step)?.backend !== notice.backend;
      case "transient": return notice.sequence === task.lastSequence && !hasEnded(task);
      default: return notice.serious;
    }
  });
}
