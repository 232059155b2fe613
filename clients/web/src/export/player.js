// The player of an exported run. Plain JavaScript, because it is copied into the file as it is. Every text of the run becomes a
// text node; nothing of it is parsed as HTML.
"use strict";
(() => {
  const { replay, images, words } = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const COLOURS = { good: "#6366f1", neutral: "#6366f1", active: "#6366f1", unsure: "#d97706", bad: "#ef4444" };
  const count = replay.steps.length;
  let position = 0;
  let moment = "before";
  let timer;

  /** Makes an element with texts and elements in it. */
  const make = (name, properties = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value !== undefined) element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== undefined && child !== ""));
    return element;
  };
  const draw = (name, attributes) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60000)}:${String(Math.floor((ms % 60000) / 1000)).padStart(2, "0")} min`);

  const number = make("strong");
  const title = make("span", { class: "grow" });
  const before = make("button", { type: "button", onclick: () => show(position, "before") }, words.before);
  const after = make("button", { type: "button", onclick: () => show(position, "after") }, words.after);
  const image = make("img", { alt: "" });
  const overlay = document.createElementNS(SVG, "svg");
  overlay.setAttribute("aria-hidden", "true");
  const none = make("p", { class: "none" }, words.noScreen);
  const screen = make("div", { class: "screen" }, image, overlay, none);
  const said = make("div", { class: "said", role: "status" });
  const play = make("button", { type: "button", onclick: () => (timer === undefined ? start() : stop()) }, words.play);
  const slider = make("input", { type: "range", min: 0, max: Math.max(0, count - 1), step: 1, "aria-label": words.step, oninput: () => show(Number(slider.value)) });
  const rows = replay.steps.map((step, index) =>
    make("button", { type: "button", class: step.tone, onclick: () => { stop(); show(index); } },
      step.progress || `${words.step} ${step.number}`,
      make("small", {}, [step.outcome, step.endedAt === undefined ? "" : seconds(step.endedAt - step.startedAt)].filter(Boolean).join(" · "))));

  function show(next, chosen = moment) {
    position = Math.max(0, Math.min(count - 1, next));
    moment = chosen;
    const step = replay.steps[position];
    if (!step) {
      screen.replaceChildren(none);
      return;
    }
    const shownAfter = moment === "after" && images[step.after] ? "after" : "before";
    const url = images[step[shownAfter]];
    number.textContent = `${words.step} ${step.number} / ${count}`;
    title.textContent = step.window;
    before.setAttribute("aria-pressed", String(shownAfter === "before"));
    after.setAttribute("aria-pressed", String(shownAfter === "after"));
    after.disabled = !images[step.after];
    if (url) {
      image.src = url;
      image.alt = `${words.step} ${step.number}: ${step.window}`;
      screen.replaceChildren(image, overlay);
      drawOver(step, shownAfter);
    } else screen.replaceChildren(none);
    const [action] = step.actions.slice(-1);
    said.replaceChildren(
      make("span", {}, [action?.intent || step.progress, action?.target].filter(Boolean).join(" → ")),
      make("small", {}, make("span", { class: step.tone }, step.verdict || step.outcome), step.thought && step.thought !== action?.intent ? ` · ${step.thought}` : ""));
    slider.value = String(position);
    slider.setAttribute("aria-valuetext", `${words.step} ${step.number} / ${count}`);
    rows.forEach((row, index) => (index === position ? row.setAttribute("aria-current", "step") : row.removeAttribute("aria-current")));
    const row = rows[position];
    const list = row.parentElement.parentElement;
    if (row.offsetTop < list.scrollTop || row.offsetTop + row.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = row.offsetTop - list.clientHeight / 2;
  }

  /** Draws the targets and the pointer, or what changed. Lines are as thick on any screen. */
  function drawOver(step, shown) {
    const unit = step.width / 900;
    overlay.setAttribute("viewBox", `0 0 ${step.width} ${step.height}`);
    const rect = (box, colour, dashed) => draw("rect", {
      x: box.x - 2 * unit, y: box.y - 2 * unit, width: box.width + 4 * unit, height: box.height + 4 * unit, rx: 3 * unit,
      fill: colour, "fill-opacity": 0.12, stroke: colour, "stroke-width": 2 * unit, ...(dashed ? { "stroke-dasharray": `${5 * unit} ${4 * unit}` } : {}),
    });
    const marks = shown === "after"
      ? step.changed.map((box) => rect(box, "#10b981", true))
      : step.actions.filter((action) => action.box).map((action) => rect(action.box, COLOURS[action.tone] ?? COLOURS.neutral, false));
    const end = step.path[step.path.length - 1];
    if (end && shown === "before" && step.path.length > 1) {
      marks.push(draw("polyline", {
        points: step.path.map((point) => `${point.x},${point.y}`).join(" "), fill: "none", stroke: "#f43f5e", "stroke-width": 2 * unit,
        "stroke-linecap": "round", "stroke-dasharray": `${0.1 * unit} ${6 * unit}`,
      }));
    }
    if (end) {
      marks.push(draw("circle", { cx: end.x, cy: end.y, r: 13 * unit, fill: "#f43f5e", "fill-opacity": 0.2, stroke: "#f43f5e", "stroke-width": 2.5 * unit }));
      marks.push(draw("circle", { cx: end.x, cy: end.y, r: 3 * unit, fill: "#f43f5e" }));
    }
    overlay.replaceChildren(...marks);
  }

  function start() {
    if (position >= count - 1) show(0);
    play.textContent = words.pause;
    const step = replay.steps[position];
    const taken = step && step.endedAt !== undefined ? step.endedAt - step.startedAt : 0;
    timer = setTimeout(() => {
      show(position + 1);
      if (position < count - 1) start();
      else stop();
    }, Math.max(700, Math.min(2500, taken)));
  }
  function stop() {
    clearTimeout(timer);
    timer = undefined;
    play.textContent = words.play;
  }

  const elapsed = replay.endedAt === undefined ? "" : seconds(replay.endedAt - replay.createdAt);
  const tone = { succeeded: "good", failed: "bad", cancelled: "unsure", unfinished: "unsure" }[replay.state];
  const facts = [
    `${count} ${words.steps}`, elapsed, new Date(replay.createdAt).toLocaleString(document.documentElement.lang),
    replay.usage.calls > 0 ? `${replay.usage.calls} ${words.calls}, ${replay.usage.tokens} ${words.tokens}` : "",
    replay.usage.calls > 0 && replay.usage.cost !== undefined ? `$${replay.usage.cost.toFixed(4)}` : "",
  ].filter(Boolean).join(" · ");
  const text = (value, name = "text") => make("p", { class: name }, value);
  const section = (heading, ...children) => (children.length > 0 ? make("section", { class: "card" }, make("h2", {}, heading), ...children) : undefined);

  document.getElementById("player").append(
    make("h1", {}, replay.goal),
    make("p", { class: "facts" }, make("strong", { class: tone }, words[replay.state]), ` · ${facts}`),
    make("div", { class: "columns" },
      make("div", { class: "card" },
        make("div", { class: "bar" }, number, title, before, after),
        screen, said,
        make("div", { class: "controls" }, play, slider)),
      make("nav", { class: "card", "aria-label": words.steps }, make("ol", {}, ...rows.map((row) => make("li", {}, row))))),
    ...[
      section(words.answer, ...[replay.failure, replay.answer].filter(Boolean).map((value) => text(value))),
      section(words.conversation, ...replay.messages.map((message) => text(message.text, message.from === "user" ? "text user" : "text"))),
      section(words.extracted, ...replay.extractions.map((extraction) => make("pre", {}, extraction.json))),
      section(words.files, ...[...replay.files, ...replay.results].map((name) => text(name))),
    ].filter((found) => found !== undefined));
  document.addEventListener("keydown", (event) => {
    if (event.target === slider || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowRight") show(position + 1);
    else if (event.key === "ArrowLeft") show(position - 1);
  });
  show(0);
})();
