/** The policy that is active at the server. It is read whenever it is shown: its file may have changed since. */
import { create } from "zustand";
import type { Policy, PolicyTrial } from "@gen/orchestrator/v1/policy_pb.ts";
import { orchestrator } from "@/api/client.ts";
import { problemOf, type Problem } from "@/api/errors.ts";

interface PolicyState {
  readonly policy: Policy | undefined;
  readonly problem: Problem | undefined;
}

export const usePolicy = create<PolicyState>(() => ({ policy: undefined, problem: undefined }));

/** Reads the policy. The last one stays if that fails. */
export async function readPolicy(): Promise<void> {
  try {
    const { policy } = await orchestrator.getPolicy({});
    usePolicy.setState({ policy, problem: undefined });
  } catch (error) {
    usePolicy.setState({ problem: problemOf(error) });
  }
}

export interface TriedStep {
  readonly sentence: string;
  readonly application: string;
  readonly url: string;
  readonly surroundingTexts: readonly string[];
}

/** Asks for the judgement of the steps of a sentence. */
export async function testPolicy({ surroundingTexts, ...step }: TriedStep): Promise<readonly PolicyTrial[]> {
  const { trials } = await orchestrator.testPolicy({ ...step, surroundingTexts: [...surroundingTexts] });
  return trials;
}
