/** The rules of a policy as a person reads them: in groups by what they do, the strictest first. */
import type { PolicyRule } from "@gen/orchestrator/v1/policy_pb.ts";
import { PolicyRule_Effect as Effect } from "@gen/orchestrator/v1/policy_pb.ts";

export { Effect };

export interface RuleGroup {
  readonly effect: Effect;
  readonly rules: readonly PolicyRule[];
}

const ORDER: readonly Effect[] = [Effect.DENY, Effect.REQUIRE_APPROVAL, Effect.SECOND_PERSON, Effect.VERIFY_POINTER, Effect.PERMIT, Effect.UNSPECIFIED];

/** Groups the rules by their strictest effect. Within a group they stay in the order of the policy. */
export function groupsOf(rules: readonly PolicyRule[]): RuleGroup[] {
  const groups = ORDER.map((effect) => ({ effect, rules: rules.filter((rule) => strictestOf(rule) === effect) }));
  return groups.filter((group) => group.rules.length > 0);
}

/** An effect that this page does not know yet is shown as such, and never left out. */
function strictestOf(rule: PolicyRule): Effect {
  return ORDER.find((effect) => rule.effects.includes(effect)) ?? Effect.UNSPECIFIED;
}

/** A rule's reason in a language. */
export function reasonOf(rule: PolicyRule, language: "en" | "zh"): string {
  return language === "zh" ? rule.becauseZh : rule.because;
}
