import type { ReactNode } from "react";

/** The frame of a view that is not a conversation. */
export function Page({ title, text, children }: { readonly title: string; readonly text: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto w-full max-w-[60rem] px-4 py-7 sm:px-8 sm:py-10">
        <h1 className="text-2xl font-semibold tracking-tight">{title}</h1>
        <p className="mt-1.5 max-w-2xl text-[0.9375rem] text-pretty text-muted-foreground">{text}</p>
        <div className="mt-7">{children}</div>
      </div>
    </div>
  );
}

export function EmptyState({ icon, title, text }: { readonly icon: ReactNode; readonly title: string; readonly text: string }): ReactNode {
  return (
    <div className="flex flex-col items-center rounded-2xl border border-dashed px-6 py-16 text-center">
      <span className="flex size-12 items-center justify-center rounded-full bg-muted text-muted-foreground [&_svg]:size-5.5">{icon}</span>
      <p className="mt-4 font-semibold">{title}</p>
      <p className="mt-1 max-w-sm text-sm text-balance text-muted-foreground">{text}</p>
    </div>
  );
}
