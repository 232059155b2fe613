import { readFileSync } from "node:fs";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { WatchTaskResponseSchema } from "@gen/orchestrator/v1/orchestrator_service_pb.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ServerError } from "@/api/errors.ts";

const calls: string[] = [];
let connections: ((signal: AbortSignal) => AsyncIterable<Uint8Array>)[] = [];
vi.mock("@/api/socket.ts", () => ({
  binaryMessages: (path: string, signal: AbortSignal) => {
    const url = new URL(path, "http://page");
    expect(url.pathname).toBe("/api/watch/tasks/t");
    calls.push(url.searchParams.get("resume_token")!);
    return connections.shift()!(signal);
  },
}));
vi.stubGlobal("window", new EventTarget());
vi.stubGlobal("document", Object.assign(new EventTarget(), { visibilityState: "visible" }));
const { SILENCE_MS, watch } = await import("@/api/watch.ts");

const event = (sequence: number) => toBinary(WatchTaskResponseSchema, create(WatchTaskResponseSchema, {
  resumeToken: `t${sequence}`, content: { case: "event", value: { sequence: BigInt(sequence) } },
}));
const silence = (signal: AbortSignal) => new Promise((_, reject) => {
  signal.addEventListener("abort", () => reject(new ConnectError("aborted", Code.Canceled)));
});

interface Received {
  readonly events: [sequence: number, missed: boolean][];
  readonly links: string[];
  restarts: number;
}

function start(): Received {
  const seen: Received = { events: [], links: [], restarts: 0 };
  stop = watch("tasks/t", {
    onEvent: ({ sequence }, missedBefore) => seen.events.push([Number(sequence), missedBefore !== undefined]),
    onLink: ({ kind }) => seen.links.push(kind),
    onRestart: () => (seen.restarts += 1),
  });
  return seen;
}

let stop = (): void => {};
beforeEach(() => {
  vi.useFakeTimers();
  calls.length = 0;
});
afterEach(() => {
  stop();
  vi.useRealTimers();
});

test("a lost connection is resumed behind the last event, and says what was missed", async () => {
  connections = [
    async function* () {
      yield event(1);
      yield event(2);
      throw new ConnectError("reset", Code.Unavailable);
    },
    async function* (signal) {
      yield event(3);
      await silence(signal);
    },
  ];
  const seen = start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(calls).toEqual(["", "t2"]);
  expect(seen.events).toEqual([[1, false], [2, false], [3, true]]);
  expect(seen.links).toEqual(["connecting", "open", "lost", "open"]);
});

test("a connection that falls silent is given up, though nothing closed it", async () => {
  connections = [
    async function* (signal) {
      yield event(1);
      await silence(signal);
    },
    async function* (signal) {
      yield event(2);
      await silence(signal);
    },
  ];
  const seen = start();
  await vi.advanceTimersByTimeAsync(SILENCE_MS - 1_000);
  expect(calls).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(calls).toEqual(["", "t1"]);
  expect(seen.events).toEqual([[1, false], [2, true]]);
});

test("silence is two missing heartbeats of the server and a late third", () => {
  const limits = readFileSync(new URL("../../../../proto/src/limits.rs", import.meta.url), "utf8");
  const interval = Number(/HEARTBEAT_INTERVAL: Duration = Duration::from_secs\((\d+)\)/.exec(limits)?.[1]) * 1_000;
  expect(SILENCE_MS).toBeGreaterThan(2 * interval);
  expect(SILENCE_MS).toBeLessThan(3 * interval);
});

test("after sleep, the page does not wait for the timer", async () => {
  connections = [
    async function* (signal) {
      yield event(1);
      await silence(signal);
    },
    async function* (signal) {
      yield event(2);
      await silence(signal);
    },
  ];
  start();
  await vi.advanceTimersByTimeAsync(10);
  // Sleep: the clock goes on, timers do not.
  vi.setSystemTime(Date.now() + 120_000);
  document.dispatchEvent(new Event("visibilitychange"));
  await vi.advanceTimersByTimeAsync(500);
  expect(calls).toEqual(["", "t1"]);
});

test("an expired token starts again from the beginning", async () => {
  const expired = new ServerError("expired", Code.OutOfRange, "RESUME_TOKEN_EXPIRED");
  connections = [
    async function* () {
      yield event(1);
    },
    async function* () {
      throw expired;
    },
    async function* (signal) {
      yield event(1);
      await silence(signal);
    },
  ];
  const seen = start();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(calls).toEqual(["", "t1", ""]);
  expect(seen.restarts).toBe(1);
});

test.each([[Code.NotFound], [Code.Unauthenticated], [Code.PermissionDenied]])("code %i is not tried again", async (code) => {
  connections = [
    async function* () {
      throw new ConnectError("no", code);
    },
  ];
  const seen = start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(calls).toHaveLength(1);
  expect(seen.links.at(-1)).toBe("failed");
});
