import { Monitor } from "lucide-react";
import type { ReactNode } from "react";
import type { Desktop } from "@gen/common/v1/desktop_pb.ts";
import { Desktop_State as DesktopState } from "@gen/common/v1/desktop_pb.ts";
import { Badge } from "@/components/ui/badge.tsx";
import { Button } from "@/components/ui/button.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { LiveScreen } from "@/components/run/live-screen.tsx";
import { WaitingScreen } from "@/components/run/waiting-screen.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { useCommand } from "@/lib/use-command.ts";
import { plainDirection } from "@/lib/plain-direction.ts";
import type { Tone } from "@/model/actions.ts";
import { drainDesktop, undrainDesktop } from "@/store/commands.ts";
import { refreshLists, useLists } from "@/store/lists.ts";
import { fragmentOf } from "@/store/route.ts";
import { EmptyState, Page } from "./page.tsx";

export function DesktopsView(): ReactNode {
  const t = useText();
  const { desktops, loaded, problem } = useLists();
  return (
    <Page title={t("desktops")} text={t("desktops.text")}>
      {problem && <ProblemNotice problem={problem} className="mb-4" onRetry={() => void refreshLists()} />}
      {loaded && desktops.length === 0 && <EmptyState icon={<Monitor />} title={t("desktops.none")} text={t("desktops.noneText")} />}
      <ul className="grid gap-5 sm:grid-cols-2">
        {desktops.map((desktop) => <DesktopCard key={desktop.name} desktop={desktop} />)}
      </ul>
    </Page>
  );
}

const STATES: Record<DesktopState, { readonly key: Key; readonly tone: Tone }> = {
  [DesktopState.UNSPECIFIED]: { key: "desktop.unknown", tone: "neutral" },
  [DesktopState.AVAILABLE]: { key: "desktop.available", tone: "good" },
  [DesktopState.LEASED]: { key: "desktop.leased", tone: "active" },
  [DesktopState.DRAINING]: { key: "desktop.draining", tone: "unsure" },
  [DesktopState.UNREACHABLE]: { key: "desktop.unreachable", tone: "bad" },
};

function DesktopCard({ desktop }: { readonly desktop: Desktop }): ReactNode {
  const t = useText();
  const draining = useCommand(drainDesktop);
  const undraining = useCommand(undrainDesktop);
  const problem = draining.problem ?? undraining.problem;
  const state = STATES[desktop.state];
  const holder = useLists((lists) => lists.tasks.find((task) => task.name === desktop.task));
  const id = desktop.name.slice("desktops/".length);
  const labels = Object.entries(desktop.labels);
  return (
    <li className="flex flex-col overflow-hidden rounded-2xl border bg-card shadow-card">
      {desktop.state === DesktopState.UNREACHABLE
        ? <WaitingScreen text={t("desktop.unreachable")} detail={t("desktop.unreachableText")} />
        : <LiveScreen source={desktop.name} label={t("desktop.live", { name: id })} />}
      <div className="flex flex-1 flex-col gap-2.5 border-t px-4 py-3.5">
        <div className="flex items-center gap-2.5">
          <h2 className="min-w-0 flex-1 truncate font-semibold">{id}</h2>
          <Badge tone={state.tone}>{t(state.key)}</Badge>
        </div>
        <p className="truncate text-sm text-muted-foreground" title={holder && plainDirection(holder.goal)}>
          {desktop.task !== "" ? (
            <a className="hover:text-foreground hover:underline" href={fragmentOf({ view: "conversation", name: holder?.session || desktop.task })}>
              {holder ? plainDirection(holder.goal) : desktop.task}
            </a>
          ) : t("desktop.idle")}
        </p>
        <div className="mt-auto flex items-center gap-2 pt-1">
          <span className="min-w-0 flex-1 truncate font-mono text-xs text-muted-foreground">
            {[desktop.display, ...labels.map(([key, value]) => `${key}=${value}`)].filter((part) => part !== "").join(" · ")}
          </span>
          {desktop.state === DesktopState.DRAINING
            ? <Button size="small" disabled={undraining.busy} onClick={() => undraining.run(desktop)} title={t("desktop.undrainText")}>{t("desktop.undrain")}</Button>
            : <Button size="small" disabled={draining.busy} onClick={() => draining.run(desktop.name)} title={t("desktop.drainText")}>{t("desktop.drain")}</Button>}
        </div>
        {problem && <ProblemNotice problem={problem} />}
      </div>
    </li>
  );
}
