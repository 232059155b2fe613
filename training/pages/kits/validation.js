// Kits for validation: choice of thresholds and weights.

import { classed, linked } from './markup.js';

export const kits = {
  drawnValidation: { split: 'validation', css: [], controls: {}, share: 3 },
  carbon: {
    split: 'validation',
    css: ['carbon-components/css/carbon-components.min.css'],
    looks: ['plain'],
    light: true,
    controls: {
      link: linked,
      ...classed({
        button: [
          'bx--btn bx--btn--primary',
          'bx--btn bx--btn--secondary',
          'bx--btn bx--btn--tertiary',
          'bx--btn bx--btn--ghost bx--btn--sm',
        ],
        field: 'bx--text-input',
        area: 'bx--text-area',
        table: 'bx--data-table',
      }),
      drop_down: (o) =>
        `<div class="bx--select-input__wrapper" style="display:inline-block;width:${o.width}px"><select class="bx--select-input" ${o.a('drop_down', { expanded: false })}><option>${o.plain}</option></select></div>`,
    },
  },
  layui: {
    split: 'validation',
    css: ['layui/dist/css/layui.css'],
    hides: ['button focused'],
    looks: ['plain'],
    light: true,
    controls: {
      link: linked,
      ...classed({
        button: [
          'layui-btn',
          'layui-btn layui-btn-primary',
          'layui-btn layui-btn-sm layui-btn-normal',
          'layui-btn layui-btn-danger',
        ],
        off: 'layui-btn-disabled',
        field: 'layui-input',
        area: 'layui-textarea',
        table: 'layui-table',
      }),
      tabs: (o) =>
        `<div class="layui-tab layui-tab-brief"><ul class="layui-tab-title">${o.items.map((t, i) => `<li class="${i === o.at ? 'layui-this' : ''}" ${o.a('tab', { selected: i === o.at })}>${t}</li>`).join('')}</ul></div>`,
    },
  },
};
