import { FilePenLine, ListChecks, TextSearch, Type } from "lucide-react";
import type { ReactNode } from "react";
import { useText, type Key } from "@/i18n/index.ts";
import { changeDraft, NEW } from "@/store/prompt.ts";
import { PROMPT_ID } from "./prompt-box.tsx";

// Tasks that work on a virtual desktop without a model, a key or a network.
const SUGGESTIONS: readonly { readonly title: Key; readonly goal: Key; readonly icon: ReactNode }[] = [
  { title: "suggestion.note.title", goal: "suggestion.note.goal", icon: <FilePenLine /> },
  { title: "suggestion.menu.title", goal: "suggestion.menu.goal", icon: <ListChecks /> },
  { title: "suggestion.replace.title", goal: "suggestion.replace.goal", icon: <Type /> },
  { title: "suggestion.find.title", goal: "suggestion.find.goal", icon: <TextSearch /> },
];

export function Welcome(): ReactNode {
  const t = useText();
  const choose = (goal: string): void => {
    changeDraft(NEW, { text: goal });
    document.getElementById(PROMPT_ID)?.focus();
  };
  return (
    <div className="my-auto flex flex-col items-center py-2 sm:py-8">
      <img src="/icon.svg" alt="" className="mb-5 hidden size-14 rounded-2xl shadow-raised sm:block" />
      <h1 className="text-center text-[1.75rem] leading-tight font-semibold tracking-tight text-balance sm:text-4xl">{t("welcome.title")}</h1>
      <p className="mt-3 max-w-xl text-center text-[0.9375rem] leading-relaxed text-balance text-muted-foreground sm:text-base">{t("welcome.text")}</p>
      <ul className="mt-7 grid w-full gap-2.5 sm:mt-9 sm:grid-cols-2 sm:gap-3" aria-label={t("suggestions")}>
        {SUGGESTIONS.map(({ title, goal, icon }) => (
          <li key={title}>
            <button
              type="button"
              onClick={() => choose(t(goal))}
              className="group flex h-full w-full items-start gap-3.5 rounded-2xl border bg-card px-4 py-3.5 text-left shadow-card transition-[border-color,box-shadow,translate] duration-150 hover:-translate-y-px hover:border-ring/60 hover:shadow-raised"
            >
              <span className="mt-0.5 flex size-8 shrink-0 items-center justify-center rounded-lg bg-accent text-primary [&_svg]:size-4">{icon}</span>
              <span className="min-w-0">
                <span className="block text-sm font-semibold">{t(title)}</span>
                <span className="mt-0.5 line-clamp-2 text-[0.8125rem] leading-5 text-muted-foreground">{t(goal)}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
