import { Dialog as Drawer } from "@base-ui/react/dialog";
import { Menu as MenuIcon, PenLine } from "lucide-react";
import { useCallback, useEffect, useState, type ReactNode } from "react";
import { keepSession } from "./api/session.ts";
import { Conversation } from "./components/chat/conversation.tsx";
import { ConnectionBar } from "./components/layout/connection-bar.tsx";
import { ErrorBoundary } from "./components/layout/error-boundary.tsx";
import { Shortcuts, useShortcuts } from "./components/layout/shortcuts.tsx";
import { Sidebar } from "./components/layout/sidebar.tsx";
import { SignedOut } from "./components/layout/signed-out.tsx";
import { Button, buttonVariants } from "./components/ui/button.tsx";
import { TooltipProvider } from "./components/ui/tooltip.tsx";
import { ApprovalsView } from "./components/views/approvals-view.tsx";
import { DesktopsView } from "./components/views/desktops-view.tsx";
import { DiagnosticsView } from "./components/views/diagnostics-view.tsx";
import { PolicyView } from "./components/views/policy-view.tsx";
import { useText } from "./i18n/index.ts";
import { keepPageOnDrop } from "./lib/use-file-drop.ts";
import { useMedia } from "./lib/use-media.ts";
import { closeConversation } from "./store/conversation.ts";
import { useIdentity } from "./store/identity.ts";
import { startRefreshing, useLists } from "./store/lists.ts";
import { useRoute, type Route } from "./store/route.ts";

export function App(): ReactNode {
  const t = useText();
  const route = useRoute((state) => state.route);
  const signedOut = useLists((state) => state.problem?.kind === "signedOut");
  const wide = useMedia("(min-width: 48rem)");
  const [drawer, setDrawer] = useState(false);
  const [help, setHelp] = useState(false);
  const openHelp = useCallback(() => setHelp(true), []);
  const closeDrawer = useCallback(() => setDrawer(false), []);
  const search = useCallback(() => setDrawer(true), []);
  useShortcuts({ onHelp: openHelp, onSearch: search });
  useEffect(startRefreshing, []);
  useEffect(() => keepSession(({ name, roles }) => useIdentity.setState({ name, roles })), []);
  useEffect(keepPageOnDrop, []);
  useEffect(() => {
    if (route.view === "new") closeConversation();
  }, [route]);

  if (signedOut) return <SignedOut />;
  return (
    <TooltipProvider>
      <a href={`#main`} onClick={(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }} className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-60 focus:rounded-lg focus:bg-card focus:px-3 focus:py-2">
        {t("skip")}
      </a>
      <div className="flex h-full">
        {wide && (
          <aside aria-label={t("conversations")} className="w-[17.5rem] shrink-0 border-r">
            <Sidebar onNavigate={closeDrawer} onShortcuts={openHelp} />
          </aside>
        )}
        <div className="flex min-w-0 flex-1 flex-col">
          {!wide && <TopBar onMenu={() => setDrawer(true)} />}
          <ConnectionBar />
          <main id="main" tabIndex={-1} className="flex min-h-0 flex-1 flex-col outline-none"><ErrorBoundary key={partOf(route)}><View route={route} /></ErrorBoundary></main>
        </div>
      </div>
      {!wide && (
        <Drawer.Root open={drawer} onOpenChange={setDrawer}>
          <Drawer.Portal>
            <Drawer.Backdrop className="fixed inset-0 z-40 bg-black/45 transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0" />
            <Drawer.Popup
              aria-label={t("conversations")}
              className="fixed inset-y-0 left-0 z-50 w-[min(86vw,19rem)] border-r shadow-raised transition-transform duration-200 data-ending-style:-translate-x-full data-starting-style:-translate-x-full"
            >
              <Sidebar onNavigate={closeDrawer} onShortcuts={openHelp} />
            </Drawer.Popup>
          </Drawer.Portal>
        </Drawer.Root>
      )}
      <Shortcuts open={help} onOpenChange={setHelp} />
    </TooltipProvider>
  );
}

/** The part of the page that a route shows. A conversation that begins is the empty page that it began on, and keeps the focus. */
function partOf(route: Route): string {
  return route.view === "new" || route.view === "conversation" ? "chat" : route.view;
}

function View({ route }: { readonly route: Route }): ReactNode {
  switch (route.view) {
    case "new": return <Conversation name={undefined} />;
    case "conversation": return <Conversation name={route.name} />;
    case "desktops": return <DesktopsView />;
    case "approvals": return <ApprovalsView />;
    case "policy": return <PolicyView rule={route.rule} />;
    case "diagnostics": return <DiagnosticsView />;
  }
}

function TopBar({ onMenu }: { onMenu(): void }): ReactNode {
  const t = useText();
  return (
    <header className="flex h-13 shrink-0 items-center gap-2 border-b bg-sidebar px-2">
      <Button variant="ghost" size="icon" aria-label={t("menu")} onClick={onMenu}><MenuIcon className="size-5" /></Button>
      <img src="/icon.svg" alt="" className="size-6 rounded-md" />
      <span className="flex-1 text-[0.9375rem] font-semibold tracking-tight">Motorium</span>
      <a href="#/" aria-label={t("new")} className={buttonVariants({ variant: "ghost", size: "icon" })}><PenLine className="size-4.5" /></a>
    </header>
  );
}
