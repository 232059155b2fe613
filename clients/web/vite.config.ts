/// <reference types="vitest/config" />
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// `npm run dev` serves the page with hot reloading and passes everything else on to a running gateway.
const gateway = process.env["MOTORIUM_GATEWAY"] ?? "http://127.0.0.1:7780";
const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  plugins: [react(), tailwindcss(), compressed()],
  resolve: { alias: { "@gen": source("src/gen/motorium"), "@": source("src") } },
  build: {
    target: "es2023",
    // The gateway's content security policy allows no `data:` scripts or fonts, so that every asset is a file.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
  },
  server: {
    proxy: {
      "/motorium.": gateway,
      "/api": { target: gateway, ws: true },
      "/login": gateway,
    },
  },
  test: {
    projects: [
      // The tests of the page drive a browser against a task at work. On a loaded machine either can be late: such a test is
      // tried once more, and reported as retried.
      { extends: true, test: { name: "unit", include: ["tests/unit/**/*.test.{ts,tsx}"] } },
      { extends: true, test: { name: "bench", include: ["tests/bench/**/*.test.ts"] } },
      { extends: true, test: { name: "images", include: ["tests/images/**/*.test.ts"] } },
      { extends: true, test: { name: "page", include: ["tests/page/**/*.test.ts"], maxWorkers: 2, retry: 1, sequence: { groupOrder: 1 }, testTimeout: 20_000, hookTimeout: 60_000, expect: { poll: { timeout: 8_000 } } } },
    ],
  },
});

/** Writes a Brotli and a gzip file beside each text, which the gateway sends as they are. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    writeBundle({ dir = "dist" }) {
      for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(js|css|html|svg)$/.test(entry.name)) continue;
        const path = join(entry.parentPath, entry.name);
        const content = readFileSync(path);
        writeFileSync(`${path}.br`, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }));
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}
