/** Lists that the server keeps: sessions, tasks, desktops and pending approvals. Read again while the page is visible. */
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
  problem: undefined,
  roundTripMs: undefined,
}));

const REFRESH_MS = 4_000;
// More would make the page slow to open; older conversations are found over the command line.
const LIST_SIZE = 200;

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
      problem: undefined,
      roundTripMs: performance.now() - began,
    });
  } catch (error) {
    useLists.setState({ problem: problemOf(error), roundTripMs: undefined });
  }
}

export function startRefreshing(): () => void {
  const tick = (): void => {
    if (document.visibilityState === "visible") void refreshLists();
  };
  tick();
  const timer = setInterval(tick, REFRESH_MS);
  document.addEventListener("visibilitychange", tick);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", tick);
  };
}
