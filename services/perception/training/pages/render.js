// Draws screens in headless Chromium and writes pictures and labels:
//   node render.js --out DIR --seed 1 --train 1000 --validation 100 --test 150 [--workers 1] [--labels-only]
// One line of JSON per picture in DIR/SPLIT/labels.jsonl; what is there already is kept, so a run can be resumed.
// Tests and validation come first: what is judged on is there before what is learned from is complete.

import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { screen } from './grammar.js';
import { pictogramFrom } from './icons.js';
import { measure, settle } from './measure.js';
import { sizeOf } from './picture-size.js';

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
const SYSTEM_ICONS = '/usr/share/icons/';
const acts = Object.fromEntries(
  JSON.parse(readFileSync(join(here, '..', 'classes.json'), 'utf8')).classes.map((one) => [one.name, one.interactable]),
);
const svg = pictogramFrom(modules);

function html(s) {
  return `<!doctype html><html ${s.root} class="${s.rootClass}"><head><meta charset="utf-8">${s.sheets.map((f) => `<link rel="stylesheet" href="/${f}">`).join('')}<style>${s.css}</style></head><body class="${s.rootClass}"><div id="root" class="dk">${s.body}</div></body></html>`;
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
      const path = normalize(decodeURIComponent(url.pathname));
      const file = path.startsWith(SYSTEM_ICONS) ? path : join(modules, path);
      return existsSync(file)
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
        await page.evaluate(settle);
        const boxes = await page.evaluate(measure, { scale: s.scale, acts });
        const size = [Math.round(s.width * s.scale), Math.round(s.height * s.scale)];
        const name = `${job.name}.${s.picture.format === 'jpeg' ? 'jpg' : 'webp'}`;
        if (!args['labels-only']) {
          const shot = Buffer.from((await cdp.send('Page.captureScreenshot', s.picture)).data, 'base64');
          const drawn = sizeOf(shot);
          if (drawn.join() !== size.join()) throw new Error(`the picture is ${drawn}, and its labels are for ${size}`);
          writeFileSync(join(args.out, job.split, name), shot);
        }
        appendFileSync(job.labels, JSON.stringify({ image: name, size, ...s.meta, boxes }) + '\n');
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
for (const split of ['test', 'validation', 'train']) {
  const labels = join(args.out, split, 'labels.jsonl');
  mkdirSync(dirname(labels), { recursive: true });
  const lines = existsSync(labels) ? readFileSync(labels, 'utf8').split('\n').filter(Boolean) : [];
  const done = new Set(lines.map((line) => JSON.parse(line).seed));
  for (let i = 0; i < Number(args[split]); i++) {
    const seed = `${args.seed}/${split}/${i}`;
    if (!done.has(seed)) jobs.push({ seed, split, name: String(i).padStart(6, '0'), labels });
  }
}
const started = Date.now();
const total = jobs.length;
await Promise.all(Array.from({ length: Number(args.workers) }, () => worker(jobs)));
console.log(`${total} screens in ${((Date.now() - started) / 1000).toFixed(0)} s`);
