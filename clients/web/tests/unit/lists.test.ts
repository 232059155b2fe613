import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { SessionSchema, TaskSchema } from "@gen/orchestrator/v1/task_pb.ts";
import { ageOf, conversationsOf, searchConversations, titleOf } from "@/model/conversations.ts";
import { changesLists } from "@/model/list-events.ts";
import { TaskState } from "@/model/task.ts";
import { Log } from "./events.ts";
import { factsOf } from "@/model/approval-facts.ts";

const session = (name: string, displayName: string, at: number) =>
  create(SessionSchema, { name, displayName, updateTime: timestampFromMs(at) });
const task = (name: string, goal: string, state: TaskState, at: number, inSession = "") =>
  create(TaskSchema, { name, goal, state, session: inSession, updateTime: timestampFromMs(at) });

test("conversations have the state of their newest task, the latest first", () => {
  const entries = conversationsOf(
    [session("sessions/a", "Reports", 100), session("sessions/b", "", 50)],
    [
      task("tasks/3", "third", TaskState.RUNNING, 300, "sessions/a"),
      task("tasks/2", "alone", TaskState.FAILED, 200),
      task("tasks/1", "first", TaskState.SUCCEEDED, 100, "sessions/a"),
    ],
  );
  expect(entries.map(({ name, title, state }) => [name, title, state])).toEqual([
    ["sessions/a", "Reports", TaskState.RUNNING],
    ["tasks/2", "Alone", TaskState.FAILED],
    ["sessions/b", "b", TaskState.UNSPECIFIED],
  ]);
});

test.each([["rep week", 1], ["WEEKLY", 1], ["", 2], ["报告", 1], ["nothing", 0]])("a search for %o finds %i", (query, count) => {
  const entries = conversationsOf([], [task("tasks/a", "Weekly Report", TaskState.SUCCEEDED, 0), task("tasks/b", "发送报告", TaskState.SUCCEEDED, 0)]);
  expect(searchConversations(entries, query)).toHaveLength(count);
});

test("a search finds what was asked for later in a conversation", () => {
  const entries = conversationsOf([session("sessions/a", "Reports", 100)], [
    task("tasks/2", "now send the invoice", TaskState.SUCCEEDED, 200, "sessions/a"), task("tasks/1", "write the report", TaskState.SUCCEEDED, 100, "sessions/a"),
  ]);
  expect(searchConversations(entries, "INVOICE reports")).toHaveLength(1);
  expect(searchConversations(entries, "invoice tomorrow")).toHaveLength(0);
});

test("an evening and the next morning are different days", () => {
  const noon = new Date(2026, 0, 10, 12).getTime();
  expect(ageOf(new Date(2026, 0, 10, 0, 1).getTime(), noon)).toBe("today");
  expect(ageOf(new Date(2026, 0, 9, 23, 59).getTime(), noon)).toBe("week");
  expect(ageOf(new Date(2026, 0, 1).getTime(), noon)).toBe("older");
});

test("an approval says which text, secret or address would be sent", () => {
  expect(factsOf({ action: { action: { case: "typeText", value: { text: { source: { case: "literal", value: "<b>1</b>" } } } } } } as never))
    .toEqual([{ kind: "text", value: "<b>1</b>" }]);
  expect(factsOf({ action: { action: { case: "typeText", value: { text: { source: { case: "secret", value: "bank" } } } } } } as never))
    .toEqual([{ kind: "secret", value: "bank" }]);
  expect(factsOf({ action: { action: { case: "openUrl", value: { url: "https://a.example" } } } } as never))
    .toEqual([{ kind: "address", value: "https://a.example" }]);
  expect(factsOf(undefined)).toEqual([]);
});

test.each([
  ["Please open  editor,\nthen type \"x\"", 'Open editor, then type "x"'],
  ["could you please pay the bill", "Pay the bill"],
  ["请帮我打开编辑器", "打开编辑器"],
  ["Open http://127.0.0.1:8765/forms?id=1#a, then save", "Save – 127.0.0.1:8765"],
  ["打开 https://shop.example/购物，然后付款", "付款 – shop.example"],
  ["open https://a.example/x", "Open a.example"],
  ["open editor, then type \"x\"", "Open editor, then type \"x\""],
  ["open http://localhost:80/, click \"Delete\" and then click \"OK\"", "Click \"Delete\" and then click \"OK\" – localhost:80"],
  ["type \"\u202ecba\u202c\"", "Type \"cba\""],
  ["please", "Please"],
  ["", ""],
])("the goal %o has the title %o", (goal, title) => {
  expect(titleOf(goal)).toBe(title);
});

test("a long goal is cut in the list, between characters", () => {
  const title = titleOf("😀".repeat(200));
  expect([...title]).toHaveLength(80);
  expect(title).toMatch(/^(😀)+…$/u);
});

test("events of a state, a desktop or an approval change the lists; the others of a step do not", () => {
  const log = new Log().step(1).add({ case: "approvalRequested", value: {} }, 1).add({ case: "desktopReleased", value: {} }, 1)
    .add({ case: "succeeded", value: {} }, 1, TaskState.SUCCEEDED);
  expect(log.events.filter(changesLists).map((event) => event.kind.case)).toEqual(["approvalRequested", "desktopReleased", "succeeded"]);
});
