"use strict";
(() => {
  const steps = [...document.querySelectorAll(".step")];
  const knots = new Map(
    [...document.querySelectorAll(".knots a[href^='#step-']")].map((knot) => [knot.hash.slice(1), knot]),
  );
  const bar = document.querySelector(".knots");
  const top = () => bar.getBoundingClientRect().height + 12;
  // Returns the index of the step being read: the last one that starts at or above the top of the window.
  const current = () => {
    const line = top() + 4;
    let found = -1;
    steps.forEach((step, index) => {
      if (step.getBoundingClientRect().top <= line) found = index;
    });
    return found;
  };
  const mark = () => {
    const here = steps[current()];
    knots.forEach((knot, id) => {
      const is = here !== undefined && id === here.id;
      if (is === knot.hasAttribute("aria-current")) return;
      if (!is) return knot.removeAttribute("aria-current");
      knot.setAttribute("aria-current", "step");
      bar.scrollTo({ left: knot.offsetLeft - bar.clientWidth / 2 });
    });
  };
  const go = (index) => {
    if (index < 0) return window.scrollTo({ top: 0 });
    const step = steps[Math.min(index, steps.length - 1)];
    if (step) window.scrollTo({ top: window.scrollY + step.getBoundingClientRect().top - top() });
  };
  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (by === undefined || steps.length === 0) return;
    const here = current();
    // A step taller than the window is scrolled through before the next one is selected.
    const beyond = steps[here]?.getBoundingClientRect().bottom - innerHeight;
    if (by > 0 && here >= 0 && beyond > 40 && event.key === "ArrowDown") return;
    event.preventDefault();
    go(here + by);
  });
  addEventListener("scroll", mark, { passive: true });
  mark();
})();
