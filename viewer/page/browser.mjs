// A headless Chromium, drawn by the processor, for tests and films.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

export const CHROMIUM = [process.env.CAPSTAN_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
  .find((path) => path && existsSync(path));

export function launch() {
  return chromium.launch({
    executablePath: CHROMIUM,
    headless: true,
    args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
  });
}
