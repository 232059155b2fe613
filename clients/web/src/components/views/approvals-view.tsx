import { ShieldCheck } from "lucide-react";
import type { ReactNode } from "react";
import { ApprovalCard, taskOf } from "@/components/chat/approval-card.tsx";
import { buttonVariants } from "@/components/ui/button.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { useText } from "@/i18n/index.ts";
import { refreshLists, useLists } from "@/store/lists.ts";
import { fragmentOf } from "@/store/route.ts";
import { EmptyState, Page } from "./page.tsx";

/** Every action that waits for an approval, of all tasks. */
export function ApprovalsView(): ReactNode {
  const t = useText();
  const { approvals, tasks, loaded, problem } = useLists();
  return (
    <Page title={t("approvals")} text={t("approvals.text")}>
      {problem && <ProblemNotice problem={problem} className="mb-4" onRetry={() => void refreshLists()} />}
      {loaded && approvals.length === 0 && <EmptyState icon={<ShieldCheck />} title={t("approvals.none")} text={t("approvals.noneText")} />}
      <ul className="space-y-5">
        {approvals.map((approval) => {
          const name = taskOf(approval);
          const task = tasks.find((candidate) => candidate.name === name);
          return (
            <li key={approval.name}>
              <ApprovalCard approval={approval} goal={task?.goal ?? name}>
                <a className={buttonVariants({ variant: "ghost", size: "small", className: "-ml-2" })} href={fragmentOf({ view: "conversation", name: task?.session || name })}>
                  {t("approvals.open")}
                </a>
              </ApprovalCard>
            </li>
          );
        })}
      </ul>
    </Page>
  );
}
