/**
 * The open conversation: the tasks of a session (or one task without a session), computed from the events that the server
 * streams. The only thing in here that is not from events is the connection.
 */
import { create } from "zustand";
import type { Event } from "@gen/orchestrator/v1/event_pb.ts";
import { watch, type LinkState } from "@/api/watch.ts";
import { emptyTask, foldEvent, hasEnded, type TaskView } from "@/model/task.ts";
import { changesLists } from "@/model/list-events.ts";
import { forgetTakeOver } from "./actor.ts";
import { listsChanged } from "./lists.ts";
import { removeArrived } from "./sending.ts";

interface Conversation {
  readonly name: string | undefined;
  readonly tasks: ReadonlyMap<string, TaskView>;
  readonly link: LinkState;
  /** Number of events that were received after a lost connection, and have not been dismissed. */
  readonly missedEvents: number;
}

export const useConversation = create<Conversation>(() => ({
  name: undefined,
  tasks: new Map(),
  link: { kind: "connecting" },
  missedEvents: 0,
}));

let close: (() => void) | undefined;

export function openConversation(name: string): void {
  if (useConversation.getState().name === name) return;
  closeConversation();
  const queue = new EventQueue();
  useConversation.setState({ name, tasks: new Map(), link: { kind: "connecting" }, missedEvents: 0 });
  const end = watch(name, {
    onEvent: (event, missedBefore) => queue.push(event, missedBefore),
    onLink: (link) => {
      // A watch of a single task ends with it: nothing is lost then.
      queue.flush();
      const only = useConversation.getState().tasks.get(name);
      if (link.kind === "lost" && only && hasEnded(only)) end();
      else useConversation.setState({ link });
      if (link.kind === "open") listsChanged();
    },
    onRestart: () => {
      queue.clear();
      useConversation.setState({ tasks: new Map() });
    },
  });
  close = () => {
    end();
    queue.clear();
  };
}

export function closeConversation(): void {
  close?.();
  close = undefined;
  useConversation.setState({ name: undefined, tasks: new Map(), missedEvents: 0, link: { kind: "connecting" } });
}

export function dismissMissed(): void {
  useConversation.setState({ missedEvents: 0 });
}

/** Tasks in the order of their creation. */
export function tasksInOrder(tasks: ReadonlyMap<string, TaskView>): readonly TaskView[] {
  return [...tasks.values()].sort((a, b) => a.createdAt - b.createdAt || a.name.localeCompare(b.name));
}

/** Applies events in batches, one per frame: a long log is thousands of events, and each change draws the page. */
class EventQueue {
  private readonly events: { readonly event: Event; readonly missedBefore: number | undefined }[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  push(event: Event, missedBefore: number | undefined): void {
    this.events.push({ event, missedBefore });
    // Not requestAnimationFrame, which pauses in a hidden page.
    this.timer ??= setTimeout(() => this.flush(), 16);
  }

  clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.events.length = 0;
  }

  flush(): void {
    const batch = this.events.slice();
    this.clear();
    if (batch.length === 0) return;
    useConversation.setState((state) => {
      const tasks = new Map(state.tasks);
      let missedEvents = state.missedEvents;
      for (const { event, missedBefore } of batch) {
        const before = tasks.get(event.task) ?? emptyTask(event.task);
        const after = foldEvent(before, event, missedBefore === undefined ? {} : { missedBefore });
        if (after !== before && missedBefore !== undefined && isBefore(event, missedBefore)) missedEvents += 1;
        tasks.set(event.task, after);
      }
      return { tasks, missedEvents };
    });
    // Another page, or another person, may have handed a desktop back.
    for (const { event } of batch) if (event.kind.case === "handedBack") forgetTakeOver(event.task, timeOf(event));
    removeArrived(useConversation.getState().tasks);
    if (batch.some(({ event }) => changesLists(event))) listsChanged();
  }
}

function isBefore(event: Event, time: number): boolean {
  return event.time !== undefined && timeOf(event) < time;
}

/** Time of an event in milliseconds; 0 without one. */
function timeOf(event: Event): number {
  return event.time === undefined ? 0 : Number(event.time.seconds) * 1000 + event.time.nanos / 1e6;
}
