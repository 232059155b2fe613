// Window contents of test screens; no layout is shared with another split.

export const layouts = {
  checkout: (b) =>
    b.scrolled(
      `<div style="display:flex;gap:28px;padding:24px 6%;align-items:flex-start"><div style="flex:1;min-width:0">${b.heading(1.5)}${b.r.many(4, 8, () => b.labelled(b.field({ width: b.r.int(160, 300) }), true)).join('')}${b.r.many(2, 3, (i) => `<div class="dk-card" style="padding:10px;margin:6px 0">${b.choice('radio', { on: i === 0 })}</div>`).join('')}${b.choice('checkbox')}${b.row(b.dropDown({ width: 90 }) + b.dropDown({ width: 90 }))}</div><div class="dk-panel" style="width:280px;flex:none;padding:14px">${b.r.many(1, 4, () => `<div style="display:flex;gap:8px;margin-bottom:8px">${b.image(52, 52, { acts: true })}<div style="flex:1">${b.link()}${b.make('spin_box', { drawn: true })}</div>${b.bare()}</div>`).join('')}<hr style="border:0;${b.edge('top')}">${b.line(`<b style="flex:1">${b.text()}</b><b>${b.t.number()}</b>`)}${b.button({ style: 'main' })}</div></div>`,
    ),

  controlCentre: (b) =>
    b.across(
      `<div class="dk-panel" style="position:relative;width:${b.r.int(170, 240)}px;flex:none;overflow:hidden;padding:8px;box-sizing:border-box">${b.field({ width: 150 })}<div style="height:8px"></div>${b.entries(b.r.int(6, 16), { icons: true })}</div>` +
        b.scrolled(
          `<div style="padding:20px 26px">${b.heading(1.6)}${b.r.many(2, 4, () => `<div style="margin-top:14px"><b>${b.text()}</b><div class="dk-card" style="padding:4px 12px;margin-top:4px">${b.r.many(1, 4, () => `<div style="display:flex;align-items:center;gap:10px;padding:8px 0"><span style="flex:1;min-width:0">${b.text(1, 3)}<small style="display:block;opacity:.7">${b.sentence()}</small></span>${b.setting()}</div>`).join('')}</div></div>`).join('')}</div>`,
        ),
    ),

  propertySheet: (b) =>
    b.column(
      `<div style="padding:10px;flex:1;min-height:0;overflow:hidden">${b.tabs({ drawn: true })}<div class="dk-card" style="padding:10px;min-height:70%">${b.frame(b.r.many(2, 5, () => `<div>${b.choice('checkbox')}</div>`).join(''))}${b.frame(b.r.many(2, 3, (i) => `<div>${b.choice('radio', { on: i === 0 })}</div>`).join('') + b.labelled(b.make('spin_box', { drawn: true }), false))}${b.labelled(b.dropDown(), false)}${b.labelled(b.make('slider'), false)}</div></div>` +
        b.line(`<span style="flex:1"></span>${b.button()}${b.button()}${b.button()}`, 'padding:0 10px 10px'),
    ),

  messenger: (b) =>
    b.across(
      `<div style="width:${b.r.int(220, 300)}px;flex:none;overflow:hidden;${b.edge('inline-end')}"><div style="display:flex;padding:8px;gap:6px;align-items:center">${b.face(34)}${b.field({ width: 130 })}${b.bare()}</div>${b.entries(b.r.int(5, 12), { pad: 8, inner: () => `${b.face(40)}<span style="min-width:0;overflow:hidden"><b>${b.text()}</b><span style="display:block;opacity:.7">${b.sentence()}</span></span>` })}</div>` +
        b.column(
          b.line(
            `${b.face(30)}<b>${b.text()}</b><span style="flex:1"></span>${b.bare()}${b.bare()}${b.bare()}`,
            `padding:8px;${b.edge('bottom')}`,
          ) +
            b.scrolled(
              `<div style="padding:14px">${b.r.many(4, 12, (i) => `<div style="display:flex;margin:7px 0;justify-content:flex-${i % 3 ? 'start' : 'end'}"><div style="padding:7px 12px;border-radius:16px;max-width:65%;${i % 3 ? `background:${b.f.face}` : `background:${b.f.accent};color:${b.f.onAccent}`}">${b.sentence()}</div></div>`).join('')}</div>`,
              `background:color-mix(in srgb, ${b.f.accent} 6%, ${b.f.base})`,
            ) +
            b.line(
              `${b.bare()}${b.bare()}${b.field({ width: b.r.int(180, 420), empty: true })}${b.bare()}`,
              'padding:8px',
            ),
          'flex:1',
        ),
    ),

  groupware: (b) =>
    b.column(
      b.tabs({ drawn: true }) +
        `<div class="dk-panel" style="display:flex;gap:14px;padding:6px 10px;flex:none;overflow:hidden;${b.edge('bottom')}">${b.r.many(3, 7, () => `<span ${b.label('button')} style="display:inline-flex;flex-direction:column;align-items:center;padding:3px 6px;font-size:12px;white-space:nowrap"><span style="font-size:20px">${b.pictogram()}</span>${b.text()}</span>`).join('')}</div>` +
        b.across(
          `<div class="dk-panel" style="width:${b.r.int(160, 210)}px;flex:none;overflow:hidden">${b.tree(b.r.int(6, 14))}</div>` +
            b.column(
              b.scrolled(b.table(b.r.int(5, 12), { columns: 4 }), `${b.edge('bottom')}`) +
                b.scrolled(
                  `<div style="padding:16px">${b.heading()}${b.r.many(2, 5, b.paragraph).join('')}${b.chips()}</div>`,
                ),
              'flex:1',
            ),
        ) +
        b.statusBar(),
    ),

  fileGrid: (b) =>
    b.column(
      `<div style="display:flex;align-items:center;gap:6px;padding:5px 8px;flex:none;overflow:hidden">${b.icon({ framed: true })}${b.icon({ framed: true })}${b.segments()}<span style="flex:1"></span>${b.icon()}${b.icon()}${b.icon()}</div>` +
        b.across(
          `<div class="dk-panel" style="width:${b.r.int(140, 190)}px;flex:none;overflow:hidden;padding-top:6px">${b.entries(b.r.int(5, 12), { icons: true, pad: 5 })}</div>` +
            b.scrolled(
              `<div style="display:grid;grid-template-columns:repeat(auto-fill,${b.r.pick([96, 112, 128])}px);gap:18px;padding:18px;justify-content:center">${b.r.many(6, 34, () => `<div ${b.label('list_item', { selected: false })} style="text-align:center;padding:6px;overflow:hidden">${b.r.maybe(0.35) ? b.image(72, 54) : `<div style="font-size:44px;display:flex;justify-content:center;color:${b.f.accent}">${b.pictogram()}</div>`}<div style="overflow-wrap:anywhere">${b.escape(b.t.file())}</div></div>`).join('')}</div>`,
            ),
        ),
    ),

  sourceEditor: (b) =>
    b.column(
      `<div class="dk-panel" style="display:flex;gap:4px;align-items:center;padding:3px 6px;flex:none;overflow:hidden">${b.menuBar()}<span style="flex:1"></span>${b.button({ bare: true })}${b.bare()}</div>` +
        b.across(
          b.column(
            b.tabs({ items: b.r.many(2, 6, () => b.escape(b.t.file())), drawn: true, closing: true }) +
              `<div ${b.label('text_field')} style="flex:1;display:flex;min-height:0">${b.scrolled(b.monospaced(b.r.times(50, (i) => `<span style="color:${b.f.accent};display:inline-block;width:2.5em;text-align:right;margin-right:1em">${i + 1}</span>${b.t.code()}`).join('<br>')), 'direction:ltr')}</div>` +
              b.line(
                `${b.field({ width: 200 })}${b.icon()}${b.icon()}${b.choice('checkbox')}${b.bare()}`,
                `padding:4px;${b.edge('top')}`,
              ),
            'flex:1',
          ) +
            `<div class="dk-panel" style="width:${b.r.int(170, 260)}px;flex:none;overflow:hidden;${b.edge('inline-start')}">${b.tree(b.r.int(8, 20))}</div>`,
        ),
    ),

  console: (b) =>
    b.column(
      b.menuBar() +
        b.across(
          b.scrolled(
            b.monospaced(
              b.code(60),
              `padding:6px;height:100%;background:${b.r.pick(['#0c0c0c', '#012456', '#fdf6e3'])};color:#93a1a1`,
            ),
            'direction:ltr',
          ) +
            (b.r.maybe(0.4)
              ? b.scrolled(
                  b.monospaced(b.code(60), 'padding:6px;height:100%;background:#0c0c0c;color:#ccc'),
                  'direction:ltr;border-left:2px solid #777',
                )
              : ''),
        ),
    ),

  portal: (b) =>
    b.scrolled(
      `<div style="display:flex;align-items:center;gap:16px;padding:12px 5%;${b.edge('bottom')}">${b.bare()}<b style="font-size:1.6em">${b.text(1, 1)}</b><span style="flex:1"></span>${b.r.many(3, 5, () => b.link()).join('')}${b.button()}</div><div style="display:flex;gap:26px;padding:20px 5%"><div style="flex:2;min-width:0">${b.image(Math.round(b.width * 0.5), Math.round(b.height * 0.35), { acts: true })}<div style="font-size:1.7em">${b.link({ text: b.t.words(3, 5) })}</div>${b.r.many(2, 4, b.paragraph).join('')}${b.r.many(1, 4, () => `<div style="display:flex;gap:12px;padding:10px 0;${b.edge('top')}">${b.image(120, 76, { acts: true })}<div>${b.link({ text: b.t.words(2, 5) })}<div>${b.sentence()}</div></div></div>`).join('')}</div><div style="flex:1;min-width:0"><b>${b.text()}</b><ol>${b.r.many(4, 9, () => `<li>${b.link({ text: b.t.words(2, 4) })}</li>`).join('')}</ol>${b.field({ width: 180 })}${b.button()}${b.r.many(1, 3, b.fold).join('')}</div></div>`,
    ),

  ledger: (b) =>
    b.column(
      b.line(`<b>${b.text()}</b>${b.tabs()}`, 'padding:6px 12px') +
        b.line(
          `${b.field({ width: 180 })}${b.dropDown({ width: 130 })}${b.button()}<span style="flex:1"></span>${b.icon()}${b.icon()}`,
          'padding:6px 12px',
        ) +
        b.scrolled(b.table(b.r.int(8, 28))) +
        b.line(
          `<span>1–20 / ${b.r.int(40, 900)}</span><span style="flex:1"></span>${b.icon()}${b.icon()}`,
          `padding:6px 12px;${b.edge('top')}`,
        ),
    ),

  cellGrid: (b) => {
    const columns = Math.max(3, Math.min(16, Math.floor((b.width - 70) / 88)));
    const rows = Math.max(4, Math.min(26, Math.floor((b.height - 110) / 23)));
    return b.column(
      b.toolbar(b.r.int(8, 16), 0.9) +
        b.line(`<i>fx</i>${b.field({ width: b.r.int(220, 520) })}`, 'padding:3px 8px') +
        b.scrolled(
          `<table style="border-collapse:collapse;font-size:12px;table-layout:fixed">${b.r.times(rows, (y) => `<tr>${b.r.times(columns, (x) => `<td ${b.label('control')} style="width:88px;height:22px;padding:0 4px;border:1px solid ${b.f.border};overflow:hidden;white-space:nowrap;${x && y ? '' : `background:${b.f.face};text-align:center`}">${y === 0 ? (x ? String.fromCharCode(64 + x) : '') : x === 0 ? y : b.r.maybe(0.5) ? b.t.number() : ''}</td>`).join('')}</tr>`).join('')}</table>`,
          'direction:ltr',
          0.9,
        ) +
        b.tabs({ drawn: true }),
    );
  },

  yearView: (b) =>
    b.across(
      `<div class="dk-panel" style="width:190px;flex:none;padding:10px;overflow:hidden">${b.button()}${b.r.many(3, 7, () => `<div>${b.choice('checkbox')}</div>`).join('')}</div>` +
        b.scrolled(
          `<div style="display:flex;align-items:center;gap:8px;padding:8px">${b.bare()}<b style="font-size:1.4em">20${b.r.int(10, 30)}</b>${b.bare()}${b.segments()}</div><div style="display:grid;grid-template-columns:repeat(auto-fill,170px);gap:16px;padding:12px">${b.r.times(b.r.pick([4, 6, 12]), () => `<div><b>${b.text(1, 1)}</b><div style="display:grid;grid-template-columns:repeat(7,24px);font-size:11px;text-align:center;line-height:22px">${b.r.times(31, (i) => `<span ${b.label('control')}>${i + 1}</span>`).join('')}</div></div>`).join('')}</div>`,
        ),
    ),

  routePlanner: (b) =>
    b.across(
      `<div class="dk-base" style="width:${b.r.int(230, 320)}px;flex:none;padding:10px;overflow:hidden;box-sizing:border-box">${b.segments()}${b.r.times(2, () => `<div style="margin:6px 0">${b.field({ width: 190 })}</div>`).join('')}${b.button({ style: 'main' })}${b.entries(b.r.int(2, 6), { pad: 10 })}</div>` +
        `<div style="position:relative;flex:1;overflow:hidden">${b.image(b.width, b.height, { kind: 'map' })}<div style="position:absolute;right:10px;top:10px">${b.icon({ framed: true })}</div><div style="position:absolute;right:10px;bottom:16px;display:flex;flex-direction:column">${b.icon({ framed: true })}${b.icon({ framed: true })}</div></div>`,
    ),

  albums: (b) =>
    b.column(
      `<div style="display:flex;gap:10px;align-items:center;padding:8px 14px;flex:none">${b.tabs()}<span style="flex:1"></span>${b.field({ width: 150 })}</div>` +
        b.scrolled(
          `<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(130px,1fr));gap:16px;padding:14px">${b.r.many(6, 20, () => `<div>${b.image(128, 128, { acts: true })}<b style="display:block">${b.text()}</b><small>${b.text()}</small></div>`).join('')}</div>`,
        ) +
        `<div class="dk-panel" style="display:flex;align-items:center;gap:12px;padding:8px 14px;flex:none;overflow:hidden;${b.edge('top')}">${b.bare()}${b.bare()}${b.bare()}<span>0:5${b.r.int(0, 9)}</span>${b.make('slider', { long: b.r.int(160, 320) })}${b.bare()}${b.make('slider', { long: 70 })}</div>`,
    ),

  signIn: (b) =>
    `<div style="flex:1;display:flex;min-height:0"><div style="flex:1;overflow:hidden">${b.image(Math.round(b.width * 0.5), b.height, { kind: 'landscape' })}</div><div style="flex:1;display:flex;flex-direction:column;justify-content:center;align-items:flex-start;padding:0 8%;gap:8px;overflow:hidden">${b.heading(1.8)}${b.field({ width: 230, empty: true })}${b.field({ width: 230, empty: true })}${b.line(b.choice('checkbox') + b.link())}${b.button({ style: 'main' })}${b.row(b.r.many(2, 4, () => b.icon({ framed: true })).join(''))}</div></div>`,

  steps: (b) =>
    b.across(
      `<div class="dk-panel" style="width:180px;flex:none;padding:16px;box-sizing:border-box;overflow:hidden">${b.r.many(4, 6, (i) => `<div style="display:flex;gap:8px;margin-bottom:14px;${i === 1 ? 'font-weight:bold' : 'opacity:.7'}"><span>${i + 1}</span>${b.text(1, 2)}</div>`).join('')}</div>` +
        b.column(
          b.scrolled(`<div style="padding:22px">${b.heading(1.4)}<p>${b.sentence()}</p>${b.things(3, 8)}</div>`) +
            b.line(
              `${b.button()}<span style="flex:1"></span>${b.button()}${b.button({ style: 'main' })}`,
              `padding:12px;${b.edge('top')}`,
            ),
          'flex:1',
        ),
    ),
};
