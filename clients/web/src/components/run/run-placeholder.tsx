import type { ReactNode } from "react";
import { useText } from "@/i18n/index.ts";
import { StepMark } from "./timeline.tsx";
import { WaitingScreen } from "./waiting-screen.tsx";

/** Stands for the run card from the moment of sending until the first event. */
export function RunPlaceholder(): ReactNode {
  const t = useText();
  return (
    <section aria-label={t("run.label")} className="animate-rise overflow-hidden rounded-2xl border bg-card shadow-card">
      <div className="flex items-center gap-3 border-b px-3.5 py-3">
        <StepMark tone="active" />
        <span className="text-sm font-medium">{t("run.sending")}</span>
      </div>
      <WaitingScreen text={t("run.sending")} busy />
    </section>
  );
}
