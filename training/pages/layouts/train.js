// Window contents of training screens. A layout belongs to one split: a mail program in another split has another
// layout.

const navigation = (b) =>
  b.line(b.icon() + b.icon() + b.icon() + b.field({ width: b.r.int(200, 600) }) + b.icon(), 'padding:4px');

export const layouts = {
  form: (b) =>
    b.scrolled(
      `<div style="padding:${b.r.int(8, 40)}px;columns:${b.width > 1000 && b.r.maybe(0.4) ? 2 : 1}">${b.things(6, 24)}${b.row(b.button() + b.button())}</div>`,
    ),

  login: (b) =>
    `<div style="margin:auto;padding:24px;width:${b.r.int(260, 400)}px" class="dk-panel">${b.face(48)}${b.labelled(b.field(), true)}${b.labelled(b.field(), true)}${b.choice('checkbox')}<div>${b.link()}</div>${b.row(b.button() + b.button())}</div>`,

  /** Fields and buttons as wide as the page, which the model sees completely only at a smaller scale. */
  wideForm: (b) => {
    const width = b.r.int(Math.min(380, b.width - 40), Math.max(400, Math.min(1300, b.width - 60)));
    const pad = b.r.int(12, 48);
    const inside = { width: width - 2 * pad };
    const one = () =>
      b.r.pick([
        () => b.field({ ...inside, empty: b.r.maybe(0.5) }),
        () => b.field({ ...inside, empty: b.r.maybe(0.5) }),
        () => b.dropDown(inside),
        () => b.make('text_area', { ...inside, empty: b.r.maybe(0.5) }),
        () => b.field({ width: Math.round(inside.width / 2) }),
      ])();
    return b.scrolled(
      `<div class="${b.r.pick(['dk-card', 'dk-panel', ''])}" style="box-sizing:border-box;width:${width}px;margin:${b.r.int(0, 60)}px auto;padding:${b.r.int(10, 36)}px ${pad}px">${b.heading(b.r.pick([1.3, 1.6, 2]))}${b.r.maybe(0.6) ? `<p>${b.sentence()}</p>` : ''}${b.r.many(2, 8, () => b.labelled(one(), true)).join('')}${b.r.maybe(0.6) ? `<div>${b.choice('checkbox')}</div>` : ''}${b.row(b.button({ style: 'main' }) + (b.r.maybe(0.5) ? b.button() : ''))}</div>`,
    );
  },

  /** A text field that fills the window, with much, little or no text. */
  note: (b) =>
    b.column(
      (b.r.maybe(0.7) ? b.menuBar() : '') +
        (b.r.maybe(0.4) ? b.toolbar() : '') +
        b.across(
          (b.r.maybe(0.2) ? b.sideBar() : '') +
            `<div ${b.label('text_field')} class="dk-base" style="flex:1;min-width:0;display:flex;${b.r.maybe(0.4) ? `margin:${b.r.int(2, 24)}px;border:1px solid ${b.f.border}` : ''}">${b.scrolled(`<div style="padding:${b.r.int(2, 14)}px">${b.r.times(b.r.pick([0, 1, 2, 5, 12, 40]), () => (b.r.maybe(0.5) ? b.sentence() : b.t.code())).join('<br>')}</div>`)}</div>`,
        ) +
        (b.r.maybe(0.5) ? b.statusBar() : ''),
    ),

  /** Text that is wide, framed or coloured like fields and buttons, without being one. */
  plainPage: (b) => {
    const width = b.r.int(Math.min(300, b.width - 40), b.width - 10);
    const size = b.r.pick([12, 14, 16, 18, 22, 28]);
    const framed = (inner) =>
      `<div style="margin:${b.r.int(4, 16)}px 0;padding:${b.r.int(2, 14)}px;${b.r.pick([
        `border:1px solid ${b.f.border}`,
        `border-inline-start:4px solid ${b.f.accent}`,
        `background:color-mix(in srgb, ${b.f.accent} 12%, ${b.f.base})`,
        `background:color-mix(in srgb, ${b.f.ink} 7%, ${b.f.base});border-radius:${b.r.int(0, 8)}px`,
      ])}">${inner}</div>`;
    const words = () => b.text(1, b.r.pick([2, 4, 9]));
    const one = () =>
      b.r.pick([
        () => b.heading(b.r.pick([1.2, 1.5, 2])),
        () => `<p>${b.sentence()}</p>`,
        () => `<p>${words()}</p>`,
        () => `<p>${words()}</p>`,
        () => `<div>${b.text()}: ${b.escape(b.t.value())}</div>`,
        () => framed(b.sentence()),
        () => framed(words()),
        () => framed(b.monospaced(b.code(b.r.int(1, 4)))),
        () => `<hr style="border:0;border-top:1px solid ${b.f.border};margin:12px 0">`,
      ])();
    const rare = () =>
      b.r.pick([
        () => b.labelled(b.field({ width: b.r.int(160, Math.max(200, width - 80)) }), true),
        () => b.row(b.button()),
        () => `<div>${b.link()}</div>`,
      ])();
    return b.scrolled(
      `<div style="font-size:${size}px;width:${width}px;box-sizing:border-box;padding:${b.r.int(4, 30)}px;margin:${b.r.maybe(0.4) ? '0 auto' : '0'};${b.r.maybe(0.15) ? 'text-align:center' : ''}">${b.r.many(3, 14, () => (b.r.maybe(0.14) ? rare() : one())).join('')}</div>`,
    );
  },

  /** A modal question drawn as plainly as in browsers and small programs, with little content. */
  asked: (b) => {
    const behind = b.r.pick([
      () => b.grid(b.r.int(8, 40), b.r.int(90, 260), () => b.button({ never: true })),
      () => `<div style="padding:${b.r.int(8, 40)}px">${b.things(6, 20)}</div>`,
      () => b.entries(b.r.int(6, 24)),
      () => b.table(),
      () => `<div style="padding:20px">${b.r.many(2, 8, b.paragraph).join('')}</div>`,
    ])();
    const body = b.r.pick([
      () => '',
      () => '',
      () => '',
      () => `<div>${b.field({ width: b.r.int(140, 260) })}</div>`,
      () => `<div>${b.choice('checkbox')}</div>`,
      () => `<div style="border:1px solid ${b.f.border};overflow:hidden">${b.entries(b.r.int(2, 8))}</div>`,
      () => `<div style="overflow:hidden">${b.table(b.r.int(2, 7), { columns: b.r.int(2, 4) })}</div>`,
      () => b.things(1, 3),
    ])();
    const words = b.r.pick([
      () => b.heading(b.r.pick([1, 1.17, 1.5])) + (b.r.maybe(0.7) ? `<p>${b.sentence()}</p>` : ''),
      () => `<p>${b.text(2, 6)}</p>`,
      () => `<p>${b.sentence()}</p>`,
      () => b.heading(1.17) + `<p>${b.text(1, 4)}</p>`,
    ])();
    const backdrop = b.r.maybe(0.8)
      ? `<div style="position:absolute;inset:0;z-index:8;background:${b.r.pick(b.f.theme === 'light' ? ['#0008', '#0009', '#0007', '#000a', '#1239'] : ['#000b', '#000a', '#000c'])}"></div>`
      : '';
    const place = b.r.pick([
      'left:50%;top:50%;transform:translate(-50%,-50%)',
      'left:50%;top:50%;transform:translate(-50%,-50%)',
      `left:50%;top:${b.r.int(0, 90)}px;transform:translateX(-50%)`,
      `left:${b.r.int(0, 60)}%;top:${b.r.int(5, 60)}%`,
    ]);
    const look = [
      `border:${b.r.pick(['0', '1px solid #888', `1px solid ${b.f.border}`, '2px solid', `3px solid ${b.f.accent}`])}`,
      `border-radius:${b.r.pick([0, 0, 3, 6, 10])}px`,
      b.r.maybe(0.3) ? 'box-shadow:0 2px 12px #0006' : '',
    ].join(';');
    const buttons = b.row(
      b.r.many(1, 3, () => b.button({ never: true })).join(''),
      `margin-top:${b.r.int(6, 20)}px;justify-content:${b.r.pick(['flex-start', 'flex-start', 'center', 'flex-end'])}`,
    );
    return `<div style="position:relative;flex:1;min-height:0;overflow:hidden;font-size:${b.r.pick([13, 16, 18])}px"><div style="position:absolute;inset:0;overflow:hidden">${behind}</div>${backdrop}<div ${b.label('dialog')} class="${b.r.maybe(0.6) ? 'dk-base' : 'dk-panel'}" style="position:absolute;z-index:9;${place};box-sizing:border-box;width:${Math.min(b.width - 20, b.r.int(220, 520))}px;padding:${b.r.int(10, 28)}px;${look}">${words}${body}${buttons}</div></div>`;
  },

  /** Forms and bars with mostly disabled controls and large buttons with icon and text, as before a selection. */
  locked: (b) => {
    const off = () => b.r.maybe(0.75);
    const width = () => b.r.int(90, Math.max(120, Math.min(700, b.width - 220)));
    const one = () =>
      b.r.pick([
        () => b.field({ off: off(), empty: b.r.maybe(0.6), width: width() }),
        () => b.field({ off: off(), empty: b.r.maybe(0.6), width: width() }),
        () => b.make('drop_down', { off: off(), width: width() }),
        () => b.make('spin_box', { off: off(), drawn: true }),
        () => b.make('slider', { off: off() }),
        () => b.make('switch', { off: off() }),
      ])();
    const line = () =>
      b.r.pick([
        () => b.labelled(one()),
        () => b.labelled(one()),
        () => b.labelled(one(), true),
        () => b.row(b.r.many(1, 4, () => b.button({ off: off() })).join('')),
        () => `<div>${b.choice(b.r.pick(['checkbox', 'radio']), { off: off() })}</div>`,
      ])();
    const faint = b.r.pick([0.3, 0.4, 0.5]);
    const size = b.r.pick([14, 16, 16, 20, 22]);
    const tool = (not) =>
      `<span class="dk-item" style="display:inline-flex;align-items:center;gap:${b.r.int(3, 8)}px;padding:${b.r.int(2, 8)}px ${b.r.int(4, 12)}px;flex:none;${not ? `opacity:${faint}` : ''}" ${b.label('button', not ? { disabled: true } : {})}><span style="font-size:${size}px;display:flex">${b.pictogram()}</span>${b.text(1, 2)}</span>`;
    const bar = () =>
      `<div class="dk-panel" style="display:flex;gap:${b.r.int(0, 8)}px;padding:${b.r.int(1, 5)}px;flex:none;overflow:hidden;white-space:nowrap;${b.edge('bottom')}">${b.r.many(3, 10, () => tool(off())).join('')}</div>`;
    const part = () =>
      b.scrolled(`<div style="padding:${b.r.int(4, 20)}px">${b.r.many(3, 14, line).join('')}</div>`, '', 0.3);
    const halves = b.r.maybe(0.3);
    return b.column(
      (b.r.maybe(0.7) ? b.menuBar() : '') +
        (b.r.maybe(0.7) ? bar() : '') +
        b.across((b.r.maybe(0.2) ? b.sideBar() : '') + part() + (halves ? part() : '')) +
        b.line(b.r.many(1, 4, () => b.button({ off: off() })).join(''), 'padding:6px'),
    );
  },

  /** Horizontal and vertical sliders of all lengths with names and values. */
  mixer: (b) => {
    const lying = () =>
      `<div style="margin:${b.r.int(4, 16)}px 0;${b.r.maybe(0.3) ? `border:1px solid ${b.f.border};padding:8px` : ''}">${b.row(`<b style="flex:1">${b.text(1, 3)}</b>${b.bare()}${b.r.maybe(0.5) ? b.bare() : ''}`)}${b.row(`<span>${b.text(1, 1)}</span>${b.make('slider', { drawn: b.r.maybe(0.6), long: b.r.int(140, Math.max(160, b.width - 240)), width: b.r.int(140, Math.max(160, b.width - 240)) })}<span>${b.r.int(0, 100)} %</span>`)}</div>`;
    const standing = () =>
      b.row(
        b.r
          .many(
            3,
            12,
            () =>
              `<span style="text-align:center;width:${b.r.pick([40, 54])}px;overflow:hidden">${b.make('slider', { tall: true, drawn: true })}<br><small>${b.r.int(1, 16)} kHz</small></span>`,
          )
          .join(''),
      );
    return b.column(
      (b.r.maybe(0.5) ? b.tabs() : '') +
        b.scrolled(
          `<div style="padding:${b.r.int(6, 24)}px">${b.r.many(1, 6, () => (b.r.maybe(0.25) ? standing() : lying())).join('')}</div>`,
        ) +
        b.line(`${b.choice('checkbox')}<span style="flex:1"></span>${b.button()}`, 'padding:6px'),
    );
  },

  /** A tool bar of large buttons with icon and text, over a table with wide, thin rows. */
  largeTools: (b) => {
    const upright = b.r.maybe(0.6);
    const size = b.r.int(20, 40);
    const tool = (off = b.r.maybe(0.2)) =>
      `<span class="dk-item" style="display:inline-flex;flex-direction:${upright ? 'column' : 'row'};align-items:center;justify-content:center;gap:${b.r.int(2, 6)}px;padding:${b.r.int(3, 9)}px ${b.r.int(5, 14)}px;${off ? 'opacity:.4' : ''}" ${b.label('button', off ? { disabled: true } : {})}><span style="font-size:${size}px;display:flex">${b.pictogram()}</span>${b.text(1, 2)}</span>`;
    return b.column(
      b.menuBar() +
        `<div class="dk-panel" style="display:flex;gap:${b.r.int(0, 8)}px;padding:4px;flex:none;overflow:hidden;white-space:nowrap;${b.edge('bottom')}">${b.r.many(4, 12, () => tool()).join('')}</div>` +
        b.scrolled(b.table(b.r.int(5, 30), { columns: b.r.int(4, 9) })) +
        b.statusBar(),
    );
  },

  /** Rows with small controls: checkboxes and icons at both ends, often faint. */
  taskRows: (b) => {
    const size = b.r.int(11, 20);
    const room = b.r.pick([0, 0, 2, 4]);
    const sign = () =>
      `<span style="display:flex;flex:none;font-size:${size}px;padding:${room}px;${b.r.maybe(0.5) ? `opacity:${b.r.pick([0.45, 0.6, 0.8])}` : ''}" ${b.label('icon')}>${mark()}</span>`;
    const mark = b.r.pick([() => b.pictogram(), () => (b.r.maybe(0.3) ? b.signs.star : b.signs.starless)]);
    const before = b.r.int(0, 2);
    const after = b.r.int(before ? 0 : 1, 3);
    const ticked = b.r.maybe(0.7);
    const pad = `${b.r.int(2, 12)}px ${b.r.pick([6, 10, 16])}px`;
    const gap = b.r.int(5, 14);
    const at = b.r.int(-1, 6);
    const row = (i) =>
      b.entry(
        `${ticked ? b.make('checkbox') : ''}${b.r.times(before, sign).join('')}${b.r.maybe(0.2) ? b.face(24) : ''}<b style="width:${Math.round(b.width / 6)}px;flex:none;overflow:hidden">${b.text()}</b><span style="flex:1;min-width:0;overflow:hidden">${b.r.maybe(0.6) ? b.sentence() : b.text(1, 5)}</span>${b.r.times(after, sign).join('')}${b.r.maybe(0.4) ? `<small>${b.r.int(1, 28)}.${b.r.int(1, 12)}.</small>` : ''}`,
        {
          on: i === at,
          style: `display:flex;align-items:center;gap:${gap}px;padding:${pad};white-space:nowrap;overflow:hidden;${b.edge('bottom')}`,
        },
      );
    return b.across(
      (b.r.maybe(0.4) ? b.sideBar() : '') +
        b.column(
          b.line(
            `${ticked ? b.make('checkbox') : ''}${b.r.many(2, 6, () => b.bare()).join('')}<span style="flex:1"></span>${b.button()}`,
            'padding:6px 10px',
          ) + b.scrolled(b.r.times(b.r.int(6, 30), row).join('')),
          'flex:1',
        ),
    );
  },

  /** Tool bars with mostly disabled buttons, as before anything is open or selected, over an empty page. */
  nothingOpen: (b) => {
    const faint = () => `opacity:${b.r.pick([0.3, 0.4, 0.5])}`;
    const tool = (off) =>
      `<span class="dk-ico" style="padding:${pad}px;font-size:${size}px;${off ? faint() : ''}" ${b.label('icon', off ? { disabled: true } : {})}>${b.pictogram()}</span>`;
    const size = b.r.pick([14, 16, 16, 20, 22, 24, 32]);
    const pad = b.r.int(2, 9);
    const bar = () =>
      `<div class="dk-panel" style="display:flex;align-items:center;gap:${b.r.int(0, 6)}px;padding:${b.r.int(1, 6)}px;flex:none;overflow:hidden;${b.edge('bottom')}">${b.r.many(4, 18, () => tool(b.r.maybe(0.55)) + (b.r.maybe(0.15) ? `<span style="flex:none;width:1px;height:${size}px;margin:0 4px;background:${b.f.border}"></span>` : '')).join('')}</div>`;
    const page = () =>
      b.r.pick([
        () => b.scrolled(`<div style="padding:12px">${b.r.maybe(0.5) ? b.sentence() : ''}</div>`),
        () =>
          `<div ${b.label('text_field')} class="dk-base" style="flex:1;min-width:0;border:1px solid ${b.f.border};margin:${b.r.int(0, 6)}px">${b.r.maybe(0.4) ? b.code(b.r.int(1, 6)) : ''}</div>`,
        () => b.scrolled(b.table(b.r.int(1, 8), { columns: b.r.int(2, 6) })),
      ])();
    return b.column(
      b.menuBar() +
        b.r.many(1, 3, bar).join('') +
        (b.r.maybe(0.5) ? b.tabs({ drawn: true }) : '') +
        b.across((b.r.maybe(0.4) ? b.sideBar() : '') + page() + (b.r.maybe(0.3) ? page() : '')) +
        b.statusBar(),
    );
  },

  settings: (b) =>
    b.across(
      b.sideBar() +
        b.scrolled(
          `<div style="padding:14px">${b.r.many(5, 16, () => `<div style="display:flex;align-items:center;justify-content:space-between;gap:12px;padding:8px;${b.edge('bottom')}"><span>${b.text(1, 4)}</span>${b.setting()}</div>`).join('')}</div>`,
        ),
    ),

  preferences: (b) =>
    b.column(
      `<div style="padding:8px 8px 0">${b.tabs({ drawn: b.r.maybe(0.6) })}</div>` +
        b.scrolled(
          `<div style="padding:12px;columns:${b.r.pick([1, 2])}">${b.r.many(2, 6, () => `<div style="break-inside:avoid">${b.frame(b.things(1, 4))}</div>`).join('')}</div>`,
        ) +
        b.line(`${b.button()}<span style="flex:1"></span>${b.button()}${b.button()}${b.button()}`, 'padding:8px'),
    ),

  dataTable: (b) =>
    b.column(
      b.toolbar() +
        (b.r.maybe(0.5) ? b.tabs() : '') +
        b.scrolled(b.table()) +
        b.line(
          b.button() +
            b.r.times(5, (i) => b.button({ text: String(i + 1), bare: true })).join('') +
            b.make('drop_down', { width: 90 }),
          'padding:6px',
        ),
    ),

  adminTable: (b) =>
    b.across(
      b.sideBar(b.r.int(150, 220)) +
        b.column(
          b.line(
            `${b.heading()}<span style="flex:1"></span>${b.field({ width: b.r.int(140, 260) })}${b.button()}${b.button()}`,
            'padding:8px 14px',
          ) +
            b.line(b.chips() + b.dropDown({ width: 130 }), 'padding:0 14px 8px') +
            b.scrolled(b.table(b.r.int(8, 30), { columns: b.r.int(5, 9) })),
          'flex:1',
        ),
    ),

  mail: (b) =>
    b.column(
      b.toolbar() +
        b.across(
          b.sideBar() +
            `<div style="position:relative;width:${b.r.int(220, 340)}px;flex:none;overflow:hidden;${b.edge('inline-end')}">${b.entries(b.r.int(5, 14), { pad: 7, inner: () => `<span style="min-width:0"><b>${b.text()}</b><span style="display:block;overflow:hidden">${b.sentence()}</span></span>` })}${b.r.maybe(0.5) ? b.scrollBar() : ''}</div>` +
            b.scrolled(
              `<div style="padding:14px">${b.row(`${b.face(36)}<b>${b.text(2, 3)}</b>${b.bare()}${b.bare()}`)}${b.r.many(2, 6, b.paragraph).join('')}${b.row(b.button() + b.button())}</div>`,
            ),
        ),
    ),

  files: (b) =>
    b.column(
      (b.r.maybe(0.5) ? b.menuBar() : '') +
        navigation(b) +
        b.across(
          b.sideBar() +
            b.scrolled(
              b.r.maybe(0.5)
                ? b.grid(
                    b.r.int(6, 40),
                    b.r.pick([72, 90, 110]),
                    () =>
                      `<div ${b.label('list_item', { selected: false })}>${b.r.maybe(0.3) ? b.image(48, 40) : `<div style="font-size:36px;display:flex;justify-content:center;color:${b.f.accent}">${b.pictogram()}</div>`}<div>${b.escape(b.t.file())}</div></div>`,
                  )
                : b.table(b.r.int(8, 26)),
            ),
        ) +
        b.statusBar(),
    ),

  twoPanes: (b) => {
    const pane = () =>
      b.column(
        b.line(b.make('drop_down', { width: 80 }) + b.field({ width: 180 }) + b.icon(), 'padding:3px') +
          b.scrolled(b.table(b.r.int(10, 40), { columns: 4 }), 'direction:inherit'),
        `flex:1;${b.edge('inline-end')}`,
      );
    return b.column(
      b.menuBar() +
        b.toolbar() +
        b.across(pane() + pane()) +
        b.line(b.r.times(7, (i) => b.button({ text: `F${i + 2} ${b.t.word()}`, bare: true })).join(''), 'padding:2px'),
    );
  },

  chat: (b) =>
    b.across(
      b.sideBar() +
        b.column(
          b.scrolled(
            `<div style="padding:10px">${b.r.many(3, 12, () => `<div style="display:flex;gap:8px;margin:8px 0;${b.r.maybe(0.4) ? 'flex-direction:row-reverse' : ''}">${b.face(32)}<div class="dk-panel" style="padding:6px 10px;border-radius:10px;max-width:60%">${b.sentence()}${b.r.maybe(0.15) ? b.image(160, 110, { acts: true }) : ''}</div></div>`).join('')}</div>`,
          ) + b.line(b.bare() + b.field({ width: b.r.int(200, 500) }) + b.icon() + b.button(), 'padding:8px'),
          'flex:1',
        ),
    ),

  channels: (b) =>
    b.across(
      `<div class="dk-panel" style="width:64px;flex:none;overflow:hidden;padding:8px;box-sizing:border-box">${b.r.many(3, 9, () => `<div style="margin-bottom:8px">${b.image(46, 46, { round: b.r.maybe(0.5), acts: true })}</div>`).join('')}${b.bare()}</div>` +
        b.sideBar(b.r.int(160, 240), b.heading(1.1) + b.entries(b.r.int(4, 14), { pad: 3 })) +
        b.column(
          b.line(
            `<b>${b.text()}</b><span style="flex:1"></span>${b.r.many(2, 5, () => b.bare()).join('')}${b.field({ width: 150 })}`,
            `padding:6px 12px;${b.edge('bottom')}`,
          ) +
            b.scrolled(
              b.r
                .many(
                  4,
                  14,
                  () =>
                    `<div style="display:flex;gap:12px;padding:6px 14px">${b.face(38)}<div><b>${b.text()}</b> <small>12:0${b.r.int(0, 9)}</small><div>${b.sentence()}</div>${b.r.maybe(0.2) ? b.chips() : ''}</div></div>`,
                )
                .join(''),
            ) +
            `<div style="padding:10px">${b.make('text_area', { width: Math.min(700, b.width - 320) })}${b.line(b.r.many(3, 7, () => b.bare()).join(''))}</div>`,
          'flex:1',
        ) +
        (b.r.maybe(0.5)
          ? `<div class="dk-panel" style="width:180px;flex:none;overflow:hidden">${b.entries(b.r.int(4, 16), { inner: () => b.face(24) + b.text() })}</div>`
          : ''),
    ),

  editor: (b) =>
    b.column(
      b.menuBar() +
        (b.r.maybe(0.5) ? b.toolbar() : '') +
        b.across(
          (b.r.maybe(0.6) ? b.sideBar() : '') +
            b.column(
              b.tabs({ items: b.r.many(1, 6, () => b.escape(b.t.file())), drawn: true, closing: b.r.maybe(0.7) }) +
                `<div ${b.label('text_field')} style="display:flex;flex:1;min-height:0">${b.scrolled(b.monospaced(b.code(60), 'padding:6px'), 'direction:ltr')}</div>`,
              'flex:1;min-width:0',
            ),
        ) +
        b.statusBar(),
    ),

  workbench: (b) =>
    b.column(
      (b.r.maybe(0.7) ? b.menuBar() : '') +
        b.across(
          `<div class="dk-panel" style="width:48px;flex:none;display:flex;flex-direction:column;align-items:center;gap:8px;padding-top:8px;overflow:hidden">${b.r.many(4, 8, () => `<span style="font-size:22px">${b.bare('font-size:20px')}</span>`).join('')}</div>` +
            b.sideBar(
              b.r.int(160, 260),
              `<small style="padding:8px;display:block">${b.text()}</small>${b.tree(b.r.int(8, 24))}`,
            ) +
            b.column(
              b.tabs({ drawn: true, closing: true, items: b.r.many(1, 7, () => b.escape(b.t.file())) }) +
                `<div style="display:flex;flex:1;min-height:0"><div ${b.label('text_field')} style="flex:1;display:flex;min-width:0">${b.scrolled(b.monospaced(b.r.times(60, (i) => `<span style="opacity:.5;display:inline-block;width:3em">${i + 1}</span>${b.t.code()}`).join('<br>')), 'direction:ltr')}</div></div>` +
                (b.r.maybe(0.6)
                  ? `<div style="height:${b.r.int(90, 220)}px;overflow:hidden;${b.edge('top')}">${b.line(b.tabs({ drawn: true }) + b.bare() + b.bare())}${b.monospaced(b.code(14), 'padding:4px')}</div>`
                  : ''),
              'flex:1',
            ),
        ) +
        `<div style="display:flex;gap:12px;padding:1px 8px;flex:none;background:${b.f.accent};color:${b.f.onAccent};font-size:12px;overflow:hidden">${b.r.many(3, 7, () => `<span ${b.label('button')} style="white-space:nowrap">${b.text()}</span>`).join('')}</div>`,
    ),

  terminal: (b) =>
    b.column(
      (b.r.maybe(0.4) ? b.menuBar() : '') +
        (b.r.maybe(0.3) ? b.tabs({ drawn: true, closing: true }) : '') +
        b.scrolled(
          b.monospaced(
            b.code(70),
            `padding:4px;background:${b.r.pick(['#000', '#300a24', '#1e1e2e', '#fff'])};color:${b.r.pick(['#7a7', '#999', '#3a8fb7'])};height:100%`,
          ),
          'direction:ltr',
        ),
    ),

  dashboard: (b) =>
    b.across(
      b.sideBar() +
        b.scrolled(
          `<div style="padding:14px">${b.row(b.r.many(2, 4, () => b.button()).join('') + b.dropDown({ width: 140 }))}<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(${b.r.int(200, 320)}px,1fr));gap:12px;margin-top:10px">${b.r.many(3, 10, () => `<div class="dk-card" style="padding:10px"><div style="display:flex;justify-content:space-between"><b>${b.text()}</b>${b.bare()}</div>${b.r.maybe(0.6) ? b.chart(b.r.int(140, 180), b.r.int(60, 110)) : `<div style="font-size:26px">${b.t.number()}</div>`}</div>`).join('')}</div>${b.r.maybe(0.5) ? b.table(6) : ''}</div>`,
        ),
    ),

  paint: (b) =>
    b.column(
      b.menuBar() +
        b.r
          .many(1, 2, () =>
            b.line(
              b.r.many(6, 24, () => (b.r.maybe(0.5) ? b.bare() : b.icon())).join(''),
              `padding:4px;${b.edge('bottom')}`,
            ),
          )
          .join('') +
        b.across(
          `<div class="dk-panel" style="flex:none;width:${b.r.int(36, 90)}px;overflow:hidden">${b.r.many(5, 18, () => b.bare()).join('')}${b.swatches()}</div>` +
            b.scrolled(
              `<div style="padding:20px">${b.image(b.r.int(240, 640), b.r.int(200, 440))}</div>`,
              'background:#888',
            ) +
            `<div class="dk-panel" style="width:240px;flex:none;overflow:hidden;padding:6px">${b.r.many(2, 4, () => b.labelled(b.make('slider', { long: 90, width: 90 }), false)).join('')}${b.entries(b.r.int(2, 6), { inner: () => b.make('checkbox', { on: true }) + b.image(30, 22) + b.text() })}${b.line(b.r.many(3, 6, () => b.bare()).join(''))}</div>`,
        ) +
        b.statusBar(),
    ),

  iconGrid: (b) =>
    b.column(
      b.line(b.field({ width: b.r.int(160, 320) }) + b.bare(), 'padding:8px;justify-content:center') +
        b.scrolled(
          b.grid(
            b.r.int(12, 60),
            b.r.pick([64, 80, 96]),
            () =>
              `<div ${b.label('list_item')} style="padding:4px"><div style="font-size:${b.r.int(24, 40)}px;display:flex;justify-content:center">${b.pictogram()}</div><small>${b.escape(b.t.word())}</small></div>`,
          ),
        ),
    ),

  monthCalendar: (b) =>
    b.column(
      b.line(
        `${b.icon()}${b.icon()}<b>${b.text(1, 1)} 20${b.r.int(10, 30)}</b>${b.button()}${b.make('drop_down', { width: 110 })}`,
        'padding:8px',
      ) +
        `<div style="flex:1;display:grid;grid-template-columns:repeat(7,1fr);grid-auto-rows:1fr;min-height:0">${b.r.times(35, (i) => `<div ${b.label('control')} style="border:1px solid ${b.f.border};padding:4px;overflow:hidden">${(i % 31) + 1}${b.r.maybe(0.2) ? `<div ${b.label('button')} style="background:${b.f.accent};color:${b.f.onAccent};border-radius:3px;padding:0 4px;margin-top:3px;overflow:hidden;white-space:nowrap">${b.text(1, 1)}</div>` : ''}</div>`).join('')}</div>`,
    ),

  dayPicker: (b) => {
    const size = b.r.int(22, 40);
    const month = () =>
      `<div class="dk-card" style="padding:10px;width:max-content;margin:8px">${b.line(`${b.bare()}<span style="flex:1;text-align:center">${b.text(1, 1)} 20${b.r.int(10, 30)}</span>${b.bare()}`)}<div style="display:grid;grid-template-columns:repeat(7,${size}px)">${b.r.times(7, () => `<span style="text-align:center;opacity:.6">${b.escape(b.t.word().slice(0, 2))}</span>`).join('')}${b.r.times(35, (i) => `<span ${b.label('control', { selected: i === 12 })} style="text-align:center;line-height:${size}px;border-radius:${b.f.radius}px;${i === 12 ? `background:${b.f.accent};color:${b.f.onAccent}` : i < 3 ? 'opacity:.4' : ''}">${((i + 28) % 31) + 1}</span>`).join('')}</div></div>`;
    return b.scrolled(
      `<div style="padding:16px">${b.things(1, 4)}<div style="display:flex;flex-wrap:wrap">${b.r.many(1, 3, month).join('')}</div>${b.row(b.button() + b.button())}</div>`,
    );
  },

  streetMap: (b) =>
    `<div style="position:relative;flex:1;overflow:hidden">${b.image(b.width, b.height, { kind: 'map' })}<div style="position:absolute;left:12px;top:12px;padding:6px" class="dk-panel">${b.line(b.field({ drawn: true }) + b.icon({ framed: true }))}${b.r.maybe(0.5) ? b.entries(b.r.int(2, 6)) : ''}</div><div style="position:absolute;right:12px;bottom:40px;display:flex;flex-direction:column;gap:4px">${b.r.many(2, 5, () => b.icon({ framed: true })).join('')}</div></div>`,

  player: (b) =>
    b.column(
      b.across(
        `<div style="flex:1;display:flex;align-items:center;justify-content:center;background:#111;min-width:0;overflow:hidden">${b.image(b.r.int(300, 700), b.r.int(180, 400))}</div>${b.r.maybe(0.5) ? b.sideBar() : ''}`,
      ) +
        `<div class="dk-panel" style="padding:8px;flex:none">${b.line(`${b.r.many(3, 6, () => b.bare()).join('')}${b.make('slider', { long: b.r.int(140, 400) })}<span>1:24</span>${b.bare()}${b.make('slider', { long: 70, width: 70 })}${b.bare()}`)}</div>`,
    ),

  musicLibrary: (b) =>
    b.column(
      b.across(
        b.sideBar() +
          b.scrolled(
            b.r.maybe(0.5)
              ? b.grid(
                  b.r.int(6, 24),
                  b.r.pick([110, 140, 170]),
                  () =>
                    `<div ${b.label('list_item')}>${b.image(b.r.pick([96, 110]), 96)}<div>${b.text()}</div></div>`,
                )
              : b.table(b.r.int(10, 30)),
          ),
      ) +
        `<div class="dk-panel" style="padding:8px;flex:none;${b.edge('top')}">${b.line(`${b.image(40, 40)}<span style="width:120px;overflow:hidden;white-space:nowrap">${b.text(2, 4)}</span>${b.r.times(5, () => b.bare()).join('')}${b.make('slider', { long: b.r.int(100, 300) })}${b.bare()}${b.make('slider', { long: 70 })}`)}</div>`,
    ),

  article: (b) =>
    b.scrolled(
      `<div style="padding:${b.r.int(10, 50)}px">${b.row(b.r.many(3, 7, () => b.link()).join(''))}<h1>${b.text(2, 5)}</h1>${b.r.many(2, 8, () => (b.r.maybe(0.2) ? b.image(b.r.int(160, 420), b.r.int(90, 260)) : b.paragraph())).join('')}<ul>${b.r.many(2, 7, () => `<li>${b.link({ text: b.t.words(1, 4) })}</li>`).join('')}</ul>${b.row(b.button() + b.button())}</div>`,
    ),

  newsPage: (b) =>
    b.scrolled(
      `<div class="dk-panel" style="display:flex;gap:18px;align-items:center;padding:10px 24px;${b.edge('bottom')}"><b style="font-size:1.4em">${b.text(1, 1)}</b>${b.r.many(4, 8, () => b.link()).join('')}<span style="flex:1"></span>${b.field({ width: 150 })}${b.button()}</div><div style="display:grid;grid-template-columns:repeat(${b.width > 1200 ? 4 : b.width > 700 ? 3 : 2},1fr);gap:18px;padding:18px 24px">${b.r.many(4, 14, () => `<div>${b.image(b.r.int(140, 260), b.r.int(80, 150), { acts: true, style: 'max-width:100%' })}<div style="font-size:1.15em;margin:4px 0">${b.link({ text: b.t.words(3, 7) }).replace('white-space:nowrap', '')}</div><div>${b.sentence()}</div></div>`).join('')}</div><div class="dk-panel" style="padding:18px 24px;columns:3">${b.r.many(6, 18, () => `<div>${b.link()}</div>`).join('')}</div>`,
    ),

  staticTable: (b) =>
    b.scrolled(
      `<div style="padding:20px ${b.r.int(20, 90)}px">${b.heading(1.7)}${b.paragraph()}${b.table(b.r.int(3, 12), { acts: false })}${b.paragraph()}${b.chart(b.r.int(240, 480), b.r.int(120, 240))}${b.paragraph()}<div style="margin:8px 0">${b.entries(b.r.int(2, 6), { acts: false, icons: false, pad: 2 })}</div></div>`,
    ),

  shop: (b) =>
    b.column(
      b.line(
        `<b style="font-size:1.3em">${b.text(1, 1)}</b>${b.field({ width: b.r.int(180, 420) })}${b.icon()}<span style="flex:1"></span>${b.bare()}${b.bare()}${b.button()}`,
        'padding:8px 16px',
      ) +
        b.across(
          (b.r.maybe(0.6)
            ? `<div style="width:190px;flex:none;overflow:hidden;padding:10px">${b.heading(1)}${b.r.many(3, 8, () => `<div>${b.choice('checkbox')}</div>`).join('')}${b.make('slider', { width: 140 })}${b.stars()}${b.swatches()}</div>`
            : '') +
            b.scrolled(
              `<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(${b.r.int(150, 230)}px,1fr));gap:14px;padding:12px">${b.r.many(4, 18, () => `<div class="dk-card" style="padding:10px">${b.image(b.r.int(110, 140), b.r.int(90, 130), { acts: true })}<div>${b.link()}</div>${b.r.maybe(0.4) ? b.stars() : ''}<b>${b.t.number()}</b>${b.line(b.button() + (b.r.maybe(0.4) ? b.bare() : ''))}</div>`).join('')}</div>`,
            ),
        ),
    ),

  wizard: (b) =>
    b.column(
      b.line(b.r.times(4, (i) => `<span>${i + 1}. ${b.text(1, 1)}</span>`).join(' › '), 'padding:10px') +
        b.scrolled(`<div style="padding:16px">${b.things(4, 10)}</div>`) +
        b.line(b.button() + b.button() + b.button(), `padding:10px;justify-content:flex-end;${b.edge('top')}`),
    ),

  spreadsheet: (b) => {
    const [w, h] = [b.r.int(60, 120), b.r.int(18, 26)];
    const columns = Math.max(3, Math.floor((b.width - 60) / w));
    const rows = Math.max(4, Math.min(30, Math.floor((b.height - 120) / h)));
    const at = b.r.int(0, rows - 1) * columns + b.r.int(0, columns - 1);
    const head = (t) =>
      `<span ${b.label('control')} style="background:${b.f.face};text-align:center;border:1px solid ${b.f.border};box-sizing:border-box;margin:0 -1px -1px 0">${t}</span>`;
    const cells = b.r
      .times(
        rows,
        (y) =>
          head(y + 1) +
          b.r
            .times(
              columns,
              (x) =>
                `<span ${b.label('control', { selected: y * columns + x === at })} style="border:1px solid ${b.f.border};box-sizing:border-box;margin:0 -1px -1px 0;padding:0 3px;overflow:hidden;${y * columns + x === at ? `outline:2px solid ${b.f.accent};outline-offset:-1px;position:relative` : ''}">${b.r.maybe(0.4) ? b.escape(b.r.maybe(0.6) ? b.t.number() : b.t.word()) : ''}</span>`,
            )
            .join(''),
      )
      .join('');
    return b.column(
      b.menuBar() +
        b.toolbar(b.r.int(10, 22), 0.95) +
        b.line(b.make('drop_down', { width: 80 }) + b.bare() + b.field({ width: b.r.int(200, 600) }), 'padding:3px') +
        b.scrolled(
          `<div style="display:grid;grid-template-columns:42px repeat(${columns},${w}px);grid-auto-rows:${h}px;white-space:nowrap;font-size:12px;line-height:${h}px"><span></span>${b.r.times(columns, (i) => head(String.fromCharCode(65 + (i % 26)))).join('')}${cells}</div>`,
          'direction:ltr',
          0.9,
        ) +
        b.line(b.bare() + b.tabs({ drawn: true }), 'padding:2px') +
        b.statusBar(),
    );
  },

  calculator: (b) => {
    const keys = [...'789÷456×123−0.=+'.replace(/[÷×−]/g, (c) => ({ '÷': '/', '×': '*', '−': '-' })[c])];
    const more = b.r.maybe(0.4) ? ['sin', 'cos', 'tan', 'log', '(', ')', 'x²', 'π'] : [];
    return b.column(
      (b.r.maybe(0.6) ? b.menuBar() : '') +
        `<div style="padding:8px;flex:none"><span class="dk-field" style="width:100%;height:${b.r.int(36, 64)}px;justify-content:flex-end;font-size:1.6em" ${b.label('text_field')}>${b.t.number()}</span></div>` +
        `<div style="flex:1;display:grid;grid-template-columns:repeat(4,1fr);grid-auto-rows:1fr;gap:${b.r.int(2, 8)}px;padding:8px;min-height:0">${[...more, ...keys].map((key) => `<span class="dk-btn ${key === '=' ? 'main' : ''}" style="height:auto;padding:0;min-height:0" ${b.label('button')}>${key}</span>`).join('')}</div>`,
    );
  },

  /** Adjacent keys, some wider or higher than others, below one or two displays. */
  keypad: (b) => {
    const [columns, rows] = [b.r.int(3, 8), b.r.int(3, 7)];
    const [w, h] = [b.r.int(26, 90), b.r.int(22, 60)];
    const gap = b.r.pick([0, 0, 1, 2]);
    const signs = [...'7894561230.,()%=+-/*^√π', 'sin', 'log', 'C', 'AC', 'mod', 'x²', '1/x', 'Del'];
    const face = b.r.pick([b.f.face, b.f.base, `color-mix(in srgb, ${b.f.ink} 10%, ${b.f.face})`]);
    const border = b.r.pick(['0', '0', `1px solid ${b.f.border}`]);
    const key = () => {
      const filled = b.r.maybe(0.08);
      const spans = `${b.r.maybe(0.06) ? 'grid-column:span 2;' : ''}${b.r.maybe(0.04) ? 'grid-row:span 2;' : ''}`;
      return `<span ${b.label('button')} style="display:flex;align-items:center;justify-content:center;overflow:hidden;white-space:nowrap;border:${border};background:${filled ? b.f.accent : face};${spans}">${b.r.maybe(0.15) ? b.pictogram() : b.escape(b.r.maybe(0.12) ? b.t.word() : b.r.pick(signs))}</span>`;
    };
    const display = (height) =>
      `<div ${b.label('text_field')} style="height:${height}px;flex:none;text-align:end;overflow:hidden;padding:0 6px;font-size:${Math.round(height * 0.5)}px;${b.r.maybe(0.4) ? `background:${b.f.base};` : ''}${b.r.maybe(0.3) ? `border:1px solid ${b.f.border};` : ''}">${b.r.maybe(0.6) ? b.t.number() : ''}</div>`;
    return b.column(
      (b.r.maybe(0.6) ? b.menuBar() : '') +
        `<div style="width:${columns * (w + gap)}px;max-width:100%;overflow:hidden;margin:${b.r.int(0, 12)}px ${b.r.pick(['auto', '6px'])}"><div style="background:${b.f.base}">${b.r.maybe(0.3) ? display(b.r.int(18, 32)) : ''}${display(b.r.int(28, 80))}</div><div style="display:grid;margin-top:${b.r.int(0, 8)}px;grid-template-columns:repeat(${columns},1fr);grid-auto-rows:${h}px;grid-auto-flow:dense;gap:${gap}px">${b.r.times(columns * rows, key).join('')}</div></div>`,
    );
  },

  /** Panes side by side, each with its own scroll bar beside scrollable content. */
  panes: (b) =>
    b.across(
      b.r
        .many(2, 4, () => {
          const inner = b.r.pick([
            () => b.r.times(24, () => `<div style="padding:3px 8px" ${b.label('list_item')}>${b.text(1, 3)}</div>`).join(''),
            () => `<div style="padding:10px">${b.r.many(4, 9, () => `<p>${b.sentence()}</p>`).join('')}</div>`,
            () => `<div style="padding:8px">${b.monospaced(b.code(b.r.int(8, 40)))}</div>`,
            () => `<div style="padding:12px">${b.things(2, 9)}</div>`,
            () => '',
          ])();
          const ground = b.r.pick([b.f.base, b.f.base, b.f.face, `color-mix(in srgb, ${b.f.ink} 8%, ${b.f.base})`]);
          const pane = b.scrolled(inner, `background:${ground};${b.r.maybe(0.5) ? b.edge('inline-end') : ''}`, 1);
          return b.r.maybe(0.4)
            ? `<div style="display:flex;flex-direction:column;flex:1;min-width:0;min-height:0">${pane}${b.scrolled(b.r.maybe(0.5) ? `<p>${b.sentence()}</p>` : '', `background:${b.f.base};${b.edge('top')}`, 1)}</div>`
            : pane;
        })
        .join(''),
      'width:100%;height:100%',
    ),

  board: (b) =>
    b.column(
      b.line(
        `${b.heading()}${b.r.times(3, () => b.image(26, 26, { round: true })).join('')}<span style="flex:1"></span>${b.segments()}${b.button()}`,
        'padding:8px 12px',
      ) +
        `<div style="flex:1;display:flex;gap:10px;padding:10px;overflow:hidden;min-height:0">${b.r.many(3, 5, () => `<div class="dk-panel" style="width:${b.r.int(180, 260)}px;flex:none;padding:8px;overflow:hidden">${b.line(`<b>${b.text()}</b><span style="flex:1"></span>${b.bare()}`)}${b.r.many(1, 6, () => `<div class="dk-card" style="padding:8px;margin-top:8px" ${b.label('control')}>${b.text(2, 6)}${b.r.maybe(0.3) ? b.image(150, 70) : ''}${b.r.maybe(0.5) ? `<div style="display:flex;justify-content:flex-end">${b.face(22)}</div>` : ''}</div>`).join('')}${b.button({ style: 'text' })}</div>`).join('')}</div>`,
    ),

  systemMonitor: (b) =>
    b.column(
      (b.r.maybe(0.5) ? b.menuBar() : '') +
        b.line(b.r.maybe(0.5) ? b.segments() : b.tabs(), 'padding:6px;justify-content:center') +
        (b.r.maybe(0.5)
          ? b.scrolled(b.table(b.r.int(10, 34), { columns: b.r.int(4, 8) })) +
            b.line(`${b.choice('checkbox')}<span style="flex:1"></span>${b.button()}`, 'padding:6px')
          : b.scrolled(
              `<div style="padding:12px">${b.r.many(2, 4, () => `<b>${b.text()}</b><div>${b.chart(Math.min(700, b.width - 60), b.r.int(70, 140))}</div>`).join('')}</div>`,
            )),
    ),

  document: (b) =>
    b.column(
      b.menuBar() +
        b.toolbar(b.r.int(10, 22), 0.95) +
        b.line(
          `${b.make('drop_down', { width: 120 })}${b.make('drop_down', { width: 60 })}${b.r.many(4, 12, () => b.icon({ framed: true, toggled: b.r.maybe(0.2) })).join('')}`,
          'padding:3px 6px',
        ) +
        b.scrolled(
          `<div style="width:${b.r.int(380, 640)}px;margin:18px auto;padding:40px;background:#fff;color:#111;min-height:100%;box-shadow:0 0 4px #0006" ${b.label('text_field')}><h2>${b.text(2, 4)}</h2>${b.r.many(4, 9, () => `<p>${b.sentence()} ${b.sentence()}</p>`).join('')}</div>`,
          `background:${b.f.face}`,
        ) +
        b.statusBar(),
    ),

  logList: (b) =>
    b.column(
      b.line(
        `${b.field({ width: b.r.int(150, 360) })}${b.dropDown({ width: 110 })}${b.choice('checkbox')}${b.button()}`,
        'padding:5px',
      ) +
        b.scrolled(
          b.r
            .times(
              40,
              () =>
                `<div style="display:flex;gap:10px;padding:1px 6px;white-space:nowrap" ${b.label('list_item')}><span style="width:120px;flex:none">12:0${b.r.int(0, 9)}:${b.r.int(10, 59)}</span><span style="width:60px;flex:none">${b.text(1, 1)}</span>${b.sentence()}</div>`,
            )
            .join(''),
        ),
    ),

  welcome: (b) =>
    `<div style="margin:auto;text-align:center;max-width:520px;padding:20px"><div style="font-size:${b.r.int(48, 110)}px;display:flex;justify-content:center;color:${b.f.accent}">${b.pictogram()}</div>${b.heading(1.8)}<p>${b.sentence()}</p><div style="display:flex;justify-content:center;gap:10px">${b.button()}${b.r.maybe(0.6) ? b.button() : ''}</div>${b.r.maybe(0.5) ? `<div style="margin-top:14px">${b.link()}</div>` : ''}</div>`,

  video: (b) =>
    b.scrolled(
      `<div style="display:flex;gap:18px;padding:14px 20px"><div style="flex:1;min-width:0"><div style="position:relative;background:#000;overflow:hidden">${b.image(Math.round(b.width * 0.55), Math.round(b.height * 0.5))}<div style="position:absolute;left:0;right:0;bottom:0;background:#0009;color:#fff;padding:4px">${b.line(`${b.bare()}${b.bare()}<span>0:4${b.r.int(0, 9)}</span><span style="flex:1"></span>${b.bare()}${b.bare()}`)}</div></div>${b.heading()}${b.line(`${b.face(36)}<b>${b.text()}</b>${b.button()}<span style="flex:1"></span>${b.segments()}${b.icon()}`)}<p>${b.sentence()}</p>${b.field({ width: 320 })}</div><div style="width:300px;flex:none">${b.r.many(3, 8, () => `<div style="display:flex;gap:8px;margin-bottom:8px">${b.image(140, 80, { acts: true })}<div style="min-width:0">${b.link({ text: b.t.words(2, 3) })}<div><small>${b.text()}</small></div></div></div>`).join('')}</div></div>`,
    ),

  searchResults: (b) =>
    b.scrolled(
      `<div style="padding:18px ${b.r.int(20, 160)}px">${b.line(`${b.field({ width: b.r.int(240, 560) })}${b.icon()}`)}${b.tabs()}${b.r.many(3, 10, () => `<div style="margin:16px 0;max-width:620px"><small>example.org › ${b.text()}</small><div style="font-size:1.25em">${b.link({ text: b.t.words(3, 6) })}</div><div>${b.sentence()} ${b.sentence()}</div></div>`).join('')}${b.line(b.r.times(8, (i) => b.link({ text: String(i + 1) })).join(''))}</div>`,
    ),
};
