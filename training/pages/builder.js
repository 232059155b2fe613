// Building blocks of layouts: single controls of the page's kit or look, and common arrangements of them. Every
// labelled element has `data-k` (class), `data-s` (state) and, where it differs from the default in classes.json,
// `data-i` (interactable). measure.js reads them.

import { controlsOf, signs } from './drawn.js';
import { charts, photographs, scene } from './images.js';

export const escape = (t) =>
  t.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);

/** The attributes that label an element. */
export const label = (kind, state = {}, interactable) =>
  `data-k="${kind}" data-s='${JSON.stringify(state)}'${interactable === undefined ? '' : ` data-i="${interactable ? 1 : 0}"`}`;

const OWN_STATE = '\u0001';

export function builder(r, { kit, f, t, pictogram, mono, width, height, page }) {
  const drawn = controlsOf(f);

  /** A control of the page's kit, or a drawn one. Its visible states are those that its drawing read. */
  function make(kind, more = {}) {
    const off = more.off ?? (!more.never && !more.open && r.maybe(0.08));
    const focused = more.focused ?? (page.focusable && !off && r.maybe(0.1));
    const on = more.on ?? r.maybe(0.45);
    const text = more.text ?? (kind === 'text_field' ? t.value() : t.words(1, 2));
    const shows = {};
    const own = kit.controls[kind] && !more.drawn && !more.open;
    const seen = (state, value) => {
      if (!(own && kit.hides?.includes(`${kind} ${state}`))) shows[state] = true;
      return value;
    };
    const o = {
      ...r,
      number: r.int(0, 500),
      icon: '',
      framed: r.maybe(0.35),
      width: r.int(90, 280),
      empty: r.maybe(0.25),
      open: false,
      row: () => '',
      mark: '',
      ...more,
      text: escape(text),
      plain: escape(text),
      on: on ? 'on' : '',
      a: (k, s, interactable) => label(k, s, interactable) + (k === kind ? OWN_STATE : ''),
      /** The attribute or class by which a kit shows that the control is disabled or focused. */
      get dis() {
        return off ? seen('disabled', 'disabled') : '';
      },
      offClass: (name) => (off ? seen('disabled', name) : ''),
      get off() {
        return off ? seen('disabled', 'dk-off') : '';
      },
      get focus() {
        return focused ? seen('focused', 'dk-focus') : '';
      },
      focusClass: (name) => (focused ? seen('focused', name) : ''),
      get foc() {
        return focused ? seen('focused', 'data-focus') : '';
      },
    };
    if (kind === 'icon' || (kind === 'button' && !more.bare && r.maybe(0.25))) o.icon = pictogram();
    if (kind === 'tabs') o.icons = r.maybe(0.25) ? o.items.map(pictogram) : [];
    const html = (own ? kit.controls[kind] : drawn[kind])(o);
    if (shows.focused) page.focusable = false;
    return html.replaceAll(OWN_STATE, `${shows.disabled ? ' data-off' : ''}${shows.focused ? ' data-focused' : ''}`);
  }

  const button = (more) => make('button', more);
  const icon = (more) => make('icon', more);
  const field = (more) => make('text_field', more);
  const link = (more) => make('link', more);
  const text = (low = 1, high = 2) => escape(t.words(low, high));
  const bare = (more = '') =>
    `<span class="dk-ico" style="padding:${r.int(3, 9)}px;font-size:${r.int(11, 20)}px;${more}" ${label('icon')}>${pictogram()}</span>`;

  const flex = (inner, style = '') => `<div style="display:flex;align-items:center;${style}">${inner}</div>`;
  const row = (inner, style = '') => flex(inner, `gap:${r.int(4, 14)}px;flex-wrap:wrap;${style}`);
  const line = (inner, style = '') => flex(inner, `gap:${r.int(2, 10)}px;flex:none;overflow:hidden;${style}`);
  const column = (inner, style = '') =>
    `<div style="display:flex;flex-direction:column;height:100%;min-height:0;min-width:0;${style}">${inner}</div>`;
  const across = (inner, style = '') =>
    `<div style="display:flex;flex:1;min-height:0;min-width:0;${style}">${inner}</div>`;
  const edge = (side) => `border-${side}:1px solid ${f.border};`;

  function scrollBar(vertical = true) {
    const way = f.habits.scroll;
    const size = { thumb: r.int(8, 13), track: r.int(10, 16), arrows: r.int(13, 18), thin: r.int(4, 7) }[way];
    const at = r.int(0, 60);
    const length = r.int(12, 40);
    const track = way === 'track' || way === 'arrows';
    const ends = way === 'arrows' ? size : 0;
    const place = vertical
      ? `right:0;top:0;bottom:0;width:${size}px;padding:${ends}px 0`
      : `left:0;right:0;bottom:0;height:${size}px;padding:0 ${ends}px`;
    const thumb = vertical
      ? `left:1px;right:1px;top:${at}%;height:${length}%`
      : `top:1px;bottom:1px;left:${at}%;width:${length}%`;
    const arrow = (which, side) =>
      `<span style="position:absolute;${side}:0;${vertical ? 'left' : 'top'}:0;width:${size}px;height:${size}px;display:flex;align-items:center;justify-content:center;font-size:8px;background:${f.face};color:${f.ink}">${which}</span>`;
    const arrows = !ends
      ? ''
      : vertical
        ? arrow(signs.up, 'top') + arrow(signs.down, 'bottom')
        : arrow(signs.left, 'left') + arrow(signs.right, 'right');
    return `<div ${track ? label('scroll_bar') : ''} style="position:absolute;${place};box-sizing:border-box;z-index:2;${track ? `background:color-mix(in srgb, ${f.ink} 9%, ${f.face})` : ''}">${arrows}<div style="position:relative;width:100%;height:100%"><div ${track ? '' : label('scroll_bar')} style="position:absolute;${thumb};background:color-mix(in srgb, ${f.ink} ${track ? 25 : 42}%, ${f.face});border-radius:${way === 'arrows' ? 0 : 8}px"></div></div></div>`;
  }
  const scrolled = (inner, style = '', bar = 0.6) =>
    `<div style="position:relative;overflow:hidden;flex:1;min-width:0;min-height:0;${style}">${inner}${r.maybe(bar) ? scrollBar() : ''}${r.maybe(0.06) ? scrollBar(false) : ''}</div>`;

  const image = (w, h, { round = false, kind = r.pick(photographs), acts, style = '' } = {}) =>
    `<svg ${label('image', {}, acts)} width="${w}" height="${h}" viewBox="0 0 100 100" preserveAspectRatio="none" style="display:inline-block;flex:none;vertical-align:middle;border-radius:${round ? '50%' : `${r.pick([0, 0, 6])}px`};${style}">${scene(r, kind)}</svg>`;
  const face = (size) => image(size, size, { round: r.maybe(0.8), kind: r.pick(['face', 'shapes', 'blur']) });
  const chart = (w, h) => image(w, h, { kind: r.pick(charts) });

  const labelled = (inner, wide = r.maybe(0.3)) =>
    `<div style="display:flex;${wide ? 'flex-direction:column;align-items:flex-start;gap:3px' : 'align-items:center;gap:10px'};margin:${r.int(3, 9)}px 0"><span style="${wide ? '' : `width:${r.pick([90, 110, 140])}px;flex:none;overflow:hidden`}">${text()}${r.maybe(0.3) ? ':' : ''}</span>${inner}</div>`;
  const choice = (kind, more) =>
    `<span style="display:inline-flex;align-items:center;gap:6px;margin:3px 10px 3px 0">${make(kind, more)}<span>${text(1, 3)}</span></span>`;
  const sentence = () => escape(t.sentence());
  const paragraph = () =>
    `<p style="margin:6px 0">${sentence()} ${r.maybe(0.4) ? link({ text: t.words(1, 3) }) : ''} ${sentence()}</p>`;
  const heading = (size = 1.3) =>
    `<div style="font-size:${size}em;font-weight:bold;margin:8px 0 4px">${text(1, 4)}</div>`;
  const code = (n) => r.times(n, () => t.code()).join('<br>');

  const tabs = (more = {}) => {
    const items = more.items ?? r.many(2, 6, () => text());
    return make('tabs', { ...more, items, at: r.int(0, items.length - 1) });
  };
  const entry = (inner, { on = false, style = '', state = {}, acts } = {}) =>
    `<div class="dk-item ${on ? 'on' : ''}" style="${style}" ${label('list_item', { selected: on, ...state }, acts)}>${inner}</div>`;
  /** A list of entries, each with an icon if `icons` is set. */
  function entries(n, { icons = r.maybe(0.7), pad = r.pick([2, 4, 6, 9]), acts, inner } = {}) {
    const at = acts === false ? -1 : r.int(-1, n - 1);
    return r
      .times(n, (i) =>
        entry(inner?.(i) ?? `${icons ? pictogram() : ''}<span style="overflow:hidden">${text()}</span>`, {
          on: i === at,
          style: `padding-block:${pad}px;overflow:hidden`,
          acts,
        }),
      )
      .join('');
  }
  /** A tree; open nodes show their children. */
  function tree(n) {
    const at = r.int(-1, n - 1);
    const pad = r.pick([1, 3, 5]);
    let depth = 0;
    return r
      .times(n, (i) => {
        const branch = r.maybe(0.45);
        const open = branch && r.maybe(0.6);
        const html = entry(
          `<span style="width:1em;flex:none;font-size:.75em;display:flex">${branch ? (open ? signs.chevron : signs.right) : ''}</span>${pictogram()}<span style="overflow:hidden">${escape(t.file())}</span>`,
          {
            on: i === at,
            style: `padding:${pad}px 4px;padding-inline-start:${6 + depth * 16}px;gap:5px`,
            state: branch ? { expanded: open } : {},
          },
        );
        depth = Math.max(0, Math.min(4, open ? depth + 1 : depth - (r.maybe(0.3) ? 1 : 0)));
        return html;
      })
      .join('');
  }
  const sideBar = (w = r.int(130, 230), inner = r.maybe(0.3) ? tree(r.int(6, 18)) : entries(r.int(4, 16))) =>
    `<div class="dk-panel" style="position:relative;width:${w}px;flex:none;overflow:hidden;${edge('inline-end')}">${inner}${r.maybe(0.2) ? scrollBar() : ''}</div>`;
  const toolbar = (n = r.int(3, 14), share = 0.75) => {
    const framed = r.maybe(0.25);
    const one = () =>
      r.maybe(share)
        ? r.maybe(0.5)
          ? bare()
          : icon({ framed, toggled: framed && r.maybe(0.12), drawn: true })
        : button({ never: true, style: r.pick(['text', '']) });
    return `<div class="dk-panel" style="display:flex;align-items:center;gap:${r.int(0, 5)}px;padding:${r.int(1, 5)}px 6px;${edge('bottom')}overflow:hidden;flex:none">${r.times(n, () => one() + (r.maybe(0.15) ? `<span style="flex:none;width:1px;height:18px;margin:0 4px;background:${f.border}"></span>` : '')).join('')}</div>`;
  };
  const statusBar = () =>
    `<div class="dk-panel" style="display:flex;gap:20px;padding:2px 8px;flex:none;${edge('top')}overflow:hidden;white-space:nowrap">${r.many(1, 4, () => `<span>${text(1, 3)}</span>`).join('')}</div>`;

  const keys = () =>
    `<small>${r.pick(['Ctrl+', 'Ctrl+Shift+', 'Alt+', 'F'])}${r.pick([...'ABCDEFGHNOPSTVXYZ'])}</small>`;
  const menu = (n = r.int(3, 12), more = {}) => {
    const icons = r.maybe(0.4);
    return make('menu', {
      items: r.times(n, () => text(1, 3)),
      at: r.maybe(0.6) ? r.int(0, n - 1) : -1,
      icons: r.times(n, () => (icons && r.maybe(0.8) ? pictogram() : '')),
      keys: r.times(n, () => (r.maybe(0.3) ? keys() : '')),
      offs: r.times(n, () => r.maybe(0.1)),
      ...more,
    });
  };
  /** A popup under the element drawn by `opener`, above everything else; measure.js positions it. */
  function opened(opener, inner) {
    const name = `o${r.int(0, 1e9)}`;
    page.overlays.push(`<div data-under="${name}" style="position:absolute;z-index:50">${inner}</div>`);
    return opener(`data-opener="${name}"`);
  }
  const menuBar = () => {
    const n = r.int(3, 8);
    const open = !page.overlays.length && r.maybe(0.16) ? r.int(0, n - 1) : -1;
    const item = (on, more) =>
      `<span class="dk-item ${on ? 'on' : ''}" ${more} ${label('menu_item', on ? { expanded: true, selected: true } : {})}>${escape(t.word())}</span>`;
    return `<div class="dk-bar" style="flex:none">${r.times(n, (i) => (i === open ? opened((more) => item(true, more), menu()) : item(false, ''))).join('')}</div>`;
  };
  /** A drop-down; the first one of a page is sometimes open and shows its choices. */
  const dropDown = (more = {}) => {
    if (page.overlays.length || !r.maybe(0.14)) return make('drop_down', more);
    const width = more.width ?? r.int(90, 240);
    return opened(
      (attributes) => `<span ${attributes}>${make('drop_down', { ...more, width, open: true, drawn: true })}</span>`,
      `<div style="min-width:${width}px">${menu(r.int(2, 9), { icons: [], keys: [], drawn: true })}</div>`,
    );
  };

  function table(n = r.int(4, 22), { acts = true, columns = r.int(3, 7) } = {}) {
    const plain = r.maybe(0.4);
    const kinds = r.times(columns, () =>
      plain
        ? r.pick(['text', 'text', 'number', 'file'])
        : r.pick([
            'text',
            'text',
            'text',
            'link',
            'check',
            'button',
            'icon',
            'number',
            'switch',
            'face',
            'field',
            'drop',
          ]),
    );
    const cell = {
      text: () => escape(t.value()),
      number: () => t.number(),
      file: () =>
        `<span style="display:inline-flex;gap:6px;align-items:center">${pictogram()}${escape(t.file())}</span>`,
      link: () => link(),
      check: () => make('checkbox'),
      button: () => button(),
      icon: () => icon(),
      switch: () => make('switch'),
      face: () => `<span style="display:inline-flex;gap:6px;align-items:center">${face(24)}${text()}</span>`,
      field: () => field({ width: 90 }),
      drop: () => make('drop_down', { width: 100 }),
    };
    const at = acts ? r.int(-1, n - 1) : -1;
    return make('table', {
      head: r.times(columns, () => escape(t.word())),
      rows: r.times(n, () => kinds.map((kind) => cell[kind]())),
      at,
      sorts: acts && r.maybe(0.5),
      row: (i) => label('table_row', acts ? { selected: i === at } : {}, acts ? undefined : false),
    });
  }

  const stars = () =>
    row(
      r
        .times(
          5,
          (i) =>
            `<span ${label('control')} style="font-size:${r.int(14, 24)}px;color:#e6a23c;display:flex">${i < 3 ? signs.star : signs.starless}</span>`,
        )
        .join(''),
    );
  const swatches = () => {
    const size = r.int(14, 30);
    return row(
      r
        .many(
          4,
          9,
          () =>
            `<span ${label('control')} style="display:inline-block;width:${size}px;height:${size}px;border-radius:${r.pick([0, 4, 20])}px;background:hsl(${r.int(0, 360)} 60% 55%)"></span>`,
        )
        .join(''),
    );
  };
  const fold = () => {
    const open = r.maybe(0.5);
    return `<div class="dk-card" style="margin:6px 0"><div ${label('control', { expanded: open })} style="display:flex;align-items:center;gap:8px;padding:7px 10px;background:${f.face}"><span style="font-size:11px;display:flex">${open ? signs.chevron : signs.right}</span>${text(1, 4)}</div>${open ? `<div style="padding:10px">${sentence()}</div>` : ''}</div>`;
  };
  const segments = () => {
    const n = r.int(2, 5);
    const at = r.int(0, n - 1);
    return flex(
      r
        .times(
          n,
          (i) =>
            `<span class="dk-btn ${i === at ? 'on' : ''}" style="border-radius:0;margin-inline-end:-1px" ${label('button', { selected: i === at })}>${r.maybe(0.2) ? pictogram() : ''}${text()}</span>`,
        )
        .join(''),
    );
  };
  const chips = () =>
    row(
      r
        .many(
          2,
          6,
          () =>
            `<span ${label('button')} style="display:inline-flex;gap:5px;align-items:center;padding:2px 10px;border-radius:99px;border:1px solid ${f.border};white-space:nowrap">${text()}${r.maybe(0.4) ? `<span style="font-size:9px;display:flex">${signs.close}</span>` : ''}</span>`,
        )
        .join(''),
    );
  const frame = (inner) =>
    `<fieldset style="border:1px solid ${f.border};margin:6px 0;padding:6px 10px;border-radius:${Math.min(6, f.radius)}px;min-width:0"><legend style="font:inherit;width:auto;margin:0;padding:0 4px;border:0">${text()}</legend>${inner}</fieldset>`;
  const parts = {
    field: () => labelled(field()),
    drop: () => labelled(dropDown()),
    spin: () => labelled(make('spin_box', { drawn: true }), false),
    checks: () => row(r.many(1, 4, () => choice('checkbox')).join('')),
    column: () => r.many(2, 6, () => `<div>${choice('checkbox')}</div>`).join(''),
    radios: () => row(r.many(2, 4, (i) => choice('radio', { on: i === 0 })).join('')),
    radioColumn: () => r.many(2, 5, (i) => `<div>${choice('radio', { on: i === 1 })}</div>`).join(''),
    switch: () => labelled(make('switch')),
    slider: () => labelled(make('slider')),
    buttons: () => row(r.many(1, 3, () => button()).join('')),
    paragraph,
    area: () => labelled(make('text_area'), true),
    tabs: () => tabs(),
    icons: () => row(r.many(2, 6, () => icon()).join('')),
    heading: () => heading(),
    stars,
    swatches,
    fold,
    segments,
    chips,
  };
  const weights =
    'field field field drop drop spin spin checks column radios radioColumn switch switch slider slider buttons paragraph area tabs icons heading stars swatches fold segments chips'.split(
      ' ',
    );
  const anything = () => parts[r.pick(weights)]();
  const things = (low, high) =>
    r.many(low, high, () => (r.maybe(0.1) ? frame(anything() + anything()) : anything())).join('');
  /** One line of a settings page: text on one side, a control on the other. */
  const setting = () =>
    r.pick([
      () => make('switch'),
      () => make('switch'),
      () => dropDown({ width: r.int(90, 200) }),
      () => button(),
      () => make('slider'),
      () => make('checkbox'),
      () => make('spin_box', { drawn: true }),
      () => field({ width: r.int(90, 180) }),
    ])();
  const grid = (n, w, inner) =>
    `<div style="display:flex;flex-wrap:wrap;align-content:flex-start;gap:${r.int(4, 14)}px;padding:10px">${r.times(n, () => `<div style="width:${w}px;text-align:center;overflow:hidden">${inner()}</div>`).join('')}</div>`;
  /** A grid of characters or cells, as in spreadsheets and calculators. */
  const monospaced = (inner, style = '') =>
    `<div style="font-family:'${mono}';font-size:${r.int(11, 16)}px;line-height:1.4;direction:ltr;white-space:nowrap;${style}">${inner}</div>`;

  return {
    r,
    t,
    f,
    width,
    height,
    signs,
    label,
    escape,
    make,
    button,
    icon,
    bare,
    field,
    link,
    text,
    sentence,
    paragraph,
    heading,
    code,
    flex,
    row,
    line,
    column,
    across,
    edge,
    scrolled,
    scrollBar,
    image,
    face,
    chart,
    labelled,
    choice,
    tabs,
    entry,
    entries,
    tree,
    sideBar,
    toolbar,
    statusBar,
    menu,
    menuBar,
    opened,
    dropDown,
    table,
    stars,
    swatches,
    fold,
    segments,
    chips,
    frame,
    things,
    setting,
    grid,
    monospaced,
    pictogram,
  };
}
