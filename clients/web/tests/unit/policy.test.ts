import { create } from "@bufbuild/protobuf";
import { PolicyRuleSchema } from "@gen/orchestrator/v1/policy_pb.ts";
import { expect, test } from "vitest";
import { Effect, groupsOf, reasonOf } from "@/model/policy.ts";

const rule = (id: string, ...effects: Effect[]) => create(PolicyRuleSchema, { id, effects, because: `${id} because`, becauseZh: `${id} 理由` });

test("rules stand with the strictest thing that they do, and in their order", () => {
  const groups = groupsOf([
    rule("everything", Effect.PERMIT), rule("pay", Effect.REQUIRE_APPROVAL, Effect.SECOND_PERSON), rule("night", Effect.DENY),
    rule("delete", Effect.REQUIRE_APPROVAL), rule("bank", Effect.VERIFY_POINTER),
  ]);
  expect(groups.map(({ effect, rules }) => [effect, ...rules.map(({ id }) => id)])).toEqual([
    [Effect.DENY, "night"], [Effect.REQUIRE_APPROVAL, "pay", "delete"], [Effect.VERIFY_POINTER, "bank"], [Effect.PERMIT, "everything"],
  ]);
});

test("a rule whose effect this page does not know is shown", () => {
  expect(groupsOf([rule("new", 17 as Effect)])).toMatchObject([{ effect: Effect.UNSPECIFIED, rules: [{ id: "new" }] }]);
});

test("reasons are in the user's language", () => {
  expect(reasonOf(rule("pay"), "en")).toBe("pay because");
  expect(reasonOf(rule("pay"), "zh")).toBe("pay 理由");
});
