/** The commands that a user gives to tasks. Each function is one call; its effect arrives as events. */
import type { Desktop } from "@gen/common/v1/desktop_pb.ts";
import type { Approval } from "@gen/orchestrator/v1/task_pb.ts";
import { orchestrator, requestId } from "@/api/client.ts";
import { isRefusal, problemOf } from "@/api/errors.ts";
import { attach, CancelledUpload, type AttachmentInit } from "@/api/uploads.ts";
import { titleOf } from "@/model/conversations.ts";
import { hasEnded, RequestKind, TaskState } from "@/model/task.ts";
import { forgetTakeOver, rememberTakeOver } from "./actor.ts";
import { openConversation, tasksInOrder, useConversation } from "./conversation.ts";
import { refreshLists } from "./lists.ts";
import { changeDraft, draftOf, moveDraft, NEW } from "./prompt.ts";
import { go } from "./route.ts";
import { addSending, beginTry, changeSending, endUpload, removeSending, sendingOf, type Request, type Sending } from "./sending.ts";
import { useSettings, type Language } from "./settings.ts";

/**
 * Sends what the user wrote: the answer to a question, a message to a task that runs, or the next task of the conversation.
 */
export async function send(text: string, files: readonly File[], results: readonly string[]): Promise<void> {
  const { name } = useConversation.getState();
  const id = requestId();
  addSending({
    id, text, files, results, request: requestNow(files), conversation: name ?? NEW, sessionRequest: requestId(), underWay: false, refused: false,
  });
  await attempt(id);
}

/** Tries again to send an entry. If the server may have carried it out, the request stays the same, and is done once. */
export async function sendAgain(id: string): Promise<void> {
  const entry = sendingOf(id);
  if (!entry || entry.underWay) return;
  // What was refused, such as a message to a task that had just ended, is sent for what there is now.
  if (!entry.refused) return attempt(id);
  const anew = requestId();
  changeSending(id, { id: anew, request: requestNow(entry.files) });
  await attempt(anew);
}

/** Puts an entry that the server has refused back into the prompt, with its files. */
export function editAgain(id: string): void {
  const entry = sendingOf(id);
  if (entry && !entry.underWay && entry.refused) backIntoPrompt(id);
}

function backIntoPrompt(id: string): void {
  const entry = sendingOf(id);
  if (!entry) return;
  const draft = draftOf(entry.conversation);
  const text = draft.text.trim() === "" ? entry.text : `${entry.text}\n${draft.text}`;
  const results = entry.results.length > 0 ? entry.results.join(", ") : draft.results;
  changeDraft(entry.conversation, { text, files: [...entry.files, ...draft.files], results });
  removeSending(id);
}

function requestNow(files: readonly File[]): Request {
  const last = tasksInOrder(useConversation.getState().tasks).at(-1);
  if (!last || hasEnded(last)) return { kind: "task", language: useSettings.getState().language };
  const asks = last.state === TaskState.AWAITING_USER && last.request?.kind === RequestKind.QUESTION;
  return { kind: asks && files.length === 0 ? "answer" : "message", task: last.name };
}

async function attempt(id: string): Promise<void> {
  beginTry(id);
  let begun = false;
  try {
    const attachments = await attachOnce(id);
    const entry = sendingOf(id);
    if (!entry) return;
    begun = true;
    await (entry.request.kind === "task"
      ? createTask(entry, entry.request.language, attachments)
      : sendMessage(entry, entry.request, attachments));
  } catch (error) {
    if (error instanceof CancelledUpload) return backIntoPrompt(id);
    const problem = problemOf(error);
    changeSending(id, { problem, underWay: false, refused: !begun || isRefusal(problem) });
  }
}

/** Reads and uploads the files of an entry, in its first try that comes so far. */
async function attachOnce(id: string): Promise<readonly AttachmentInit[]> {
  const entry = sendingOf(id);
  if (!entry) return [];
  if (entry.attachments) return entry.attachments;
  const cancelling = new AbortController();
  const cancel = (): void => cancelling.abort();
  const attachments = await attach(entry.files, (progress) => changeSending(id, { upload: { ...progress, cancel } }), cancelling.signal);
  endUpload(id, attachments);
  return attachments;
}

async function createTask(entry: Sending, language: Language, attachments: readonly AttachmentInit[]): Promise<void> {
  const before = entry.conversation;
  const session = entry.session ?? (before.startsWith("sessions/") ? before : await createSession(entry));
  changeSending(entry.id, { session });
  const created = await orchestrator.createTask({
    task: { goal: entry.text, session, attachments: [...attachments], results: [...entry.results], language },
    requestId: entry.id,
  });
  changeSending(entry.id, { conversation: session, task: created.task?.name ?? "", underWay: false });
  const open = useConversation.getState().name;
  if (session !== before && (open ?? NEW) === before) {
    moveDraft(before, session);
    openConversation(session);
    go({ view: "conversation", name: session });
  } else if (open !== session) {
    // Nothing shows this conversation now; its events will.
    removeSending(entry.id);
  }
  void refreshLists();
}

async function createSession({ text, sessionRequest }: Sending): Promise<string> {
  const displayName = titleOf(text);
  const response = await orchestrator.createSession({ session: { displayName }, requestId: sessionRequest });
  return response.session?.name ?? "";
}

async function sendMessage(
  { id, text }: Sending, { kind, task }: Extract<Request, { task: string }>, attachments: readonly AttachmentInit[],
): Promise<void> {
  if (kind === "answer") await orchestrator.acknowledgeUserAction({ name: task, message: text, requestId: id });
  else await orchestrator.sendMessage({ name: task, text, attachments: [...attachments], requestId: id });
  removeSending(id);
}

/** Sends exactly the words of the button, in the user's language. */
export async function acknowledge(task: string, words: string): Promise<void> {
  await orchestrator.acknowledgeUserAction({ name: task, message: words, requestId: requestId() });
}

export async function stop(task: string): Promise<void> {
  await orchestrator.cancelTask({ name: task, requestId: requestId() });
}

export async function pause(task: string): Promise<void> {
  await orchestrator.pauseTask({ name: task, requestId: requestId() });
}

export async function resume(task: string): Promise<void> {
  await orchestrator.resumeTask({ name: task, requestId: requestId() });
}

export async function takeOver(task: string): Promise<void> {
  // Before the event that says so arrives: where the page does not know its own name, it would be taken for that of another person.
  rememberTakeOver(task);
  try {
    await orchestrator.takeOver({ name: task, requestId: requestId() });
  } catch (error) {
    if (isRefusal(problemOf(error))) forgetTakeOver(task);
    throw error;
  }
}

export async function handBack(task: string, note: string): Promise<void> {
  await orchestrator.handBack({ name: task, message: note, requestId: requestId() });
  forgetTakeOver(task);
}

export async function resolveApproval(approval: Approval, approve: boolean, message: string): Promise<void> {
  await orchestrator.resolveApproval({ name: approval.name, approve, message, requestId: requestId() });
  void refreshLists();
}

export async function drainDesktop(name: string): Promise<void> {
  await orchestrator.drainDesktop({ name, requestId: requestId() });
  void refreshLists();
}

/** Ends the drain of a desktop: registering it unchanged does. */
export async function undrainDesktop({ name, perceptionEndpoint, executorEndpoint, display, platform, labels }: Desktop): Promise<void> {
  const desktop = { name, perceptionEndpoint, executorEndpoint, display, platform, labels };
  await orchestrator.registerDesktop({ desktop, requestId: requestId() });
  void refreshLists();
}
