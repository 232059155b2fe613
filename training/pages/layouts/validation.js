// Window contents of validation screens; no layout is shared with another split.

export const layouts = {
  accountForm: (b) =>
    b.scrolled(
      `<div style="max-width:720px;margin:0 auto;padding:28px">${b.heading(1.6)}<div style="display:grid;grid-template-columns:1fr 1fr;gap:4px 24px">${b.r.many(4, 10, () => `<div><div>${b.text(1, 3)} *</div>${b.r.maybe(0.7) ? b.field({ width: 220 }) : b.dropDown({ width: 220 })}</div>`).join('')}</div>${b.frame(b.r.many(2, 4, (i) => `<div>${b.choice('radio', { on: i === 0 })}</div>`).join(''))}${b.choice('checkbox')}${b.make('text_area')}${b.line(`<span style="flex:1"></span>${b.button()}${b.button()}`)}</div>`,
    ),

  phoneLikeSettings: (b) =>
    b.scrolled(
      `<div style="max-width:560px;margin:0 auto;padding:12px">${b.r.many(2, 4, () => `<small style="display:block;margin:10px 4px 2px">${b.text()}</small><div class="dk-card">${b.r.many(2, 5, () => b.entry(`${b.pictogram()}<span style="flex:1">${b.text(1, 3)}</span>${b.r.maybe(0.6) ? b.setting() : `<span style="font-size:11px">${b.signs.right}</span>`}`, { style: `padding:9px 12px;${b.edge('bottom')}` })).join('')}</div>`).join('')}</div>`,
    ),

  inbox: (b) =>
    b.across(
      `<div class="dk-panel" style="width:${b.r.int(150, 200)}px;flex:none;padding:10px 0;overflow:hidden"><div style="padding:0 10px 10px">${b.button({ style: 'main' })}</div>${b.entries(b.r.int(4, 10))}</div>` +
        b.column(
          b.line(
            `${b.make('checkbox')}${b.r.many(3, 7, () => b.bare()).join('')}<span style="flex:1"></span>${b.field({ width: b.r.int(160, 300) })}`,
            'padding:6px 10px',
          ) +
            b.scrolled(
              b.r
                .many(
                  8,
                  26,
                  () =>
                    `<div style="display:flex;gap:10px;align-items:center;padding:5px 10px;white-space:nowrap;overflow:hidden;${b.edge('bottom')}" ${b.label('list_item')}>${b.make('checkbox')}<span style="font-size:14px;display:flex" ${b.label('icon')}>${b.signs.starless}</span><b style="width:130px;flex:none;overflow:hidden">${b.text()}</b><span>${b.sentence()}</span></div>`,
                )
                .join(''),
            ),
          'flex:1',
        ),
    ),

  folderColumns: (b) =>
    b.column(
      b.line(
        `${b.icon()}${b.icon()}${b.r.many(2, 5, () => b.button({ bare: true, style: 'text' })).join('›')}<span style="flex:1"></span>${b.bare()}${b.bare()}`,
        `padding:4px;${b.edge('bottom')}`,
      ) +
        b.across(
          b.r
            .many(
              2,
              5,
              () =>
                `<div style="position:relative;width:${b.r.int(150, 220)}px;flex:none;overflow:hidden;${b.edge('inline-end')}">${b.entries(b.r.int(4, 22), { pad: 3 })}${b.r.maybe(0.3) ? b.scrollBar() : ''}</div>`,
            )
            .join('') +
            `<div style="padding:16px;flex:1">${b.image(120, 120)}<p>${b.text(2, 4)}</p>${b.row(b.button() + b.button())}</div>`,
        ) +
        b.statusBar(),
    ),

  notebook: (b) =>
    b.across(
      `<div style="width:${b.r.int(180, 260)}px;flex:none;overflow:hidden;${b.edge('inline-end')}"><div style="padding:6px">${b.field({ width: 150 })}${b.bare()}</div>${b.entries(b.r.int(3, 9), { pad: 8, inner: () => `<span><b>${b.text(2, 3)}</b><small style="display:block;padding:0;margin:0">${b.sentence()}</small></span>` })}</div>` +
        b.column(
          b.toolbar(b.r.int(5, 12), 1) +
            `<div ${b.label('text_field')} style="flex:1;display:flex;min-height:0">${b.scrolled(`<div style="padding:18px">${b.heading(1.5)}${b.r.many(3, 8, () => `<p>${b.sentence()}</p>`).join('')}</div>`)}</div>`,
          'flex:1',
        ),
    ),

  shellTabs: (b) =>
    b.column(
      b.tabs({ drawn: true, closing: true }) +
        b.scrolled(
          b.monospaced(b.code(60), 'padding:6px;height:100%;background:#232627;color:#cfcfc2'),
          'direction:ltr',
          0.8,
        ),
    ),

  ticketList: (b) =>
    b.scrolled(
      `<div style="padding:14px 28px">${b.line(`${b.heading(1.4)}<span style="flex:1"></span>${b.button()}`)}${b.line(`${b.field({ width: 260 })}${b.dropDown({ width: 120 })}${b.dropDown({ width: 120 })}`)}${b.table(b.r.int(5, 16))}${b.line(`<span>${b.text(2, 3)}</span><span style="flex:1"></span>${b.icon()}${b.icon()}`)}</div>`,
    ),

  weekPlan: (b) =>
    b.column(
      b.line(
        `${b.button()}${b.bare()}${b.bare()}<b>${b.text()}</b><span style="flex:1"></span>${b.segments()}`,
        'padding:8px',
      ) +
        b.scrolled(
          `<div style="position:relative;height:900px;display:grid;grid-template-columns:50px repeat(7,1fr)"><div>${b.r.times(18, (i) => `<div style="height:50px;font-size:11px">${i + 6}:00</div>`).join('')}</div>${b.r.times(7, () => `<div style="position:relative;${b.edge('inline-start')}">${b.r.many(0, 4, (i) => `<div ${b.label('control')} style="position:absolute;left:2px;right:4px;top:${i * 150 + b.r.int(0, 60)}px;height:${b.r.int(30, 85)}px;border-radius:4px;padding:3px;overflow:hidden;background:hsl(${b.r.int(0, 359)} 60% 45%);color:#fff">${b.text(1, 3)}</div>`).join('')}</div>`).join('')}</div>`,
        ),
    ),

  radio: (b) =>
    b.column(
      `<div style="flex:1;display:flex;align-items:center;justify-content:center;gap:30px;overflow:hidden">${b.image(b.r.int(140, 260), b.r.int(140, 260))}<div>${b.heading(1.5)}<div>${b.text(2, 4)}</div>${b.make('slider')}${b.row(b.r.times(5, () => b.bare('font-size:24px')).join(''))}<div style="display:flex;gap:20px;margin-top:12px">${b.r.many(3, 8, () => b.make('slider', { tall: true, drawn: true })).join('')}</div></div></div>`,
    ),

  travelPage: (b) =>
    b.scrolled(
      `<div style="position:relative;height:240px;overflow:hidden">${b.image(b.width, 240, { kind: 'landscape' })}<div class="dk-card" style="position:absolute;left:8%;right:8%;bottom:20px;padding:14px">${b.tabs()}${b.row(b.field({ width: 150 }) + b.field({ width: 150 }) + b.dropDown({ width: 110 }) + b.button({ style: 'main' }))}</div></div><div style="display:flex;flex-wrap:wrap;gap:16px;padding:18px 8%">${b.r.many(3, 9, () => `<div class="dk-card" style="width:200px" ${b.label('control')}>${b.image(200, 110)}<div style="padding:8px"><b>${b.text()}</b><div>${b.sentence()}</div></div></div>`).join('')}</div>`,
    ),
};
