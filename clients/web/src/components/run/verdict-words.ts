/** Verdicts in the words of the page. */
import { EffectVerdict } from "@gen/common/v1/effect_pb.ts";
import type { Key } from "@/i18n/index.ts";

export const VERDICT_WORDS: Record<EffectVerdict, Key> = {
  [EffectVerdict.UNSPECIFIED]: "verdict.unknown",
  [EffectVerdict.CONFIRMED]: "verdict.confirmed",
  [EffectVerdict.CHANGED_ELSEWHERE]: "verdict.elsewhere",
  [EffectVerdict.NO_EFFECT]: "verdict.none",
  [EffectVerdict.UNKNOWN]: "verdict.unknown",
  [EffectVerdict.END_REACHED]: "verdict.end",
  [EffectVerdict.TARGET_MOVED]: "verdict.moved",
  [EffectVerdict.TEXT_DIFFERS]: "verdict.text",
};
