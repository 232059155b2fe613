// Derives a screen from a seed string: kit, look, font, icons, language, theme and size, and the windows with their
// content. Boxes are unknown here; elements only carry their labels (builder.js), and measure.js finds them.
//
// Everything named is chosen from the screen's own split and listed in `parts`, by which splits.test.js checks that
// splits are disjoint.

import { builder } from './builder.js';
import { browserHeads, decorations, panels, pointers, wallpapers } from './desktops.js';
import { css, look, looks } from './drawn.js';
import { fonts, iconSets, kits } from './kits.js';
import { layouts as testLayouts } from './layouts/test.js';
import { layouts as trainLayouts } from './layouts/train.js';
import { layouts as validationLayouts } from './layouts/validation.js';
import { scene } from './images.js';
import { chance } from './random.js';
import { language, texts } from './words.js';

const ofSplit = (drawings, split) =>
  Object.fromEntries(Object.entries(drawings).map(([name, draw]) => [name, { split, draw }]));
export const layouts = {
  ...ofSplit(trainLayouts, 'train'),
  ...ofSplit(validationLayouts, 'validation'),
  ...ofSplit(testLayouts, 'test'),
};
/** All named parts, by type. */
export const tables = {
  kits,
  looks,
  iconSets,
  fonts,
  layouts,
  decorations,
  panels,
  pointers,
  wallpapers,
  browserHeads,
};

const namesOf = (table, split, fits = () => true) =>
  Object.keys(table).filter((name) => table[name].split === split && fits(table[name]));
const shared = (table, names) => names.flatMap((name) => Array.from({ length: table[name].share ?? 1 }, () => name));

const TRAINING_SIZES =
  '800x600 1024x768 1280x720 1280x800 1280x1024 1366x768 1366x768 1440x900 1600x900 1680x1050 1920x1080 1920x1080 1920x1200 2560x1440 3440x1440 3840x2160';
const EVALUATION_SIZES = '1280x800 1920x1080 2560x1440';
/** Number of CSS pixels that makes a whole number of screen pixels. */
const WHOLE = { 1: 1, 1.25: 4, 1.5: 2, 1.75: 4, 2: 1, 2.5: 2, 3: 1 };

/** Width and height in CSS pixels, and screen pixels per CSS pixel. Both are whole, because the browser would round a
 * fractional size unpredictably. */
export function display(r, split) {
  const [w, h] = r
    .pick((split === 'train' ? TRAINING_SIZES : EVALUATION_SIZES).split(' '))
    .split('x')
    .map(Number);
  const fitting = Object.keys(WHOLE)
    .map(Number)
    .filter((scale) => w / scale >= 640 && h / scale >= 400 && (w / scale <= 2600 || scale > 1));
  const evaluated = fitting.filter((scale) => scale <= 2 && Number.isInteger(w / scale) && Number.isInteger(h / scale));
  const scale = w < 2500 && r.maybe(0.5) ? 1 : r.pick(split === 'train' ? fitting : evaluated);
  const whole = (length) => Math.floor(length / scale / WHOLE[scale]) * WHOLE[scale];
  return { width: whole(w), height: whole(h), scale };
}

function themeOf(r, kit) {
  const wanted = r.pick(['light', 'light', 'light', 'dark', 'dark', r.maybe(0.4) ? 'contrast' : 'light']);
  const styled = kit.css.length > 0;
  if (kit.light) return 'light';
  if (wanted === 'contrast' && styled) return 'light';
  if (wanted === 'dark' && styled && !kit.dark && !kit.darkCss && !kit.darkClass) return 'light';
  return wanted;
}

