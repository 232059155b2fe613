import { LogOut } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { LiveScreen } from "@/components/run/live-screen.tsx";
import { Badge } from "@/components/ui/badge.tsx";
import { Button } from "@/components/ui/button.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { formatBytes, formatDuration, formatMoment, formatNumber } from "@/lib/format.ts";
import type { Tone } from "@/model/actions.ts";
import { logOut, readSession, type Session } from "@/api/session.ts";
import { useConversation } from "@/store/conversation.ts";
import { useLists } from "@/store/lists.ts";
import { useLive } from "@/store/live.ts";
import { useSettings } from "@/store/settings.ts";
import { Page } from "./page.tsx";

/** Screens that are measured at once: each costs what it costs to watch it. */
const MAX_SCREENS = 4;

/** The state of everything between this page and the desktops, in numbers. */
export function DiagnosticsView(): ReactNode {
  const t = useText();
  const language = useSettings((state) => state.language);
  const { problem, roundTripMs, desktops } = useLists();
  const { link, name, tasks } = useConversation();
  const live = Object.entries(useLive((state) => state.bySource));
  const session = useSession();
  const events = [...tasks.values()].reduce((sum, task) => sum + Number(task.lastSequence), 0);

  return (
    <Page title={t("diagnostics")} text={t("diagnostics.text")}>
      <div className="space-y-6">
        <Section title={t("diagnostics.connection")}>
          <Row name={t("diagnostics.server")}>
            {problem ? <Badge tone="bad">{t(`problem.short.${problem.kind === "signedOut" ? "signedOut" : "offline"}`)}</Badge> : <Badge tone="good">{t("diagnostics.ok")}</Badge>}
          </Row>
          <Row name={t("diagnostics.roundTrip")}>{roundTripMs === undefined ? "–" : formatDuration(roundTripMs)}</Row>
          <Row name={t("diagnostics.version")}>{session?.version ?? "–"}</Row>
          <Row name={t("diagnostics.session")}>{session?.expireTime === undefined ? "–" : formatMoment(session.expireTime, language, Date.now())}</Row>
        </Section>
        <Section title={t("diagnostics.events")}>
          <Row name={t("diagnostics.stream")}>{name === undefined ? t("diagnostics.noStream") : <LinkBadge kind={link.kind} />}</Row>
          <Row name={t("diagnostics.received")}>{formatNumber(events, language)}</Row>
        </Section>
        <Section title={t("diagnostics.screens")}>
          <Row name={t("diagnostics.desktops")}>{formatNumber(desktops.length, language)}</Row>
          {desktops.length === 0 && <Row name={t("diagnostics.streams")}>{t("diagnostics.noLive")}</Row>}
          {live.map(([source, statistics]) => (
            <Row key={source} name={source.replace(/^desktops\//, "")}>
              {t("diagnostics.live", {
                rate: statistics.framesPerSecond,
                dropped: statistics.dropped,
                delay: formatDuration(statistics.delayMs),
                bytes: formatBytes(statistics.bytesPerSecond),
              })}
            </Row>
          ))}
        </Section>
        {/* A screen is measured while it is shown. */}
        {desktops.length > 0 && (
          <div className="flex flex-wrap gap-3">
            {desktops.slice(0, MAX_SCREENS).map(({ name }) => (
              <div key={name} className="w-56 overflow-hidden rounded-lg border"><LiveScreen source={name} label={t("desktop.live", { name: name.slice("desktops/".length) })} /></div>
            ))}
          </div>
        )}
        <Button onClick={() => void logOut().then(() => window.location.reload())}><LogOut />{t("logOut")}</Button>
      </div>
    </Page>
  );
}

const LINKS: Record<"connecting" | "open" | "lost" | "failed", { readonly key: Key; readonly tone: Tone }> = {
  connecting: { key: "link.connecting", tone: "unsure" },
  open: { key: "link.open", tone: "good" },
  lost: { key: "link.lost", tone: "bad" },
  failed: { key: "link.failed", tone: "bad" },
};

function LinkBadge({ kind }: { readonly kind: keyof typeof LINKS }): ReactNode {
  const t = useText();
  return <Badge tone={LINKS[kind].tone}>{t(LINKS[kind].key)}</Badge>;
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <section>
      <h2 className="mb-2 text-sm font-semibold">{title}</h2>
      <dl className="divide-y rounded-2xl border bg-card shadow-card">{children}</dl>
    </section>
  );
}

function Row({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="flex min-h-11 flex-wrap items-center justify-between gap-x-6 gap-y-1 px-4 py-2 text-sm">
      <dt className="text-muted-foreground">{name}</dt>
      <dd className="tabular-nums">{children}</dd>
    </div>
  );
}

function useSession(): Session | undefined {
  const [session, setSession] = useState<Session>();
  useEffect(() => {
    void readSession().then(setSession);
  }, []);
  return session;
}
