// A client on the command line, run without a terminal, in folders of its own.

import { spawn } from "node:child_process";
import { access, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

// Where nothing listens: no program asks anybody but the tests' own proxy.
const NOWHERE = { HTTPS_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" };

/** Interrupts a program, as a terminal does, once a file is there. */
async function interruptAt(file, child) {
  const isThere = () => access(file).then(() => true, () => false);
  while (child.exitCode === null && child.signalCode === null) {
    await setTimeout(50);
    if (!(await isThere())) continue;
    await setTimeout(300); // until it has read what was sent by then
    return process.kill(-child.pid, "SIGINT");
  }
}

/** Runs a program to its end, or until the file `stop` is there; returns its stdout. */
async function runOnce(program, { args, stop }, cwd, env, outcome) {
  // Not every package exports its program.
  const path = fileURLToPath(new URL(`node_modules/${program}`, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], {
    ...{ cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout: 60_000 },
    detached: stop !== undefined, // what it starts is interrupted with it
  });
  const ended = new Promise((resolve, reject) =>
    child.on("error", reject).on("close", resolve),
  );
  if (stop !== undefined) void interruptAt(stop, child);
  const [said, complaints] = await Promise.all([text(child.stdout), text(child.stderr)]);
  outcome.exit = await ended;
  outcome.complaints = complaints;
  return said;
}

/**
 * Runs `prepare(home)`, which returns variables, then the program; returns what it says.
 *
 * What it says are lines of JSON on stdout, and what `log(home)` reads of its files then.
 * It is run once for each of `rounds`.
 */
export async function run(program, rounds, { outcome }, prepare, log = () => "") {
  const folder = await mkdtemp(join(tmpdir(), "client-"));
  const [home, cwd] = [join(folder, "home"), join(folder, "work")];
  await mkdir(home);
  await mkdir(cwd);
  try {
    const variables = await prepare(home);
    const { PATH, SystemRoot } = process.env;
    const own = { PATH, SystemRoot, HOME: home, USERPROFILE: home };
    const env = { ...own, ...NOWHERE, ...variables };
    const said = [];
    for (const round of rounds) {
      said.push(await runOnce(program, round, cwd, env, outcome));
    }
    return [...said, await log(home)]
      .join("\n")
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
