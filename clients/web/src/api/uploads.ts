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

export async function attach(files: readonly File[]): Promise<AttachmentInit[]> {
  let inline = 0;
  const attachments: AttachmentInit[] = [];
  for (const file of files) {
    if (file.size <= INLINE_LIMIT_BYTES && inline + file.size <= INLINE_TOTAL_BYTES) {
      inline += file.size;
      attachments.push({ name: file.name, data: await contentOf(file) });
    } else {
      attachments.push({ name: file.name, upload: await upload(file) });
    }
  }
  return attachments;
}

/** Reads a file, which may have been moved or changed since it was chosen. */
async function contentOf(file: File): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new UploadError("unreadable", file.name);
  }
}

async function upload(file: File): Promise<string> {
  const response = await fetch("/api/uploads", {
    method: "POST",
    body: file,
    credentials: "same-origin",
    headers: { "content-type": "application/octet-stream" },
  }).catch((error: unknown) => {
    throw new UploadError("offline", `${file.name}: ${String(error)}`);
  });
  const body: unknown = await response.json().catch(() => ({}));
  const record = body as { upload?: string; message?: string; error?: { message?: string } };
  if (!response.ok || !record.upload) {
    const words = record.error?.message ?? record.message ?? `${response.status} ${response.statusText}`;
    throw new UploadError(KINDS[response.status] ?? "server", `${file.name}: ${words}`);
  }
  return record.upload;
}

const KINDS: Readonly<Record<number, ProblemKind>> = { 401: "signedOut", 403: "denied", 413: "tooLarge", 429: "busy" };
