import { CircleCheck, CircleX, ShieldQuestion } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import type { PolicyTrial } from "@gen/orchestrator/v1/policy_pb.ts";
import { PolicyTrial_Decision as Decision } from "@gen/orchestrator/v1/policy_pb.ts";
import { Button } from "@/components/ui/button.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { useCommand } from "@/lib/use-command.ts";
import { reasonOf } from "@/model/policy.ts";
import { testPolicy } from "@/store/policy.ts";
import { fragmentOf } from "@/store/route.ts";
import { useSettings } from "@/store/settings.ts";

/** Tries a step against the policy: a sentence, and what is around the step. Nothing is performed. */
export function PolicyTrialForm(): ReactNode {
  const t = useText();
  const [sentence, setSentence] = useState("");
  const [application, setApplication] = useState("");
  const [url, setUrl] = useState("");
  const [texts, setTexts] = useState("");
  const [trials, setTrials] = useState<readonly PolicyTrial[]>([]);
  const trying = useCommand(async () => {
    setTrials([]);
    const surroundingTexts = texts.split("\n").map((text) => text.trim()).filter((text) => text !== "");
    setTrials(await testPolicy({ sentence: sentence.trim(), application: application.trim(), url: url.trim(), surroundingTexts }));
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (sentence.trim() !== "") trying.run();
  };
  return (
    <section aria-labelledby="policy-try" className="mt-8">
      <h2 id="policy-try" className="text-sm font-semibold">{t("try")}</h2>
      <p className="mt-0.5 mb-2 text-sm text-muted-foreground">{t("try.text")}</p>
      <form onSubmit={submit} className="space-y-3 rounded-2xl border bg-card px-4 py-4 shadow-card">
        <div className="flex flex-wrap gap-2">
          <Field label={t("try.sentence")} value={sentence} placeholder={t("try.example")} onChange={setSentence} className="min-w-56 flex-1" labelHidden />
          <Button type="submit" variant="primary" className="mt-auto" disabled={trying.busy || sentence.trim() === ""}>{t("try.submit")}</Button>
        </div>
        <details className="text-sm">
          <summary className="w-fit rounded text-[0.8125rem] text-muted-foreground select-none hover:text-foreground">{t("try.around")}</summary>
          <div className="mt-2.5 grid gap-3 sm:grid-cols-2">
            <Field label={t("try.application")} value={application} placeholder="chromium" onChange={setApplication} />
            <Field label={t("try.url")} value={url} placeholder="https://shop.example/cart" onChange={setUrl} />
            <label className="block sm:col-span-2">
              <span className="mb-1 block text-xs text-muted-foreground">{t("try.texts")}</span>
              <textarea
                rows={2} value={texts} onChange={(event) => setTexts(event.target.value)}
                className="block w-full rounded-lg border border-input bg-background px-3 py-2 text-sm"
              />
            </label>
          </div>
        </details>
        {trying.problem && <ProblemNotice problem={trying.problem} />}
        {trials.length > 0 && (
          <ul aria-label={t("try.results")} aria-live="polite" className="divide-y border-t">
            {trials.map((trial, index) => <Judged key={`${index}.${trial.step}`} trial={trial} />)}
          </ul>
        )}
      </form>
    </section>
  );
}

function Field({ label, value, placeholder, onChange, className, labelHidden = false }: {
  readonly label: string; readonly value: string; readonly placeholder: string; readonly className?: string;
  /** The label is only for those who do not see the form. */
  readonly labelHidden?: boolean;
  onChange(value: string): void;
}): ReactNode {
  return (
    <label className={cn("block", className)}>
      <span className={labelHidden ? "sr-only" : "mb-1 block text-xs text-muted-foreground"}>{label}</span>
      <input
        value={value} placeholder={placeholder} onChange={(event) => onChange(event.target.value)}
        className="h-9 w-full rounded-lg border border-input bg-background px-3 text-sm placeholder:text-muted-foreground"
      />
    </label>
  );
}

const DECISIONS: Record<Decision, { readonly key: Key; readonly icon: ReactNode; readonly className: string }> = {
  [Decision.UNSPECIFIED]: { key: "policy.unknown", icon: <ShieldQuestion />, className: "text-muted-foreground" },
  [Decision.ALLOW]: { key: "try.allow", icon: <CircleCheck />, className: "text-success" },
  [Decision.REQUIRE_APPROVAL]: { key: "try.approval", icon: <ShieldQuestion />, className: "text-warning" },
  [Decision.DENY]: { key: "try.deny", icon: <CircleX />, className: "text-destructive" },
};

function Judged({ trial }: { readonly trial: PolicyTrial }): ReactNode {
  const t = useText();
  const language = useSettings((state) => state.language);
  const { key, icon, className } = DECISIONS[trial.decision];
  return (
    <li className="flex gap-3 py-3 last:pb-0">
      <span className={cn("mt-0.5 [&_svg]:size-4.5", className)}>{icon}</span>
      <div className="min-w-0 text-sm">
        <p className={cn("font-semibold", className)}>{trial.secondPerson ? t("try.secondPerson") : t(key)}</p>
        <p className="text-muted-foreground wrap-anywhere">{trial.step}</p>
        {trial.rules.map((rule) => (
          <p key={rule.id} className="mt-0.5 wrap-anywhere first-letter:uppercase">
            {reasonOf(rule, language)} <a className="font-mono text-xs underline hover:text-foreground" href={fragmentOf({ view: "policy", rule: rule.id })}>{rule.id}</a>
          </p>
        ))}
      </div>
    </li>
  );
}
