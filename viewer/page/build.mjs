// node build.mjs OUT: one HTML file with the page's script and styles inside, and the licences of what it contains.
import { readFileSync, writeFileSync } from "node:fs";
import * as esbuild from "esbuild";

const result = await esbuild.build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  target: "es2022",
  format: "iife",
  legalComments: "inline",
  write: false,
  outdir: "out",
  loader: { ".css": "css" },
});
const output = (ending) => result.outputFiles.find((file) => file.path.endsWith(ending)).text;
const fill = (text, place, content) => {
  if (!text.includes(place)) throw new Error(`index.html has no ${place}`);
  return text.replace(place, () => content);
};
let page = readFileSync("index.html", "utf8");
page = fill(page, "/*style*/", output(".css"));
page = fill(page, "/*script*/", output(".js"));
writeFileSync(process.argv[2], page);
