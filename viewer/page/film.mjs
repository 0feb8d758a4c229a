// node film.mjs HTML FRAGMENT WIDTH HEIGHT FOLDER: every frame of an HTML replay as FOLDER/000000.png, 000001.png, ...
import { writeFileSync } from "node:fs";
import { launch } from "./browser.mjs";

const [html, fragment, width, height, folder] = process.argv.slice(2);
const browser = await launch();
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) } });
await page.goto(`file://${html}#${fragment}`);
await page.waitForFunction(() => window.capstan?.frame);
const times = await page.evaluate(() => window.capstan.source.frames().map((frame) => frame.time));
for (let i = 0; i < times.length; ++i) {
  // The scale of colours stands beside the canvas; pictures of the page take longer than those of the canvas.
  const url = await page.evaluate((time) => {
    window.capstan.seekAndDraw(time);
    const isCanvasAll = document.getElementById("surface").hidden;
    return isCanvasAll ? window.capstan.world.renderer.domElement.toDataURL("image/png") : "";
  }, times[i]);
  const png = url ? Buffer.from(url.slice(22), "base64") : await page.screenshot();
  writeFileSync(`${folder}/${String(i).padStart(6, "0")}.png`, png);
}
await browser.close();
