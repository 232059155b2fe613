/**
 * Files that the user gives to a task. Small ones travel in the request; larger ones are uploaded to the gateway first,
 * because a browser cannot stream to gRPC.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AttachmentSchema } from "@gen/orchestrator/v1/task_pb.ts";

export type AttachmentInit = MessageInitShape<typeof AttachmentSchema>;

/** What a request may hold, and what the Orchestrator takes at all. */
export const INLINE_LIMIT_BYTES = 1024 * 1024;
export const UPLOAD_LIMIT_BYTES = 64 * 1024 * 1024;
// All files of one request together: the limit of a gRPC message is 4 MiB.
const INLINE_TOTAL_BYTES = 3 * 1024 * 1024;

export class UploadError extends Error {
  constructor(readonly file: string, message: string) {
    super(message);
  }
}

export async function attach(files: readonly File[]): Promise<AttachmentInit[]> {
  let inline = 0;
  const attachments: AttachmentInit[] = [];
  for (const file of files) {
    if (file.size <= INLINE_LIMIT_BYTES && inline + file.size <= INLINE_TOTAL_BYTES) {
      inline += file.size;
      attachments.push({ name: file.name, data: new Uint8Array(await file.arrayBuffer()) });
    } else {
      attachments.push({ name: file.name, upload: await upload(file) });
    }
  }
  return attachments;
}

async function upload(file: File): Promise<string> {
  const response = await fetch("/api/uploads", {
    method: "POST",
    body: file,
    credentials: "same-origin",
    headers: { "content-type": "application/octet-stream" },
  });
  const body: unknown = await response.json().catch(() => ({}));
  const record = body as { upload?: string; message?: string; error?: { message?: string } };
  if (!response.ok || !record.upload) {
    throw new UploadError(file.name, record.error?.message ?? record.message ?? `${response.status} ${response.statusText}`);
  }
  return record.upload;
}
