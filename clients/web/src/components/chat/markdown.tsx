/**
 * Markdown of an answer as React elements. Answers contain what was read from screens, so nothing in them is trusted: HTML is
 * shown as the text that it is, links lead only to web and mail addresses and show where, and images are links, because
 * loading one would tell its server that the answer was read.
 */
import { Lexer, type Token, type Tokens } from "marked";
import { memo, useMemo, type ReactNode } from "react";

export const Markdown = memo(function Markdown({ text }: { readonly text: string }): ReactNode {
  const tokens = useMemo(() => tokensOf(text), [text]);
  return <div className="space-y-3 leading-relaxed wrap-anywhere">{blocks(tokens)}</div>;
});

// Deeper than any answer that a person reads. Both the parser and React descend by recursion.
const DEEPEST = 24;

/** The tokens of a text; the text as it is if it nests without end, as a hostile page may have it. */
function tokensOf(text: string): readonly Token[] {
  const plain: Token = { type: "plain", raw: text };
  try {
    const tokens = new Lexer({ gfm: true, breaks: true }).lex(text);
    return isDeeper(tokens, DEEPEST) ? [plain] : tokens;
  } catch {
    return [plain];
  }
}

function isDeeper(tokens: readonly Token[], levels: number): boolean {
  if (levels === 0) return true;
  return tokens.some((token) => {
    const items = token.type === "list" ? (token as Tokens.List).items : [];
    const inner = "tokens" in token ? token.tokens ?? [] : [];
    return inner.length > 0 && isDeeper(inner, levels - 1) || items.some((item) => isDeeper(item.tokens, levels - 1));
  });
}

/** The address if following it is harmless, otherwise undefined. */
export function safeAddress(href: string): string | undefined {
  try {
    const url = new URL(href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

function blocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, index) => <Block key={index} token={token} />);
}

const HEADINGS = ["text-lg font-semibold", "text-base font-semibold", "text-[0.9375rem] font-semibold"];

function Block({ token }: { readonly token: Token }): ReactNode {
  switch (token.type) {
    case "space": case "def": return null;
    // A heading of an answer is not one of the page, whose levels it would break.
    case "heading": return <p className={HEADINGS[Math.min(token["depth"] as number, 3) - 1]}>{inline(token.tokens)}</p>;
    case "paragraph": return <p>{inline(token.tokens)}</p>;
    case "text": return "tokens" in token && token.tokens ? <>{inline(token.tokens)}</> : <>{unescape(token["text"] as string)}</>;
    case "code": return (
      <pre tabIndex={0} className="overflow-x-auto rounded-xl border bg-muted px-3.5 py-3 font-mono text-[0.8125rem] leading-relaxed">
        <code>{token["text"] as string}</code>
      </pre>
    );
    case "blockquote": return <blockquote className="space-y-2 border-l-2 pl-3.5 text-muted-foreground">{blocks(token.tokens ?? [])}</blockquote>;
    case "hr": return <hr />;
    case "list": return <List list={token as Tokens.List} />;
    case "table": return <Table table={token as Tokens.Table} />;
    default: return <p className="whitespace-pre-wrap">{token.raw}</p>;
  }
}

function List({ list }: { readonly list: Tokens.List }): ReactNode {
  const items = list.items.map((item, index) => (
    <li key={index} className={item.task ? "list-none" : undefined}>
      {item.task && <span aria-hidden className="mr-2">{item.checked ? "☑" : "☐"}</span>}
      {blocks(item.tokens)}
    </li>
  ));
  const className = "space-y-1 pl-5 marker:text-muted-foreground";
  return list.ordered
    ? <ol start={list.start === "" ? 1 : list.start} className={`list-decimal ${className}`}>{items}</ol>
    : <ul className={`list-disc ${className}`}>{items}</ul>;
}

function Table({ table }: { readonly table: Tokens.Table }): ReactNode {
  return (
    <div tabIndex={0} className="overflow-x-auto rounded-xl border">
      <table className="w-full text-left text-[0.8125rem]">
        <thead className="bg-muted text-muted-foreground">
          <tr>{table.header.map((cell, index) => <th key={index} className="px-3 py-2 font-medium">{inline(cell.tokens)}</th>)}</tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index} className="border-t">
              {row.map((cell, column) => <td key={column} className="px-3 py-2 tabular-nums">{inline(cell.tokens)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[] | undefined): ReactNode {
  return (tokens ?? []).map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { readonly token: Token }): ReactNode {
  switch (token.type) {
    case "strong": return <strong className="font-semibold">{inline(token.tokens)}</strong>;
    case "em": return <em>{inline(token.tokens)}</em>;
    case "del": return <del>{inline(token.tokens)}</del>;
    case "codespan": return <code className="rounded-md bg-muted px-1.5 py-0.5 font-mono text-[0.85em]">{token["text"] as string}</code>;
    case "br": return <br />;
    case "link": return <Link href={token["href"] as string}>{inline(token.tokens)}</Link>;
    case "image": return <Link href={token["href"] as string}>{(token["text"] as string) || (token["href"] as string)}</Link>;
    case "escape": return <>{token["text"] as string}</>;
    case "text": return "tokens" in token && token.tokens ? <>{inline(token.tokens)}</> : <>{unescape(token["text"] as string)}</>;
    default: return <>{token.raw}</>;
  }
}

function Link({ href, children }: { readonly href: string; readonly children: ReactNode }): ReactNode {
  const address = safeAddress(href);
  if (address === undefined) return <span>{children}</span>;
  return (
    <a
      href={address}
      title={address}
      target="_blank"
      rel="noopener noreferrer nofollow"
      className="font-medium text-primary underline decoration-primary/40 underline-offset-3 hover:decoration-primary"
    >
      {children}
    </a>
  );
}

/** A message of the program: text in which names and sentences stand between backticks, and nothing else is markup. */
export function InlineCode({ text }: { readonly text: string }): ReactNode {
  return text.split(/`([^`]+)`/).map((part, index) => (
    index % 2 === 1 ? <code key={index} className="rounded-md bg-muted px-1.5 py-0.5 font-mono text-[0.85em]">{part}</code> : part
  ));
}

/** The lexer escapes a few characters for HTML, which React does again. */
function unescape(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (whole) => ENTITIES[whole] ?? whole);
}

const ENTITIES: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };
