// Draws screens in headless Chromium and writes pictures and labels:
//   node render.js --out DIR --seed 1 --train 1000 --validation 100 --test 150 [--workers 1] [--labels-only]
// One line of JSON per picture in DIR/SPLIT/labels.jsonl; what is there already is kept, so a run can be resumed.

import {
  readFileSync,
  readdirSync,
  mkdirSync,
  appendFileSync,
  existsSync,
  writeFileSync,
  mkdtempSync,
  rmSync,
} from 'node:fs';
import { join, dirname, extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { screen } from './grammar.js';
import { measure } from './measure.js';
import { fontFiles } from './kits.js';

const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, 'node_modules');
const { values: args } = parseArgs({
  options: {
    out: { type: 'string' },
    seed: { type: 'string', default: '1' },
    train: { type: 'string', default: '1000' },
    validation: { type: 'string', default: '100' },
    test: { type: 'string', default: '150' },
    workers: { type: 'string', default: '1' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    'labels-only': { type: 'boolean', default: false },
  },
});
if (!args.out) throw new Error('name the folder to write to: --out DIR');

const types = {
  '.css': 'text/css',
  '.woff2': 'font/woff2',
  '.woff': 'font/woff',
  '.ttf': 'font/ttf',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};
const iconFiles = new Map(),
  iconTexts = new Map();
function svg(set, r) {
  if (!iconFiles.has(set))
    iconFiles.set(
      set,
      readdirSync(join(modules, set))
        .filter((n) => n.endsWith('.svg'))
        .sort(),
    );
  const file = join(modules, set, r.pick(iconFiles.get(set)));
  if (!iconTexts.has(file))
    iconTexts.set(
      file,
      readFileSync(file, 'utf8')
        .replace(/<!--[\s\S]*?-->|<\?xml[^>]*>/g, '')
        .replace(/\s(width|height|class)=\s*"[^"]*"/g, '')
        .replace(/<svg(?![^>]*fill=)/, '<svg fill="currentColor"')
        .trim(),
    );
  return iconTexts.get(file);
}

function html(s) {
  const sheets = [...s.sheets, ...(fontFiles[s.font] ? [fontFiles[s.font]] : [])];
  return `<!doctype html><html ${s.root} class="${s.rootClass}"><head><meta charset="utf-8">${sheets.map((f) => `<link rel="stylesheet" href="/${f}">`).join('')}<style>${s.css}</style></head><body class="${s.rootClass}"><div id="root" class="dk">${s.body}</div></body></html>`;
}

async function worker(jobs) {
  const profile = mkdtempSync(join(tmpdir(), 'pages-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: args.chromium,
    headless: true,
    viewport: null,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--font-render-hinting=slight',
    ],
  });
  try {
    const page = context.pages()[0] ?? (await context.newPage());
    let document = '';
    await context.route('**/*', (route) => {
      const url = new URL(route.request().url());
      if (url.hostname !== 'pages.invalid') return route.abort();
      if (url.pathname === '/page') return route.fulfill({ contentType: 'text/html', body: document });
      const file = join(modules, decodeURIComponent(url.pathname));
      return file.startsWith(modules) && existsSync(file)
        ? route.fulfill({ contentType: types[extname(file)] ?? 'application/octet-stream', path: file })
        : route.abort();
    });
    const cdp = await context.newCDPSession(page);
    for (let job = jobs.shift(); job; job = jobs.shift()) {
      const s = screen(job.seed, job.split, svg);
      document = html(s);
      await cdp.send('Emulation.setDeviceMetricsOverride', {
        width: s.width,
        height: s.height,
        deviceScaleFactor: s.scale,
        mobile: false,
      });
      try {
        await page.goto('http://pages.invalid/page', { waitUntil: 'load', timeout: 30000 });
        await page.evaluate(() => document.fonts.ready.then(() => true));
        const boxes = await page.evaluate(measure, s.scale);
        const size = [Math.round(s.width * s.scale), Math.round(s.height * s.scale)];
        if (!args['labels-only']) {
          const shot = await cdp.send('Page.captureScreenshot', { format: 'webp', quality: 92 });
          writeFileSync(join(args.out, job.split, job.file), Buffer.from(shot.data, 'base64'));
        }
        appendFileSync(job.labels, JSON.stringify({ image: job.file, size, ...s.meta, boxes }) + '\n');
      } catch (error) {
        console.error(`left out ${job.seed}: ${error.message.split('\n')[0]}`);
      }
    }
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

const jobs = [];
for (const split of ['train', 'validation', 'test']) {
  const labels = join(args.out, split, 'labels.jsonl');
  mkdirSync(dirname(labels), { recursive: true });
  const done = new Set(
    existsSync(labels)
      ? readFileSync(labels, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map((l) => JSON.parse(l).image)
      : [],
  );
  for (let i = 0; i < Number(args[split]); i++) {
    const file = `${String(i).padStart(6, '0')}.webp`;
    if (!done.has(file)) jobs.push({ seed: `${args.seed}/${split}/${i}`, split, file, labels });
  }
}
const started = Date.now(),
  total = jobs.length;
await Promise.all(Array.from({ length: Number(args.workers) }, () => worker(jobs)));
console.log(`${total} screens in ${((Date.now() - started) / 1000).toFixed(0)} s`);
