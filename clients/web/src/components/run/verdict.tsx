import { ArrowRight } from "lucide-react";
import type { ReactNode } from "react";
import { Badge } from "@/components/ui/badge.tsx";
import { useText } from "@/i18n/index.ts";
import { formatDuration } from "@/lib/format.ts";
import { lastEffect, toneOfVerdict } from "@/model/actions.ts";
import { durationMilliseconds, type StepView } from "@/model/task.ts";
import { VERDICT_WORDS } from "./verdict-words.ts";

/** The action of a step and its verdict. */
export function Verdict({ step }: { readonly step: StepView }): ReactNode {
  const t = useText();
  const action = lastEffect(step) ?? step.actions.at(-1);
  const effect = action?.effect;
  const intent = action?.planned?.intent || step.progress;
  if (!intent) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t px-3.5 py-2 text-[0.8125rem]">
      <span className="min-w-0 font-medium wrap-anywhere">{intent}</span>
      {action?.targetLabel && (
        <span className="flex min-w-0 items-center gap-1.5 text-muted-foreground">
          <ArrowRight className="size-3.5 shrink-0" />
          <span className="truncate">{action.targetLabel}</span>
        </span>
      )}
      <span className="ml-auto flex items-center gap-2">
        {(action?.retries ?? 0) > 0 && <span className="text-xs text-muted-foreground">{t("step.retries", { count: action?.retries ?? 0 })}</span>}
        {effect && (
          <span className="hidden text-xs text-muted-foreground tabular-nums sm:inline">
            {formatDuration(durationMilliseconds(effect.settleTime))}
          </span>
        )}
        {effect && <Badge tone={toneOfVerdict(effect.verdict)}>{t(VERDICT_WORDS[effect.verdict])}</Badge>}
      </span>
    </div>
  );
}
