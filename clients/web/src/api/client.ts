/** The Orchestrator behind the gateway that served this page: gRPC-Web at the same origin, with the session cookie. */
import { createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { OrchestratorService } from "@gen/orchestrator/v1/orchestrator_service_pb.ts";

export const orchestrator = createClient(
  OrchestratorService,
  createGrpcWebTransport({ baseUrl: window.location.origin, fetch: (input, init) => fetch(input, { ...init, credentials: "same-origin" }) }),
);

/** A new id for each thing that the user wants, so that a repeated call does it once. */
export function requestId(): string {
  // `crypto.randomUUID` exists only in secure contexts; a page over plain HTTP from another machine is none.
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Address of a stored image or file. The name goes into the path segment by segment, so it cannot leave the folder. */
export function artifactUrl(name: string): string {
  return `/api/artifacts/${name.split("/").map(encodeURIComponent).join("/")}`;
}
