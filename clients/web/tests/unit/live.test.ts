import { expect, test } from "vitest";
import { parseLiveMessage } from "@/api/live.ts";

function message(header: string, image: number[], length = new TextEncoder().encode(header).length): ArrayBuffer {
  const text = new TextEncoder().encode(header);
  const bytes = new Uint8Array(4 + text.length + image.length);
  new DataView(bytes.buffer).setUint32(0, length);
  bytes.set(text, 4);
  bytes.set(image, 4 + text.length);
  return bytes.buffer;
}

test("a frame has its header and its image", async () => {
  const frame = parseLiveMessage(message('{"index":17,"format":"jpeg"}', [1, 2, 3]));
  expect(frame?.header.index).toBe(17);
  expect(frame?.image.type).toBe("image/jpeg");
  expect(new Uint8Array(await frame!.image.arrayBuffer())).toEqual(new Uint8Array([1, 2, 3]));
});

test.each([
  ["an empty message", new ArrayBuffer(0)],
  ["a length beyond the end", message("{}", [], 4_000_000_000)],
  ["a header that is no JSON", message("<html>", [1])],
])("%s is skipped", (_, data) => {
  expect(parseLiveMessage(data)).toBeUndefined();
});
