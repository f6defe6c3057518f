#!/usr/bin/env node
// Starts the program from the package of this platform, passes signals on, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const name = process.platform === "win32" ? "updraft.exe" : "updraft";

function program() {
  try {
    return require.resolve(`@updraft-run/${platform}/bin/${name}`);
  } catch {
    console.error(`updraft: there is no program for ${platform}.`);
    console.error(`  If one is released for it, install again without --omit=optional; or build it: docs/install.md.`);
    process.exit(1);
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C and its end to both of us; only what reaches this process alone is passed on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  const isForBoth = process.stdin.isTTY && signal !== "SIGTERM";
  process.on(signal, () => isForBoth || child.kill(signal));
}
child.on("error", (error) => {
  console.error(`updraft: could not start the program: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
