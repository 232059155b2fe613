// A state is labelled only if it is visible: each control of each kit and look is drawn with and without the state, and
// the images must differ. Needs a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withBrowser } from './browser.js';
import { builder } from './builder.js';
import { css, look, looks } from './drawn.js';
import { kits } from './kits.js';
import { chance } from './random.js';
import { texts } from './words.js';

const KINDS = [
  'button',
  'icon',
  'text_field',
  'checkbox',
  'radio',
  'switch',
  'drop_down',
  'slider',
  'spin_box',
  'link',
];
const CHANGES = { disabled: { off: true }, focused: { focused: true }, checked: { on: true } };
const [WIDTH, HEIGHT] = [320, 60];

/** A page with every control, and its labels. */
function page(kit, name, theme, change) {
  const f = look(chance(`look ${name}`), name, theme);
  const cells = KINDS.map((kind) => {
    const r = chance(`cell ${kind}`);
    const b = builder(r, {
      kit,
      f,
      t: texts(r, 'en'),
      pictogram: () => '<svg viewBox="0 0 9 9"><path d="M1 1h7v7z"/></svg>',
      mono: 'x',
      width: 900,
      height: 600,
      page: { overlays: [], focusable: false },
    });
    return b.make(kind, {
      off: false,
      focused: false,
      on: false,
      text: 'Words',
      empty: false,
      framed: true,
      ...change,
    });
  });
  const body = cells
    .map(
      (cell, i) =>
        `<div style="position:absolute;overflow:hidden;left:0;top:${i * HEIGHT}px;width:${WIDTH}px;height:${HEIGHT}px;padding:12px;box-sizing:border-box">${cell}</div>`,
    )
    .join('');
  const dark = theme === 'dark';
  return {
    cells,
    screen: {
      width: WIDTH,
      height: HEIGHT * KINDS.length,
      scale: 1,
      sheets: (dark && kit.darkCss) || kit.css,
      root: (dark && kit.dark) || kit.root || '',
      rootClass: (dark && kit.darkClass) || '',
      css: `${css(f)}\nbody{margin:0!important;background:${f.base};color:${f.ink}}*,*::before,*::after{transition:none!important;animation:none!important;caret-color:transparent!important}`,
      body,
    },
  };
}

const says = { disabled: / data-off/, focused: / data-focused/, checked: /"checked":true/ };
const cases = [
  ...Object.entries(kits)
    .filter(([, kit]) => kit.css.length || Object.keys(kit.controls).length)
    .map(([name, kit]) => [name, kit, kit.looks?.[0] ?? 'flat']),
  ...Object.keys(looks).map((name) => [`look ${name}`, { css: [], controls: {} }, name]),
];

test('what the labels say of a state shows in the picture', { timeout: 600_000 }, () =>
  withBrowser(process.env.CHROMIUM ?? '/usr/bin/chromium', async (show, cdp, tab) => {
    const hidden = [];
    for (const [name, kit, lookName] of cases) {
      const shots = async (drawing, which) => {
        await show(drawing.screen);
        const taken = [];
        for (const i of which) {
          await tab.evaluate(() => document.activeElement?.blur());
          const clip = { x: 0, y: i * HEIGHT, width: WIDTH, height: HEIGHT, scale: 1 };
          // Only one element of a page can be focused, so each one in turn.
          await tab.evaluate(
            (at) =>
              document
                .elementFromPoint(20, at + 5)
                ?.closest('div')
                ?.querySelector('[data-focus]')
                ?.focus({ focusVisible: true }),
            i * HEIGHT,
          );
          taken[i] = (await cdp.send('Page.captureScreenshot', { format: 'png', clip, optimizeForSpeed: true })).data;
        }
        return taken;
      };
      const before = await shots(page(kit, lookName, 'light', {}), KINDS.keys());
      for (const [state, change] of Object.entries(CHANGES)) {
        const changed = page(kit, lookName, 'light', change);
        const affected = [...KINDS.keys()].filter((i) => says[state].test(changed.cells[i]));
        const after = await shots(changed, affected);
        for (const i of affected)
          if (after[i] === before[i]) hidden.push(`${name}: ${KINDS[i]} does not show that it is ${state}`);
      }
    }
    assert.deepEqual(hidden, []);
  }),
);
