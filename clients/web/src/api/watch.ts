/**
 * Watches the events of a task or of a session, across lost connections and restarts of the server.
 *
 * Every message carries a token; a watch resumes behind the last one, so that no event is lost or repeated. A connection
 * that is silent for longer than heartbeats allow counts as lost (a network that was cut does not close anything), and a
 * page that wakes up from sleep checks at once.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@gen/orchestrator/v1/event_pb.ts";
import { WatchSessionResponseSchema, WatchTaskResponseSchema } from "@gen/orchestrator/v1/orchestrator_service_pb.ts";
import { problemOf, type Problem } from "./errors.ts";
import { binaryMessages } from "./socket.ts";

export type LinkState =
  | { readonly kind: "connecting" }
  | { readonly kind: "open" }
  | { readonly kind: "lost"; readonly since: number; readonly retryAt: number; readonly problem: Problem }
  | { readonly kind: "failed"; readonly problem: Problem };

export interface WatchHandlers {
  onEvent(event: Event, missedBefore: number | undefined): void;
  onLink(state: LinkState): void;
  /** The events have to be read again from the beginning: forget all that were received. */
  onRestart(): void;
}

// The server sends a heartbeat every 15 s (HEARTBEAT_INTERVAL of proto/src/limits.rs): two are missing, and the third is late.
export const SILENCE_MS = 35_000;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 4_000;

interface Message {
  readonly resumeToken: string;
  readonly content: { readonly case: string | undefined; readonly value?: unknown };
}

type Open = (resumeToken: string, signal: AbortSignal) => AsyncIterable<Message>;

/** Starts a watch and returns the function that ends it. */
export function watch(name: string, handlers: WatchHandlers): () => void {
  const schema = name.startsWith("sessions/") ? WatchSessionResponseSchema : WatchTaskResponseSchema;
  const open: Open = async function* (resumeToken, signal) {
    const path = `/api/watch/${name.split("/").map(encodeURIComponent).join("/")}`;
    const query = new URLSearchParams({ resume_token: resumeToken });
    for await (const message of binaryMessages(`${path}?${query}`, signal)) yield fromBinary<typeof schema>(schema, message);
  };
  const watcher = new Watcher(open, handlers);
  void watcher.run();
  return () => watcher.stop();
}

class Watcher {
  private token = "";
  private stopped = false;
  private lostAt: number | undefined;
  private lastMessageAt = Date.now();
  private attempt = new AbortController();
  private wake: () => void = () => {};

  constructor(private readonly open: Open, private readonly handlers: WatchHandlers) {
    window.addEventListener("online", this.hurry);
    document.addEventListener("visibilitychange", this.hurry);
  }

  stop(): void {
    this.stopped = true;
    window.removeEventListener("online", this.hurry);
    document.removeEventListener("visibilitychange", this.hurry);
    this.attempt.abort();
    this.wake();
  }

  /** After sleep or a change of network: retries now, and drops a connection that has been silent for too long. */
  private readonly hurry = (): void => {
    if (document.visibilityState === "hidden") return;
    if (Date.now() - this.lastMessageAt > SILENCE_MS) this.attempt.abort();
    this.wake();
  };

  async run(): Promise<void> {
    this.handlers.onLink({ kind: "connecting" });
    let pause = FIRST_RETRY_MS;
    while (!this.stopped) {
      const before = this.lastMessageAt;
      const failure = await this.connect();
      if (this.stopped) return;
      if (this.lastMessageAt !== before) pause = FIRST_RETRY_MS;
      const problem = problemOf(failure ?? new ConnectError("the stream ended", Code.Unavailable));
      if (problem.reason === "RESUME_TOKEN_EXPIRED" || problem.reason === "RESUME_TOKEN_INVALID") {
        this.token = "";
        this.handlers.onRestart();
        continue;
      }
      if (problem.kind === "notFound" || problem.kind === "signedOut" || problem.kind === "denied") {
        this.handlers.onLink({ kind: "failed", problem });
        return;
      }
      this.lostAt ??= Date.now();
      // Spread, so that many pages do not all come back at the same moment.
      const wait = pause * (0.75 + Math.random() / 2);
      this.handlers.onLink({ kind: "lost", since: this.lostAt, retryAt: Date.now() + wait, problem });
      await this.sleep(wait);
      pause = Math.min(pause * 2, LAST_RETRY_MS);
    }
  }

  /** Reads one connection to its end and returns the failure, if there was one. */
  private async connect(): Promise<unknown> {
    const attempt = new AbortController();
    this.attempt = attempt;
    let silence: ReturnType<typeof setTimeout> | undefined;
    const expect = (): void => {
      clearTimeout(silence);
      silence = setTimeout(() => attempt.abort(), SILENCE_MS);
    };
    try {
      expect();
      let missedBefore: number | undefined;
      let first = true;
      const isContinued = this.token !== "";
      for await (const message of this.open(this.token, attempt.signal)) {
        expect();
        this.lastMessageAt = Date.now();
        this.token = message.resumeToken;
        if (first) {
          first = false;
          // Without a token everything is sent again, and nothing of it was missed.
          if (this.lostAt !== undefined && isContinued) missedBefore = Date.now();
          this.lostAt = undefined;
          this.handlers.onLink({ kind: "open" });
        }
        if (message.content.case === "event") {
          this.handlers.onEvent(message.content.value as Event, missedBefore);
        }
      }
      return undefined;
    } catch (error) {
      return error;
    } finally {
      clearTimeout(silence);
    }
  }

  private sleep(duration: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, duration);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
