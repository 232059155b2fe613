/** Downloads: the trajectory of a task as a tar archive, the transcript of a session as Markdown. */
import { ExportSessionRequest_Format as Format } from "@gen/orchestrator/v1/orchestrator_service_pb.ts";
import { orchestrator } from "./client.ts";

export async function downloadTrajectory(task: string): Promise<void> {
  await save(orchestrator.exportTrajectory({ name: task }), `${lastSegment(task)}.tar`, "application/x-tar");
}

export async function downloadTranscript(session: string): Promise<void> {
  await save(orchestrator.exportSession({ name: session, format: Format.MARKDOWN }), `${lastSegment(session)}.md`, "text/markdown");
}

async function save(parts: AsyncIterable<{ chunk: Uint8Array }>, fileName: string, type: string): Promise<void> {
  const chunks: BlobPart[] = [];
  for await (const part of parts) chunks.push(new Uint8Array(part.chunk));
  const url = URL.createObjectURL(new Blob(chunks, { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  // The download has begun by then; the browser keeps the data until it ends.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}
