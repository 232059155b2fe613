import { ChevronDown, Download, FileText, Gauge } from "lucide-react";
import { memo, useDeferredValue, useState, type ReactNode } from "react";
import { Button, buttonVariants } from "@/components/ui/button.tsx";
import { Dialog } from "@/components/ui/dialog.tsx";
import { Tooltip } from "@/components/ui/tooltip.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { formatDuration, formatNumber } from "@/lib/format.ts";
import { latencyOf, PHASES, sumOf, totalOf, type Latency, type Phase } from "@/model/latency.ts";
import type { ModelCall, StepView, TaskView } from "@/model/task.ts";
import { usageOf } from "@/model/usage.ts";
import { useSettings } from "@/store/settings.ts";
import { formatCost, ModelCalls } from "./model-calls.tsx";
import { ReplayExport } from "./replay-export.tsx";
import { VERDICT_WORDS } from "./verdict-words.ts";

const COLOURS: Record<Phase, string> = {
  see: "bg-sky-500",
  decide: "bg-violet-500",
  act: "bg-amber-500",
  settle: "bg-emerald-500",
};

const PHASE_WORDS: Record<Phase, Key> = { see: "phase.see", decide: "phase.decide", act: "phase.act", settle: "phase.settle" };

export function DetailsButton({ task, labelled = false }: { readonly task: TaskView; readonly labelled?: boolean }): ReactNode {
  const t = useText();
  const [open, setOpen] = useState(false);
  return (
    <>
      {labelled ? (
        <Button variant="ghost" size="small" onClick={() => setOpen(true)}><Gauge />{t("details")}</Button>
      ) : (
        <Tooltip label={t("details")}>
          <Button variant="ghost" size="iconSmall" aria-label={t("details")} onClick={() => setOpen(true)}><Gauge /></Button>
        </Tooltip>
      )}
      <Dialog open={open} onOpenChange={setOpen} title={t("details")} description={task.goal} className="w-[min(94vw,46rem)]">
        <Details task={task} />
      </Dialog>
    </>
  );
}

// More than are seen at first. The others follow without blocking the page, so that 500 steps open at once.
const FIRST_ROWS = 24;

function Details({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const latencies = task.steps.map(latencyOf);
  const longest = Math.max(1, ...latencies.map(totalOf));
  const steps = useDeferredValue(task.steps, task.steps.slice(0, FIRST_ROWS));
  const outside = task.modelCalls.filter((call) => call.step === 0);
  return (
    <div className="space-y-5">
      <Facts task={task} latency={sumOf(latencies)} />
      <section>
        <div className="mb-2 flex flex-wrap items-baseline gap-x-3 gap-y-1">
          <h3 className="mr-auto text-sm font-semibold">{t("details.time")}</h3>
          {PHASES.map((phase) => (
            <span key={phase} className="flex items-center gap-1.5 text-xs text-muted-foreground">
              <i aria-hidden className={cn("size-2 rounded-full", COLOURS[phase])} />{t(PHASE_WORDS[phase])}
            </span>
          ))}
        </div>
        <ol className="divide-y rounded-xl border">
          {steps.map((step, index) => (
            <StepRow
              key={step.number}
              step={step}
              calls={task.modelCalls}
              latency={latencies[index] ?? latencyOf(step)}
              longest={longest}
            />
          ))}
          {task.steps.length === 0 && <li className="px-3.5 py-6 text-center text-sm text-muted-foreground">{t("details.noSteps")}</li>}
        </ol>
      </section>
      {outside.length > 0 && (
        <section>
          <h3 className="mb-2 text-sm font-semibold">{t("details.outside")}</h3>
          <ModelCalls calls={outside} />
        </section>
      )}
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 font-mono text-xs break-all text-muted-foreground">{task.name}</p>
        {task.session !== "" && (
          <a className={buttonVariants({ size: "small" })} href={`/api/export/${task.session}?format=markdown`} download><FileText />{t("transcript")}</a>
        )}
        <ReplayExport task={task} />
        <a className={buttonVariants({ size: "small" })} href={`/api/export/${task.name}`} download><Download />{t("export")}</a>
      </div>
    </div>
  );
}

interface StepRowProps {
  readonly step: StepView;
  readonly calls: readonly ModelCall[];
  readonly latency: Latency;
  readonly longest: number;
}

/** A step with its times. Unfolds to its reasoning, actions, functions and model calls. */
const StepRow = memo(function StepRow({ step, calls, latency, longest }: StepRowProps): ReactNode {
  const t = useText();
  const [open, setOpen] = useState(false);
  return (
    // Rows out of sight are not laid out.
    <li className="[contain-intrinsic-size:auto_3.5rem] [content-visibility:auto]">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="block w-full px-3.5 py-2.5 text-left transition-colors hover:bg-muted/60"
      >
        <span className="flex items-baseline gap-3 text-[0.8125rem]">
          <span className="w-6 shrink-0 text-muted-foreground tabular-nums">{step.number}</span>
          <span className="min-w-0 flex-1 truncate" title={step.progress}>{step.progress || t(step.endedAt === undefined ? "step.looking" : "step.number", { number: step.number })}</span>
          <span className="hidden shrink-0 text-xs text-muted-foreground sm:inline">{step.model || step.backend}</span>
          <span className="w-16 shrink-0 text-right tabular-nums">{formatDuration(totalOf(latency))}</span>
          <ChevronDown className={cn("size-3.5 shrink-0 self-center text-muted-foreground transition-transform", open && "rotate-180")} />
        </span>
        <LatencyBar latency={latency} longest={longest} />
      </button>
      {open && <StepDetails step={step} latency={latency} calls={calls.filter((call) => call.step === step.number)} />}
    </li>
  );
});

function StepDetails({ step, latency, calls }: { readonly step: StepView; readonly latency: Latency; readonly calls: readonly ModelCall[] }): ReactNode {
  const t = useText();
  // The explanation of an effect is beside its action.
  const explained = step.actions.some((action) => action.effect?.explanation === step.outcome);
  const outcome = step.problem || (explained ? "" : step.outcome);
  return (
    <div className="space-y-3 border-t bg-muted/40 px-3.5 py-3 text-[0.8125rem]">
      <p className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted-foreground tabular-nums">
        {PHASES.map((phase) => <span key={phase}>{t(PHASE_WORDS[phase])} {formatDuration(latency[phase])}</span>)}
        {step.elementCount > 0 && <span>{t("details.elements", { count: step.elementCount })}</span>}
      </p>
      {step.thought !== "" && <Entry name={t("details.thought")}><p className="whitespace-pre-wrap wrap-anywhere">{step.thought}</p></Entry>}
      {step.actions.length > 0 && (
        <Entry name={t("details.actions")}>
          <ul className="space-y-1">
            {step.actions.map((action) => (
              <li key={action.id} className="wrap-anywhere">
                {[action.planned?.intent ?? "", action.targetLabel].filter((part) => part !== "").join(" → ")}
                <span className="block text-xs text-muted-foreground">
                  {[
                    action.effect ? t(VERDICT_WORDS[action.effect.verdict]) : "",
                    action.effect?.explanation ?? "",
                    action.detail,
                    action.retries > 0 ? t("step.retries", { count: action.retries }) : "",
                    action.corrections > 0 ? t("details.corrections", { count: action.corrections }) : "",
                  ].filter((part) => part !== "").join(" · ")}
                </span>
              </li>
            ))}
          </ul>
        </Entry>
      )}
      {step.calls.length > 0 && (
        <Entry name={t("details.functions")}>
          <ul className="space-y-1 font-mono text-xs">
            {step.calls.map((call) => (
              <li key={call.id} className="wrap-anywhere">{call.name}({call.arguments}) → {call.error ?? call.result ?? "…"}</li>
            ))}
          </ul>
        </Entry>
      )}
      {outcome !== "" && <Entry name={t("details.outcome")}><p className="wrap-anywhere">{outcome}</p></Entry>}
      {calls.length > 0
        ? <Entry name={t("details.calls")}><ModelCalls calls={calls} /></Entry>
        : <p className="text-xs text-muted-foreground">{t("details.noCalls", { backend: step.backend || "–" })}</p>}
    </div>
  );
}

function Entry({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div>
      <h4 className="mb-0.5 text-xs font-medium text-muted-foreground">{name}</h4>
      {children}
    </div>
  );
}

function LatencyBar({ latency, longest }: { readonly latency: Latency; readonly longest: number }): ReactNode {
  const t = useText();
  const description = PHASES.map((phase) => `${t(PHASE_WORDS[phase])} ${formatDuration(latency[phase])}`).join(", ");
  return (
    <span role="img" aria-label={description} title={description} className="mt-1.5 ml-9 flex h-1.5 gap-px overflow-hidden rounded-full bg-muted">
      {PHASES.map((phase) => (
        <span key={phase} className={COLOURS[phase]} style={{ width: `${(latency[phase] / longest) * 100}%` }} />
      ))}
    </span>
  );
}

function Facts({ task, latency }: { readonly task: TaskView; readonly latency: Latency }): ReactNode {
  const t = useText();
  const language = useSettings((state) => state.language);
  const usage = usageOf(task.modelCalls);
  const facts: [string, string][] = [
    [t("details.steps"), formatNumber(task.steps.length, language)],
    [t("details.duration"), formatDuration((task.endedAt ?? Date.now()) - (task.startedAt ?? task.createdAt))],
    [t("details.working"), formatDuration(totalOf(latency))],
    [t("details.calls"), formatNumber(usage.calls, language)],
    [t("details.tokens"), formatNumber(usage.inputTokens + usage.outputTokens, language)],
    [t("details.cost"), usage.isCostComplete || usage.cost > 0 ? `${usage.isCostComplete ? "" : "≥ "}${formatCost(usage.cost, language)}` : t("details.unknownCost")],
  ];
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border bg-border sm:grid-cols-3">
      {facts.map(([name, value]) => (
        <div key={name} className="bg-card px-3.5 py-2.5">
          <dt className="text-xs text-muted-foreground">{name}</dt>
          <dd className="mt-0.5 text-base font-semibold tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
