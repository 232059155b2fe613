import { Activity, Languages, Monitor, Moon, PenLine, Scale, Search, ShieldCheck, Sun, SunMoon, Keyboard } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { Button } from "@/components/ui/button.tsx";
import { Keys } from "@/components/ui/keys.tsx";
import { Menu, MenuChoice } from "@/components/ui/menu.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { Tooltip } from "@/components/ui/tooltip.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { formatMoment } from "@/lib/format.ts";
import { useNow } from "@/lib/use-now.ts";
import { ageOf, conversationsOf, searchConversations, type Age, type ConversationEntry } from "@/model/conversations.ts";
import { TaskState } from "@/model/task.ts";
import { readOlder, refreshLists, useLists } from "@/store/lists.ts";
import { fragmentOf, useRoute, type Route } from "@/store/route.ts";
import { useSettings, type Language } from "@/store/settings.ts";
import { modifierKey } from "@/lib/platform.ts";

export const SEARCH_ID = "search";

interface SidebarProps {
  onNavigate(): void;
  onShortcuts(): void;
}

export function Sidebar({ onNavigate, onShortcuts }: SidebarProps): ReactNode {
  const t = useText();
  const pending = useLists((state) => state.approvals.length);
  return (
    <div className="flex h-full flex-col bg-sidebar">
      <div className="flex h-14 items-center gap-2.5 px-4">
        <img src="/icon.svg" alt="" className="size-7 rounded-lg" />
        <span className="text-[0.9375rem] font-semibold tracking-tight">Motorium</span>
      </div>
      <div className="space-y-2 px-3">
        <a
          href="#/"
          onClick={onNavigate}
          className="flex h-10 items-center gap-2.5 rounded-xl bg-primary px-3.5 text-sm font-medium text-primary-foreground shadow-sm transition-colors hover:bg-primary/90"
        >
          <PenLine className="size-4" />
          {t("new")}
        </a>
      </div>
      <ConversationList onNavigate={onNavigate} />
      <nav aria-label={t("views")} className="space-y-0.5 border-t p-2">
        <ViewLink route={{ view: "desktops" }} icon={<Monitor />} onNavigate={onNavigate}>{t("desktops")}</ViewLink>
        <ViewLink route={{ view: "approvals" }} icon={<ShieldCheck />} onNavigate={onNavigate} count={pending}>{t("approvals")}</ViewLink>
        <ViewLink route={{ view: "policy" }} icon={<Scale />} onNavigate={onNavigate}>{t("policy")}</ViewLink>
        <ViewLink route={{ view: "diagnostics" }} icon={<Activity />} onNavigate={onNavigate}>{t("diagnostics")}</ViewLink>
      </nav>
      <div className="flex items-center gap-0.5 border-t px-2 py-2">
        <LanguageMenu />
        <SchemeMenu />
        <Tooltip label={t("shortcuts")} keys={["?"]}>
          <Button variant="ghost" size="icon" className="ml-auto" aria-label={t("shortcuts")} onClick={onShortcuts}><Keyboard /></Button>
        </Tooltip>
      </div>
    </div>
  );
}

const AGES: readonly { readonly age: Age; readonly key: Key }[] = [
  { age: "today", key: "age.today" },
  { age: "week", key: "age.week" },
  { age: "older", key: "age.older" },
];

function ConversationList({ onNavigate }: { onNavigate(): void }): ReactNode {
  const t = useText();
  const { sessions, tasks, loaded, cut, problem } = useLists();
  const [query, setQuery] = useState("");
  const now = useNow(60_000);
  const all = useMemo(() => conversationsOf(sessions, tasks), [sessions, tasks]);
  const found = searchConversations(all, query);
  return (
    <>
      <div className="relative mx-3 mt-3">
        <Search className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-muted-foreground" />
        <input
          id={SEARCH_ID}
          type="search"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          placeholder={t("search")}
          aria-label={t("search")}
          className="h-9 w-full rounded-xl border border-border bg-card pr-3 pl-9 text-sm placeholder:text-muted-foreground [&::-webkit-search-cancel-button]:hidden"
        />
        {query === "" && <span className="absolute top-1/2 right-2 hidden -translate-y-1/2 md:block"><Keys keys={[modifierKey, "K"]} /></span>}
      </div>
      <div className="mt-2 min-h-0 flex-1 overflow-y-auto px-2 pb-3">
        {problem && <ProblemNotice problem={problem} className="m-1" onRetry={() => void refreshLists()} />}
        {!loaded && !problem && <ListSkeleton />}
        {loaded && all.length === 0 && <p className="px-3 py-8 text-center text-sm text-balance text-muted-foreground">{t("list.empty")}</p>}
        {all.length > 0 && found.length === 0 && <p className="px-3 py-8 text-center text-sm text-balance text-muted-foreground">{t("list.none", { query })}</p>}
        {AGES.map(({ age, key }) => {
          const entries = found.filter((entry) => ageOf(entry.at, now) === age);
          if (entries.length === 0) return null;
          return (
            <section key={age} className="mt-3 first:mt-1">
              <h2 className="px-2.5 pb-1 text-xs font-medium text-muted-foreground">{t(key)}</h2>
              <ul className="space-y-px">{entries.map((entry) => <Entry key={entry.name} entry={entry} now={now} onNavigate={onNavigate} />)}</ul>
            </section>
          );
        })}
        {cut && <Older />}
      </div>
    </>
  );
}

