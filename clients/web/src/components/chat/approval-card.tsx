import { Maximize2, ShieldCheck, Square } from "lucide-react";
import { useState, type ReactNode } from "react";
import type { PixelBox } from "@gen/common/v1/geometry_pb.ts";
import type { Approval } from "@gen/orchestrator/v1/task_pb.ts";
import { artifactUrl } from "@/api/client.ts";
import { TargetBox } from "@/components/run/target-box.tsx";
import { Button } from "@/components/ui/button.tsx";
import { Dialog } from "@/components/ui/dialog.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { plainDirection } from "@/lib/plain-direction.ts";
import { formatClock } from "@/lib/format.ts";
import { useCommand } from "@/lib/use-command.ts";
import { useNow } from "@/lib/use-now.ts";
import { factsOf, type FactKind } from "@/model/approval-facts.ts";
import { targetInEvidence } from "@/model/evidence.ts";
import { reasonOf } from "@/model/policy.ts";
import { milliseconds } from "@/model/task.ts";
import { resolveApproval, stop } from "@/store/commands.ts";
import { useConversation } from "@/store/conversation.ts";
import { useIdentity } from "@/store/identity.ts";
import { useLists } from "@/store/lists.ts";
import { readPolicy, usePolicy } from "@/store/policy.ts";
import { fragmentOf } from "@/store/route.ts";
import { useSettings } from "@/store/settings.ts";

const FACTS: Record<FactKind, Key> = {
  text: "fact.text",
  secret: "fact.secret",
  address: "fact.address",
  application: "fact.application",
  keys: "fact.keys",
  window: "fact.window",
};

interface ApprovalCardProps {
  readonly approval: Approval;
  /** Goal of the task, where the card stands alone. */
  readonly goal?: string;
  readonly children?: ReactNode;
}

/** A risky action that waits for the user: in words, with the part of the screen that it is bound to, and who asked for it. */
export function ApprovalCard({ approval, goal, children }: ApprovalCardProps): ReactNode {
  const t = useText();
  const facts = factsOf(approval.action);
  // The person who sent the task may not give an approval that needs a second one. Without names, the server decides.
  const me = useIdentity((identity) => identity.name);
  const creator = useCreator(taskOf(approval));
  const mine = approval.secondPerson && creator !== "" && creator === me;
  return (
    <section aria-label={t("approval.label")} className="animate-rise overflow-hidden rounded-2xl border border-warning-line bg-card shadow-card">
      <div className="flex items-center gap-2 border-b border-warning-line bg-warning-soft px-4 py-2.5 text-sm font-semibold text-warning">
        <ShieldCheck className="size-4.5 shrink-0" />
        <span role="status" className="flex-1">{t("approval.label")}</span>
        <Expiry approval={approval} />
      </div>
      <div className="space-y-4 px-4 py-4">
        {goal !== undefined && <p className="truncate text-sm text-muted-foreground" title={plainDirection(goal)}>{plainDirection(goal)}</p>}
        <div className="space-y-2">
          <p className="text-base font-semibold wrap-anywhere first-letter:uppercase">{plainDirection(approval.action?.intent ?? "") || t("approval.unnamed")}</p>
          {approval.reason !== "" && <p className="text-sm text-muted-foreground wrap-anywhere first-letter:uppercase">{plainDirection(approval.reason)}</p>}
          <dl className="space-y-1.5 pt-1 text-sm">
            {facts.map((fact) => (
              <div key={fact.kind} className="flex flex-wrap gap-x-2">
                <dt className="text-muted-foreground">{t(FACTS[fact.kind])}</dt>
                <dd className="max-h-32 min-w-0 overflow-y-auto font-mono text-[0.8125rem] leading-5 whitespace-pre-wrap wrap-anywhere">{fact.value}</dd>
              </div>
            ))}
            <Place approval={approval} />
          </dl>
          {approval.safetyChecks.map((check) => (
            <p key={check.id} className="rounded-lg bg-warning-soft px-3 py-2 text-sm wrap-anywhere">{check.message || check.code}</p>
          ))}
        </div>
        <Evidence approval={approval} />
        {approval.secondPerson && <p className="rounded-lg bg-warning-soft px-3 py-2 text-sm">{mine ? t("approval.secondPersonYou") : t("approval.secondPerson")}</p>}
        <Decision approval={approval} mayApprove={!mine} />
        {approval.rules.length > 0 && <Rules ids={approval.rules} />}
        {children}
      </div>
    </section>
  );
}

