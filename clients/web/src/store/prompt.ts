/** The unsent message of each conversation. Kept while they look at another view or conversation. */
import { create } from "zustand";

export interface Draft {
  readonly text: string;
  readonly files: readonly File[];
  /** Names of files to fetch, as they are written; undefined while they are not asked for. */
  readonly results?: string | undefined;
}

const EMPTY: Draft = { text: "", files: [] };

/** The draft of the page on which the next conversation begins. */
export const NEW = "";

const useDrafts = create<{ readonly byConversation: Readonly<Record<string, Draft>> }>(() => ({ byConversation: {} }));

export function useDraft(conversation: string): Draft {
  return useDrafts((state) => state.byConversation[conversation] ?? EMPTY);
}

export function draftOf(conversation: string): Draft {
  return useDrafts.getState().byConversation[conversation] ?? EMPTY;
}

export function changeDraft(conversation: string, change: Partial<Draft>): void {
  setDraft(conversation, { ...draftOf(conversation), ...change });
}

export function addFiles(conversation: string, files: readonly File[]): void {
  changeDraft(conversation, { files: [...draftOf(conversation).files, ...files] });
}

export function removeFile(conversation: string, index: number): void {
  changeDraft(conversation, { files: draftOf(conversation).files.filter((_, at) => at !== index) });
}

export function clearDraft(conversation: string): void {
  setDraft(conversation, EMPTY);
}

/** Names in a text that lists them, apart from each other by commas or lines. */
export function resultNames(text: string | undefined): readonly string[] {
  return [...new Set((text ?? "").split(/[,，、\n]/).map((name) => name.trim()).filter((name) => name !== ""))];
}

/** Gives a conversation that has just begun what was written on the page of a new one meanwhile. */
export function moveDraft(from: string, to: string): void {
  const draft = draftOf(from);
  if (draft === EMPTY || to === from) return;
  setDraft(to, draft);
  clearDraft(from);
}

function setDraft(conversation: string, draft: Draft): void {
  useDrafts.setState(({ byConversation }) => {
    const { [conversation]: _, ...others } = byConversation;
    return { byConversation: draft.text === "" && draft.files.length === 0 && draft.results === undefined ? others : { ...others, [conversation]: draft } };
  });
}
