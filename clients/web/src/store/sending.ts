/**
 * Messages that the user has sent and the server has not shown yet. An entry keeps everything of its first try: text, files, the id of
 * the request and the request itself, so that a repeated try is the same request, which the server carries out once.
 */
import { create } from "zustand";
import type { Problem } from "@/api/errors.ts";
import type { AttachmentInit, UploadProgress } from "@/api/uploads.ts";
import type { Language } from "./settings.ts";

/** The request that an entry stands for, decided at its first try. */
export type Request =
  | { readonly kind: "task"; readonly language: Language }
  | { readonly kind: "message" | "answer"; readonly task: string };

export interface Sending {
  readonly id: string;
  /** Conversation in which it is shown; that of the new page until its task exists. */
  readonly conversation: string;
  readonly text: string;
  readonly files: readonly File[];
  /** Names of the files that a new task hands back. */
  readonly results: readonly string[];
  readonly request: Request;
  /** Files as the request names them. Present once all were read and uploaded. */
  readonly attachments?: readonly AttachmentInit[];
  /** Present while files are uploaded. */
  readonly upload?: UploadProgress & { cancel(): void };
  /** Id of the request that creates the session, and the session once it is there. */
  readonly sessionRequest: string;
  readonly session?: string;
  readonly underWay: boolean;
  readonly problem?: Problem;
  /** True if the server certainly has not carried it out, so that it may also be changed and sent anew. */
  readonly refused: boolean;
  /** Task that was created for it. Its events take the place of the entry. */
  readonly task?: string;
}

export const useSending = create<{ readonly entries: readonly Sending[] }>(() => ({ entries: [] }));

export function sendingOf(id: string): Sending | undefined {
  return useSending.getState().entries.find((entry) => entry.id === id);
}

export function addSending(entry: Sending): void {
  useSending.setState(({ entries }) => ({ entries: [...entries, entry] }));
}

export function changeSending(id: string, change: Partial<Sending>): void {
  useSending.setState(({ entries }) => ({ entries: entries.map((entry) => (entry.id === id ? { ...entry, ...change } : entry)) }));
}

/** Forgets the failure of the last try. */
export function beginTry(id: string): void {
  useSending.setState(({ entries }) => ({
    entries: entries.map((entry) => {
      if (entry.id !== id) return entry;
      const { problem: _problem, upload: _upload, ...rest } = entry;
      return { ...rest, underWay: true, refused: false };
    }),
  }));
}

/** Keeps what the files became in the request. */
export function endUpload(id: string, attachments: readonly AttachmentInit[]): void {
  useSending.setState(({ entries }) => ({
    entries: entries.map((entry) => {
      if (entry.id !== id) return entry;
      const { upload: _, ...rest } = entry;
      return { ...rest, attachments };
    }),
  }));
}

export function removeSending(id: string): void {
  useSending.setState(({ entries }) => ({ entries: entries.filter((entry) => entry.id !== id) }));
}

/** Removes the entries whose tasks the page has events of. */
export function removeArrived(tasks: ReadonlyMap<string, unknown>): void {
  useSending.setState((state) => {
    const entries = state.entries.filter((entry) => entry.task === undefined || !tasks.has(entry.task));
    return entries.length === state.entries.length ? state : { entries };
  });
}
