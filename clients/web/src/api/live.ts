/**
 * The live screen of a desktop, or of a task while it has one, over a WebSocket. A message is the length of a JSON header (32 bits, big endian), the header
 * and the bytes of an image. Each image is acknowledged once it is drawn, so that a slow page gets fewer of them instead of
 * old ones.
 */
import { isRefusal, problemOf, type Problem } from "./errors.ts";
import { parseServerError, socketAddress } from "./socket.ts";

export interface LiveHeader {
  readonly index: number;
  readonly time: string;
  readonly width: number;
  readonly height: number;
  readonly screen_width: number;
  readonly screen_height: number;
  readonly cursor?: { readonly x: number; readonly y: number } | null;
  readonly format: string;
}

export interface LiveFrame {
  readonly header: LiveHeader;
  readonly image: Blob;
}

/**
 * `waiting`: the connection stands, but the desktop shows nothing. `refused`: the server does not
 * show this desktop to this user, and is not asked again.
 */
export type LiveState =
  | { readonly kind: "connecting" | "open" | "lost" }
  | { readonly kind: "waiting"; readonly reason: string }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Reason of the Orchestrator for a task whose screen is not shown now: its stored screenshots are. */
export const NOT_SHOWN = "WRONG_STATE";

export interface LiveConnection {
  /** Asks for images of another size. */
  resize(width: number, height: number): void;
  close(): void;
}

export interface LiveStatistics {
  readonly framesPerSecond: number;
  readonly received: number;
  readonly dropped: number;
  readonly delayMs: number;
  readonly bytesPerSecond: number;
}

export interface LiveHandlers {
  onState(state: LiveState): void;
  /** Draws a frame; the frame is acknowledged when the promise resolves. */
  onFrame(frame: LiveFrame): Promise<void>;
  onStatistics(statistics: LiveStatistics): void;
}

// The server sends a heartbeat every 3 s. A connection that was cut without a word, or slept through, stays open in the browser.
const MAX_SILENCE_MS = 9_000;
const SILENCE_CHECK_MS = 1_000;
const RETRY_MS = 1_000;
/** Longest time between two attempts: a server that is away for long is not asked each second. */
const MAX_RETRY_MS = 10_000;

export function parseLiveMessage(data: ArrayBuffer): LiveFrame | undefined {
  if (data.byteLength < 4) return undefined;
  const length = new DataView(data).getUint32(0);
  if (4 + length > data.byteLength) return undefined;
  try {
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as LiveHeader;
    const type = header.format.includes("/") ? header.format : `image/${header.format}`;
    return { header, image: new Blob([new Uint8Array(data, 4 + length)], { type }) };
  } catch {
    return undefined;
  }
}

/** Opens the live screen of `desktops/…`, or of `tasks/…`, which all who may see the task see; it is opened again whenever it is lost. */
export function openLive(source: string, size: { width: number; height: number }, handlers: LiveHandlers): LiveConnection {
  let closed = false;
  let current = size;
  let socket: WebSocket | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let watchdog: ReturnType<typeof setInterval> | undefined;
  let pause = RETRY_MS;
  const meter = new Meter();
  const report = setInterval(() => handlers.onStatistics(meter.read()), 1_000);
  const tell = (target: WebSocket | undefined, message: unknown): void => {
    if (target?.readyState === WebSocket.OPEN) target.send(JSON.stringify(message));
  };

  const connect = (): void => {
    handlers.onState({ kind: "connecting" });
    const opened = new WebSocket(liveAddress(source, current));
    let refusal: Problem | undefined;
    let heardAt = Date.now();
    socket = opened;
    const ended = (): void => {
      clearInterval(watchdog);
      if (closed) return;
      if (refusal) {
        handlers.onState({ kind: "refused", problem: refusal });
        return;
      }
      handlers.onState({ kind: "lost" });
      retry = setTimeout(connect, pause);
      pause = Math.min(2 * pause, MAX_RETRY_MS);
    };
    opened.binaryType = "arraybuffer";
    opened.onopen = () => handlers.onState({ kind: "open" });
    opened.onmessage = (message: MessageEvent<unknown>) => {
      pause = RETRY_MS;
      heardAt = Date.now();
      if (typeof message.data === "string") {
        refusal = refusalOf(message.data);
        const state = parseLiveState(message.data);
        if (state) handlers.onState(state);
        return;
      }
      if (!(message.data instanceof ArrayBuffer)) return;
      const frame = parseLiveMessage(message.data);
      if (!frame) return;
      meter.count(frame.header, message.data.byteLength);
      void handlers.onFrame(frame).catch(() => {}).then(() => tell(opened, { ack: frame.header.index }));
    };
    clearInterval(watchdog);
    watchdog = setInterval(() => {
      if (Date.now() - heardAt < MAX_SILENCE_MS) return;
      // Closing waits for the other end, which may never answer.
      opened.onmessage = opened.onopen = opened.onclose = null;
      opened.close();
      ended();
    }, SILENCE_CHECK_MS);
    opened.onclose = ended;
  };
  connect();

  return {
    resize: (width, height) => {
      if (width === current.width && height === current.height) return;
      current = { width, height };
      tell(socket, current);
    },
    close: () => {
      closed = true;
      clearTimeout(retry);
      clearInterval(watchdog);
      clearInterval(report);
      socket?.close();
    },
  };
}

function liveAddress(source: string, { width, height }: { width: number; height: number }): string {
  const id = encodeURIComponent(source.replace(/^\w+\//, ""));
  const path = source.startsWith("tasks/") ? `/api/live/tasks/${id}` : `/api/desktops/${id}/live`;
  return socketAddress(`${path}?width=${width}&height=${height}`);
}

/** Returns the answer of a server that does not show the desktop; undefined if it may do so later. */
function refusalOf(text: string): Problem | undefined {
  const failure = parseServerError(text);
  const problem = failure && problemOf(failure);
  // A desktop that is busy or not registered yet may be there soon.
  return problem && isRefusal(problem) && !["busy", "notFound", "wrongState"].includes(problem.kind) ? problem : undefined;
}

function parseLiveState(text: string): LiveState | undefined {
  try {
    const message = JSON.parse(text) as { readonly state?: string; readonly reason?: string };
    if (message.state === "waiting") return { kind: "waiting", reason: message.reason ?? "" };
    return message.state === "streaming" ? { kind: "open" } : undefined;
  } catch {
    return undefined;
  }
}

/** Counts over the last second. */
class Meter {
  private recent: { readonly at: number; readonly bytes: number }[] = [];
  private received = 0;
  private dropped = 0;
  private lastIndex: number | undefined;
  private delayMs = 0;

  count(header: LiveHeader, bytes: number): void {
    const now = Date.now();
    this.received += 1;
    this.recent.push({ at: now, bytes });
    if (this.lastIndex !== undefined && header.index > this.lastIndex + 1) this.dropped += header.index - this.lastIndex - 1;
    this.lastIndex = header.index;
    // Clocks of two machines differ; a negative delay says nothing.
    this.delayMs = Math.max(0, now - Date.parse(header.time));
  }

  read(): LiveStatistics {
    const now = Date.now();
    this.recent = this.recent.filter((frame) => now - frame.at <= 1_000);
    return {
      framesPerSecond: this.recent.length,
      received: this.received,
      dropped: this.dropped,
      delayMs: this.delayMs,
      bytesPerSecond: this.recent.reduce((sum, frame) => sum + frame.bytes, 0),
    };
  }
}
