/** A model for the images: it answers as an endpoint for chat completions does, with the decisions that are written down here. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

interface Move {
  readonly thought: string;
  readonly progress: string;
  /** Text of the element to click, and the text to enter there. */
  readonly click?: string;
  readonly type?: string;
}

/** Goals, by a part of their text. One without moves is thought about for as long as the images are taken. */
const GOALS: Readonly<Record<string, { readonly moves: readonly Move[]; readonly answer: string; readonly evidence: string }>> = {
  "trip to Lisbon": {
    moves: [
      { thought: "The report is empty. I begin with the traveller: Ann Lee.", progress: "Entering the traveller", click: "Traveller", type: "Ann Lee" },
      { thought: "The traveller is entered. The trip goes to Lisbon.", progress: "Entering the destination", click: "Destination", type: "Lisbon" },
      { thought: "Traveller and destination are there. The user wants to see the preview, and nothing is sent by it.", progress: "Opening the preview", click: "Preview" },
    ],
    answer: "The preview is ready: **Ann Lee**, *Lisbon*. Amount and purpose are still empty.",
    evidence: "Preview is ready",
  },
};

export class Model {
  private constructor(private readonly server: Server) {}

  static async start(): Promise<Model> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        const { messages } = JSON.parse(Buffer.concat(parts).toString()) as { messages: readonly { readonly content: unknown }[] };
        const text = messages.map(({ content }) => textOf(content)).join("\n");
        const decision = decide(text);
        if (decision === undefined) return;
        const body = JSON.stringify({
          id: "chatcmpl-1", object: "chat.completion", model: "local-vl",
          choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: JSON.stringify(decision, null, 2) } }],
          usage: { prompt_tokens: Math.round(text.length / 4) + 1_100, completion_tokens: 96 },
        });
        // As long as a small model takes; an answer at once would be no picture of one.
        setTimeout(() => response.setHeader("content-type", "application/json").end(body), 900);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Model(server);
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part: { readonly text?: string }) => part.text ?? "").join("\n") : "";
}

/** The next decision; undefined to go on thinking. */
function decide(text: string): object | undefined {
  const goal = Object.entries(GOALS).find(([part]) => text.includes(part))?.[1];
  if (goal === undefined) return undefined;
  // Each decision is told in the history of the next ones.
  const done = goal.moves.filter(({ thought }) => text.includes(thought)).length;
  const move = goal.moves[done];
  if (move === undefined) {
    return { thought: "The preview is shown below the buttons.", progress: "Checking the preview", next: "done", message: goal.answer, evidence: [goal.evidence] };
  }
  const actions = [
    ...(move.click === undefined ? [] : [{ intent: `click "${move.click}"`, action: "click", element_id: elementCalled(text, move.click) }]),
    ...(move.type === undefined ? [] : [{ intent: `type "${move.type}"`, action: "type_text", text: move.type }]),
  ];
  return { thought: move.thought, progress: move.progress, next: "act", actions };
}

/** Number of the first element with a text in the list of the current screen, which is the last one. */
function elementCalled(text: string, label: string): number {
  const line = text.split("\n").toReversed().find((candidate) => candidate.startsWith("[") && candidate.includes(`"${label}"`));
  return Number(/^\[(\d+)\]/.exec(line ?? "")?.[1] ?? 9_999);
}
