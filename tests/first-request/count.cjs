// Counts the tokens of texts by o200k_base: a JSON list of strings on standard input, a list of numbers on standard output.
// count.cjs FOLDER, where FOLDER holds the node_modules of package.json.

const { createRequire } = require("node:module");
const { readFileSync } = require("node:fs");

const { Tiktoken } = createRequire(`${process.argv[2]}/`)("js-tiktoken/lite");
const encoding = new Tiktoken(createRequire(`${process.argv[2]}/`)("js-tiktoken/ranks/o200k_base"));
const texts = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(texts.map((text) => encoding.encode(text, "all").length)));
