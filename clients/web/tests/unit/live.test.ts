import { afterEach, expect, test, vi } from "vitest";
import { openLive, parseLiveMessage, type LiveState } from "@/api/live.ts";

function message(header: string, image: number[], length = new TextEncoder().encode(header).length): ArrayBuffer {
  const text = new TextEncoder().encode(header);
  const bytes = new Uint8Array(4 + text.length + image.length);
  new DataView(bytes.buffer).setUint32(0, length);
  bytes.set(text, 4);
  bytes.set(image, 4 + text.length);
  return bytes.buffer;
}

test("a frame has its header and its image", async () => {
  const frame = parseLiveMessage(message('{"index":17,"format":"jpeg"}', [1, 2, 3]));
  expect(frame?.header.index).toBe(17);
  expect(frame?.image.type).toBe("image/jpeg");
  expect(new Uint8Array(await frame!.image.arrayBuffer())).toEqual(new Uint8Array([1, 2, 3]));
});

test.each([
  ["an empty message", new ArrayBuffer(0)],
  ["a length beyond the end", message("{}", [], 4_000_000_000)],
  ["a header that is no JSON", message("<html>", [1])],
])("%s is skipped", (_, data) => {
  expect(parseLiveMessage(data)).toBeUndefined();
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** Opens a live screen whose server answers each connection with this text and then closes it. Returns states and attempts. */
function answeredWith(text: string, forSeconds: number): { readonly states: readonly LiveState[]; readonly attempts: number } {
  vi.useFakeTimers();
  const states: LiveState[] = [];
  let attempts = 0;
  class Socket {
    static readonly OPEN = 1;
    onopen = (): void => {};
    onmessage = (_: { readonly data: string }): void => {};
    onclose = (): void => {};
    constructor() {
      attempts += 1;
      setTimeout(() => {
        this.onopen();
        this.onmessage({ data: text });
        this.onclose();
      });
    }
    close(): void {}
  }
  vi.stubGlobal("WebSocket", Socket);
  vi.stubGlobal("window", { location: { protocol: "http:", host: "127.0.0.1" } });
  const live = openLive("desktops/local", { width: 800, height: 600 }, { onState: (state) => states.push(state), onFrame: async () => {}, onStatistics: () => {} });
  vi.advanceTimersByTime(forSeconds * 1_000);
  live.close();
  return { states, attempts };
}

const failure = (code: number, reason: string): string => JSON.stringify({ error: { code, reason, message: "no" } });

test("a screen that the user may not see is not asked for again", () => {
  const { states, attempts } = answeredWith(failure(7, "ROLE_MISSING"), 60);
  expect(attempts).toBe(1);
  expect(states.at(-1)).toMatchObject({ kind: "refused", problem: { kind: "denied" } });
});

test.each([
  ["a desktop that is away", failure(14, "DESKTOP_UNREACHABLE")],
  ["too many viewers", failure(8, "TOO_MANY_VIEWERS")],
])("%s is asked for again", (_, text) => {
  const { states, attempts } = answeredWith(text, 5);
  expect(attempts).toBeGreaterThan(2);
  expect(states.some((state) => state.kind === "refused")).toBe(false);
});

test("a connection that falls silent without closing is lost, and opened anew; heartbeats keep it", () => {
  vi.useFakeTimers();
  const sockets: Silent[] = [];
  class Silent {
    static readonly OPEN = 1;
    onopen: (() => void) | null = null;
    onmessage: ((message: { readonly data: string }) => void) | null = null;
    onclose: (() => void) | null = null;
    constructor() {
      sockets.push(this);
      setTimeout(() => this.onopen?.());
    }
    close(): void {}
  }
  vi.stubGlobal("WebSocket", Silent);
  vi.stubGlobal("window", { location: { protocol: "http:", host: "127.0.0.1" } });
  const states: LiveState["kind"][] = [];
  const live = openLive("desktops/local", { width: 800, height: 600 }, { onState: ({ kind }) => states.push(kind), onFrame: async () => {}, onStatistics: () => {} });
  for (let beat = 0; beat < 20; beat++) {
    vi.advanceTimersByTime(3_000);
    sockets[0]!.onmessage?.({ data: '{"heartbeat":true}' });
  }
  expect([sockets.length, states]).toEqual([1, ["connecting", "open"]]);
  vi.advanceTimersByTime(12_000);
  expect(states).toEqual(["connecting", "open", "lost", "connecting", "open"]);
  expect(sockets.length).toBe(2);
  live.close();
});
