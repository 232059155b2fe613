/**
 * Files that the user gives to a task. Small ones travel in the request; larger ones are uploaded to the gateway first,
 * because a browser cannot stream to gRPC.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AttachmentSchema } from "@gen/orchestrator/v1/task_pb.ts";
import { UploadError, type ProblemKind } from "./errors.ts";

export type AttachmentInit = MessageInitShape<typeof AttachmentSchema>;

/** Largest file that travels in the request, and largest that the Orchestrator takes. */
export const INLINE_LIMIT_BYTES = 1024 * 1024;
export const UPLOAD_LIMIT_BYTES = 64 * 1024 * 1024;
// All files of one request together: the limit of a gRPC message is 4 MiB.
const INLINE_TOTAL_BYTES = 3 * 1024 * 1024;

/** Bytes that have left this browser, of the files that are uploaded. */
export interface UploadProgress {
  readonly sent: number;
  readonly total: number;
}

/** Reads or uploads files, in their order. Throws a `CancelledUpload` once the signal is aborted. */
export async function attach(
  files: readonly File[], onProgress: (progress: UploadProgress) => void, signal: AbortSignal,
): Promise<AttachmentInit[]> {
  const { inline, uploaded } = divide(files);
  const total = [...uploaded].reduce((sum, file) => sum + file.size, 0);
  let before = 0;
  const attachments: AttachmentInit[] = [];
  for (const file of files) {
    if (signal.aborted) throw new CancelledUpload();
    if (inline.has(file)) {
      attachments.push({ name: file.name, data: await contentOf(file) });
      continue;
    }
    onProgress({ sent: before, total });
    const upload = await send(file, (sent) => onProgress({ sent: before + Math.min(sent, file.size), total }), signal);
    attachments.push({ name: file.name, upload });
    before += file.size;
  }
  if (signal.aborted) throw new CancelledUpload();
  return attachments;
}

/** Divides files into those that travel in the request, as long as there is room, and those that are uploaded. */
function divide(files: readonly File[]): { readonly inline: ReadonlySet<File>; readonly uploaded: ReadonlySet<File> } {
  const inline = new Set<File>();
  const uploaded = new Set<File>();
  let room = INLINE_TOTAL_BYTES;
  for (const file of files) {
    if (file.size <= INLINE_LIMIT_BYTES && file.size <= room) {
      room -= file.size;
      inline.add(file);
    } else {
      uploaded.add(file);
    }
  }
  return { inline, uploaded };
}

/** Reads a file, which may have been moved or changed since it was chosen. */
async function contentOf(file: File): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new UploadError("unreadable", file.name);
  }
}

/** Uploads a file. Not with `fetch`, which does not tell how much has been sent. */
function send(file: File, onSent: (bytes: number) => void, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (kind: ProblemKind, words: string): void => reject(new UploadError(kind, `${file.name}: ${words}`));
    request.upload.onprogress = ({ loaded }) => onSent(loaded);
    request.onload = () => {
      const { upload, words } = answerOf(request);
      if (upload === undefined) fail(KINDS[request.status] ?? "server", words);
      else resolve(upload);
    };
    request.onerror = () => fail("offline", "the connection was lost");
    request.onabort = () => reject(new CancelledUpload());
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.open("POST", "/api/uploads");
    request.setRequestHeader("content-type", "application/octet-stream");
    if (signal.aborted) reject(new CancelledUpload());
    else request.send(file);
  });
}

/** Name of the upload, or what the server says instead. */
function answerOf(request: XMLHttpRequest): { readonly upload?: string; readonly words: string } {
  const status = `${request.status} ${request.statusText}`;
  try {
    const body = JSON.parse(request.responseText) as { upload?: string; error?: { message?: string } };
    const words = body.error?.message ?? status;
    return request.status === 200 && body.upload ? { upload: body.upload, words } : { words };
  } catch {
    return { words: status };
  }
}

/** The user has cancelled an upload. */
export class CancelledUpload extends Error {}

const KINDS: Readonly<Record<number, ProblemKind>> = { 401: "signedOut", 403: "denied", 413: "tooLarge", 429: "busy" };
