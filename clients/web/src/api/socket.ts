/**
 * WebSockets of the gateway. Browsers open six other connections to a host, over all tabs, so that streams which stay open
 * have to be WebSockets.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { ServerError } from "./errors.ts";
import { isSignedOut } from "./session.ts";

const NORMAL_CLOSURE = 1000;

/** Address of a WebSocket of the gateway that served this page. */
export function socketAddress(path: string): string {
  const scheme = window.location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${window.location.host}${path}`;
}

/** Returns the failure that the gateway sends as a text before it closes a WebSocket. */
export function parseServerError(text: string): ServerError | undefined {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly code?: number; readonly reason?: string; readonly message?: string } };
    if (error === undefined) return undefined;
    return new ServerError(error.message ?? "", error.code ?? Code.Unknown, error.reason ?? "");
  } catch {
    return undefined;
  }
}

/** Reads the binary messages of a WebSocket to its end. Fails if it ends otherwise than normally, or is aborted. */
export async function* binaryMessages(path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const received: Uint8Array[] = [];
  let end: { readonly failure: unknown } | undefined;
  let wake = (): void => {};
  const finish = (failure: unknown): void => {
    end ??= { failure };
    wake();
  };
  const socket = new WebSocket(socketAddress(path));
  socket.binaryType = "arraybuffer";
  let opened = false;
  let failure: ServerError | undefined;
  socket.onopen = () => (opened = true);
  socket.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (typeof data === "string") failure = parseServerError(data);
    if (!(data instanceof ArrayBuffer)) return;
    received.push(new Uint8Array(data));
    wake();
  };
  socket.onclose = ({ code }) => {
    if (failure !== undefined) finish(failure);
    else if (code === NORMAL_CLOSURE) finish(undefined);
    else if (opened) finish(new ConnectError("the connection was lost", Code.Unavailable));
    else void refusal().then(finish);
  };
  const abort = (): void => finish(new ConnectError("aborted", Code.Canceled));
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  try {
    for (;;) {
      const message = received.shift();
      if (message !== undefined) yield message;
      else if (end === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else break;
    }
    if (end.failure !== undefined) throw end.failure;
  } finally {
    signal.removeEventListener("abort", abort);
    socket.onmessage = socket.onclose = null;
    socket.close();
  }
}

/** A browser does not tell a page why a WebSocket was refused: the session may have ended, or the server may be gone. */
async function refusal(): Promise<ConnectError> {
  return (await isSignedOut())
    ? new ConnectError("log in first", Code.Unauthenticated)
    : new ConnectError("the server cannot be reached", Code.Unavailable);
}
