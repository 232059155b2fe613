/** The parsed elements of a step's screen, read when the user asks for the marks. */
import { fromBinary } from "@bufbuild/protobuf";
import type { Element } from "@gen/common/v1/element_pb.ts";
import { SceneSchema } from "@gen/common/v1/element_pb.ts";
import { artifactUrl } from "./client.ts";

export async function loadScene(artifact: string, signal: AbortSignal): Promise<readonly Element[]> {
  const response = await fetch(artifactUrl(artifact), { signal, credentials: "same-origin" });
  if (!response.ok) throw new Error(`${response.status}`);
  return fromBinary(SceneSchema, new Uint8Array(await response.arrayBuffer())).elements;
}