/** Rule that stands for safety checks of a model's provider, which the policy does not have. `PROVIDER_RULE_ID` of the Orchestrator. */
const PROVIDER_RULE = "provider";

/** The rules that asked for the approval, in words, each with its place in the policy. */
function Rules({ ids }: { readonly ids: readonly string[] }): ReactNode {
  const t = useText();
  const language = useSettings((state) => state.language);
  const rules = usePolicy((state) => state.policy?.rules);
  return (
    <details className="text-xs text-muted-foreground" onToggle={({ currentTarget }) => {
      if (currentTarget.open) void readPolicy();
    }}>
      <summary className="w-fit rounded select-none hover:text-foreground">{t("approval.rule")}</summary>
      <ul className="mt-1.5 space-y-1">
        {ids.map((id) => {
          const rule = rules?.find((known) => known.id === id);
          const reason = id === PROVIDER_RULE ? t("approval.provider") : rule && reasonOf(rule, language);
          return (
            <li key={id} className="flex flex-wrap gap-x-2 wrap-anywhere">
              {rule ? <a className="font-mono underline hover:text-foreground" href={fragmentOf({ view: "policy", rule: id })}>{id}</a> : <span className="font-mono">{id}</span>}
              {reason !== undefined && <span className="first-letter:uppercase">{reason}</span>}
            </li>
          );
        })}
      </ul>
    </details>
  );
}

/** The application, page, amounts and recipients that the approval covers, as far as they are known. */
function Place({ approval: { context } }: { readonly approval: Approval }): ReactNode {
  const t = useText();
  if (!context) return null;
  const places: readonly [Key, string][] = [
    ["approval.question", context.question.join(" ")],
    ["approval.target", context.targetTexts.join(" · ")],
    ["approval.page", context.pageOrigin],
    ["approval.in", context.windowTitle || context.application],
    ["approval.amounts", context.amounts.join(", ")],
    ["approval.recipients", context.recipients.join(", ")],
  ];
  return places.filter(([, value]) => value !== "").map(([key, value]) => (
    <div key={key} className="flex flex-wrap gap-x-2">
      <dt className="text-muted-foreground">{t(key)}</dt>
      <dd className="min-w-0 wrap-anywhere">{plainDirection(value)}</dd>
    </div>
  ));
}

/** The screenshot that the approval is bound to, large enough to read, and in its own size on request. The target is marked. */
function Evidence({ approval: { evidence, context } }: { readonly approval: Approval }): ReactNode {
  const t = useText();
  const [enlarged, setEnlarged] = useState(false);
  if (!evidence) return null;
  const image = <Marked source={artifactUrl(evidence.name)} target={context?.target} className="max-h-[min(24rem,44dvh)] max-w-full object-contain" />;
  return (
    <figure>
      <button
        type="button"
        onClick={() => setEnlarged(true)}
        className="group relative block w-full overflow-hidden rounded-xl border bg-screen"
      >
        {image}
        <span className="absolute right-2 bottom-2 flex items-center gap-1.5 rounded-lg bg-card/95 px-2 py-1 text-xs font-medium text-foreground shadow-card">
          <Maximize2 className="size-3.5" />{t("approval.enlarge")}
        </span>
      </button>
      <figcaption className="mt-1.5 text-xs text-muted-foreground">{t("approval.evidence")}</figcaption>
      <Dialog open={enlarged} onOpenChange={setEnlarged} title={t("approval.evidence")} className="w-[min(96vw,80rem)]">
        <div className="overflow-auto">
          <Marked source={artifactUrl(evidence.name)} target={context?.target} centred className="max-w-none rounded-lg" />
        </div>
      </Dialog>
    </figure>
  );
}

