/** Lists that are longer than one call returns: what needs a person is read whole, older conversations when they are asked for. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { beforeEach, expect, test, vi } from "vitest";
import { DesktopSchema } from "@gen/common/v1/desktop_pb.ts";
import { ApprovalSchema, TaskSchema } from "@gen/orchestrator/v1/task_pb.ts";
import { conversationsOf, searchConversations } from "@/model/conversations.ts";

interface Call {
  readonly pageToken: string;
  readonly pageSize: number;
}

const calls: number[] = [];

/** A list as the server keeps it, in pages of at most 1,000. The token is the number of what was returned before. */
function listed<T>(count: number, make: (number: number) => T): (call: Call) => Promise<{ items: T[]; nextPageToken: string }> {
  return async ({ pageToken, pageSize }) => {
    const from = Number(pageToken);
    const to = Math.min(from + Math.min(pageSize, 1_000), count);
    calls.push(to - from);
    const items = Array.from({ length: to - from }, (_, index) => make(from + index));
    return { items, nextPageToken: to < count ? String(to) : "" };
  };
}

const tasks = listed(2_500, (number) =>
  create(TaskSchema, { name: `tasks/${number}`, goal: `goal ${number}`, updateTime: timestampFromMs(1e12 - number) }));
const desktops = listed(1_200, (number) => create(DesktopSchema, { name: `desktops/${number}` }));
const approvals = listed(1_001, (number) => create(ApprovalSchema, { name: `tasks/a/approvals/${number}` }));
vi.mock("@/api/client.ts", () => ({
  orchestrator: {
    listTasks: async (call: Call) => { const { items, nextPageToken } = await tasks(call); return { tasks: items, nextPageToken }; },
    listSessions: async () => ({ sessions: [], nextPageToken: "" }),
    listDesktops: async (call: Call) => { const { items, nextPageToken } = await desktops(call); return { desktops: items, nextPageToken }; },
    listApprovals: async (call: Call) => { const { items, nextPageToken } = await approvals(call); return { approvals: items, nextPageToken }; },
  },
}));
const { readOlder, refreshLists, useLists } = await import("@/store/lists.ts");

const found = (query: string): number => {
  const { sessions, tasks } = useLists.getState();
  return searchConversations(conversationsOf(sessions, tasks), query).length;
};

beforeEach(() => void calls.splice(0));

test("everything that waits for a person is read, and older conversations are found once they are asked for", async () => {
  await refreshLists();
  const first = useLists.getState();
  expect([first.tasks.length, first.desktops.length, first.approvals.length]).toEqual([200, 1_200, 1_001]);
  expect(first.cut).toBe(true);
  expect(found("goal 999")).toBe(0);

  const reading = readOlder();
  expect(useLists.getState().readingOlder).toBe(true);
  await reading;
  expect(useLists.getState().readingOlder).toBe(false);
  expect(found("goal 999")).toBe(1);
  expect(found("goal 1000")).toBe(0);
  await readOlder();
  expect(found("goal 1000")).toBe(1);
  await readOlder();
  expect(useLists.getState().tasks.length).toBe(2_500);
  expect(useLists.getState().cut).toBe(false);
  // A later refresh keeps what was asked for.
  await refreshLists();
  expect(useLists.getState().tasks.length).toBe(2_500);
});