/** Reads the conversations that are not listed yet, and are not searched. */
function Older(): ReactNode {
  const t = useText();
  const reading = useLists((state) => state.readingOlder);
  return (
    <div className="space-y-2 px-3 pt-4 text-center">
      <p className="text-xs text-balance text-muted-foreground">{t("list.cut")}</p>
      <Button variant="ghost" size="small" disabled={reading} onClick={() => void readOlder()}>{t(reading ? "list.reading" : "list.older")}</Button>
    </div>
  );
}

function Entry({ entry, now, onNavigate }: { readonly entry: ConversationEntry; readonly now: number; onNavigate(): void }): ReactNode {
  const language = useSettings((state) => state.language);
  const route = useRoute((state) => state.route);
  const current = route.view === "conversation" && route.name === entry.name;
  const waiting = entry.state === TaskState.AWAITING_USER;
  return (
    <li>
      <a
        href={fragmentOf({ view: "conversation", name: entry.name })}
        onClick={onNavigate}
        aria-current={current ? "page" : undefined}
        className={cn(
          "flex items-start gap-2.5 rounded-lg px-2.5 py-2 text-sm leading-5 transition-colors",
          current ? "bg-accent font-medium text-accent-foreground" : "hover:bg-muted dark:hover:bg-secondary/60",
        )}
      >
        <span className="flex h-5 items-center"><StateDot state={entry.state} /></span>
        <span className={cn("line-clamp-2 min-w-0 flex-1 wrap-anywhere", waiting && "font-semibold")} title={entry.title}>{entry.title}</span>
        <span className="shrink-0 text-xs leading-5 font-normal text-muted-foreground tabular-nums">{formatMoment(entry.at, language, now)}</span>
      </a>
    </li>
  );
}

const DOTS: Record<TaskState, { readonly className: string; readonly key: Key }> = {
  [TaskState.UNSPECIFIED]: { className: "bg-border", key: "state.none" },
  [TaskState.PENDING]: { className: "border-2 border-muted-foreground", key: "state.pending" },
  [TaskState.RUNNING]: { className: "bg-primary animate-breathe", key: "state.running" },
  [TaskState.PAUSED]: { className: "border-2 border-primary", key: "state.paused" },
  // The strongest of all: nothing goes on without the user.
  [TaskState.AWAITING_USER]: { className: "size-2.5 bg-orange-500 ring-3 ring-orange-500/30", key: "state.awaiting" },
  [TaskState.SUCCEEDED]: { className: "bg-success/70", key: "state.succeeded" },
  [TaskState.FAILED]: { className: "bg-destructive/70", key: "state.failed" },
  [TaskState.CANCELLED]: { className: "bg-muted-foreground/40", key: "state.cancelled" },
};

function StateDot({ state }: { readonly state: TaskState }): ReactNode {
  const t = useText();
  const { className, key } = DOTS[state];
  return <span role="img" aria-label={t(key)} title={t(key)} className={cn("size-2 shrink-0 rounded-full", className)} />;
}

function ListSkeleton(): ReactNode {
  return (
    <div aria-hidden className="space-y-2 p-2">
      {["w-4/5", "w-3/5", "w-2/3", "w-1/2"].map((width) => <div key={width} className={cn("h-5 animate-breathe rounded-md bg-muted", width)} />)}
    </div>
  );
}

interface ViewLinkProps {
  readonly route: Route;
  readonly icon: ReactNode;
  readonly children: ReactNode;
  readonly count?: number;
  onNavigate(): void;
}

function ViewLink({ route, icon, children, count = 0, onNavigate }: ViewLinkProps): ReactNode {
  const shown = useRoute((state) => state.route.view === route.view);
  return (
    <a
      href={fragmentOf(route)}
      onClick={onNavigate}
      aria-current={shown ? "page" : undefined}
      className={cn(
        "flex h-9 items-center gap-2.5 rounded-lg px-2.5 text-sm transition-colors [&>svg]:size-4 [&>svg]:text-muted-foreground",
        shown ? "bg-accent font-medium text-accent-foreground" : "hover:bg-muted dark:hover:bg-secondary/60",
      )}
    >
      {icon}
      <span className="flex-1">{children}</span>
      {count > 0 && <span className="rounded-full bg-warning px-1.5 text-xs leading-5 font-semibold text-background tabular-nums">{count}</span>}
    </a>
  );
}

/** Each language in its own words. */
const LANGUAGES: Record<Language, string> = { en: "English", zh: "中文" };

function LanguageMenu(): ReactNode {
  const t = useText();
  const { language, setLanguage } = useSettings();
  return (
    <Menu side="top" align="start" trigger={<Button variant="ghost" size="small" aria-label={`${t("language")}: ${LANGUAGES[language]}`}><Languages />{LANGUAGES[language]}</Button>}>
      <MenuChoice value={language} onChange={setLanguage} choices={[{ value: "en", label: LANGUAGES.en }, { value: "zh", label: LANGUAGES.zh }]} />
    </Menu>
  );
}

function SchemeMenu(): ReactNode {
  const t = useText();
  const { scheme, setScheme } = useSettings();
  const icon = scheme === "light" ? <Sun /> : scheme === "dark" ? <Moon /> : <SunMoon />;
  return (
    <Menu side="top" align="start" trigger={<Button variant="ghost" size="icon" aria-label={t("scheme")}>{icon}</Button>}>
      <MenuChoice
        value={scheme}
        onChange={setScheme}
        choices={[
          { value: "system", label: t("scheme.system"), icon: <SunMoon /> },
          { value: "light", label: t("scheme.light"), icon: <Sun /> },
          { value: "dark", label: t("scheme.dark"), icon: <Moon /> },
        ]}
      />
    </Menu>
  );
}
