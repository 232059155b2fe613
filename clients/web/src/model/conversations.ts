/** The list of conversations: sessions with their newest task, and tasks without a session. Pure. */
import type { Session, Task } from "@gen/orchestrator/v1/task_pb.ts";
import { plainDirection } from "../lib/plain-direction.ts";
import { milliseconds, TaskState } from "./task.ts";

export interface ConversationEntry {
  readonly name: string;
  readonly title: string;
  readonly at: number;
  readonly state: TaskState;
  /** Everything that a search looks in: the title and the goals. */
  readonly words: string;
}

export function conversationsOf(sessions: readonly Session[], tasks: readonly Task[]): readonly ConversationEntry[] {
  const newest = new Map<string, Task>();
  const first = new Map<string, Task>();
  const goals = new Map<string, string[]>();
  const entries: ConversationEntry[] = [];
  // Tasks come with the newest first.
  for (const task of tasks) {
    if (task.session === "") {
      const title = task.displayName || titleOf(task.goal);
      entries.push({ name: task.name, title, at: milliseconds(task.updateTime), state: task.state, words: wordsOf([title, task.goal]) });
      continue;
    }
    goals.set(task.session, [...(goals.get(task.session) ?? []), task.goal]);
    if (!newest.has(task.session)) newest.set(task.session, task);
    first.set(task.session, task);
  }
  for (const session of sessions) {
    const last = newest.get(session.name);
    const title = session.displayName || titleOf(first.get(session.name)?.goal ?? "") || session.name.slice("sessions/".length);
    entries.push({
      name: session.name,
      title,
      at: Math.max(milliseconds(session.updateTime), milliseconds(last?.updateTime)),
      state: last?.state ?? TaskState.UNSPECIFIED,
      words: wordsOf([title, ...(goals.get(session.name) ?? [])]),
    });
  }
  return entries.sort((a, b) => b.at - a.at);
}

function wordsOf(texts: readonly string[]): string {
  return texts.join("\n").toLocaleLowerCase();
}

// The server limits display names.
const MAX_TITLE_LENGTH = 80;
const POLITENESS = /^(?:(?:please|could you|can you|would you|i want you to|i would like you to)\b[\s,]*|请(?:你|您)?(?:帮我)?|帮我|麻烦(?:你|您)?)+/i;

// `open HOST, then …`, once addresses are shortened. Goals that begin at the same page differ in what comes after.
const OPENS_FIRST = /^(?:open|go to|visit|navigate to|打开|访问|前往)\s*([^\s,，;；]+\.[^\s,，;；]+|localhost(?::\d+)?)(?:\s*[,，;；]\s*(?:and\s+)?(?:then\s+)?(?:然后)?|\s+(?:and\s+)?then\s+|\s+and\s+|\s*然后)(.+)$/i;

/**
 * A title that people recognise in a narrow list: the goal without politeness, addresses by their host alone, and what is done on a
 * page before where it is done.
 */
export function titleOf(goal: string): string {
  const words = plainDirection(goal).replace(/\s+/g, " ").trim();
  const direct = words.replace(POLITENESS, "") || words;
  const hosts = direct.replace(/\bhttps?:\/\/([^\s/"'”’，。、,]+)[^\s"'”’，。、,]*/gi, "$1");
  const [, host, rest] = OPENS_FIRST.exec(hosts) ?? [];
  const short = host === undefined || rest === undefined ? hosts : `${rest} – ${host}`;
  const letters = [...short.charAt(0).toLocaleUpperCase() + short.slice(1)];
  return letters.length <= MAX_TITLE_LENGTH ? letters.join("") : `${letters.slice(0, MAX_TITLE_LENGTH - 1).join("").trimEnd()}…`;
}

/** Entries whose title and goals contain every word of the query, in any order and case. */
export function searchConversations(entries: readonly ConversationEntry[], query: string): readonly ConversationEntry[] {
  const words = query.toLocaleLowerCase().split(/\s+/).filter((word) => word !== "");
  return entries.filter((entry) => words.every((word) => entry.words.includes(word)));
}

export type Age = "today" | "week" | "older";

const DAY_MS = 24 * 60 * 60 * 1000;

export function ageOf(at: number, now: number): Age {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (at >= midnight) return "today";
  return at >= midnight - 6 * DAY_MS ? "week" : "older";
}
