import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { actorOf, forgetTakeOver, rememberTakeOver } from "@/store/actor.ts";

const stored = new Map<string, string>();
beforeEach(() => vi.stubGlobal("localStorage", {
  getItem: (key: string) => stored.get(key) ?? null,
  setItem: (key: string, value: string) => stored.set(key, value),
}));
afterEach(() => {
  stored.clear();
  vi.unstubAllGlobals();
});

test("the agent, this browser and other persons are told apart", () => {
  expect(actorOf({ name: "tasks/t" })).toEqual({ kind: "agent" });
  expect(actorOf({ name: "tasks/t", takenOverBy: "ann" })).toEqual({ kind: "person", name: "ann" });
  expect(actorOf({ name: "tasks/t", takenOverBy: "local" })).toEqual({ kind: "person", name: "" });
  rememberTakeOver("tasks/t");
  expect(actorOf({ name: "tasks/t", takenOverBy: "local" })).toEqual({ kind: "you" });
  expect(actorOf({ name: "tasks/other", takenOverBy: "local" })).toEqual({ kind: "person", name: "" });
  forgetTakeOver("tasks/t");
  expect(actorOf({ name: "tasks/t", takenOverBy: "ann" })).toEqual({ kind: "person", name: "ann" });
});

test("blocked or damaged storage is no failure", () => {
  stored.set("motorium.takenOver", '{"not": "a list"}');
  expect(actorOf({ name: "tasks/t", takenOverBy: "ann" }).kind).toBe("person");
  vi.stubGlobal("localStorage", { getItem: () => { throw new Error("blocked"); }, setItem: () => { throw new Error("blocked"); } });
  rememberTakeOver("tasks/t");
  expect(actorOf({ name: "tasks/t", takenOverBy: "ann" }).kind).toBe("you");
  forgetTakeOver("tasks/t");
});
