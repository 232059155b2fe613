/**
 * The person who has the desktop of a task. Events name the person who took it over, as the server knows them, and the session tells
 * the page its own name. A server without accounts gives everybody one name; there, the page remembers the tasks that were taken over
 * in this browser: those are "you".
 */
import { create } from "zustand";
import type { TaskView } from "@/model/task.ts";
import { useIdentity } from "./identity.ts";

export type Actor =
  | { readonly kind: "agent" | "you" }
  /** Without a name if the server does not tell persons apart. */
  | { readonly kind: "person"; readonly name: string };

const KEY = "motorium.takenOver";
// Name of every caller on the machine of a server without accounts.
const UNNAMED = "local";

export function actorOf(task: Pick<TaskView, "name" | "takenOverBy">): Actor {
  if (task.takenOverBy === undefined) return { kind: "agent" };
  const { name } = useIdentity.getState();
  const isNamed = name !== undefined && name !== UNNAMED;
  if (isNamed ? task.takenOverBy === name : remembered().includes(task.name)) return { kind: "you" };
  return { kind: "person", name: task.takenOverBy === UNNAMED ? "" : task.takenOverBy };
}

// Grows when the remembered tasks change, which draws those anew that ask for the actor.
const useChanges = create<{ readonly count: number }>(() => ({ count: 0 }));

/** The person who has the desktop of a task, also after this browser has taken it over. */
export function useActor(task: Pick<TaskView, "name" | "takenOverBy">): Actor {
  useChanges();
  useIdentity();
  return actorOf(task);
}

export function rememberTakeOver(task: string): void {
  store([...remembered().filter((name) => name !== task), task]);
}

export function forgetTakeOver(task: string): void {
  store(remembered().filter((name) => name !== task));
}

// More tasks than one person takes over at a time.
const MAX_REMEMBERED = 20;
let unstored: readonly string[] = [];

function remembered(): readonly string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
  } catch {
    // Blocked storage: kept until the page is closed.
    return unstored;
  }
}

function store(names: readonly string[]): void {
  unstored = names.slice(-MAX_REMEMBERED);
  try {
    localStorage.setItem(KEY, JSON.stringify(unstored));
  } catch {
    // As above.
  }
  useChanges.setState(({ count }) => ({ count: count + 1 }));
}
