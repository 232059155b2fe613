import { create } from "@bufbuild/protobuf";
import { ActionSchema } from "@gen/common/v1/action_pb.ts";
import { expect, test } from "vitest";
import { RequestKind, hasEnded, newestLine, noticesForPeople, screenAfter, TaskState } from "@/model/task.ts";
import { toneOfStep } from "@/model/actions.ts";
import { latencyOf, totalOf } from "@/model/latency.ts";
import { fold, Log, recorded } from "./events.ts";

test("a recorded task is shown with its steps, screenshots and answer", () => {
  const task = fold(recorded("click-and-select"));
  expect(task.state).toBe(TaskState.SUCCEEDED);
  expect(task.steps.map((step) => step.progress)).toEqual([
    'click "Hello from Motorium" (1/2)', "press ctrl+a (2/2)", 'Done: click "Hello from Motorium", then press ctrl+a.',
  ]);
  expect(task.steps[0]?.outcome).toBe("3078 pixels changed at the target");
  expect(task.steps[0]?.actions[0]?.targetLabel).toBe('label "Hello from Motorium"');
  expect(screenAfter(task, 0)).toBe(task.steps[1]?.screen?.image);
  expect(task.answer).toContain("Done");
  expect(task.steps.map((step) => toneOfStep(step, false))).toEqual(["good", "good", "neutral"]);
  expect(totalOf(latencyOf(task.steps[0]!))).toBeGreaterThan(700);
});

test("events that arrive twice or again from the beginning change nothing", () => {
  const events = recorded("click-and-select");
  const once = fold(events);
  expect(fold([...events, ...events])).toEqual(once);
  expect(fold(events.flatMap((event) => [event, event]))).toEqual(once);
});

test("a former view is not changed by a later event", () => {
  const log = new Log().step(1);
  const before = fold(log.events);
  const copy = structuredClone({ ...before, steps: before.steps.map((step) => step.progress) });
  fold(log.step(2).events);
  expect({ ...before, steps: before.steps.map((step) => step.progress) }).toEqual(copy);
});

test("the newest line is the last one, also after a correction", () => {
  const log = new Log().step(1).step(2);
  log.add({ case: "progressCorrected", value: { sequence: 8n, text: "step 2, which failed" } }, 2);
  const task = fold(log.events);
  expect(newestLine(task)).toBe("step 2, which failed");
  expect(task.steps[0]?.progress).toBe("step 1");
});

test("a retry takes the place of its first attempt", () => {
  const log = new Log().step(1);
  log.add({ case: "actionRetried", value: { actionId: "a1", attempts: 1 } }, 1)
    .add({ case: "actionIntended", value: { actionId: "a1b", retryOf: "a1" } }, 1)
    .add({ case: "effectJudged", value: { actionId: "a1b", effect: { verdict: 3 } } }, 1);
  const actions = fold(log.events).steps[0]?.actions;
  expect(actions).toHaveLength(1);
  expect(actions?.[0]?.retries).toBe(1);
  expect(toneOfStep(fold(log.events).steps[0]!, true)).toBe("bad");
});

test("a question is open until it is answered, and both stay in the conversation", () => {
  const log = new Log().step(1);
  log.add({ case: "userAsked", value: { request: { kind: RequestKind.QUESTION, message: "Which one?" } } }, 1, TaskState.AWAITING_USER);
  expect(fold(log.events).request?.message).toBe("Which one?");
  log.add({ case: "userAcknowledged", value: { message: "the last" } }, 1, TaskState.RUNNING);
  const task = fold(log.events);
  expect(task.request).toBeUndefined();
  expect(task.messages.map((message) => [message.kind, message.text])).toEqual([["question", "Which one?"], ["answer", "the last"]]);
});

test("an approval is open until it is resolved", () => {
  const log = new Log().step(1);
  log.add({ case: "approvalRequested", value: { approval: { name: "tasks/t/approvals/1", rules: ["pay"] } } }, 1, TaskState.RUNNING);
  expect(fold(log.events).approval?.rules).toEqual(["pay"]);
  log.add({ case: "userAsked", value: { request: { kind: RequestKind.APPROVAL } } }, 1, TaskState.AWAITING_USER);
  expect(fold(log.events).approval?.rules).toEqual(["pay"]);
  log.add({ case: "approvalResolved", value: { approval: { name: "tasks/t/approvals/1" } } }, 1, TaskState.RUNNING);
  expect(fold(log.events).approval).toBeUndefined();
});

