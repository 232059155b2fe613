import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { problemOf, ServerError } from "@/api/errors.ts";

test("a call that never reached the server is told apart from one that it refused", () => {
  expect(problemOf(new TypeError("Failed to fetch")).kind).toBe("offline");
  const sent = new ConnectError("Failed to fetch", Code.Internal, undefined, undefined, new TypeError("Failed to fetch"));
  expect(problemOf(sent)).toEqual({ kind: "offline", reason: "", detail: "Failed to fetch" });
  expect(problemOf(new ConnectError("broken", Code.Internal))).toEqual({ kind: "server", reason: "", detail: "broken" });
  expect(problemOf(new ServerError("it has ended", Code.FailedPrecondition, "TASK_ENDED")).kind).toBe("ended");
  expect(problemOf(new ServerError("another person", Code.PermissionDenied, "SECOND_PERSON_REQUIRED")).kind).toBe("secondPerson");
});
