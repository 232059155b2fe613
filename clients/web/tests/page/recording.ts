/** Tasks that no desktop makes at will: long ones, hostile ones. Their events are given to the page in place of the server's. */
import { create, toBinary } from "@bufbuild/protobuf";
import { WatchTaskResponseSchema } from "@gen/orchestrator/v1/orchestrator_service_pb.ts";
import type { Page } from "playwright-core";
import type { Log } from "../unit/events.ts";

/** Answers the watch of `tasks/t` with the log; of an ended task the stream ends. One that `stays` is not at its end. */
export async function replay(page: Page, log: Log, { stays = false } = {}): Promise<void> {
  const messages = log.events.map((event) => Buffer.from(toBinary(WatchTaskResponseSchema, create(WatchTaskResponseSchema, {
    resumeToken: String(event.sequence), content: { case: "event", value: event },
  }))));
  await page.routeWebSocket(/\/api\/watch\/tasks\/t\?/, (socket) => {
    const resumed = Number(new URL(socket.url()).searchParams.get("resume_token"));
    for (const message of messages.slice(resumed)) socket.send(message);
    if (!stays) void socket.close({ code: 1000 });
  });
  // A grey image for every screenshot.
  await page.route("**/api/artifacts/tasks/t/**", (route) => route.fulfill({ status: 200, contentType: "image/png", body: PIXEL }));
}

const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mOsr6//DwAFhAKAWJ1lvwAAAABJRU5ErkJggg==", "base64");
