/** Sending across failures: the orchestrator and the watch of events are stood in for; the stores are the real ones. */
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { WatchHandlers } from "@/api/watch.ts";
import { RequestKind, TaskState } from "@/model/task.ts";
import { Log } from "./events.ts";

const calls = {
  createSession: vi.fn(),
  createTask: vi.fn(),
  sendMessage: vi.fn(),
  acknowledgeUserAction: vi.fn(),
};
let ids = 0;
let handlers: WatchHandlers;

vi.mock("@/api/client.ts", () => ({
  get orchestrator() {
    return calls;
  },
  requestId: () => `id-${++ids}`,
  artifactUrl: (name: string) => name,
}));
vi.mock("@/api/watch.ts", () => ({
  watch: (_: string, given: WatchHandlers) => {
    handlers = given;
    return () => {};
  },
}));
vi.mock("@/store/settings.ts", () => ({ useSettings: { getState: () => ({ language: "en" }) } }));
vi.mock("@/store/route.ts", () => ({ go: vi.fn() }));
vi.mock("@/store/lists.ts", () => ({ refreshLists: vi.fn(), listsChanged: vi.fn() }));

const { send, sendAgain, editAgain } = await import("@/store/commands.ts");
const { closeConversation, openConversation, useConversation } = await import("@/store/conversation.ts");
const { useSending } = await import("@/store/sending.ts");
const { changeDraft, draftOf, NEW } = await import("@/store/prompt.ts");

const lost = (): ConnectError => new ConnectError("the connection was lost", Code.Unavailable);
const file = (name: string, text: string): File => new File([text], name);
const entry = () => useSending.getState().entries[0];

/** An upload in progress, as the page sees it. */
class FakeUpload {
  readonly upload: { onprogress?: (event: { loaded: number }) => void } = {};
  onload?: () => void;
  onabort?: () => void;
  status = 0;
  statusText = "";
  responseText = "";
  aborted = false;
  open(): void {}
  setRequestHeader(): void {}
  send(): void {}
  abort(): void {
    this.aborted = true;
    this.onabort?.();
  }
  end(status: number, text: string): void {
    Object.assign(this, { status, responseText: text });
    this.onload?.();
  }
}

/** Stands in for uploads, which are answered at once if there is an answer. Returns those that have begun. */
function stubUploads(answer?: () => { status: number; text: string }): FakeUpload[] {
  const begun: FakeUpload[] = [];
  vi.stubGlobal("XMLHttpRequest", class extends FakeUpload {
    override send(): void {
      begun.push(this);
      if (answer) this.end(answer().status, answer().text);
    }
  });
  return begun;
}

beforeEach(() => {
  changeDraft(NEW, { text: "", files: [] });
  for (const call of Object.values(calls)) call.mockReset();
  calls.createSession.mockResolvedValue({ session: { name: "sessions/s" } });
  calls.createTask.mockResolvedValue({ task: { name: "tasks/t" } });
  calls.sendMessage.mockResolvedValue({});
  calls.acknowledgeUserAction.mockResolvedValue({});
});
afterEach(() => {
  closeConversation();
  useSending.setState({ entries: [] });
  vi.unstubAllGlobals();
});

async function openRunning(extra: (log: Log) => void = () => {}): Promise<Log> {
  openConversation("sessions/s");
  const log = new Log().add({ case: "created", value: { task: { goal: "goal", session: "sessions/s" } } }, 0, TaskState.PENDING).step(1);
  extra(log);
  for (const event of log.events) handlers.onEvent(event, undefined);
  await vi.waitFor(() => expect(useConversation.getState().tasks.get("tasks/t")?.lastSequence).toBe(BigInt(log.events.length)));
  return log;
}

