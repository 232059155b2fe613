// Writes the data card from the sources: contents of each split, licences, and statistics of a drawn sample.
//   node card.js --screens DIR [--applications DIR] > ../DATA_CARD.md

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { modules } from './browser.js';
import { tables } from './grammar.js';

const SPLITS = ['train', 'validation', 'test'];
/** Licences of Debian's fonts; those of its icons are in kits.js. */
const SYSTEM_FONTS = {
  'DejaVu Sans': 'Bitstream Vera and public domain (fonts-dejavu)',
  'DejaVu Serif': 'Bitstream Vera and public domain (fonts-dejavu)',
  'DejaVu Sans Mono': 'Bitstream Vera and public domain (fonts-dejavu)',
  'Liberation Sans': 'OFL-1.1 (fonts-liberation)',
  'Liberation Serif': 'OFL-1.1 (fonts-liberation)',
  'Liberation Mono': 'OFL-1.1 (fonts-liberation)',
  'Nimbus Sans': 'AGPL-3 with font exception (fonts-urw-base35)',
  'URW Gothic': 'AGPL-3 with font exception (fonts-urw-base35)',
  'Noto Sans CJK SC': 'OFL-1.1 (fonts-noto-cjk)',
  'WenQuanYi Zen Hei': 'GPL-2 with font exception (fonts-wqy-zenhei)',
  'WenQuanYi Micro Hei': 'Apache-2.0 or GPL-3 with font exception (fonts-wqy-microhei)',
};

const { values: args } = parseArgs({ options: { screens: { type: 'string' }, applications: { type: 'string' } } });
if (!args.screens) throw new Error('name the folder with drawn screens: --screens DIR');

/** The package of a path under node_modules, with version and licence. */
function packageOf(path) {
  const name = path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/');
  const { version, license } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'));
  return `${name} ${version}, ${license ?? 'see the package'}`;
}
const sources = {
  kits: ([, kit]) =>
    kit.css.length
      ? kit.css
          .map(packageOf)
          .filter((one, i, all) => all.indexOf(one) === i)
          .join('; ')
      : 'drawn here, or by the browser',
  looks: () => 'drawn here',
  iconSets: ([, set]) => (isAbsolute(set.folder) ? set.licence : packageOf(set.folder)),
  fonts: ([name, font]) => `${font.use}: ${font.file ? packageOf(font.file) : SYSTEM_FONTS[name]}`,
};
const titles = {
  kits: 'UI kits',
  looks: 'Looks',
  iconSets: 'Icon sets',
  fonts: 'Fonts',
  layouts: 'Layouts of applications and pages',
  decorations: 'Window frames',
  panels: 'Panels and task bars',
  pointers: 'Pointers',
  wallpapers: 'Wallpapers',
  browserHeads: 'Browser toolbars',
};

function listed(table) {
  const lines = [`### ${titles[table]}`, '', '| split | name | description and licence |', '|---|---|---|'];
  for (const split of SPLITS) {
    const entries = Object.entries(tables[table]).filter(([, one]) => one.split === split);
    if (sources[table])
      for (const entry of entries) lines.push(`| ${split} | ${entry[0]} | ${sources[table](entry)} |`);
    else lines.push(`| ${split} | ${entries.map(([name]) => name).join(', ')} | drawn here |`);
  }
  return lines.join('\n');
}

function applications() {
  const collect = fileURLToPath(new URL('../applications/collect.py', import.meta.url));
  const { applications: all, surroundings } = JSON.parse(
    execFileSync('/usr/bin/python3', [collect, '--list'], { encoding: 'utf8' }),
  );
  const rows = SPLITS.flatMap((split) =>
    all
      .filter((one) => one.split === split)
      .map((one) => `| ${split} | ${one.name} | ${one.toolkit}, Debian package ${one.package} |`),
  );
  const around = SPLITS.map(
    (split) =>
      `| ${split} | ${Object.values(surroundings)
        .map((one) => one[split].join(', '))
        .join(' | ')} |`,
  );
  return [
    '### Applications',
    '',
    'They are run, not copied: screenshots and boxes show their windows. `widgets-gtk` and `widgets-qt` are our own windows with',
    'random combinations of toolkit widgets.',
    '',
    '| split | name | what it is |',
    '|---|---|---|',
    ...rows,
    '',
    `| split | ${Object.keys(surroundings).join(' | ')} |`,
    `|---|${Object.keys(surroundings)
      .map(() => '---|')
      .join('')}`,
    ...around,
  ].join('\n');
}

const linesOf = (folder, split) => {
  const file = folder && join(folder, split, 'labels.jsonl');
  return file && existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : [];
};
/** Size group by the shorter side: small is under 16 px, large over 64 px. */
const sizeOf = ([left, top, right, bottom]) => {
  const side = Math.min(right - left, bottom - top);
  return side < 16 ? 'small' : side <= 64 ? 'middle' : 'large';
};

function counted(folder, title) {
  const lines = [
    `### ${title}`,
    '',
    '| split | screens | boxes | interactable | disabled | focused | expanded |',
    '|---|---|---|---|---|---|---|',
  ];
  const classes = new Map();
  for (const split of SPLITS) {
    const screens = linesOf(folder, split);
    const boxes = screens.flatMap((one) => one.boxes);
    const having = (state) => boxes.filter((box) => box.state[state]).length;
    lines.push(
      `| ${split} | ${screens.length} | ${boxes.length} | ${boxes.filter((box) => box.interactable).length} | ${having('disabled')} | ${having('focused')} | ${having('expanded')} |`,
    );
    for (const box of boxes) {
      const row = classes.get(box.class) ?? { small: 0, middle: 0, large: 0, train: 0, validation: 0, test: 0 };
      row[sizeOf(box.box)]++;
      row[split]++;
      classes.set(box.class, row);
    }
  }
  const rows = [...classes]
    .sort(([, a], [, b]) => b.middle - a.middle)
    .map(
      ([name, row]) =>
        `| ${name} | ${SPLITS.map((split) => row[split]).join(' | ')} | ${row.small} | ${row.middle} | ${row.large} |`,
    );
  return [
    ...lines,
    '',
    '| class | train | validation | test | under 16 px | 16–64 px | over 64 px |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

console.log(`# Data card: training screens of the UI detector

Written by \`make -C training data-card\` from the sources; do not edit it by hand.

Two sources: screens drawn in a browser, with exact boxes from the page, and real applications, with boxes from AT-SPI.
No image was downloaded, and no image shows a person or a text written by a person. Evaluation data shares no kit, look,
layout, frame, panel, wallpaper, pointer, icon set, font or application with training data
(\`pages/splits.test.js\`); words are shared, because they are not the target. Licences are those stated by the packages.

## Splits

${[...Object.keys(titles).map(listed), applications()].join('\n\n')}

## Contents of a sample

${counted(args.screens, 'Drawn screens')}

${args.applications ? counted(args.applications, 'Real applications') : ''}

## Known weaknesses

- Drawn applications show meaningless words, and photographs are shapes.
- Real applications have no title bar of a window manager, because AT-SPI does not report it. A screen with an uncertain
  label is discarded, which is more frequent with check boxes, calendars and custom widgets.
- Table rows are derived from their cells; tree expanders, column separators and splitters have no class and no box.
- Chromium renders all text of drawn screens; text rendered by GTK and Qt occurs only in screenshots of real applications.`);
