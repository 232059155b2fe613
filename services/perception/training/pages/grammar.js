// From one string to one screen: which kit, font, icons, language, theme and size, which application, and what is on it.
// Nothing here knows about boxes; elements only carry `data-k` (class) and `data-s` (state), and measure.js finds them.

import { chance } from './random.js';
import { kits, iconSets, fonts } from './kits.js';
import { familyNames, look, css, controls } from './drawn.js';
import { language, texts } from './words.js';

const splitOf = (table, split) =>
  Object.keys(table).filter((k) => (typeof table[k] === 'string' ? table[k] : table[k].split) === split);
const trainFamilies = familyNames.filter((f) => !kits[f] || kits[f].split === 'train');
const escape = (t) => t.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);

/** Width and height of the screen in its own pixels, and how many of them a CSS pixel takes. */
function display(r, split) {
  if (split === 'test')
    return {
      ...r.pick([
        { w: 1280, h: 800 },
        { w: 1920, h: 1080 },
        { w: 2560, h: 1440 },
      ]),
      scale: r.pick([1, 1, 1, 1.25, 1.5, 2]),
    };
  const size = r.pick([
    [800, 600],
    [1024, 768],
    [1280, 720],
    [1280, 800],
    [1366, 768],
    [1366, 768],
    [1440, 900],
    [1600, 900],
    [1920, 1080],
    [1920, 1080],
    [2560, 1440],
    [3840, 2160],
  ]);
  const scale = size[0] >= 2560 ? r.pick([1, 1.5, 2, 3]) : r.pick([1, 1, 1, 1, 1.25, 1.5, 2, 2.5]);
  return { w: size[0], h: size[1], scale };
}

