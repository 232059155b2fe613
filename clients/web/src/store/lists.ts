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
  /** True while older ones are read that were asked for. */
  readonly readingOlder: boolean;
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
  readingOlder: false,
  problem: undefined,
  roundTripMs: undefined,
}));

// Events come in groups: a task that ends releases its desktop, too.
const GROUP_MS = 150;
// More would make the page slow to open. Older conversations are read when they are asked for.
const LIST_SIZE = 200;
// What is read more each time. Everything in the lists is read again at each refresh, so that this is not the most that a call gives.
const OLDER_SIZE = 800;
// The most that a call gives.
const MAX_PAGE_SIZE = 1000;

// As long as a person waits without impatience. Also while nothing is at work here: an approval of a task that another page or a
// program has started waits for this one.
const REFRESH_MS = 4_000;

let running: Promise<void> | undefined;
/** Number of conversations that are read. */
let wanted = LIST_SIZE;

/** Reads all lists once. Calls during a refresh share it. */
export function refreshLists(): Promise<void> {
  running ??= readLists().finally(() => (running = undefined));
  return running;
}

/** Reads older conversations as well, from now on. */
export async function readOlder(): Promise<void> {
  useLists.setState({ readingOlder: true });
  wanted += OLDER_SIZE;
  await running;
  await refreshLists();
  useLists.setState({ readingOlder: false });
}

interface Page<T> {
  readonly items: readonly T[];
  readonly nextPageToken: string;
}

/** Reads a list page by page: all of it, or the first ones. */
async function readPages<T>(
  read: (pageToken: string, pageSize: number) => Promise<Page<T>>,
  most = Number.POSITIVE_INFINITY,
): Promise<Page<T>> {
  const items: T[] = [];
  let token = "";
  do {
    const page = await read(token, Math.min(most - items.length, MAX_PAGE_SIZE));
    items.push(...page.items);
    token = page.nextPageToken;
  } while (token && items.length < most);
  return { items, nextPageToken: token };
}

async function readLists(): Promise<void> {
  const began = performance.now();
  try {
    const [sessions, tasks, desktops, approvals] = await Promise.all([
      readPages(async (pageToken, pageSize) => {
        const page = await orchestrator.listSessions({ pageToken, pageSize });
        return { items: page.sessions, nextPageToken: page.nextPageToken };
      }, wanted),
      readPages(async (pageToken, pageSize) => {
        const page = await orchestrator.listTasks({ pageToken, pageSize });
        return { items: page.tasks, nextPageToken: page.nextPageToken };
      }, wanted),
      readPages(async (pageToken, pageSize) => {
        const page = await orchestrator.listDesktops({ pageToken, pageSize });
        return { items: page.desktops, nextPageToken: page.nextPageToken };
      }),
      readPages(async (pageToken, pageSize) => {
        const page = await orchestrator.listApprovals({ parent: "tasks/-", pageToken, pageSize });
        return { items: page.approvals, nextPageToken: page.nextPageToken };
      }),
    ]);
    useLists.setState({
      loaded: true,
      sessions: sessions.items,
      tasks: tasks.items,
      desktops: desktops.items,
      approvals: approvals.items,
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
