import { useEffect, useRef, type ReactNode } from "react";
import type { Policy, PolicyRule } from "@gen/orchestrator/v1/policy_pb.ts";
import { Badge } from "@/components/ui/badge.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { formatDuration } from "@/lib/format.ts";
import type { Tone } from "@/model/actions.ts";
import { Effect, groupsOf, reasonOf } from "@/model/policy.ts";
import { readPolicy, usePolicy } from "@/store/policy.ts";
import { useSettings } from "@/store/settings.ts";
import { Page } from "./page.tsx";
import { PolicyTrialForm } from "./policy-trial.tsx";

// Enough digits of the hash to tell two versions apart.
const VERSION_DIGITS = 12;

const EFFECTS: Record<Effect, { readonly key: Key; readonly tone: Tone }> = {
  [Effect.UNSPECIFIED]: { key: "policy.unknown", tone: "neutral" },
  [Effect.PERMIT]: { key: "policy.permit", tone: "good" },
  [Effect.REQUIRE_APPROVAL]: { key: "policy.requireApproval", tone: "unsure" },
  [Effect.SECOND_PERSON]: { key: "policy.secondPerson", tone: "unsure" },
  [Effect.VERIFY_POINTER]: { key: "policy.verifyPointer", tone: "active" },
  [Effect.DENY]: { key: "policy.deny", tone: "bad" },
};

/** The policy that decides about actions, rule by rule. One rule may be pointed out: the one that asked for an approval. */
export function PolicyView({ rule }: { readonly rule: string | undefined }): ReactNode {
  const t = useText();
  const { policy, problem } = usePolicy();
  useEffect(() => void readPolicy(), []);
  return (
    <Page title={t("policy")} text={t("policy.text")}>
      {problem && <ProblemNotice problem={problem} className="mb-4" onRetry={() => void readPolicy()} />}
      {policy && <Facts policy={policy} />}
      {policy && <PolicyTrialForm />}
      {policy && groupsOf(policy.rules).map(({ effect, rules }) => (
        <section key={effect} aria-labelledby={`effect-${effect}`} className="mt-8">
          <h2 id={`effect-${effect}`} className="mb-2 text-sm font-semibold">{t(EFFECTS[effect].key)}</h2>
          <ul className="divide-y overflow-hidden rounded-2xl border bg-card shadow-card">
            {rules.map((one) => <Rule key={one.id} rule={one} group={effect} shown={one.id === rule} />)}
          </ul>
        </section>
      ))}
    </Page>
  );
}

function Facts({ policy }: { readonly policy: Policy }): ReactNode {
  const t = useText();
  const facts: readonly (readonly [Key, ReactNode])[] = [
    ["policy.source", t(policy.builtIn ? "policy.builtIn" : "policy.file", { name: policy.name })],
    ["policy.version", <span className="font-mono text-[0.8125rem]" title={policy.version}>{policy.version.slice(0, VERSION_DIGITS)}</span>],
    ["policy.timeout", policy.approvalTimeout ? formatDuration(Number(policy.approvalTimeout.seconds) * 1000) : "–"],
    ["policy.words", t(policy.ownLexicon ? "policy.ownLexicon" : "policy.builtInLexicon")],
  ];
  return (
    <>
      <dl className="grid grid-cols-[repeat(auto-fit,minmax(9rem,1fr))] gap-x-6 gap-y-4 rounded-2xl border bg-card px-4 py-3.5 shadow-card">
        {facts.map(([key, value]) => (
          <div key={key} className="min-w-0">
            <dt className="text-xs text-muted-foreground">{t(key)}</dt>
            <dd className="mt-0.5 text-sm font-medium wrap-anywhere">{value}</dd>
          </div>
        ))}
      </dl>
      {policy.secondPerson && <p className="mt-3 rounded-xl bg-warning-soft px-3.5 py-2.5 text-sm text-warning">{t("policy.everySecondPerson")}</p>}
    </>
  );
}

function Rule({ rule, group, shown }: { readonly rule: PolicyRule; readonly group: Effect; readonly shown: boolean }): ReactNode {
  const t = useText();
  const language = useSettings((state) => state.language);
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (shown) item.current?.scrollIntoView({ block: "center" });
  }, [shown]);
  const further = rule.effects.filter((effect) => effect !== group);
  return (
    <li ref={item} aria-current={shown ? "true" : undefined} className={cn("px-4 py-3", shown && "bg-accent/60")}>
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <p className="min-w-0 text-sm font-medium wrap-anywhere first-letter:uppercase">{reasonOf(rule, language)}</p>
        {shown && <Badge tone="active">{t("policy.asked")}</Badge>}
        {further.map((effect) => <Badge key={effect} tone={EFFECTS[effect]?.tone}>{t(EFFECTS[effect]?.key ?? "policy.unknown")}</Badge>)}
      </div>
      <details className="mt-1 text-xs text-muted-foreground" open={shown}>
        <summary className="w-fit max-w-full rounded font-mono select-none wrap-anywhere hover:text-foreground">{rule.id}</summary>
        {/* The text has the reasons as well, which stand above; long lines scroll. */}
        <pre tabIndex={0} aria-label={t("policy.ruleText", { rule: rule.id })} className="mt-2 overflow-x-auto rounded-lg bg-muted px-3 py-2.5 font-mono text-xs leading-5 text-foreground">{rule.text}</pre>
      </details>
    </li>
  );
}
