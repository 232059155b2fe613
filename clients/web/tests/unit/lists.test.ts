import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { SessionSchema, TaskSchema } from "@gen/orchestrator/v1/task_pb.ts";
import { ageOf, conversationsOf, searchConversations } from "@/model/conversations.ts";
import { TaskState } from "@/model/task.ts";
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
    ["tasks/2", "alone", TaskState.FAILED],
    ["sessions/b", "b", TaskState.UNSPECIFIED],
  ]);
});

test.each([["rep week", 1], ["WEEKLY", 1], ["", 2], ["报告", 1], ["nothing", 0]])("a search for %o finds %i", (query, count) => {
  const entries = [{ name: "a", title: "Weekly Report", at: 0, state: 0 }, { name: "b", title: "发送报告", at: 0, state: 0 }];
  expect(searchConversations(entries, query)).toHaveLength(count);
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
