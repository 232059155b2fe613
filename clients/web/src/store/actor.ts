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
  if (isNamed ? task.takenOverBy === name : task.name in remembered()) return { kind: "you" };
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
  const { [task]: _, ...others } = remembered();
  store({ ...others, [task]: Date.now() });
}

/** Forgets a take-over, if it was not after `handedBackAt`, in milliseconds: a history that is read again has earlier ones. */
export function forgetTakeOver(task: string, handedBackAt = Infinity): void {
  const { [task]: since, ...others } = remembered();
  if (since !== undefined && since <= handedBackAt) store(others);
}

/** When tasks were taken over in this browser, in milliseconds, by their names: the last ones last. */
type TakeOvers = Readonly<Record<string, number>>;

// More tasks than one person takes over at a time.
const MAX_REMEMBERED = 20;
let unstored: TakeOvers = {};

function remembered(): TakeOvers {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    if (typeof value !== "object" || value === null) return {};
    return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, number] => typeof entry[1] === "number"));
  } catch {
    // Blocked storage: kept until the page is closed.
    return unstored;
  }
}

function store(takeOvers: TakeOvers): void {
  unstored = Object.fromEntries(Object.entries(takeOvers).slice(-MAX_REMEMBERED));
  try {
    localStorage.setItem(KEY, JSON.stringify(unstored));
  } catch {
    // As above.
  }
  useChanges.setState(({ count }) => ({ count: count + 1 }));
}
