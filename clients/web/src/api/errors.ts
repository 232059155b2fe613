/**
 * Failures of calls, in the form that the page shows: a stable key for the sentence in the user's language, and the
 * server's own words as detail.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { BinaryReader } from "@bufbuild/protobuf/wire";

export type ProblemKind =
  | "offline" | "signedOut" | "denied" | "notFound" | "ended" | "decided" | "wrongState" | "invalid" | "tooLarge" | "busy" | "timeout"
  | "unsupported" | "unreadable" | "secondPerson" | "server";

export interface Problem {
  readonly kind: ProblemKind;
  readonly reason: string;
  readonly detail: string;
}

/** A failure that the gateway tells over a WebSocket. */
export class ServerError extends ConnectError {
  constructor(message: string, code: Code, readonly reason: string) {
    super(message, code);
  }
}

export function problemOf(error: unknown): Problem {
  if (error instanceof UploadError) return { kind: error.kind, reason: "", detail: error.message };
  const failure = ConnectError.from(error);
  const reason = reasonOf(failure);
  return { kind: kindOf(failure, reason), reason, detail: failure.rawMessage };
}

function kindOf(failure: ConnectError, reason: string): ProblemKind {
  if (reason === "TASK_ENDED") return "ended";
  if (reason === "APPROVAL_ENDED") return "decided";
  if (reason === "MESSAGE_TOO_LARGE") return "tooLarge";
  if (reason === "SECOND_PERSON_REQUIRED") return "secondPerson";
  // A call that never reached the server is reported as Unknown or Internal with the browser's own message.
  if (reason === "" && failure.cause instanceof TypeError) return "offline";
  switch (failure.code) {
    case Code.Unavailable: return "offline";
    case Code.Unauthenticated: return "signedOut";
    case Code.PermissionDenied: return "denied";
    case Code.NotFound: return "notFound";
    case Code.FailedPrecondition: return "wrongState";
    case Code.InvalidArgument: case Code.OutOfRange: case Code.AlreadyExists: return "invalid";
    case Code.ResourceExhausted: return "busy";
    case Code.DeadlineExceeded: return "timeout";
    case Code.Unimplemented: return "unsupported";
    default: return "server";
  }
}

/** `reason` of the error's `google.rpc.ErrorInfo`, or an empty string. Read by hand: the page needs one field of it. */
function reasonOf(failure: ConnectError): string {
  // Not `instanceof`: every ConnectError counts as an instance of the classes below it.
  if ("reason" in failure && typeof failure.reason === "string") return failure.reason;
  for (const detail of failure.details) {
    if (!("type" in detail) || detail.type !== "google.rpc.ErrorInfo" || !("value" in detail)) continue;
    const value: unknown = detail.value;
    if (!(value instanceof Uint8Array)) continue;
    const reader = new BinaryReader(value);
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag();
      if (field === 1) return reader.string();
      reader.skip(wireType);
    }
  }
  return "";
}

// Failures of a connection or in the middle of a call: the server may have carried it out all the same.
const UNCERTAIN: ReadonlySet<ProblemKind> = new Set(["offline", "timeout", "server"]);

/** True if the server has answered that it does not do it. */
export function isRefusal(problem: Problem): boolean {
  return !UNCERTAIN.has(problem.kind);
}

export function isAborted(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Canceled;
}

/** A file that cannot be given to a task. */
export class UploadError extends Error {
  constructor(readonly kind: ProblemKind, message: string) {
    super(message);
  }
}