test("the place in the queue goes away when the task starts", () => {
  const log = new Log().add({ case: "created", value: { task: { goal: "x" } } }, 0, TaskState.PENDING);
  log.add({ case: "desktopAwaited", value: { wait: { queuePosition: 3 } } }, 0, TaskState.PENDING);
  expect(fold(log.events).wait?.queuePosition).toBe(3);
  log.add({ case: "started", value: {} });
  expect(fold(log.events).wait).toBeUndefined();
});

test("logs without states are understood by their kinds", () => {
  const log = new Log().add({ case: "created", value: { task: { goal: "x" } } }, 0, TaskState.UNSPECIFIED);
  log.add({ case: "started", value: {} }, 0, TaskState.UNSPECIFIED);
  expect(fold(log.events).state).toBe(TaskState.RUNNING);
  log.add({ case: "failed", value: { failure: { reason: "STEP_LIMIT" } } }, 0, TaskState.UNSPECIFIED);
  expect(hasEnded(fold(log.events))).toBe(true);
});

test("steps that happened while the connection was lost are marked", () => {
  const log = new Log().step(1).step(2);
  expect(fold(log.events, { missedBefore: 7_000 }).steps.map((step) => step.missed)).toEqual([true, false]);
});

test("five hundred steps are folded in less time than a frame takes to notice", () => {
  const log = new Log();
  for (let number = 1; number <= 500; number++) log.step(number);
  const began = performance.now();
  const task = fold(log.events);
  expect(task.steps).toHaveLength(500);
  // 3 000 events; measured: 25 ms. The limit leaves room for a busy machine.
  expect(performance.now() - began).toBeLessThan(500);
});

test("people are told of another backend, a loop and a denial, and of a failure while it lasts", () => {
  const log = new Log().step(1);
  log.add({ case: "backendSkipped", value: { backend: "one", message: "it is overloaded" } }, 2)
    .add({ case: "loopDetected", value: { message: "three times the same" } }, 2)
    .add({ case: "hookIntervened", value: { hook: "h", message: "a change", denied: false } }, 2)
    .add({ case: "hookIntervened", value: { hook: "h", message: "not here", denied: true } }, 2)
    .add({ case: "paused", value: { reason: "on request" } }, 2)
    .add({ case: "transientFailure", value: { message: "the planner does not answer" } }, 2);
  const texts = () => noticesForPeople(fold(log.events)).map((notice) => notice.text);
  const lasting = ["it is overloaded", "three times the same", "h: not here"];
  expect(texts()).toEqual([...lasting, "the planner does not answer"]);
  log.step(2);
  expect(texts()).toEqual(lasting);
});

test("the only backend that gives up is not said to be replaced", () => {
  const log = new Log();
  log.add({ case: "backendSkipped", value: { backend: "phrasebook", message: "no known verb" } }, 1)
    .add({ case: "decided", value: { decision: { backend: "phrasebook" } } }, 1);
  expect(noticesForPeople(fold(log.events))).toEqual([]);
});

test("a step that only goes on waiting is named like the one before it, and a note on handing back is a message", () => {
  const log = new Log();
  const wait = (step: number): void => {
    const action = { action: create(ActionSchema, { action: { case: "wait", value: {} } }), actionId: `a${step}` };
    log.add({ case: "actionIntended", value: action }, step).add({ case: "stepFinished", value: {} }, step);
  };
  log.add({ case: "progressAdded", value: { text: "wait until \"prices\" appears" } }, 1);
  wait(1);
  wait(2);
  log.add({ case: "handedBack", value: { message: "I opened the folder" } }, 2).add({ case: "stepFinished", value: {} }, 3);
  const task = fold(log.events);
  expect(task.steps.map(({ progress }) => progress)).toEqual(["wait until \"prices\" appears", "wait until \"prices\" appears", ""]);
  expect(task.messages).toMatchObject([{ kind: "handBack", text: "I opened the folder" }]);
});
