/**
 * Lists that the server keeps: sessions, tasks, desktops and pending approvals.
 *
 * They are read again at once after an event of the open conversation that changes them, and after a command. What others
 * start is found by asking, and never while the page is hidden.
 */
import { create } from "zustand";
import type { Desktop } from "@gen/common/v1/desktop_pb.ts";
import type { Approval, Session, Task } from "@gen/orchestrator/v1/task_pb.ts";
import { orchestrator } from "@/api/client.ts";
import { problemOf, type Problem } from "@/api/errors.ts";

interface Lists {
  readonly loaded: boolean;
  readonly sessions: readonly Session[];
  readonly tasks: readonly Task[];
  readonly desktops: readonly Desktop[];
  readonly approvals: readonly Approval[];
  /** True if there are older conversations than those in the lists. */
  readonly cut: boolean;
  readonly problem: Problem | undefined;
  /** Round trip of the last refresh, in milliseconds. */
  readonly roundTripMs: number | undefined;
}

export const useLists = create<Lists>(() => ({
  loaded: false,
  sessions: [],
  tasks: [],
  desktops: [],
  approvals: [],
  cut: false,
  problem: undefined,
  roundTripMs: undefined,
}));

// Events come in groups: a task that ends releases its desktop, too.
const GROUP_MS = 150;
// More would make the page slow to open; older conversations are found over the command line.
const LIST_SIZE = 200;

// As long as a person waits without impatience. Also while nothing is at work here: an approval of a task that another page or a
// program has started waits for this one.
const REFRESH_MS = 4_000;

let running: Promise<void> | undefined;

/** Reads all lists once. Calls during a refresh share it. */
export function refreshLists(): Promise<void> {
  running ??= readLists().finally(() => (running = undefined));
  return running;
}

async function readLists(): Promise<void> {
  const began = performance.now();
  try {
    const [sessions, tasks, desktops, approvals] = await Promise.all([
      orchestrator.listSessions({ pageSize: LIST_SIZE }),
      orchestrator.listTasks({ pageSize: LIST_SIZE }),
      orchestrator.listDesktops({ pageSize: LIST_SIZE }),
      orchestrator.listApprovals({ parent: "tasks/-", pageSize: LIST_SIZE }),
    ]);
    useLists.setState({
      loaded: true,
      sessions: sessions.sessions,
      tasks: tasks.tasks,
      desktops: desktops.desktops,
      approvals: approvals.approvals,
      cut: sessions.nextPageToken !== "" || tasks.nextPageToken !== "",
      problem: undefined,
      roundTripMs: performance.now() - began,
    });
  } catch (error) {
    useLists.setState({ problem: problemOf(error), roundTripMs: undefined });
  }
}

let grouped: ReturnType<typeof setTimeout> | undefined;

/** Reads the lists soon, once for all events until then. */
export function listsChanged(): void {
  grouped ??= setTimeout(() => {
    grouped = undefined;
    if (document.visibilityState === "visible") void refreshLists();
  }, GROUP_MS);
}

/** Keeps the lists fresh while the page is visible. Returns the function that stops it. */
export function startRefreshing(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  const tick = async (): Promise<void> => {
    clearTimeout(timer);
    if (stopped || document.visibilityState !== "visible") return;
    await refreshLists();
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void tick(), REFRESH_MS);
  };
  const begin = (): void => void tick();
  begin();
  document.addEventListener("visibilitychange", begin);
  window.addEventListener("online", begin);
  return () => {
    stopped = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", begin);
    window.removeEventListener("online", begin);
  };
}
