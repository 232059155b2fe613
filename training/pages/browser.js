// The browser that draws pages. It can load the kits and their fonts, and nothing else.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const modules = fileURLToPath(new URL('node_modules', import.meta.url));
const types = {
  '.css': 'text/css',
  '.woff2': 'font/woff2',
  '.woff': 'font/woff',
  '.ttf': 'font/ttf',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

function html(s) {
  return `<!doctype html><html ${s.root} class="${s.rootClass}"><head><meta charset="utf-8">${s.sheets.map((f) => `<link rel="stylesheet" href="/${f}">`).join('')}<style>${s.css}</style></head><body class="${s.rootClass}"><div id="root" class="dk">${s.body}</div></body></html>`;
}

/** Runs `work(show, cdp, page)` in its own browser; `show(screen)` loads a screen at its size. */
export async function withBrowser(executablePath, work) {
  const profile = mkdtempSync(join(tmpdir(), 'pages-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
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
      const file = join(modules, normalize(decodeURIComponent(url.pathname)));
      return existsSync(file)
        ? route.fulfill({ contentType: types[extname(file)] ?? 'application/octet-stream', path: file })
        : route.abort();
    });
    const cdp = await context.newCDPSession(page);
    const show = async (s) => {
      document = html(s);
      await cdp.send('Emulation.setDeviceMetricsOverride', {
        width: s.width,
        height: s.height,
        deviceScaleFactor: s.scale,
        mobile: false,
      });
      await page.goto('http://pages.invalid/page', { waitUntil: 'load', timeout: 30000 });
      await page.evaluate(() => document.fonts.ready.then(() => true));
    };
    await work(show, cdp, page);
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
}
