/** Events for tests: recorded ones of a real task, and short ones made by hand. */
import { readFileSync } from "node:fs";
import { create, fromJsonString, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { EventSchema, type Event } from "@gen/orchestrator/v1/event_pb.ts";
import { emptyTask, foldEvent, TaskState, type FoldOptions, type TaskView } from "@/model/task.ts";

export function recorded(name: string): Event[] {
  const text = readFileSync(new URL(`fixtures/${name}.jsonl`, import.meta.url), "utf8");
  return text.trim().split("\n").map((line) => fromJsonString(EventSchema, line));
}

export type Kind = NonNullable<MessageInitShape<typeof EventSchema>["kind"]>;

export class Log {
  readonly events: Event[] = [];

  add(kind: Kind, step = 0, state: TaskState = TaskState.RUNNING): this {
    const sequence = BigInt(this.events.length + 1);
    this.events.push(create(EventSchema, {
      task: "tasks/t", sequence, step, state, kind, time: timestampFromMs(1_000 * Number(sequence)),
    }));
    return this;
  }

  /** A step that clicks, as the Orchestrator records it. */
  step(number: number): this {
    const actionId = `a${number}`;
    return this
      .add({ case: "observed", value: { frame: { size: { width: 100, height: 50 } }, image: { name: `tasks/t/artifacts/${number}` } } }, number)
      .add({ case: "progressAdded", value: { text: `step ${number}` } }, number)
      .add({ case: "actionIntended", value: { actionId } }, number)
      .add({ case: "actionPerformed", value: { actionId, outcome: {} } }, number)
      .add({ case: "effectJudged", value: { actionId, effect: { verdict: 1 } } }, number)
      .add({ case: "stepFinished", value: { outcome: "changed" } }, number);
  }
}

export function fold(events: readonly Event[], options?: FoldOptions): TaskView {
  return events.reduce((task, event) => foldEvent(task, event, options), emptyTask(events[0]?.task ?? ""));
}
