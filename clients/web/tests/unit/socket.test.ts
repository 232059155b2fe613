/** WebSockets of the gateway, against one that the test plays. */
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, expect, test, vi } from "vitest";
import { problemOf } from "@/api/errors.ts";

class FakeSocket {
  static last: FakeSocket;
  binaryType = "";
  closed = false;
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  constructor(readonly url: string) {
    FakeSocket.last = this;
  }
  close(): void {
    this.closed = true;
  }
}
let sessionStatus = 200;
vi.stubGlobal("WebSocket", FakeSocket);
vi.stubGlobal("window", { location: { protocol: "http:", host: "page.localhost:7780" } });
vi.stubGlobal("fetch", async () => {
  if (sessionStatus === 0) throw new TypeError("failed to fetch");
  return { status: sessionStatus };
});
const { binaryMessages } = await import("@/api/socket.ts");

/** Reads everything, and returns the number of messages and the failure. */
async function read(signal = new AbortController().signal): Promise<[messages: number, failure: unknown]> {
  let count = 0;
  try {
    for await (const message of binaryMessages("/api/watch/tasks/t", signal)) count += message.length;
    return [count, undefined];
  } catch (error) {
    return [count, error];
  }
}

function play(script: (socket: FakeSocket) => void): void {
  queueMicrotask(() => script(FakeSocket.last));
}

const bytes = (length: number) => ({ data: new ArrayBuffer(length) });
beforeEach(() => (sessionStatus = 200));

test("messages arrive until the server ends the stream", async () => {
  play((socket) => {
    socket.onopen?.();
    socket.onmessage?.(bytes(1));
    socket.onmessage?.(bytes(2));
    socket.onclose?.({ code: 1000 });
  });
  expect(await read()).toEqual([3, undefined]);
  expect(FakeSocket.last.url).toBe("ws://page.localhost:7780/api/watch/tasks/t");
});

test("an error of the server keeps its reason and its words", async () => {
  play((socket) => {
    socket.onopen?.();
    socket.onmessage?.({ data: JSON.stringify({ error: { code: 5, reason: "TASK_NOT_FOUND", message: "there is none" } }) });
    socket.onclose?.({ code: 1011 });
  });
  const [, failure] = await read();
  expect(problemOf(failure)).toEqual({ kind: "notFound", reason: "TASK_NOT_FOUND", detail: "there is none" });
});

test.each([[401, "signedOut"], [200, "offline"], [0, "offline"]])("a refusal with session status %i is %s", async (status, kind) => {
  sessionStatus = status;
  play((socket) => socket.onclose?.({ code: 1006 }));
  const [, failure] = await read();
  expect(problemOf(failure).kind).toBe(kind);
});

test("a broken connection is not the end of the stream", async () => {
  play((socket) => {
    socket.onopen?.();
    socket.onmessage?.(bytes(1));
    socket.onclose?.({ code: 1006 });
  });
  const [count, failure] = await read();
  expect([count, problemOf(failure).kind]).toEqual([1, "offline"]);
});

test("an aborted one closes its socket", async () => {
  const abort = new AbortController();
  play(() => abort.abort());
  const [, failure] = await read(abort.signal);
  expect(ConnectError.from(failure).code).toBe(Code.Canceled);
  expect(FakeSocket.last.closed).toBe(true);
});