/** `svg(set)` gives the text of a random pictogram. */
export function screen(seed, split, svg) {
  const r = chance(seed);
  const kitName = r.pick(splitOf(kits, split));
  const kit = kits[kitName];
  const iconSet = r.pick(splitOf(iconSets, split));
  const lang = language(r);
  const t = texts(r, lang);
  let theme = r.pick(['light', 'light', 'light', 'dark', 'dark', r.maybe(0.3) ? 'contrast' : 'light']);
  const canDark = kit.dark || kit.darkCss || kit.darkClass || kit.family;
  if (kit.light || !canDark) theme = 'light';
  if (theme === 'contrast' && !(kit.family && kit.css.length === 0)) theme = 'dark';
  const f = look(r, kit.family ?? r.pick(split === 'train' ? trainFamilies : [kit.family ?? 'flat']), theme);
  const font = r.pick(splitOf(fonts, split));
  const d = display(r, split);
  const W = Math.round(d.w / d.scale),
    H = Math.round(d.h / d.scale);

  const a = (kind, state = {}, off = false) =>
    `data-k="${kind}" data-s='${JSON.stringify({ ...state, ...(off ? { disabled: true } : {}) })}'`;
  const pictogram = () => svg(iconSet, r).replace('<svg', '<svg class="dk-svg"');
  /** One control of the page's kit, or a drawn one. */
  function make(kind, more = {}) {
    const off = !more.never && r.maybe(0.08);
    const on = more.on ?? r.maybe(0.45);
    const text = more.text ?? (kind === 'text_field' ? t.value() : t.words(1, 2));
    const o = {
      ...r,
      text: escape(text),
      plain: escape(text),
      number: r.int(0, 500),
      icon: '',
      framed: r.maybe(0.35),
      width: r.int(90, 280),
      empty: r.maybe(0.25),
      focus: '',
      on: on ? 'on' : '',
      off: off ? 'dk-off' : '',
      dis: off ? 'disabled' : '',
      ...more,
      a: (k, s) =>
        a(
          k,
          k === 'tab' || k === 'menu_item' || k === 'table_row' || k === 'dialog'
            ? s
            : { ...s, ...(more.focus ? { focused: true } : {}) },
          off && k === kind,
        ),
    };
    if (kind === 'icon' || (kind === 'button' && r.maybe(0.25)) || kind === 'tabs') o.icon = pictogram();
    const draw = kit.controls[kind] && !more.drawn ? kit.controls[kind] : controls[kind];
    return draw(o);
  }
  const button = (m) => make('button', m),
    icon = (m) => make('icon', m),
    field = (m) => make('text_field', m);
  const row = (inner, style = '') =>
    `<div style="display:flex;align-items:center;gap:${r.int(4, 14)}px;flex-wrap:wrap;${style}">${inner}</div>`;
  const bare = () =>
    `<span class="dk-ico" style="margin:${r.int(3, 9)}px;font-size:${r.int(11, 20)}px" ${a('icon')}>${pictogram()}</span>`;
  const picture = (w, h, round) => {
    const c = () => `hsl(${r.int(0, 360)} ${r.int(20, 90)}% ${r.int(20, 85)}%)`;
    const n = r.int(2, 7),
      shapes = r
        .times(n, () =>
          r.maybe(0.5)
            ? `<circle cx="${r.int(0, 100)}" cy="${r.int(0, 100)}" r="${r.int(5, 45)}" fill="${c()}"/>`
            : `<path d="M${r.int(0, 100)} ${r.int(0, 100)}L${r.int(0, 100)} ${r.int(0, 100)}L${r.int(0, 100)} ${r.int(0, 100)}Z" fill="${c()}"/>`,
        )
        .join('');
    return `<svg ${a('image')} width="${w}" height="${h}" viewBox="0 0 100 100" preserveAspectRatio="none" style="display:inline-block;flex:none;vertical-align:middle;border-radius:${round ? '50%' : `${r.pick([0, 0, 6])}px`}"><rect width="100" height="100" fill="${c()}"/>${shapes}</svg>`;
  };
  const scrollBar = (vertical = true) => {
    const size = r.int(6, 17),
      at = r.int(0, 60),
      len = r.int(12, 40),
      bare = r.maybe(0.3);
    const thumb = `position:absolute;${vertical ? `left:1px;right:1px;top:${at}%;height:${len}%` : `top:1px;bottom:1px;left:${at}%;width:${len}%`};background:#8889;border-radius:${r.pick([0, 8])}px`;
    return `<div ${bare ? '' : a('scroll_bar')} style="position:absolute;${vertical ? `right:0;top:0;bottom:0;width:${size}px` : `left:0;bottom:0;right:0;height:${size}px`};${bare ? '' : 'background:#8882;'}z-index:2"><div ${bare ? a('scroll_bar') : ''} style="${thumb}"></div></div>`;
  };
  const scrolled = (inner, style = '') =>
    `<div style="position:relative;overflow:hidden;flex:1;min-width:0;min-height:0;${style}">${inner}${r.maybe(0.6) ? scrollBar() : ''}</div>`;
  const code = (n) => r.times(n, () => t.code()).join('<br>');
  const paragraph = () =>
    `<p style="margin:6px 0">${escape(t.sentence())} ${r.maybe(0.4) ? make('link', { text: t.words(1, 3) }) : ''} ${escape(t.sentence())}</p>`;
  const labelled = (inner, wide) =>
    `<div style="display:flex;${wide ? 'flex-direction:column;align-items:flex-start;gap:3px' : 'align-items:center;gap:10px'};margin:${r.int(3, 9)}px 0"><span style="${wide ? '' : `width:${r.pick([110, 140])}px;flex:none`}">${escape(t.words(1, 2))}</span>${inner}</div>`;
  const choice = (kind) =>
    `<span style="display:inline-flex;align-items:center;gap:6px;margin:3px 10px 3px 0">${make(kind)}<span>${escape(t.words(1, 2))}</span></span>`;
  const anything = () =>
    r.pick([
      () => labelled(field(), r.maybe(0.3)),
      () => labelled(field(), r.maybe(0.3)),
      () => labelled(make('drop_down'), r.maybe(0.3)),
      () => labelled(make('spin_box', { drawn: true })),
      () => row(r.many(1, 4, () => choice('checkbox')).join('')),
      () => row(r.many(2, 4, () => choice('radio')).join('')),
      () => labelled(make('switch')),
      () => labelled(make('slider')),
      () => row(r.many(1, 3, () => button()).join('')),
      () => labelled(field({ focus: 'dk-focus', drawn: true })),
      () => paragraph(),
      () => labelled(make('text_area'), true),
      () => make('tabs', { items: r.many(2, 5, () => t.word()), at: 0 }),
      () => row(r.many(2, 6, icon).join('')),
      () => `<h3 style="margin:10px 0 4px">${escape(t.words(1, 3))}</h3>`,
      () =>
        row(
          r
            .times(
              5,
              () =>
                `<span ${a('control')} style="font:${r.int(14, 24)}px/1 'DejaVu Sans';color:#e6a23c">${r.pick(['★', '☆'])}</span>`,
            )
            .join(''),
        ),
      () =>
        row(
          r
            .many(
              4,
              9,
              () =>
                `<span ${a('control')} style="display:inline-block;width:22px;height:22px;border-radius:4px;background:hsl(${r.int(0, 360)} 60% 55%)"></span>`,
            )
            .join(''),
        ),
    ])();
  const things = (low, high) => r.many(low, high, anything).join('');
  const toolbar = () =>
    row(
      r.many(3, 14, () => (r.maybe(0.75) ? icon() : button({ never: true }))).join('<span></span>'),
      'padding:3px 6px;border-bottom:1px solid #8884;flex-wrap:nowrap;overflow:hidden;flex:none',
    );
  const menuBar = () =>
    `<div class="dk-bar" style="flex:none">${r.many(3, 8, () => `<span class="dk-item" ${a('menu_item')}>${escape(t.word())}</span>`).join('')}</div>`;
  const sideBar = (w = r.int(130, 230)) =>
    `<div class="dk-panel" style="width:${w}px;flex:none;overflow:hidden;border-inline-end:1px solid #8884">${entries(r.int(4, 16))}</div>`;
  function entries(n, tall = r.pick([4, 6, 9])) {
    const at = r.int(-1, n - 1);
    return r
      .times(
        n,
        (i) =>
          `<div class="dk-item ${i === at ? 'on' : ''}" style="padding-block:${tall}px" ${a('list_item', { selected: i === at })}>${r.maybe(0.7) ? pictogram() : ''}<span style="overflow:hidden">${escape(t.words(1, 2))}</span></div>`,
      )
      .join('');
  }
  const column = (inner, style = '') =>
    `<div style="display:flex;flex-direction:column;height:100%;min-height:0;${style}">${inner}</div>`;
  const across = (inner) => `<div style="display:flex;flex:1;min-height:0">${inner}</div>`;
  function table(n = r.int(4, 22)) {
    const cols = r.int(3, 7),
      kinds = r.times(cols, () =>
        r.pick(['text', 'text', 'text', 'link', 'check', 'button', 'icon', 'number', 'switch']),
      );
    const cell = (k) =>
      ({
        text: () => escape(t.value()),
        number: () => t.number(),
        link: () => make('link'),
        check: () => make('checkbox'),
        button: () => button(),
        icon: () => icon(),
        switch: () => make('switch'),
      })[k]();
    return make('table', {
      head: r.times(cols, () => escape(t.word())),
      rows: r.times(n, () => kinds.map(cell)),
      at: r.int(-1, n - 1),
    });
  }
  const menu = () => {
    const n = r.int(3, 11);
    return make('menu', {
      items: r.times(n, () => escape(t.words(1, 3))),
      at: r.int(-2, n - 1),
      icons: r.times(n, () => (r.maybe(0.4) ? pictogram() : '')),
      keys: r.times(n, () => (r.maybe(0.3) ? `<small>Ctrl+${r.pick([...'ABCDEFGHNOPSTVXYZ'])}</small>` : '')),
    });
  };
  const dialog = () =>
    make('dialog', {
      title: escape(t.words(1, 4)),
      body: `<div>${escape(t.sentence())}</div>${r.maybe(0.6) ? things(1, 4) : ''}`,
      buttons: r.many(1, 3, () => button()).join(''),
      drawn: true,
    });
  const gridOf = (n, w, inner) =>
    `<div style="display:flex;flex-wrap:wrap;align-content:flex-start;gap:${r.int(4, 14)}px;padding:10px">${r.times(n, () => `<div style="width:${w}px;text-align:center;overflow:hidden">${inner()}</div>`).join('')}</div>`;
  const nav = () =>
    row(
      icon() + icon() + icon() + field({ width: r.int(200, 600), drawn: true }) + icon(),
      'padding:4px;flex:none;flex-wrap:nowrap;overflow:hidden',
    );

  const applications = {
    form: () =>
      scrolled(
        `<div style="padding:${r.int(8, 40)}px;columns:${W > 1000 && r.maybe(0.4) ? 2 : 1}">${things(6, 24)}${row(button() + button())}</div>`,
      ),
    login: () =>
      `<div style="margin:auto;padding:24px;width:${r.int(260, 400)}px" class="dk-panel">${picture(48, 48, true)}${labelled(field(), true)}${labelled(field(), true)}${choice('checkbox')}<div>${make('link')}</div>${row(button() + button())}</div>`,
    settings: () =>
      across(
        sideBar() +
          scrolled(
            `<div style="padding:14px">${r.many(5, 16, () => `<div style="display:flex;align-items:center;justify-content:space-between;padding:8px;border-bottom:1px solid #8883"><span>${escape(t.words(1, 4))}</span>${r.pick([() => make('switch'), () => make('switch'), () => make('drop_down'), () => button(), () => make('slider'), () => make('checkbox'), () => make('spin_box')])()}</div>`).join('')}</div>`,
          ),
      ),
    table: () =>
      column(
        toolbar() +
          (r.maybe(0.5) ? make('tabs', { items: r.many(2, 6, () => t.word()), at: 0 }) : '') +
          scrolled(table()) +
          row(
            button() + r.times(5, (i) => make('button', { text: String(i + 1) })).join('') + make('drop_down'),
            'padding:6px;flex:none',
          ),
      ),
    mail: () =>
      column(
        toolbar() +
          across(
            sideBar() +
              `<div style="width:${r.int(220, 340)}px;flex:none;overflow:hidden;border-inline-end:1px solid #8884">${r.many(5, 14, () => `<div style="padding:8px;border-bottom:1px solid #8883" ${a('list_item', { selected: false })}><b>${escape(t.words(1, 2))}</b><div style="white-space:nowrap;overflow:hidden">${escape(t.sentence())}</div></div>`).join('')}</div>` +
              scrolled(
                `<div style="padding:14px">${row(picture(36, 36, true) + `<b>${escape(t.words(2, 3))}</b>`)}${r.many(2, 6, paragraph).join('')}${row(button() + button())}</div>`,
              ),
          ),
      ),
    files: () =>
      column(
        (r.maybe(0.5) ? menuBar() : '') +
          nav() +
          across(
            sideBar() +
              scrolled(
                r.maybe(0.5)
                  ? gridOf(
                      r.int(6, 40),
                      r.pick([72, 90, 110]),
                      () =>
                        `<div ${a('list_item', { selected: false })}>${r.maybe(0.3) ? picture(48, 40) : `<div style="font-size:36px;display:flex;justify-content:center;color:${f.accent}">${pictogram()}</div>`}<div>${escape(t.file())}</div></div>`,
                    )
                  : table(r.int(8, 26)),
              ),
          ) +
          `<div class="dk-panel" style="padding:2px 8px;flex:none">${escape(t.words(2, 4))}</div>`,
      ),
    chat: () =>
      across(
        sideBar() +
          column(
            scrolled(
              `<div style="padding:10px">${r.many(3, 12, () => `<div style="display:flex;gap:8px;margin:8px 0;${r.maybe(0.4) ? 'flex-direction:row-reverse' : ''}">${picture(32, 32, true)}<div class="dk-panel" style="padding:6px 10px;border-radius:10px;max-width:60%">${escape(t.sentence())}</div></div>`).join('')}</div>`,
            ) +
              row(
                bare() + field({ width: r.int(200, 500) }) + icon() + button(),
                'padding:8px;flex:none;flex-wrap:nowrap',
              ),
            'flex:1',
          ),
      ),
    editor: () =>
      column(
        menuBar() +
          (r.maybe(0.5) ? toolbar() : '') +
          across(
            (r.maybe(0.6) ? sideBar() : '') +
              column(
                make('tabs', { items: r.many(1, 6, () => t.file()), at: 0, drawn: true }) +
                  scrolled(
                    `<div style="font:${r.int(11, 16)}px/1.4 'DejaVu Sans Mono','Liberation Mono';padding:6px">${code(60)}</div>`,
                    'direction:ltr',
                  ),
                'flex:1;min-width:0',
              ),
          ) +
          `<div class="dk-panel" style="padding:2px 8px;flex:none">${escape(t.words(2, 5))}</div>`,
      ),
    terminal: () =>
      column(
        (r.maybe(0.4) ? menuBar() : '') +
          scrolled(
            `<div style="font:${r.int(11, 16)}px/1.35 'DejaVu Sans Mono';padding:4px;background:${r.pick(['#000', '#300a24', '#1e1e2e', '#fff'])};color:#7a7;height:100%">${code(70)}</div>`,
            'direction:ltr',
          ),
      ),
    dashboard: () =>
      across(
        sideBar() +
          scrolled(
            `<div style="padding:14px">${row(r.many(2, 4, () => button()).join('') + make('drop_down'))}<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(${r.int(200, 320)}px,1fr));gap:12px;margin-top:10px">${r.many(3, 10, () => `<div class="dk-panel" style="padding:10px;border:1px solid #8883;border-radius:6px"><div style="display:flex;justify-content:space-between"><b>${escape(t.words(1, 2))}</b>${bare()}</div>${r.maybe(0.6) ? picture(r.int(140, 180), r.int(60, 110)) : `<div style="font-size:26px">${t.number()}</div>`}</div>`).join('')}</div>${r.maybe(0.5) ? table(6) : ''}</div>`,
          ),
      ),
    icons: () =>
      column(
        r
          .many(1, 4, () =>
            row(
              r.many(6, 24, () => (r.maybe(0.5) ? bare() : icon())).join(''),
              'padding:4px;flex:none;flex-wrap:nowrap;overflow:hidden;border-bottom:1px solid #8884',
            ),
          )
          .join('') +
          across(
            `<div class="dk-panel" style="flex:none;width:${r.int(36, 90)}px;overflow:hidden">${r.many(5, 18, bare).join('')}</div>` +
              scrolled(`<div style="padding:20px">${picture(r.int(240, 640), r.int(200, 440))}</div>`) +
              `<div class="dk-panel" style="width:240px;flex:none;overflow:hidden;padding:6px">${things(3, 9)}</div>`,
          ),
      ),
    calendar: () =>
      column(
        row(
          icon() + icon() + `<b>${escape(t.word())} 20${r.int(10, 30)}</b>` + button() + make('drop_down'),
          'padding:8px;flex:none',
        ) +
          `<div style="flex:1;display:grid;grid-template-columns:repeat(7,1fr);grid-auto-rows:1fr;min-height:0">${r.times(35, (i) => `<div ${a('control')} style="border:1px solid #8884;padding:4px;overflow:hidden">${(i % 31) + 1}${r.maybe(0.2) ? `<div ${a('button')} style="background:${f.accent};color:#fff;border-radius:3px;padding:0 4px;margin-top:3px;overflow:hidden;white-space:nowrap">${escape(t.word())}</div>` : ''}</div>`).join('')}</div>`,
      ),
    viewer: () =>
      `<div style="position:relative;flex:1;overflow:hidden">${picture(W, H)}<div style="position:absolute;left:12px;top:12px" class="dk-panel">${field({ drawn: true })}${icon({ framed: true })}</div><div style="position:absolute;right:12px;bottom:40px;display:flex;flex-direction:column;gap:4px">${r.many(2, 5, () => icon({ framed: true })).join('')}</div></div>`,
    player: () =>
      column(
        across(
          `<div style="flex:1;display:flex;align-items:center;justify-content:center;background:#111">${picture(r.int(300, 700), r.int(180, 400))}</div>` +
            (r.maybe(0.5) ? sideBar() : ''),
        ) +
          `<div class="dk-panel" style="padding:8px;flex:none">${row(r.many(3, 6, bare).join('') + make('slider') + '<span>1:24</span>' + bare() + make('slider') + bare(), 'flex-wrap:nowrap;overflow:hidden')}</div>`,
      ),
    article: () =>
      scrolled(
        `<div style="padding:${r.int(10, 50)}px">${row(r.many(3, 7, () => make('link')).join(''))}<h1>${escape(t.words(2, 5))}</h1>${r.many(2, 8, () => (r.maybe(0.2) ? picture(r.int(160, 420), r.int(90, 260)) : paragraph())).join('')}<ul>${r.many(2, 7, () => `<li>${make('link', { text: t.words(1, 4) })}</li>`).join('')}</ul>${row(button() + button())}</div>`,
      ),
    wizard: () =>
      column(
        row(r.times(4, (i) => `<span>${i + 1}. ${escape(t.word())}</span>`).join(' › '), 'padding:10px;flex:none') +
          scrolled(`<div style="padding:16px">${things(4, 10)}</div>`) +
          row(
            button() + button() + button(),
            'padding:10px;justify-content:flex-end;flex:none;border-top:1px solid #8884',
          ),
      ),
  };

  const windowMarks = r.pick([
    () =>
      r
        .shuffled(['−', '□', '✕'])
        .map(
          (m) =>
            `<span ${a('window_control')} style="display:inline-block;width:${r.int(22, 46)}px;text-align:center;line-height:24px">${m}</span>`,
        )
        .join(''),
    () =>
      ['#ff5f57', '#febc2e', '#28c840']
        .map(
          (c) =>
            `<span ${a('window_control')} style="display:inline-block;width:12px;height:12px;border-radius:50%;background:${c};margin:0 4px;vertical-align:middle"></span>`,
        )
        .join(''),
    () =>
      ['_', '▢', '×']
        .map(
          (m) =>
            `<span ${a('window_control')} style="display:inline-block;width:18px;height:16px;background:#c3c3c3;color:#000;border:2px outset #eee;line-height:12px;text-align:center;margin:1px;vertical-align:middle;font-size:11px;box-sizing:border-box">${m}</span>`,
        )
        .join(''),
    () =>
      ['–', '◇', '✕']
        .map(
          (m) =>
            `<span ${a('window_control')} style="display:inline-block;width:24px;height:24px;border-radius:50%;background:#8884;text-align:center;line-height:23px;margin:0 4px;vertical-align:middle">${m}</span>`,
        )
        .join(''),
  ]);
  const leftMarks = r.maybe(0.3);
  const bar = r.pick(['#ebebeb', '#dee0e2', '#000080', '#2b2b2b', '#3c3c3c', f.accent, '#f3f3f3']);
  const barInk = ['#ebebeb', '#dee0e2', '#f3f3f3'].includes(bar) ? '#222' : '#fff';
  const names = Object.keys(applications);
  const application = () => applications[r.pick(names)]();
  function framed(inner, x, y, w, h, extra = '') {
    const title = `<span style="flex:1;padding:0 10px;text-align:center;overflow:hidden;white-space:nowrap">${escape(t.words(1, 3))}</span>`;
    const marks = `<span style="white-space:nowrap;direction:ltr;font:14px/1 'DejaVu Sans'">${windowMarks()}</span>`;
    return `<div style="position:absolute;left:${x}px;top:${y}px;width:${w}px;height:${h}px;display:flex;flex-direction:column;border:1px solid #0005;border-radius:${r.pick([0, 0, 8])}px;overflow:hidden;box-shadow:0 6px 24px #0005;${extra}" class="dk-base"><div style="display:flex;align-items:center;background:${bar};color:${barInk};flex:none;min-height:${r.int(24, 38)}px;padding:0 4px">${leftMarks ? marks + title : title + marks}</div><div style="display:flex;flex-direction:column;flex:1;min-height:0;overflow:hidden">${inner}</div></div>`;
  }
  function browser() {
    const tabs = `<div style="display:flex;gap:2px;padding:6px 6px 0;background:#8883;flex:none;overflow:hidden">${r.many(1, 8, (i) => `<span ${a('tab', { selected: i === 0 })} style="display:flex;gap:6px;align-items:center;padding:6px 10px;width:${r.int(110, 200)}px;overflow:hidden;border-radius:8px 8px 0 0;box-sizing:border-box" class="${i === 0 ? 'dk-base' : ''}">${pictogram()}<span style="flex:1;overflow:hidden;white-space:nowrap">${escape(t.words(1, 3))}</span><span style="font:12px/1 'DejaVu Sans'">✕</span></span>`).join('')}${bare()}</div>`;
    return (
      tabs +
      nav() +
      `<div style="display:flex;flex-direction:column;flex:1;min-height:0;overflow:hidden">${application()}</div>`
    );
  }
  const content = () => (r.maybe(0.25) ? browser() : application());

  let body;
  const mode = r.next();
  if (mode < 0.45)
    body = `<div class="dk-base" style="position:absolute;inset:0;display:flex;flex-direction:column;overflow:hidden">${content()}</div>`;
  else {
    const hue = r.int(0, 360);
    const wall = r.pick([
      `linear-gradient(${hue}deg,hsl(${hue} 60% 40%),hsl(${(hue + 60) % 360} 60% 25%))`,
      `radial-gradient(circle at 30% 40%,hsl(${hue} 50% 60%),hsl(${(hue + 120) % 360} 60% 20%))`,
      `hsl(${hue} 40% 35%)`,
    ]);
    const panelTop = r.maybe(0.4),
      ph = r.int(24, 46);
    const launchers = r.many(2, 8, bare).join('');
    const taskBar = `<div style="position:absolute;left:0;right:0;${panelTop ? 'top:0' : 'bottom:0'};height:${ph}px;display:flex;align-items:center;background:${r.pick(['#222e', '#eeee', '#101828', '#c3c3c3'])};color:${f.accent};overflow:hidden;z-index:1">${launchers}${r.many(0, 4, () => `<span ${a('button')} style="padding:0 12px;margin:2px;line-height:${ph - 6}px;background:#8885;white-space:nowrap">${escape(t.words(1, 2))}</span>`).join('')}<span style="margin-inline-start:auto"></span>${r.many(2, 5, bare).join('')}<span style="padding:0 8px">12:${r.int(10, 59)}</span></div>`;
    const desktopIcons = r.maybe(0.5)
      ? `<div style="position:absolute;left:10px;top:${ph + 10}px;width:84px">${r.many(2, 6, () => `<div ${a('list_item', { selected: false })} style="text-align:center;color:#fff;margin-bottom:14px;overflow:hidden"><div style="font-size:34px;display:flex;justify-content:center">${pictogram()}</div>${escape(t.word())}</div>`).join('')}</div>`
      : '';
    const windows = r
      .many(1, 4, (i) => {
        const w = r.int(Math.round(W * 0.4), Math.round(W * 0.9)),
          h = r.int(Math.round(H * 0.4), Math.round(H * 0.85));
        return framed(
          content(),
          r.int(-20, Math.max(0, W - w)),
          r.int(panelTop ? ph : 0, Math.max(ph, H - h - ph)),
          w,
          h,
          `z-index:${2 + i};`,
        );
      })
      .join('');
    body = `<div style="position:absolute;inset:0;background:${wall};overflow:hidden">${desktopIcons}${windows}${taskBar}</div>`;
  }
  const place = () => `left:${r.int(0, Math.round(W * 0.6))}px;top:${r.int(20, Math.round(H * 0.5))}px`;
  if (r.maybe(0.22)) body += `<div style="position:absolute;z-index:50;${place()}">${menu()}</div>`;
  if (r.maybe(0.22))
    body += `<div style="position:absolute;inset:0;z-index:60;background:${r.pick(['#0008', '#0004', 'transparent'])}"></div><div style="position:absolute;z-index:61;left:50%;top:50%;transform:translate(-50%,-50%);width:${r.int(260, Math.min(560, W - 20))}px">${dialog()}</div>`;

  const sheets = (theme !== 'light' && kit.darkCss) || kit.css;
  return {
    meta: {
      seed,
      split,
      kit: kitName,
      icons: iconSet,
      font,
      language: lang,
      theme,
      family: kit.family ?? null,
      scale: d.scale,
    },
    width: W,
    height: H,
    scale: d.scale,
    sheets,
    font,
    root: theme !== 'light' && kit.dark ? kit.dark : kit.dark && kit.plainDark ? 'data-theme="light"' : '',
    rootClass: theme !== 'light' && kit.darkClass ? kit.darkClass : '',
    css:
      css(f) +
      `
html,body{margin:0!important;padding:0!important;height:100%;overflow:hidden!important;max-width:none!important}
body{font-family:'${font}','Noto Sans CJK SC','DejaVu Sans',sans-serif!important;font-size:${f.size}px;line-height:1.35;background:${f.base};color:${f.ink}}
#root{position:absolute;inset:0;overflow:hidden;direction:${t.rtl ? 'rtl' : 'ltr'}}
*,*::before,*::after{transition:none!important;animation:none!important;caret-color:transparent!important}`,
    body,
  };
}