describe("a new task", () => {
  test("whose response was lost is sent again as the same request, with its files", async () => {
    calls.createTask.mockRejectedValueOnce(lost());
    await send("file this", [file("bill.txt", "100")], []);
    expect(entry()?.problem?.kind).toBe("offline");
    expect(entry()?.files.map(({ name }) => name)).toEqual(["bill.txt"]);
    // It may have arrived, so that it may not be changed.
    expect(entry()?.refused).toBe(false);
    editAgain(entry()!.id);
    expect(draftOf(NEW).text).toBe("");

    await sendAgain(entry()!.id);
    const [first, second] = calls.createTask.mock.calls;
    expect(second).toEqual(first);
    expect(first?.[0]).toMatchObject({ requestId: "id-1", task: { goal: "file this", attachments: [{ name: "bill.txt" }] } });
    expect(calls.createSession).toHaveBeenCalledTimes(1);
    expect(useConversation.getState().name).toBe("sessions/s");
  });

  test("whose session has no response yet asks for the same session", async () => {
    calls.createSession.mockRejectedValueOnce(lost());
    await send("go on", [], []);
    await sendAgain(entry()!.id);
    expect(calls.createSession.mock.calls[1]).toEqual(calls.createSession.mock.calls[0]);
    expect(calls.createTask).toHaveBeenCalledTimes(1);
  });

  test("is not sent twice by two presses", async () => {
    calls.createTask.mockRejectedValueOnce(lost());
    await send("once", [], []);
    const { id } = entry()!;
    await Promise.all([sendAgain(id), sendAgain(id)]);
    expect(calls.createTask).toHaveBeenCalledTimes(2);
  });

  test("stays on the page of the new task until it exists, and is replaced by its events", async () => {
    calls.createTask.mockRejectedValueOnce(lost());
    await send("later", [], []);
    expect(entry()?.conversation).toBe(NEW);
    await sendAgain(entry()!.id);
    expect(entry()?.conversation).toBe("sessions/s");
    for (const event of new Log().add({ case: "created", value: { task: { goal: "later" } } }).events) handlers.onEvent(event, undefined);
    await vi.waitFor(() => expect(useSending.getState().entries).toEqual([]));
  });
});

describe("files", () => {
  test("that cannot be uploaded leave everything to be changed or tried again", async () => {
    const large = file("film.bin", "x".repeat(2 * 1024 * 1024));
    stubUploads(() => ({ status: 413, text: '{"error":{"message":"the body has more than 64 MiB"}}' }));
    await send("look", [large, file("a.txt", "a")], []);
    expect(entry()?.problem).toMatchObject({ kind: "tooLarge", detail: "film.bin: the body has more than 64 MiB" });
    expect(calls.createTask).not.toHaveBeenCalled();

    editAgain(entry()!.id);
    expect(draftOf(NEW)).toMatchObject({ text: "look", files: [large, { name: "a.txt" }] });
    expect(useSending.getState().entries).toEqual([]);
  });

  test("are uploaded once for all tries", async () => {
    const uploads = stubUploads(() => ({ status: 200, text: '{"upload":"uploads/u"}' }));
    calls.createTask.mockRejectedValueOnce(lost());
    await send("look", [file("film.bin", "x".repeat(2 * 1024 * 1024))], []);
    await sendAgain(entry()!.id);
    expect(uploads).toHaveLength(1);
    expect(calls.createTask.mock.calls[1]?.[0].task.attachments).toEqual([{ name: "film.bin", upload: "uploads/u" }]);
  });
});

