// Only the visible part of an element gets a box, at the right position. Needs a browser.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { withBrowser } from './browser.js';
import { measure, settle } from './measure.js';

const acts = { button: true, image: false, icon: true, menu_item: true, drop_down: true };
const at = (left, top, width, height) =>
  `position:absolute;left:${left}px;top:${top}px;width:${width}px;height:${height}px`;
const button = (style) => `<span data-k="button" style="${style};background:#ccc"></span>`;
let boxesOf;
let done;
let ended;

before(
  () =>
    new Promise((ready) => {
      ended = withBrowser(process.env.CHROMIUM ?? '/usr/bin/chromium', async (show, cdp, page) => {
        boxesOf = async (body, scale = 1) => {
          await show({
            width: 400,
            height: 200,
            scale,
            sheets: [],
            root: '',
            rootClass: '',
            css: 'body{margin:0}',
            body,
          });
          await page.evaluate(settle);
          return page.evaluate(measure, { scale, acts });
        };
        ready();
        await new Promise((end) => (done = end));
      });
    }),
);
after(() => {
  done();
  return ended;
});

test('a control that is seen has its box in pixels of the picture', async () => {
  const [box] = await boxesOf(button(at(20, 40, 100, 24)), 1.25);
  assert.deepEqual(box, { class: 'button', box: [25, 50, 150, 80], visible: 1, interactable: true, state: {}, text: '' });
});

test('what a backdrop dims has no box, and what stands on the backdrop has one', async () => {
  const backdrop = `<div style="position:absolute;inset:0;background:#0008"></div>`;
  const found = await boxesOf(button(at(20, 40, 100, 24)) + backdrop + button(at(200, 40, 100, 24)));
  assert.deepEqual(
    found.map((one) => one.box),
    [[200, 40, 300, 64]],
  );
});

test('of what is cut off, the part that is seen has the box', async () => {
  const [box] = await boxesOf(`<div style="${at(0, 0, 80, 100)};overflow:hidden">${button(at(20, 40, 100, 24))}</div>`);
  assert.deepEqual([box.box, box.visible], [[20, 40, 80, 64], 0.6]);
});

test('what is nearly covered has no box', async () => {
  const cover = `<div style="${at(20, 30, 80, 50)};background:#fff"></div>`;
  assert.deepEqual(await boxesOf(button(at(20, 40, 100, 24)) + cover), []);
});

test('of a pictogram without a frame all that a click reaches has the box', async () => {
  const drawing =
    '<svg style="position:absolute;left:8px;top:8px" width="16" height="16"><path d="M0 0h16v16H0z"/></svg>';
  const [box] = await boxesOf(`<span data-k="icon" style="${at(50, 50, 32, 32)}">${drawing}</span>`);
  assert.deepEqual(box.box, [50, 50, 82, 82]);
});

test('a picture that is a link can be acted on, and another cannot', async () => {
  const image = (x, more) => `<span data-k="image" ${more} style="${at(x, 10, 60, 60)};background:#a63"></span>`;
  const found = await boxesOf(image(10, 'data-i="1"') + image(100, ''));
  assert.deepEqual(
    found.map((one) => one.interactable),
    [true, false],
  );
});

test('what is open stands under its opener', async () => {
  const opener = `<span data-opener="a" data-k="drop_down" data-s='{"expanded":true}' style="${at(30, 20, 90, 24)};background:#eee"></span>`;
  const open =
    '<div data-under="a" style="position:absolute"><div data-k="menu_item" style="width:90px;height:20px;background:#fff"></div></div>';
  const found = await boxesOf(opener + open);
  assert.deepEqual(
    found.map((one) => one.box),
    [
      [30, 20, 120, 44],
      [30, 44, 120, 64],
    ],
  );
  assert.equal(found[0].state.expanded, true);
});

test('nothing is open under an opener that is covered', async () => {
  const opener = `<span data-opener="a" data-k="drop_down" style="${at(30, 20, 90, 24)}"></span><div style="${at(0, 0, 400, 60)};background:#fff"></div>`;
  assert.deepEqual(
    await boxesOf(
      `${opener}<div data-under="a" style="position:absolute"><div data-k="menu_item" style="width:90px;height:20px"></div></div>`,
    ),
    [],
  );
});

test('a pointer covers nothing', async () => {
  const pointer = `<svg class="pointer" style="${at(20, 40, 100, 24)}"><rect width="100" height="24"/></svg>`;
  assert.equal((await boxesOf(button(at(20, 40, 100, 24)) + pointer)).length, 1);
});

test('what is written on a control is known, if all of it is seen', async () => {
  const written = (inner) => `<span data-k="button" style="${at(20, 40, 200, 24)};overflow:hidden;background:#ccc">${inner}</span>`;
  const textOf = async (inner) => (await boxesOf(written(inner)))[0].text;
  assert.equal(await textOf('<b>Save</b> the   file'), 'Save the file');
  assert.equal(await textOf('Save<span style="display:none">d</span>'), 'Save');
  assert.equal(await textOf('<input value="12"><input type="checkbox">'), '12');
  assert.equal(await textOf('<input placeholder="Find">'), 'Find');
  assert.equal(await textOf('<select><option>one<option selected>two</select>'), 'two');
  assert.equal(await textOf(`<span style="white-space:nowrap">${'much '.repeat(40)}</span>`), undefined);
  assert.equal(await textOf(`Tab<i data-k="icon" style="${at(150, 2, 20, 20)};background:#333">×</i>`), 'Tab');
});
