/** The times at which the lists are read, with a clock and a page that are stood in for. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TaskState } from "@/model/task.ts";

let running = false;
let reads = 0;
vi.mock("@/api/client.ts", () => ({
  orchestrator: {
    listTasks: async () => {
      reads += 1;
      return { tasks: running ? [{ state: TaskState.RUNNING }] : [] };
    },
    listSessions: async () => ({ sessions: [] }),
    listDesktops: async () => ({ desktops: [] }),
    listApprovals: async () => ({ approvals: [] }),
  },
}));
const { listsChanged, startRefreshing } = await import("@/store/lists.ts");

class Page extends EventTarget {
  visibilityState = "visible";
  show(visible: boolean): void {
    this.visibilityState = visible ? "visible" : "hidden";
    this.dispatchEvent(new Event("visibilitychange"));
  }
}
let page: Page;
let stop: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  page = new Page();
  vi.stubGlobal("document", page);
  vi.stubGlobal("window", new EventTarget());
  running = false;
  reads = 0;
});
afterEach(() => {
  stop?.();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const seconds = (count: number): Promise<unknown> => vi.advanceTimersByTimeAsync(count * 1_000);

test("lists are read at once, and every 4 s, whether or not something is at work", async () => {
  stop = startRefreshing();
  await seconds(60);
  expect(reads).toBe(16);
  running = true;
  await seconds(15);
  reads = 0;
  await seconds(60);
  expect(reads).toBe(15);
});

test("a hidden page reads nothing, and reads at once when it is shown", async () => {
  stop = startRefreshing();
  await seconds(0);
  page.show(false);
  reads = 0;
  await seconds(600);
  listsChanged();
  await seconds(600);
  expect(reads).toBe(0);
  page.show(true);
  await seconds(0);
  expect(reads).toBe(1);
});

test("many events at once are one reading", async () => {
  stop = startRefreshing();
  await seconds(1);
  reads = 0;
  for (let event = 0; event < 50; event++) listsChanged();
  await seconds(1);
  expect(reads).toBe(1);
});

test("nothing is read after the end", async () => {
  stop = startRefreshing();
  await seconds(0);
  stop();
  reads = 0;
  page.show(true);
  await seconds(600);
  expect(reads).toBe(0);
});