describe("an upload", () => {
  const MIB = 1024 * 1024;

  test("tells how much of all its files has been sent", async () => {
    const uploads = stubUploads();
    const sent = send("look", [file("a.bin", "x".repeat(2 * MIB)), file("b.txt", "b"), file("c.bin", "x".repeat(6 * MIB))], []);
    await vi.waitFor(() => expect(uploads).toHaveLength(1));
    expect(entry()?.upload).toMatchObject({ sent: 0, total: 8 * MIB });
    uploads[0]!.upload.onprogress!({ loaded: MIB });
    expect(entry()?.upload?.sent).toBe(MIB);
    uploads[0]!.end(200, '{"upload":"uploads/a"}');
    await vi.waitFor(() => expect(uploads).toHaveLength(2));
    uploads[1]!.upload.onprogress!({ loaded: 3 * MIB });
    expect(entry()?.upload?.sent).toBe(5 * MIB);
    uploads[1]!.end(200, '{"upload":"uploads/c"}');
    await sent;
    expect(calls.createTask.mock.calls[0]?.[0].task.attachments.map((one: { upload?: string }) => one.upload)).toEqual(["uploads/a", undefined, "uploads/c"]);
    expect(entry()?.upload).toBeUndefined();
  });

  test("that is cancelled puts the message back with its files, and sends nothing", async () => {
    const uploads = stubUploads();
    const large = file("film.bin", "x".repeat(2 * MIB));
    const sent = send("look", [large], []);
    await vi.waitFor(() => expect(uploads).toHaveLength(1));
    entry()!.upload!.cancel();
    await sent;
    expect(uploads[0]!.aborted).toBe(true);
    expect(calls.createTask).not.toHaveBeenCalled();
    expect(useSending.getState().entries).toEqual([]);
    expect(draftOf(NEW)).toMatchObject({ text: "look", files: [large] });
  });
});

describe("a message to a task at work", () => {
  test("is the same message when it is tried again", async () => {
    await openRunning();
    calls.sendMessage.mockRejectedValueOnce(lost());
    await send("use the blue one", [file("blue.txt", "b")], []);
    await sendAgain(entry()!.id);
    expect(calls.sendMessage.mock.calls[1]).toEqual(calls.sendMessage.mock.calls[0]);
    expect(useSending.getState().entries).toEqual([]);
  });

  test("that came too late is sent as the next task", async () => {
    const log = await openRunning();
    calls.sendMessage.mockRejectedValueOnce(new ConnectError("the task has ended", Code.FailedPrecondition));
    await send("and now save", [], []);
    expect(entry()?.refused).toBe(true);
    handlers.onEvent(log.add({ case: "succeeded", value: {} }, 1, TaskState.SUCCEEDED).events.at(-1)!, undefined);
    await vi.waitFor(() => expect(useConversation.getState().tasks.get("tasks/t")?.state).toBe(TaskState.SUCCEEDED));
    await sendAgain(entry()!.id);
    expect(calls.createTask.mock.calls[0]?.[0]).toMatchObject({ task: { goal: "and now save", session: "sessions/s" } });
    expect(calls.createTask.mock.calls[0]?.[0].requestId).not.toBe(calls.sendMessage.mock.calls[0]?.[0].requestId);
  });

  test("answers the question that it waits for", async () => {
    await openRunning((log) => log.add(
      { case: "userAsked", value: { request: { kind: RequestKind.QUESTION, message: "Which?" } } }, 1, TaskState.AWAITING_USER));
    await send("the second", [], []);
    expect(calls.acknowledgeUserAction).toHaveBeenCalledWith(expect.objectContaining({ name: "tasks/t", message: "the second" }));
  });
});

test("a draft belongs to its conversation, with its files", async () => {
  const { addFiles, clearDraft, moveDraft, removeFile } = await import("@/store/prompt.ts");
  changeDraft("sessions/a", { text: "for a" });
  addFiles("sessions/a", [file("a.txt", "a"), file("b.txt", "b")]);
  removeFile("sessions/a", 0);
  expect(draftOf("sessions/b")).toEqual({ text: "", files: [] });
  expect(draftOf("sessions/a")).toMatchObject({ text: "for a", files: [{ name: "b.txt" }] });
  changeDraft(NEW, { text: "begun while the first was sent" });
  moveDraft(NEW, "sessions/c");
  expect([draftOf(NEW).text, draftOf("sessions/c").text]).toEqual(["", "begun while the first was sent"]);
  clearDraft("sessions/c");
  expect(draftOf("sessions/c").text).toBe("");
});