/** A screenshot with a box around the target: among equal buttons, the one that is meant. `centred` scrolls to it. */
function Marked({ source, target, centred = false, className }: {
  readonly source: string; readonly target: PixelBox | undefined; readonly centred?: boolean; readonly className: string;
}): ReactNode {
  const t = useText();
  const [size, setSize] = useState({ width: 0, height: 0 });
  const box = targetInEvidence(target, size.width, size.height);
  return (
    <span className="relative mx-auto block w-fit">
      <img
        src={source}
        alt={box ? t("approval.evidenceMarked") : t("approval.evidence")}
        onLoad={({ currentTarget }) => setSize({ width: currentTarget.naturalWidth, height: currentTarget.naturalHeight })}
        className={cn("block", className)}
      />
      {box && (
        <svg viewBox={`0 0 ${size.width} ${size.height}`} className="pointer-events-none absolute inset-0 size-full" aria-hidden data-target>
          <g ref={centred ? scrollTo : undefined}><TargetBox box={box} unit={1} /></g>
        </svg>
      )}
    </span>
  );
}

/** On a phone, a screenshot in its own size is wider than the screen, and its target would be cut off. */
function scrollTo(target: SVGGElement | null): void {
  target?.scrollIntoView({ block: "center", inline: "center" });
}

function Decision({ approval, mayApprove }: { readonly approval: Approval; readonly mayApprove: boolean }): ReactNode {
  const t = useText();
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState("");
  const resolving = useCommand(resolveApproval);
  const stopping = useCommand(stop);
  const problem = resolving.problem ?? stopping.problem;
  return (
    <div className="space-y-3">
      {denying ? (
        <form
          className="space-y-2.5"
          onSubmit={(event) => {
            event.preventDefault();
            resolving.run(approval, false, reason.trim());
          }}
        >
          <input
            autoFocus
            value={reason}
            onChange={(event) => setReason(event.target.value)}
            placeholder={t("approval.why")}
            aria-label={t("approval.why")}
            className="h-9 w-full rounded-lg border border-input bg-background px-3 text-sm placeholder:text-muted-foreground"
          />
          <div className="flex gap-2">
            <Button type="submit" variant="danger" disabled={resolving.busy}>{t("approval.deny")}</Button>
            <Button variant="ghost" onClick={() => setDenying(false)}>{t("back")}</Button>
          </div>
        </form>
      ) : (
        <div className="flex flex-wrap gap-2">
          {mayApprove && <Button variant="primary" disabled={resolving.busy} onClick={() => resolving.run(approval, true, "")}>{t("approval.approve")}</Button>}
          <Button variant="secondary" disabled={resolving.busy} onClick={() => setDenying(true)}>{t("approval.denyWith")}</Button>
          <Button variant="danger" className="ml-auto" disabled={stopping.busy} onClick={() => stopping.run(taskOf(approval))}>
            <Square className="fill-current" />{t("stop")}
          </Button>
        </div>
      )}
      {problem && <ProblemNotice problem={problem} />}
    </div>
  );
}

/** The principal that sent a task; empty while it is not known. */
function useCreator(name: string): string {
  const open = useConversation((conversation) => conversation.tasks.get(name)?.creator);
  const listed = useLists((lists) => lists.tasks.find((task) => task.name === name)?.creator);
  // A task that is not read yet has an empty one.
  return open || listed || "";
}

/** Task of an approval, whose name is `tasks/{task}/approvals/{approval}`. */
export function taskOf(approval: Approval): string {
  return approval.name.split("/").slice(0, 2).join("/");
}

// The count turns red when there is little time left to read.
const SOON_MS = 30_000;

function Expiry({ approval }: { readonly approval: Approval }): ReactNode {
  const t = useText();
  const now = useNow(1_000);
  if (!approval.expireTime) return null;
  const left = milliseconds(approval.expireTime) - now;
  if (left <= 0) return <span className="text-xs">{t("approval.expired")}</span>;
  return (
    <span className={cn("text-xs font-medium tabular-nums", left < SOON_MS && "text-destructive")}>
      {t("approval.expires", { time: formatClock(left) })}
    </span>
  );
}
