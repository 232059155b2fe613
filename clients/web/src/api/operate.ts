/**
 * Mouse and keyboard for the desktop of a task that the user has taken over, over a WebSocket. The server performs inputs one
 * at a time and answers each with its outcome. Nothing is sent twice: what a lost connection swallowed, the user sees and repeats.
 */
import { create, fromBinary, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import type { ActionSchema } from "@gen/common/v1/action_pb.ts";
import { ActionResult } from "@gen/common/v1/action_pb.ts";
import { OperateDesktopResponseSchema, OperatorInputSchema, type OperatorInputOutcome } from "@gen/orchestrator/v1/orchestrator_service_pb.ts";
import { problemOf, type Problem } from "./errors.ts";
import { parseServerError, socketAddress } from "./socket.ts";

export type OperationState =
  | { readonly kind: "connecting" | "open" | "lost" }
  /** Another person has the desktop, or it was handed back. */
  | { readonly kind: "refused"; readonly problem: Problem };

export type Input = NonNullable<MessageInitShape<typeof ActionSchema>["action"]>;

export interface OperationHandlers {
  onState(state: OperationState): void;
  /** Time from an input to its outcome. */
  onLatency(milliseconds: number): void;
  /** The desktop did not take an input, with the server's words. */
  onFailure(detail: string): void;
}

export interface Operation {
  /** Sends an input behind all earlier ones. */
  send(input: Input): void;
  /** Moves the pointer. Of several movements, the desktop gets the last: it follows the hand instead of its past. */
  move(x: number, y: number): void;
  /**
   * Asks for the text of the desktop's clipboard, behind all earlier inputs. Rejects with `ClipboardWithheld` if the text stays there.
   * After the keys of a copy it waits until a program has copied something, and returns an empty text if none has.
   */
  copiedText(after?: "keys"): Promise<string>;
  /** True while several inputs have no outcome yet. Repetitions of a held key are left out then. */
  isBehind(): boolean;
  close(): void;
}

/** The text of the clipboard may be a secret, or is too long. */
export class ClipboardWithheld extends Error {}

const RETRY_MS = 1_000;
// The gateway refuses more; a desktop that far behind follows no hand.
const MAX_WAITING = 200;
// A busy application may take its time to copy. What it copies later is fetched with the button.
const COPY_LIMIT_MS = 2_000;
const COPY_POLL_MS = 60;

/** Opens the way to the desktop. A lost connection is opened again; a refusal is final. */
export function operate(task: string, handlers: OperationHandlers): Operation {
  let socket: WebSocket | undefined;
  let closed = false;
  let opened = false;
  let refusal: Problem | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let sequence = 0n;
  const sentAt = new Map<bigint, number>();
  const copies = new Map<bigint, PromiseWithResolvers<string | undefined>>();
  let nextMove: { readonly x: number; readonly y: number } | undefined;

  const transmit = (input: { readonly action: { readonly action: Input } } | { readonly readClipboard: true; readonly onlyIfCopied: boolean }): boolean => {
    if (socket?.readyState !== WebSocket.OPEN || !opened || sentAt.size >= MAX_WAITING) return false;
    sequence += 1n;
    sentAt.set(sequence, performance.now());
    socket.send(toBinary(OperatorInputSchema, create(OperatorInputSchema, { ...input, sequence })));
    return true;
  };
  const perform = (input: Input): boolean => transmit({ action: { action: input } });
  const flushMove = (): void => {
    if (nextMove === undefined) return;
    perform({ case: "move", value: { to: pointAt(nextMove.x, nextMove.y) } });
    nextMove = undefined;
  };
  const receive = (message: Uint8Array): void => {
    const { part } = fromBinary(OperateDesktopResponseSchema, message);
    if (part.case === "task") {
      opened = true;
      handlers.onState({ kind: "open" });
    }
    if (part.case !== "outcome") return;
    const began = sentAt.get(part.value.sequence);
    sentAt.delete(part.value.sequence);
    if (began !== undefined) handlers.onLatency(performance.now() - began);
    const outcome = part.value.outcome;
    const copy = copies.get(part.value.sequence);
    copies.delete(part.value.sequence);
    if (copy !== undefined) settle(copy, part.value);
    else if (outcome !== undefined && outcome.result !== ActionResult.PERFORMED) handlers.onFailure(outcome.detail);
    if (sentAt.size === 0) flushMove();
  };
  const connect = (): void => {
    handlers.onState({ kind: "connecting" });
    const connection = new WebSocket(socketAddress(`/api/operate/${task.split("/").map(encodeURIComponent).join("/")}`));
    socket = connection;
    connection.binaryType = "arraybuffer";
    connection.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (data instanceof ArrayBuffer) receive(new Uint8Array(data));
      else if (typeof data === "string") {
        const error = parseServerError(data);
        if (error !== undefined) refusal = problemOf(error);
      }
    };
    connection.onclose = () => {
      opened = false;
      sentAt.clear();
      copies.forEach((copy) => copy.reject(new Error("")));
      copies.clear();
      nextMove = undefined;
      if (closed) return;
      if (refusal !== undefined && refusal.kind !== "offline") {
        handlers.onState({ kind: "refused", problem: refusal });
        return;
      }
      refusal = undefined;
      handlers.onState({ kind: "lost" });
      retry = setTimeout(connect, RETRY_MS);
    };
  };
  connect();

  return {
    send: (input) => {
      // In the order of the hand: a click happens where the pointer has come to.
      flushMove();
      perform(input);
    },
    copiedText: async (after) => {
      const limit = performance.now() + COPY_LIMIT_MS;
      for (;;) {
        flushMove();
        const copy = Promise.withResolvers<string | undefined>();
        if (transmit({ readClipboard: true, onlyIfCopied: after === "keys" })) copies.set(sequence, copy);
        else copy.reject(new Error(""));
        const text = await copy.promise;
        if (text !== undefined) return text;
        if (performance.now() > limit) return "";
        await new Promise((resolve) => setTimeout(resolve, COPY_POLL_MS));
      }
    },
    move: (x, y) => {
      nextMove = { x, y };
      if (sentAt.size === 0) flushMove();
    },
    isBehind: () => sentAt.size > 2,
    close: () => {
      closed = true;
      clearTimeout(retry);
      socket?.close();
    },
  };
}

function settle(copy: PromiseWithResolvers<string | undefined>, { clipboardText, outcome }: OperatorInputOutcome): void {
  // Nothing has been copied yet.
  if (clipboardText !== undefined || outcome?.result === ActionResult.PERFORMED) copy.resolve(clipboardText);
  else copy.reject(outcome?.result === ActionResult.REFUSED ? new ClipboardWithheld(outcome.detail) : new Error(outcome?.detail));
}

/** A target at a point of the screen. */
export function pointAt(x: number, y: number): { readonly target: { readonly case: "point"; readonly value: { readonly x: number; readonly y: number } } } {
  return { target: { case: "point", value: { x, y } } };
}