/** `svg(set, r)` returns a random icon; `only` lists the layouts to draw, if not all. */
export function screen(seed, split, svg, only = []) {
  const r = chance(seed);
  const parts = {};
  const choose = (table, fits) => {
    const names = namesOf(tables[table], split, fits);
    const wanted = table === 'layouts' && only.length ? names.filter((name) => only.includes(name)) : names;
    const name = r.pick(shared(tables[table], wanted));
    (parts[table] ??= []).push(name);
    return name;
  };
  const kitName = choose('kits');
  const kit = kits[kitName];
  const theme = themeOf(r, kit);
  const lookName = choose('looks', kit.looks ? (one) => kit.looks.some((name) => looks[name] === one) : undefined);
  const f = look(r, lookName, theme);
  const lang = language(r);
  const t = texts(r, lang);
  const use = (wanted) => (one) => one.use === wanted;
  const [words, mono, chinese, arabic] = ['words', 'code', 'chinese', 'arabic'].map((wanted) =>
    choose('fonts', use(wanted)),
  );
  const icons = choose('iconSets');
  const second = r.maybe(0.4) ? choose('iconSets') : icons;
  const { width, height, scale } = display(r, split);

  /** On a wide screen a single maximised window is rare, and would be empty. */
  const wide = width > 1500;
  /** Shared by all windows of the screen: at most one popup is open, and one element focused. */
  const page = { overlays: [], focusable: r.maybe(0.7) };
  const pictogram = () => svg(iconSets[r.maybe(0.8) ? icons : second], r);
  const partsFor = (w, h) => builder(r, { kit, f, t, pictogram, mono, width: w, height: h, page });
  const content = (w, h) => {
    const b = partsFor(w, h);
    const head = r.maybe(0.25) ? browserHeads[choose('browserHeads')].draw(b) : '';
    const inner = layouts[choose('layouts')].draw(b);
    return {
      b,
      html: `${head}<div style="position:relative;display:flex;flex-direction:column;flex:1;min-height:0;overflow:hidden">${inner}${r.maybe(0.2) ? inside(b) : ''}</div>`,
    };
  };
  const dialogOf = (b) =>
    b.make('dialog', {
      title: b.text(1, 4),
      body: `<div>${b.sentence()}</div>${r.maybe(0.6) ? b.things(1, 4) : ''}`,
      buttons: r.many(1, 3, () => b.button()).join(''),
      mark: r.maybe(0.4)
        ? `<span style="font-size:12px;display:flex;align-items:center" ${b.label('icon')}>${b.signs.close}</span>`
        : '',
      drawn: true,
    });
  /** A dialog over the content of a window. With a backdrop, the content behind is dimmed, not clickable and
   * unlabelled (measure.js sees that it is covered); without one it stays clickable and labelled. A backdrop is
   * always clearly visible. */
  function inside(b) {
    const backdrop = r.maybe(0.6)
      ? `<div style="position:absolute;inset:0;z-index:10;background:${r.pick(theme === 'light' ? ['#0009', '#0007', '#fffb', '#1239'] : ['#000b', '#000a', '#456b'])}${r.maybe(0.2) ? ';backdrop-filter:blur(3px)' : ''}"></div>`
      : '';
    const place = r.pick([
      'left:50%;top:50%;transform:translate(-50%,-50%)',
      'left:50%;top:40px;transform:translateX(-50%)',
      'right:16px;bottom:16px',
      'right:0;top:0;bottom:0',
    ]);
    const w = Math.min(r.int(240, 560), b.width - 20);
    return `${backdrop}<div style="position:absolute;z-index:11;${place};width:${w}px">${dialogOf(b)}</div>`;
  }

  const decoration = decorations[choose('decorations')];
  function framed(x, y, w, h, z, { active, dialog } = {}) {
    const { b, html } = dialog ? { b: partsFor(w, h), html: '' } : content(w, h);
    const body = dialog
      ? `<div class="dk-panel" style="padding:14px;flex:1;overflow:hidden">${b.things(1, 5)}</div>${b.line(`<span style="flex:1"></span>${r.many(1, 3, () => b.button()).join('')}`, 'padding:10px')}`
      : html;
    const attributes = dialog ? b.label('dialog') : '';
    return `<div ${attributes} class="dk-base" style="position:absolute;left:${x}px;top:${y}px;width:${w}px;height:${h}px;z-index:${z};display:flex;flex-direction:column;box-sizing:border-box;overflow:hidden;${decoration.frame}">${decoration.bar(b, b.text(1, 3), active)}<div class="dk-base" style="display:flex;flex-direction:column;flex:1;min-height:0;overflow:hidden">${body}</div></div>`;
  }
  function desktop() {
    const b = partsFor(width, height);
    const wallpaper = wallpapers[choose('wallpapers')];
    const panel = r.maybe(0.85) ? panels[choose('panels')] : undefined;
    const size = panel ? r.int(...panel.size) : 0;
    const both = panel ? size + 4 : 0;
    const behind = wallpaper.css ? `background:${wallpaper.css(r)}` : `background:#345`;
    const image = wallpaper.image
      ? `<svg viewBox="0 0 100 100" preserveAspectRatio="none" style="position:absolute;inset:0;width:100%;height:100%">${scene(r, wallpaper.image)}</svg>`
      : '';
    const links = r.maybe(0.5)
      ? `<div style="position:absolute;left:${panel?.side === 'left' ? size + 8 : 10}px;top:${both + 10}px;width:84px">${r.many(2, 7, () => `<div ${b.label('list_item', { selected: false })} style="text-align:center;color:#fff;text-shadow:0 1px 2px #000;margin-bottom:14px;overflow:hidden"><div style="font-size:34px;display:flex;justify-content:center">${pictogram()}</div>${b.text(1, 1)}</div>`).join('')}</div>`
      : '';
    const full = r.maybe(wide ? 0.1 : 0.25);
    const span = (length, min, max) => [Math.round(length * min), Math.round(length * max)];
    const [across, down] = wide
      ? [span(width, 0.25, 0.6), span(height, 0.3, 0.75)]
      : [span(width, 0.4, 0.9), span(height, 0.4, 0.85)];
    const n = full ? 1 : r.int(1, wide ? 6 : 4);
    const windows = r
      .times(n, (i) => {
        const w = full ? width - (panel?.side === 'left' ? size : 0) : r.int(...across);
        const h = full ? height - both : r.int(...down);
        const x = full ? width - w : r.int(-20, Math.max(0, width - w));
        const y = full
          ? panel?.side === 'top'
            ? size
            : 0
          : r.int(panel?.side === 'top' ? size : 0, Math.max(0, height - h - both));
        return framed(x, y, w, h, 2 + i, { active: i === n - 1 });
      })
      .join('');
    const w = Math.min(width - 40, r.int(280, 560));
    const h = Math.min(height - 80, r.int(160, 420));
    const dialog = r.maybe(0.18)
      ? framed(r.int(10, width - w - 10), r.int(30, Math.max(31, height - h - 40)), w, h, 20, {
          active: true,
          dialog: true,
        })
      : '';
    return `<div style="position:absolute;inset:0;${behind};overflow:hidden">${image}${links}${windows}${dialog}${panel ? panel.draw(b, size) : ''}</div>`;
  }

  const whole = () => {
    const { html } = content(width, height);
    return `<div class="dk-base" style="position:absolute;inset:0;display:flex;flex-direction:column;overflow:hidden">${html}</div>`;
  };
  let body = r.maybe(wide ? 0.2 : 0.45) ? whole() : desktop();
  if (r.maybe(0.12)) {
    const b = partsFor(width, height);
    body += `<div style="position:absolute;z-index:50;left:${r.int(0, Math.round(width * 0.6))}px;top:${r.int(20, Math.round(height * 0.5))}px">${b.menu()}</div>`;
  }
  body += page.overlays.join('');
  const pointer = r.maybe(0.4) ? pointers[choose('pointers')] : undefined;
  if (pointer)
    body += `<svg class="pointer" viewBox="0 0 24 24" style="position:absolute;z-index:99;width:24px;height:24px;left:${r.int(0, width - 8)}px;top:${r.int(0, height - 8)}px">${pointer.path}</svg>`;

  const sheets = [
    ...((theme !== 'light' && kit.darkCss) || kit.css),
    ...[words, mono, arabic].map((name) => fonts[name].file).filter(Boolean),
  ];
  return {
    meta: {
      seed,
      split,
      kit: kitName,
      look: lookName,
      icons,
      font: words,
      language: lang,
      theme,
      scale,
      parts: Object.fromEntries(Object.entries(parts).map(([k, v]) => [k, [...new Set(v)]])),
    },
    width,
    height,
    scale,
    sheets,
    // A fifth of the screens have compression artefacts, as after transmission. JPEG, because WebP takes Chromium three
    // times as long.
    quality: r.maybe(0.2) ? r.int(40, 90) : 95,
    root:
      theme !== 'light' && kit.dark ? kit.dark : kit.dark && kit.plainDark ? 'data-theme="light"' : (kit.root ?? ''),
    rootClass: theme !== 'light' && kit.darkClass ? kit.darkClass : '',
    css: `${css(f)}
html,body{margin:0!important;padding:0!important;height:100%;overflow:hidden!important;max-width:none!important}
body{font-family:'${words}','${arabic}','${chinese}'!important;font-size:${f.size}px;line-height:1.35;background:${f.base};color:${f.ink}}
#root{position:absolute;inset:0;overflow:hidden;direction:${t.rtl ? 'rtl' : 'ltr'}}
input,select,textarea,button{font-family:inherit!important}
*,*::before,*::after{transition:none!important;animation:none!important;caret-color:transparent!important}`,
    body,
  };
}
