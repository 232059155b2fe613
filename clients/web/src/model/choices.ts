/**
 * The answers that a question of the phrasebook offers, so that they can be pressed instead of typed. Read from its words in
 * either language; any other question has none, and is answered in words. Pure.
 */

export interface Choice {
  /** Words that are sent. */
  readonly answer: string;
  /** `done` and `retry` have words of the page; a candidate is described by the question itself. */
  readonly label: "done" | "retry" | { readonly candidate: string };
}

export interface ChoiceQuestion {
  /** The question without its instruction how to answer. */
  readonly message: string;
  readonly choices: readonly Choice[];
}

const DONE_OR_RETRY = [
  /\s*Check the screen, then answer `([^`]+)` if it [^`]{1,30} or `([^`]+)` if it [^`]{1,30}\.$/,
  /请查看：[^“”]{1,6}请回答“([^”]+)”，否则回答“([^”]+)”。$/,
];
// `(1) button "Edit", top right, (2) …`: the content is quoted, and may contain anything but a new line.
const CANDIDATES = /: (\d+) elements match: (\(1\) .+)\. Which one do you mean\?$|：有 (\d+) 处符合：(（1）.+)。指的是哪一个？$/;

export function choicesOf(text: string): ChoiceQuestion {
  const message = text.trim();
  for (const pattern of DONE_OR_RETRY) {
    const found = pattern.exec(message);
    const [instruction, done, retry] = found ?? [];
    if (instruction === undefined || done === undefined || retry === undefined) continue;
    return {
      message: message.slice(0, -instruction.length),
      choices: [{ answer: done, label: "done" }, { answer: retry, label: "retry" }],
    };
  }
  const found = CANDIDATES.exec(message);
  const list = found?.[2] ?? found?.[4] ?? "";
  const candidates = candidatesIn(list, Number(found?.[1] ?? found?.[3]));
  if (candidates.length === 0) return { message, choices: [] };
  return {
    // Without the list, which the choices say.
    message: message.replace(`: ${list}. Which`, ". Which").replace(`：${list}。指的`, "。指的"),
    choices: candidates.map((candidate, index) => ({ answer: String(index + 1), label: { candidate } })),
  };
}

/** Candidates by their numbers; none unless all are found, so that no number stands for another element. */
function candidatesIn(list: string, count: number): readonly string[] {
  if (list === "") return [];
  const found: string[] = [];
  let rest = list;
  for (let number = 1; number <= count; number++) {
    const mark = rest.startsWith("（") ? `（${number}）` : `(${number}) `;
    if (!rest.startsWith(mark)) return [];
    rest = rest.slice(mark.length);
    const next = /[,，] ?(?=[(（]\d+[)）])/g;
    let end = rest.length;
    for (let match = next.exec(rest); match; match = next.exec(rest)) {
      const following = rest.slice(match.index + match[0].length);
      if (!following.startsWith(`(${number + 1}) `) && !following.startsWith(`（${number + 1}）`)) continue;
      end = match.index;
      break;
    }
    found.push(rest.slice(0, end));
    rest = rest.slice(end).replace(/^[,，] ?/, "");
  }
  return rest === "" ? found : [];
}
