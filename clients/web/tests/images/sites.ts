/** Pages for the desktops of the images: an office at work, under names of this machine. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

const STYLE = `<style>
body{margin:0;font:16px/1.5 "DejaVu Sans","Noto Sans CJK SC",sans-serif;background:#eef1f7;color:#1d2536}
header{background:var(--brand);color:#fff;padding:18px 40px;font-weight:600;display:flex;gap:34px}header span{font-weight:400;opacity:.85}
main{max-width:1060px;margin:28px auto;background:#fff;border:1px solid #d9deea;border-radius:12px;padding:30px 40px}
h1{font-size:25px;margin:0 0 18px}table{width:100%;border-collapse:collapse;font-size:15px}th{text-align:left;color:#5a6783;font-size:13px}
td,th{padding:11px 8px;border-bottom:1px solid #e5e9f2}td:last-child,th:last-child{text-align:right}
b.state{padding:2px 12px;border-radius:99px;font-size:13px;background:#e3f5ea;color:#0b7a3e}b.late{background:#fdecdc;color:#a4510a}
form{display:grid;grid-template-columns:1fr 1fr;gap:18px 30px}label{display:grid;gap:5px;font-weight:600;font-size:14px}
input{font:inherit;font-weight:400;padding:10px 12px;border:1px solid #9aa5bd;border-radius:7px}p{grid-column:1/-1;margin:6px 0 0;display:flex;gap:12px}
button{font:inherit;font-weight:600;padding:11px 22px;border-radius:7px;border:1px solid var(--brand);background:#fff;color:var(--brand)}
button.main{background:var(--brand);color:#fff}output{grid-column:1/-1;color:#0b7a3e;font-weight:600;min-height:1.5em}
aside{margin-top:22px;display:grid;grid-template-columns:repeat(3,1fr);gap:16px}aside div{border:1px solid #e5e9f2;border-radius:9px;padding:14px 18px;color:#5a6783;font-size:14px}
aside strong{display:block;font-size:23px;color:#1d2536}</style>`;

function page(title: string, brand: string, name: string, tabs: readonly string[], content: string): string {
  return `<!doctype html><meta charset="utf-8"><title>${title}</title>${STYLE}<body style="--brand:${brand}">
<header>${name}${tabs.map((tab) => `<span>${tab}</span>`).join("")}</header><main><h1>${title}</h1>${content}</main>`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[], kind: string): string => `<tr>${cells.map((cell) => `<${kind}>${cell}</${kind}>`).join("")}</tr>`;
  return `<table>${row(head, "th")}${rows.map((cells) => row(cells, "td")).join("")}</table>`;
}

const good = (text: string): string => `<b class="state">${text}</b>`;
const late = (text: string): string => `<b class="state late">${text}</b>`;
const facts = (...pairs: readonly (readonly [string, string])[]): string =>
  `<aside>${pairs.map(([value, label]) => `<div><strong>${value}</strong>${label}</div>`).join("")}</aside>`;

const PAGES: Readonly<Record<string, string>> = {
  travel: page("Expense report", "#24396b", "Northwind Travel", ["Trips", "Expenses", "Approvals"], `<form onsubmit="return false">
${["Traveller", "Destination", "Amount", "Purpose"].map((field) => `<label>${field}<input></label>`).join("")}
<p><button class="main">Save draft</button><button onclick="o.textContent='Preview is ready'">Preview</button></p><output id="o"></output></form>
${facts(["3", "reports of this month"], ["€ 1,284", "paid out in April"], ["2 days", "until approval, on average"])}`),
  billing: page("Open invoices", "#0f5f56", "Contoso Billing", ["Invoices", "Customers", "Reports"], table(["Number", "Customer", "Due", "State", "Amount"], [
    ["2026-118", "Fabrikam Ltd", "4 May", good("sent"), "€ 2,400.00"], ["2026-117", "Adventure Works", "2 May", good("sent"), "€ 812.50"],
    ["2026-112", "Litware Inc", "21 April", late("overdue"), "€ 1,190.00"], ["2026-109", "Proseware", "14 April", late("overdue"), "€ 356.20"],
    ["2026-104", "Wide World Importers", "30 April", good("sent"), "€ 4,075.00"],
  ]) + facts(["€ 8,833.70", "open"], ["€ 1,546.20", "overdue"], ["12 days", "until payment, on average"])),
  rooms: page("Rooms on Monday", "#8a4b12", "Fourth Coffee Office", ["Rooms", "Visitors", "Post"], table(["Time", "Room", "Meeting", "State", "Seats"], [
    ["09:00", "Lisbon", "Budget of the second quarter", good("confirmed"), "6 / 8"], ["10:30", "Oslo", "Interview, second round", good("confirmed"), "3 / 4"],
    ["11:00", "Lisbon", "Northwind: customer workshop", late("no projector"), "8 / 8"], ["14:00", "Nairobi", "Minutes of last week", good("confirmed"), "5 / 12"],
    ["15:30", "Oslo", "Lease of the new office", late("unconfirmed"), "2 / 4"],
  ]) + facts(["3", "rooms in use"], ["7", "visitors today"], ["2", "open requests"])),
  support: page("Tickets", "#6a2c70", "Tailspin Support", ["Inbox", "Knowledge", "Team"], table(["Ticket", "Subject", "From", "State", "Age"], [
    ["#4821", "The export has no header row", "M. Okafor", late("waiting"), "2 h"], ["#4820", "Password reset mail arrives late", "J. Lindqvist", good("answered"), "3 h"],
    ["#4817", "Invoice in Japanese", "S. Tanaka", late("waiting"), "5 h"], ["#4815", "Two users, one address", "P. Novák", good("answered"), "7 h"],
    ["#4809", "Dark colours on the tablet", "L. Haddad", good("answered"), "1 d"],
  ]) + facts(["14", "open"], ["38 min", "until the first answer"], ["96 %", "satisfied"])),
};

export class Sites {
  private constructor(private readonly server: Server) {}

  static async start(): Promise<Sites> {
    const server = createServer(({ headers }, response) => {
      const name = (headers.host ?? "").split(".")[0] ?? "";
      response.setHeader("content-type", "text/html; charset=utf-8").end(PAGES[name] ?? "");
    });
    // A port that an office would have, if it is free.
    await new Promise<void>((resolve) => {
      server.once("error", () => server.listen(0, "127.0.0.1", resolve));
      server.listen(8080, "127.0.0.1", resolve);
    });
    return new Sites(server);
  }

  address(name: keyof typeof PAGES): string {
    return `http://${name}.localhost:${(this.server.address() as AddressInfo).port}/`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
