import { Download, FileText, Gauge } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Button, buttonVariants } from "@/components/ui/button.tsx";
import { Dialog } from "@/components/ui/dialog.tsx";
import { Tooltip } from "@/components/ui/tooltip.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { formatDuration, formatNumber } from "@/lib/format.ts";
import { latencyOf, PHASES, sumOf, totalOf, type Latency, type Phase } from "@/model/latency.ts";
import type { TaskView } from "@/model/task.ts";
import { useSettings } from "@/store/settings.ts";

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

function Details({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const latencies = task.steps.map(latencyOf);
  const longest = Math.max(1, ...latencies.map(totalOf));
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
          {task.steps.map((step, index) => (
            <li key={step.number} className="px-3.5 py-2.5">
              <div className="flex items-baseline gap-3 text-[0.8125rem]">
                <span className="w-6 shrink-0 text-muted-foreground tabular-nums">{step.number}</span>
                <span className="min-w-0 flex-1 truncate" title={step.progress}>{step.progress}</span>
                <span className="hidden shrink-0 text-xs text-muted-foreground sm:inline">{step.model || step.backend}</span>
                <span className="w-16 shrink-0 text-right tabular-nums">{formatDuration(totalOf(latencies[index] ?? latencyOf(step)))}</span>
              </div>
              <LatencyBar latency={latencies[index] ?? latencyOf(step)} longest={longest} />
            </li>
          ))}
          {task.steps.length === 0 && <li className="px-3.5 py-6 text-center text-sm text-muted-foreground">{t("details.noSteps")}</li>}
        </ol>
      </section>
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 font-mono text-xs break-all text-muted-foreground">{task.name}</p>
        {task.session !== "" && (
          <a className={buttonVariants({ size: "small" })} href={`/api/export/${task.session}?format=markdown`} download><FileText />{t("transcript")}</a>
        )}
        <a className={buttonVariants({ size: "small" })} href={`/api/export/${task.name}`} download><Download />{t("export")}</a>
      </div>
    </div>
  );
}

function LatencyBar({ latency, longest }: { readonly latency: Latency; readonly longest: number }): ReactNode {
  const t = useText();
  const description = PHASES.map((phase) => `${t(PHASE_WORDS[phase])} ${formatDuration(latency[phase])}`).join(", ");
  return (
    <div role="img" aria-label={description} title={description} className="mt-1.5 ml-9 flex h-1.5 gap-px overflow-hidden rounded-full bg-muted">
      {PHASES.map((phase) => (
        <span key={phase} className={COLOURS[phase]} style={{ width: `${(latency[phase] / longest) * 100}%` }} />
      ))}
    </div>
  );
}

function Facts({ task, latency }: { readonly task: TaskView; readonly latency: Latency }): ReactNode {
  const t = useText();
  const language = useSettings((state) => state.language);
  const usage = usageOf(task);
  const facts: [string, string][] = [
    [t("details.steps"), formatNumber(task.steps.length, language)],
    [t("details.duration"), formatDuration((task.endedAt ?? Date.now()) - (task.startedAt ?? task.createdAt))],
    [t("details.working"), formatDuration(totalOf(latency))],
    [t("details.calls"), formatNumber(usage.calls, language)],
    [t("details.tokens"), formatNumber(usage.tokens, language)],
    [t("details.cost"), new Intl.NumberFormat(language, { style: "currency", currency: "USD", maximumFractionDigits: 4 }).format(usage.cost / 1e6)],
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

function usageOf(task: TaskView): { readonly calls: number; readonly tokens: number; readonly cost: number } {
  let calls = 0;
  let tokens = 0;
  let cost = 0;
  for (const { usage } of task.steps) {
    calls += usage?.calls ?? 0;
    tokens += Number(usage?.inputTokens ?? 0n) + Number(usage?.outputTokens ?? 0n);
    cost += Number(usage?.costMicrosUsd ?? 0n);
  }
  return { calls, tokens, cost };
}
