/** Tasks that no desktop makes at will: long ones, hostile ones. Their events are given to the page in place of the server's. */
import { create, toBinary } from "@bufbuild/protobuf";
import { WatchTaskResponseSchema } from "@gen/orchestrator/v1/orchestrator_service_pb.ts";
import type { Page } from "playwright-core";
import type { Log } from "../unit/events.ts";

/** Answers the watch of `tasks/t` with the log, in the format of gRPC-Web; of an ended task the stream ends. */
export async function replay(page: Page, log: Log): Promise<void> {
  const frames = log.events.map((event) => frame(0, toBinary(WatchTaskResponseSchema, create(WatchTaskResponseSchema, {
    resumeToken: String(event.sequence), content: { case: "event", value: event },
  }))));
  const trailers = frame(0x80, new TextEncoder().encode("grpc-status: 0\r\n"));
  const body = Buffer.concat([...frames, trailers]);
  await page.route("**/motorium.orchestrator.v1.OrchestratorService/WatchTask", (route) =>
    route.fulfill({ status: 200, headers: { "content-type": "application/grpc-web+proto" }, body }));
  // A grey image for every screenshot.
  await page.route("**/api/artifacts/tasks/t/**", (route) => route.fulfill({ status: 200, contentType: "image/png", body: PIXEL }));
}

function frame(flags: number, message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mOsr6//DwAFhAKAWJ1lvwAAAABJRU5ErkJggg==", "base64");
