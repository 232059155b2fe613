/** What the user can do to tasks. Each function is one call; its effect arrives as events. */
import type { Approval } from "@gen/orchestrator/v1/task_pb.ts";
import { orchestrator, requestId } from "@/api/client.ts";
import { problemOf } from "@/api/errors.ts";
import { attach } from "@/api/uploads.ts";
import { hasEnded, RequestKind, TaskState, type TaskView } from "@/model/task.ts";
import { addSending, changeSending, openConversation, removeSending, tasksInOrder, useConversation } from "./conversation.ts";
import { refreshLists } from "./lists.ts";
import { go } from "./route.ts";
import { useSettings } from "./settings.ts";

// The server limits display names; the list shows one line anyway.
const TITLE_LENGTH = 80;

/**
 * Sends what the user wrote: the answer to a question, a message to a task that runs, or the next task of the conversation.
 */
export async function send(text: string, files: readonly File[]): Promise<void> {
  const { name, tasks } = useConversation.getState();
  const last = tasksInOrder(tasks).at(-1);
  const running = last && !hasEnded(last) ? last : undefined;
  const id = requestId();
  addSending({ id, text, files: files.map((file) => file.name), asMessage: running !== undefined });
  try {
    if (running) {
      await sendMessage(running, text, files, id);
      removeSending(id);
      return;
    }
    const attachments = await attach(files);
    const session = name?.startsWith("sessions/") ? name : await createSession(text);
    const created = await orchestrator.createTask({
      task: { goal: text, session, attachments, language: useSettings.getState().language },
      requestId: id,
    });
    changeSending(id, { task: created.task?.name ?? "" });
    if (session !== name && useConversation.getState().name === name) {
      openConversation(session, useConversation.getState().sending);
      go({ view: "conversation", name: session });
    }
    void refreshLists();
  } catch (error) {
    changeSending(id, { problem: problemOf(error) });
  }
}

async function createSession(goal: string): Promise<string> {
  const title = [...goal.replace(/\s+/g, " ").trim()].slice(0, TITLE_LENGTH).join("");
  const response = await orchestrator.createSession({ session: { displayName: title }, requestId: requestId() });
  return response.session?.name ?? "";
}

async function sendMessage(task: TaskView, text: string, files: readonly File[], id: string): Promise<void> {
  if (task.state === TaskState.AWAITING_USER && task.request?.kind === RequestKind.QUESTION && files.length === 0) {
    await orchestrator.acknowledgeUserAction({ name: task.name, message: text, requestId: id });
    return;
  }
  await orchestrator.sendMessage({ name: task.name, text, attachments: await attach(files), requestId: id });
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
  await orchestrator.takeOver({ name: task, requestId: requestId() });
}

export async function handBack(task: string, note: string): Promise<void> {
  await orchestrator.handBack({ name: task, message: note, requestId: requestId() });
}

export async function resolveApproval(approval: Approval, approve: boolean, message: string): Promise<void> {
  await orchestrator.resolveApproval({ name: approval.name, approve, message, requestId: requestId() });
  void refreshLists();
}

export async function drainDesktop(name: string): Promise<void> {
  await orchestrator.drainDesktop({ name, requestId: requestId() });
  void refreshLists();
}
