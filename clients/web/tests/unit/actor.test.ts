import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { actorOf, forgetTakeOver, rememberTakeOver } from "@/store/actor.ts";
import { useIdentity } from "@/store/identity.ts";

const stored = new Map<string, string>();
beforeEach(() => vi.stubGlobal("localStorage", {
  getItem: (key: string) => stored.get(key) ?? null,
  setItem: (key: string, value: string) => stored.set(key, value),
}));
afterEach(() => {
  stored.clear();
  useIdentity.setState({ name: undefined });
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

test("a history that is read again does not undo a later take-over", () => {
  rememberTakeOver("tasks/t");
  forgetTakeOver("tasks/t", Date.now() - 60_000);
  expect(actorOf({ name: "tasks/t", takenOverBy: "local" })).toEqual({ kind: "you" });
  forgetTakeOver("tasks/t", Date.now() + 1);
  expect(actorOf({ name: "tasks/t", takenOverBy: "local" })).toEqual({ kind: "person", name: "" });
});

test("blocked or damaged storage is no failure", () => {
  stored.set("motorium.takenOver", '{"not": "a list"}');
  expect(actorOf({ name: "tasks/t", takenOverBy: "ann" }).kind).toBe("person");
  vi.stubGlobal("localStorage", { getItem: () => { throw new Error("blocked"); }, setItem: () => { throw new Error("blocked"); } });
  rememberTakeOver("tasks/t");
  expect(actorOf({ name: "tasks/t", takenOverBy: "ann" }).kind).toBe("you");
  forgetTakeOver("tasks/t");
});

test("a named user is told by the name alone, whatever this browser remembers", () => {
  useIdentity.setState({ name: "ann" });
  expect(actorOf({ name: "tasks/t", takenOverBy: "ann" })).toEqual({ kind: "you" });
  rememberTakeOver("tasks/t");
  expect(actorOf({ name: "tasks/t", takenOverBy: "bob" })).toEqual({ kind: "person", name: "bob" });
  // A server without accounts has one name for all.
  useIdentity.setState({ name: "local" });
  expect(actorOf({ name: "tasks/t", takenOverBy: "local" })).toEqual({ kind: "you" });
  expect(actorOf({ name: "tasks/other", takenOverBy: "local" })).toEqual({ kind: "person", name: "" });
});
