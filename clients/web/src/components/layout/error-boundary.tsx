import { Component, type ReactNode } from "react";
import { useText } from "@/i18n/index.ts";

interface ErrorBoundaryProps {
  /** Another value tries again, such as another conversation. */
  readonly key?: string;
  readonly children: ReactNode;
}

/** Keeps a failure in one part of the page from taking the rest, such as Stop, with it. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { readonly failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { readonly failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    return this.state.failed ? <Failed /> : this.props.children;
  }
}

function Failed(): ReactNode {
  const t = useText();
  return (
    <p role="alert" className="rounded-xl border border-danger-line bg-danger-soft px-4 py-3 text-sm">
      {t("problem.page")}
    </p>
  );
}
